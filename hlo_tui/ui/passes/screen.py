"""What the screens of what the compiler did have in common: a task finds out what is in the rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.app import ComposeResult

from hlo_tui.hlo.visible import visible
from hlo_tui.ui.bars import Bar, footer
from hlo_tui.ui.panel import Panel
from hlo_tui.ui.popups import Prompt
from hlo_tui.ui.rows import Row, Span, row, wrap

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task


class TaskPanel(Panel):
    """A panel with a task.

    Attributes:
        work: what finds out, None before it began.
    """

    def __init__(self, app: BaseApp, heading: str) -> None:
        super().__init__(app, visible(heading))
        self.work: Task | None = None
        self._columns = Bar(app.paint)

    # What each one has of its own, beside what a panel has.

    def start(self) -> Task | None:
        """Start the task, or find the one that was started before; it may raise HloTuiError."""
        return None

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        raise NotImplementedError

    def columns(self, width: int) -> Row:  # noqa: ARG002
        """What stays above the rows."""
        return Row()

    def typed(self, purpose: str, text: str) -> None:
        """Another letter was typed."""

    # What they share.

    def compose(self) -> ComposeResult:
        """A title, the names of the columns, the rows, and the keys."""
        yield self._title
        yield self._columns
        yield self.rows
        yield self._foot

    def begin(self) -> None:
        """Begin, or go on."""
        self.work = self.start()

    def task_changed(self, task: Task) -> None:
        """The task has found something."""
        if task is self.work:
            self.show()

    def do(self, identity: str) -> None:
        """Carry out a command that all have."""
        if identity == f"{self.PANEL}_stop":
            if self.work is not None and not self.work.done:
                self.work.stop()
            else:
                self.dismiss(None)

    def build(self, width: int) -> Sequence[Row]:
        """The rows, and why there are no more."""
        rows = self.lines(width)
        problem = self.work.problem if self.work is not None else None
        if problem is None:
            return rows
        words = [row(), *wrap(visible(problem.title), width - 2, "problem", "  ")]
        for text in (problem.message, problem.hint):
            for line in text.splitlines():
                words += wrap(visible(line), width - 2, "text", "  ")
        return [*rows, *words]

    def show(self) -> None:
        """Show everything as it is now."""
        if self.is_mounted:
            width = self.rows.scrollable_content_region.width or self.size.width
            self._columns.show(self.columns(width))
        super().show()

    def show_foot(self) -> None:
        """Show the keys and what goes on."""
        width = self.size.width
        status = (Span(visible(self.notice), "notice"),) if self.notice else self._status()
        self._foot.show(footer(self.owner.situation(), status, width, on=self.PANEL) if width else Row())

    def _status(self) -> tuple[Span, ...]:
        work = self.work
        if work is None or (work.done and not work.stopping):
            return ()
        if work.done:
            return (Span("stopped", "notice"),)
        stop = "" if work.stopping else "   ctrl+c stops"
        return (Span(f"{visible(work.words)}{stop}", "busy"),)

    def on_prompt_typed(self, message: Prompt.Typed) -> None:
        """Take in what is typed."""
        message.stop()
        self.typed(message.purpose, message.text)
