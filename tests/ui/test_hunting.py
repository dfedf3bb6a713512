"""Looking for a moment on the screen: where a NaN begins, iterations, partitions, pinned values."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hlo_tui.replay.session import State, Stop
from hlo_tui.replay.stopspec import TAGS, parse_spec
from hlo_tui.ui.foundrows import change_rows, left_out_rows, origin_rows, origin_words, partition_words
from hlo_tui.ui.glyphs import BAD
from hlo_tui.ui.opened import Want
from hlo_tui.ui.popups import help_rows
from hlo_tui.ui.replayrows import ReplayView, Visit, build
from hlo_tui.ui.treerows import Place
from hlo_tui.ui.wantedstops import WantedStops
from tests.corpus import DATA
from tests.ui.driving import Driver, driving
from tests.ui.fakes import START, STOPS, FakeSession, summary


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(FakeSession, "made", [])


async def test_the_first_nan_is_run_to_and_stopped_at_until_that_is_switched_off(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("exclamation_mark")
        await app.type("mask")
        await app.press("enter")
        await app.sees("stop 3 of 1")
        session = FakeSession.made[0]
        assert session.calls[0] == ("until", "first:nonfinite!mask", False, False)
        assert [spec.text() for spec in session.state.specs] == ["tags", "first:nonfinite!mask"]
        await app.press("L")
        await app.sees(
            "! first:nonfinite!mask  in every module, until it is deleted; leaves mask out in this one"
        )
        await app.press("q", "exclamation_mark", "ctrl+u")
        await app.type("off")
        await app.press("enter")
        await app.sees("not stopped at any more")
        assert session.state.specs == (TAGS,)


def test_names_are_left_out_in_one_module_and_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one, other = (Want(Place(name), Path(name)) for name in ("one", "other"))
    stops = WantedStops(tmp_path)
    stops.hold_everywhere(one, parse_spec("first:nonfinite!sqrt"))
    assert [spec.text() for spec in stops.of(one)] == ["tags", "first:nonfinite!sqrt"]
    assert [spec.text() for spec in stops.of(other)] == ["tags", "first:nonfinite"]
    stops.put(one, (*stops.of(one), parse_spec("op:dot")))
    stops.save(one)
    assert [spec.text() for spec in WantedStops(tmp_path).of(one)] == ["tags", "op:dot"]


async def test_another_pattern_begins_at_the_beginning_the_same_one_goes_on(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("c", "exclamation_mark", "enter")
        await app.until(lambda: FakeSession.made[0].calls[-2:], "a run")
        assert ("until", "first:nonfinite", False, True) in FakeSession.made[0].calls
        await app.press("exclamation_mark", "enter")
        assert FakeSession.made[0].calls[-1] == ("until", "first:nonfinite", False, False)


async def test_moments_and_iterations_are_gone_to_from_either_side(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c", "c")
        await app.until(lambda: app.app.desk.marks.standing == 25, "standing")
        await app.press("left_parenthesis", "enter")
        await app.sees("stop 1 of 2")
        calls = FakeSession.made[0].calls
        assert calls[-1] == ("until", "region_0.4/mul.3 if not nonfinite", True, False)
        await app.press("right_parenthesis", "2", "enter")
        assert calls[-1] == ("until", "region_0.4/mul.3 if iteration==2", False, False)
        await app.press("right_parenthesis", "0", "enter")
        assert calls[-1] == ("until", "region_0.4/mul.3 if iteration==0", True, False)
        for words in ("iteration 1", "iteration==1"):
            await app.press("right_parenthesis")
            await app.sees("nonfinite   next time %mul.3 is nan, finite, max>1e4 ...; or an iteration: 7")
            await app.press("ctrl+u")
            await app.type(words)
            await app.press("enter")
            assert calls[-1] == ("until", "region_0.4/mul.3 if iteration==1", False, False)
        await app.press("right_parenthesis", "ctrl+u")
        await app.type("op:nothing")
        await app.press("enter")
        await app.sees("op:nothing: not met between here and the end")
        await app.press("right_parenthesis", "ctrl+u")
        await app.type("what")
        await app.press("enter")
        await app.sees("this is no condition")


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
async def test_all_stops_so_far_are_listed_and_gone_to(dump, size):
    async with driving(dump, size, make=FakeSession) as app:
        await app.opened()
        await app.press("c", "c", "c", "H")
        await app.sees("3 stops, in order of time", "▶   3 ! %mul.3", "1.9 → 41.2")
        await app.golden(f"history-{size[0]}x{size[1]}", first_row=1)
        await app.press("exclamation_mark")
        await app.sees("1 of them are shown")
        await app.press("exclamation_mark", "slash")
        await app.type("nothing")
        await app.press("enter")
        await app.sees("0 of them are shown")
        await app.press("slash", "ctrl+u", "enter", "home", "enter")
        await app.until(lambda: app.app.desk.replays.state.number == 1, "at the first stop")
        assert FakeSession.made[0].calls[-1] == ("goto", STOPS[0])


async def test_a_value_is_pinned_and_shown_at_each_stop(dump):
    async with driving(dump, (120, 44), make=FakeSession) as app:
        await app.opened()
        await app.press("2", "up")
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "one line up")
        await app.press("W")
        await app.sees("%tanh.2 is shown at each stop")
        await app.press("c")
        session = FakeSession.made[0]
        assert session.calls[0] == ("watches", (("region_0.4", "tanh.2"),))
        seen = [
            watched(stop, {"state": "here", "value": summary(float(n))}) for n, stop in enumerate(STOPS[:2])
        ]
        session.tell(current=seen[1], history=tuple(seen), number=2)
        await app.sees("1 pinned value", "%tanh.2  f32[4,8]", "max ▁█ 1")
        later = watched(STOPS[2], {"state": "later", "value": None})
        session.tell(current=later, history=(*seen, later), number=3)
        await app.sees("%tanh.2  has not run yet")


def watched(stop: Stop, seen: dict) -> Stop:
    return replace(
        stop,
        event={**stop.event, "watches": [{"computation": "region_0.4", "instruction": "tanh.2", **seen}]},
    )


async def test_a_value_that_carries_a_nan_has_another_sign_than_one_that_was_run(dump):
    async with driving(dump, (120, 64), make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c")
        stop = replace(STOPS[0], event={**STOPS[0].event, "carriers": [["region_0.4", "tanh.2"]]})
        FakeSession.made[0].tell(current=stop)
        marks = app.app.desk
        await app.until(lambda: BAD in marks.marks.values.values(), "a sign")
        (line,) = [line for line, sign in marks.marks.values.items() if sign == BAD]
        assert b"%tanh.2" in app.app.main.code.text.raw(line)
        assert marks.marks.run_sign(line) == (BAD, "nan")
        session = FakeSession.made[0]
        session.tell(current=STOPS[2], history=(STOPS[2],), number=3)
        await app.sees("! in the list: a NaN or an")
        helped = "\n".join(span.text for one in help_rows(app.app.situation(), 120) for span in one.spans)
        assert "was run on the way here" in helped
        assert "a NaN or an infinity in the value" in helped


async def test_a_partition_is_chosen(dump):
    async with driving(dump, (120, 44), make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c", "number_sign")
        await app.sees("the module runs on one device")
        whole = {**summary(1.0), "partitions": 3, "partitions_equal": False, "partitions_differ": [2]}
        stop = replace(
            STOPS[0],
            event={**STOPS[0].event, "value": whole, "partitions": [whole, summary(1.0), summary(99.0)]},
        )
        session = FakeSession.made[0]
        session.tell(current=stop, history=(stop,), number=1, start={**START, "devices": 3})
        await app.sees("partition 0 of 3; other than partition 0: 2")
        await app.press("number_sign", "end")
        await app.sees("Partitions", "other than 0")
        await app.press("enter")
        await app.sees("partition 2 of 3", "max 99")


def test_partitions_are_said_to_be_equal_or_which_are_not():
    one = summary(1.0)
    assert partition_words(one, 1) == ""
    assert partition_words(one, 8) == "one value for all 8 partitions"
    assert partition_words({**one, "partitions": 8, "partitions_equal": True}, 8) == "all 8 partitions equal"
    differ = {**one, "partitions": 8, "partitions_differ": [1, 3]}
    assert partition_words({"tuple": [one, differ]}, 8) == "other than partition 0: 1, 3"


@pytest.mark.parametrize(
    ("cause", "inputs", "reaches", "words"),
    [
        ("computed", "snapshot", True,
         ("NaN begins here; ", "an output that is not finite depends on it", "the inputs are real (snapshot)")),
        ("made inputs", "made", False, ("it is masked: no output depends on it", "the inputs are made up")),
        ("the inputs", "snapshot", True, ("it is in the inputs already: X finds the recorded run in which it began",)),
        ("the inputs", "npz", True, ("depends on it", "it is in the inputs already")),
    ],
)  # fmt: skip
def test_a_nan_says_its_cause_and_what_becomes_of_it(cause, inputs, reaches, words):
    event = {
        "value": {**summary(1.0), "nan": 3}, "source": "/home/me/model.py:88",
        "nonfinite": {"cause": cause, "reaches_output": reaches},
    }  # fmt: skip
    rows = list(origin_rows(event, inputs, 300))
    text = "\n".join("".join(span.text for span in (*row.spans, *row.right)) for row in rows)
    assert "model.py:88" in text
    for word in words:
        assert word in text
    assert list(origin_rows({**event, "nonfinite": None}, inputs, 80)) == []


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("masked", ("it is masked: %", "at [1] %x.1 is −1")),
        ("reaching", ("it reaches output 0 (1 NaN", "at [2] %mul.2 is 200")),
    ],
)
async def test_the_real_engine_tells_a_masked_nan_from_one_that_reaches_an_output(name, words):
    async with driving(DATA / "replay", (160, 50)) as app:
        await open_module(app, name)
        await app.press("2", "exclamation_mark", "enter")
        await app.sees("begins here", *words, "programs.py:")
        assert app.app.desk.marks.standing == app.app.main.code.line


async def open_module(app: Driver, name: str) -> None:
    await app.opened()
    await app.press("ctrl+p")
    await app.type(f"open jit_{name}")
    await app.press("enter")
    desk = app.app.desk
    await app.until(lambda: desk.opened and desk.opened.want.title.startswith(f"jit_{name} "), "open")
    await app.opened()


def test_what_a_change_by_hand_does_to_a_value_is_said():
    def text(event: dict) -> str:
        return "".join("".join(span.text for span in row.spans) for row in change_rows(event))

    assert text({"changes": 0}) == ""
    assert "the same without them" in text({"changes": 1, "changed": False})
    assert "without them it is f32[4,8]  min" in text({"changes": 2, "changed": True, "before": summary(9.0)})
    assert "would not come here" in text({"changes": 1, "changed": True, "before": None})


async def test_modules_whose_recorded_result_is_not_finite_are_marked_before_anything_runs():
    async with driving(DATA / "replay", (120, 50)) as app:
        await app.opened()
        await app.press("1", "slash")
        await app.type("jit_reaching")
        await app.sees("jit_reaching     ! #26")
        await app.press("ctrl+u")
        await app.type("jit_masked")
        await app.sees("jit_masked")
        assert "! #24" not in app.text


def test_the_panel_shows_the_stops_around_where_the_replay_stands():
    stops = tuple(replace(STOPS[0], key=(n,), number=n + 1) for n in range(1000))

    def numbers(current: Stop | None) -> list[int]:
        state = State(status="standing", at="stop", current=current, history=stops, start=START)
        keys = (row.key for row in build(ReplayView(state), 100))
        return [key.number for key in keys if isinstance(key, Visit)]

    assert numbers(stops[-1]) == list(range(1000, 800, -1))
    assert numbers(stops[0]) == list(range(200, 0, -1))
    assert numbers(stops[500]) == list(range(601, 401, -1))
    assert numbers(None) == list(range(1000, 800, -1))


async def test_what_is_typed_does_not_scroll_the_panel(dump):
    async with driving(dump, (120, 34), make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c")
        await app.sees("stop 1 of 1")
        await app.press("right_parenthesis", "ctrl+u", "2", "enter")
        await app.sees("stop 2 of 2")
        await app.press("c")
        await app.sees("stop 3 of 3", "max over stops")
        assert app.app.main.replay.key is None
        assert app.app.main.replay.scroll_offset.y == 0


def test_where_there_is_little_room_the_same_is_said_shortly():
    found = {
        "reaches_output": True,
        "outputs": [{"output": 2, "nan": 1, "inf": 0}],
        "begins": {"NaN": 0, "-inf": 3},
    }
    left_out = {"pattern": "sqrt", "count": 1, "first": "sqrt.1"}
    event = {"nonfinite": found, "left_out": left_out}
    assert origin_words(event) == "-inf begins here, reaches output 2; 1 left out"
    assert "%sqrt.1" in "".join(span.text for one in left_out_rows(event, 80) for span in one.spans)
    assert origin_words({"nonfinite": {"reaches_output": False}}) == "begins here, masked"
