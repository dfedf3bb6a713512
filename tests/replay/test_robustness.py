"""Whatever happens to the worker, and in whatever order a person asks, the session stays what it is."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hlo_tui.replay.session import Options, Session, State, Stop
from tests.replay.conftest import program_file
from tests.replay.sessions import alive, opened, until, worker_of

KILLS = 100


def shown(stop: Stop) -> tuple[Any, ...]:
    return stop.key, stop.summary, stop.event["path"]


def test_a_hundred_deaths_at_random_moments() -> None:
    """Continue, forwards and backwards, while the worker is killed at some moment of each step."""
    rng = random.Random(0)
    with opened(program_file("nested")) as session:
        reference = []
        while True:
            session.move("continue")
            if session.wait().at != "stop":
                break
            assert session.state.current is not None
            reference.append(shown(session.state.current))
        assert len(reference) == 16
        pids, recoveries, stands = [], 0, len(reference)
        while recoveries < KILLS:
            backward = stands == len(reference) or (stands > 0 and rng.random() < 0.3)
            session.move("continue", backward=backward)
            pids.append(worker_of(session))
            wait_for(session, rng)
            os.kill(pids[-1], signal.SIGKILL)
            until(lambda: session.state.status == "dead")
            recoveries += 1
            state = session.state
            assert "SIGKILL" in str(state.problem)
            # It has made the step, or it stands where it stood.
            went = max(stands + (-1 if backward else 1), -1)
            now = place(state, reference)
            assert now in (stands, went), (stands, went, now)
            stands = now
            assert [shown(stop) for stop in state.history] == reference
        session.move("continue", backward=True)
        assert place(session.wait(), reference) == max(stands - 1, -1)
    assert not any(alive(pid) for pid in pids)
    assert children() == []


def wait_for(session: Session, rng: random.Random) -> None:
    """Wait for some moment of a command: its beginning, while the worker starts or works, or its end."""
    moment = rng.choice(["begun", "starting", "working", "done"])
    if moment == "starting":
        time.sleep(rng.random() / 2)
    elif moment == "working":
        # The worker says what it does: it stands somewhere in the way.
        until(lambda: "running to" not in session.state.activity)
    elif moment == "done":
        session.wait()


def place(state: State, reference: list[tuple[Any, ...]]) -> int:
    """The number of the stop that a state stands at, from 0; -1 for the beginning, one behind the last for the end."""
    if state.at != "stop":
        return -1 if state.at == "begin" else len(reference)
    assert state.current is not None
    return reference.index(shown(state.current))


def children() -> list[int]:
    """This process's children that run a worker, dead ones that nobody waited for among them."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
            command = (directory / "cmdline").read_bytes()
        except OSError:
            continue
        if parent == os.getpid() and (b"replay.worker" in command or not command):
            found.append(int(directory.name))
    return found


PARENT = """
import sys, time
from pathlib import Path
from hlo_tui.replay.session import Options, Session

session = Session(Options(Path(sys.argv[1]), grain=sys.argv[2]), lambda state: None)
session.start()
assert session.wait().status == "standing", session.state
if sys.argv[3] == "busy":
    session.move("continue")
print(session._client.pid, flush=True)
time.sleep(600)
"""
LONG = """
HloModule long

body {{
  s = (s32[], f32[256,256]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = f32[256,256] get-tuple-element(s), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  w = f32[256,256] dot(v, v), lhs_contracting_dims={{1}}, rhs_contracting_dims={{0}}
  x = f32[256,256] tanh(w)
  ROOT t = (s32[], f32[256,256]) tuple(m, x)
}}

cond {{
  s = (s32[], f32[256,256]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  z = s32[] constant({turns})
  ROOT c = pred[] compare(n, z), direction=LT
}}

ENTRY e {{
  v = f32[256,256] parameter(0)
  n = s32[] constant(0)
  t = (s32[], f32[256,256]) tuple(n, v)
  loop = (s32[], f32[256,256]) while(t), condition=cond, body=body
  ROOT r = f32[256,256] get-tuple-element(loop), index=1
}}
"""


