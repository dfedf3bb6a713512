"""A text that is not HLO, to be read as a module's text is: its lines, what it is made of, where names are defined."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate

from hlo_tui.formats.languages import Language, definition, language
from hlo_tui.formats.locations import Locations, at_end, read_aliases
from hlo_tui.formats.sorts import Sort
from hlo_tui.hlo.landmarks import Landmarks
from hlo_tui.hlo.lines import LineIndex
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.outline import Outline
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import decode

_BLOCK = 1 << 20
# What is kept of an outline; a log of a million lines has more than anybody reads.
_MOST = 100_000
_COUNTED = 2000
_LONGEST_NAME = 400
_ALIAS = re.compile(rb"^#loc\w{0,32} = loc\([^\n]{1,4000}$", re.MULTILINE)
_LONGEST_PLACED = 1 << 14


@dataclass(frozen=True, slots=True)
class Entry:
    """Something that a text is made of: a function, a kernel, a pass.

    Attributes:
        kind: what it is.
        name: its name, safe for a terminal.
        line: where it begins, from 0.
        last: its last line.
        level: how many others it is inside of.
    """

    kind: str
    name: str
    line: int
    last: int
    level: int = 0


class Page(Module):
    """One text. As of a `Module` only `source`, `head` and the facts are of use before `scan`.

    Attributes:
        sort: what the file is.
        facts: what is worth knowing at once, a sentence each.
        note: how the text came about where it is not the file's own.
        entries: the outline, there once it is scanned, in the order of the text.
        more: how many entries were not kept.
        counts: what is counted in this language, such as operations by name.
        origins: where lines come from in a program, where the file says it beside the text: line to place.
    """

    def __init__(
        self,
        source: Source,
        sort: Sort,
        facts: tuple[str, ...] = (),
        note: str = "",
        origins: dict[int, tuple[str, ...]] | None = None,
    ) -> None:
        super().__init__(source, sort.words)
        self.sort = sort
        self.facts = facts
        self.note = note
        self.entries: tuple[Entry, ...] = ()
        self.more = 0
        self.counts: Counter[str] = Counter()
        self.origins = origins or {}
        self._locations = Locations({})
        self._starts: list[int] = []
        self._parents: list[int] = []

    @property
    def language(self) -> Language:
        """The language that the text is in."""
        return language(self.sort.language)

    def scan(
        self, progress: Callable[[int, int], None] | None = None, stop: Callable[[], bool] | None = None
    ) -> Outline:
        """Find lines and entries in one pass over the text; gives the outline of a text without computations."""
        scanner = _Scanner(self.source, self.language)
        complete = True
        while scanner.step():
            if progress is not None:
                progress(scanner.offset, self.source.size)
            if stop is not None and stop():
                complete = False
                break
        self.entries, self.more, self.counts = scanner.finish()
        self._locations = Locations(read_aliases(scanner.aliases))
        self._starts, self._parents = [entry.line for entry in self.entries], scanner.parents
        self.lines = scanner.lines
        self.outline = Outline(self.source, scanner.lines, Landmarks(), complete)
        return self.outline

    def place(self, line: int, text: str) -> str:
        """The file and line of a program that a line of the text comes from; empty where that is not known.

        Args:
            line: its number, from 0.
            text: what is on it.
        """
        origins = self.origins.get(line)
        if origins:
            return ":".join(origins[0].partition(" ")[0].rsplit("/", 1)[-1].split(":")[:2])
        if self.sort.language != "mlir" or text.startswith("#") or len(text) > _LONGEST_PLACED:
            return ""
        location = at_end(text)[1]
        frames = self._locations.of(location).frames if location else ()
        return f"{frames[0].file.rsplit('/', 1)[-1]}:{frames[0].line}" if frames else ""

    def entry_at(self, line: int) -> Entry | None:
        """The innermost entry that a line is part of, None where it is in none."""
        at = bisect_right(self._starts, line) - 1
        while at >= 0 and line > self.entries[at].last:
            at = self._parents[at]
        return self.entries[at] if at >= 0 else None

    def entry(self, name: str) -> Entry | None:
        """The first entry with this name, with or without the sign before it; None where there is none."""
        wanted = name.strip('"').lstrip("@%")
        return next((one for one in self.entries if one.name.strip('"').lstrip("@%") == wanted), None)

    def find_entry(self, name: str) -> Entry | None:
        """What a person means by a name: an entry, a line by its number from 1, or a line by what it defines, which
        may have the entry's name and a slash before it."""
        entry = self.entry(name)
        if entry is not None or self.lines is None:
            return entry
        if name.isascii() and name.isdigit():
            line = int(name[:18]) - 1
            return Entry("line", name, line, line) if 0 <= line < self.lines.count else None
        around, _, defined = name.rpartition("/")
        inside = self.entry(around) if around else None
        if around and inside is None:
            return None
        found = self.definition_line(defined, inside.line if inside is not None else 0)
        if found is None or (inside is not None and not inside.line <= found <= inside.last):
            return None
        return Entry("line", name, found, found)

    def definition_line(self, name: str, near_line: int) -> int | None:
        """The line that defines a name: the last one before `near_line` in the same entry, else the next, else any."""
        assert self.lines is not None
        entry = self.entry(name) if name[:1] not in "%#^!" else None
        if entry is not None:
            return entry.line
        pattern = definition(name, self.sort.language)
        if pattern is None and name[:1].isalnum():
            # As a person types it.
            pattern = definition(f"%{name}", self.sort.language)
        if pattern is None:
            return None
        around = self.entry_at(near_line)
        first, last = (around.line, around.last) if around is not None else (0, self.lines.count - 1)
        before = self.search(pattern, near_line, forward=False)
        if before is not None and before >= first:
            return before
        after = self.search(pattern, near_line)
        return after if after is not None and after <= last else before if after is None else after


