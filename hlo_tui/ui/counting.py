"""How many lines match what was searched for, and which of them a line is."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from hlo_tui.hlo.module import Module

_BLOCK = 1 << 18
# Lines that are counted; where there are more, that is said.
MOST = 1_000_000


@dataclass(frozen=True, slots=True)
class Matches:
    """The lines of one file that match a pattern.

    Attributes:
        number: of the file.
        pattern: what was searched for.
        lines: their numbers, from 0, in order.
        complete: whether all of the file has been looked through.
    """

    number: int
    pattern: re.Pattern[bytes]
    lines: array[int]
    complete: bool = True

    def words(self, line: int) -> str:
        """The place of a line among them, such as "3/17"; empty where it is none of them."""
        at = bisect_left(self.lines, line)
        if at == len(self.lines) or self.lines[at] != line:
            return ""
        more = "" if self.complete else "+"
        return f"{at + 1:,}/{len(self.lines):,}{more}"


def count(module: Module, pattern: re.Pattern[bytes], number: int, stop: Callable[[], bool]) -> Matches:
    """Count the lines of a scanned module that match, in time linear in its bytes."""
    found = array("I")
    lines = module.lines
    if lines is None or not lines.count:
        return Matches(number, pattern, found)
    matcher = re.compile(pattern.pattern, pattern.flags | re.MULTILINE)
    for first, last in lines.blocks(0, lines.count - 1, _BLOCK):
        if stop() or len(found) >= MOST:
            return Matches(number, pattern, found, complete=False)
        base = lines.start(first)
        for match in matcher.finditer(module.source.read(base, lines.span(last)[1] - base)):
            line = lines.line_at(base + match.start())
            if not found or found[-1] != line:
                found.append(line)
    return Matches(number, pattern, found)
