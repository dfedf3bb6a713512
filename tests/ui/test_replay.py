"""The replay on the screen: with a session that answers at once, and with the real engine."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from hlo_tui.errors import EngineError
from hlo_tui.replay.session import State
from hlo_tui.replay.stopspec import TAGS
from hlo_tui.ui.reading import Reader
from hlo_tui.ui.replayrows import ReplayView, build
from hlo_tui.ui.replays import ReplayOptions
from tests.corpus import DATA
from tests.ui import dumps
from tests.ui.driving import driving
from tests.ui.fakes import OVERVIEW, SEEN, START, STOPS, FakeSession


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(FakeSession, "made", [])
    monkeypatch.setattr(FakeSession, "slow", False)


@pytest.mark.parametrize("size", [(80, 24), (120, 34), (200, 60)])
async def test_the_screen_at_a_stop(dump, size):
    async with driving(dump, size, make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c", "c")
        await app.until(lambda: app.app.desk.marks.standing == 25, "standing at the tag")
        await app.sees("▶ 26 ●")
        await app.golden(f"stop-{size[0]}x{size[1]}", first_row=1)


async def test_continue_shows_where_it_stands_what_it_ran_and_the_value(dump):
    async with driving(dump, (120, 50), make=FakeSession) as app:
        await app.opened()
        await app.press("c")
        await app.sees(
            "stop 1 of 1", "main.88 › region_0.4", "iteration 0 of 0–2", "max 1.9", "first 3", "not faithful"
        )
        await app.sees("▶ 26 ●", "25  ✓", "› 44")
        await app.press("c", "c")
        await app.sees("stop 3 of 3", "iteration 2 of 0–2", "nan 2", "max over stops", "1.9 → 41.2")
        await app.sees("▶ 26 ●!", "! ● 2 #12")
        await app.press("C")
        await app.sees("stop 2 of 3")
        assert [call[:2] for call in FakeSession.made[0].calls] == [("continue", False)] * 3 + [
            ("continue", True)
        ]


async def test_a_key_that_comes_before_the_tags_are_known_is_not_lost(dump, monkeypatch):
    held, mark = [], Reader.mark
    monkeypatch.setattr(Reader, "mark", lambda *arguments: held.append(arguments))
    async with driving(dump, make=FakeSession) as app:
        await app.until(lambda: held, "all of the file is known but for its tags")
        await app.press("c")
        assert not FakeSession.made
        monkeypatch.setattr(Reader, "mark", mark)
        mark(*held[-1])
        await app.sees("stop 1 of 1")


async def test_the_keys_after_a_move_are_meant_for_the_code(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        assert app.app.main.pane == "modules"
        await app.press("c")
        await app.sees("stop 1 of 1", "▶ 26 ●")
        assert app.app.main.pane == "code"
        await app.press("4", "c")
        await app.sees("stop 2 of 2")
        assert app.app.main.pane == "replay"


async def test_a_module_without_a_tag_says_how_to_find_a_nan(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("1", "end", "up")
        await app.until(lambda: app.app.desk.opened.want.title == "jit_eval #14", "a module without tags")
        await app.opened()
        await app.press("c")
        await app.sees("there is nothing to stop at", "To find the first NaN or infinity: ! and enter.")
        assert not FakeSession.made
        await app.press("exclamation_mark", "enter")
        await app.until(lambda: FakeSession.made and FakeSession.made[0].calls, "a replay")
        assert FakeSession.made[0].calls[0] == ("until", "first:nonfinite", False, False)


async def test_where_there_is_no_room_nothing_to_stop_at_is_said_too(dump):
    async with driving(dump, (80, 24), make=FakeSession) as app:
        await app.opened()
        await app.press("end", "up", "enter")
        await app.until(lambda: app.app.desk.opened.want.title == "jit_eval #14", "a module without tags")
        await app.opened()
        await app.press("c")
        await app.sees("nothing is tagged here: c again runs to the end, 4 says more")
        await app.press("4")
        await app.sees("To find the first NaN or infinity: ! and enter.")
        assert not FakeSession.made


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_tags_that_are_switched_off_are_not_said_to_be_none(dump, size):
    async with driving(dump, size, make=FakeSession) as app:
        await app.opened()
        await app.press("L", "b")
        await app.sees("tagged operations  off")
        await app.press("q", "2", "c")
        await app.sees("2 tagged operations are switched off, L lists them; c again runs to the end")
        assert not FakeSession.made
        await app.press("4")
        await app.sees("2 tagged operations are switched off: L lists them, b there switches one on.")
        await app.misses("No operation of this module is tagged")


async def test_the_replay_begins_again_from_the_palette(dump):
    async with driving(dump, (120, 40), make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c", "c")
        await app.sees("stop 2 of 2")
        await app.press("ctrl+p")
        await app.type("restart")
        await app.sees("begin again", "changed values and the history are forgotten")
        await app.press("enter")
        await app.sees("before the first instruction")
        assert FakeSession.made[0].calls[-1] == ("inputs", "auto", 0)


async def test_the_end_says_what_was_checked_and_what_is_unknown(dump):
    async with driving(dump, (120, 40), make=FakeSession) as app:
        await app.opened()
        await app.press("c", "c", "c", "c")
        await app.sees(
            "stepped against whole: match", "against the recorded run: none", "output 0", "1 value unknown"
        )
        await app.sees("custom.1: a host callback")
        await app.press("c")
        await app.sees("the replay is at its end")


async def test_the_history_is_gone_back_to(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("c", "c", "c", "4", "end", "enter")
        await app.sees("▶   1  %mul.3", "stop 1 %mul.3")
        assert FakeSession.made[0].calls[-1] == ("goto", STOPS[0])


async def test_keys_become_moves(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("2", "n")
        await app.until(lambda: app.app.desk.marks.standing == 25, "standing")
        for key in ("s", "N", "S"):
            await app.press(key)
        await app.press("up")
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "one line up")
        await app.press("t", "f10", "f11")
        moves = FakeSession.made[0].calls
        assert moves[:4] == [
            ("next", False, None),
            ("step", False, None),
            ("next", True, None),
            ("step", True, None),
        ]
        assert ("to", False, ("region_0.4", "tanh.2")) in moves


async def test_frames_up_and_down(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c")
        await app.until(lambda: app.app.desk.marks.standing == 25, "standing")
        await app.press("u")
        assert app.line == 44
        await app.press("u")
        await app.sees("this is the entry")
        await app.press("d")
        assert app.line == 26


async def test_a_value_is_looked_at_closely(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c", "up")
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "one line up")
        await app.press("v")
        await app.sees("%tanh.2  stop 1", "max 7.5", "histogram", "the largest is at [1, 1]: 7.5", "7.5‹")
        calls = FakeSession.made[0].calls
        assert ("look", "region_0.4", "tanh.2") in calls
        assert calls[-1][1]["value"] == {"computation": "region_0.4", "instruction": "tanh.2"}
        await app.press("w")
        assert calls[-1][1]["slice"] == "0:9, 0:9"
        await app.press("g", "ctrl+u")
        await app.type("0")
        await app.press("enter")
        assert calls[-1][1]["slice"] == "0"
        await app.press("e")
        await app.type("finite")
        await app.press("enter")
        assert calls[-1] == ("change", "region_0.4", "tanh.2", "finite")
        await app.press("s", "enter")
        await app.sees("saved 256 bytes in /tmp/x.npy")
        assert calls[-1][1]["path"] == "tanh.2.npy"
        await app.press("equals_sign")
        await app.type("1")
        await app.press("enter")
        await app.sees("compared with stop 1", "equal, bit for bit")
        assert calls[-1][1]["other"]["position"] == STOPS[0].event["position"]
        await app.press("equals_sign", "ctrl+u")
        await app.type("iteration 2")
        await app.press("enter")
        await app.sees("compared with iteration 2")
        assert calls[-1][1]["other"] == {**calls[-1][1]["value"], "iteration": 2}
        await app.press("i")
        await app.sees("in 3 iterations; enter goes to one", "not finite from iteration 2 on")
        await app.press("r", "ctrl+u")
        await app.type("0, 2")
        await app.press("enter")
        await app.sees("out of 0 to 2, marked *: 2   [1, 0] 2.5", "7.5*‹")
        assert (calls[-1][1]["low"], calls[-1][1]["high"]) == (0.0, 2.0)
        await app.press("y")
        await app.sees("copied 2 × 2 elements")
        assert app.app.clipboard == "0.5\t1.5\n2.5\t7.5\n"
        await app.press("p")
        await app.sees("The module runs on one device")
        await app.press("question_mark")
        await app.sees("Follow an element back to where it comes from")
        await app.press("q", "o", "enter")
        await app.sees("where it comes from", "%dot.9 [1, 1] 7.5")
        await app.press("home", "enter")
        await app.until(lambda: app.app.desk.inspection.title == "dot.9", "at the origin")
        assert app.app.screen is app.app.main


async def test_a_wrong_answer_on_the_value_screen_is_told(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c", "v")
        await app.sees("histogram")
        await app.press("equals_sign", "ctrl+u")
        await app.type("99")
        await app.press("enter")
        await app.sees("There is no such stop")
        await app.press("o", "ctrl+u")
        await app.type("x")
        await app.press("enter")
        await app.sees("Not an element")
        await app.press("q")
        await app.misses("histogram")


async def test_stops_are_set_and_tags_switched_off(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        desk = app.app.desk
        specs = lambda: desk.replays.specs(desk.opened.want)  # noqa: E731
        await app.press("2", "up")
        await app.until(lambda: desk.inspection.title == "tanh.2", "one line up")
        await app.press("b")
        await app.sees("25 ◆")
        own = specs()[1]
        assert (own.value, own.computation, own.anchor[0]) == ("tanh.2", "region_0.4", "tanh")
        await app.press("b")
        await app.misses("◆")
        await app.press("down")
        await app.until(lambda: desk.inspection.title == "mul.3", "at the tag")
        await app.press("b")
        await app.sees("26 ○")
        assert [(one.kind, one.value, one.enabled) for one in specs()] == [
            ("tags", "", True),
            ("instruction", "mul.3", False),
        ]
        await app.press("b")
        await app.sees("26 ●")
        assert set(specs()) == {TAGS}


async def test_stops_of_other_kinds_are_typed(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("B")
        await app.type("op:dot; op:sin")
        await app.press("enter")
        await app.until(lambda: len(app.app.desk.replays.specs(app.app.desk.opened.want)) == 3, "three specs")
        await app.press("B", "ctrl+u")
        await app.type("what:")
        await app.press("enter")
        await app.sees("is no stop")
        await app.press("B", "ctrl+u")
        await app.type("op:cosine; op:dot")
        await app.press("enter")
        await app.sees("nothing in this module is op:cosine: L lists the stops")


async def test_nothing_to_stop_at_says_how_to_tag_and_then_runs(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("ctrl+p")
        await app.type("open jit_eval")
        await app.press("enter")
        await app.until(lambda: app.app.desk.opened.want.title == "jit_eval #14", "open")
        await app.opened()
        await app.press("c")
        await app.sees(
            "No operation of this module is tagged", "set_xla_metadata(y, breakpoint=True)", "b sets a stop"
        )
        assert not FakeSession.made
        await app.press("c")
        await app.until(lambda: FakeSession.made, "it runs")


async def test_what_is_under_way_is_said_and_can_be_stopped(dump, monkeypatch):
    monkeypatch.setattr(FakeSession, "slow", True)
    async with driving(dump, (120, 50), make=FakeSession) as app:
        await app.opened()
        await app.press("c")
        await app.sees("running to the next stop", "ctrl+c stops it")
        await app.press("n")
        await app.sees("next: comes next, ctrl+c stops")
        await app.press("t")
        await app.sees("the replay is at work")
        await app.press("n", "ctrl+c")
        await app.sees("! interrupted")
        assert FakeSession.made[0].calls[-1] == ("interrupt",)


async def test_a_move_that_is_asked_for_meanwhile_is_made_next(dump, monkeypatch):
    monkeypatch.setattr(FakeSession, "slow", True)
    async with driving(dump, (120, 50), make=FakeSession) as app:
        await app.opened()
        await app.press("c", "c", "c")
        await app.sees("continue: comes next")
        session = FakeSession.made[0]
        session.finish()
        await app.until(lambda: len(session.calls) == 2, "the next move")
        session.finish()
        await app.sees("stop 2 of 2")
        assert session.calls == [("continue", False, None)] * 2


async def test_a_dead_worker_is_told_with_its_last_words(dump):
    async with driving(dump, (120, 50), make=FakeSession) as app:
        await app.opened()
        await app.press("c")
        await app.sees("stop 1")
        problem = EngineError(
            "the engine died", "signal 6 (SIGABRT) while compiling", "the next command starts it again"
        )
        FakeSession.made[0].tell(status="dead", problem=problem, stderr=("F0000 check failed",))
        await app.sees("! the engine died", "SIGABRT", "starts it again", "F0000 check failed")
        assert "saves what XLA died of" not in app.text
        FakeSession.made[0].crash = object()
        FakeSession.made[0].tell()
        await app.sees("then enter here saves what XLA died of")
        await app.press("4", "home", "enter", "enter")
        await app.sees("its run.py ended with signal 6 (SIGABRT) when it was tried")
        assert FakeSession.made[0].calls[-1] == ("save_crash", "hlo-tui-crash.zip")
        await app.press("c")
        await app.sees("stop 2")


async def test_another_module_is_looked_at_while_a_replay_stands(dump):
    async with driving(dump, (120, 50), make=FakeSession) as app:
        await app.opened()
        await app.press("c")
        await app.sees("▶ 26 ●")
        app.app.main.go("modules")
        await app.press("end", "up")
        await app.until(lambda: app.app.desk.opened.want.title == "jit_eval #14", "another module")
        await app.sees(
            "Replay of jit_train_step #12 before", "is replayed; the code shows another module: d, or enter"
        )
        await app.press("C")
        await app.sees("jit_train_step #12 before is being replayed: d goes there")
        assert not FakeSession.made[0].closed
        await app.press("d")
        await app.until(lambda: app.app.desk.opened.want.title == "jit_train_step #12", "the replayed module")
        await app.until(lambda: app.app.main.code.line == 25, "where the replay stands")
        app.app.main.go("modules")
        await app.press("end", "up")
        await app.until(lambda: app.app.desk.opened.want.title == "jit_eval #14", "another module")
        await app.press("4", "home", "enter")
        await app.until(lambda: app.app.desk.opened.want.title == "jit_train_step #12", "the replayed module")


async def test_a_replaced_file_does_not_disturb_the_replay(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c")
        await app.sees("▶ 26 ●")
        (dump / "tmp").write_text(dumps.EVAL)
        os.replace(dump / "tmp", app.app.desk.wanted.path)
        await app.sees("replaced on disk", "r reads it again")
        assert "▶ 26 ●" in app.text
        await app.press("r")
        await app.sees("ENTRY %main.3")
        assert FakeSession.made[0].closed


async def test_the_information_names_inputs_engine_and_reasons(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("c", "i")
        await app.sees("made, seed 0", "jaxlib 0.10.2", "the inputs are made up", "tagged operations")


async def test_options_reach_the_session(dump):
    options = ReplayOptions(inputs="zeros", seed=7, grain="body", platform="cpu")
    async with driving(dump, make=FakeSession, replay=options) as app:
        await app.opened()
        await app.press("c")
        await app.sees("body grain")
        made = FakeSession.made[0].options
        assert (made.inputs, made.seed, made.grain, made.member) == ("zeros", 7, "body", None)
        await app.press("ctrl+p")
        await app.type("grain: whole")
        await app.press("enter")
        await app.sees("whole grain")


async def test_the_real_engine_steps_through_a_loop_and_survives_a_kill():
    async with driving(DATA / "replay", (160, 44)) as app:
        await app.opened()
        await app.press("ctrl+p")
        await app.type("open jit_loop")
        await app.press("enter")
        await app.until(
            lambda: app.app.desk.opened and app.app.desk.opened.want.title == "jit_loop #34", "open"
        )
        await app.opened()
        await app.press("2", "c")
        await app.sees("stop 1 of 1", "inputs snapshot, faithful")
        await app.press("c")
        await app.sees("stop 2 of 2")
        session = app.app.desk.replays.session
        os.kill(session._client.pid, signal.SIGKILL)
        await app.sees("! the engine died", "the next command starts it again")
        await app.press("c")
        await app.sees("stop 3 of 3")
        await app.press("C")
        await app.sees("stop 2 of 3")
        await app.press("ctrl+p")
        await app.type("end the replay")
        await app.press("enter")
        await app.misses("stop 2 of 3")


def test_fake_states_are_those_of_the_session():
    assert replace(FakeSession(None, lambda _: None, (TAGS,)).state).status == "off"


async def test_a_stop_is_set_where_the_cursor_is_however_fast_one_types(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.pilot.press("2", "up", "up", "b")
        await app.sees("24 ◆")


async def test_looking_at_a_value_leaves_the_cursor_where_it_is(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c", "up", "up")
        await app.until(lambda: app.app.desk.inspection.title == "dot.9", "two lines up")
        await app.press("v")
        await app.sees("histogram")
        await app.press("q")
        await app.misses("histogram")
        assert app.line == 24


async def test_a_slice_that_cannot_be_shown_does_not_stay():
    async with driving(DATA / "step", (100, 44)) as app:
        await app.opened()
        await app.press("2", "c")
        await app.sees("stop 1")
        await app.until(lambda: app.app.desk.replays.state.status == "standing", "standing")
        await app.press("v")
        await app.sees("elements")
        await app.press("g", "1", "enter")
        await app.sees("dimension 0 at 1, 1")
        await app.press("g", "ctrl+u")
        await app.type("1,2,3,4,5,6")
        await app.press("enter")
        await app.until(lambda: app.app.screen.notice, "it is said")
        await app.until(lambda: app.app.screen.look.slice == "1", "the slice is as it was")
        assert "elements, 1,2" not in app.text


async def test_columns_are_scrolled(dump, monkeypatch):
    table = {**OVERVIEW["table"], "rows": [[0.5] * 40], "shape": [1, 40], "start": [0, 0]}
    monkeypatch.setitem(SEEN, "overview", {**OVERVIEW, "table": table})
    async with driving(dump, (80, 34), make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c", "v")
        await app.sees("elements; left and right, < and >: other columns", "…")
        calls = FakeSession.made[0].calls
        await app.press("right")
        assert calls[-1][1]["start"] == [0, 7]
        await app.press("greater_than_sign", "right", "right", "right", "right", "right")
        assert calls[-1][1]["start"] == [0, 33]
        await app.press("left")
        assert calls[-1][1]["start"] == [0, 26]


async def test_what_needs_too_much_memory_is_asked_about(dump):
    async with driving(dump, (120, 50), make=FakeSession) as app:
        await app.opened()
        await app.press("c")
        await app.sees("stop 1")
        hint = "--allow-memory runs it all the same; or replay the same function with smaller arguments"
        problem = EngineError("this replay needs too much memory", "9 GB of memory are needed", hint)
        FakeSession.made[0].tell(status="failed", problem=problem)
        await app.sees("! this replay needs too much memory", "enter here lets it run all the same")
        await app.press("4", "home", "enter")
        await app.sees("may take more than half of the free memory now")
        await app.press("c")
        await app.sees("stop 1")
        assert [session.options.allow_memory for session in FakeSession.made] == [False, True]
        assert FakeSession.made[0].closed


async def test_what_a_panel_waits_for_is_stopped_before_it_is_left_and_why_it_does_not_come_is_said(dump):
    async with driving(dump, (120, 40), make=FakeSession) as app:
        await app.opened()
        await app.press("2", "c")
        await app.sees("stop 1")
        session = FakeSession.made[0]
        monkey = session.look
        session.look = lambda *_: session.tell(status="busy", activity="computing dot.9", since=0.0)
        await app.press("up", "up")
        await app.until(lambda: app.app.desk.inspection.title == "dot.9", "two lines up")
        await app.press("v")
        await app.sees("being computed", "computing dot.9")
        await app.press("ctrl+c")
        await app.sees("interrupted; it stands where it stood")
        assert session.calls[-1] == ("interrupt",)
        assert "being computed" not in app.text
        session.look = monkey
        await app.press("ctrl+c")
        await app.until(lambda: app.app.screen is app.app.main, "back at the code")


@pytest.mark.parametrize(
    ("width", "words"),
    [
        (120, "unit grain, inputs made, seed 0, not faithful: i says why"),
        (80, "not faithful: i says why"),
        (72, "not faithful: i"),
        (50, ""),
    ],
)
def test_what_a_replay_runs_on_is_never_cut_in_the_middle_of_a_word(width, words):
    state = State(status="standing", at="stop", current=STOPS[0], number=1, history=(STOPS[0],), start=START)
    head = build(ReplayView(state), width)[0]
    assert "".join(span.text for span in head.right) == words


@pytest.mark.parametrize(("width", "apart"), [(120, False), (50, True)])
def test_how_a_value_went_is_not_run_into_its_first_elements(width, apart):
    state = State(
        status="standing", at="stop", current=STOPS[1], number=2, history=tuple(STOPS[:2]), start=START
    )
    rows = build(ReplayView(state=state), width)
    (curve,) = (
        one for one in rows if any("max over stops" in span.text for span in (*one.spans, *one.right))
    )
    assert any("first 3" in span.text for span in curve.spans) is not apart