class _Scanner:
    """Reads block by block, whole lines at a time; of a line longer than a block only the beginning is looked at."""

    def __init__(self, source: Source, of: Language) -> None:
        self._source = source
        self._language = of
        self._found: list[tuple[str, str, int, int]] = []
        self._lasts: list[int] = []
        self._open: list[tuple[int, int]] = []
        self._levels: list[int] = []
        self.parents: list[int] = []
        self.aliases: list[str] = []
        self._more = 0
        self._counts: Counter[bytes] = Counter()
        self._within = False
        self.lines = LineIndex()
        self.offset = 0

    def step(self) -> bool:
        """Take the next block; False where there is none."""
        data = self._source.read(self.offset, _BLOCK)
        if not data:
            return False
        last = len(data) < _BLOCK
        end = len(data) if last else data.rfind(b"\n") + 1 or len(data)
        block = data[:end]
        starts = self._take_lines(block)
        begin = 0
        if self._within:
            begin = block.find(b"\n") + 1 or len(block)
        if begin < len(block):
            self._look(block, begin, starts)
        self._within = not block.endswith(b"\n")
        self.offset += len(block)
        return True

    def finish(self) -> tuple[tuple[Entry, ...], int, Counter[str]]:
        """End what is open."""
        end = max(0, self.lines.count - 1)
        while self._open:
            self._close(end)
        entries = (
            Entry(kind, name, line, last, level)
            for (kind, name, line, _), last, level in zip(self._found, self._lasts, self._levels, strict=True)
        )
        counts = Counter({_SIGNS.get(name) or decode(name): count for name, count in self._counts.items()})
        return tuple(entries), self._more, counts

    def _take_lines(self, block: bytes) -> array[int]:
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        starts = array("Q", accumulate((len(line) + 1 for line in lines), initial=self.offset))
        starts.pop()
        known = starts[1:] if self._within else starts
        longest = max(map(len, lines), default=0)
        self.lines.extend(known, longest, self.offset + len(block), block.endswith(b"\n"))
        return known

    def _look(self, block: bytes, begin: int, starts: array[int]) -> None:
        first = self.lines.count - len(starts)
        at = 0
        marks, counted = self._language.marks, self._language.counted
        for match in marks.finditer(block, begin) if marks is not None else ():
            kind = match.lastgroup or ""
            at = bisect_right(starts, self.offset + match.start(kind), at) - 1
            line = first + max(0, at)
            at = max(0, at)
            begins = starts[at] - self.offset if starts else 0
            self._mark(match, kind, line, _indent(block, begins))
        if b"#loc" in block and len(self.aliases) < _MOST:
            self.aliases += [decode(match[0]) for match in _ALIAS.finditer(block, begin)]
        if counted is not None and len(self._counts) < _COUNTED:
            self._counts.update(counted.findall(block, begin))

    def _mark(self, match: re.Match[bytes], kind: str, line: int, indent: int) -> None:
        if kind == "close":
            if self._open and self._found[self._open[-1][0]][3] == indent:
                self._close(line)
            return
        level = self._language.levels.get(kind, 0)
        if kind == "pass":
            # No brace ends it.
            indent = -1
        while self._open and (self._open[-1][1], self._found[self._open[-1][0]][3]) >= (level, indent):
            self._close(line - 1)
        if len(self._found) >= _MOST:
            self._more += 1
            return
        self.parents.append(self._open[-1][0] if self._open else -1)
        self._open.append((len(self._found), level))
        self._levels.append(len(self._open) - 1)
        self._found.append((_KINDS.get(kind, kind), _name(match[kind]), line, indent))
        self._lasts.append(line)

    def _close(self, line: int) -> None:
        at, _ = self._open.pop()
        self._lasts[at] = max(line, self._found[at][2])


def _indent(block: bytes, at: int) -> int:
    """How many blanks a line begins with."""
    found = _LEADING.match(block, max(0, at))
    return found.end() - found.start() if found is not None else 0


_LEADING = re.compile(rb"[ \t]{0,400}")
_KINDS = {"generic": "function", "declared": "declaration", "shared": "shared jaxpr"}
# Of a graph nodes and edges are counted, by what they are written with.
_SIGNS = {b"[": "nodes", b"->": "edges"}
_BLANKS = re.compile(rb"\s+")


def _name(text: bytes) -> str:
    name = decode(_BLANKS.sub(b" ", text[:_LONGEST_NAME]).strip())
    return name.replace("[ name=", " ").replace("[name=", " ")
