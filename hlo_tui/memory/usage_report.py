"""XLA's memory usage report (`-memory-usage-report`), as text of both layouts and as a proto."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from hlo_tui.hlo.amounts import parse_bytes
from hlo_tui.hlo.schema import hlo_pb2 as pb

_SPACE = re.compile(r"\s*Memory [Ss]pace: (.{1,200}?)(?: \(color=(\d{1,9})\))?\s*")
_TOTAL = re.compile(r"\s*Total bytes(?: used)?: (\d{1,18})\b.*")
_HEADER = re.compile(r"\s*cumulative_size;\s+size;\s+offset;.*")
_ROW = re.compile(
    r"\s*\S{1,20}?\(\s*(?:\d{1,3}|nan|-nan)%\);\s*(\S{1,20});\s*(\d{1,18});\s*(\d{1,18});\s?(.*)"
)
_ALLOCATION = re.compile(r"\s*allocation (\d{1,18}): size (\d{1,18}(?:\.\d{1,9})?[KMGTP]?i?B?)(, .*|:)")
_REST = re.compile(r"\s*The rest (\d{1,18}) values are less than")


@dataclass(frozen=True, slots=True)
class Slot:
    """Values that lie at one offset. `size` is that of the largest, as the report rounds it."""

    size: int
    offset: int
    count: int
    shapes: str


@dataclass(frozen=True, slots=True)
class Block:
    """One allocation of the report.

    Attributes:
        size: bytes; where the report gives no number, of the slots together (they may share bytes).
        exact: whether `size` is a number of the report that is not rounded.
        words: what the report calls it, "" where it says nothing.
        slots: the offsets in it, the largest first.
        left_out: how many more offsets there are that the report does not list.
        names: what defines the values in it, where the report says.
    """

    size: int
    exact: bool
    words: str = ""
    slots: tuple[Slot, ...] = ()
    left_out: int = 0
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Space:
    """One memory space: its name, its number, bytes in it, and its allocations, the largest first."""

    name: str
    color: int
    total: int
    blocks: tuple[Block, ...]


@dataclass(slots=True)
class _Building:
    name: str = "default"
    color: int = 0
    total: int | None = None
    blocks: list[Block] = field(default_factory=list)

    def space(self) -> Space | None:
        return None if self.total is None else Space(self.name, self.color, self.total, tuple(self.blocks))


def read_usage(lines: Iterable[str]) -> tuple[Space, ...]:
    """Read the text of a report; no spaces where it holds none. Unknown lines are passed over."""
    spaces: list[Space] = []
    building, slots = _Building(), list[Slot]()
    # Of the older layout: the sizes, rounded, of the allocation whose slots follow.
    named: tuple[int, str] | None = None
    listed = False
    for line in lines:
        space, total = _SPACE.fullmatch(line), _TOTAL.fullmatch(line)
        row, rest = _ROW.fullmatch(line), _REST.match(line)
        if space is not None or (total is not None and building.total is not None):
            _finish(building, slots, named)
            spaces += filter(None, [building.space()])
            building, named = _Building(), None
        if space is not None:
            building.name, building.color = space[1], int(space[2] or 0)
        elif total is not None:
            building.total = int(total[1])
        elif line.startswith("Allocations sorted by size with their values"):
            listed = True
            building.blocks.clear()
        elif _HEADER.fullmatch(line) is not None:
            if slots:
                _finish(building, slots, named)
                named = None
        elif row is not None and not row[4].startswith("allocation "):
            slots.append(Slot(parse_bytes(row[1]) or 0, int(row[2]), int(row[3]), row[4].strip()))
        elif rest is not None:
            _finish(building, slots, named, int(rest[1]))
            named = None
        else:
            named = _named(line, building, slots, named, listed)
    _finish(building, slots, named)
    return (*spaces, *filter(None, [building.space()]))


def _named(
    line: str, building: _Building, slots: list[Slot], named: tuple[int, str] | None, listed: bool
) -> tuple[int, str] | None:
    """What an `allocation N: size ...` line of the older layout says of the slots that follow it."""
    found = _ALLOCATION.search(line)
    if found is None:
        return named
    size, words = parse_bytes(found[2]) or 0, f"allocation {found[1]}{found[3].rstrip(' :')}"
    if not listed:
        building.blocks.append(Block(size, found[2].isdecimal(), words))
        return None
    _finish(building, slots, named)
    return size, words


def _finish(building: _Building, slots: list[Slot], named: tuple[int, str] | None, left_out: int = 0) -> None:
    """Make a block of the slots that were read."""
    if named is not None:
        building.blocks.append(Block(named[0], named[0] < 1024, named[1], tuple(slots), left_out))
    elif slots:
        building.blocks.append(Block(sum(slot.size for slot in slots), False, "", tuple(slots), left_out))
    slots.clear()


def from_proto(report: pb.MemoryUsageReportProto) -> tuple[Space, ...]:
    """Read the message, whose sizes are exact."""
    spaces = []
    for entry in report.memory_space_allocation_entries:
        blocks = []
        for one in entry.allocation_entries:
            inside = read_usage(["Total bytes: 0", *one.hlo_text.split("\n")])
            held = inside[0].blocks[0] if inside and inside[0].blocks else Block(0, False)
            blocks.append(
                Block(
                    one.size, True, f"allocation {one.index}", held.slots, held.left_out,
                    tuple(one.defining_positions),
                )
            )  # fmt: skip
        color = entry.memory_space_color
        spaces.append(
            Space("default" if color == 0 else f"space {color}", color, entry.total_bytes, tuple(blocks))
        )
    return tuple(spaces)
