"""The rows of the executions screen: a strip with a mark for each recorded run, and what each one shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tui.dump.words import count_text
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.executions import GOOD, changes
from hlo_tui.ui.glyphs import BAD, DOT, FOLDED, OPEN, RAN, UNKNOWN
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.treerows import clock
from hlo_tui.ui.valuerows import Json, number, spark

if TYPE_CHECKING:
    from hlo_tui.replay.executions import Execution

_INFINITY = "I"


@dataclass(frozen=True, slots=True)
class Run:
    """A row about the run recorded in a file."""

    path: Path


@dataclass(frozen=True, slots=True)
class RunsView:
    """What is to be shown.

    Attributes:
        runs: the recorded runs, the oldest first.
        times: when each was written, nanoseconds since 1970.
        first: the first bad one, once that is certain.
        halving: whether it is being looked for.
        unfolded: the runs whose values are listed.
        chosen: the one that the replay runs on.
    """

    runs: Sequence[Execution]
    times: Mapping[Path, int]
    first: Execution | None = None
    halving: bool = False
    unfolded: frozenset[Path] = frozenset()
    chosen: str = ""


def build(view: RunsView, width: int) -> list[Row]:
    """All rows."""
    known = sum(run.known for run in view.runs)
    bad = [run for run in view.runs if run.known and run.health != GOOD]
    spans = [Span(f" {count_text(len(view.runs), 'recorded run')}, the oldest first", "strong")]
    if known < len(view.runs):
        spans.append(Span(f"; {known:,} looked at so far", "busy"))
    if bad:
        spans.append(Span(f"; {len(bad):,} not finite", "nan"))
    elif known:
        spans.append(Span("; all of these finite", "good"))
    rows = [row(*spans), *_strip(view.runs, width), *_curve(view.runs, width), *_first(view), row()]
    for place, run in enumerate(view.runs):
        rows += _run(view, place, run, width)
    return rows


def sign(run: Execution) -> tuple[str, str]:
    """The mark of a run and its role."""
    if run.problem is not None:
        return UNKNOWN, "missing"
    marks = {"": (DOT, "muted"), GOOD: (RAN, "ran"), "inf": (_INFINITY, "nan")}
    return marks.get(run.health, (BAD, "nan"))


def _strip(runs: Sequence[Execution], width: int) -> Iterator[Row]:
    room = max(8, width - 3)
    for begin in range(0, len(runs), room):
        yield row(Span("  "), *(Span(*sign(run)) for run in runs[begin : begin + room]))


def _curve(runs: Sequence[Execution], width: int) -> Iterator[Row]:
    values = [_largest(run.report) for run in runs]
    known = [value for value in values if value is not None]
    if len(known) > 1:
        room = max(8, width - 3)
        step = -(-len(values) // room)
        yield row(
            Span("  "), Span(spark(values[::step], room), "spark"),
        )  # fmt: skip
        yield row(Span(f"  largest value of a run: {number(known[0])} → {number(known[-1])}", "muted"))


def _largest(report: Json | None) -> float | None:
    if report is None:
        return None
    sizes = [
        abs(r[key])
        for r in (*report["stops"], report["outputs"])
        for key in ("min", "max")
        if r[key] is not None
    ]
    return max(sizes, default=None)


def _first(view: RunsView) -> Iterator[Row]:
    if view.first is not None:
        at = view.runs.index(view.first) + 1
        yield row(
            Span(
                f" the first that is not finite is run {at:,}; enter there, then ! finds the operation",
                "notice",
            )
        )
    elif view.halving:
        yield row(Span(" looking for the first bad one by halving", "busy"))


def _run(view: RunsView, place: int, run: Execution, width: int) -> Iterator[Row]:
    mark, role = sign(run)
    unfolded = run.path in view.unfolded
    here = str(run.path) == view.chosen
    words = run.health or ("could not be run" if run.problem is not None else "not looked at yet")
    largest = _largest(run.report)
    yield row(
        Span(f" {OPEN if unfolded else FOLDED} ", "fold"), Span(f"{place + 1:>5,} ", "accent" if here else "count"),
        Span(f"{mark} ", role), Span(f"{words:<7}", role if run.known else "muted"),
        Span(f"  largest {number(largest)}" if largest is not None else "", "result"),
        Span("  the replay runs on it" if here else "", "accent"),
        right=[Span(clock(view.times[run.path]) if run.path in view.times else "", "time")], key=Run(run.path),
    )  # fmt: skip
    if not unfolded:
        return
    yield from wrap(visible(run.path.name), width, "muted", "          ")
    if run.problem is not None:
        yield from wrap(visible(str(run.problem)), width, "problem", "          ")
    if run.report is not None:
        before = view.runs[place - 1].report if place else None
        yield from _changes(changes(before, run.report), place)
        outputs = run.report["outputs"]
        yield row(Span("          outputs  ", "muted"), *_extremes(outputs))
        yield row(Span(f"          against the recorded result: {run.report['recorded']}", "muted"))


def _changes(rows: Sequence[Json], place: int) -> Iterator[Row]:
    if not rows:
        yield row(Span("          no stop is met in it: a tag or a stop shows its value here", "muted"))
    for one in rows:
        yield row(
            Span("          "), Span(f"%{visible(one['instruction'])}  ", "definition"), *_extremes(one)
        )
        if one["before"] is not None:
            yield row(Span(f"            in run {place:,}  ", "muted"), *_extremes(one["before"], "muted"))


def _extremes(one: Json, role: str = "result") -> Iterator[Span]:
    for key in ("nan", "inf"):
        if one[key]:
            yield Span(f"{key} {one[key]:,}  ", "nan")
    yield Span(f"min {number(one['min'])}  max {number(one['max'])}", role)