@pytest.mark.parametrize(("grain", "doing"), [("unit", "idle"), ("unit", "busy"), ("whole", "busy")])
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_worker_outlives_its_parent(
    tmp_path: Path, grain: str, doing: str, number: signal.Signals
) -> None:
    """Whole grain is deep in one call of XLA then, which cannot be interrupted."""
    path = tmp_path / "long.txt"
    path.write_text(LONG.format(turns=10_000_000))
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(path), grain, doing], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    with parent.stdout as said:
        pid = int(said.readline())
    if doing == "busy":
        time.sleep(1)
    assert alive(pid)
    parent.send_signal(number)
    parent.wait()
    until(lambda: not alive(pid))


# Any order of commands. What must hold:
# - where two states stand at the same moment, they show the same value;
# - the history is in order of time, and nothing in it is lost or changed;
# - an interrupted, failed or killed command leaves the replay where it stood;
# - whatever happened, the next command is carried out.

MOVES = ("next", "step", "finish", "continue")
COMMANDS = st.one_of(
    st.tuples(st.sampled_from(MOVES), st.booleans()),
    st.tuples(st.sampled_from(["kill", "kill while", "interrupt", "goto", "grain"]), st.integers(0, 30)),
)


class Checked:
    """A session whose states are compared with all that were seen before, over all examples."""

    def __init__(self, path: Path) -> None:
        self.values: dict[tuple[int, ...], Any] = {}
        self.numbers: dict[tuple[int, ...], int] = {}
        self.session = Session(Options(path), lambda _: None)
        self.session.start()
        self.settle()

    def settle(self) -> State:
        state = self.session.wait()
        keys = [stop.key for stop in state.history]
        assert keys == sorted(set(keys))
        for stop in (*state.history, *([state.current] if state.current is not None else [])):
            before = self.values.setdefault(stop.key, shown(stop))
            assert shown(stop) == before
        return state

    def do(self, command: str, argument: int) -> None:
        session, before = self.session, self.session.state
        if command == "kill" or (command == "goto" and not before.history):
            self.kill()
            assert self.where() == self.where(before)
        elif command == "kill while":
            session.move(MOVES[argument % 4], backward=argument % 3 == 0)
            time.sleep(argument / 1000)
            self.kill()
            self.settle()
        elif command == "interrupt":
            session.move(MOVES[argument % 4], backward=argument % 3 == 0)
            session.interrupt()
            after = self.settle()
            if after.problem is not None:
                assert self.where() == self.where(before)
        elif command == "goto":
            stop = before.history[argument % len(before.history)]
            session.goto(stop)
            assert self.settle().current is not None
            assert self.where() == ("stop", stop.key)
        elif command == "grain":
            session.regrain(("unit", "body", "whole")[argument % 3])
            self.settle()
            assert self.where() == self.where(before)
        else:
            session.move(command, backward=bool(argument))
            after = self.settle()
            assert after.problem is None
            self.check_direction(before, after, bool(argument))
        lost = {stop.key for stop in before.history} - {stop.key for stop in session.state.history}
        assert not lost

    def kill(self) -> None:
        client = self.session._client
        if client is not None:
            os.kill(client.pid, signal.SIGKILL)
            until(lambda: self.session.state.status == "dead")

    def where(self, state: State | None = None) -> tuple[str, tuple[int, ...]]:
        state = state or self.session.state
        return state.at, () if state.current is None else state.current.key

    def check_direction(self, before: State, after: State, backward: bool) -> None:
        order = {"begin": 0, "stop": 1, "end": 2}
        first, second = ((order[at], key) for at, key in (self.where(before), self.where(after)))
        if backward:
            assert second < first or first[0] == second[0] == 0
        else:
            assert second > first or first[0] == second[0] == 2


@pytest.fixture(scope="module")
def checked() -> Iterator[Callable[[], Checked]]:
    made: list[Checked] = []

    def make() -> Checked:
        made.append(Checked(program_file("nested")))
        return made[-1]

    yield make
    for one in made:
        one.session.close()


def test_any_order_of_commands_keeps_what_must_hold(checked: Callable[[], Checked]) -> None:
    one = checked()

    @settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(st.lists(COMMANDS, min_size=3, max_size=12))
    def holds(commands: list[tuple[str, int]]) -> None:
        for command, argument in commands:
            one.do(command, argument)
        # Whatever it was, the session goes on.
        one.session.move("continue")
        assert one.settle().status == "standing"

    holds()
    assert len(one.values) > 50
