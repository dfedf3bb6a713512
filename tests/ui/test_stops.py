"""The list of stops on the screen."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hlo_tui.replay.meaning import Meaning, Spot
from hlo_tui.replay.stopspec import TAGS, StopSpec
from hlo_tui.ui.stoprows import build, stops_view
from tests.ui.driving import driving
from tests.ui.fakes import FakeSession


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(FakeSession, "made", [])


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
async def test_the_list_says_what_each_stop_means_and_how_often_it_was_met(dump, size):
    async with driving(dump, size, make=FakeSession) as app:
        await app.opened()
        await app.press("c", "c")
        await app.press("B")
        await app.type("op:dot; op:cosine")
        await app.press("enter")
        await app.sees("nothing in this module is op:cosine")
        await app.press("L")
        await app.sees(
            "● tagged operations  2 operations", "◆ op:dot  %dot.9", "op:cosine  nothing in this module"
        )
        await app.sees("%mul.3  in region_0.4  line 26", "met 2 ×")
        await app.golden(f"stops-{size[0]}x{size[1]}", first_row=1)


async def test_stops_are_changed_in_the_list_and_gone_to(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        desk = app.app.desk
        own = lambda: desk.replays.stops.own(desk.opened.want)  # noqa: E731
        await app.press("L", "a")
        await app.type("op:dot")
        await app.press("enter")
        await app.sees("◆ op:dot  %dot.9")
        await app.press("end", "c")
        await app.type("max>2")
        await app.press("enter")
        await app.sees("op:dot if max>2")
        await app.press("h")
        await app.type("3")
        await app.press("enter")
        await app.sees("op:dot if (max>2) and hits>=3")
        await app.press("h", "ctrl+u", "enter", "o", "b")
        await app.sees("op:dot if max>2  once  off")
        assert (own()[1].once, own()[1].enabled) == (True, False)
        await app.press("b", "e", "ctrl+u")
        await app.type("op:tanh@once")
        await app.press("enter")
        await app.sees("op:tanh  once  %tanh.2")
        await app.press("enter")
        await app.until(lambda: app.app.screen is app.app.main, "back at the code")
        assert app.line == 25
        await app.press("L")
        await app.sees("op:tanh")
        await app.press("end", "d")
        await app.misses("◆ op:tanh")
        assert own() == (TAGS,)


async def test_tags_are_switched_one_by_one_and_all_at_once(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("c", "L")
        await app.sees("● %mul.3")
        await app.press("down", "b")
        await app.sees("○ %mul.3", "off")
        assert [one.value for one in app.app.desk.replays.state.specs] == ["", "mul.3"]
        await app.press("b")
        await app.sees("● %mul.3")
        await app.press("up", "b")
        await app.sees("○ tagged operations  off", "○ %add.7")
        await app.press("d")
        await app.sees("The tags are the program's")
        await app.press("question_mark")
        await app.sees("Switch the stop off, or on again")
        await app.press("q", "q")
        await app.sees("26 ○")


async def test_a_block_is_stopped_at_by_its_ends(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        desk = app.app.desk
        own = lambda: desk.replays.stops.own(desk.opened.want)  # noqa: E731
        await app.press("c", "L", "f")
        await app.sees("● tagged operations  first and last  2 operations")
        assert own() == desk.replays.state.specs == (replace(TAGS, ends=True),)
        await app.press("e")
        await app.sees("tags@ends")
        await app.press("escape", "a")
        await app.type("op:dot@once@ends if max>2; first:nan")
        await app.press("enter")
        await app.sees("op:dot if max>2  first and last  once")
        await app.press("end", "f")
        await app.sees("It has no first and last")
        await app.press("up", "f", "up", "f")
        await app.sees("● tagged operations  2 operations", "op:dot if max>2  once")
        assert own()[:2] == (TAGS, StopSpec("opcode", "dot", condition="max>2", once=True))


@pytest.mark.parametrize("known", [True, False])
def test_what_is_inside_a_block_has_no_sign(known):
    spec = replace(TAGS, ends=True)
    meant = {spec: Meaning(tuple(Spot("main", name, line) for line, name in enumerate("abc")))}
    found = [{"computation": "main", "instruction": name} for name in "ac"]
    view = stops_view((spec,), meant, (), None, frozenset(), "m", found if known else None)
    lines = ["".join(span.text for span in row.spans) for row in build(view)]
    signs = {name: "●" in next(line for line in lines if f"%{name} " in line) for name in "abc"}
    assert signs == {"a": True, "b": not known, "c": True}


async def test_ends_are_there_again_the_next_time(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("L", "f")
        await app.sees("first and last")
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("L")
        await app.sees("tagged operations  first and last")


async def test_stops_are_there_again_the_next_time(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("2", "up")
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "one line up")
        await app.press("b")
        await app.sees("25 ◆")
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.sees("25 ◆")
        await app.press("c")
        assert [one.value for one in FakeSession.made[-1].state.specs] == ["", "tanh.2"]


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
async def test_stops_of_the_last_session_are_said_to_hold_once(dump, size):
    words = "the stops of the last session hold here: L lists them"
    async with driving(dump, size, make=FakeSession) as app:
        await app.opened()
        await app.misses(words)
        await app.press("L", "b")
        await app.sees("off")
    async with driving(dump, size, make=FakeSession) as app:
        await app.opened()
        await app.sees(words)
        await app.press("2", "down", "]")
        await app.opened()
        await app.misses(words)


async def test_a_stop_that_was_to_hold_once_is_gone_when_it_has(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        desk = app.app.desk
        await app.press("L", "a")
        await app.type("op:dot")
        await app.press("enter")
        await app.sees("◆ op:dot  %dot.9")
        await app.press("end", "o", "q", "c")
        await app.sees("stop 1")
        session = FakeSession.made[0]
        assert [spec.once for spec in session.state.specs] == [False, True]
        session.tell(specs=(TAGS,))
        await app.until(lambda: desk.replays.stops.own(desk.opened.want) == (TAGS,), "it is gone")
