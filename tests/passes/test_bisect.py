"""Bisection with the real engine on real faults of XLA, and with a made one where faults are arranged."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from hlo_tui.dump import choosing, listing
from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.passes import bisect, hunting, verdicts
from hlo_tui.passes.bisect import CODEGEN, DIFFERS, EQUAL, NONE, NOT_RUN, PASS, Bisection, Options, Verdict
from hlo_tui.passes.engine import Engine, Interrupted, WorkerDied
from hlo_tui.passes.stages import readable_stages
from tests.corpus import corpus_dir
from tests.passes.dumped import PASSES, opened

Json = dict[str, Any]
# The code generator that multiplies before it takes a maximum was mended with 0.12: there the recorded result still
# differs, and no fusion does.
MENDED = tuple(map(int, version("jaxlib").split(".")[:2])) >= (0, 12)


def found(name: str, directory: Path = PASSES, **options: Any) -> Verdict:
    dump, module = opened(name, directory)
    return Bisection(dump, module, Options(**options)).run()


def budget(stages: int) -> int:
    return math.ceil(math.log2(stages)) + 2


# Real faults, as the jaxlib has them that the tests run with.


def test_the_simplifier_that_takes_log_of_exp_away_is_named() -> None:
    dump, module = opened("jit_inverse")
    verdict = Bisection(dump, module, Options()).run()
    assert verdict.verdict == PASS
    assert verdict.first_bad is not None
    point = verdict.first_bad.point
    assert (point.step, point.pipeline, point.after) == (6, "simplification", "algsimp")
    assert verdict.last_good is not None
    assert verdict.last_good.point.step == 5
    assert verdict.replays <= budget(len(readable_stages(module)))
    # exp overflows at 89 and 120, and what stands for it does not.
    assert (verdict.difference["out"], verdict.difference["max_abs"]) == (2, "inf")
    assert [(one["b"], one["a"]) for one in verdict.difference["worst"]][:2] == [
        ("inf", 89.0),
        ("inf", 120.0),
    ]


def test_the_fusion_that_the_code_generator_gets_wrong_is_named() -> None:
    verdict = found("jit_scaled")
    assert (verdict.verdict, verdict.first_bad) == (CODEGEN, None)
    assert verdict.instruction == (None if MENDED else "subtract_exponential_fusion")
    assert verdict.difference["nan_only"]
    if MENDED:
        assert any("on this machine" in note for note in verdict.not_checked)
        return
    (fusion,) = verdict.fusions
    assert fusion["instruction"] == verdict.instruction
    assert "compiled" in verdicts.to_text("jit_scaled", verdict, None)
    assert {judged.state for judged in verdict.judged} == {EQUAL}


def test_a_healthy_module_is_cleared() -> None:
    verdict = found("jit_tagged")
    assert (verdict.verdict, verdict.first_bad, verdict.instruction) == (NONE, None, None)
    assert verdict.against == "recorded"
    assert verdict.replays == 1


def test_made_inputs_do_not_show_every_fault() -> None:
    verdict = found("jit_inverse", inputs="made")
    assert (verdict.verdict, verdict.against) == (NONE, "whole")
    assert verdict.inputs["reasons"]


def test_the_first_stage_of_another_dump_can_be_the_measure(tmp_path: Path) -> None:
    (snapshot,) = PASSES.glob("module_*.jit_inverse.snapshot.*")
    dump, module = opened("jit_inverse")
    kinds = []
    for number, step in enumerate(("0000", "0006")):
        root = tmp_path / step
        root.mkdir()
        (stage,) = PASSES.glob(f"module_*.jit_inverse.{step}.*")
        shutil.copy(stage, root / f"module_{number:04}.jit_inverse.before_optimizations.txt")
        verdict = Bisection(dump, module, Options(str(snapshot)), against=opened("jit_inverse", root)).run()
        kinds.append((verdict.verdict, verdict.against, verdict.first_bad and verdict.first_bad.point.step))
    # Against the program as it was, the simplifier is found; against what it left, the last stage is right.
    assert kinds == [(PASS, "other dump", 6), (NONE, "other dump", None)]


def command(*arguments: object) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "hlo_tui", "bisect", *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, check=False)


def test_the_command_gives_the_contract() -> None:
    done = command(PASSES, "jit_inverse", "--json")
    assert (done.returncode, done.stderr) == (1, "")
    told = json.loads(done.stdout)
    assert (told["verdict"], told["instruction"], told["nan_only"]) == ("pass", None, False)
    named = {key: told["first_bad"][key] for key in ("step", "pipeline", "pass")}
    assert named == {"step": 6, "pipeline": "simplification", "pass": "algsimp"}
    assert (told["max_abs"], told["max_rel"]) == ("inf", "inf")
    assert told["changes"]["removed"] == ["exp.1", "log.1"]
    assert told["not_checked"] == []
    text = command(PASSES, "jit_inverse").stdout
    assert "the pass algsimp of simplification (step 0006)" in text
    assert "element 1: inf became 89.0" in text
    assert "are cleared" in text
    assert text.count(".jit_inverse.000") == 2
    assert command(PASSES, "jit_tagged").returncode == 0
    assert command(PASSES, "jit_inverse", "--output", "3").returncode == 2
    assert command(PASSES, "jit_nothing").returncode == 2


REPORTS = [
    ("jax37919", PASS, 6, None), ("jax38099", PASS, 6, None),
    ("asi2886", CODEGEN, None, "subtract_exponential_fusion"),
    ("jax38609", CODEGEN, None, "subtract_exponential_fusion"),
    ("jax23007", NONE, None, None),
]  # fmt: skip


@pytest.mark.parametrize(("report", "kind", "step", "instruction"), REPORTS, ids=[one[0] for one in REPORTS])
def test_real_reports(report: str, kind: str, step: int | None, instruction: str | None) -> None:
    root = corpus_dir() / "dumps"
    name = f"jit_bug_{report}"
    (snapshot,) = (root / f"jax0102-bug-{report}-snapshots_all").glob(f"*.{name}.snapshot.*.pb")
    dump, module = opened(name, root / f"jax0102-bug-{report}-passes")
    verdict = Bisection(dump, module, Options(inputs=str(snapshot))).run()
    assert (verdict.verdict, verdict.instruction) == (kind, None if MENDED else instruction)
    assert (None if verdict.first_bad is None else verdict.first_bad.point.step) == step
    assert verdict.replays <= budget(len(readable_stages(module)))
    if step is not None:
        assert verdict.first_bad is not None
        assert verdict.first_bad.point.after == "algsimp"


@pytest.mark.parametrize("name", ["jax0102-p05_mixed-snapshots_all", "jax0102-p06_linalg-snapshots_all"])
def test_healthy_modules_are_cleared_every_time(name: str) -> None:
    dump = listing.load(corpus_dir() / "dumps" / name)
    modules = [module for module in dump.catalog.modules if readable_stages(module)]
    engine = Engine()
    try:
        found_here = [Bisection(dump, module, Options(), engine=engine).run().verdict for module in modules]
    finally:
        engine.close()
    assert len(found_here) > 20
    assert set(found_here) == {NONE}


# A made engine: which stages differ, and which end the worker, is arranged.


class MadeEngine:
    """Answers as the worker does. Stages are told by their step, the first is -1 and the last 99."""

    def __init__(
        self,
        differs: Callable[[int], bool],
        dies: frozenset[int],
        recorded: bool,
        most: int = 99,
        other: str = "",
        outputs: Any = (),
    ) -> None:
        self.differs, self.dies, self.recorded = differs, dies, recorded
        # After so many runs the person stops it; and why the recorded result may be another one.
        self.most, self.other_processor, self.outputs = most, other, outputs
        self.kept: dict[str, bool] = {}
        self.runs: list[int] = []

    def ask(self, method: str, params: Json) -> Json:
        return {"compare.run": self.run, "compare.results": self.results}[method](params)

    def run(self, params: Json) -> Json:
        label = Path(params["path"]).name.split(".", 2)[2]
        step = int(label[:4]) if label[:4].isdigit() else -1 if label.startswith("before") else 99
        if len(self.runs) == self.most:
            raise Interrupted("interrupted")
        if step in self.dies:
            self.kept.clear()
            raise WorkerDied("the engine died", f"at {step}")
        self.runs.append(step)
        self.kept[params["keep"]] = self.differs(step)
        return {
            "outputs": self.outputs, "unknown": [], "inputs": "made", "inputs_file": "", "seed": 0, "reasons": [],
            "engine": {}, "coarseness": 1e-3, "recorded": self.recorded, "other_processor": self.other_processor,
        }  # fmt: skip

    def results(self, params: Json) -> Json:
        a = self.kept[params["a"]]
        b = True if params["b"] == "recorded" else self.kept[params["b"]]
        state = {"state": "equal" if a == b else "differs"}
        sizes = {"max_abs": 1.0, "max_rel": 1.0, "out": 1, "count": 2, "worst": [], "buckets": {"0.1": 1}}
        return {"problem": "", "outputs": [{"output": 0, **state, **sizes}]}


TEXT = "HloModule jit_f\n\nENTRY %e (p: f32[]) -> f32[] {\n  ROOT %p = f32[] parameter(0)\n}\n"


def arranged(
    root: Path,
    count: int,
    first_bad: int,
    dies: frozenset[int] = frozenset(),
    recorded: bool = True,
    **more: Any,
) -> tuple[Verdict, MadeEngine]:
    """A search over `count` steps between before and after, of which those from `first_bad` on differ."""
    for step in range(count):
        (root / f"module_0001.jit_f.{step:04}.pipe.after_p{step}.before_p{step + 1}.txt").write_text(TEXT)
    for end in ("before_optimizations", "cpu_after_optimizations"):
        (root / f"module_0001.jit_f.{end}.txt").write_text(TEXT)
    dump = listing.load(root)
    engine = MadeEngine(lambda step: step >= first_bad, dies, recorded, **more)
    search = Bisection(dump, choosing.find_module(dump, "jit_f"), Options(), engine=engine)
    return search.run(), engine


@pytest.mark.parametrize("recorded", [True, False])
@pytest.mark.parametrize("count", [1, 2, 5, 14, 30])
def test_any_first_bad_pass_is_found_within_the_budget(tmp_path: Path, count: int, recorded: bool) -> None:
    for bad in range(count):
        root = tmp_path / f"{bad}"
        root.mkdir()
        verdict, engine = arranged(root, count, bad, recorded=recorded)
        assert verdict.verdict == PASS
        assert verdict.first_bad is not None
        assert verdict.first_bad.point.step == bad
        assert verdict.last_good is not None
        assert verdict.last_good.point.step == (bad - 1 if bad else None)
        assert verdict.replays == len(engine.runs) <= budget(count + 2)
        assert len(set(engine.runs)) == len(engine.runs)


def test_a_stage_that_ends_the_worker_is_passed_over(tmp_path: Path) -> None:
    verdict, _ = arranged(tmp_path, 14, 9, dies=frozenset({6}))
    assert verdict.first_bad is not None
    assert verdict.first_bad.point.step == 9
    states = {judged.stage.point.step: judged.state for judged in verdict.judged}
    assert states[6] == NOT_RUN
    assert any("after_p6.before_p7 could not be run" in note for note in verdict.not_checked)


def test_where_the_neighbours_cannot_be_run_the_verdict_says_which_it_may_be(tmp_path: Path) -> None:
    verdict, _ = arranged(tmp_path, 10, 4, dies=frozenset({4, 5}))
    assert verdict.first_bad is not None
    assert (verdict.first_bad.point.step, verdict.last_good and verdict.last_good.point.step) == (6, 3)
    assert any("may be one of these" in note and "after_p4" in note for note in verdict.not_checked)


def test_the_last_and_the_first_stage_may_be_the_ones_that_cannot_be_run(tmp_path: Path) -> None:
    verdict, _ = arranged(tmp_path, 6, 2, dies=frozenset({-1, 99}))
    assert verdict.first_bad is not None
    assert verdict.first_bad.point.step == 2
    assert {judged.state for judged in verdict.judged} == {EQUAL, DIFFERS, NOT_RUN}


def test_a_search_that_is_stopped_says_between_which_stages_it_was(tmp_path: Path) -> None:
    verdict, engine = arranged(tmp_path, 30, 20, most=3)
    assert (verdict.stopped, verdict.replays, len(engine.runs)) == (True, 4, 3)
    text = verdicts.to_text("jit_f", verdict, None)
    assert "stopped before there was a verdict; the values change after 0014" in text
    assert "at cpu_after_optimizations or before" in text
    assert verdicts.to_json("jit_f", verdict, None)["stopped"]


def test_a_recorded_result_of_another_processor_is_no_fault_of_the_compiler(tmp_path: Path) -> None:
    verdict, _ = arranged(tmp_path, 4, 100, other="LAPACK rounds otherwise")
    # The measure differs from what was recorded, and nothing else differs.
    assert (verdict.verdict, verdict.against) == (NONE, "whole")
    assert any("LAPACK rounds otherwise" in note for note in verdict.not_checked)


def test_where_nothing_can_be_compared_no_pass_is_cleared(tmp_path: Path) -> None:
    verdict, engine = arranged(tmp_path, 40, 99, dies=frozenset(range(100)), recorded=False)
    assert (verdict.verdict, bool(verdict.blind)) == (NONE, True)
    assert len(engine.runs) <= 2 * budget(42)
    text = verdicts.to_text("jit_f", verdict, None)
    assert "nothing was found out: no later stage could be compared" in text
    assert "were not tried" in text


def test_a_measure_without_a_known_output_is_no_measure(tmp_path: Path) -> None:
    verdict, engine = arranged(tmp_path, 5, 99, outputs=[{"unknown": "its value is elided"}])
    assert (verdict.verdict, engine.runs) == (NONE, [-1])
    assert (
        verdicts.to_json("jit_f", verdict, None)["nothing_compared"]
        == "no output of the first stage is known"
    )


def test_where_no_stage_can_be_run_that_is_the_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="died"):
        arranged(tmp_path, 1, 0, dies=frozenset({-1, 0, 99}))


def test_a_change_between_two_stages_without_passes_is_said_so(tmp_path: Path) -> None:
    verdict, _ = arranged(tmp_path, 0, 50)
    told = verdicts.to_json("jit_f", verdict, None)
    assert (told["verdict"], told["first_bad"]["step"], told["first_bad"]["pass"]) == ("pass", None, None)
    assert "--xla_dump_hlo_pass_re" in verdicts.to_text("jit_f", verdict, None)


def test_one_that_began_at_a_pipelines_start_is_told_with_care(tmp_path: Path) -> None:
    for step in range(2):
        name = f"module_0001.jit_f.{step:04}.pipe.after_pipeline-start.before_p{step}.txt"
        (tmp_path / name).write_text(TEXT)
    verdict, _ = arranged(tmp_path, 0, 1)
    assert "a pass that ran before pipe began (step 0001)" in verdicts.to_text("jit_f", verdict, None)


# The worker itself.


def test_the_worker_is_started_again_after_its_death(tmp_path: Path) -> None:
    engine = Engine()
    (path,) = PASSES.glob("module_*.jit_inverse.before_optimizations.txt")
    params = {
        "path": str(path), "member": None, "inputs": "zeros", "seed": 0, "platform": "cpu", "devices": 1,
        "grain": "body", "keep": "x",
    }  # fmt: skip
    try:
        assert engine.ask("compare.run", params)["inputs"] == "zeros"
        assert engine._client is not None
        engine._client.kill("for this test")
        with pytest.raises((WorkerDied, EngineError)):
            engine.ask("compare.results", {"a": "x", "b": "x", "tolerance": None})
        engine._client = None
        with pytest.raises(HloTuiError, match="nothing to compare"):
            engine.ask("compare.results", {"a": "x", "b": "x", "tolerance": None})
        with pytest.raises(HloTuiError, match="unknown request"):
            engine.ask("compare.nothing", {})
    finally:
        engine.close()


def test_elided_constants_are_not_checked(tmp_path: Path) -> None:
    text = """HloModule jit_f, entry_computation_layout={(f32[12]{0})->(f32[12]{0}, f32[12]{0})}

