"""A session goes on whatever happens to its worker."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.session import Options, Session, State
from hlo_tui.replay.stopspec import TAGS, StopSpec, parse_spec
from tests.replay.conftest import program_file

Start = Callable[..., Session]

ENDLESS = """
HloModule endless

body {
  s = (s32[], f32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = f32[] get-tuple-element(s), index=1
  m = s32[] abs(n)
  w = f32[] cosine(v)
  ROOT t = (s32[], f32[]) tuple(m, w)
}

cond {
  s = (s32[], f32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  z = s32[] constant(-1)
  ROOT c = pred[] compare(n, z), direction=GT
}

ENTRY e {
  n = s32[] parameter(0)
  v = f32[] parameter(1)
  t = (s32[], f32[]) tuple(n, v)
  first = f32[] sine(v)
  w = (s32[], f32[]) while(t), condition=cond, body=body
  ROOT r = f32[] get-tuple-element(w), index=1
}
"""


@pytest.fixture
def start() -> Iterator[Start]:
    sessions: list[Session] = []

    def started(path: Path, **kwargs: object) -> Session:
        specs = kwargs.pop("specs", (TAGS,))
        session = Session(Options(path, **kwargs), lambda _: None, specs)  # type: ignore[arg-type]
        sessions.append(session)
        session.start()
        assert session.wait().status == "standing", session.state.problem
        return session

    yield started
    for session in sessions:
        session.close()


def worker_of(session: Session) -> int:
    assert session._client is not None
    return session._client.pid


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)


def go(session: Session, *moves: str) -> State:
    for move in moves:
        session.move(move.lower(), backward=move[0].isupper())
        session.wait()
    return session.state


def shown(state: State) -> tuple:
    assert state.current is not None
    return state.current.key, state.current.summary, state.number


def test_the_history_is_numbered_in_order_of_time(start: Start) -> None:
    session = start(program_file("scan"))
    fourth = go(session, *["continue"] * 4)
    assert fourth.number == 4
    second = go(session, "Continue", "Continue")
    assert second.number == 2
    assert len(second.history) == 4
    session.goto(second.history[3])
    assert shown(session.wait()) == shown(fourth)
    assert go(session, "next").number == 0
    assert go(session, "continue").number == 5


def test_a_killed_worker_is_told_and_the_next_command_goes_on(start: Start) -> None:
    session = start(program_file("scan"))
    go(session, *["continue"] * 3)
    os.kill(worker_of(session), signal.SIGKILL)
    until(lambda: session.state.status == "dead")
    assert "SIGKILL" in str(session.state.problem)
    assert len(session.state.history) == 3
    after = go(session, "continue")
    assert (after.status, after.number, after.problem) == ("standing", 4, None)
    assert go(session, "Continue").number == 3


def test_death_in_the_middle_of_a_step(start: Start) -> None:
    session = start(program_file("nested"))
    reference = [shown(go(session, "continue")) for _ in range(10)]
    session.goto(session.state.history[0])
    session.wait()
    for _ in range(4):
        session.move("continue")
        os.kill(worker_of(session), signal.SIGKILL)
        until(lambda: session.state.status == "dead")
        # It died before or after it had answered; either way the next stop is the one after where it stands.
        stands = session.state.number
        assert shown(go(session, "continue")) == reference[stands]


def test_no_worker_is_left_behind(start: Start) -> None:
    session = start(program_file("product"))
    pid = worker_of(session)
    session.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_an_endless_loop_can_be_interrupted(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "endless.txt"
    path.write_text(ENDLESS)
    session = start(path, grain="body", specs=(parse_spec("first"),))
    before = shown(go(session, "continue"))
    session.move("continue")
    until(lambda: "w in e" in session.state.activity)
    session.interrupt()
    state = session.wait()
    assert state.status == "standing"
    assert "interrupted" in str(state.problem)
    session.goto(state.history[0])
    assert shown(session.wait()) == before


def test_a_compiled_loop_that_does_not_listen_is_ended(start: Start, tmp_path: Path) -> None:
    path = tmp_path / "endless.txt"
    path.write_text(ENDLESS)
    session = start(path, grain="whole", specs=(parse_spec("first"),))
    before = shown(go(session, "continue"))
    session.move("continue")
    until(lambda: "compiling" in session.state.activity)
    session.interrupt()
    assert session.wait().status in ("dead", "standing")
    session.goto(session.state.history[0])
    assert shown(session.wait()) == before


def test_commands_while_something_is_under_way_are_refused_in_words(start: Start) -> None:
    session = start(program_file("scan"))
    session.move("continue")
    with pytest.raises(HloTuiError, match="busy"):
        session.move("continue")
    session.wait()


def test_stops_are_set_and_taken_away(start: Start) -> None:
    session = start(program_file("product"))
    assert len(session.state.stops) == 1
    (stop,) = session.state.stops
    session.toggle(stop["computation"], "sin.1")
    assert [s["instruction"] for s in session.wait().stops] == ["sin.1", "mul.1"]
    assert go(session, "continue").current.instruction == "sin.1"  # type: ignore[union-attr]
    session.toggle(stop["computation"], "sin.1")
    assert len(session.wait().stops) == 1


def test_values_of_other_instructions_can_be_looked_at(start: Start) -> None:
    session = start(program_file("product"))
    state = go(session, "continue")
    assert state.current is not None
    session.look(state.current.computation, "cos.1")
    value = session.wait().value_of(state.current.computation, "cos.1")
    assert value is not None
    assert value["first"] == pytest.approx([0.5403023])
    session.look("nowhere", "cos.1")
    assert "not being run" in str(session.wait().problem)


def test_another_grain_shows_the_same_place(start: Start) -> None:
    session = start(program_file("scan", "cpu_after_optimizations.txt"))
    before = go(session, "continue", "continue")
    session.regrain("body")
    after = session.wait()
    assert after.current is not None
    assert before.current is not None
    assert after.current.key == before.current.key
    assert after.current.summary["first"] == pytest.approx(before.current.summary["first"])  # type: ignore[index]


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("HloModule bad\n\nENTRY e {\n  ROOT x = f32[] frobnicate()\n}\n")
    session = Session(Options(path), lambda _: None)
    session.start()
    state = session.wait()
    assert state.status == "failed"
    assert "parser" in str(state.problem)
    session.close()


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("tags", TAGS),
        ("%mul.3", StopSpec("instruction", "mul.3")),
        ("region_0.4/mul.3", StopSpec("instruction", "mul.3", "region_0.4")),
        ("op:dot", StopSpec("opcode", "dot")),
        ("name:.*/layer/.*", StopSpec("op_name", ".*/layer/.*")),
        ("line:train.py:42", StopSpec("source", "train.py", line=42)),
    ],
)
def test_stops_are_read_and_written(text: str, spec: StopSpec) -> None:
    assert parse_spec(text) == spec
    assert parse_spec(spec.text()) == spec


@pytest.mark.parametrize("text", ["", "op:", "name:(", "line:train.py", "line::3", "%"])
def test_what_is_no_stop_is_refused(text: str) -> None:
    with pytest.raises(HloTuiError, match="is no stop"):
        parse_spec(text)


def test_a_changed_value_survives_the_worker(start: Start) -> None:
    session = start(program_file("scan"))
    state = go(session, *["continue"] * 3)
    assert state.current is not None
    session.change(state.current.computation, state.current.instruction, "100")
    changed = session.wait()
    assert changed.current is not None
    assert changed.current.summary["first"] == [100.0]  # type: ignore[index]
    assert [stop.key for stop in changed.history] == [stop.key for stop in state.history]
    after = shown(go(session, "continue"))
    os.kill(worker_of(session), signal.SIGKILL)
    until(lambda: session.state.status == "dead")
    go(session, "Continue")
    assert shown(go(session, "continue")) == after
    session.undo_changes()
    assert session.wait().current.event["changes"] == 0  # type: ignore[union-attr]


def test_close_looks_come_back_to_the_one_who_asked(start: Start) -> None:
    session = start(program_file("scan"))
    state = go(session, "continue", "continue")
    assert state.current is not None
    value = {"computation": state.current.computation, "instruction": state.current.instruction}
    seen: list[dict] = []
    session.inspect({"what": "overview", "value": value}, seen.append)
    assert session.wait().problem is None
    assert seen[0]["table"]["rows"] == [state.current.summary["first"]]  # type: ignore[index]
    session.inspect({"what": "table", "value": value, "slice": "[7]"}, seen.append)
    assert "no slice" in str(session.wait().problem)
    assert len(seen) == 1


def test_what_was_refused_is_not_what_a_fresh_worker_begins_with(start: Start, tmp_path: Path) -> None:
    (tmp_path / "endless.txt").write_text(ENDLESS)
    session = start(tmp_path / "endless.txt", inputs="made")
    session.use_inputs(str(tmp_path / "nowhere.npz"))
    assert session.wait().problem is not None
    session.move("continue")
    with pytest.raises(HloTuiError, match="busy"):
        session.regrain("body")
    with pytest.raises(HloTuiError, match="busy"):
        session.use_inputs("ones")
    session.interrupt()
    session.wait()
    assert (session.options.inputs, session.options.grain) == ("made", "unit")
    session.regrain("body")
    session.wait()
    session.use_inputs("zeros")
    session.wait()
    assert (session.options.inputs, session.options.grain) == ("zeros", "body")
    os.kill(worker_of(session), signal.SIGKILL)
    until(lambda: session.state.status == "dead")
    state = go(session, "next")
    assert state.problem is None
    assert state.start["inputs"] == "zeros"  # type: ignore[index]
    assert state.start["grain"] == "body"  # type: ignore[index]


def test_a_worker_that_is_gone_comes_back_in_the_grain_that_is_asked_for(start: Start) -> None:
    session = start(program_file("scan"))
    before = go(session, "continue", "continue")
    os.kill(worker_of(session), signal.SIGKILL)
    until(lambda: session.state.status == "dead")
    session.regrain("body")
    state = session.wait()
    assert state.start["grain"] == "body"  # type: ignore[index]
    assert shown(state) == shown(before)
