"""The life of one instruction: from the source line through every pass to the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.hlo.visible import visible
from hlo_tui.passes.history import History, Trace
from hlo_tui.passes.lineage import Life, Moment, life
from hlo_tui.passes.links import CERTAIN, SAME
from hlo_tui.ui.glyphs import FOLDED, OPEN, STANDING
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.passes.subject import At, Subject, go, leave_for, stage_words
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.treerows import Place

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task

_ROLES = {"certain": "good", "likely": "notice", "guess": "problem"}


@dataclass(frozen=True, slots=True)
class File:
    """A row that opens a file of the dump."""

    path: str


@dataclass(frozen=True, slots=True)
class Quiet:
    """The row of stages at which nothing happened, named by the first."""

    label: str


def build(found: Life, about: Subject, unfolded: frozenset[str], width: int) -> list[Row]:
    """All rows of a life."""
    place = found.place
    rows = [
        row(
            Span(f" %{visible(place.name)}", "title"),
            Span(f"  {visible(place.opcode)} {visible(place.shape)}"),
        )
    ]
    for frame, how in found.sources:
        where = visible(f"{frame.file}:{frame.line}")
        note = "" if how == "own" else f"   {how} with it"
        rows.append(
            row(Span(f"   from {where}", "source"), Span(f"  {visible(frame.function)}{note}", "muted"))
        )
    if not found.sources:
        rows.append(row(Span("   no source line is given", "muted")))
    rows.append(row())
    quiet: list[Moment] = []
    last = len(found.moments) - 1
    for number, moment in enumerate(found.moments):
        if number in (0, last) or moment.eventful or moment.label == found.label:
            rows += _quiet(quiet, about, unfolded)
            quiet = []
            rows += _moment(moment, about, moment.label == found.label)
        else:
            quiet.append(moment)
    return [*rows, *_end(found, width)]


def _quiet(quiet: list[Moment], about: Subject, unfolded: frozenset[str]) -> list[Row]:
    if len(quiet) < 2:
        return [line for moment in quiet for line in _moment(moment, about, False)]
    key = Quiet(quiet[0].label)
    is_open = key.label in unfolded
    words = f"   {OPEN if is_open else FOLDED} {len(quiet)} stages at which nothing happened to it"
    rows = [row(Span(words, "fold"), key=key)]
    return [*rows, *(line for moment in quiet for line in _moment(moment, about, False))] if is_open else rows


def _moment(moment: Moment, about: Subject, here: bool) -> list[Row]:
    stage = about.module.stage(moment.label)
    words = visible(stage_words(stage) if stage is not None else moment.label)
    rows = [
        row(Span(f" {STANDING if here else ' '} ", "accent"), Span(words, "strong"), key=At(moment.label))
    ]
    rows += [_trace(trace, moment.label, number) for number, trace in enumerate(moment.traces, 1)]
    return rows if moment.traces else [*rows, row(Span("       it is not there any more", "removed"))]


def _trace(trace: Trace, label: str, number: int) -> Row:
    place = trace.place
    how = "" if trace.how == SAME else f"   {trace.how}"
    sure = "" if trace.sure == CERTAIN else f", {trace.sure}"
    what = f"   changed: {', '.join(trace.what)}" if trace.what else ""
    return row(
        Span(f"       %{visible(place.name)}", "name"),
        Span(f"  {visible(place.opcode)} {visible(place.shape)}", "shape"),
        Span(f"{how}{sure}", _ROLES.get(trace.sure, "muted")),
        Span(what, "modified"),
        right=[Span(visible(place.computation), "computation")],
        key=At(label, place.computation, place.name, number),
    )


def _end(found: Life, width: int) -> list[Row]:
    rows = [row()]
    if found.fusion:
        rows.append(row(Span(f"   at the end in %{visible(found.fusion)}", "strong")))
    elif found.end is None:
        rows += wrap("nothing is left of it at the last stage", width, "muted", "   ")
    for path in found.kernels:
        rows.append(row(Span("   its code  ", "muted"), Span(visible(path)), key=File(path)))
    if found.fusion and not found.kernels:
        words = "the dump has no file with its code; XLA writes them with --xla_dump_to where the backend makes any"
        rows += wrap(words, width, "muted", "   ")
    return rows


class LifeScreen(TaskPanel):
    """One instruction through all stages."""

    PANEL = "life"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("life")

    def __init__(self, app: BaseApp, about: Subject, at: At) -> None:
        super().__init__(app, f"The life of %{at.name}")
        self._about = about
        self._at = at
        self._unfolded: frozenset[str] = frozenset()
        self._placed = False

    def start(self) -> Task:
        """Follow it in both directions."""
        about, at = self._about, self._at

        def job(task: Task) -> None:
            history = History(about.listing, about.module, lambda stage: task.go_on(f"reading {stage.label}"))
            name = f"{at.computation}/{at.name}"
            task.add(life(about.module, history, history.index(at.label), name))

        return self.owner.tasks.start("life", (about.key, at), job)

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        if self.work is None or not self.work.found:
            return ()
        return build(self.work.found[0], self._about, self._unfolded, width)

    def show(self) -> None:
        """Show it; the cursor begins at the stage that is open."""
        super().show()
        at = self._at
        if not self._placed and self.work is not None and self.work.found:
            self._placed = True
            self.rows.put_cursor(At(at.label, at.computation, at.name, 1))

    def chosen(self, key: object) -> None:
        """Go there, or unfold."""
        if isinstance(key, At):
            go(self.owner, self._about, key)
        elif isinstance(key, File):
            leave_for(self.owner, self.owner.desk.want(Place(key.path, self._about.module.key)))
        elif isinstance(key, Quiet):
            self._unfolded ^= {key.label}

    def turned(self, key: object, way: int) -> None:
        """Show quiet stages one by one, or as one row."""
        if isinstance(key, Quiet) and (key.label in self._unfolded) != (way > 0):
            self._unfolded ^= {key.label}
