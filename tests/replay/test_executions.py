"""The recorded runs of a module: their health, and the first bad one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay.executions import Execution, Executions, changes, halved
from hlo_tui.replay.headless import Replay
from hlo_tui.replay.state import Options
from hlo_tui.replay.stopspec import parse_spec
from tests.replay.conftest import program_file

# exp(100 x) overflows f32 from about x = 0.887 on, and inf / inf is NaN.
SCALES = [0.1, 0.2, 0.3, 0.5, 0.8, 1.5, 2.0, 3.0]
FIRST_BAD = 5


@pytest.fixture
def recorded(tmp_path: Path) -> list[Path]:
    """Snapshots of one module, one execution each; from the sixth on the result is NaN."""
    snapshot = pb.HloSnapshot.FromString(program_file("reaching", "snapshot.*.pb").read_bytes())
    snapshot.ClearField("result")
    paths = []
    for number, scale in enumerate(SCALES):
        snapshot.arguments[0].f32s[:] = [scale, -1.0, 0.0]
        path = tmp_path / f"module_0001.jit_reaching.snapshot.{-number}.pb"
        path.write_bytes(snapshot.SerializeToString())
        os.utime(path, ns=(10**18 + number, 10**18 + number))
        paths.append(path)
    return paths


def scan(paths: list[Path], on_change: object = lambda _: None) -> Executions:
    options = Options(paths[0], inputs=str(paths[0]))
    found = Executions(options, on_change, (parse_spec("op:exponential"), parse_spec("op:fusion")))  # type: ignore[arg-type]
    found.add(paths)
    return found


def test_each_execution_has_its_health(recorded: list[Path]) -> None:
    done = threading.Event()
    executions = scan(recorded, lambda all_of_them: done.set() if all(e.known for e in all_of_them) else None)
    executions.start()
    assert done.wait(60)
    health = [e.health for e in executions.all]
    executions.close()
    assert health == ["finite"] * FIRST_BAD + ["nan"] * (len(SCALES) - FIRST_BAD)
    with np.errstate(over="ignore"):
        last = np.exp(np.float32(100) * np.float32(SCALES[4]))
    report = executions.all[4].report
    assert report is not None
    assert max(row["max"] for row in report["stops"]) == pytest.approx(float(last), rel=1e-5)
    grown = changes(executions.all[3].report, report)
    assert all(row["before"] is not None for row in grown)


def test_executions_that_come_later_are_run_too(recorded: list[Path]) -> None:
    counts: list[int] = []
    two, four = threading.Event(), threading.Event()

    def changed(executions: tuple) -> None:
        counts.append(sum(e.known for e in executions))
        if counts[-1] == 2:
            two.set()
        if counts[-1] == 4:
            four.set()

    executions = scan(recorded[:2], changed)
    executions.start()
    assert two.wait(60)
    executions.add(recorded[:4])
    assert four.wait(60)
    executions.close()
    assert len(executions.all) == 4


def test_the_first_bad_one_by_halving(recorded: list[Path]) -> None:
    executions = scan(recorded)
    bad, runs = executions.first_bad()
    executions.close()
    assert bad is not None
    assert (bad.path, bad.health) == (recorded[FIRST_BAD], "nan")
    assert runs <= 4
    good = scan(recorded[:FIRST_BAD])
    assert good.first_bad() == (None, 1)
    good.close()


def test_a_damaged_snapshot_does_not_stop_the_others(recorded: list[Path]) -> None:
    recorded[1].write_bytes(b"\x0a\x05garbage")
    executions = scan(recorded[:3])
    found = [executions.examine(path) for path in recorded[:3]]
    executions.close()
    assert [e.health for e in found] == ["finite", "", "finite"]
    assert found[1].problem is not None


def test_where_the_inputs_hold_it_already_the_way_to_the_first_bad_run_is_said(recorded: list[Path]) -> None:
    said = {}
    for path, value in (recorded[0], float("nan")), (recorded[1], 2.0):
        snapshot = pb.HloSnapshot.FromString(path.read_bytes())
        snapshot.arguments[0].f32s[0] = value
        path.write_bytes(snapshot.SerializeToString())
        replay = Replay(Options(path, inputs=str(path)), (parse_spec("first:nonfinite"),))
        causes = {e["nonfinite"]["cause"] for e in replay.events() if e["event"] == "stop"}
        said[value != value] = causes, [words for words in replay.warnings if "--halve" in words]
    assert said[False] == ({"computed"}, [])
    causes, (words,) = said[True]
    assert "the inputs" in causes
    assert f"hlo-tui executions --halve {recorded[0].parent} jit_reaching finds the first bad run" in words


def test_as_a_command(recorded: list[Path]) -> None:
    command = [
        sys.executable,
        "-m",
        "hlo_tui",
        "executions",
        str(recorded[0].parent),
        "jit_reaching",
        "--json",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 1
    assert [row["health"] for row in found] == ["finite"] * FIRST_BAD + ["nan"] * (len(SCALES) - FIRST_BAD)
    done = subprocess.run([*command, "--halve"], capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["file"] == str(recorded[FIRST_BAD])
    done = subprocess.run([*command[:5], "jit_nothing"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "jit_reaching" in done.stderr


def health(words: str) -> list[Execution]:
    return [Execution(Path(str(n)), "" if word == "-" else word) for n, word in enumerate(words.split())]


@pytest.mark.parametrize(
    ("known", "next_one", "bad"),
    [
        ("- - - - - - - -", 7, None),
        ("- - - - - - - finite", None, None),
        ("- - - - - - - nan", 3, None),
        ("- - - finite - - - nan", 5, None),
        ("- - - finite finite inf - nan", None, 5),
        ("nan - - nan - - - nan", 1, None),
        ("", None, None),
    ],
)
def test_halving_says_what_to_run_next_and_then_which_is_the_first(known, next_one, bad) -> None:
    found, first = halved(health(known))
    assert (found, None if first is None else int(first.path.name)) == (next_one, bad)


def test_halving_goes_before_the_others_and_what_is_known_is_not_run_again(recorded: list[Path]) -> None:
    order: list[str] = []
    done = threading.Event()

    def changed(executions: tuple) -> None:
        order[:] = [e.health for e in executions]
        if halved(executions)[0] is None:
            done.set()

    options = Options(recorded[0], inputs=str(recorded[0]))
    executions = Executions(options, changed, (parse_spec("op:exponential"),))
    executions.add(recorded, {recorded[1]: Execution(recorded[1], "finite")})
    executions.halve()
    executions.start()
    assert done.wait(60)
    _, first = halved(executions.all)
    executions.close()
    assert first is not None
    assert first.path == recorded[FIRST_BAD]
