"""A file is opened as HLO whatever its form, and what cannot be opened is told in words."""

from __future__ import annotations

import contextlib
import gzip
import os
import random
import struct
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo import kinds, loading, wire
from hlo_tui.hlo.loading import open_document, read_proto
from hlo_tui.hlo.members import find_members
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.snapshots import native_literal
from hlo_tui.hlo.source import BytesSource
from hlo_tui.hlo.wire import to_varint, varint
from tests.corpus import DATA, corpus_dir

STEP = DATA / "step"
OPTIMIZED = STEP / "jit_step.cpu_after_optimizations.hlo.pb"
BEFORE = STEP / "jit_step.before_optimizations.hlo.pb"


def content(document: loading.Document) -> str:
    return document.source.read(0, document.source.size).decode()


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


@pytest.fixture
def module() -> pb.HloModuleProto:
    return pb.HloProto.FromString(BEFORE.read_bytes()).hlo_module


def test_text_is_opened_as_it_is() -> None:
    path = STEP / "jit_step.cpu_after_optimizations.txt"
    document = open_document(path)
    assert (document.kind, document.note, document.members) == ("text", "", ())
    assert content(document) == path.read_text()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("jit_step.cpu_after_optimizations.hlo.pb", "hlo proto"),
        ("jit_step.cpu_after_optimizations.hlo.pb.gz", "hlo proto"),
        ("jit_step.snapshot.0.pb", "hlo snapshot"),
    ],
)
def test_the_forms_of_the_optimised_module_give_one_text(name: str, kind: str) -> None:
    document = open_document(STEP / name)
    assert document.kind == kind
    assert document.note == f"printed from a proto ({kind})"
    dumped = (STEP / "jit_step.cpu_after_optimizations.txt").read_text()
    assert content(document).split("\n")[1:] == dumped.split("\n")[1:]


def test_the_kinds_are_told_from_the_bytes_whatever_the_name(
    tmp_path: Path, module: pb.HloModuleProto
) -> None:
    snapshot = pb.HloUnoptimizedSnapshot(hlo_module=module, partitions=[pb.HloInputs()])
    forms = {
        "hlo proto": BEFORE.read_bytes(),
        "hlo module proto": module.SerializeToString(),
        "hlo snapshot": (STEP / "jit_step.snapshot.0.pb").read_bytes(),
        "unoptimized snapshot": snapshot.SerializeToString(),
    }
    found = {kind: open_document(write(tmp_path / "data", data)).kind for kind, data in forms.items()}
    assert found == {kind: kind for kind in forms}
    container = (STEP / "jit_step.hlo_unoptimized_snapshot.pb").read_bytes()
    assert open_document(write(tmp_path / "data", container)).kind == "unoptimized snapshot"


def test_a_snapshot_has_its_arguments_and_result() -> None:
    """The values are those of the program in tests/data/make.py."""
    loaded = read_proto(STEP / "jit_step.snapshot.0.pb")
    assert loaded.kind == "hlo snapshot"
    ((weights, batch, count, mask, phase, small),) = loaded.arguments
    assert list(weights.f32s) == [-1, -0.75, -0.5, -0.25, 0, 0.25, 0.5, 0.75, 1]
    assert list(weights.shape.dimensions) == [3, 3]
    assert batch.f32s[5] == 1
    assert list(count.s32s) == [4]
    assert list(mask.preds) == [True, False, True, False, True, True]
    assert list(phase.c64s) == [1, 2, 0, -0.5]
    assert small.s4s == b"\x01\x0e\x03"
    assert loaded.result is not None
    assert [len(one.shape.dimensions) for one in loaded.result.tuple_literals] == [0, 2, 1, 1]
    assert list(loaded.result.tuple_literals[3].s32s) == list(range(16))
    assert loaded.buffer_assignment is None


def test_an_unoptimised_snapshot_is_the_same_as_container_and_as_text() -> None:
    container = read_proto(STEP / "jit_step.hlo_unoptimized_snapshot.pb")
    text = read_proto(STEP / "jit_step.hlo_unoptimized_snapshot.txt")
    assert container.kind == text.kind == "unoptimized snapshot"
    assert container.arguments == text.arguments == read_proto(STEP / "jit_step.snapshot.0.pb").arguments
    assert container.module.computations == text.module.computations


def test_a_proto_of_the_last_stage_has_its_buffer_assignment() -> None:
    assignment = read_proto(OPTIMIZED).buffer_assignment
    assert assignment is not None
    assert len(assignment.buffer_allocations) > 0
    assert read_proto(BEFORE).buffer_assignment is None


