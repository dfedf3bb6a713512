"""The app: takes in what the threads and the person say, keeps the screen's state, and shows it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import App
from textual.driver import Driver
from textual.timer import Timer

from hlo_tui.errors import HloTuiError
from hlo_tui.theme.theme import Theme
from hlo_tui.ui.codetext import CodeText
from hlo_tui.ui.codeview import CodeView
from hlo_tui.ui.commands import BY_ID, Situation
from hlo_tui.ui.desk import Desk
from hlo_tui.ui.driver import CanvasDriver
from hlo_tui.ui.handlers import answer, handler
from hlo_tui.ui.messages import (
    Head,
    Inspected,
    Located,
    Marked,
    OpenFailed,
    Problem,
    Progress,
    ReplayChanged,
    Scanned,
    Searched,
    ShelfChanged,
    ThemeChanged,
)
from hlo_tui.ui.opened import Want
from hlo_tui.ui.pacing import Pacer
from hlo_tui.ui.paint import Paint, textual_theme
from hlo_tui.ui.reading import Reader
from hlo_tui.ui.replays import AnySession, MakeSession, ReplayOptions, Replays, key_of, make_session
from hlo_tui.ui.rowsview import RowsView
from hlo_tui.ui.screen import MainScreen
from hlo_tui.ui.showing import Showing
from hlo_tui.ui.themewatch import ThemeWatch
from hlo_tui.ui.trail import Spot
from hlo_tui.ui.treerows import Node, first_node, parents_of, place_of
from hlo_tui.ui.watching import News, Watch

if TYPE_CHECKING:
    from textual.command import Provider

    from hlo_tui.ui.popups import Prompt

# What the first paint does not need is imported where it is first used.

# Seconds that the cursor has to rest on a module before it is opened.
_REST = 0.12
_TICK = 1.0


def _palette() -> type[Provider]:
    from hlo_tui.ui.palette import Commands

    return Commands


class HloTuiApp(App[None], inherit_bindings=False):
    """hlo-tui's screen over one dump."""

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
    ) -> None:
        # Without colours the choice is made for good when the app is made: then from the terminal's own ones.
        super().__init__(ansi_color=True if theme.kind == "ansi" else None)
        self.paint = Paint(theme, ascii_only)
        self._themes = 0
        self._theme_watch = ThemeWatch(theme, self.post_message)
        self.use_theme(theme)
        replays = Replays(replay or ReplayOptions(), self._tell, make)
        self.desk = Desk(str(root), watch or Watch(root), replays)
        self.reader = Reader(self.post_message)
        self.main = MainScreen(self.paint)
        self.shown = Showing(self.main, self.desk)
        self._pacer = Pacer(self)
        self._rest: Timer | None = None
        self._ticks: Timer | None = None

    def get_driver_class(self) -> type[Driver]:
        """Textual's driver with less to send."""
        return CanvasDriver

    def get_default_screen(self) -> MainScreen:
        """The main screen."""
        return self.main

    def on_mount(self) -> None:
        """Begin to watch."""
        self.desk.watch.start()
        self.desk.watch.attach(self._hear)
        self._theme_watch.start()

    def on_unmount(self) -> None:
        """End the threads and the worker."""
        self.desk.watch.stop()
        self._theme_watch.stop()
        self.reader.close()
        self.desk.replays.end()

    def post_display_hook(self) -> None:
        """Keep pace with the terminal."""
        self._pacer.displayed()
        if self.desk.text is not None:
            self.desk.text.opened.painted.set()
            self.desk.watch.painted.set()

    # Commands.

    def situation(self) -> Situation:
        """What the commands depend on now."""
        return self.desk.situation(self.main.pane, self.main.code.target is not None)

    def action_command(self, identity: str) -> None:
        """Run a command of the registry, or say why it cannot run."""
        if identity != "interrupt":
            self.desk.leaving = False
        reason = BY_ID[identity].check(self.situation())
        if reason is not None and identity != "interrupt":
            self.say(f"{BY_ID[identity].title}: {reason}")
            return
        self.desk.notice = ""
        self._try(lambda: handler(identity)(self))

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except HloTuiError as error:
            self.desk.notice = f"{error.title}: {error.message}" if error.message else error.title
        self.shown.bars(self.situation())

    def say(self, words: str) -> None:
        """Say something at the foot of the screen."""
        self.desk.notice = words
        self.shown.bars(self.situation())

    def on_main_screen_pane_changed(self, _: MainScreen.PaneChanged) -> None:
        """Other keys do something now."""
        self.shown.everything(self.situation())

    def redraw(self) -> None:
        """Draw everything, whatever the terminal is thought to show."""
        driver = self._driver
        if isinstance(driver, CanvasDriver):
            driver.forget()
        self.screen.refresh()

    # Themes.

    def use_theme(self, theme: Theme) -> None:
        """Paint everything with a theme."""
        self._themes += 1
        name = f"{theme.name}-{self._themes}"
        self.register_theme(textual_theme(theme, name))
        self.paint = Paint(theme, self.paint.ascii_only)
        self.theme = name
        if self.is_running:
            self._theme_watch.change(theme)
            self.main.repaint(self.paint)

    def on_theme_changed(self, message: ThemeChanged) -> None:
        """A theme file was written: use it at once."""
        self.use_theme(message.theme)
        self.say(f"theme {message.theme.name} read again")

    # The dump.

    def _hear(self, news: News | HloTuiError) -> None:
        if isinstance(news, HloTuiError):
            self.post_message(Problem(news))
        elif self.desk.shelf is None and threading.current_thread() is threading.main_thread():
            self._take(news)
        else:
            self.post_message(ShelfChanged(news))

    def on_shelf_changed(self, message: ShelfChanged) -> None:
        """Show what is there now."""
        self._take(message.news)

    def _take(self, news: News) -> None:
        desk, before = self.desk, self.desk.shelf
        desk.shelf, desk.mode = news.shelf, news.mode
        for notice in news.notices:
            desk.notice = notice
        opened = desk.opened
        if opened is not None and opened.scanned and not desk.changed and opened.replaced:
            if desk.replays.is_of(opened):
                desk.changed = True
            else:
                self.reload()
        newest = news.shelf.newest()
        known = {m.key for g in before.groups for m in g.modules} if before is not None else set()
        if desk.wanted is None:
            self._begin()
        elif desk.follow and newest is not None and newest.key not in known and desk.replays.state is None:
            place = place_of(news.shelf, Node("module", newest.key))
            if place is not None:
                self.open(desk.want(place))
        self.shown.everything(self.situation())

    def _begin(self) -> None:
        """Open what is most worth it, once there is something."""
        desk = self.desk
        assert desk.shelf is not None
        node = first_node(desk.shelf)
        place = place_of(desk.shelf, node) if node is not None else None
        if place is None:
            return
        desk.tree = replace(desk.tree, unfolded=frozenset(parents_of(desk.shelf, place)))
        self.open(desk.want(place))
        if not desk.watch.is_directory:
            self.main.go("code")

    def on_rows_view_moved(self, message: RowsView.Moved) -> None:
        """The cursor rests on something in the modules: open it."""
        if message.view is not self.main.modules:
            return
        if self._rest is not None:
            self._rest.stop()
        self._rest = self.set_timer(_REST, lambda: self._peek(message.key))

    def _peek(self, key: object) -> None:
        if isinstance(key, Node) and key == self.main.modules.key and self.desk.shelf is not None:
            place = place_of(self.desk.shelf, key)
            if place is not None and (self.desk.wanted is None or self.desk.wanted.place != place):
                self.open(self.desk.want(place))

    def on_rows_view_chosen(self, message: RowsView.Chosen) -> None:
        """Open, unfold, jump, or go to a stop again."""
        from hlo_tui.ui.arranging import choose

        self._try(lambda: choose(self, message.key))

    def on_rows_view_turned(self, message: RowsView.Turned) -> None:
        """Unfold or fold in the modules."""
        if message.view is self.main.modules and isinstance(message.key, Node):
            from hlo_tui.ui.arranging import fold_node

            fold_node(self, message.key, message.way > 0)

    # The open file.

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

    def on_head(self, message: Head) -> None:
        """Show the beginning of a file."""
        desk = self.desk
        if message.opened.want is not desk.wanted:
            return
        desk.text = CodeText(message.opened)
        desk.inspection = desk.problem = None
        desk.changed = desk.asked = False
        desk.task = "reading"
        self.main.code.show(desk.text)
        self.shown.everything(self.situation())

    def on_progress(self, message: Progress) -> None:
        """Say how far a task is."""
        self.desk.task = f"{message.words} {100 * message.done // max(1, message.total)} %"
        self.shown.bars(self.situation())

    def on_scanned(self, message: Scanned) -> None:
        """All of the file is known: go to where it was asked for."""
        desk = self.desk
        if desk.text is None or desk.text.opened is not message.opened:
            return
        desk.task = ""
        desk.text.scanned()
        self.main.code.resized()
        self.main.code.go_to(message.line, center=True)
        self.mark(follow=desk.replays.is_of(message.opened) and message.opened.want.line == -1)
        self.shown.everything(self.situation())

    def on_open_failed(self, message: OpenFailed) -> None:
        """Say why a file cannot be shown, where it would be."""
        if message.want is not self.desk.wanted:
            return
        self.desk.text = self.desk.inspection = None
        self.desk.problem = message.error
        self.desk.task = ""
        self.shown.everything(self.situation())

    def on_problem(self, message: Problem) -> None:
        """Say what went wrong on a thread."""
        error = message.error
        self.desk.task = ""
        self.say(f"{error.title}: {error.message}" if error.message else error.title)

    def on_code_view_moved(self, message: CodeView.Moved) -> None:
        """Find out what is under the cursor."""
        opened = self.desk.opened
        if opened is not None and opened.scanned:
            self.reader.inspect(opened, message.line)
        self.shown.bars(self.situation())

    def on_inspected(self, message: Inspected) -> None:
        """Show what is known of the line."""
        opened = self.desk.opened
        if opened is not None and message.number == opened.number:
            self.desk.inspection = message.inspection
            self.shown.info()
            self.shown.bars(self.situation())

    def on_located(self, message: Located) -> None:
        """Go to where a name is defined."""
        opened = self.desk.opened
        if opened is None or message.number != opened.number:
            return
        if message.line is None:
            self.say(f"{message.name} is not defined in this text")
        else:
            self.jump(message.line)

    def on_searched(self, message: Searched) -> None:
        """Go to the match."""
        desk, opened = self.desk, self.desk.opened
        desk.task = ""
        if opened is None or message.number != opened.number or message.stopped:
            return
        if message.line is None:
            self.say("not found")
            return
        self.jump(message.line)
        self.say("the search began anew at the other end" if message.wrapped else "")

    def on_prompt_answered(self, message: Prompt.Answered) -> None:
        """Take an answer."""
        self._close_prompt()
        text = message.text
        if text is not None:
            self._try(lambda: answer(message.purpose)(self, text))

    def on_prompt_typed(self, message: Prompt.Typed) -> None:
        """Filter while the person types."""
        if message.purpose == "filter":
            answer("filter")(self, message.text)

    # The replay.

    def _tell(self, session: AnySession, state: Any) -> None:
        self.post_message(ReplayChanged(session, state))

    def mark(self, follow: bool = False) -> None:
        """Find the gutter's signs again; `follow` goes to where the replay stands."""
        opened, replays = self.desk.opened, self.desk.replays
        if opened is not None and opened.scanned and opened.hlo:
            state = replays.state if replays.is_of(opened) else None
            self.reader.mark(opened, replays.specs(opened.want), state, follow)

    def on_marked(self, message: Marked) -> None:
        """Show the signs."""
        opened = self.desk.opened
        if opened is None or message.number != opened.number:
            return
        self.desk.marks = message.marks
        self.main.code.set_marks(message.marks)
        if message.follow and message.marks.standing is not None:
            self.main.code.go_to(message.marks.standing, center=True)
        self.shown.replay()
        self.shown.bars(self.situation())

    def on_replay_changed(self, message: ReplayChanged) -> None:
        """The replay is somewhere else, or does something else."""
        desk, replays = self.desk, self.desk.replays
        before = replays.state
        if not replays.take(message.session, message.state):
            return
        state = message.state
        arrived = state.status == "standing" and (
            before is None or before.status != "standing" or before.current is not state.current
        )
        if arrived and replays.want is not None:
            if self.main.narrow:
                self.main.go("code")
            if desk.wanted is not None and key_of(desk.wanted) == key_of(replays.want):
                self.mark(follow=True)
            else:
                self.open(replace(replays.want, line=-1))
        self._tick(state.status == "busy")
        self.shown.replay()
        self.shown.info()
        self.shown.bars(self.situation())

    def _tick(self, on: bool) -> None:
        """Count seconds only while something is under way."""
        if on and self._ticks is None:
            self._ticks = self.set_interval(_TICK, self._second)
        elif not on and self._ticks is not None:
            self._ticks.stop()
            self._ticks = None

    def _second(self) -> None:
        self.shown.replay()
        self.shown.bars(self.situation())

    def get_system_commands(self, screen: Any) -> Any:  # noqa: ARG002
        """The palette has the registry's commands and no others."""
        return ()

    # Places.

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
            self.open(replace(spot.want, line=spot.line, instruction="", computation=""))

    def now(self) -> float:
        """The clock that a replay's activity is measured with."""
        return time.monotonic()

    # The prompt.

    def ask(self, purpose: str, hint: str, value: str = "") -> None:
        """Ask for a line of text."""

        self._close_prompt()
        prompt = Prompt(purpose, hint, value)
        self.main.mount(prompt, before=self.main.footer)
        prompt.focus()

    def _close_prompt(self) -> None:
        for prompt in self.main.query("#prompt"):
            prompt.remove()
            self.main.go(self.main.pane)
