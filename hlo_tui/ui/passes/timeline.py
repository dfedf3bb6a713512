"""The timeline of a module: each pass in order, what it changed and how long it took."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.stages import readable_stages
from hlo_tui.passes.timeline import Step, steps, words
from hlo_tui.passes.times import FILE_TIMES
from hlo_tui.ui.glyphs import FOLDED, MINUS, MORE, OPEN, STANDING
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.passes.subject import At, Subject, go, open_label
from hlo_tui.ui.rows import Row, Span, row, wrap

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task

_WIDE = 116
_COUNT, _TOTAL, _MS = 7, 9, 10
_KINDS = 40
MARKED = "A"
# Before a time that is that of a file, and so of all that went on since the one before.
ABOUT = "~"


@dataclass(frozen=True, slots=True)
class Run:
    """The row of neighbours that changed nothing, named by the label of the first."""

    label: str


@dataclass(frozen=True, slots=True)
class TimelineView:
    """How a timeline is shown.

    Attributes:
        here: the label of the stage that is open in the code.
        filter: only passes and pipelines with this in their names.
        unfolded: the runs of unchanged neighbours that are shown one by one.
        marked: the label of the stage that another one is to be compared with.
    """

    here: str = ""
    filter: str = ""
    unfolded: frozenset[str] = field(default=frozenset())
    marked: str = ""


def heading(width: int) -> Row:
    """The names of the columns."""
    name, kinds = _widths(width)
    numbers = f"{'added':>{_COUNT}}{'removed':>{_COUNT + 1}}{'changed':>{_COUNT + 1}}"
    words = f" {'':2}{'step':<5}{'pipeline › pass':<{name}}{numbers}{'total':>{_TOTAL}}{'ms':>{_MS}}"
    return row(Span(words + ("  what changed" if kinds else ""), "heading"))


def _widths(width: int) -> tuple[int, int]:
    """Columns for the pass, and for what changed; 0 for the latter where there is no room."""
    room = width - 8 - 3 * _COUNT - 2 - _TOTAL - _MS
    kinds = min(_KINDS + max(0, width - 160) // 2, room - 40) if width >= _WIDE else 0
    return max(12, room - kinds), max(0, kinds)


def build(found: Sequence[Step], view: TimelineView, done: bool, width: int) -> list[Row]:
    """All rows of a timeline."""
    rows: list[Row] = []
    quiet: list[Step] = []
    for step in found:
        if view.filter.lower() not in words(step).lower():
            continue
        loud = step.changed or step.problem or not step.base or step.stage.point.step is None
        if loud or step.stage.label in (view.here, view.marked):
            rows += _quiet_rows(quiet, view, width)
            quiet = []
            rows.append(_row(step, view, width))
        else:
            quiet.append(step)
    rows += _quiet_rows(quiet, view, width)
    if not rows:
        none = "no pass and no pipeline is called like that" if found else "the first stage is being read"
        return [row(), row(Span(f"  {none}", "muted"))]
    return [*rows, *(_summary(found, width) if done else ())]


def _summary(found: Sequence[Step], width: int) -> list[Row]:
    changed = sum(step.changed for step in found)
    words = [f"{count_text(len(found), 'stage')}, {changed} of them changed something"]
    if any(step.time is not None and step.time.source == FILE_TIMES for step in found):
        words.append(f"{ABOUT} ms: from the times of the files, with all that went on since the stage before")
    return [row(), *(line for text in words for line in wrap(text, width, "muted", "  "))]


def _row(step: Step, view: TimelineView, width: int, indent: str = "") -> Row:
    name, kinds = _widths(width)
    label = step.stage.label
    point = step.stage.point
    sign = STANDING if label == view.here else " "
    number = f"{point.step:04}" if point.step is not None else ""
    what = _fitting(visible(indent + words(step)), name - 1)
    spans = [
        Span(f" {sign}", "accent"),
        Span(MARKED if label == view.marked else " ", "notice"),
        Span(f"{number:<5}", "line_number"),
        Span(f"{what:<{name}}", "text" if step.changed or not step.base else "muted"),
    ]
    if step.problem:
        return row(*spans, Span(visible(step.problem), "problem"), key=label)
    spans += [
        _count(step.added, "+", _COUNT, "added"),
        _count(step.removed, MINUS, _COUNT + 1, "removed"),
        _count(step.modified, "~", _COUNT + 1, "modified")
        if step.modified or not step.header
        else Span(f"{'header':>{_COUNT + 1}}", "modified"),
        Span(f"{step.instructions:>{_TOTAL},}", "count"),
        Span(f"{_time(step):>{_MS}}", "time"),
    ]
    if kinds:
        spans.append(Span(f"  {visible(_what(step))}"[:kinds], "muted"))
    return row(*spans, key=label)


def _fitting(words: str, room: int) -> str:
    """A pass with its pipeline in so many columns; of a long one the pass is kept."""
    if len(words) <= room:
        return words
    pipeline, arrow, name = words.partition(" › ")
    keep = room - len(arrow) - len(name) - 1
    if arrow and keep >= 4:
        return f"{pipeline[:keep]}{MORE}{arrow}{name}"
    return f"{MORE}{words[len(words) - room + 1 :]}"


def _count(count: int, sign: str, width: int, role: str) -> Span:
    text = f"{sign}{count:,}" if count else ""
    return Span(f"{text:>{width}}", role)


def _time(step: Step) -> str:
    if step.time is None:
        return ""
    ms = step.time.ms
    return f"{ABOUT if step.time.source == FILE_TIMES else ''}{ms:,.{1 if ms >= 1 else 2}f}"


def _what(step: Step) -> str:
    parts = [f"{kind} {count:,}" for kind, count in step.kinds.items()]
    return ", ".join([*parts, *(f"header {key}" for key in step.header)])


def _quiet_rows(quiet: list[Step], view: TimelineView, width: int) -> list[Row]:
    if len(quiet) < 2:
        return [_row(step, view, width) for step in quiet]
    first, last = quiet[0].stage, quiet[-1].stage
    unfolded = first.label in view.unfolded
    steps = f"{first.point.step:04}–{last.point.step:04}"
    sign = OPEN if unfolded else FOLDED
    what = f" {sign} {len(quiet)} dumps without a change"
    head = row(Span("   "), Span(steps, "line_number"), Span(what, "fold"), key=Run(first.label))
    return [head, *(_row(step, view, width, "  ") for step in quiet)] if unfolded else [head]


class TimelineScreen(TaskPanel):
    """The timeline of one module."""

    PANEL = "timeline"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("timeline")

    def __init__(self, app: BaseApp, about: Subject) -> None:
        super().__init__(app, f"Passes of {about.title}")
        self._about = about
        self._view = TimelineView(here=open_label(app))
        self._placed = False

    def start(self) -> Task:
        """Compare each stage with the one before."""
        about = self._about
        count = len(readable_stages(about.module))

        def job(task: Task) -> None:
            task.go_on(f"stage 1 of {count}")
            for number, step in enumerate(steps(about.listing, about.module), 2):
                task.add(step)
                task.go_on(f"stage {number} of {count}")

        return self.owner.tasks.start("timeline", about.key, job)

    def columns(self, width: int) -> Row:
        """The names of the columns."""
        return heading(width)

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        found = self.work.found if self.work is not None else ()
        done = self.work is not None and self.work.done
        return build(found, self._view, done, width)

    def show(self) -> None:
        """Show it; once the stage that is open is there, the cursor goes to it."""
        super().show()
        if not self._placed and any(line.key == self._view.here for line in self.rows.rows):
            self._placed = True
            self.rows.put_cursor(self._view.here)

    def chosen(self, key: object) -> None:
        """Open a stage at what the cursor is on in the code, or unfold."""
        if isinstance(key, Run):
            self.turned(key, -1 if key.label in self._view.unfolded else 1)
        elif isinstance(key, str):
            go(self.owner, self._about, At(key))

    def turned(self, key: object, way: int) -> None:
        """Show unchanged neighbours one by one, or as one row."""
        if isinstance(key, Run):
            there = self._view.unfolded
            changed = there | {key.label} if way > 0 else there - {key.label}
            self._view = replace(self._view, unfolded=changed)

    def do(self, identity: str) -> None:
        """Carry out a command."""
        if identity == "timeline_filter":
            self.ask("filter", "only passes and pipelines with this in their names", self._view.filter)
        elif identity == "timeline_mark":
            label = self._label()
            self._view = replace(self._view, marked="" if label == self._view.marked else label)
            self.notice = "d on another stage compares it with this one" if self._view.marked else ""
        elif identity == "timeline_diff":
            self._diff()
        elif identity in ("timeline_previous", "timeline_next"):
            self._jump(1 if identity.endswith("next") else -1)
        else:
            super().do(identity)

    def typed(self, purpose: str, text: str) -> None:
        """Filter while the person types."""
        if purpose == "filter":
            self._view = replace(self._view, filter=text.strip())
            self.show()

    def answered(self, purpose: str, text: str) -> None:
        """Filter."""
        self.typed(purpose, text)

    def _label(self) -> str:
        key = self.rows.key
        if not isinstance(key, str):
            raise HloTuiError("The cursor is on no stage")
        return key

    def _jump(self, way: int) -> None:
        """Go to the next stage that something changed in, or the one before."""
        rows = self.rows.rows
        changed = {step.stage.label for step in self.work.found if step.changed} if self.work else set()
        keys = [line.key for line in rows]
        at = keys.index(self.rows.key) if self.rows.key in keys else 0
        ahead = keys[at + 1 :] if way > 0 else keys[:at][::-1]
        there = next((key for key in ahead if key in changed), None)
        if there is None:
            raise HloTuiError(f"No stage {'after' if way > 0 else 'before'} this one has a change")
        self.rows.put_cursor(there)

    def _diff(self) -> None:
        from hlo_tui.ui.passes.diff import diff_stages

        label = self._label()
        labels = [stage.label for stage in readable_stages(self._about.module)]
        at = labels.index(label)
        other = self._view.marked if self._view.marked not in ("", label) else labels[max(0, at - 1)]
        if other == label:
            raise HloTuiError("There is no stage before this one", "", "m marks another one to compare with.")
        a, b = sorted((labels.index(other), at))
        self.owner.push_screen(diff_stages(self.owner, self._about, labels[a], labels[b]))
