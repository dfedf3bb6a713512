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
        await app.sees("→ zeros")
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
