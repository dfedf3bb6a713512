"""What the app can do: the state it keeps, the commands it runs, the files it opens."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.driver import Driver

from hlo_tui.errors import HloTuiError
from hlo_tui.theme.theme import Theme
from hlo_tui.ui.command import AT_WORK
from hlo_tui.ui.commands import BY_ID, STILL_LOOKING, STILL_READING, Situation
from hlo_tui.ui.desk import Desk
from hlo_tui.ui.driver import CanvasDriver
from hlo_tui.ui.handlers import handler
from hlo_tui.ui.maincommands import MOVES
from hlo_tui.ui.messages import (
    ReplayChanged,
)
from hlo_tui.ui.opened import Want
from hlo_tui.ui.pacing import Pacer
from hlo_tui.ui.paint import Paint, textual_theme
from hlo_tui.ui.reading import Reader
from hlo_tui.ui.replays import AnySession, MakeSession, ReplayOptions, Replays, key_of, make_session
from hlo_tui.ui.screen import MainScreen
from hlo_tui.ui.showing import Showing
from hlo_tui.ui.tasks import Tasks
from hlo_tui.ui.themewatch import ThemeWatch
from hlo_tui.ui.trail import Spot
from hlo_tui.ui.wantedstops import WantedStops
from hlo_tui.ui.watching import Watch

if TYPE_CHECKING:
    from textual.command import Provider

    from hlo_tui.job.terminal import Job


# What the first paint does not need is imported where it is first used.


_DIRECTORIES = re.compile(r"(?<![\w…])/(?:[^\s/:]{1,255}/){1,64}")


def _palette() -> type[Provider]:
    from hlo_tui.ui.palette import Commands

    return Commands


class BaseApp(App[None], inherit_bindings=False):
    """The app without what it hears, which is in `app`."""

    TITLE = "hlo-tui"
    ENABLE_COMMAND_PALETTE = True
    ALLOW_SELECT = False
    CSS = MainScreen.CSS
    COMMANDS = {_palette}  # noqa: RUF012

    def __init__(
        self,
        root: Path,
        theme: Theme,
        *,
        watch: Watch | None = None,
        replay: ReplayOptions | None = None,
        make: MakeSession = make_session,
        ascii_only: bool = False,
        job: Job | None = None,
    ) -> None:
        # Without colours the choice is made for good when the app is made: then from the terminal's own ones.
        super().__init__(ansi_color=True if theme.kind == "ansi" else None)
        self.paint = Paint(theme, ascii_only)
        self._themes = 0
        self.theme_watch = ThemeWatch(theme, self.post_message)
        self.use_theme(theme)
        stops = WantedStops(root if root.is_dir() else root.parent)
        self.replay_options = replay or ReplayOptions()
        replays = Replays(self.replay_options, self._tell, make, stops)
        self.desk = Desk(str(root), watch or Watch(root), replays, job=job)
        self.reader = Reader(self.post_message)
        self.tasks = Tasks(self.post_message)
        self.main = MainScreen(self.paint)
        self.shown = Showing(self.main, self.desk)
        self._pacer = Pacer(self)

    def get_driver_class(self) -> type[Driver]:
        """Textual's driver with less to send."""
        return CanvasDriver

    def get_default_screen(self) -> MainScreen:
        """The main screen."""
        return self.main

    def post_display_hook(self) -> None:
        """Keep pace with the terminal."""
        self._pacer.displayed()
        if self.desk.text is not None:
            self.desk.text.opened.painted.set()
            self.desk.watch.painted.set()

    def situation(self) -> Situation:
        """What the commands depend on now."""
        return self.desk.situation(self.main.pane, self.main.code.line, self.main.code.target is not None)

    def action_command(self, identity: str) -> None:
        """Run a command of the registry, or say why it cannot run."""
        self.desk.later = ""
        if identity != "interrupt":
            self.desk.leaving = False
        reason = BY_ID[identity].check(self.situation())
        if reason == AT_WORK and identity in MOVES:
            self.wait_with(identity)
            return
        if reason is not None and identity != "interrupt":
            self.say(f"{BY_ID[identity].title}: {reason}")
            if reason in (STILL_READING, STILL_LOOKING):
                self.desk.later = identity
            return
        self.desk.notice = ""
        self.attempt(lambda: handler(identity)(self))

    def wait_with(self, move: str) -> None:
        """Make a move when the replay stands again."""
        self.desk.later = move
        self.say(f"{BY_ID[move].title}: comes next, ctrl+c stops")

    def attempt(self, act: Callable[[], None]) -> None:
        """Do something; what goes wrong in it is said."""
        try:
            act()
        except HloTuiError as error:
            self.say_error(error)
        self.shown.bars(self.situation())

    def say_error(self, error: HloTuiError) -> None:
        """Say what went wrong, and what to do, in one line."""
        self.say("; ".join(part for part in (error.title, error.message, error.hint) if part))

    def say(self, words: str) -> None:
        """Say something at the foot of the screen."""
        if len(words) > self.main.size.width:
            words = _DIRECTORIES.sub("…/", words)
        self.desk.notice = words
        self.shown.bars(self.situation())

    def redraw(self) -> None:
        """Draw everything, whatever the terminal is thought to show."""
        driver = self._driver
        if isinstance(driver, CanvasDriver):
            driver.forget()
        self.screen.refresh()

    def use_theme(self, theme: Theme) -> None:
        """Paint everything with a theme."""
        self._themes += 1
        name = f"{theme.name}-{self._themes}"
        self.register_theme(textual_theme(theme, name))
        self.paint = Paint(theme, self.paint.ascii_only)
        self.theme = name
        if self.is_running:
            self.theme_watch.change(theme)
            self.main.repaint(self.paint)

    def open(self, want: Want) -> None:
        """Open a file; it is shown as soon as its first bytes are there."""
        self.desk.wanted = want
        self.desk.task = f"opening {want.stage}"
        self.desk.tree = replace(self.desk.tree, shown=want.place)
        self.reader.open(want)
        self.shown.tree()
        self.shown.bars(self.situation())

    def reload(self) -> None:
        """Read the open file again and stay where the cursor is."""
        want = self.desk.here(self.main.code.line)
        if want is not None:
            self.open(want)

    def mark(self, follow: bool = False) -> None:
        """Find the gutter's signs again; `follow` goes to where the replay stands."""
        opened, replays = self.desk.opened, self.desk.replays
        if opened is not None and opened.scanned and opened.hlo:
            state = replays.state if replays.is_of(opened) else None
            self.reader.mark(opened, replays.specs(opened.want), state, follow)

    def here(self) -> Spot | None:
        """Where the cursor is."""
        return None if self.desk.wanted is None else Spot(self.desk.wanted, self.main.code.line)

    def jump(self, line: int) -> None:
        """Go to a line of the open file; backspace comes back."""
        here = self.here()
        if here is not None and here.line != line:
            self.desk.trail.leave(here)
        self.main.code.go_to(line, center=True)

    def visit(self, spot: Spot) -> None:
        """Go to a spot without a trace."""
        if self.desk.wanted is not None and key_of(self.desk.wanted) == key_of(spot.want):
            self.main.code.go_to(spot.line, center=True)
        else:
            self.open(replace(spot.want, line=spot.line, instruction="", computation="", beside=None))

    def now(self) -> float:
        """The clock that a replay's activity is measured with."""
        return time.monotonic()

    def ask(self, purpose: str, hint: str, value: str = "", select: bool = True) -> None:
        """Ask for a line of text; see `Prompt`."""
        from hlo_tui.ui.popups import Prompt

        self.close_prompt()
        prompt = Prompt(purpose, hint, value, self.desk.answers.get(purpose, ()), select)
        self.main.mount(prompt, before=self.main.footer)
        # At once: the next key is meant for it already.
        self.main.set_focus(prompt)

    def close_prompt(self) -> None:
        """Take away what asks for a line of text."""
        for prompt in self.main.query("Prompt"):
            # First the focus: with the line away it would go to the list beside it, and its cursor with it.
            self.main.go(self.main.pane)
            prompt.remove()

    def get_system_commands(self, screen: Any) -> Any:  # noqa: ARG002
        """The palette has the registry's commands and no others."""
        return ()

    def _tell(self, session: AnySession, state: Any) -> None:
        self.post_message(ReplayChanged(session, state))
