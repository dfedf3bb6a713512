"""Looking through modules: against grep(1), against every instruction one by one, and over any bytes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo_tui.cli import main
from hlo_tui.errors import HloTuiError
from hlo_tui.finding.places import Place, places_at
from hlo_tui.finding.query import make_query, parse_size
from hlo_tui.finding.report import hit_line, hit_text
from hlo_tui.finding.search import Hit, Search, search
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource, FileSource
from hlo_tui.hlo.visible import visible
from tests.corpus import DATA, corpus_dir

HERE = Place("m", 1, "before", "m.txt", Path("m.txt"))
TEXT = b"""HloModule m, entry_computation_layout={(f32[8,128])->f32[8,128]}

%body.1 (p.1: f32[8,128]) -> f32[8,128] {
  %p.1 = f32[8,128]{1,0} parameter(0)
  ROOT %dot.2 = f32[8,128]{1,0} dot(%p.1, %p.1), metadata={op_name="jit(f)/dot"}, \
frontend_attributes={breakpoint="true"}
}

ENTRY %main (a: f32[8,128]) -> f32[8,128] {
  %a = f32[8,128]{1,0} parameter(0)
  %t = (f32[8,128]{1,0}, s32[]) custom-call(%a), custom_call_target="x"
  %big = bf16[1024,1024]{1,0} all-gather-start(%a),
    dimensions={0}, metadata={op_name="jit(f)/gather"}
  ROOT %c = f32[8,128]{1,0} call(%a), to_apply=%body.1
}
"""


def found(text: bytes, pattern: str = "", **filters: str) -> list[Hit]:
    return list(search(BytesSource(text, "m"), HERE, make_query(pattern, **filters)))


def names(**filters: str) -> list[str]:
    return [hit.instruction.name for hit in found(TEXT, **filters) if hit.instruction]


def test_filters_take_the_instructions_that_they_describe():
    assert names(opcode="dot") == ["dot.2"]
    assert names(opcode="dot, call") == ["dot.2", "c"]
    assert names(opcode="all-*") == ["big"]
    assert names(opcode="gather") == []
    assert names(dtype="s32") == ["t"]
    assert names(dtype="bf16") == ["big"]
    assert names(shape="[1024,*]") == ["big"]
    assert names(shape="s32[]") == ["t"]
    assert names(shape="f32[8,128]", opcode="c*") == ["t", "c"]
    assert names(size=">1MiB") == ["big"]
    assert names(size="=2MiB") == ["big"]
    assert names(size="<4.2kB", opcode="custom-call") == ["t"]
    assert names(op_name="gather$") == ["big"]
    assert names(tag="breakpoint") == ["dot.2"]
    assert names(tag="breakpoint=true") == ["dot.2"]
    assert names(tag="breakpoint=1") == []
    assert names(pattern="P.1", opcode="dot") == []
    assert names(pattern="p.1", opcode="dot") == ["dot.2"]


def test_an_instruction_of_several_lines_is_found_once_on_its_first_line():
    (hit,) = found(TEXT, "dimensions", opcode="all-gather-start")
    assert (hit.line, hit.instruction.name) == (10, "big")
    (hit,) = found(TEXT, "dimensions")
    assert (hit.line, hit.instruction.name) == (11, "big")


def test_lines_that_are_no_instructions_are_found_only_without_filters():
    assert [hit.line for hit in found(TEXT, "body")] == [2, 12]
    assert [hit.line for hit in found(TEXT, "body", opcode="*")] == [12]
    head = found(TEXT, "ENTRY")[0]
    assert (head.line, head.instruction) == (7, None)


@pytest.mark.parametrize("pattern", ["[", "(", "*", "a{99999999999}", "(" * 300])
def test_what_is_no_expression_is_an_error(pattern: str):
    with pytest.raises(HloTuiError):
        make_query(pattern)


def test_sizes_are_decimal_and_binary():
    assert parse_size(">1MB")(1_000_001)
    assert not parse_size(">1MiB")(1_000_001)
    assert parse_size("4k")(4000)
    assert parse_size(" <= 2.5 GB ")(2_500_000_000)
    for text in ("big", "", ">", "1 elephant"):
        with pytest.raises(HloTuiError):
            parse_size(text)


def test_nothing_to_look_for_is_an_error():
    with pytest.raises(HloTuiError):
        make_query("")


@given(st.lists(st.sampled_from([*TEXT.splitlines(keepends=True), b"\0\xff{", b"}", b"\n", b"x = ", b'"'])))
@settings(max_examples=200, deadline=None)
def test_any_bytes_are_looked_through(lines: list[bytes]):
    text = b"".join(lines)
    expected = [number for number, line in enumerate(text.split(b"\n")) if b"dot" in line.lower()]
    hits = found(text, "dot")
    assert [hit.line for hit in hits] == expected
    for hit in hits:
        shown = hit_text(hit, 60)
        assert shown == visible(shown)
    for hit in found(text, opcode="*"):
        assert hit.instruction is not None


@given(st.binary(max_size=300), st.integers(8, 90), st.integers(0, 300), st.integers(0, 2))
@settings(max_examples=200, deadline=None)
def test_a_line_is_cut_to_its_room(text: bytes, width: int, at: int, column: int):
    shown = hit_line(Hit(HERE, "m", 0, text.replace(b"\n", b""), column=column, at=min(at, len(text))), width)
    assert len(shown) <= width
    assert shown == visible(shown)


def test_what_was_found_is_seen_in_a_cut_line():
    line = b"%x = f32[] add(%a, %b), " + b"x" * 300 + b", op_name=needle " + b"y" * 300
    shown = hit_line(Hit(HERE, "m", 0, line, at=line.index(b"needle")), 80)
    assert "needle" in shown
    assert shown.startswith("%x = f32[] add")


def text_files(root: Path) -> list[Path]:
    return [path for path in sorted(root.rglob("*.txt")) if path.read_bytes().startswith(b"HloModule")]


def check_against_grep(files: list[Path], pattern: str) -> int:
    assert files
    assert shutil.which("grep")
    total = 0
    for path in files:
        done = subprocess.run(
            ["grep", "-naE", pattern, str(path)], capture_output=True, check=False, env={"LC_ALL": "C"}
        )
        expected = [int(line.partition(b":")[0]) for line in done.stdout.splitlines()]
        place = Place("m", None, "x", path.name, path)
        query = make_query(pattern)
        assert not query.pattern.flags & re.IGNORECASE
        hits = list(search(FileSource(path), place, query))
        assert [hit.line + 1 for hit in hits] == expected, path
        total += len(hits)
    return total


def check_against_each_instruction(files: list[Path]) -> int:
    total = 0
    for path in files:
        module = Module(FileSource(path))
        outline = module.scan()
        expected = [
            (computation.name, one.name)
            for computation in outline.computations
            for one in module.body(computation).instructions
            if one.opcode in ("fusion", "add") and one.shape.byte_size > 8 and "jit" in one.op_name
        ]
        query = make_query("", opcode="fusion,add", size=">8", op_name="jit")
        hits = search(FileSource(path), Place("m", None, "x", path.name, path), query)
        assert [(hit.instruction.computation, hit.instruction.name) for hit in hits] == expected, path
        total += len(expected)
    return total


def test_lines_are_those_that_grep_finds():
    files = text_files(DATA)
    assert check_against_grep(files, "(add|Sine|f32.8)") > 100
    assert check_against_each_instruction(files) > 5


def test_lines_are_those_that_grep_finds_in_real_dumps():
    files = text_files(corpus_dir())[::7]
    assert check_against_grep(files, "(f32.[0-9]|ROOT|Name)") > 1000
    assert check_against_each_instruction(files) > 100


def test_a_dump_is_looked_through_first_and_last_stages_the_biggest_module_first():
    _, texts = places_at(DATA / "passes")
    assert {place.stage for place in texts} == {"before_optimizations", "cpu_after_optimizations"}
    _, every = places_at(DATA / "passes", "all")
    assert len(every) > 3 * len(texts) / 2
    _, named = places_at(DATA / "passes", "algsimp")
    assert all("algsimp" in place.stage for place in named)
    with pytest.raises(HloTuiError):
        places_at(DATA / "passes", "no such stage")


def test_protos_and_logs_are_looked_through(tmp_path: Path):
    proto = Search(*_query_at(DATA / "step" / "jit_step.before_optimizations.hlo.pb"))
    text = Search(*_query_at(DATA / "step" / "jit_step.before_optimizations.txt"))
    assert [hit.instruction.name for hit in proto.run(places_at(proto.listing.root)[1])] == [
        hit.instruction.name for hit in text.run(places_at(text.listing.root)[1])
    ]
    module = (DATA / "step" / "jit_step.before_optimizations.txt").read_bytes()
    log = tmp_path / "log"
    name = b"*** %s module_0001.jit_step.before_optimizations.txt ***\n"
    log.write_bytes(b"hello\n" + name % b"Begin" + module + name % b"End")
    listing, texts = places_at(log)
    hits = list(Search(listing, make_query("", opcode="dot")).run(texts))
    direct = list(search(BytesSource(module, "m"), HERE, make_query("", opcode="dot")))
    assert [hit.line for hit in hits] == [hit.line for hit in direct]


def _query_at(path: Path):
    return places_at(path)[0], make_query("", opcode="dot")


def test_several_modules_in_one_file_are_looked_through(tmp_path: Path):
    path = tmp_path / "two.hlo"
    path.write_bytes(TEXT + b"\n" + TEXT.replace(b"HloModule m", b"HloModule n"))
    listing, texts = places_at(path)
    hits = list(Search(listing, make_query("", opcode="dot")).run(texts))
    assert [(hit.module, hit.line, hit.place.member) for hit in hits] == [("m", 4, "m"), ("n", 4, "n")]


def test_the_command_streams_objects_and_says_whether_it_found_any(tmp_path: Path, capsys):
    (tmp_path / "module_0003.m.before_optimizations.txt").write_bytes(TEXT)
    assert main(["grep", "", str(tmp_path), "--opcode", "dot", "--json"]) == 0
    captured = capsys.readouterr()
    (record,) = map(json.loads, captured.out.splitlines())
    assert record["module"] == "m"
    assert (record["id"], record["stage"], record["line"]) == (3, "before_optimizations", 5)
    assert (record["computation"], record["instruction"], record["opcode"]) == ("body.1", "dot.2", "dot")
    assert (record["shape"], record["bytes"], record["op_name"]) == ("f32[8,128]{1,0}", 4096, "jit(f)/dot")
    assert "1 instruction in 1 module" in captured.err
    assert main(["grep", "ENTRY", str(tmp_path)]) == 0
    assert "ENTRY %main" in capsys.readouterr().out
    assert main(["grep", "nowhere", str(tmp_path)]) == 1
    assert main(["grep", "(", str(tmp_path)]) == 2


def test_a_text_that_cannot_be_read_is_named_and_the_others_are_looked_through(tmp_path: Path, capsys):
    (tmp_path / "module_0003.m.before_optimizations.txt").write_bytes(TEXT)
    (tmp_path / "module_0004.n.before_optimizations.hlo.pb").write_bytes(b"\x0a\xff\xff\xff")
    assert main(["grep", "ROOT", str(tmp_path)]) == 0
    captured = capsys.readouterr()
    assert captured.out.count("ROOT") == 2
    assert "left out: module_0004" in captured.err


def large(broken: bool) -> bytes:
    """A text that is large enough to be read line by line; `broken` puts what only people write in its middle."""
    body = b"\n".join(
        b'  %%add.%d = f32[8]{0} add(%%p, %%p), metadata={op_name="jit(f)/x"}' % n for n in range(50)
    )
    head = b"%%c.%d (p: f32[8]) -> f32[8] {\n  %%p = f32[8]{0} parameter(0)\n"
    parts = [head % number + body + b"\n}\n\n" for number in range(150)]
    if broken:
        parts[70] = parts[70].replace(b"add(%p, %p), meta", b"add(%p,\n    %p), meta", 3)
    return b"HloModule big, is_scheduled=true\n\n" + b"".join(parts)


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("filters", [{}, {"opcode": "add"}])
def test_a_large_text_read_by_lines_gives_what_the_whole_one_does(broken: bool, filters: dict[str, str]):
    text = large(broken)
    assert len(text) > 1 << 18
    module = Module(BytesSource(text, "big"))
    outline = module.scan()
    wanted = [
        (one.line, computation.name, one.name)
        for computation in outline.computations
        for one in module.body(computation).instructions
        if one.name.endswith("7")
    ]
    hits = found(text, r"%add\.\d*7 =", **filters)
    assert [(hit.line, hit.computation, hit.instruction.name) for hit in hits] == wanted
    assert {hit.module for hit in hits} == {HERE.module}
