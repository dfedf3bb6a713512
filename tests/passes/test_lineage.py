"""The life of an instruction: links from stage to stage, source lines, fusions and their kernels."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hlo_tui.dump import choosing, listing
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.source import BytesSource
from hlo_tui.passes import lineage
from hlo_tui.passes.blocks import Text
from hlo_tui.passes.compare import Comparison
from hlo_tui.passes.history import History
from hlo_tui.passes.lineage import Life
from hlo_tui.passes.links import ABSORBED, FUSED, MERGED, MOVED, RENAMED, REPLACED, SAME
from tests.corpus import corpus_dir
from tests.passes.dumped import PASSES, opened


def followed(name: str, instruction: str, stage: int = 0, directory: Path = PASSES) -> Life:
    dump, module = opened(name, directory)
    history = History(dump, module)
    return lineage.life(module, history, stage % len(history.stages), instruction)


def links(a: str, b: str):
    comparison = Comparison(*(Text(BytesSource(text.encode(), "made")) for text in (a, b)))
    comparison.run()
    return comparison.links


def entry(*rows: str) -> str:
    return "HloModule m\n\nENTRY %e (p: f32[4]) -> f32[4] {\n  " + "\n  ".join(rows) + "\n}\n"


P = "%p = f32[4] parameter(0)"


def test_what_is_the_same_what_is_renamed() -> None:
    a = entry(P, "%x = f32[4] exponential(%p)", "ROOT %y = f32[4] tanh(%x)")
    b = entry(P, "%new = f32[4] exponential(%p)", "ROOT %y = f32[4] tanh(%new)")
    found = links(a, b)
    assert [(link.place.name, link.how) for link in found.after("e", "y")] == [("y", SAME)]
    assert [(link.place.name, link.how) for link in found.after("e", "x")] == [("new", RENAMED)]
    assert [(link.place.name, link.how) for link in found.before("e", "new")] == [("x", RENAMED)]


def test_of_two_that_are_equal_one_is_merged_into_the_other() -> None:
    rows = (P, "%x = f32[4] exponential(%p)", "%z = f32[4] exponential(%p)")
    a = entry(*rows, "ROOT %y = f32[4] add(%x, %z)")
    b = entry(*rows[:2], "ROOT %y = f32[4] add(%x, %x)")
    found = links(a, b)
    assert [(link.place.name, link.how) for link in found.after("e", "z")] == [("x", MERGED)]
    assert {(link.place.name, link.how) for link in found.before("e", "x")} == {("x", SAME), ("z", MERGED)}


def test_what_a_user_takes_over_is_merged_into_the_user() -> None:
    constants = ("%two = f32[4] constant({2, 2, 2, 2})", "%one = f32[4] constant({1, 1, 1, 1})")
    a = entry(P, *constants, "%x = f32[4] add(%p, %two)", "ROOT %y = f32[4] add(%x, %one)")
    b = entry(P, "%three = f32[4] constant({3, 3, 3, 3})", "ROOT %y = f32[4] add(%p, %three)")
    assert [(link.place.name, link.how) for link in links(a, b).after("e", "x")] == [("y", MERGED)]


def test_what_does_nothing_becomes_its_operand() -> None:
    a = entry(P, "%c = f32[4] copy(%p)", "ROOT %y = f32[4] tanh(%c)")
    b = entry(P, "ROOT %y = f32[4] tanh(%p)")
    assert [(link.place.name, link.how) for link in links(a, b).after("e", "c")] == [("p", MERGED)]


def test_what_stands_in_the_place_of_an_old_one_replaced_it() -> None:
    a = entry(P, "%x = f32[2,2] reshape(%p)", "%z = f32[4] negate(%x)", "ROOT %y = f32[4] tanh(%z)")
    b = entry(P, "%new = f32[4] cosine(%p)", "ROOT %y = f32[4] tanh(%new)")
    found = links(a, b)
    assert [(link.place.name, link.how) for link in found.after("e", "z")] == [("new", REPLACED)]
    assert [(link.place.name, link.how) for link in found.after("e", "x")] == [("new", ABSORBED)]


def test_what_nothing_uses_is_gone() -> None:
    a = entry(P, "%x = f32[4] exponential(%p)", "ROOT %y = f32[4] tanh(%p)")
    b = entry(P, "ROOT %y = f32[4] tanh(%p)")
    assert links(a, b).after("e", "x") == []


def test_what_a_fusion_took_in_is_found_in_it() -> None:
    a = entry(P, "%x = f32[4] exponential(%p)", "ROOT %y = f32[4] tanh(%x)")
    fused = "%f (param: f32[4]) -> f32[4] {\n  %param = f32[4] parameter(0)\n"
    fused += "  %x.1 = f32[4] exponential(%param)\n  ROOT %y.1 = f32[4] tanh(%x.1)\n}\n\n"
    b = entry(P, "ROOT %fusion = f32[4] fusion(%p), kind=kLoop, calls=%f").replace("ENTRY", fused + "ENTRY")
    found = links(a, b)
    (link,) = found.after("e", "x")
    assert (link.place.computation, link.place.name, link.how, link.change) == ("f", "x.1", MOVED, None)
    assert [(link.place.name, link.how) for link in found.before("e", "fusion")] == [("y", FUSED)]
    # And the other way round, where a fusion is dissolved.
    assert [(link.place.name, link.how) for link in links(b, a).after("e", "fusion")] == [("y", FUSED)]
    (inlined,) = links(b, a).after("f", "x.1")
    assert (inlined.place.computation, inlined.place.name) == ("e", "x")


def test_two_source_lines_that_one_instruction_merges_are_both_told() -> None:
    found = followed("jit_tagged", "add.4")
    lost = next(moment for moment in found.moments if any(trace.how == MERGED for trace in moment.traces))
    assert ".after_algsimp." in lost.label
    assert found.end is not None
    survivor = found.end.place
    back = followed("jit_tagged", f"{survivor.computation}/{survivor.name}", -1)
    lines = {(frame.line, how) for frame, how in back.sources}
    text = (PASSES / "programs.py").read_text().splitlines()
    first, second = (
        number for number, line in enumerate(text, 1) if " + 2.0" in line or "first + 1.0" in line
    )
    assert {(first, MERGED), (second, "own")} <= lines


def test_the_pass_that_merged_two_lines_of_a_real_report_is_named() -> None:
    root = corpus_dir() / "dumps" / "jax0102-bug-xla9542-passes"
    found = followed("jit_bug_xla9542", "add.4", -1, root)
    (event,) = (moment for moment in found.moments if any(trace.how == MERGED for trace in moment.traces))
    assert event.label == "0006.simplification.after_algsimp.before_simplify-sorts"
    assert [how for _, how in found.sources] == ["own", MERGED]
    assert len({(frame.line, frame.column) for frame, _ in found.sources}) == 2
    assert found.fusion == "broadcast_add_fusion"


def test_kernels_are_found_by_the_name_of_the_fusion(tmp_path: Path) -> None:
    for path in PASSES.glob("module_*.jit_tagged.cpu_after_optimizations.txt"):
        shutil.copy(path, tmp_path)
        stem = path.name.removesuffix("cpu_after_optimizations.txt")
    for name in (
        "multiply_tanh_fusion_kernel_module.ir-no-opt.ll",
        "__compute_module_multiply_tanh_fusion.ir-with-opt.ll",
        "multiply_tanh_fusion.1_kernel_module.ir-no-opt.ll",
    ):
        (tmp_path / f"{stem}{name}").write_text("; ModuleID = 'x'\n")
    dump = listing.load(tmp_path)
    module = choosing.find_module(dump, "jit_tagged")
    found = lineage.kernel_files(module, "multiply_tanh_fusion")
    assert sorted(path.removeprefix(stem) for path in found) == [
        "__compute_module_multiply_tanh_fusion.ir-with-opt.ll",
        "multiply_tanh_fusion_kernel_module.ir-no-opt.ll",
    ]
    assert lineage.kernel_files(module, "") == ()


def test_an_instruction_that_is_not_there_is_said_so() -> None:
    with pytest.raises(HloTuiError, match="no instruction"):
        followed("jit_tagged", "nothing.7")


def test_text_and_json_tell_the_same() -> None:
    found = followed("jit_tagged", "tanh.1")
    told = lineage.to_json(found)
    assert told["stages"][0]["instructions"][0]["name"] == "tanh.1"
    assert told["stages"][-1]["instructions"][0]["opcode"] == "tanh"
    assert told["fusion"] == "multiply_tanh_fusion"
    text = lineage.to_text(found)
    assert "at the end in multiply_tanh_fusion" in text
    assert len(text.splitlines()) < len(told["stages"])
