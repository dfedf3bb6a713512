"""Which lines of a text are folded away, and so which line is on which row."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate


class Folds:
    """Rows of a text with some ranges of lines hidden. Both are counted from 0."""

    def __init__(self, lines: int, hidden: Iterable[tuple[int, int]] = ()) -> None:
        """`hidden` are first and last lines; ranges that overlap count once."""
        merged: list[tuple[int, int]] = []
        for first, last in sorted(hidden):
            if first > last:
                continue
            if merged and first <= merged[-1][1] + 1:
                merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
            else:
                merged.append((first, last))
        self.lines = lines
        self._firsts = [first for first, _ in merged]
        self._lasts = [last for _, last in merged]
        sizes = [last - first + 1 for first, last in merged]
        self._hidden = [0, *accumulate(sizes)]
        # The row on which the line behind a range is.
        self._rows = [first - before for first, before in zip(self._firsts, self._hidden, strict=False)]

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return max(0, self.lines - self._hidden[-1])

    def line_of(self, row: int) -> int:
        """The line on a row."""
        return row + self._hidden[bisect_right(self._rows, row)]

    def row_of(self, line: int) -> int:
        """The row of a line; that of the line before the range for a hidden one."""
        at = bisect_right(self._firsts, line) - 1
        if at >= 0 and line <= self._lasts[at]:
            return max(0, self._rows[at] - 1)
        return line - self._hidden[at + 1]

    def hides(self, line: int) -> bool:
        """Whether a line is hidden."""
        at = bisect_right(self._firsts, line) - 1
        return at >= 0 and line <= self._lasts[at]
