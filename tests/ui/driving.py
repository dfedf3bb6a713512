"""Driving the real app in a test: waiting for what is meant to happen, and looking at the screen as text."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from textual.pilot import Pilot

from hlo_tui.theme.theme import load
from hlo_tui.ui.app import HloTuiApp

GOLDEN = Path(__file__).parent / "golden"
_PATIENCE = 20.0


def screen_text(app: HloTuiApp) -> str:
    """What is on the screen, a line for each row."""
    return "\n".join(strip.text.rstrip() for strip in app.screen._compositor.render_strips())


class Driver:
    """The app under test and the hand on its keys."""

    def __init__(self, app: HloTuiApp, pilot: Pilot[None]) -> None:
        self.app = app
        self.pilot = pilot

    @property
    def text(self) -> str:
        return screen_text(self.app)

    @property
    def line(self) -> int:
        """The cursor's line in the code, from 1, as it is shown."""
        return self.app.main.code.line + 1

    async def until(self, happened: Callable[[], object], what: str = "") -> None:
        """Wait until something is so; fails with the screen where it never is."""
        end = time.monotonic() + _PATIENCE
        while not happened():
            if time.monotonic() > end:
                raise AssertionError(f"never: {what}\n{self.text}")
            await self.pilot.pause(0.02)
        await self.pilot.pause()

    async def sees(self, *words: str) -> None:
        """Wait until all these words are on the screen."""
        await self.until(lambda: all(word in self.text for word in words), f"{words} on the screen")

    async def misses(self, word: str) -> None:
        """Wait until a word is not on the screen."""
        await self.until(lambda: word not in self.text, f"{word!r} gone from the screen")

    async def golden(self, name: str, first_row: int = 0) -> None:
        """Wait until the screen is the one that was looked at; HLO_TUI_GOLDEN=write keeps the new one.

        Args:
            name: of the file that holds it.
            first_row: rows above it differ from run to run (paths, times) and are left out.
        """
        path = GOLDEN / f"{name}.txt"
        if os.environ.get("HLO_TUI_GOLDEN") == "write":
            await self.pilot.pause(1.0)
            GOLDEN.mkdir(exist_ok=True)
            path.write_text(self._rows(first_row))
        looked_at = path.read_text()
        await self.until(
            lambda: self._rows(first_row) == looked_at, f"the screen of {path.name}:\n{looked_at}"
        )

    def _rows(self, first_row: int) -> str:
        return "\n".join(self.text.splitlines()[first_row:]) + "\n"

    async def press(self, *keys: str) -> None:
        """Press keys one after the other."""
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def type(self, text: str) -> None:
        """Type letters."""
        names = {
            "%": "percent_sign",
            ".": "full_stop",
            " ": "space",
            "_": "underscore",
            ":": "colon",
            "*": "asterisk",
            ",": "comma",
            "=": "equals_sign",
        }
        await self.pilot.press(*(names.get(letter, letter) for letter in text))

    async def opened(self) -> None:
        """Wait until a file is open, read, marked and looked at."""
        desk = self.app.desk
        await self.until(lambda: desk.opened is not None and desk.opened.scanned, "a file is open")
        await self.until(lambda: desk.inspection is not None and not self.app.reader.busy, "it is looked at")


@contextlib.asynccontextmanager
async def driving(
    root: Path, size: tuple[int, int] = (120, 34), theme: str = "dark", **options
) -> AsyncIterator[Driver]:
    """Run the app on a dump."""
    app = HloTuiApp(root, load(theme), **options)
    async with app.run_test(size=size) as pilot:
        yield Driver(app, pilot)
