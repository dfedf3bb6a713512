"""Where compile time went, and why functions were compiled again: all modules of the dump."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.dump.listing import load, short_name
from hlo_tui.dump.modules import Module
from hlo_tui.dump.words import count_text, size_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.costs import Costs, ModuleCost, PassCost, costs
from hlo_tui.passes.recompiles import FINISHED, Compilation, Function, functions, words_of
from hlo_tui.passes.stages import readable_stages
from hlo_tui.passes.times import FILE_TIMES
from hlo_tui.ui.glyphs import BARS, FOLDED, OPEN, TIMES
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.diff import DiffScreen
from hlo_tui.ui.passes.dumps import side_of_dump
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.passes.subject import leave_for
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.treerows import Place, module_title

if TYPE_CHECKING:
    from hlo_tui.dump.modules import ModuleKey
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task

_SHOWN = 40
_BAR = 10
_WIDE = 100


def cost_rows(found: Costs, width: int) -> list[Row]:
    """The slowest passes, then the slowest modules."""
    rows: list[Row] = []
    if found.passes:
        rows.append(
            row(Span(" slowest passes", "heading"), right=[Span(f"{'runs':>6}{'ms':>12}", "heading")])
        )
        most = found.passes[0].ms
        rows += [_pass(cost, most, width) for cost in found.passes[:_SHOWN]]
        rows += _more(len(found.passes))
        rows.append(row())
    head = (
        f"{'stages':>7}{'instructions':>20}{'size':>10}{'ms':>12}"
        if width >= _WIDE
        else f"{'size':>10}{'ms':>12}"
    )
    rows.append(row(Span(" slowest modules", "heading"), right=[Span(head, "heading")]))
    rows += [_module(cost, width) for cost in found.modules[:_SHOWN]]
    rows += _more(len(found.modules))
    if FILE_TIMES in {*(cost.source for cost in found.modules), *(cost.source for cost in found.passes)}:
        words = (
            "ms: from the times of the files, so with all that went on between two dumps; "
            "--xla_dump_module_metadata writes down what each pass took, where the backend does"
        )
        rows += [row(), *wrap(words, width - 2, "muted", "  ")]
    return rows


def _more(count: int) -> list[Row]:
    return [row(Span(f"   and {count - _SHOWN:,} more", "muted"))] if count > _SHOWN else []


def _pass(cost: PassCost, most: float, width: int) -> Row:
    bar = BARS[-1] * round(_BAR * cost.ms / most) if most > 0 else ""
    spark = Span(f"{bar:<{_BAR}} ", "spark") if width >= _WIDE else Span("")
    return row(
        Span("   "), spark, Span(visible(f"{cost.pipeline} › {cost.name}" if cost.pipeline else cost.name)),
        right=[Span(f"{cost.runs:>6,}", "count"), Span(f"{cost.ms:>12,.1f}", "time")],
    )  # fmt: skip


def _module(cost: ModuleCost, width: int) -> Row:
    grown = ""
    if cost.instructions is not None:
        first, last = cost.instructions
        grown = f"{first:,} → {last:,}" if first != last else f"{first:,}"
    ms = "" if cost.ms is None else f"{cost.ms:,.1f}"
    right = [Span(f"{size_text(cost.sizes[-1]):>10}", "count"), Span(f"{ms:>12}", "time")]
    if width >= _WIDE:
        right.insert(0, Span(f"{len(cost.sizes):>7,}{grown:>20}", "count"))
    number = f" #{cost.module.id}" if cost.module.id is not None else ""
    return row(Span(f"   {visible(short_name(cost.module.name))}{number}"), right=right, key=cost.module.key)


def recompile_rows(found: Sequence[Function], unfolded: frozenset[str], done: bool, width: int) -> list[Row]:
    """The functions that were compiled more than once, or not to the end, and why."""
    odd = [one for one in found if len(one.compilations) > 1 or one.compilations[0].state != FINISHED]
    rows: list[Row] = []
    for function in sorted(odd, key=lambda one: -len(one.compilations)):
        closed = function.name in unfolded
        count = len(function.compilations)
        times = f"  {TIMES}{count}" if count > 1 else ""
        rows.append(
            row(Span(f" {FOLDED if closed else OPEN} ", "fold"), Span(visible(function.name), "strong"),
                Span(times, "count"), key=function.name)
        )  # fmt: skip
        for one in () if closed else function.compilations:
            rows += _compilation(one, width)
    once = len(found) - len(odd)
    if done:
        rows += [row(), row(Span(f"  {count_text(once, 'function')} compiled once", "muted"))]
    return rows


def _compilation(one: Compilation, width: int) -> list[Row]:
    number = f"#{one.module.id}" if one.module.id is not None else ""
    first, *rest = wrap(visible(words_of(one)), width - 12, "text" if one.reasons else "muted")
    head = row(Span(f"     {number:<7}", "line_number"), *first.spans, key=one.module.key)
    return [head, *(row(Span(" " * 12), *line.spans) for line in rest)]


class _DumpPanel(TaskPanel):
    """What the two screens about a whole dump have in common: a row leads to a module."""

    def __init__(self, app: BaseApp, heading: str) -> None:
        super().__init__(app, heading)
        self._root = str(app.desk.watch.path_of(""))
        shelf = app.desk.shelf
        self._sign = (self._root, shelf.files, shelf.mtime_ns) if shelf is not None else (self._root, 0, 0)

    def go_to(self, key: ModuleKey) -> None:
        """Show a module's first stage."""
        shelf = self.owner.desk.shelf
        module: Module | None = shelf.module(key) if shelf is not None else None
        stages = readable_stages(module) if module is not None else []
        if module is not None and stages:
            leave_for(self.owner, self.owner.desk.want(Place(stages[0].main.path, key, stages[0].label)))
        else:
            self.notice = (
                f"{module_title(module)} has no stage to show" if module is not None else "it is gone"
            )