# The native format by hand: element type, dimensions, bytes, and what they hold, the first in the low bits.
NATIVE = [
    (pb.PRED, [10], b"\x05\x02", "preds", [True, False, True] + [False] * 6 + [True]),
    (pb.S4, [3], b"\xe1\x03", "s4s", b"\x01\x0e\x03"),
    (pb.U2, [5], b"\x1b\x02", "u2s", b"\x03\x02\x01\x00\x02"),
    (pb.F4E2M1FN, [2], b"\x21", "f4e2m1fns", b"\x01\x02"),
    (pb.S8, [2], b"\xff\x01", "s8s", b"\xff\x01"),
    (pb.BF16, [2], b"\x80\x3f\x00\x40", "bf16s", b"\x80\x3f\x00\x40"),
    (pb.S32, [2], struct.pack("<ii", -1, 7), "s32s", [-1, 7]),
    (pb.U64, [1], struct.pack("<Q", 2**64 - 1), "u64s", [2**64 - 1]),
    (pb.F32, [2], struct.pack("<ff", 1.5, -2), "f32s", [1.5, -2]),
    (pb.C128, [1], struct.pack("<dd", 1.5, -2), "c128s", [1.5, -2]),
    (pb.F64, [0], b"", "f64s", []),
]


def native(shape: pb.ShapeProto, data: bytes) -> bytes:
    header = shape.SerializeToString()
    return struct.pack("<q", len(header)) + header + data


@pytest.mark.parametrize(("kind", "dimensions", "data", "name", "values"), NATIVE)
def test_the_native_format_of_literals(
    kind: int, dimensions: list[int], data: bytes, name: str, values: object
) -> None:
    literal = native_literal(native(pb.ShapeProto(element_type=kind, dimensions=dimensions), data), "x")
    stored = getattr(literal, name)
    assert (stored if isinstance(values, bytes) else list(stored)) == values


def test_a_native_tuple_is_read_depth_first_with_its_dynamic_sizes() -> None:
    scalar = pb.ShapeProto(element_type=pb.S32)
    bounded = pb.ShapeProto(element_type=pb.U8, dimensions=[3], is_dynamic_dimension=[True])
    inner = pb.ShapeProto(element_type=pb.TUPLE, tuple_shapes=[bounded])
    shape = pb.ShapeProto(element_type=pb.TUPLE, tuple_shapes=[scalar, inner])
    literal = native_literal(native(shape, struct.pack("<ii", 9, 2) + b"abc"), "x")
    assert list(literal.tuple_literals[0].s32s) == [9]
    assert literal.tuple_literals[1].tuple_literals[0].u8s == b"abc"
    assert list(literal.tuple_literals[1].tuple_literals[0].dynamic_sizes) == [2]


@pytest.mark.parametrize("change", [b"", b"\x00"])
def test_a_native_literal_of_another_size_is_refused(change: bytes) -> None:
    data = native(pb.ShapeProto(element_type=pb.S32, dimensions=[2]), b"\0" * 7 + change * 2)
    with pytest.raises(HloTuiError) as caught:
        native_literal(data, "x")
    assert caught.value.title == "An argument of the snapshot is damaged"


def test_a_container_written_by_hand(tmp_path: Path, module: pb.HloModuleProto) -> None:
    argument = native(pb.ShapeProto(element_type=pb.F32, dimensions=[2]), struct.pack("<ff", 1, 2))
    descriptors = [pb.HloInputs.LiteralDescriptor(argument_size_bytes=len(argument))]
    inputs = [pb.HloInputs(arguments_descriptors=descriptors)] * 2
    message = pb.HloUnoptimizedSnapshot(hlo_module=module, partitions=inputs).SerializeToString()
    path = write(tmp_path / "x.pb", to_varint(len(message)) + message + 2 * argument)
    loaded = read_proto(path)
    assert [[list(one.f32s) for one in partition] for partition in loaded.arguments] == [[[1, 2]], [[1, 2]]]
    write(path, path.read_bytes()[:-1])
    with pytest.raises(HloTuiError) as caught:
        read_proto(path)
    assert caught.value.title == "The proto ends in the middle"


@pytest.mark.parametrize(
    "name", ["jit_step.before_optimizations.hlo.pb", "jit_step.hlo_unoptimized_snapshot.pb"]
)
def test_a_file_cut_off_anywhere_is_an_error_that_says_so(tmp_path: Path, name: str) -> None:
    data = (STEP / name).read_bytes()
    titles = {}
    path = tmp_path / name
    for end in range(len(data)):
        write(path, data[:end])
        try:
            read_proto(path)
        except HloTuiError as error:
            titles[end] = (error.title, error.message)
    assert titles[0][0] == "The file is empty"
    # The first bytes do not show yet what is in it.
    later = {end: title for end, (title, _) in titles.items() if end > 200}
    assert set(later.values()) == {"The proto ends in the middle"}
    assert all(f"{end:,} bytes" in titles[end][1] for end in later)


