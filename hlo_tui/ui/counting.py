"""How many lines match what was searched for, and which of them a line is."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass

from hlo_tui.hlo.matching import matching_lines
from hlo_tui.hlo.module import Module

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
    for line in matching_lines(module, pattern, stop):
        found.append(line)
        if len(found) >= MOST:
            break
    return Matches(number, pattern, found, complete=len(found) < MOST and not stop())
