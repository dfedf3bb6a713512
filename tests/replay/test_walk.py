"""Time is walked both ways: what goes forward comes back, to the same place with the same value."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.replay.conftest import STAGES, Open, backward, forward, program_file

MOVES = ("continue", "next", "step", "finish")


@pytest.mark.parametrize("stage", STAGES[:2])
@pytest.mark.parametrize("name", ["scan", "loop", "branch", "nested", "quoted"])
def test_continue_backwards_meets_the_same_stops(debug: Open, name: str, stage: str) -> None:
    debugger = debug(program_file(name, stage))
    there = forward(debugger)[:-1]
    back = backward(debugger)[:-1]
    assert [(e["key"], e["value"]) for e in reversed(back)] == [(e["key"], e["value"]) for e in there]
    assert [e["key"] for e in there] == sorted(e["key"] for e in there)


@pytest.mark.parametrize("name", ["nested", "branch", "scan"])
def test_step_in_visits_every_position_and_steps_back_over_them(debug: Open, name: str) -> None:
    debugger = debug(program_file(name), stops=("op:no-such-opcode",))
    there = []
    while (event := debugger.move("step"))["event"] == "stop":
        there.append(event["key"])
    back = []
    while (event := debugger.move("step", backward=True))["event"] == "stop":
        back.append(event["key"])
    assert there == back[::-1]
    assert there == sorted(there)
    assert len(there) == len({tuple(key) for key in there})


def test_next_goes_past_a_loop_and_finish_comes_out_of_it(debug: Open) -> None:
    debugger = debug(program_file("loop"), stops=("op:no-such-opcode",))
    (loop,) = [op.name for op in debugger.program.entry.ops if op.opcode == "while"]
    while (at_loop := debugger.move("next"))["instruction"] != loop:
        assert at_loop["event"] == "stop"
    assert at_loop["value"] is None
    entry = at_loop["computation"]
    inside = debugger.move("step")
    assert inside["computation"] != entry
    outside = debugger.move("finish")
    assert (outside["computation"], outside["instruction"]) == (entry, at_loop["instruction"])
    assert outside["value"]["tuple"][0]["first"] == [20]
    assert debugger.move("finish", backward=True)["event"] == "begin"


def test_stops_inside_come_before_the_end_of_next_and_finish(debug: Open) -> None:
    debugger = debug(program_file("loop"))
    while (event := debugger.move("next"))["reason"] == "":
        assert event["event"] == "stop"
    assert event["path"][-1]["iteration"] == 0
    assert debugger.move("finish")["reason"] == 'breakpoint="body"'


def test_run_to_comes_again_in_each_iteration(debug: Open) -> None:
    debugger = debug(program_file("loop"), stops=("op:no-such-opcode",))
    (body,) = [
        c
        for c in debugger.program.reachable()
        if any(op.attributes.get("breakpoint") == "body" for op in c.ops)
    ]
    target = (body.name, body.ops[body.root].name)
    assert [debugger.move("to", target=target)["path"][-1]["iteration"] for _ in range(3)] == [0, 1, 2]
    assert debugger.move("to", backward=True, target=target)["path"][-1]["iteration"] == 1


@pytest.mark.parametrize("name", ["nested", "loop"])
def test_any_moves_keep_time_in_order(debug: Open, name: str) -> None:
    debugger = debug(program_file(name, STAGES[1]))
    seen: dict[tuple, object] = {}

    @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.lists(st.tuples(st.sampled_from(MOVES), st.booleans()), max_size=30))
    def moves(steps: list[tuple[str, bool]]) -> None:
        here = debugger.here()
        for how, back in steps:
            before = debugger.spot.position().key()
            here = debugger.move(how, back)
            after = debugger.spot.position().key()
            if here["event"] == "stop":
                assert (after < before) if back else (after > before)
                assert seen.setdefault(after, here["value"]) == here["value"]
            else:
                assert here["event"] == ("begin" if back else "end")

    moves()


def test_a_position_is_found_again_in_a_fresh_replay(debug: Open) -> None:
    from hlo_tui.replay.events import read_position

    events = forward(debug(program_file("nested")))[:-1]
    fresh = debug(program_file("nested"))
    for event in (events[9], events[2], events[15]):
        again = fresh.goto(read_position(event["position"]))
        assert (again["key"], again["value"], again["path"]) == (event["key"], event["value"], event["path"])
