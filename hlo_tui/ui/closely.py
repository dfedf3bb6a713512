"""A value looked at closely: what is asked for, and the rows that show what came back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hlo_tui.hlo.visible import visible
from hlo_tui.ui.foundrows import partition_words, supplied_rows
from hlo_tui.ui.glyphs import BARS, MORE
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.valuerows import Json, number, spark, summary_spans

SHADES = " ░▒▓█"
_HEAT_ROWS = 10
_CELL = 10
_KINDS = {"nan": "the first NaN is at", "inf": "the first infinity is at", "largest": "the largest is at"}


@dataclass(frozen=True, slots=True)
class Closely:
    """What is looked at, and what is known of it. Each step makes a new one.

    Attributes:
        computation, instruction: whose value it is.
        where: the stop and iteration, in words.
        element: which part of a tuple.
        slice: which elements the table shows, as numpy writes it.
        start: the row and column of these at which the table begins.
        partition: whose value, of those that each device has its own of; None where it runs on one.
        devices: how many of them there are.
        limits: what is in range, for the elements that are to be marked.
        problem: why there is no value.
        given: what is given for it, where the replay does not compute it.
        summary: of the whole value; None while it is being computed.
        overview: tables and maps of an array; None while they are being made.
        compared: how it differs from another moment's.
        against: that other moment, in words.
        trace: the places that an element comes from.
        iterations: the value in each iteration of the loop around it.
        outside: the elements that are out of range.
    """

    computation: str
    instruction: str
    where: str = ""
    element: tuple[int, ...] = ()
    slice: str = ""
    start: tuple[int, int] = (0, 0)
    partition: int | None = None
    devices: int = 1
    limits: tuple[float, float] | None = None
    problem: str = ""
    given: Json | None = None
    summary: Json | None = None
    overview: Json | None = None
    compared: Json | None = None
    against: str = ""
    trace: Json | None = None
    iterations: Json | None = None
    outside: Json | None = None

    @property
    def value(self) -> dict[str, Any]:
        """Which value is meant, as `replay.looks` takes it."""
        return {"computation": self.computation, "instruction": self.instruction}

    @property
    def part(self) -> Json | None:
        """The summary of the part that is looked at, in the partition that is looked at where that is known."""
        found = self.summary
        for position in self.element:
            parts = found.get("tuple") if found is not None else None
            if not isinstance(parts, list) or position >= len(parts):
                return None
            found = parts[position]
        return found

    def request(self, width: int) -> dict[str, Any] | None:
        """What to ask for next; None where there is nothing to be seen of it, or no part has been chosen."""
        part = self.part
        if part is None or "tuple" in part or "unknown" in part or "count" not in part:
            return None
        columns = max(8, width - 4)
        return {
            "what": "overview", "value": self.value, "element": list(self.element), "slice": self.slice,
            "start": list(self.start), "partition": self.partition, "rows": _HEAT_ROWS, "columns": columns,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Part:
    """A row that leads into a tuple."""

    element: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Iteration:
    """A row that leads to an iteration."""

    number: int


@dataclass(frozen=True, slots=True)
class Origin:
    """A row that leads to an instruction that an element comes from."""

    computation: str
    instruction: str
    place: int


def build(look: Closely, width: int) -> list[Row]:
    """All rows of the value screen."""
    element = "".join(f" element {position}" for position in look.element)
    title = [Span(f" %{visible(look.instruction)}", "title"), Span(f"{element}  {look.where}", "muted")]
    rows = [row(*title)]
    part = look.part
    if part is None:
        if look.problem:
            return rows + wrap(visible(look.problem), width, "missing", " ")
        return [*rows, row(Span(" being computed", "busy"))]
    shown = (look.overview or {}).get("summary") or part
    rows.append(row(" ", *summary_spans(shown)))
    rows += supplied_rows({"supplied": look.given})
    rows += _partitions(look, part)
    if "unknown" in part:
        return rows + wrap(str(part["unknown"]), width, "missing", " ")
    if "tuple" in part:
        return rows + list(_parts(look, part["tuple"]))
    if look.trace is not None:
        rows += _trace(look.trace)
    if look.compared is not None:
        rows += _compared(look, look.compared)
    if look.iterations is not None:
        rows += _iterations(look.iterations, width)
    if look.overview is None:
        return [*rows, row(Span(" being looked at", "busy"))] if "count" in part else rows
    return rows + list(_overview(look, look.overview, width))


def _partitions(look: Closely, part: Json) -> Iterator[Row]:
    if look.partition is None:
        return
    words = partition_words(part, look.devices)
    yield row(
        Span(f" partition {look.partition}; ", "muted"),
        Span(words),
        Span("  p", "key"),
        Span(" shows the next", "muted"),
    )


_LISTED = 100


def _iterations(found: Json, width: int) -> Iterator[Row]:
    rows = found.get("rows") or []
    yield row()
    more = f", {len(rows):,} of them are shown" if len(rows) < found.get("length", 0) else ""
    yield row(Span(f" in {found.get('length', 0):,} iterations{more}; enter goes to one", "heading"))
    for name in ("max", "min", "mean"):
        values = [_height(one["value"], name) for one in rows]
        known = [value for value in values if value is not None]
        if known:
            step = max(1, math.ceil(len(values) / max(8, width - 30)))
            yield row(
                Span(f" {name:<5}", "muted"), Span(spark(values[::step], width), "spark"),
                Span(f"  {number(known[0])} → {number(known[-1])}", "result"),
            )  # fmt: skip
    bad = next((one for one in rows if one["value"].get("nan") or one["value"].get("inf")), None)
    shown = list(rows[:_LISTED])
    if bad is not None:
        yield row(Span(f" not finite from iteration {bad['iteration']:,} on, first", "nan"))
        at = rows.index(bad)
        shown = list(rows[max(0, at - 2) : at + _LISTED])
    for one in shown:
        yield row(
            Span(f" {one['iteration']:>7,}  ", "count"),
            *summary_spans(one["value"]),
            key=Iteration(one["iteration"]),
        )
    if len(shown) < len(rows):
        yield row(Span(f"   {len(rows) - len(shown):,} more: ( and ) in the code go to any", "muted"))


def _height(summary: Json, name: str) -> float | None:
    """A statistic for a curve: at the top where all is infinite, None where there is no number at all."""
    value = summary.get(name)
    if isinstance(value, int | float):
        return float(value)
    return math.inf if summary.get("inf") and not summary.get("nan") else None


def _parts(look: Closely, parts: Sequence[Json]) -> Iterator[Row]:
    yield row()
    yield row(Span(" parts; enter looks at one", "heading"))
    for position, part in enumerate(parts):
        yield row(
            Span(f" {position:>4}  ", "count"), *summary_spans(part), key=Part((*look.element, position))
        )


def _overview(look: Closely, found: Json, width: int) -> Iterator[Row]:
    worst, distinct = found.get("worst"), found.get("distinct")
    if worst:
        kind = str(worst.get("kind"))
        role = "result" if kind == "largest" else "nan"
        words = f" {_KINDS.get(kind, kind)} {_index(worst['index'])}: "
        yield row(Span(words, "muted"), Span(number(worst["value"]), role))
    if distinct:
        yield row(Span(" all its values: ", "muted"), Span(" ".join(number(value) for value in distinct)))
    if look.outside is not None and look.limits is not None:
        yield _outside(look.outside, look.limits)
    yield from _histogram(found.get("histogram") or {})
    yield from _heat(found.get("heat") or {})
    yield from _table(look, found.get("table") or {}, worst, width)


def _outside(found: Json, limits: tuple[float, float]) -> Row:
    low, high = map(number, limits)
    count = found["count"]
    spans = [
        Span(f" out of {low} to {high}, marked *: ", "muted"),
        Span(f"{count:,}", "modified" if count else "good"),
    ]
    for one in found["elements"][:_LISTED_OUTSIDE]:
        spans += [Span(f"   {_index(one['index'])} ", "muted"), Span(number(one["value"]), "result")]
    return row(*spans)


_LISTED_OUTSIDE = 8


def _histogram(found: Json) -> Iterator[Row]:
    counts = found.get("counts") or []
    if not counts or found["low"] == found["high"]:
        return
    most = max(counts) or 1
    # A bin that holds anything is seen.
    signs = "".join(
        " " if not n else BARS[min(len(BARS) - 1, math.ceil(n / most * len(BARS)) - 1)] for n in counts
    )
    yield row(
        Span(" histogram  ", "muted"), Span(number(found["low"]), "result"), Span(f" {signs} ", "spark"),
        Span(number(found["high"]), "result"),
    )  # fmt: skip


def _heat(found: Json) -> Iterator[Row]:
    magnitudes, marks = found.get("magnitudes") or [], found.get("marks") or []
    known = [value for line in magnitudes for value in line if value]
    if not magnitudes or len(magnitudes[0]) < 2:
        return
    low, high = (math.log(min(known)), math.log(max(known))) if known else (0.0, 0.0)
    down, across = found["block"]
    size = "" if (down, across) == (1, 1) else f", a cell is {down} × {across} elements"
    yield row()
    yield row(Span(f" size of the elements, logarithmic{size}; N is NaN, I infinity", "heading"))
    for line, marked in zip(magnitudes, marks, strict=True):
        spans = [Span("  ")]
        for value, mark in zip(line, marked, strict=True):
            if mark:
                spans.append(Span("N" if mark == 2 else "I", "nan"))
            else:
                spans.append(Span(_shade(value, low, high), "spark"))
        yield row(*spans)


def _shade(value: float | None, low: float, high: float) -> str:
    if not value:
        return SHADES[0]
    if high <= low:
        return SHADES[-1]
    return SHADES[1 + round((math.log(value) - low) / (high - low) * (len(SHADES) - 2))]


def _table(look: Closely, found: Json, worst: Json | None, width: int) -> Iterator[Row]:
    rows = found.get("rows") or []
    if not rows:
        return
    origin, steps = found.get("origin") or [], found.get("steps") or []
    column, line = found.get("column"), found.get("row")
    first, step = (origin[column], steps[column]) if column is not None else (0, 1)
    above, down = (origin[line], steps[line]) if line is not None else (0, 1)
    fixed = _fixed(origin, line, column)
    slice_words = f", {look.slice}" if look.slice else ""
    yield row()
    words = f" elements{fixed}{slice_words}; left and right, < and >: other columns"
    size = found.get("shape") or [0]
    scrolls = size[-1] > columns_in(width) if size else False
    yield row(
        Span(words if scrolls else f" elements{fixed}{slice_words}", "heading"),
        right=[Span(_cut(found), "count")],
    )
    columns = min(len(rows[0]), columns_in(width))
    beyond = (found.get("cut") or [0, 0])[1] > 0
    heads = "".join(f"{first + step * at:>{_CELL}}" for at in range(columns))
    sides = f" {MORE}" if (found.get("start") or [0, 0])[1] else ""
    yield row(Span(f"{sides:<7}{heads}", "line_number"))
    marked = _marked(worst, fixed, line, column)
    for place, numbers in enumerate(rows):
        spans = [Span(f"{above + down * place if line is not None else '':>7}", "line_number")]
        for at, value in enumerate(numbers[:columns]):
            text = number(value)
            here = marked == (above + down * place if line is not None else None, first + step * at)
            out = _is_out(value, look.limits)
            role = "nan" if isinstance(value, str) else "modified" if out else "result"
            spans.append(Span(f"{text + ('*' if out else '') + ('‹' if here else ''):>{_CELL}}", role))
        more = [Span(f" {MORE}", "muted")] if len(numbers) > columns or beyond else []
        yield row(*spans, *more)


def _is_out(value: object, limits: tuple[float, float] | None) -> bool:
    if limits is None:
        return False
    return not (isinstance(value, int | float) and limits[0] <= value <= limits[1])


def columns_in(width: int) -> int:
    """How many columns of a table there is room for."""
    return max(1, (width - 8) // _CELL)


def _fixed(origin: Sequence[int], line: int | None, column: int | None) -> str:
    """Where the other dimensions are held, for a table of more than two."""
    others = [f"dimension {d} at {at}" for d, at in enumerate(origin) if d not in (line, column)]
    return f", {', '.join(others)}" if others else ""


def _marked(
    worst: Json | None, fixed: str, line: int | None, column: int | None
) -> tuple[int | None, int] | None:
    index = worst["index"] if worst else None
    if index is None or column is None or fixed:
        return None
    return (index[line] if line is not None else None), index[column]


def _cut(found: Json) -> str:
    cut = found.get("cut") or [0, 0]
    words = [f"{n:,} {name} more" for n, name in zip(cut, ("rows", "columns"), strict=True) if n]
    return ", ".join(words)


def _index(index: Sequence[int]) -> str:
    return f"[{', '.join(map(str, index))}]"


def _trace(found: Json) -> Iterator[Row]:
    yield row()
    yield row(Span(" where it comes from; enter goes there", "heading"))
    for place, step in enumerate(found.get("places") or []):
        source = visible(str(step.get("source", "")).rsplit("/", 1)[-1])
        iterations = [one["iteration"] for one in step["path"] if one.get("iteration") is not None]
        when = f"  iteration {iterations[-1]}" if iterations else ""
        yield row(
            Span(f" {place:>3}  "), Span(f"%{visible(step['instruction'])}", "definition"),
            Span(f" {_index(step['index'])} ", "muted"), Span(number(step["value"]), "result"),
            Span(f"  {visible(step['opcode'])}{when}", "muted"), right=[Span(source, "place")],
            key=Origin(step["computation"], step["instruction"], place),
        )  # fmt: skip
    if not found.get("complete", True):
        yield row(Span(f" {MORE} and further back", "muted"))


def _compared(look: Closely, found: Json) -> Iterator[Row]:
    yield row()
    yield row(Span(f" compared with {look.against}", "heading"))
    if found.get("exact"):
        yield row(Span(" equal, bit for bit", "good"))
        return
    within = bool(found.get("within"))
    yield row(
        Span(" within tolerance" if within else " differs", "good" if within else "bad"),
        Span(
            f"  largest finite difference {number(found.get('max_abs'))}, relative {number(found.get('max_rel'))}"
        ),
        Span(
            f", beyond {number(found.get('tolerance'))}: {number(found.get('mismatches'))} elements", "muted"
        ),
    )
    yield from _buckets(found)
    if found.get("nan_mismatches"):
        yield row(Span(f" NaN on one side only: {number(found['nan_mismatches'])} elements", "nan"))
    for place in found.get("worst") or []:
        yield row(
            Span(f"   {_index(place['index'])} ", "muted"), Span(number(place["a"]), "result"),
            Span(" here, there ", "muted"), Span(number(place["b"]), "result"),
        )  # fmt: skip


def _buckets(found: Json) -> Iterator[Row]:
    """How many elements have errors of which size."""
    edges, buckets = found.get("edges") or [], found.get("buckets") or {}
    for name, counts in buckets.items():
        parts = [
            f"{number(float(edge))}: {count:,}" for edge, count in zip(edges, counts, strict=False) if count
        ]
        words = {"abs": "absolute errors from", "rel": "relative errors from"}.get(name, name)
        yield row(Span(f"   {words} ", "muted"), Span("   ".join(parts)))
