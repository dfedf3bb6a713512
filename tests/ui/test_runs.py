"""The recorded runs of a module on the screen."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from hlo_tui.errors import EngineError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay.executions import Execution
from hlo_tui.ui.runrows import Run, RunsView, build, sign
from tests.corpus import DATA
from tests.ui.driving import driving

# exp(100 x) overflows f32 from about x = 0.887 on, and inf / inf is NaN.
SCALES = [0.1, 0.2, 0.3, 1.5, 2.0]
FIRST_BAD = 3


def record(directory: Path, number: int) -> Path:
    """Write the snapshot of one more run."""
    (snapshot,) = (DATA / "replay").glob("*jit_reaching.snapshot.*.pb")
    found = pb.HloSnapshot.FromString(snapshot.read_bytes())
    found.ClearField("result")
    found.arguments[0].f32s[:] = [SCALES[number], -1.0, 0.0]
    path = directory / f"module_0026.jit_reaching.snapshot.{-number}.pb"
    path.write_bytes(found.SerializeToString())
    os.utime(path, ns=(10**18 + number * 10**9, 10**18 + number * 10**9))
    return path


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    directory = tmp_path / "dump"
    directory.mkdir()
    for path in (DATA / "replay").glob("*jit_reaching*.txt"):
        shutil.copy(path, directory)
    for number in range(len(SCALES) - 1):
        record(directory, number)
    return directory


async def test_each_run_has_its_mark_the_first_bad_one_is_found_and_new_ones_come_in(runs):
    async with driving(runs, (120, 40)) as app:
        await app.opened()
        await app.press("B")
        await app.type("op:exponential")
        await app.press("enter", "X")
        await app.sees("4 recorded runs, the oldest first", "✓✓✓!", "1 not finite")
        await app.press("f")
        await app.sees("the first that is not finite is run 4")
        assert app.app.screen.rows.key == Run(runs / f"module_0026.jit_reaching.snapshot.{-FIRST_BAD}.pb")
        await app.press("up", "right")
        await app.sees("in run 2", "%exp.2", "outputs")
        record(runs, 4)
        await app.sees("5 recorded runs", "✓✓✓!!", "2 not finite")
        await app.press("f")
        await app.press("enter")
        await app.until(lambda: app.app.screen is app.app.main, "back")
        await app.until(lambda: app.app.desk.replays.state.start is not None, "a replay")
        assert app.app.desk.replays.state.start["inputs_file"].endswith("snapshot.-3.pb")
        await app.press("exclamation_mark", "enter")
        await app.sees("begins here", "it reaches output 0")
        await app.press("X")
        await app.sees("5 recorded runs", "the replay runs on it")


async def test_without_recorded_runs_it_is_said_how_to_get_them(dump):
    async with driving(dump, (120, 34)) as app:
        await app.opened()
        await app.press("X")
        await app.sees("no run was recorded: --xla_dump_hlo_snapshots does")


def test_marks_tell_what_a_run_is():
    run = Execution(Path("a"))
    assert [sign(replace(run, health=health))[0] for health in ("", "finite", "inf", "nan")] == [
        "·",
        "✓",
        "I",
        "!",
    ]
    assert sign(replace(run, problem=EngineError("no")))[0] == "?"


def test_a_strip_is_as_long_as_there_are_runs():
    health = ["finite"] * 100 + ["nan"] * 20
    view = RunsView([Execution(Path(str(n)), word) for n, word in enumerate(health)], {}, first=None)
    text = ["".join(span.text for span in line.spans) for line in build(view, 83)]
    assert text[1].strip() == "✓" * 80
    assert text[2].strip() == "✓" * 20 + "!" * 20
    assert " 120 recorded runs, the oldest first; 20 not finite" in text
