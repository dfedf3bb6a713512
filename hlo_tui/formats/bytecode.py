"""What can be told of MLIR bytecode without MLIR: who wrote it, in which version, and the strings in it."""

from __future__ import annotations

from hlo_tui.dump.words import count_text, size_text
from hlo_tui.formats.rendered import Rendered, damaged
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import decode

_MAGIC = b"ML\xefR"
_STRINGS = 0
_ALIGNED = 0x80
_SECTIONS = (
    "strings", "dialects", "attributes and types", "their places", "code", "resources", "places of resources",
    "versions of dialects", "properties",
)  # fmt: skip
_MOST_BYTES, _MOST_STRINGS = 64 << 20, 100_000
_LONGEST = 1 << 12


def render(source: Source) -> Rendered:
    """Version, producer, sections and strings.

    Raises:
        HloTuiError: the head is cut off.
    """
    data = source.read(0, min(source.size, _MOST_BYTES))
    version, at = _number(data, len(_MAGIC))
    end = data.find(b"\0", at, at + _LONGEST)
    if not data.startswith(_MAGIC) or end < 0:
        raise damaged(source.name, "MLIR bytecode whose head is cut off")
    producer = decode(data[at:end])
    rows = ["# sections"]
    strings: list[str] = []
    at = end + 1
    whole = True
    while at < len(data):
        kind = data[at]
        size, start = _number(data, at + 1)
        if kind & _ALIGNED:
            alignment, start = _number(data, start)
            start += -start % alignment if 0 < alignment <= 1 << 16 else 0
        name = _SECTIONS[kind & 0x7F] if kind & 0x7F < len(_SECTIONS) else f"section {kind & 0x7F}"
        whole = start + size <= source.size
        rows.append(f"{size:>12,}  {name}" + ("" if whole else "  # cut off"))
        if kind & 0x7F == _STRINGS and not strings:
            strings = _strings(data[start : start + size])
        at = start + size
        if not whole:
            break
    rows += ["", "# strings", *strings]
    facts = [
        f"version {version} of the format, written by {producer}",
        f"{count_text(len(strings), 'string')} in {size_text(source.size)}",
    ]
    if not whole:
        facts.append("cut off: is it still being written?")
    return Rendered("\n".join(rows).encode(), tuple(facts), "strings and sections of MLIR bytecode")


def _strings(data: bytes) -> list[str]:
    """The strings of their section: lengths, the last one's first, then the characters."""
    count, at = _number(data, 0)
    lengths = []
    for _ in range(min(count, _MOST_STRINGS)):
        if at >= len(data):
            break
        length, at = _number(data, at)
        lengths.append(length)
    found = []
    for length in reversed(lengths):
        found.append(decode(data[at : at + min(max(0, length - 1), _LONGEST)]))
        at += length
    return [text for text in found if text]


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number in MLIR's encoding: the zeros at the low end of the first byte say how many bytes follow."""
    first = data[at] if at < len(data) else 1
    if first == 0:
        return int.from_bytes(data[at + 1 : at + 9], "little"), at + 9
    length = (first & -first).bit_length()
    return int.from_bytes(data[at : at + length], "little") >> length, at + length
