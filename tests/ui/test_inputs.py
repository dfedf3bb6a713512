"""The inputs on the screen."""

from __future__ import annotations

import numpy as np
import pytest

from tests.corpus import DATA
from tests.ui.driving import driving
from tests.ui.fakes import FakeSession
from tests.ui.test_hunting import open_module


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(FakeSession, "made", [])


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
async def test_the_inputs_say_what_they_are_and_what_is_unknown(dump, size, tmp_path):
    async with driving(dump, size, make=FakeSession) as app:
        await app.opened()
        await app.press("I")
        await app.sees("the inputs are made, seed 0", "%x  f32[4,8]", "%custom.1", "my_kernel", "→ auto")
        assert FakeSession.made[0].calls[0] == ("start",)
        shown = app.text.replace(str(tmp_path), "")
        assert "a host callback is never called" in shown


async def test_others_are_chosen_made_loaded_and_saved(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("I")
        await app.sees("normally distributed")
        calls = FakeSession.made[0].calls
        await app.press("down", "down", "down", "enter")
        await app.sees("→ zeros", "begins again: q goes back to the code, c runs there")
        assert calls[-2:] == [("inputs", "zeros", 0), ("inspect", {"what": "unknown"})]
        await app.press("s", "ctrl+u")
        await app.type("7")
        await app.press("enter")
        assert ("inputs", "made", 7) in calls
        await app.press("l")
        await app.type("in.npz")
        await app.press("enter")
        assert ("inputs", "in.npz", 7) in calls
        await app.press("w", "enter")
        await app.sees("saved 512 bytes in inputs.npz")
        await app.press("home", "e")
        await app.type("2")
        await app.press("enter")
        await app.sees("changed to 2", "1 changed by hand")
        assert calls[-1] == ("change", "main.88", "x", "2")
        await app.press("u")
        await app.misses("changed to 2")


async def test_a_value_is_supplied_and_taken_away_again(dump):
    async with driving(dump, make=FakeSession) as app:
        await app.opened()
        await app.press("I")
        await app.sees("%custom.1")
        await app.press("end", "enter")
        await app.type("zeros")
        await app.press("enter")
        await app.sees("1 value supplied", "%custom.1  zeros")
        assert ("supply", ("main.88/custom.1=zeros",)) in FakeSession.made[0].calls
        await app.press("home", *["down"] * 8, "d")
        await app.misses("1 value supplied")
        assert ("supply", ()) in FakeSession.made[0].calls
        await app.press("d")
        await app.sees("Put the cursor on a supplied value")


async def test_the_real_engine_begins_again_on_edited_and_saved_inputs(tmp_path):
    async with driving(DATA / "replay", (160, 50)) as app:
        await open_module(app, "blowup")
        await app.press("2", "I")
        await app.sees("the inputs are snapshot", "no value has been unknown so far")
        await app.press("e")
        await app.type("0.5")
        await app.press("enter")
        await app.sees("changed to 0.5")
        await app.until(lambda: app.app.desk.replays.state.status == "standing", "standing")
        target = tmp_path / "edited.npz"
        await app.press("w", "ctrl+u")
        await app.pilot.press(
            *(
                {"/": "slash", ".": "full_stop", "_": "underscore", "-": "minus"}.get(c, c)
                for c in str(target)
            )
        )
        await app.press("enter")
        await app.sees("saved")
    with np.load(target) as saved:
        assert all((saved[name] == 0.5).all() for name in list(saved)[:1])


FED = """HloModule jit_fed

ENTRY e {
  x = f32[3] parameter(0)
  t = token[] after-all()
  in = (f32[3], token[]) infeed(t)
  batch = f32[3] get-tuple-element(in), index=0, frontend_attributes={breakpoint="true"}
  ROOT y = f32[3] multiply(x, batch)
}
"""


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_what_an_infeed_waits_for_is_made_and_the_screen_says_so(tmp_path, size):
    dump = tmp_path / "dump"
    dump.mkdir()
    (dump / "module_0001.jit_fed.before_optimizations.txt").write_text(FED)
    np.save(tmp_path / "own.npy", np.array([5, 6, 7], np.float32))
    async with driving(dump, size) as app:
        await open_module(app, "fed")
        await app.press("c")
        await app.sees("stop 1", "not computed", "6  ~")
        await app.press("2", "up")
        await app.until(lambda: app.app.desk.inspection.title == "in", "the infeed")
        await app.press("3")
        await app.sees("not computed but given: made: the", "I supplies another")
        await app.press("v")
        await app.sees(
            "%in  stop 1", "not computed but given: %in (made: the stand-in of an infeed); I supplies"
        )
        await app.press("q", "4")
        await app.sees("not computed but given: %in (made: the stand-in of an infeed); I supplies")
        await app.press("c")
        await app.sees("replay at its end")
        await app.press("4")
        await app.sees("1 value not computed but given: %in (made: the stand-in of an infeed)")
        await app.press("i")
        await app.sees(
            "what comes from outside is made: in waited for it",
            "in=FILE.npy gives it another value",
            "here I, then enter on one, gives it another value",
        )
        await app.press("q", "I")
        await app.sees("1 value made for what waits for the host or a sender; enter supplies one")
        rows = app.app.screen.rows
        while getattr(rows.key, "instruction", "") != "in":
            await app.press("down")
        await app.press("enter")
        await app.type("zeros")
        await app.press("enter")
        await app.sees("1 value supplied; d takes one away", "%in  zeros")
        await app.misses("made for what waits")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_changed_value_is_said_wherever_the_replay_stands(size):
    async with driving(DATA / "replay", size) as app:
        await open_module(app, "blowup")
        await app.press("2", "exclamation_mark", "enter")
        await app.sees("begins here")
        await app.press("v", "e")
        await app.type("0")
        await app.press("enter")
        await app.sees("all its values: 0")
        await app.press("q", "exclamation_mark", "ctrl+u")
        await app.type("off")
        await app.press("enter", "c")
        await app.sees("replay at its end")
        await app.press("4")
        await app.sees(
            "against the recorded run: skipped",
            "skipped: values were changed by hand",
            "1 value changed by hand: the outputs are the same without them",
            "not faithful",
        )
        await app.press("i")
        await app.sees("1 value changed by hand; I, then u there undoes that")
