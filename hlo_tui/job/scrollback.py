"""What a program writes on its terminal, as lines: enough of a terminal for logs and progress bars."""

from __future__ import annotations

import codecs
import re
from collections import deque

# Lines that are kept, and characters of each.
LINES, WIDTH = 5000, 2000
_TAB = 8
_ESCAPE = "\x1b"
# Rows that one movement may add below the last one.
_BELOW = 50
# An escape sequence that does not end within so many characters is none.
_LONGEST = 512
_TOKEN = re.compile(
    r"\x1b\[([0-?]*)[ -/]*([@-~])"  # control sequences: parameters and what to do
    r"|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)"  # titles, links
    r"|\x1b[PX^_][^\x1b]*\x1b\\"
    r"|\x1b[ -/]*[0-OQ-WYZ`-~\\]"
    r"|[\r\n\b\t]"
    r"|([^\x00-\x1f\x7f-\x9f]+)"
    r"|[\x00-\x1f\x7f-\x9f]",
    re.DOTALL,
)


class Scrollback:
    """The last lines of a terminal. Bytes in, in pieces of any size; lines without control characters out."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._waiting = ""
        self._lines: deque[str] = deque([""], maxlen=LINES)
        self._up = 0
        self._column = 0

    @property
    def lines(self) -> list[str]:
        """All lines, the oldest first; the last one is being written to, or empty."""
        return list(self._lines)

    def tail(self, count: int) -> list[str]:
        """The last lines, without an empty one at the end."""
        start = len(self._lines) - count - 1
        last = [self._lines[at] for at in range(max(0, start), len(self._lines))]
        return last[:-1][-count:] if last and not last[-1] else last[-count:] if count else []

    def feed(self, data: bytes) -> None:
        """Take what was written."""
        text = self._waiting + self._decoder.decode(data)
        self._waiting = ""
        for found in _TOKEN.finditer(text):
            if found[0] == _ESCAPE and len(text) - found.start() <= _LONGEST:
                # A sequence whose end is still to come.
                self._waiting = text[found.start() :]
                return
            if found[3]:
                self._put(found[3])
            elif found[2]:
                self._control(found[2], found[1])
            else:
                self._move(found[0])

    def _put(self, text: str) -> None:
        room = WIDTH - self._column
        text = text[: max(0, room)]
        if not text:
            return
        at = len(self._lines) - 1 - self._up
        line = self._lines[at]
        self._lines[at] = line[: self._column].ljust(self._column) + text + line[self._column + len(text) :]
        self._column += len(text)

    def _move(self, character: str) -> None:
        if character == "\n":
            self._column = 0
            if self._up:
                self._up -= 1
            else:
                self._lines.append("")
        elif character == "\r":
            self._column = 0
        elif character == "\b":
            self._column = max(0, self._column - 1)
        elif character == "\t":
            self._column = min(WIDTH, self._column + _TAB - self._column % _TAB)

    def _control(self, what: str, parameters: str) -> None:
        first = parameters.split(";")[0]
        count = int(first) if first.isascii() and first.isdigit() and len(first) < 6 else 0
        at = len(self._lines) - 1 - self._up
        if what == "K":
            line = self._lines[at]
            # What is erased up to the cursor includes the place that it is on.
            after = self._column + 1
            self._lines[at] = {0: line[: self._column], 1: " " * after + line[after:]}.get(count, "")
        elif what == "J" and count == 0:
            for below in range(at + 1, len(self._lines)):
                self._lines[below] = ""
            self._lines[at] = self._lines[at][: self._column]
        elif what in "AF":
            self._up = min(len(self._lines) - 1, self._up + max(1, count))
            self._column = 0 if what == "F" else self._column
        elif what in "BE":
            below = max(1, count) - self._up
            self._up = max(0, -below)
            self._lines.extend([""] * min(_BELOW, below))
            self._column = 0 if what == "E" else self._column
        elif what == "G":
            self._column = min(WIDTH, max(0, count - 1))
        elif what == "C":
            self._column = min(WIDTH, self._column + max(1, count))
        elif what == "D":
            self._column = max(0, self._column - max(1, count))