@pytest.mark.parametrize("path", sorted(STEP.iterdir()), ids=lambda path: path.name)
def test_damaged_files_are_read_or_refused(tmp_path: Path, path: Path) -> None:
    """Nothing but a result or an error for a person comes of bytes that were changed, left out or put in."""
    rng = random.Random(path.name)
    original = path.read_bytes()
    damaged = tmp_path / path.name
    for _ in range(150):
        data = bytearray(original)
        for _ in range(rng.choice((1, 2, 8))):
            place = rng.randrange(len(data))
            data[place : place + rng.choice((0, 1, 1, 7))] = rng.randbytes(rng.choice((0, 1, 1, 5)))
        write(damaged, bytes(data))
        for opening in (open_document, read_proto):
            with contextlib.suppress(HloTuiError):
                opening(damaged)


@given(st.binary(max_size=300), st.text(max_size=20))
def test_any_bytes_have_a_kind(data: bytes, name: str) -> None:
    assert kinds.sniff(data, name)


PIECES = st.lists(
    st.sampled_from(
        [b"HloModule m", b"ENTRY e {", b"// -----", b"*** Begin x ***", b"*** End x ***", b"\n", b"}", b" "]
    )
).map(b"".join)


@given(st.binary(max_size=300) | PIECES)
def test_any_bytes_can_be_looked_through_for_members(data: bytes) -> None:
    for member in find_members(BytesSource(data, "x")):
        assert 0 <= member.start <= member.end <= len(data)


OTHERS = {
    b"; ModuleID = 'x'\nsource_filename = \"x\"\n": "LLVM IR text",
    b'target triple = "x86_64"\n': "LLVM IR text",
    b"#loc1 = loc(unknown)\nmodule @jit_f {": "MLIR text",
    b"module @jit_f attributes {": "MLIR text",
    b"<!DOCTYPE html>\n<html>": "an html page",
    b"digraph G {\n": "a Graphviz graph",
    b"//\n// Generated by LLVM\n//\n.version 8.1\n": "PTX text",
    b"BufferAssignment:\nallocation 0:": "a buffer assignment",
    b"\x7fELF\x02\x01\x01\0\0": "object code",
    b"PK\x03\x04\x14\0": "a zip archive",
    b"Failed to serialize the proto": "the error of a proto that XLA could not write",
    b"import jax\n": "text that is not known here",
    b"x = f(y)\n": "text that is not known here",
    b"  %2 = aten::add(%0, %1)\n": "text that is not known here",
    b"  %3 = call i32 @f(i32 %0)\n": "text that is not known here",
}


@pytest.mark.parametrize(("data", "words"), OTHERS.items(), ids=[str(words) for words in OTHERS.values()])
def test_what_is_not_hlo_is_called_what_it_is(tmp_path: Path, data: bytes, words: str) -> None:
    with pytest.raises(HloTuiError) as caught:
        open_document(write(tmp_path / "x", data))
    assert caught.value.title == "Not HLO"
    assert words in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "data",
    [
        b"HloModule m\n",
        b"\n// CHECK\nHloModule m, is_scheduled=true\n",
        b"I0101 10:00:00.123456 7 file.cc:89] HloModule m\n",
        b"2021-02-10 03:53:38.327164: E     463 a/b.cc:98] HloModule m, x\n",
        b"ENTRY main {\n",
        b"  %add.1 = f32[2,3]{1,0} add(a, b)\n",
        b"ROOT t = (f32[], s32[2]) tuple(a, b)\n",
        b"HloModule m\n\0\0",
        b'%cublas-lt-matmul = custom-call(%hidden, %W2),\n    custom_call_target="x"\n',
    ],
)
def test_text_is_known_by_its_lines(data: bytes) -> None:
    assert kinds.sniff(data) == kinds.TEXT


def test_a_directory_a_fifo_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    wanted = {"fifo": "Not a regular file", "absent": "Cannot open the file", ".": "This is a directory"}
    for name, title in wanted.items():
        with pytest.raises(HloTuiError) as caught:
            open_document(tmp_path / name)
        assert caught.value.title == title


