"""Operations and bytes of the stage that is open: by instruction, opcode and scope; and what devices send."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.cost.totals import CostReport, cost_of
from hlo_tui.hlo.loading import open_document
from hlo_tui.hlo.module import Module
from hlo_tui.ui.costsubject import About, about, show_code
from hlo_tui.ui.operationrows import (
    LineKey,
    columns,
    head_rows,
    line_rows,
    note_rows,
    opcode_rows,
    scope_rows,
    sent_rows,
)
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.rows import Row, Span, row

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task

_VIEWS = ("lines", "bytes", "opcodes", "scopes", "sent")


class OperationScreen(TaskPanel):
    """What costs the most."""

    PANEL = "operations"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("operations")

    def __init__(self, app: BaseApp) -> None:
        super().__init__(app, "Operations")
        self._about: About | None = None
        self._view = "lines"
        self._made: dict[tuple[str, int], list[Row]] = {}

    @property
    def _report(self) -> CostReport | None:
        return self.work.found[0] if self.work is not None and self.work.found else None

    def start(self) -> Task:
        """Count."""
        what = self._about = about(self.owner)
        self.heading = f"Operations  {what.title}"

        def job(task: Task) -> None:
            task.go_on("counting operations and bytes")
            document = open_document(what.path, what.want.member)
            module = Module(document.source, document.kind)
            module.scan(stop=lambda: task.stopping)
            task.check()
            task.add(cost_of(module, what.title, lambda: task.stopping))

        return self.owner.tasks.start("operations", (what.sign, what.label), job)

    def columns(self, width: int) -> Row:
        """The names of the columns."""
        return columns(width) if self._view in ("lines", "bytes") and self._report is not None else Row()

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        report = self._report
        if report is None:
            if self.work is None or self.work.problem is not None:
                return ()
            if self.work.done:
                return [row(Span(" stopped before anything was known; q and then O begins again", "muted"))]
            return [row(Span(" being counted", "busy"))]
        # Rows of a large module take a while to make, and a key is to be felt at once.
        key = (self._view, width)
        if key not in self._made:
            self._made[key] = [
                *head_rows(report, width),
                *note_rows(report, width),
                row(),
                *self._shown(report, width),
            ]
        return self._made[key]

    def _shown(self, report: CostReport, width: int) -> Iterable[Row]:
        if self._view == "opcodes":
            return opcode_rows(report.by_opcode, width)
        if self._view == "scopes":
            return scope_rows(report.by_op_name, width)
        if self._view == "sent":
            return sent_rows(report.collectives, width)
        return line_rows(report, self._view == "bytes", width)

    def do(self, identity: str) -> None:
        """Show something else."""
        name = identity.removeprefix("operations_")
        if name in _VIEWS:
            self._view = name
            self.rows.scroll_to(y=0, animate=False)
        elif name == "copy":
            at = self.rows.key
            text = next(
                ("".join(s.text for s in one.spans).strip() for one in self.rows.rows if one.key == at), ""
            )
            if at is not None and text:
                self.app.copy_to_clipboard(text)
                self.notice = "copied"
        else:
            super().do(identity)

    def chosen(self, key: object) -> None:
        """Show the instruction in the code."""
        if isinstance(key, LineKey) and self._about is not None:
            show_code(self.owner, self._about, self._about.label, key.computation, key.name, key.line)
