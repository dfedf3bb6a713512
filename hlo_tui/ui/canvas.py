"""What the terminal shows by now, cell by cell, so that only what differs has to be sent.

A frame is what Textual draws: moves of the cursor, styles and text. It comes in whole; what goes out has the
same effect in a fraction of the bytes, which is what a slow link needs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from rich.cells import get_character_cell_size

_PART = re.compile(r"\x1b\[(\d*)(?:;(\d*))?H|\x1b\[([\d;]*)m|([^\x1b]+)")
_NOT_PLAIN = re.compile(r"[^\x20-\x7e]")
# Unchanged cells that are cheaper written again than jumped over.
_GAP = 5
_COLOR_LENGTH = {"5": 3, "2": 5}
# Attributes that can be seen on a blank: underline, reverse, strike, overline.
_SEEN = frozenset(("4", "21", "7", "9", "53"))


class Sgr(NamedTuple):
    """A style as the terminal is told of it: attributes, and the codes of the two colours."""

    attributes: frozenset[str] = frozenset()
    color: str = ""
    ground: str = ""


PLAIN = Sgr()
# What a cell holds that is covered by the wide character before it.
_BEHIND = "\0"


@lru_cache(4096)
def parse(codes: str) -> Sgr:
    """Read the codes of a style that begins from nothing."""
    parts = codes.split(";")
    attributes: set[str] = set()
    color = ground = ""
    at = 0
    while at < len(parts):
        code = parts[at]
        length = 1
        if code in ("38", "48") and at + 1 < len(parts):
            length = _COLOR_LENGTH.get(parts[at + 1], 1)
        whole = ";".join(parts[at : at + length])
        at += length
        if code in ("", "0"):
            attributes.clear()
            color = ground = ""
        elif code == "48" or (code[:-1] in ("4", "10") and len(code) > 1):
            ground = "" if code == "49" else whole
        elif code == "38" or (code[:-1] in ("3", "9") and len(code) > 1):
            color = "" if code == "39" else whole
        else:
            attributes.add(whole)
    return Sgr(frozenset(attributes), color, ground)


@lru_cache(16384)
def change(old: Sgr, new: Sgr) -> str:
    """The shortest sequence that turns one style into another."""
    if old == new:
        return ""
    whole = [*sorted(new.attributes), *(part for part in (new.color, new.ground) if part)]
    if not old.attributes <= new.attributes:
        return f"\x1b[{';'.join(['0', *whole])}m" if whole else "\x1b[m"
    parts = sorted(new.attributes - old.attributes)
    if old.color != new.color:
        parts.append(new.color or "39")
    if old.ground != new.ground:
        parts.append(new.ground or "49")
    return f"\x1b[{';'.join(parts)}m" if whole else "\x1b[m"


@lru_cache(4096)
def _blank(style: Sgr) -> Sgr:
    """What of a style can be seen on a blank."""
    seen = style.attributes & _SEEN
    return style if seen else Sgr(frozenset(), "", style.ground)


class _Row:
    """One row: its characters and their styles; a cell of which nothing is known holds an empty text."""

    __slots__ = ("even", "styles", "text")

    def __init__(self, width: int) -> None:
        self.text = [""] * width
        self.styles = [PLAIN] * width
        self.even = True


class Canvas:
    """The terminal's cells: as they are, and as a frame wants them."""

    def __init__(self) -> None:
        self._width = self._height = 0
        self._shown: list[_Row] = []
        self._wanted: list[_Row] = []
        self._cursor: tuple[int, int] | None = None

    def forget(self, width: int, height: int) -> None:
        """Nothing is known of the terminal, or it has another size."""
        self._width, self._height = width, height
        self._shown = [_Row(width) for _ in range(height)]
        self._wanted = [_Row(width) for _ in range(height)]
        self._cursor = None

    def fits(self, width: int, height: int) -> bool:
        """Whether this is the size that is known."""
        return (self._width, self._height) == (width, height)

    def draw(self, frame: str) -> str | None:
        """Take a frame in.

        Returns:
            What to send instead; None where it is no frame, so that it has to be sent as it is.
        """
        touched: dict[int, tuple[int, int]] = {}
        x = y = end = 0
        style = PLAIN
        for match in _PART.finditer(frame):
            if match.start() != end:
                return None
            end = match.end()
            if match.lastindex == 4:
                for line, text in enumerate(match[4].split("\n")):
                    if line:
                        y += 1
                    if text:
                        start, x = x, self._put(x, y, text, style)
                        low, high = touched.get(y, (start, x))
                        touched[y] = min(low, start), max(high, x)
            elif match.lastindex == 3:
                style = parse(match[3])
            else:
                y, x = int(match[1] or 1) - 1, int(match[2] or 1) - 1
        if end != len(frame):
            return None
        return self._send(touched, (x, y))

    def _put(self, x: int, y: int, text: str, style: Sgr) -> int:
        """Put a text into the wanted cells; gives the column behind it."""
        if not 0 <= y < self._height:
            return x + len(text)
        row = self._wanted[y]
        if _NOT_PLAIN.search(text):
            cells: list[str] = []
            for character in text:
                size = get_character_cell_size(character)
                if size == 1:
                    cells.append(character)
                else:
                    row.even = False
                    if size:
                        cells += [character, _BEHIND]
                    elif cells:
                        cells[-1] += character
        else:
            cells = list(text)
        cells = cells[: max(0, self._width - x)]
        end = x + len(cells)
        # Half of a wide character is no character.
        if x and row.text[x : x + 1] == [_BEHIND]:
            row.text[x - 1] = " "
        if row.text[end : end + 1] == [_BEHIND]:
            row.text[end] = " "
        row.text[x:end] = cells
        row.styles[x:end] = [style] * len(cells)
        return x + len(cells)

    def _send(self, touched: dict[int, tuple[int, int]], cursor: tuple[int, int]) -> str:
        out: list[str] = []
        style = PLAIN
        for y in sorted(touched):
            if 0 <= y < self._height:
                style = self._send_row(y, *touched[y], style, out)
        if not out and cursor == self._cursor:
            return ""
        self._cursor = cursor
        out += [change(style, PLAIN), f"\x1b[{cursor[1] + 1};{cursor[0] + 1}H"]
        return "".join(out)

    def _send_row(self, y: int, low: int, high: int, style: Sgr, out: list[str]) -> Sgr:
        shown, wanted = self._shown[y], self._wanted[y]
        if not (shown.even and wanted.even):
            # With characters wider than a cell, columns do not tell where they stand: the whole row.
            changed: Iterator[int] = iter(range(self._width))
            wanted.even = all(len(cell) == 1 and cell != _BEHIND for cell in wanted.text)
        else:
            changed = _differences(shown, wanted, low, min(high, self._width))
        at = -1
        for x in changed:
            if at != x:
                gap = range(at, x)
                if 0 <= at < x <= at + _GAP and all(_as_it_is(wanted, cell, style) for cell in gap):
                    out += wanted.text[at:x]
                else:
                    out.append(f"\x1b[{y + 1};{x + 1}H")
            at = x + 1
            character = wanted.text[x] or " "
            if character == _BEHIND:
                continue
            if not _as_it_is(wanted, x, style):
                own = wanted.styles[x]
                out.append(change(style, own))
                style = own
            out.append(character)
        shown.text[:], shown.styles[:], shown.even = wanted.text, wanted.styles, wanted.even
        return style


def _as_it_is(row: _Row, x: int, style: Sgr) -> bool:
    """Whether a cell looks right when it is written in a style."""
    own, text = row.styles[x], row.text[x]
    return bool(text) and (own is style or (text == " " and _blank(own) == _blank(style)))


def _differences(shown: _Row, wanted: _Row, low: int, high: int) -> Iterator[int]:
    old_text, new_text = shown.text, wanted.text
    old_styles, new_styles = shown.styles, wanted.styles
    if old_text[low:high] == new_text[low:high] and old_styles[low:high] == new_styles[low:high]:
        return
    for x in range(low, high):
        if old_text[x] != new_text[x] or (
            old_styles[x] != new_styles[x]
            and (new_text[x] != " " or _blank(old_styles[x]) != _blank(new_styles[x]))
        ):
            yield x
