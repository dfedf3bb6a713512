"""What is stopped on the way leaves the replay as it was: where it stands, its grain, what is changed and supplied."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.events import read_position
from hlo_tui.replay.grain import Grain, Interrupted
from hlo_tui.replay.stopspec import parse_spec
from hlo_tui.replay.supplies import Supplies
from tests.replay.conftest import Open, program_file


class Impatient(Evaluator):
    """Is interrupted when it has asked `left` times whether it is; never, where that is 0."""

    left = 0

    @property
    def interrupted(self) -> bool:
        self.left -= self.left > 0
        return self.__dict__["now"] or self.left == 1

    @interrupted.setter
    def interrupted(self, now: bool) -> None:
        self.__dict__["now"] = now


Command = Callable[[Debugger, dict], dict]


def supplied(debugger: Debugger, _: dict) -> dict:
    return debugger.supply(Supplies(debugger.program, [f"{debugger.program.entry.ops[1].name}=zeros"]))


COMMANDS: dict[str, Command] = {
    "change": lambda debugger, stop: debugger.change(stop["computation"], stop["instruction"], "2"),
    "undo": lambda debugger, _: debugger.undo_changes(),
    "whole": lambda debugger, _: debugger.regrain(Grain.WHOLE),
    "body": lambda debugger, _: debugger.regrain(Grain.BODY),
    "supply": supplied,
    "change_first": lambda debugger, _: debugger.change_first(parse_spec("tags if iteration==4"), "3"),
    "continue": lambda debugger, _: debugger.move("continue"),
    "until": lambda debugger, _: debugger.run_until(parse_spec("tags if iteration==3")),
}


def state(debugger: Debugger) -> tuple:
    evaluator = debugger.evaluator
    return (
        debugger.spot.position(),
        evaluator.grain,
        evaluator.changes,
        evaluator.supplies,
        evaluator.unknown.copy(),
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_interrupted_has_not_been(debug: Open, command: str) -> None:
    interruptions = 0
    for left in (2, 3, 4, 5, 8, 20, 50, 100, 10_000):
        debugger = debug(program_file("scan"))
        debugger.move("continue")
        stop = debugger.move("continue")
        stop = debugger.change(stop["computation"], stop["instruction"], "1")
        evaluator = debugger.evaluator
        evaluator.__class__, evaluator.__dict__["now"] = Impatient, evaluator.__dict__.pop("interrupted")
        before = state(debugger)
        evaluator.left = left
        try:
            COMMANDS[command](debugger, stop)
        except Interrupted:
            interruptions += 1
            evaluator.left = 0
            assert state(debugger) == before
            assert debugger.here() == stop
            assert debugger.find(debugger.spot.position()).frame.chain()[0] is debugger.spot.frame.chain()[0]
            assert COMMANDS[command](debugger, stop)["event"] in ("stop", "begin")
    # In whole grain all of it is one piece.
    assert (interruptions > 0) is (command != "whole")


def test_going_back_to_a_stop_is_interrupted_as_a_whole(debug: Open) -> None:
    debugger = debug(program_file("scan"))
    far = [debugger.move("continue") for _ in range(8)][-1]
    debugger = debug(program_file("scan"))
    stop = debugger.move("continue")
    debugger.interrupt(True)
    with pytest.raises(Interrupted):
        debugger.goto(read_position(far["position"]))
    debugger.interrupt(False)
    assert debugger.here() == stop
    assert debugger.goto(read_position(far["position"])) == far


def test_a_value_that_does_not_fit_leaves_the_replay_where_it_stood(debug: Open) -> None:
    debugger = debug(program_file("scan"))
    stop = debugger.move("continue")
    with pytest.raises(Exception, match="no value"):
        debugger.change_first(parse_spec("tags if iteration==4"), "red")
    assert debugger.here() == stop