class CostsScreen(_DumpPanel):
    """Where compile time went."""

    PANEL = "costs"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("costs")

    def __init__(self, app: BaseApp) -> None:
        super().__init__(app, "Where compile time went")

    def start(self) -> Task:
        """Add up the times of the whole dump."""
        root = self._root

        def job(task: Task) -> None:
            task.go_on("looking through the dump")
            listing = load(root)
            task.go_on(f"adding up {count_text(len(listing.catalog.modules), 'module')}")
            task.add(costs(listing))

        return self.owner.tasks.start("costs", self._sign, job)

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        return cost_rows(self.work.found[0], width) if self.work is not None and self.work.found else ()

    def chosen(self, key: object) -> None:
        """Show the module."""
        self.go_to(key)  # type: ignore[arg-type]


class RecompilesScreen(_DumpPanel):
    """Why functions were compiled again."""

    PANEL = "recompiles"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("recompiles")

    def __init__(self, app: BaseApp) -> None:
        super().__init__(app, "Why it was compiled again")
        self._folded: frozenset[str] = frozenset()

    def start(self) -> Task:
        """Compare the compilations of each function."""
        root = self._root

        def job(task: Task) -> None:
            task.go_on("looking through the dump")
            listing = load(root)
            task.add(listing)
            for function in functions(listing):
                task.add(function)
                task.go_on(f"{count_text(len(task.found) - 1, 'function')} so far")

        return self.owner.tasks.start("recompiles", self._sign, job)

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        if self.work is None:
            return ()
        return recompile_rows(tuple(self.work.found[1:]), self._folded, self.work.done, width)

    def chosen(self, key: object) -> None:
        """Show the module, or fold the function."""
        if isinstance(key, str):
            self._folded ^= {key}
        else:
            self.go_to(key)  # type: ignore[arg-type]

    def turned(self, key: object, way: int) -> None:
        """Fold a function, or open it."""
        if isinstance(key, str) and (key in self._folded) == (way > 0):
            self._folded ^= {key}

    def do(self, identity: str) -> None:
        """Carry out a command."""
        if identity == "recompiles_diff":
            self._diff()
        else:
            super().do(identity)

    def _diff(self) -> None:
        """What differs between the programs of a compilation and of the one before it."""
        listing = self.work.found[0] if self.work is not None and self.work.found else None
        for function in self.work.found[1:] if self.work is not None else ():
            for before, one in pairwise(function.compilations):
                if listing is not None and one.module.key == self.rows.key:
                    a, b = (
                        side_of_dump(listing, readable_stages(of.module)[0], module_title(of.module))
                        for of in (before, one)
                    )
                    self.owner.push_screen(DiffScreen(self.owner, a, b))
                    return
        raise HloTuiError("There is no compilation before this one")
