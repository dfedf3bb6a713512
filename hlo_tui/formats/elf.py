"""The symbols and sizes of an object file in ELF form, as compilers for CPUs and GPUs write it."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from hlo_tui.dump.words import count_text, size_text
from hlo_tui.formats.rendered import Rendered, damaged
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import decode

_MACHINES = {
    3: "x86", 21: "PowerPC 64", 40: "Arm", 62: "x86-64", 183: "AArch64", 190: "an NVIDIA GPU", 224: "an AMD GPU",
    243: "RISC-V", 247: "BPF",
}  # fmt: skip
_KINDS = {0: "no type", 1: "object", 2: "function", 3: "section", 4: "file", 5: "common", 6: "tls"}
_BINDINGS = {0: "local", 1: "global", 2: "weak"}
_FILES = {1: "relocatable object code", 2: "an executable", 3: "a shared object"}
_SYMBOL_TABLES = (2, 11)
_NO_BITS = 8
_EXECUTABLE = 4
# What a damaged header may ask for is bounded by these.
_MOST_SECTIONS, _MOST_SYMBOLS, _MOST_STRINGS = 1 << 16, 1 << 18, 16 << 20
_LONGEST_NAME = 1 << 12


@dataclass(frozen=True, slots=True)
class _Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """One symbol.

    Attributes:
        name: as it is in the file.
        address: in its section, for object code.
        size: bytes.
        kind, binding, section: in words.
    """

    name: str
    address: int
    size: int
    kind: str
    binding: str
    section: str


class _Reader:
    """The integers of one file, in its byte order and width."""

    def __init__(self, source: Source) -> None:
        self._source = source
        head = source.read(0, 64)
        if len(head) < 52 or head[4] not in (1, 2) or head[5] not in (1, 2):
            raise damaged(source.name, "the ELF header is cut off or damaged")
        self.wide = head[4] == 2
        self._order = "<" if head[5] == 1 else ">"
        self.kind, self.machine = struct.unpack_from(f"{self._order}HH", head, 16)
        at = (40, 58, 60, 62) if self.wide else (32, 46, 48, 50)
        if len(head) < at[3] + 2:
            raise damaged(source.name, "the ELF header is cut off")
        self.offset = struct.unpack_from(f"{self._order}{'Q' if self.wide else 'I'}", head, at[0])[0]
        self.width, self.count, self.names = (
            struct.unpack_from(f"{self._order}H", head, place)[0] for place in at[1:]
        )

    def rows(self, offset: int, size: int, width: int, layout: str, most: int) -> list[tuple[int, ...]]:
        """Records of a table, as far as they are there."""
        row = struct.Struct(self._order + layout)
        if width < row.size or offset < 0:
            return []
        data = self._source.read(offset, min(size, most * width, max(0, self._source.size - offset)))
        return [row.unpack_from(data, at) for at in range(0, len(data) - width + 1, width)]

    def bytes_of(self, section: _Section) -> bytes:
        """What a section holds, bounded."""
        return self._source.read(section.offset, min(section.size, _MOST_STRINGS))

    def sections(self) -> list[_Section]:
        """The sections in the order of the file."""
        layout = "IIQQQQIIQQ" if self.wide else "IIIIIIIIII"
        rows = self.rows(self.offset, self.count * self.width, self.width, layout, _MOST_SECTIONS)
        found = [_Section("", row[1], row[2], row[4], row[5], row[6]) for row in rows]
        strings = self.bytes_of(found[self.names]) if self.names < len(found) else b""
        return [
            _Section(_string(strings, row[0]), one.kind, one.flags, one.offset, one.size, one.link)
            for row, one in zip(rows, found, strict=True)
        ]


def _string(strings: bytes, at: int) -> str:
    end = strings.find(b"\0", at, at + _LONGEST_NAME)
    return decode(strings[at : end if end >= 0 else at + _LONGEST_NAME])


def symbols(source: Source) -> list[Symbol]:
    """The symbols with names, the largest first, bounded.

    Raises:
        HloTuiError: it is no ELF file, or its header is damaged.
    """
    return _symbols(_Reader(source))[1]


def _symbols(reader: _Reader) -> tuple[list[_Section], list[Symbol]]:
    sections = reader.sections()
    found = []
    for table in sections:
        if table.kind not in _SYMBOL_TABLES:
            continue
        strings = reader.bytes_of(sections[table.link]) if table.link < len(sections) else b""
        layout, width = ("IBBHQQ", 24) if reader.wide else ("IIIBBH", 16)
        for row in reader.rows(table.offset, table.size, width, layout, _MOST_SYMBOLS):
            name, info, at, address, size = (
                (row[0], row[1], row[3], row[4], row[5])
                if reader.wide
                else (row[0], row[3], row[5], row[1], row[2])
            )
            if name:
                section = sections[at].name if 0 < at < len(sections) else "undefined" if not at else ""
                kind, binding = _KINDS.get(info & 15, "?"), _BINDINGS.get(info >> 4, "?")
                found.append(Symbol(_string(strings, name), address, size, kind, binding, section))
    found.sort(key=lambda one: (-one.size, one.name))
    return sections, found


def render(source: Source) -> Rendered:
    """Symbols and sections as text.

    Raises:
        HloTuiError: the header is damaged.
    """
    reader = _Reader(source)
    sections, found = _symbols(reader)
    code = sum(one.size for one in sections if one.flags & _EXECUTABLE and one.kind != _NO_BITS)
    machine = _MACHINES.get(reader.machine, f"machine {reader.machine}")
    functions = [one for one in found if one.kind == "function"]
    rows = ["# symbols, the largest first", f"{'address':>16}  {'bytes':>10}  kind"]
    rows += [
        f"{one.address:016x}  {one.size:>10,}  {one.binding} {one.kind:<9} {one.name}"
        + (f"  in {one.section}" if one.section else "")
        for one in found
    ]
    rows += ["", "# sections", f"{'offset':>16}  {'bytes':>10}  name"]
    rows += [f"{one.offset:016x}  {one.size:>10,}  {one.name}" for one in sections if one.name]
    kind = _FILES.get(reader.kind, "an ELF file")
    facts = [
        f"{kind} for {machine}",
        f"{count_text(len(functions), 'function')}, {size_text(code)} of code",
    ]
    if reader.count and not sections:
        facts.append("the table of sections is cut off: is it still being written?")
    return Rendered("\n".join(rows).encode(), tuple(facts), "symbols and sections of an ELF file")
