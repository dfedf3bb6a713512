"""Comparing for people and scripts: kinds of changes, hiding, folding, fusions, and whole dumps."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.source import BytesSource
from hlo_tui.passes import diff, dumps
from hlo_tui.passes.blocks import Reader, Text
from hlo_tui.passes.changes import Diff, fold
from hlo_tui.passes.compare import Comparison
from hlo_tui.passes.diff import Found
from tests.passes.dumped import PASSES, stage_file

HEAD = "HloModule m, entry_computation_layout={(f32[4,2]{1,0})->f32[4,2]{1,0}}\n\n"
PARAMETER = "%p = f32[4,2]{1,0} parameter(0)"


def module(*rows: str, before: str = "", head: str = HEAD) -> str:
    body = "".join(f"  {row}\n" for row in rows)
    return f"{head}{before}ENTRY %e (p: f32[4,2]) -> f32[4,2] {{\n{body}}}\n"


def compared(a: str, b: str) -> Diff:
    return Comparison(*(Text(BytesSource(text.encode(), "made")) for text in (a, b))).run()


def told(a: str, b: str, *hidden: str) -> dict:
    texts = (Text(BytesSource(text.encode(), "made")) for text in (a, b))
    return diff.to_json(diff.found_in("a", "b", *texts, hidden))


KINDS = [
    ("layout", "f32[4,2]{1,0} negate(%p)", "f32[4,2]{0,1} negate(%p)"),
    ("sharding", "f32[4,2]{1,0} negate(%p)", "f32[4,2]{1,0} negate(%p), sharding={replicated}"),
    (
        "metadata",
        'f32[4,2]{1,0} negate(%p), metadata={op_name="a" source_file="x.py" source_line=3}',
        'f32[4,2]{1,0} negate(%p), metadata={op_name="a" source_file="x.py" source_line=4}',
    ),
    (
        "frontend_attributes",
        "f32[4,2]{1,0} negate(%p)",
        'f32[4,2]{1,0} negate(%p), frontend_attributes={breakpoint="true"}',
    ),
    (
        "backend_config",
        'f32[4,2]{1,0} negate(%p), backend_config={"a":1}',
        'f32[4,2]{1,0} negate(%p), backend_config={"a":2}',
    ),
    ("origin", "f32[4,2]{1,0} negate(%p)", 'f32[4,2]{1,0} negate(%p), origin={{"dot.3"}}'),
    ("dimensions", "f32[4,2]{1,0} reverse(%p), dimensions={0}", "f32[4,2]{1,0} reverse(%p), dimensions={1}"),
    ("shape", "f32[4,2]{1,0} negate(%p)", "bf16[4,2]{1,0} negate(%p)"),
    ("opcode", "f32[4,2]{1,0} negate(%p)", "f32[4,2]{1,0} tanh(%p)"),
]


@pytest.mark.parametrize(("kind", "old", "new"), KINDS, ids=[kind for kind, *_ in KINDS])
def test_kinds_of_changes_are_told_apart_and_hidden(kind: str, old: str, new: str) -> None:
    a, b = module(PARAMETER, f"ROOT %y = {old}"), module(PARAMETER, f"ROOT %y = {new}")
    found = told(a, b)
    assert (found["equal"], found["added"], found["removed"]) == (False, [], [])
    assert [(one["a"], one["b"], one["what"]) for one in found["modified"]] == [("y", "y", [kind])]
    assert told(a, b, kind)["equal"]
    others = [other for other, *_ in KINDS if other != kind]
    assert not told(a, b, *others)["equal"]


def test_attributes_are_hidden_all_at_once() -> None:
    a = module(PARAMETER, "ROOT %y = f32[4,2]{1,0} reverse(%p), dimensions={0}")
    b = module(PARAMETER, "ROOT %y = f32[4,2]{1,0} reverse(%p), dimensions={1}")
    assert told(a, b, "attributes")["equal"]


def test_the_header_is_compared() -> None:
    rows = (PARAMETER, "ROOT %y = f32[4,2]{1,0} negate(%p)")
    scheduled = HEAD.replace("HloModule m,", "HloModule other, is_scheduled=true,")
    found = told(module(*rows), module(*rows, head=scheduled))
    assert found["header"] == [{"key": "is_scheduled", "a": "", "b": "true"}]
    assert not found["equal"]
    layout = HEAD.replace("->f32[4,2]{1,0}", "->f32[4,2]{0,1}")
    assert told(module(*rows), module(*rows, head=layout), "layout")["equal"]
    assert not told(module(*rows), module(*rows, head=layout))["equal"]


def test_a_new_root_is_found() -> None:
    rows = (PARAMETER, "%x = f32[4,2] negate(%p)", "%y = f32[4,2] tanh(%x)")
    a, b = module(*rows[:2], f"ROOT {rows[2]}"), module(rows[0], f"ROOT {rows[1]}", rows[2])
    assert [(one.a.name, one.b.name, one.what) for one in compared(a, b).modified] == [("y", "x", ("root",))]


def test_alike_changes_in_many_places_are_one_row() -> None:
    rows = [f"%c.{n} = f32[4,2] convert(%p)" for n in range(24)]
    a = module(
        PARAMETER, *rows, "ROOT %t = (f32[4,2]) tuple(" + ", ".join(f"%c.{n}" for n in range(24)) + ")"
    )
    found = fold(compared(a, a.replace(" convert(", " copy(")))
    assert [(row.sign, len(row.places)) for row in found] == [("~", 24)]
    assert "convert → copy" in found[0].text


def test_a_fusion_is_matched_with_what_it_swallowed() -> None:
    a = module(PARAMETER, "%x = f32[4,2] exponential(%p)", "ROOT %y = f32[4,2] negate(%x)")
    fused = (
        "%fused (param: f32[4,2]) -> f32[4,2] {\n  %param = f32[4,2] parameter(0)\n"
        "  %x.1 = f32[4,2] exponential(%param)\n  ROOT %y.1 = f32[4,2] negate(%x.1)\n}\n\n"
    )
    b = module(PARAMETER, "ROOT %fusion = f32[4,2] fusion(%p), kind=kLoop, calls=%fused", before=fused)
    found = told(a, b)
    assert found["fusions"] == [{"name": "fusion", "computation": "fused", "instructions": ["x", "y"]}]
    assert (sorted(found["added"]), found["removed"], found["modified"]) == (["fusion", "param"], [], [])
    back = told(b, a)
    assert back["inlined"] == [{"name": "fusion", "computation": "fused", "instructions": ["x", "y"]}]


def test_a_fusion_that_grew_keeps_its_name() -> None:
    text = (
        "%fused (param: f32[4,2]) -> f32[4,2] {{\n  %param = f32[4,2] parameter(0)\n{}"
        "  ROOT %y.1 = f32[4,2] negate({})\n}}\n\n"
    )
    call = "ROOT %fusion = f32[4,2] fusion({}), kind=kLoop, calls=%fused"
    a = module(
        PARAMETER, "%x = f32[4,2] exponential(%p)", call.format("%x"), before=text.format("", "%param")
    )
    grown = text.format("  %x.1 = f32[4,2] exponential(%param)\n", "%x.1")
    found = told(a, module(PARAMETER, call.format("%p"), before=grown))
    assert (found["added"], found["removed"]) == ([], [])
    assert [(one["a"], one["what"]) for one in found["modified"]] == [("fusion", ["operands"])]


def test_copies_of_an_operation_are_added() -> None:
    # A fusion often computes a cheap operand again: of the two one is new.
    a = module(
        PARAMETER,
        "%m = f32[4,2] multiply(%p, %p)",
        "%x = f32[4,2] tanh(%m)",
        "ROOT %y = f32[4,2] add(%x, %m)",
    )
    b = module(
        PARAMETER, "%m = f32[4,2] multiply(%p, %p)", "%m.1 = f32[4,2] multiply(%p, %p)",
        "%x = f32[4,2] tanh(%m)", "ROOT %y = f32[4,2] add(%x, %m.1)",
    )  # fmt: skip
    found = told(a, b)
    assert (found["added"], found["removed"]) == (["m.1"], [])
    assert [(one["a"], one["what"]) for one in found["modified"]] == [("y", ["operands"])]


def test_names_that_several_computations_have_are_told_with_theirs() -> None:
    reducer = (
        "%r (a: f32[], y: f32[]) -> f32[] {\n  %a = f32[] parameter(0)\n  ROOT %y = f32[] add(%a, %a)\n}\n\n"
    )
    rows = (PARAMETER, "%z = f32[] constant(0)", "%s = f32[] reduce(%p, %z), dimensions={0,1}, to_apply=%r")
    a = module(*rows, "ROOT %y = f32[4,2] negate(%p)", before=reducer)
    b = module(*rows, "ROOT %y = f32[4,2] tanh(%p)", before=reducer)
    assert [one["b"] for one in told(a, b)["modified"]] == ["e/y"]


def test_before_against_after_of_a_real_module() -> None:
    found = diff.diff_files(stage_file("jit_tagged", "before"), stage_file("jit_tagged", "cpu_after"))
    files = [stage_file("jit_tagged", stage) for stage in ("before", "cpu_after")]
    before, after = (Text(BytesSource(path.read_bytes(), path.name)) for path in files)
    assert after.instructions - before.instructions == len(found.diff.added) - len(found.diff.removed)
    taken_in = {name for one in found.diff.swallowed for pair in one.pairs for name in pair}
    assert "tanh.1" in taken_in


def test_text_forms_of_older_and_newer_printers_are_equal() -> None:
    short = module("p = f32[4,2]{1,0} parameter(0)", "ROOT y = f32[4,2]{1,0} add(p, p)").replace("%", "")
    typed = module(PARAMETER, "ROOT %y = f32[4,2]{1,0} add(f32[4,2]{1,0} %p, /*index=1*/f32[4,2]{1,0} %p)")
    assert compared(short, typed).equal


def test_a_file_without_a_module_is_refused(tmp_path: Path) -> None:
    empty = tmp_path / "a.txt"
    empty.write_text("HloModule m\n")
    with pytest.raises(HloTuiError, match="no computation"):
        diff.diff_files(empty, empty)


def test_neighbours_share_what_was_read() -> None:
    reader = Reader()
    data = module(PARAMETER, "ROOT %y = f32[4,2] negate(%p)").encode()
    texts = [Text(BytesSource(data, "made"), reader) for _ in range(2)]
    parsed = [text.blocks["e"].parsed(0) for text in texts]
    assert parsed[0] is parsed[1]


def two_dumps(tmp_path: Path) -> tuple[str, str]:
    """Our own dump, and another run of it: other numbers, one module less, one other, one changed."""
    other = tmp_path / "other"
    other.mkdir()
    for path in PASSES.glob("module_*.txt"):
        if ".jit_scaled." not in path.name and not path.name.split(".")[2].isdigit():
            number = int(path.name[7:11]) + 100
            shutil.copy(path, other / f"module_{number:04}{path.name[11:]}")
    (changed,) = other.glob("*.jit_inverse.before*")
    changed.write_text(changed.read_text().replace(" exponential(", " exponential-minus-one("))
    shutil.copy(changed, other / "module_0300.jit_new.before_optimizations.txt")
    return str(PASSES), str(other)


def test_modules_of_two_dumps_are_paired_by_name_and_structure(tmp_path: Path) -> None:
    a, b = two_dumps(tmp_path)
    found, text = dumps.compare_dumps(a, b)
    assert not found["equal"]
    assert [name.partition("#")[0] for name in found["removed"]] == ["jit_scaled"]
    assert found["added"] == ["jit_new#300"]
    pairs = {one["a"]: one["b"] for one in found["modules"]}
    # Four compilations of one function: each is paired with the same program.
    assert sum(x.startswith("jit_again#") for x in pairs) == 4
    assert all(int(y.partition("#")[2]) - int(x.partition("#")[2]) == 100 for x, y in pairs.items())
    assert [one["a"].partition("#")[0] for one in found["modified"]] == ["jit_inverse"]
    assert found["modified"][0]["what"] == ["before: +0 -0 ~1"]
    assert "only in b: jit_new#300" in text


def test_a_dump_is_equal_to_itself() -> None:
    found, text = dumps.compare_dumps(str(PASSES), str(PASSES))
    assert found["equal"]
    assert "7 of 7 modules are equal" in text


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hlo_tui", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_command_exits_with_one_where_something_differs() -> None:
    a, b = (stage_file("jit_inverse", step) for step in ("0005", "0006"))
    differs = run("diff", a, b, "--json")
    assert (differs.returncode, differs.stderr) == (1, "")
    assert json.loads(differs.stdout)["removed"] == ["exp.1", "log.1"]
    same = run("diff", a, a)
    assert (same.returncode, same.stdout.splitlines()[-1]) == (0, "no difference")
    assert run("diff", a, PASSES / "nothing.txt").returncode == 2


def test_text_is_safe_for_a_terminal() -> None:
    found = Found("a\x1b[2J", "b", compared(module(PARAMETER), module(PARAMETER)))
    assert "\x1b" not in diff.to_text(found)
