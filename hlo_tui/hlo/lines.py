"""Where the lines of a source begin, eight bytes a line."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator


class LineIndex:
    """Line starts in bytes. Lines are counted from 0 here and shown from 1.

    Attributes:
        longest: bytes of the longest line, without its newline.
    """

    def __init__(self) -> None:
        self._starts = array("Q")
        self._end = 0
        self._last_newline = 0
        self.longest = 0

    @property
    def count(self) -> int:
        """How many lines there are; a newline at the very end begins no further line."""
        return len(self._starts)

    def start(self, line: int) -> int:
        """The offset at which `line` begins. Raises IndexError for a line that is not there."""
        if not 0 <= line < len(self._starts):
            raise IndexError(line)
        return self._starts[line]

    def span(self, line: int) -> tuple[int, int]:
        """Offsets of the first byte of `line` and of its newline (or of the end). Raises IndexError."""
        start = self.start(line)
        if line + 1 < len(self._starts):
            return start, self._starts[line + 1] - 1
        return start, self._end - self._last_newline

    def line_at(self, offset: int) -> int:
        """The line that holds the byte at `offset`, the nearest for one outside; -1 without lines."""
        if not self._starts:
            return -1
        return max(0, bisect_right(self._starts, offset) - 1)

    def blocks(self, first: int, last: int, size: int) -> Iterator[tuple[int, int]]:
        """Pairs of first and last lines of pieces of up to `size` bytes; a longer line is a piece alone."""
        while first <= last < self.count and first >= 0:
            end = self._starts[first] + size
            end = last if end >= self._end else min(last, max(first, self.line_at(end) - 1))
            yield first, end
            first = end + 1

    def blocks_back(self, first: int, size: int) -> Iterator[tuple[int, int]]:
        """The same from line `first` back to the first line; in each pair the lower line is first."""
        while 0 <= first < self.count:
            end = self.span(first)[1]
            low = 0 if end <= size else min(first, self.line_at(end - size) + 1)
            yield low, first
            first = low - 1

    def extend(self, starts: array[int], longest: int, end: int, ends_in_newline: bool) -> None:
        """Take further lines: their `starts`, bytes of the `longest`, and the offset where the last ends."""
        self._starts.extend(starts)
        self.longest = max(self.longest, longest)
        self._end = end
        self._last_newline = int(ends_in_newline)
