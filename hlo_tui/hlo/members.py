"""The modules inside one text file: a stdout dump between XLA's marks, or several modules in a row, as XLA's own
tests have them with `// -----` in between.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo import kinds
from hlo_tui.hlo.kinds import LOG_PREFIX
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import visible

_CHUNK = 1 << 20
# What every line of interest holds, found fast; then the whole of such a line. XLA's names have at most 255
# bytes.
_WORDS = tuple(
    map(re.compile, (rb"\*\*\* (?:Begin|End) ", rb"HloModule ", rb"ENTRY ", rb"// -----[ \t\r\n]"))
)
_MARK = re.compile(
    LOG_PREFIX + rb"(?:\*\*\* (?P<mark>Begin|End) (?P<title>[^\n]{1,4096}) \*\*\*\r?(?:\n|\Z)"
    rb"|HloModule (?P<module>[^\s,]{1,4096})"
    rb"|ENTRY %?(?P<entry>[^\s({]{1,4096})"
    rb"|// -----[ \t]{0,8}\r?(?P<parting>\n))"
)
# Enough of a part without a header to tell whether it is HLO.
_PART_HEAD = 64 << 10
# What XLA replaces when it makes a file's name of a title; in the log the title stands as it is.
_FILE_NAME = str.maketrans(dict.fromkeys("/\\[] ", "_"))


@dataclass(frozen=True, slots=True)
class Member:
    """A span of a text file.

    Attributes:
        name: of the file that XLA would have written, or of the module; unique in the file: what comes a
            second time is called "2/NAME", and so on.
        start: offset of its first byte.
        end: offset after its last byte.
        is_module: whether a module's header was seen in it.
        complete: whether its end was seen, where that is marked.
    """

    name: str
    start: int
    end: int
    is_module: bool
    complete: bool = True


def find_members(source: Source) -> tuple[Member, ...]:
    """Find what a text file is made of, in one pass over it.

    Returns:
        What stands between `*** Begin` and `*** End` marks, or else the text from each `HloModule` on, which ends at
        a line `// -----`. Between such lines a module may also be without a header.
    """
    found = _Finder(source)
    return tuple(found.blocks or found.parts())


def several(head: bytes) -> bool:
    """Whether a text that begins like this may hold several modules."""
    return b"*** Begin " in head or b"// -----" in head or head.count(b"HloModule ") > 1


def find_blocks(source: Source) -> tuple[Member, ...]:
    """As `find_members`, but nothing where there are no marks.

    A block without its end goes up to the next mark or the end of the file, and is not complete.
    """
    return tuple(_Finder(source).blocks)


def choose(members: tuple[Member, ...], wanted: str | None, path: str) -> Member:
    """Give the member with a name or a number, or the first that is a module where none is asked for.

    Args:
        members: of one file.
        wanted: a name, or how many-eth it is, from 1.
        path: of the file, for the error.

    Raises:
        HloTuiError: there is no such member.
    """
    if wanted is None:
        found = next((one for one in members if one.is_module), None)
    else:
        found = next((one for one in members if one.name == wanted), None)
        if found is None and wanted.isascii() and wanted.isdigit() and 0 < int(wanted[:9]) <= len(members):
            found = members[int(wanted[:9]) - 1]
    if found is None:
        names = ", ".join(visible(one.name) for one in members[:8])
        hint = f"It holds {len(members)}: {names}" if names else "It is one module."
        raise HloTuiError("No such module in the file", f"{path}: {visible(wanted or '')}", hint)
    return found


class _Finder:
    """One pass over a file: the blocks between marks, and where modules and the parts of the file begin."""

    def __init__(self, source: Source) -> None:
        self.blocks: list[Member] = []
        self._source = source
        self._headers: list[tuple[str, int]] = []
        self._entries: list[tuple[str, int]] = []
        self._partings: list[tuple[int, int]] = []
        self._seen: Counter[str] = Counter()
        self._name: str | None = None
        self._start = self._before = 0
        for match, offset in _marks(source):
            place = offset + match.start()
            if match["module"] is not None:
                self._headers.append((match["module"].decode("utf-8", "replace"), place))
                continue
            if match["entry"] is not None:
                self._entries.append((match["entry"].decode("utf-8", "replace"), place))
                continue
            if match["parting"] is not None:
                self._partings.append((place, offset + match.end()))
                continue
            name = match["title"].decode("utf-8", "replace").translate(_FILE_NAME)
            if match["mark"] == b"Begin":
                self._close(place, complete=False)
                self._name, self._start, self._before = name, offset + match.end(), len(self._headers)
            elif name == self._name:
                # XLA writes a newline of its own between the contents and the closing mark.
                self._close(place - 1, complete=True)
        self._close(source.size, complete=False)

    def parts(self) -> Iterator[Member]:
        """The modules of a file without marks."""
        headers, entries = _Queue(self._headers), _Queue(self._entries)
        start = 0
        for number, (end, following) in enumerate([*self._partings, (self._source.size, 0)], 1):
            heads, names = headers.before(end), entries.before(end)
            ends = (*(place for _, place in heads[1:]), end)
            for (name, place), last in zip(heads, ends, strict=False):
                yield Member(self._unique(name), place, last, True)
            if not heads and self._partings and self._is_hlo(start, end):
                yield Member(self._unique(names[0][0] if names else f"part {number}"), start, end, True)
            start = following

    def _is_hlo(self, start: int, end: int) -> bool:
        return kinds.sniff(self._source.read(start, min(end - start, _PART_HEAD))) == kinds.TEXT

    def _unique(self, name: str) -> str:
        """The name, or what it is called when it comes again."""
        self._seen[name] += 1
        return name if self._seen[name] == 1 else f"{self._seen[name]}/{name}"

    def _close(self, end: int, *, complete: bool) -> None:
        if self._name is not None:
            is_module = len(self._headers) > self._before
            name = self._unique(self._name)
            self.blocks.append(Member(name, self._start, max(end, self._start), is_module, complete))
            self._name = None


class _Queue:
    """Names with their places, taken in order."""

    def __init__(self, found: list[tuple[str, int]]) -> None:
        self._found = found
        self._next = 0

    def before(self, end: int) -> list[tuple[str, int]]:
        """Those that are left before a place."""
        first = self._next
        while self._next < len(self._found) and self._found[self._next][1] < end:
            self._next += 1
        return self._found[first : self._next]


def _marks(source: Source) -> Iterator[tuple[re.Match[bytes], int]]:
    """Every mark and header at the start of a line, with the offset of the block that it was found in."""
    offset = 0
    inside_line = False
    while block := source.read(offset, min(_CHUNK, source.size - offset)):
        last = len(block) < _CHUNK
        end = len(block) if last else block.rfind(b"\n") + 1
        first = block.find(b"\n") + 1 if inside_line else 0
        if first or not inside_line:
            yield from ((match, offset) for match in _marks_of(block, first, end or len(block)))
        # A line longer than the block: no mark is, so its rest is passed over.
        inside_line = not end
        offset += end or len(block)


def _marks_of(block: bytes, first: int, end: int) -> Iterator[re.Match[bytes]]:
    """The marks and headers in a part of a block that begins where a line does."""
    line = first
    for word in heapq.merge(*(word.finditer(block, first, end) for word in _WORDS), key=re.Match.start):
        if word.start() < line:
            continue
        match = _MARK.match(block, block.rfind(b"\n", line, word.start()) + 1 or line, end)
        if match is not None:
            yield match
        line = block.find(b"\n", word.start(), end) + 1 or end
