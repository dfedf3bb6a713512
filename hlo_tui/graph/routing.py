"""Lines between the layers of a layout: down from a box, across on a track of its own, down to the next box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hlo_tui.graph.layout import Box, Layout

# Rows that a box takes, and rows of a gap in which nothing has to go across.
_BOX_ROWS = 1
_LEAST = 1


@dataclass(frozen=True, slots=True)
class Line:
    """A line from a box to one in the next layer.

    Attributes:
        start, end: columns at the upper and at the lower box.
        track: the row, counted in the gap from 0, on which it goes across.
        source, target: the boxes.
    """

    start: int
    end: int
    track: int
    source: Box
    target: Box


@dataclass(frozen=True, slots=True)
class Routed:
    """A layout with its lines.

    Attributes:
        layout: the boxes.
        lines: for each gap between two layers.
        rows: for each layer the row on which its boxes stand.
        height: rows of all of it.
    """

    layout: Layout
    lines: tuple[tuple[Line, ...], ...]
    rows: tuple[int, ...]
    height: int


def route(layout: Layout) -> Routed:
    """Lead the edges of a layout."""
    rows, lines = [0], []
    for layer in layout.layers[:-1]:
        found, tracks = _gap(layer)
        lines.append(tuple(found))
        rows.append(rows[-1] + _BOX_ROWS + max(_LEAST, tracks))
    return Routed(layout, tuple(lines), tuple(rows), rows[-1] + _BOX_ROWS)


def _gap(layer: Sequence[Box]) -> tuple[list[Line], int]:
    """The lines below a layer, and how many tracks they need."""
    pairs = [(source, target) for source in layer for target in source.below]
    starts = {id(source): _start(source) for source in layer}
    taken = {column: box for box in layer for column in (starts[id(box)],) if box.below}
    ends = _ends(pairs, starts, taken)
    spans: dict[int, tuple[int, int]] = {}
    for number, (source, _) in enumerate(pairs):
        start, end = starts[id(source)], ends[number]
        if start != end:
            low, high = spans.get(id(source), (start, start))
            spans[id(source)] = (min(low, end), max(high, end))
    tracks = _tracks(spans, starts)
    found = [
        Line(starts[id(source)], ends[number], tracks.get(id(source), 0), source, target)
        for number, (source, target) in enumerate(pairs)
    ]
    return found, 1 + max(tracks.values()) if tracks else 0


def _start(box: Box) -> int:
    return box.middle


def _ends(pairs: Sequence[tuple[Box, Box]], starts: dict[int, int], taken: dict[int, Box]) -> list[int]:
    """Where each line comes in: straight below where it begins, else at a column of its own."""
    ends = [0] * len(pairs)
    by_target: dict[int, list[int]] = {}
    for number, (_, target) in enumerate(pairs):
        by_target.setdefault(id(target), []).append(number)
    for numbers in by_target.values():
        target = pairs[numbers[0]][1]
        numbers.sort(key=lambda number: starts[id(pairs[number][0])])
        used: set[int] = set()
        for order, number in enumerate(numbers):
            source = pairs[number][0]
            start = starts[id(source)]
            ideal = target.left + (2 * order + 1) * target.width // (2 * len(numbers))
            inside = target.left <= start < target.left + target.width and len(numbers) <= target.width
            wanted = start if inside and start not in used and taken.get(start) is source else ideal
            ends[number] = _free(wanted, target, used, taken, source)
            used.add(ends[number])
    return ends


def _free(wanted: int, target: Box, used: set[int], taken: dict[int, Box], source: Box) -> int:
    """The nearest column of a box that no other line has: two of them in one column would look like one."""
    columns = range(target.left, target.left + target.width)
    free = [c for c in columns if c not in used and taken.get(c, source) is source]
    free = free or [c for c in columns if c not in used] or list(columns)
    return min(free, key=lambda column: (abs(column - wanted), column))


def _tracks(spans: dict[int, tuple[int, int]], starts: dict[int, int]) -> dict[int, int]:
    """A row for the lines of each box that go across: none of them touch on one row.

    Those that lead to the right are put lower the further left they begin, and the other way round, so that lines
    side by side need not cross.
    """
    rightwards = {key for key, (low, high) in spans.items() if high - starts[key] >= starts[key] - low}
    order = sorted(
        spans, key=lambda key: (key not in rightwards, -starts[key] if key in rightwards else starts[key])
    )
    rows: list[list[tuple[int, int]]] = []
    tracks: dict[int, int] = {}
    for key in order:
        low, high = spans[key]
        row = next(
            (
                number
                for number, taken in enumerate(rows)
                if all(high < begin or end < low for begin, end in taken)
            ),
            len(rows),
        )
        if row == len(rows):
            rows.append([])
        rows[row].append((low, high))
        tracks[key] = row
    return tracks
