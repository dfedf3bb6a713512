"""Writes the state to the widgets; each part by itself, so that only what changed is painted."""

from __future__ import annotations

import time
from collections.abc import Sequence

from hlo_tui.ui import titles, treerows
from hlo_tui.ui.bars import footer
from hlo_tui.ui.commands import Situation
from hlo_tui.ui.desk import Desk
from hlo_tui.ui.glyphs import BAD
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.screen import MainScreen


class Showing:
    """The screen and the state behind it."""

    def __init__(self, screen: MainScreen, desk: Desk) -> None:
        self._screen = screen
        self._desk = desk

    def everything(self, now: Situation) -> None:
        """Show all of the state."""
        self.tree()
        self.code()
        self.info()
        self.replay()
        self.bars(now)

    def tree(self) -> None:
        """Show the modules."""
        shelf, view = self._desk.shelf, self._desk.tree
        if shelf is None:
            return
        if self._screen.narrow and shelf.explanation and not (shelf.other or shelf.unrecognised):
            mode, waiting, ended = self._desk.mode, self._desk.waiting, self._desk.ended
            self._screen.modules.show(lambda width: titles.empty_rows(shelf, mode, width, waiting, ended))
        else:
            self._screen.modules.show(lambda width: treerows.build(shelf, view, width))

    def code(self) -> None:
        """Show why there is no code, where there is none; code itself is shown by what opens it."""
        problem, shelf, mode = self._desk.problem, self._desk.shelf, self._desk.mode
        if self._desk.text is not None:
            return
        if problem is not None:
            self._screen.code.show_rows(lambda width: titles.problem_rows(problem, width))
        elif shelf is not None and shelf.explanation:
            waiting, ended = self._desk.waiting, self._desk.ended
            self._screen.code.show_rows(lambda width: titles.empty_rows(shelf, mode, width, waiting, ended))
        elif shelf is not None and self._desk.wanted is None:
            self._screen.code.show_rows(titles.choose_rows)

    def info(self) -> None:
        """Show what is known of the line under the cursor, or why there is no line."""
        self._screen.info.show(self._info)

    def _info(self, width: int) -> Sequence[Row]:
        desk, found = self._desk, self._desk.inspection
        if found is None:
            return [row(Span(" nothing is open", "muted"))] if desk.opened is None else ()
        from hlo_tui.ui import inforows

        state = desk.replays.state if desk.replays.is_of(desk.opened) else None
        value, valued, given = None, False, None
        if state is not None and found.instruction is not None:
            key = (found.instruction.computation, found.instruction.name)
            valued = (
                state.current is not None and (state.current.computation, state.current.instruction) == key
            )
            value, given = state.value_of(*key), state.given_for(*key)
        rows = inforows.build(found, value, valued or value is not None, width, given)
        return [*rows, *self._legend(width)]

    def _legend(self, width: int) -> Sequence[Row]:
        """What the sign of the module that is open says, where it is a bad one."""
        wanted = self._desk.wanted
        key = wanted.place.module if wanted is not None else None
        if key is None or self._desk.tree.health.get(key) != BAD:
            return ()
        words = f"{BAD} in the list: a NaN or an infinity was recorded in a run of this module, or met in a replay"
        return (row(), *wrap(words, width, "nan", " "))

    def replay(self) -> None:
        """Show the replay."""
        shown = self._desk.replays.state is not None or self._desk.asked
        self._screen.set_class(shown, "-replaying")
        if not shown and self._screen.pane != "replay":
            return
        from hlo_tui.ui import replayrows

        if self._screen.replayed != self._desk.replayed:
            self._screen.replayed = self._desk.replayed
            self._screen.titles()
        view = self._desk.replay_view(time.monotonic())
        self._screen.replay.show(lambda width: replayrows.build(view, width))

    def bars(self, now: Situation) -> None:
        """Show the single lines."""
        desk, screen = self._desk, self._screen
        width = screen.size.width
        screen.header.show(
            titles.header(desk.root, desk.shelf, desk.mode, desk.follow, screen.pane, width, screen.narrow)
        )
        line = screen.code.line
        screen.title_bar.show(titles.code_title(desk.text, line, screen.pane == "code", desk.changed))
        screen.footer.show(footer(now, self._status(), width))
        state = desk.replays.state
        if state is not None:
            from hlo_tui.ui import replayrows

            screen.value.show(replayrows.value_row(state, desk.replays.partition))
        if desk.inspection is not None:
            from hlo_tui.ui import inforows

            screen.brief.show(inforows.brief(desk.inspection, width))
        elif desk.problem is not None:
            screen.brief.show(row(Span(f" {desk.problem.title}: {desk.problem.message}", "problem")))

    def _status(self) -> tuple[Span, ...]:
        desk, state = self._desk, self._desk.replays.state
        if desk.notice:
            return (Span(desk.notice, "notice"),)
        if desk.bisecting and (state is None or state.status != "busy"):
            return (Span(desk.bisecting, "busy"),)
        if state is not None and (state.status == "busy" or not desk.task):
            from hlo_tui.ui import replayrows

            words = replayrows.status(state, time.monotonic())
            role = {"busy": "busy", "dead": "problem", "failed": "problem"}.get(state.status, "status")
            return (Span(words, role),)
        return (Span(desk.task, "busy"),) if desk.task else ()
