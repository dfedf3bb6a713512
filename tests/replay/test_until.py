"""Going to where something holds, watched instructions, and stops that keep their numbers."""

from __future__ import annotations

import pytest

from hlo_tui.replay.state import Stop, met
from hlo_tui.replay.stopspec import parse_spec
from tests.replay.conftest import Open, program_file

# The states of the scan by numpy: 0, .84, 1.67, 1.64, .72, -.31, -.56, .15, 1.13, 1.43.


def iteration(event: dict) -> int | None:
    found = [step["iteration"] for step in event["path"] if step["iteration"] is not None]
    return found[-1] if found else None


class TestUntil:
    def test_other_stops_are_passed_and_stop_again_afterwards(self, debug: Open) -> None:
        debugger = debug(program_file("scan"), stops=("tags",))
        found = debugger.run_until(parse_spec("tags if min<0"))
        assert (iteration(found), found["spec"]) == (5, "tags if min<0")
        assert iteration(debugger.move("continue")) == 6

    def test_it_stays_where_nothing_holds(self, debug: Open) -> None:
        debugger = debug(program_file("scan"))
        first = debugger.move("continue")
        found = debugger.run_until(parse_spec("tags if max>100"))
        assert found == {"event": "none", "words": "tags if max>100: not met between here and the end"}
        assert debugger.here()["key"] == first["key"]
        before = debugger.run_until(parse_spec("first:nonfinite"), backward=True)
        assert before["words"] == "no NaN or infinity begins between the beginning and here"

    def test_the_first_of_all_is_found_from_the_end_too(self, debug: Open) -> None:
        debugger = debug(program_file("blowup"))
        first = debugger.run_until(parse_spec("first:inf"))
        while debugger.move("continue")["event"] != "end":
            pass
        assert debugger.run_until(parse_spec("first:inf"), begin=True)["key"] == first["key"]
        assert debugger.run_until(parse_spec("op:cosine"), begin=True)["words"] == "op:cosine: not met at all"
        assert debugger.here()["key"] == first["key"]

    def test_the_last_time_that_a_value_was_finite(self, debug: Open) -> None:
        debugger = debug(program_file("blowup"))
        bad = debugger.run_until(parse_spec("first:inf"))
        spec = parse_spec(f"{bad['computation']}/{bad['instruction']} if not nonfinite")
        good = debugger.run_until(spec, backward=True)
        assert iteration(good) == iteration(bad) - 1
        assert good["value"]["inf"] == 0
        again = debugger.run_until(parse_spec(f"{bad['computation']}/{bad['instruction']} if nonfinite"))
        assert again["key"] == bad["key"]

    def test_an_iteration_is_gone_to_from_either_side(self, debug: Open) -> None:
        debugger = debug(program_file("scan"))
        first = debugger.move("continue")
        place = f"{first['computation']}/{first['instruction']}"
        assert iteration(debugger.run_until(parse_spec(f"{place} if iteration==7"))) == 7
        back = debugger.run_until(parse_spec(f"{place} if iteration==2"), backward=True)
        assert iteration(back) == 2
        assert back["value"]["max"] == pytest.approx(1.67, abs=0.01)


class TestWatches:
    def test_a_stop_carries_what_has_run_on_the_way_there(self, debug: Open) -> None:
        debugger = debug(program_file("scan"))
        first = debugger.move("continue")
        body = debugger.program.by_name(first["computation"])
        entry = debugger.program.entry
        (loop,) = [op for op in entry.ops if op.opcode == "while"]
        debugger.watches = [
            (body.name, first["instruction"]),
            (body.name, body.ops[body.root].name),
            (entry.name, entry.ops[loop.operands[0]].name),
            (entry.name, loop.name),
            ("nowhere", "x"),
        ]
        own, root, before, around, nowhere = debugger.move("continue")["watches"]
        assert (own["state"], own["value"]["max"]) == ("here", pytest.approx(0.84, abs=0.01))
        assert (root["state"], root["value"]) == ("later", None)
        assert before["state"] == "here"
        assert before["value"] is not None
        assert (around["state"], nowhere["state"]) == ("later", "elsewhere")


def stop(moment: int, reason: str = "why", **more: object) -> Stop:
    return Stop((moment,), {"reason": reason, **more})


class TestHistory:
    def test_stops_keep_the_numbers_that_they_were_met_with(self) -> None:
        history, first = met((), stop(5))
        history, second = met(history, stop(9))
        history, between = met(history, stop(7))
        assert [(one.key[0], one.number) for one in history] == [(5, 1), (7, 3), (9, 2)]
        assert (first.number, second.number, between.number) == (1, 2, 3)
        assert met(history, stop(5, value=1))[0][0] == stop(5)
        assert met(history, stop(5, value=1))[0][0].event["value"] == 1

    def test_a_step_is_no_stop_and_a_stop_that_is_gone_to_again_keeps_its_reason(self) -> None:
        history, _ = met((), stop(5, spec="first:nan", nonfinite={"cause": "computed"}))
        same, step = met(history, stop(6, reason=""))
        assert (same, step.number) == (history, 0)
        _, again = met(history, stop(5, reason="", value=2))
        assert again.number == 1
        assert again.event == {
            "reason": "why",
            "spec": "first:nan",
            "nonfinite": {"cause": "computed"},
            "value": 2,
        }