def test_zeros_in_place_of_a_proto_are_refused_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that was full leaves them; each would be a field without number and value."""
    walked = 0

    def counted(message: bytes, place: int) -> tuple[int, int]:
        nonlocal walked
        walked += 1
        return varint(message, place)

    monkeypatch.setattr(wire, "varint", counted)
    for data in (bytes(100_000), b"\n\x03abc" + bytes(100_000)):
        with pytest.raises(HloTuiError) as caught:
            open_document(write(tmp_path / "x.hlo.pb", data))
        assert caught.value.title == "No HLO module in the file"
    assert walked < 20


def test_names_in_errors_are_safe_for_a_terminal(tmp_path: Path) -> None:
    contents = (
        None,
        b"",
        b"\n\x80",
        b"\x1f\x8b\x08",
        b"\x1f\x8b\xff\xff",
        b"x",
        bytes(9),
        b'name: "',
        OPTIMIZED.read_bytes()[:99],
    )
    for number, content_ in enumerate(contents):
        for suffix in ("hlo.pb", "hlo_unoptimized_snapshot.pb", "txt"):
            path = tmp_path / f"{number}\x1b[2J.{suffix}"
            if content_ is not None:
                path.write_bytes(content_)
            with pytest.raises(HloTuiError) as caught:
                open_document(path)
            assert "\x1b" not in str(caught.value)
    os.mkfifo(tmp_path / "\x1b[2J")
    with pytest.raises(HloTuiError) as caught:
        open_document(tmp_path / "\x1b[2J")
    assert "\x1b" not in str(caught.value)


def test_a_proto_without_computations_is_refused(tmp_path: Path) -> None:
    data = pb.HloProto(hlo_module=pb.HloModuleProto(name="empty")).SerializeToString()
    with pytest.raises(HloTuiError) as caught:
        open_document(write(tmp_path / "x.hlo.pb", data))
    assert caught.value.title == "No HLO module in the file"


def test_unknown_fields_are_counted_in_the_note(tmp_path: Path, module: pb.HloModuleProto) -> None:
    module.computations[0].MergeFromString(to_varint(500 << 3) + b"\x01")
    document = open_document(write(tmp_path / "x.pb", module.SerializeToString()))
    assert document.note == "printed from a proto (hlo module proto), unknown fields: 1"


def test_a_gzip_file_that_would_fill_the_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bounds are made small: what counts is that unpacking stops there."""
    monkeypatch.setattr(loading, "_SMALL", 1 << 20)
    packer = zlib.compressobj(9, wbits=31)
    bomb = packer.compress(bytes(1 << 26)) + packer.flush()
    with pytest.raises(HloTuiError) as caught:
        open_document(write(tmp_path / "x.hlo.pb.gz", bomb))
    assert caught.value.title == "The gzip file unpacks to too much"


def test_a_gzip_file_cut_off_or_damaged_is_refused(tmp_path: Path) -> None:
    data = gzip.compress(OPTIMIZED.read_bytes())
    for changed, title in (
        (data[:-9], "The proto ends in the middle"),
        (data[:100] + b"\xff" * 40 + data[140:], "The gzip file is damaged"),
    ):
        with pytest.raises(HloTuiError) as caught:
            read_proto(write(tmp_path / "x.gz", changed))
        assert caught.value.title == title


def test_errors_name_the_packed_file(tmp_path: Path) -> None:
    for data in (b"", b"x", gzip.compress(b"HloModule m\n")):
        path = write(tmp_path / "x.txt.gz", gzip.compress(data))
        with pytest.raises(HloTuiError) as caught:
            open_document(path)
        assert str(path) in caught.value.message


def test_a_text_proto_that_nests_too_deep_is_refused(tmp_path: Path) -> None:
    for depth in (150, 20_000):
        nested = b"tuple_shapes {" * depth + b"}" * depth
        data = b"computations { instructions { shape {" + nested + b"} } }"
        with pytest.raises(HloTuiError) as caught:
            open_document(write(tmp_path / "x.txt", data))
        assert caught.value.title == "The text proto is damaged"


def test_a_text_proto_may_have_fields_of_next_year(tmp_path: Path) -> None:
    data = b'name: "m"\nbraids { depth: 3 }\n'
    data += b'computations { name: "c" id: 1 instructions { name: "a" opcode: "b" } }'
    assert "%a = " in content(open_document(write(tmp_path / "x.txt", data)))


DUMP = b"""some log
*** Begin module_0001.jit_f.before_optimizations.txt ***
HloModule jit_f

ENTRY main {
}

*** End module_0001.jit_f.before_optimizations.txt ***
*** Begin module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt ***
BufferAssignment:
*** End module_0001.jit_f.cpu_after_optimizations-buffer-assignment.txt ***
*** Begin module_0002.jit_g.before_optimizations.txt ***
HloModule jit_g
"""