ENTRY %e (p: f32[12]) -> (f32[12], f32[12]) {
  %p = f32[12]{0} parameter(0)
  %c = f32[12]{0} constant({...})
  %a = f32[12]{0} add(%p, %c)
  %n = f32[12]{0} negate(%p)
  ROOT %t = (f32[12]{0}, f32[12]{0}) tuple(%a, %n)
}
"""
    for stage in ("before_optimizations", "cpu_after_optimizations"):
        (tmp_path / f"module_0001.jit_f.{stage}.txt").write_text(text)
    verdict = found("jit_f", tmp_path)
    assert verdict.verdict == NONE
    assert any("c: its value is elided" in note for note in verdict.not_checked)
    assert any("output 0 unknown" in note for note in verdict.not_checked)


def test_of_several_outputs_one_can_be_asked_for(tmp_path: Path) -> None:
    good = """HloModule jit_f, entry_computation_layout={(f32[2]{0})->(f32[2]{0}, f32[2]{0})}

ENTRY %e (p: f32[2]) -> (f32[2], f32[2]) {
  %p = f32[2]{0} parameter(0)
  %a = f32[2]{0} cosine(%p)
  %n = f32[2]{0} negate(%p)
  ROOT %t = (f32[2]{0}, f32[2]{0}) tuple(%a, %n)
}
"""
    (tmp_path / "module_0001.jit_f.before_optimizations.txt").write_text(good)
    wrong = good.replace("negate(", "exponential(")
    (tmp_path / "module_0001.jit_f.0000.pipe.after_wrong.before_next.txt").write_text(wrong)
    assert found("jit_f", tmp_path).verdict == bisect.PASS
    assert found("jit_f", tmp_path).difference["output"] == 1
    assert found("jit_f", tmp_path, output=0).verdict == NONE
    assert found("jit_f", tmp_path, output=1).verdict == PASS
    assert found("jit_f", tmp_path, output=1, tolerance=100.0).verdict == NONE


# Inputs that nobody knows.


def test_inputs_that_show_a_fault_are_searched_for() -> None:
    dump, module = opened("jit_inverse")
    tried: list[str] = []
    engine = Engine()

    def make(options: Options, words: str) -> Bisection:
        tried.append(words)
        return Bisection(dump, module, options, engine=engine)

    try:
        verdict = hunting.hunt(Options(inputs=hunting.ANY), make)
    finally:
        engine.close()
    assert verdict.verdict == PASS
    assert verdict.first_bad is not None
    assert verdict.first_bad.point.after == "algsimp"
    assert tried[0].startswith("inputs large, seed 0 (1 of ")
    assert verdict.replays >= len(tried)


def test_a_module_without_a_fault_is_tried_on_all_kinds(tmp_path: Path) -> None:
    made: list[Options] = []
    for step in range(2):
        (tmp_path / f"module_0001.jit_f.{step:04}.pipe.after_p{step}.before_p{step + 1}.txt").write_text(TEXT)
    dump = listing.load(tmp_path)
    engine = MadeEngine(lambda _: False, frozenset(), recorded=False)

    def make(options: Options, _: str) -> Bisection:
        made.append(options)
        return Bisection(dump, choosing.find_module(dump, "jit_f"), options, engine=engine)

    verdict = hunting.hunt(Options(inputs=hunting.ANY, seed=3), make)
    assert verdict.verdict == NONE
    assert {one.inputs for one in made} == set(hunting.KINDS)
    assert {one.seed for one in made} == set(range(3, 3 + hunting.SEEDS))
    assert verdict.replays == len(engine.runs)
