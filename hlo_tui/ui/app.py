"""The app: hears what the threads and the person say, changes the state, and shows it."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from textual import events
from textual.timer import Timer

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.base import BaseApp
from hlo_tui.ui.codetext import CodeText
from hlo_tui.ui.codeview import CodeView
from hlo_tui.ui.handlers import answer
from hlo_tui.ui.maincommands import MOVES
from hlo_tui.ui.messages import (
    Climbed,
    Counted,
    Head,
    Inspected,
    Located,
    Marked,
    OpenFailed,
    Problem,
    Progress,
    ReplayChanged,
    Said,
    Scanned,
    Searched,
    ShelfChanged,
    ThemeChanged,
)
from hlo_tui.ui.reading import stamp_at
from hlo_tui.ui.recordings import HealthFound, Recordings
from hlo_tui.ui.replays import key_of
from hlo_tui.ui.rowsview import RowsView
from hlo_tui.ui.screen import MainScreen
from hlo_tui.ui.tasks import TaskChanged
from hlo_tui.ui.treerows import Node, first_node, parents_of, place_of
from hlo_tui.ui.watching import News

if TYPE_CHECKING:
    from hlo_tui.ui.panel import Panel
    from hlo_tui.ui.popups import Prompt

# Seconds that the cursor has to rest on a module before it is opened.
_REST = 0.12
_TICK = 1.0


class HloTuiApp(BaseApp):
    """hlo-tui's screen over one dump."""

    _rest: Timer | None = None
    _ticks: Timer | None = None
    _looks: Timer | None = None
    _recordings: Recordings

    def on_mount(self) -> None:
        """Begin to watch."""
        self._recordings = Recordings()
        self.desk.watch.start()
        self.desk.watch.attach(self._hear)
        self.theme_watch.start()
        if self.desk.job is not None:
            from hlo_tui.ui.jobscreen import attach

            attach(self)

    def on_unmount(self) -> None:
        """End the threads and the worker."""
        self.desk.watch.stop()
        self.theme_watch.stop()
        self.reader.close()
        self.tasks.close()
        self.desk.replays.end()

    def on_main_screen_pane_changed(self, _: MainScreen.PaneChanged) -> None:
        """Other keys do something now."""
        self.shown.everything(self.situation())

    def on_theme_changed(self, message: ThemeChanged) -> None:
        """A theme file was written: use it at once."""
        self.use_theme(message.theme)
        self.say(f"theme {message.theme.name} read again")

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
                desk.notice = "the open file was replaced: r reads it again and ends the replay"
            else:
                self.reload()
        elif (
            desk.wanted is not None and desk.problem is not None and stamp_at(desk.wanted.path) != desk.failed
        ):
            self.open(desk.wanted)
        if desk.wanted is None or (not desk.touched and self._is_better(news)):
            self._begin()
        elif desk.follow and before is not None and desk.replays.state is None:
            newest = news.shelf.newest(before)
            place = place_of(news.shelf, Node("module", newest.key)) if newest is not None else None
            if place is not None and (desk.wanted is None or desk.wanted.place != place):
                self.open(desk.want(place))
        for panel in self._panels():
            panel.shelved()
        self.shown.everything(self.situation())
        if self._looks is None:
            self._looks = self.set_timer(_TICK, self._look_at_recordings)

    def _look_at_recordings(self) -> None:
        """Find out, beside everything else, which recorded results hold a NaN or an infinity."""
        self._looks = None
        shelf, watch = self.desk.shelf, self.desk.watch
        wanted = self._recordings.wanted(shelf) if shelf is not None else ()
        if wanted:
            job = self._recordings.look(wanted, watch.path_of, self.post_message)
            self.tasks.start("recordings", wanted, job)

    def on_health_found(self, message: HealthFound) -> None:
        """Mark a module."""
        self.desk.mark_health(message.module, message.sign)
        self.shown.tree()

    def _is_better(self, news: News) -> bool:
        """Whether there is a module now that is tagged, or the person's own, and what is open is none."""
        place, groups = self.desk.wanted.place if self.desk.wanted is not None else None, news.shelf.groups
        if place is None or place.module is None or not groups:
            return False
        opened = news.shelf.module(place.module)
        best = groups[0].modules[0]
        rank = news.shelf.rank
        return best.key != place.module and rank(best) > (rank(opened) if opened else (False, False))

    async def on_event(self, event: events.Event) -> None:
        """Note that there is somebody."""
        if isinstance(event, events.Key | events.MouseDown):
            self.desk.touched = True
        await super().on_event(event)

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

        self.attempt(lambda: choose(self, message.key))

    def on_rows_view_turned(self, message: RowsView.Turned) -> None:
        """Unfold or fold in the modules."""
        if message.view is self.main.modules and isinstance(message.key, Node):
            from hlo_tui.ui.arranging import fold_node

            fold_node(self, message.key, message.way > 0)

    def on_head(self, message: Head) -> None:
        """Show the beginning of a file."""
        desk = self.desk
        if message.opened.want is not desk.wanted:
            return
        desk.text = CodeText(message.opened)
        desk.inspection = desk.problem = None
        desk.inspected = -1
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
        desk.arrived, want = message.line, message.opened.want
        self.mark(follow=desk.replays.is_of(message.opened) and want.line == -1 and want.beside is None)
        words = message.words or desk.lost_tags
        if words:
            self.say(words)
        self.shown.everything(self.situation())
        if desk.stage_beside(-1) is not None:
            from hlo_tui.ui.passes import gutter

            gutter.look(self)
        if desk.later:
            self.action_command(desk.later)

    def on_open_failed(self, message: OpenFailed) -> None:
        """Say why a file cannot be shown, where it would be."""
        if message.want is not self.desk.wanted:
            return
        self.desk.text = self.desk.inspection = None
        self.desk.problem, self.desk.failed = message.error, message.stamp
        self.desk.task = ""
        self.shown.everything(self.situation())

    def on_said(self, message: Said) -> None:
        """Pass on what a thread said."""
        self.say(message.words)

    def on_problem(self, message: Problem) -> None:
        """Say what went wrong on a thread."""
        error = message.error
        self.desk.task = ""
        self.say_error(error)

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
            self.desk.inspection, self.desk.inspected = message.inspection, message.line
            self.shown.info()
            self.shown.bars(self.situation())
            if self.desk.later and message.line == self.main.code.line:
                self.action_command(self.desk.later)

    def on_located(self, message: Located) -> None:
        """Go to where a name is defined."""
        opened = self.desk.opened
        if opened is None or message.number != opened.number:
            return
        if message.line is None:
            self.say(f"{visible(message.name)} is not defined in this text")
        elif message.line == self.main.code.line:
            more = f"%{message.name} is defined here; x shows who uses it"
            self.say(more if opened.hlo else f"{visible(message.name)} is defined here")
        else:
            self.jump(message.line)

    def on_climbed(self, message: Climbed) -> None:
        """Go along the ladder of stages."""
        from hlo_tui.ui.climbing import climbed

        climbed(self, message)

    def on_searched(self, message: Searched) -> None:
        """Go to the match."""
        desk, opened = self.desk, self.desk.opened
        desk.task = ""
        if opened is None or message.number != opened.number or message.stopped:
            return
        if message.line is None:
            self.say(f"not found: {visible(desk.answers.get('search', [''])[-1])}")
            return
        self.jump(message.line)
        desk.wrapped = message.wrapped
        self._say_match(message.line)

    def on_counted(self, message: Counted) -> None:
        """Say which match this is."""
        desk, opened = self.desk, self.desk.opened
        if opened is not None and message.matches.number == opened.number:
            desk.matches = message.matches
            self._say_match(self.main.code.line)

    def _say_match(self, line: int) -> None:
        """Say which of how many matches a line is; they are counted first, where they have not been."""
        desk, opened, found = self.desk, self.desk.opened, self.desk.matches
        words = "the search began anew at the other end" if desk.wrapped else ""
        if opened is not None and desk.pattern is not None:
            if found is None or found.pattern != desk.pattern or found.number != opened.number:
                self.reader.count(opened, desk.pattern)
            elif place := found.words(line):
                words = f"match {place}" + (f"; {words}" if words else "")
        self.say(words)

    def on_prompt_answered(self, message: Prompt.Answered) -> None:
        """Take an answer."""
        self.close_prompt()
        text = message.text
        if text is not None:
            self.desk.answered(message.purpose, text)
            self.attempt(lambda: answer(message.purpose)(self, text))
            if message.purpose == "filter" and text.strip():
                from hlo_tui.ui.arranging import open_only

                open_only(self)

    def on_prompt_typed(self, message: Prompt.Typed) -> None:
        """Filter while the person types."""
        if message.purpose == "filter":
            answer("filter")(self, message.text)

    def on_task_changed(self, message: TaskChanged) -> None:
        """Long work goes on, or has ended: the screens over this one may show it."""
        from hlo_tui.ui.passes import gutter
        from hlo_tui.ui.passes.screen import TaskPanel

        if message.task.kind == gutter.KIND:
            gutter.show(self, message.task)
        if message.task.kind == "bisect":
            going = not message.task.done
            self.desk.bisecting = f"bisect: {message.task.words}" if going else ""
            self.shown.bars(self.situation())
        for screen in self.screen_stack:
            if isinstance(screen, TaskPanel):
                screen.task_changed(message.task)
        if message.task.kind == "bisect" and message.task.done and self.screen is self.main:
            self.say("the search for the pass that broke the numbers has ended: P shows what it found")

    def on_marked(self, message: Marked) -> None:
        """Show the signs."""
        opened = self.desk.opened
        if opened is None or message.number != opened.number:
            return
        self.desk.marks, self.desk.marked = message.marks, message.number
        self.main.code.set_marks(message.marks)
        if message.follow and message.marks.place is not None:
            self.main.code.go_to(message.marks.place, center=True)
        from hlo_tui.ui.stopping import warn

        warn(self)
        for panel in self._panels():
            panel.marked()
        self.shown.replay()
        self.shown.bars(self.situation())
        if self.desk.later:
            self.action_command(self.desk.later)

    def on_replay_changed(self, message: ReplayChanged) -> None:
        """The replay is somewhere else, or does something else."""
        desk, replays = self.desk, self.desk.replays
        before = replays.state
        if not replays.take(message.session, message.state):
            return
        state = message.state
        moved = before is None or before.current is not state.current or before.at != state.at
        if state.status == "standing" and replays.want is not None:
            here = desk.wanted is not None and key_of(desk.wanted) == key_of(replays.want)
            if moved and self.main.narrow:
                self.main.go("code")
            if here:
                self.mark(follow=moved)
            elif moved:
                self.open(replace(replays.want, line=-1, computation="", instruction="", beside=None))
        if replays.want is not None and desk.healthy(replays.want, state):
            self.shown.tree()
        for panel in self._panels():
            panel.take(state)
        self._tick(state.status == "busy")
        later = desk.later
        if later in MOVES and state.status != "busy":
            desk.later = ""
            if state.status == "standing" and state.problem is None:
                self.action_command(later)
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
        for panel in self._panels():
            panel.show_foot()

    def _panels(self) -> list[Panel]:
        """The screens over the main one that hear of the replay."""
        if self.screen is self.main:
            return []
        from hlo_tui.ui.panel import Panel

        return [screen for screen in self.screen_stack if isinstance(screen, Panel)]
