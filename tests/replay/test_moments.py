"""Values of other moments, of other grains, and without the person's changes; inputs written and read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.changes import NO_CHANGES
from hlo_tui.replay.inputs import parameters, save_npz
from hlo_tui.replay.looks import look
from hlo_tui.replay.xla import Replicated
from tests.corpus import corpus_dir
from tests.replay.conftest import STAGES, Open, program_file


def scan() -> list[float]:
    """The states of the scan by numpy, before each iteration."""
    state, states = np.float32(0), []
    for x in np.arange(10, dtype=np.float32):
        state = state * np.float32(0.9) + np.sin(x)
        states.append(float(state))
    return states


class TestMoments:
    def test_a_value_in_all_iterations(self, debug: Open) -> None:
        debugger = debug(program_file("scan"))
        stop = debugger.move("continue")
        which = {"computation": stop["computation"], "instruction": stop["instruction"]}
        found = look(debugger, {"what": "iterations", "value": which})
        assert found["length"] == 10
        assert [row["iteration"] for row in found["rows"]] == list(range(10))
        assert [row["value"]["max"] for row in found["rows"]] == pytest.approx(scan(), rel=1e-6)
        assert debugger.here()["key"] == stop["key"]

    def test_another_iteration_is_compared_with(self, debug: Open) -> None:
        debugger = debug(program_file("scan"))
        stop = debugger.move("continue")
        which = {"computation": stop["computation"], "instruction": stop["instruction"]}
        other = {**which, "iteration": 4}
        found = look(debugger, {"what": "compare", "value": which, "other": other})
        assert found["max_abs"] == pytest.approx(abs(scan()[0] - scan()[4]), rel=1e-6)
        for wrong in ({**which, "iteration": 10}, {**which, "computation": debugger.program.entry.name}):
            with pytest.raises(HloTuiError):
                look(debugger, {"what": "compare", "value": which, "other": wrong})

    def test_iterations_need_a_loop(self, debug: Open) -> None:
        debugger = debug(program_file("product"))
        stop = debugger.move("continue")
        which = {"computation": stop["computation"], "instruction": stop["instruction"]}
        with pytest.raises(HloTuiError, match="no iterations"):
            look(debugger, {"what": "iterations", "value": which})


class TestConsequences:
    def test_what_a_change_reaches_is_told_from_what_it_does_not(self, debug: Open) -> None:
        debugger = debug(program_file("scan"))
        stops = [debugger.move("continue") for _ in range(3)]
        assert "changed" not in stops[2]
        changed = debugger.change(stops[2]["computation"], stops[2]["instruction"], "100")
        assert (changed["changed"], changed["before"]) == (True, stops[2]["value"])
        later = debugger.move("continue")
        assert later["changed"]
        assert later["before"]["max"] == pytest.approx(scan()[3], rel=1e-6)
        debugger.move("continue", backward=True)
        earlier = debugger.move("continue", backward=True)
        assert earlier["changed"] is False
        while (end := debugger.move("continue"))["event"] == "stop":
            pass
        assert end["changed"]
        which = {"computation": stops[2]["computation"], "instruction": stops[2]["instruction"]}
        there = {**which, "position": later["position"]}
        found = look(debugger, {"what": "compare", "value": there, "other": {**there, "unchanged": True}})
        assert found["a"]["max"] == later["value"]["max"]
        assert found["b"]["max"] == pytest.approx(scan()[3], rel=1e-6)


class TestGrains:
    @pytest.mark.parametrize("stage", STAGES)
    def test_a_healthy_value_is_the_same_in_all(self, debug: Open, stage: str) -> None:
        debugger = debug(program_file("scan", stage))
        stop = debugger.move("continue")
        which = {"computation": stop["computation"], "instruction": stop["instruction"]}
        found = look(debugger, {"what": "grains", "value": which})
        assert [row["grain"] for row in found["rows"]] == ["unit", "whole"]
        assert {row["state"] for row in found["rows"]} <= {"equal", "within"}
        module = look(debugger, {"what": "module"})
        assert module["fusions"] == []
        assert {row["state"] for row in module["rows"]} <= {"equal", "within"}

    @pytest.mark.parametrize("bug", ["asi2886", "jax38609"])
    def test_a_fusion_that_is_compiled_wrong_is_named(self, debug: Open, bug: str) -> None:
        directory = corpus_dir() / "dumps" / f"jax0102-bug-{bug}-snapshots_all"
        wrong = []
        for path in sorted(directory.glob("*cpu_after_optimizations.txt")):
            debugger = debug(path)
            found = look(debugger, {"what": "module"})
            wrong += [(debugger, one) for one in found["fusions"]]
        assert {one["instruction"] for _, one in wrong} == {"subtract_exponential_fusion"}
        debugger, one = wrong[0]
        which = {name: one[name] for name in ("computation", "instruction", "position")}
        alone = look(debugger, {"what": "grains", "value": which})
        assert alone["alone"]["state"] == "differs"
        assert alone["alone"]["out"] > 0


class TestInputs:
    def test_saved_inputs_are_read_back_with_the_changes(self, debug: Open, tmp_path: Path) -> None:
        debugger = debug(program_file("product"))
        name = parameters(debugger.program)[0].name
        debugger.change(debugger.program.entry.name, name, "2.5")
        path = tmp_path / "in.npz"
        saved = save_npz(debugger.program, debugger.inputs.values, debugger.evaluator.changes, path)
        assert saved["arrays"] == len(parameters(debugger.program))
        again = debug(program_file("product"), inputs=str(path))
        assert np.all(np.asarray(again.inputs.values[0]) == 2.5)
        for one, other in zip(again.inputs.values[1:], debugger.inputs.values[1:], strict=True):
            np.testing.assert_array_equal(one, other)

    def test_each_device_keeps_its_own(self, debug: Open, tmp_path: Path) -> None:
        program = debug(program_file("product")).program
        parts = Replicated((np.zeros(3, np.float32), np.ones(3, np.float32)))
        values = [parts for _ in parameters(program)]
        save_npz(program, values, NO_CHANGES, tmp_path / "in.npz")
        stored = np.load(tmp_path / "in.npz")
        assert stored[parameters(program)[0].name].shape == (2, 3)

    def test_what_is_no_array_is_refused(self, debug: Open, tmp_path: Path) -> None:
        program = debug(program_file("product")).program
        with pytest.raises(HloTuiError, match="cannot be saved"):
            save_npz(program, [(np.zeros(1),) for _ in parameters(program)], NO_CHANGES, tmp_path / "x.npz")
