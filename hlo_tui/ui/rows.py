"""Rows of a list as plain values: what stands in them, in which role, and what a row is about."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len, chop_cells, set_cell_size

from hlo_tui.ui.glyphs import MORE


class Span(NamedTuple):
    """Some text in one role of the theme."""

    text: str
    role: str = "text"


@dataclass(frozen=True, slots=True)
class Row:
    """One row.

    Attributes:
        spans: from the left.
        right: at the right edge, where there is room for it.
        key: what the row is about; the same for as long as that is there. Rows without one cannot be chosen.
    """

    spans: tuple[Span, ...] = ()
    right: tuple[Span, ...] = ()
    key: Hashable = None


def row(*spans: Span | str, right: Iterable[Span] = (), key: Hashable = None) -> Row:
    """A row of spans; plain text is in the role "text"."""
    return Row(tuple(Span(part) if isinstance(part, str) else part for part in spans), tuple(right), key)


def width_of(spans: Iterable[Span]) -> int:
    """Columns that the spans take."""
    return sum(cell_len(span.text) for span in spans)


def fit(line: Row, width: int) -> list[Span]:
    """The row's spans in exactly `width` columns: cut with a mark, or filled up; the right part last."""
    room = width
    right = list(line.right)
    if right:
        taken = width_of(right)
        room = width - taken - 1
        if room < min(width_of(line.spans), width // 2):
            room, right = width, []
    left, used = _cut(line.spans, room)
    fill = width - used - width_of(right)
    if fill > 0:
        left.append(Span(" " * fill))
    return left + right


def _cut(spans: Iterable[Span], room: int) -> tuple[list[Span], int]:
    taken: list[Span] = []
    used = 0
    for span in spans:
        size = cell_len(span.text)
        if used + size > room:
            rest = room - used - 1
            if rest >= 0:
                taken.append(Span(set_cell_size(span.text, rest) + MORE, span.role))
                used = room
            return taken, used
        taken.append(span)
        used += size
    return taken, used


def wrap(text: str, width: int, role: str = "text", indent: str = "") -> list[Row]:
    """Text in as many rows as it needs: broken at blanks where there are some, else anywhere."""
    rows: list[Row] = []
    room = max(8, width - len(indent))
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= room:
            line = joined
            continue
        if line:
            rows.append(row(indent, Span(line, role)))
        *full, line = chop_cells(word, room) or [""]
        rows += [row(indent, Span(part, role)) for part in full]
    rows.append(row(indent, Span(line, role)))
    return rows
