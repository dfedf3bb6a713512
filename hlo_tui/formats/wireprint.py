"""A proto of a type that is not known here, field by field: numbers for names, and what each value may be."""

from __future__ import annotations

import struct

from hlo_tui.formats.rendered import Rendered
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import visible
from hlo_tui.hlo.wire import varint

_MOST_BYTES, _MOST_ROWS, _DEEPEST = 16 << 20, 50_000, 24
_LONGEST_TEXT = 2000
_SIGNED = 1 << 63


def render(source: Source) -> Rendered:
    """The fields as text; whatever the bytes are, some text comes out."""
    data = source.read(0, min(source.size, _MOST_BYTES))
    printer = _Printer()
    whole = printer.message(data, 0, len(data), 0)
    facts = (
        [] if whole else ["what follows the last field shown is no proto: damaged, or still being written"]
    )
    if source.size > _MOST_BYTES:
        facts.append(f"only the first {_MOST_BYTES:,} bytes are shown")
    if printer.full:
        facts.append(f"only the first {_MOST_ROWS:,} fields are shown")
    note = "fields by number: the file does not say their names"
    return Rendered("\n".join(printer.rows).encode(), tuple(facts), note)


class _Printer:
    def __init__(self) -> None:
        self.rows: list[str] = []

    @property
    def full(self) -> bool:
        return len(self.rows) >= _MOST_ROWS

    def message(self, data: bytes, at: int, end: int, depth: int) -> bool:
        """Print the fields between two offsets; gives whether all of it was fields."""
        while at < end and not self.full:
            key, at = varint(data, at)
            number, wire = key >> 3, key & 7
            if not number or wire in (3, 4, 6, 7) or at > end:
                return False
            length = {1: 8, 5: 4}.get(wire, 0)
            if wire == 0:
                value, at = varint(data, at)
                self._row(depth, f"{number}: {value - 2 * _SIGNED if value >= _SIGNED else value}")
            elif wire == 2:
                length, at = varint(data, at)
                if at + length > end:
                    self._row(depth, f"{number}: cut off, {length:,} bytes were announced")
                    return False
                self._nested(data, at, at + length, number, depth)
            elif at + length > end:
                return False
            else:
                self._row(depth, f"{number}: {_fixed(data[at : at + length])}")
            at += length
        return True

    def _nested(self, data: bytes, at: int, end: int, number: int, depth: int) -> None:
        text = _text(data[at : min(end, at + _LONGEST_TEXT)])
        if text is not None:
            more = f"  # {end - at:,} bytes" if end - at > _LONGEST_TEXT else ""
            self._row(depth, f'{number}: "{text}"{more}')
        elif depth >= _DEEPEST:
            self._row(depth, f"{number}: {{ }}  # {end - at:,} bytes, deeper than is shown")
        elif at < end and _is_message(data, at, end):
            self._row(depth, f"{number} {{")
            self.message(data, at, end, depth + 1)
            self._row(depth, "}")
        else:
            self._row(depth, f"{number}: {data[at : min(end, at + 32)].hex(' ')}  # {end - at:,} bytes")

    def _row(self, depth: int, text: str) -> None:
        if not self.full:
            self.rows.append("  " * depth + text)


def _is_message(data: bytes, at: int, end: int) -> bool:
    """Whether bytes read as fields from the first to the last, without looking into them."""
    while at < end:
        key, at = varint(data, at)
        if not key >> 3 or key >> 3 > 1 << 18:
            return False
        wire = key & 7
        if wire == 0:
            _, at = varint(data, at)
        elif wire == 2:
            length, at = varint(data, at)
            at += length
        elif wire in (1, 5):
            at += 8 if wire == 1 else 4
        else:
            return False
    return at == end


def _text(data: bytes) -> str | None:
    """Bytes as text where that is what they are, with quotes escaped."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(data) - 3 or len(data) < _LONGEST_TEXT:
            return None
        text = data[: error.start].decode("utf-8")
    if any(ord(letter) < 32 and letter not in "\t\n\r" for letter in text):
        return None
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace("\t", "\\t")
    return visible(escaped.replace("\r", "\\r"))


def _fixed(data: bytes) -> str:
    if len(data) == 8:
        whole, real = struct.unpack("<qd", data * 2)
    else:
        whole, real = struct.unpack("<if", data * 2)
    return f"{whole}  # {real:.6g} as a float"
