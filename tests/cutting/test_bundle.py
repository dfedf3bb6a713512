"""Archives for bug reports: what is in them, and that no path and no user's name is left where that is asked for."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo_tui.cli import main
from hlo_tui.cutting.bundle import collect, write
from hlo_tui.cutting.scrub import Scrubber
from hlo_tui.dump import choosing, listing
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.loading import read_proto
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.source import BytesSource
from tests.corpus import DATA, corpus_dir

SECRETS = (b"alice", b"secret project", b"/home", b"/srv/jobs")
TEXT = b"""HloModule jit_alice_step, entry_computation_layout={(f32[2]{0})->f32[2]{0}}

FileNames
1 "/home/alice/secret project/train.py"
2 "/home/alice/env/lib/python3.11/site-packages/jax/_src/numpy/core.py"
3 "/srv/jobs/alice/model.py"

ENTRY %main (a: f32[2]) -> f32[2] {
  %a = f32[2]{0} parameter(0), metadata={op_name="jit(step)/transpose(jvp())/while/body/add" source_file="/home/alice/secret project/train.py" source_line=3}
  ROOT %b = f32[2]{0} add(%a, %a), backend_config={"file":"/srv/jobs/alice/k.mlir","n":1}
}
"""  # noqa: E501
OPTIONS = b'xla_dump_to: "/srv/jobs/alice/dump"\nxla_cpu_enable_fast_min_max: false\n'


def made_proto() -> bytes:
    module = pb.HloModuleProto(name="jit_alice_step", entry_computation_id=1)
    module.stack_frame_index.file_names.extend(["/home/alice/secret project/train.py", "x.py"])
    computation = module.computations.add(name="main", id=1, root_id=1)
    one = computation.instructions.add(name="a", id=1, opcode="parameter")
    one.shape.element_type = pb.F32
    one.metadata.op_name = "jit(step)/while/body"
    one.metadata.source_file = "/srv/jobs/alice/model.py"
    one.backend_config = b'{"file":"/srv/jobs/alice/k.mlir"}'
    one.frontend_attributes.map["who"] = "alice"
    return pb.HloProto(hlo_module=module).SerializeToString()


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    root = tmp_path / "dump"
    root.mkdir()
    stem = "module_0007.jit_alice_step."
    (root / f"{stem}before_optimizations.txt").write_bytes(TEXT)
    (root / f"{stem}0001.simplification.after_algsimp.before_dce.txt").write_bytes(TEXT)
    (root / f"{stem}cpu_after_optimizations.txt").write_bytes(TEXT)
    (root / f"{stem}cpu_after_optimizations.hlo.pb").write_bytes(made_proto())
    (root / f"{stem}cpu_after_optimizations.hlo.pb.gz").write_bytes(gzip.compress(made_proto()))
    (root / f"{stem}cpu_after_optimizations-buffer-assignment.txt").write_bytes(b"BufferAssignment:\n")
    (root / f"{stem}debug_options").write_bytes(OPTIONS)
    snapshot = pb.HloSnapshot()
    snapshot.hlo.ParseFromString(made_proto())
    (root / f"{stem}snapshot.1.pb").write_bytes(snapshot.SerializeToString())
    return root


def members(path: Path) -> dict[str, bytes]:
    with tarfile.open(path) as archive:
        found = {}
        for one in archive.getmembers():
            file = archive.extractfile(one)
            assert file is not None
            found[one.name.partition("/")[2]] = file.read()
        return found


def bundled(dump: Path, out: Path, **options: bool) -> dict[str, bytes]:
    found = listing.load(dump)
    made = collect(found, choosing.find_module(found, "#7"), **options)
    write(made, out, found.root)
    return members(out)


def test_first_and_last_stage_and_what_says_how_it_was_compiled(dump: Path, tmp_path: Path):
    files = bundled(dump, tmp_path / "a.tar.gz")
    stem = "module_0007.jit_alice_step."
    assert set(files) == {
        "summary.md", f"{stem}before_optimizations.txt", f"{stem}cpu_after_optimizations.txt",
        f"{stem}cpu_after_optimizations.hlo.pb", f"{stem}cpu_after_optimizations.hlo.pb.gz",
        f"{stem}cpu_after_optimizations-buffer-assignment.txt", f"{stem}debug_options",
    }  # fmt: skip
    assert files[f"{stem}before_optimizations.txt"] == TEXT
    more = bundled(dump, tmp_path / "b.tar.gz", snapshot=True, passes=True)
    assert {name for name in more if name not in files} == {
        f"{stem}snapshot.1.pb", f"{stem}0001.simplification.after_algsimp.before_dce.txt",
    }  # fmt: skip


def test_a_recorded_run_alone_is_enough(dump: Path, tmp_path: Path):
    for path in dump.iterdir():
        if ".snapshot." not in path.name:
            path.unlink()
    with pytest.raises(HloTuiError, match="--snapshot"):
        bundled(dump, tmp_path / "a.tar.gz")
    files = bundled(dump, tmp_path / "a.tar.gz", snapshot=True)
    assert [name for name in files if name.endswith(".pb")]


def test_the_same_files_make_the_same_bytes(dump: Path, tmp_path: Path):
    bundled(dump, tmp_path / "a.tar.gz")
    bundled(dump, tmp_path / "b.tar.gz")
    assert (tmp_path / "a.tar.gz").read_bytes() == (tmp_path / "b.tar.gz").read_bytes()


def test_the_summary_says_what_it_is(dump: Path, tmp_path: Path):
    text = bundled(dump, tmp_path / "a.tar.gz")["summary.md"].decode()
    assert text.startswith("# jit_alice_step #7")
    assert "| `module_0007.jit_alice_step.before_optimizations.txt` | 2 | 1 | " in text
    assert "xla_cpu_enable_fast_min_max: false" in text
    assert "jaxlib" in text


def test_nothing_secret_is_left_anywhere(dump: Path, tmp_path: Path):
    files = bundled(dump, tmp_path / "a.tar.gz", snapshot=True, passes=True, scrub=True)
    for name, data in files.items():
        plain = gzip.decompress(data) if name.endswith(".gz") else data
        for secret in SECRETS:
            assert secret not in plain, (name, secret)
            assert secret not in name.encode()


def test_scrubbed_files_say_the_same_otherwise(dump: Path, tmp_path: Path):
    files = bundled(dump, tmp_path / "a.tar.gz", scrub=True)
    (name,) = [name for name in files if name.endswith("before_optimizations.txt")]
    module = Module(BytesSource(files[name], "m"))
    outline = module.scan()
    assert module.name == "jit_user1_step"
    a, b = module.body(outline.entry).instructions
    assert (a.opcode, b.opcode, b.operands) == ("parameter", "add", ("a", "a"))
    assert a.op_name == "jit(step)/transpose(jvp())/while/body/add"
    assert str(a.metadata["source_file"]).endswith("/train.py")
    assert b"/site-packages/jax/_src/numpy/core.py" in files[name]
    (name,) = [name for name in files if name.endswith(".hlo.pb")]
    proto = tmp_path / "scrubbed.hlo.pb"
    proto.write_bytes(files[name])
    found = read_proto(proto).module
    one = found.computations[0].instructions[0]
    assert one.metadata.op_name == "jit(step)/while/body"
    # The same directory has the same word in the text and in the proto.
    assert str(a.metadata["source_file"]) == found.stack_frame_index.file_names[0]
    assert found.stack_frame_index.file_names[1] == "x.py"
    assert one.metadata.source_file.encode() in files["module_0007.jit_user1_step.before_optimizations.txt"]


def test_a_name_that_is_an_opcode_is_kept_and_said():
    scrubber = Scrubber(["add", "bob"])
    scrubber.look_for_words(b"  %x = f32[] add(%y, %y)")
    assert scrubber.text(b"add bob_2 bobby") == b"add user2_2 bobby"
    assert scrubber.kept == ["add"]


@given(st.binary(max_size=200), st.text("ab/ .", max_size=30))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_scrubbed(data: bytes, path: str):
    secret = b"/home/carol/" + path.encode().replace(b" ", b"_") + b"x"
    scrubber = Scrubber()
    scrubber.look(data + b' "' + secret + b'" ')
    made = scrubber.text(data + b' "' + secret + b'" ')
    assert b"/home/carol" not in made[len(data) - 1 :] or b"/home/carol" in data
    assert scrubber.text(b"%a = f32[2]{0} add(%b, %c)") == b"%a = f32[2]{0} add(%b, %c)"


def test_nothing_is_written_into_the_dump_or_over_a_file(dump: Path, tmp_path: Path):
    found = listing.load(dump)
    made = collect(found, choosing.find_module(found, "#7"))
    for path in (
        dump / "a.tar.gz",
        dump / "sub" / ".." / "a.tar.gz",
        tmp_path / "a.zip",
        tmp_path / "no" / "a.tgz",
    ):
        with pytest.raises(HloTuiError):
            write(made, path, found.root)
    write(made, tmp_path / "a.tgz", found.root)
    with pytest.raises(HloTuiError):
        write(made, tmp_path / "a.tgz", found.root)


def test_the_command_prints_the_summary(dump: Path, tmp_path: Path, capsys):
    out = tmp_path / "out.tar.gz"
    assert main(["bundle", str(dump), "jit_alice_step", "-o", str(out), "--scrub"]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("# jit_user1_step #7")
    assert "inputs are not in it" in captured.err
    assert main(["bundle", str(dump), "jit_alice_step", "-o", str(tmp_path / "b.tgz"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["files"][0]["name"] == "summary.md"
    assert main(["bundle", str(dump), "nothing"]) == 2
    assert main(["bundle", str(dump), "jit_alice_step", "-o", str(out)]) == 2


def test_a_real_module_is_bundled_without_its_paths(tmp_path: Path):
    root = corpus_dir() / "dumps" / "jax0102-p04_nan-snapshots_all"
    found = listing.load(root)
    module = next(m for m in found.catalog.modules if m.name == "jit_deep_chain")
    made = collect(found, module, snapshot=True, scrub=True)
    write(made, tmp_path / "a.tar.gz", found.root)
    for name, data in members(tmp_path / "a.tar.gz").items():
        assert b"/home/user" not in data, name
    assert any(name.endswith(".pb") for name in members(tmp_path / "a.tar.gz"))


def test_a_module_of_our_own_survives_the_scrubbing(tmp_path: Path):
    found = listing.load(DATA / "replay")
    module = next(m for m in found.catalog.modules if m.name == "jit_product")
    made = collect(found, module, snapshot=True, scrub=True)
    (snapshot,) = [item for item in made.items if ".snapshot." in item.name]
    path = tmp_path / "snapshot.pb"
    path.write_bytes(snapshot.data)
    original = read_proto(DATA / "replay" / snapshot.name)
    again = read_proto(path)
    assert again.arguments == original.arguments
    assert again.result == original.result
    assert io.BytesIO(made.items[0].data).readline().startswith(b"# jit_product")
