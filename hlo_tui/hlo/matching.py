"""The lines of a module's text that match a pattern, one block after the other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from hlo_tui.hlo.module import Module

_BLOCK = 1 << 18


def matching_lines(
    module: Module, pattern: re.Pattern[bytes], stop: Callable[[], bool] = lambda: False
) -> Iterator[int]:
    """The numbers (from 0) of the lines of a scanned module in which a pattern is found, in order, each once.

    `^` and `$` are the ends of a line. `stop` is asked every 256 KiB; where it says so, no more lines come.
    """
    found = -1
    for line, _ in matches(module, pattern, stop):
        if line != found:
            found = line
            yield line


def matches(
    module: Module, pattern: re.Pattern[bytes], stop: Callable[[], bool] = lambda: False
) -> Iterator[tuple[int, re.Match[bytes]]]:
    """Every match of a pattern in the text of a scanned module, with the line on which it begins."""
    lines = module.lines
    if lines is None or not lines.count:
        return
    matcher = re.compile(pattern.pattern, pattern.flags | re.MULTILINE)
    for first, last in lines.blocks(0, lines.count - 1, _BLOCK):
        if stop():
            return
        base = lines.start(first)
        for match in matcher.finditer(module.source.read(base, lines.span(last)[1] - base)):
            yield lines.line_at(base + match.start()), match