def test_a_stdout_dump_is_taken_apart_by_its_marks(tmp_path: Path) -> None:
    path = write(tmp_path / "log", DUMP)
    document = open_document(path)
    assert [(one.name.split(".")[1], one.is_module) for one in document.members] == [
        ("jit_f", True),
        ("jit_f", False),
        ("jit_g", True),
    ]
    assert content(document) == "HloModule jit_f\n\nENTRY main {\n}\n"
    assert document.note == "module_0001.jit_f.before_optimizations.txt, 1 of 3 in this file"
    # The job was stopped in the middle of the last one.
    assert content(open_document(path, "3")) == "HloModule jit_g\n"
    assert content(open_document(path, "module_0002.jit_g.before_optimizations.txt")) == "HloModule jit_g\n"
    with pytest.raises(HloTuiError) as caught:
        open_document(path, "2")
    assert caught.value.title == "Not HLO"
    with pytest.raises(HloTuiError) as caught:
        open_document(path, "jit_h")
    assert "module_0001.jit_f.before_optimizations.txt" in caught.value.hint


def test_several_modules_in_one_file_are_told_by_their_headers(tmp_path: Path) -> None:
    path = write(
        tmp_path / "x.hlo",
        b"// RUN: x\nHloModule a\n\nENTRY e {\n}\n// ---\nHloModule b, x=1\nENTRY f {\n}\n",
    )
    assert [one.name for one in open_document(path).members] == ["a", "b"]
    assert content(open_document(path, "b")) == "HloModule b, x=1\nENTRY f {\n}\n"


PARTED = b"""// RUN: x %s --split-input-file
HloModule a

ENTRY e {
}

// -----

// CHECK: HloModule b
ENTRY %main (p: f32[]) -> f32[] {
  ROOT %p = f32[] parameter(0)
}
// ----------------------
// No border: it is longer.
// ----------------------

// -----
f {
  p = f32[] parameter(0)
}

// -----

// Only words.

// -----
ENTRY %main {
  ROOT p = f32[] parameter(0)
}
"""


def test_modules_between_lines_that_part_them_need_no_header(tmp_path: Path) -> None:
    path = write(tmp_path / "x.hlo", PARTED)
    document = open_document(path)
    assert [one.name for one in document.members] == ["a", "main", "part 3", "2/main"]
    assert content(document) == "HloModule a\n\nENTRY e {\n}\n\n"
    assert content(open_document(path, "part 3")) == "f {\n  p = f32[] parameter(0)\n}\n\n"
    assert content(open_document(path, "4")).startswith("ENTRY %main {\n")
    assert content(open_document(path, "main")).endswith("it is longer.\n// ----------------------\n\n")


def test_members_are_found_across_blocks_and_beside_lines_without_end() -> None:
    """A line longer than what is read at once is skipped, and a mark inside of it is none."""
    filler = b"x" * 2_500_000 + b" HloModule no\n"
    data = b"HloModule a\n" + filler + b"HloModule b\n" + filler * 2 + b"HloModule c\n"
    members = find_members(BytesSource(data, "x"))
    assert [one.name for one in members] == ["a", "b", "c"]
    assert [data[one.start :].startswith(b"HloModule " + one.name.encode()) for one in members] == [True] * 3


def test_only_the_head_of_a_text_file_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "big.txt", b"HloModule m\n" + b"  a = f32[] add(b, c)\n" * 100_000)
    total = 0
    original = loading.FileSource.read

    def counted(source: loading.FileSource, offset: int, length: int) -> bytes:
        nonlocal total
        data = original(source, offset, length)
        total += len(data)
        return data

    monkeypatch.setattr(loading.FileSource, "read", counted)
    open_document(path)
    assert total <= 4 * 64 * 1024


def test_every_real_proto_and_snapshot_opens() -> None:
    counts: dict[str, int] = {}
    dumps = corpus_dir() / "dumps"
    for pattern in ("*/*.hlo.pb", "*/*.hlo.pb.gz", "*/*.snapshot.*.pb", "*/*hlo_unoptimized_snapshot.*"):
        for path in sorted(dumps.glob(pattern)):
            loaded = read_proto(path)
            counts[loaded.kind] = counts.get(loaded.kind, 0) + 1
            if loaded.kind == "hlo snapshot":
                entry = next(
                    one for one in loaded.module.computations if one.id == loaded.module.entry_computation_id
                )
                assert len(loaded.arguments[0]) == len(entry.program_shape.parameters), path.name
                assert loaded.result is not None, path.name
    assert counts["hlo proto"] >= 364
    assert counts["hlo snapshot"] >= 181
    assert counts["unoptimized snapshot"] >= 20
