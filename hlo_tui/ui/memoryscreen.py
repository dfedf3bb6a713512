"""The memory of what is open: who owns it when it is fullest or at any other moment, and over the whole schedule."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.errors import HloTuiError
from hlo_tui.memory import comparing, gathering
from hlo_tui.memory.comparing import Comparison
from hlo_tui.memory.report import Owner, Report
from hlo_tui.ui.costsubject import About, about, show_code
from hlo_tui.ui.memoryrows import (
    AllocationKey,
    LostKey,
    OwnerKey,
    comparison_rows,
    head_rows,
    lost_rows,
    map_rows,
    note_rows,
    owner_rows,
    plot_columns,
    plot_height,
    plot_rows,
    scope_rows,
    step_of,
)
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.rows import Row, Span, row

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task

# How many values of one moment are listed.
_LISTED = 2000
_VIEWS = ("owners", "scopes", "lost", "map", "compared")
_HEADINGS = {
    "owners": "in use at this moment", "scopes": "in use at this moment, by scope of the op_name",
    "lost": "donated, and copied or not used all the same", "map": "allocations; enter unfolds one",
    "compared": "compared",
}  # fmt: skip


class MemoryScreen(TaskPanel):
    """Sums, a plot of the schedule with a moment in it, and what is in use then."""

    PANEL = "memory"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("memory")

    def __init__(self, app: BaseApp) -> None:
        super().__init__(app, "Memory")
        self._about: About | None = None
        self._view = "owners"
        self._moment = -1
        self._look: Task | None = None
        self._owners: tuple[Owner, ...] | None = None
        self._compared: Task | None = None
        # A long schedule is summed up once for a width.
        self._plots: dict[int, list[int]] = {}
        self._unfolded: frozenset[int] = frozenset()

    @property
    def _report(self) -> Report | None:
        return self.work.found[0] if self.work is not None and self.work.found else None

    def start(self) -> Task:
        """Read what there is about the memory of what is open."""
        what = self._about = about(self.owner)
        self.heading = f"Memory  {what.title}"

        def job(task: Task) -> None:
            task.go_on("reading what XLA reports, or estimating")
            stop = lambda: task.stopping  # noqa: E731
            if what.listing is not None and what.module is not None:
                report = gathering.of_module(what.listing, what.module, stop)
            else:
                report = gathering.of_file(what.path, what.want.member, stop)
            task.add(report)

        return self.owner.tasks.start("memory", what.sign, job)

    def begin(self) -> None:
        """Begin, or show what was found before."""
        super().begin()
        self._take()

    def task_changed(self, task: Task) -> None:
        """Something more is known."""
        if task is self.work:
            self._take()
        if task is self._look and task.found:
            self._owners = task.found[0]
        if task in (self.work, self._look, self._compared):
            self.show()

    def _take(self) -> None:
        """Stand at the peak as soon as there is one."""
        report = self._report
        if report is not None and self._moment < 0:
            self.heading = f"Memory  {report.title}"
            self._go(report.peak_at)

    def _go(self, moment: int) -> None:
        """Look at another moment; what is in use then is looked up beside the screen."""
        report = self._report
        if report is None:
            return
        count = len(report.timeline.sequence) if report.timeline is not None else 0
        self._moment = moment = max(0, min(moment, count - 1))

        def job(task: Task) -> None:
            task.add(tuple(report.at(moment, _LISTED, lambda: task.stopping)))

        self._look = self.owner.tasks.start("memory-moment", (id(report), moment), job)
        if self._look.found:
            self._owners = self._look.found[0]

    def columns(self, width: int) -> Row:
        """The sums."""
        rows = head_rows(self._report, width) if self._report is not None else []
        return rows[0] if rows else Row()

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        report = self._report
        if report is None:
            if self.work is None or self.work.problem is not None:
                return ()
            if self.work.done:
                return [row(Span(" stopped before anything was known; q and then M begins again", "muted"))]
            return [row(Span(" being read", "busy"))]
        rows = head_rows(report, width)[1:]
        if report.timeline is not None and len(report.timeline.live) > 1:
            if width not in self._plots:
                self._plots = {width: plot_columns(report.timeline, width)}
            height = plot_height(self.size.height)
            rows += plot_rows(report.timeline, self._plots[width], self._moment, width, height)
        heading = (
            _HEADINGS[self._view]
            if report.timeline is not None or self._view != "owners"
            else "the largest first"
        )
        rows.append(row(Span(f" {heading}", "heading")))
        rows += self._view_rows(report, width)
        return [*rows, row(), *note_rows(report, width)]

    def _view_rows(self, report: Report, width: int) -> list[Row]:
        if self._view == "lost":
            return list(lost_rows(report.lost, width))
        if self._view == "map":
            return list(map_rows(report.allocations, self._unfolded, width))
        if self._view == "compared":
            found = self._compared.found if self._compared is not None else []
            if found:
                return list(comparison_rows(found[0], width))
            problem = self._compared.problem if self._compared is not None else None
            words = f" {problem.title}: {problem.message}" if problem is not None else " being read"
            return [row(Span(words, "problem" if problem is not None else "busy"))]
        owners = self._owners
        if owners is None:
            return [row(Span(" being looked up", "busy"))]
        line = report.timeline
        whole = line.live[self._moment] if line is not None and line.live else report.peak
        whole = whole or sum(owner.size for owner in report.owners)
        rows = (
            scope_rows(owners, whole, width) if self._view == "scopes" else owner_rows(owners, whole, width)
        )
        return list(rows)

    def do(self, identity: str) -> None:
        """Go to another moment, or show something else."""
        name = identity.removeprefix("memory_")
        report = self._report
        if name in _VIEWS:
            self._view = name
            self.rows.scroll_to(y=0, animate=False)
        elif name == "compare":
            self.ask(
                identity, "another dump, module's file or report; or a text with an out-of-memory message"
            )
        elif name == "copy":
            self._copy()
        elif name == "stop" or report is None:
            super().do(identity)
        elif report.timeline is None:
            self.notice = "no schedule is known here: there is one moment only"
        elif name == "peak":
            self._go(report.peak_at)
        elif name in ("before", "after"):
            self._go(self._moment + (1 if name == "after" else -1))
        elif name == "here":
            self._go_here(report)
        elif name == "code":
            self._show(report.timeline.sequence[self._moment])

    def turned(self, key: object, way: int) -> None:
        """Go by a column of the plot; unfold or fold an allocation."""
        report = self._report
        if isinstance(key, AllocationKey) and self._view == "map":
            if (key.index in self._unfolded) != (way > 0):
                self._unfolded ^= {key.index}
        elif report is not None and report.timeline is not None:
            self._go(self._moment + way * step_of(report.timeline, self.rows.size.width))

    def chosen(self, key: object) -> None:
        """Show the instruction in the code; unfold an allocation."""
        if isinstance(key, AllocationKey):
            self._unfolded ^= {key.index}
        elif isinstance(key, OwnerKey):
            self._show(key.owner.instruction, key.owner.computation, key.owner.code_line)
        elif isinstance(key, LostKey):
            self._show(key.lost.copies[0] if key.lost.copies else key.lost.name, "", key.lost.code_line)

    def answered(self, purpose: str, text: str) -> None:  # noqa: ARG002
        """Compare with another report."""
        report = self._report
        if not text or report is None:
            return
        path = Path(text).expanduser()
        name = self._about.module.name if self._about is not None and self._about.module is not None else None

        def job(task: Task) -> None:
            task.go_on(f"reading {path.name}")
            found: Comparison = comparing.compare(
                report, gathering.of_path(path, name, lambda: task.stopping)
            )
            task.add(found)

        self._view = "compared"
        self._compared = self.owner.tasks.start("memory-compare", (id(report), path), job, again=True)

    def _go_here(self, report: Report) -> None:
        found = self.owner.desk.inspection
        name = found.instruction.name if found is not None and found.instruction is not None else ""
        line = report.timeline
        if line is None or name not in line.sequence:
            raise HloTuiError(
                f"%{name} is not in this schedule" if name else "the cursor is on no instruction"
            )
        self._go(line.sequence.index(name))

    def _show(self, name: str, computation: str = "", line: int = -1) -> None:
        what, report = self._about, self._report
        if what is None or report is None:
            return
        if not name and line < 0:
            raise HloTuiError("this is no instruction of the module's text")
        show_code(self.owner, what, report.stage, computation, name, line)

    def _copy(self) -> None:
        at = self.rows.key
        text = next(
            ("".join(s.text for s in one.spans).strip() for one in self.rows.rows if one.key == at), ""
        )
        if at is not None and text:
            self.app.copy_to_clipboard(text)
            self.notice = "copied"
