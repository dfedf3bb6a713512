"""Looks through texts and gives what is found as it is found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from hlo_tui.dump.listing import Listing
from hlo_tui.errors import HloTuiError
from hlo_tui.finding.places import Place, open_place
from hlo_tui.finding.query import Query
from hlo_tui.hlo.instruction import Instruction, parse_instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.structure import complete, whole_head

_BLOCK = 1 << 20
_TEXT = 4096
# Below this size a text is taken apart whole, which also knows what only people write.
_LARGE = 1 << 18
_HEAD = 1 << 16
_MODULE = re.compile(rb"HloModule ([^\s,]{1,4096})")
_REGULAR = re.compile(rb" ++(?:ROOT )?+%?[A-Za-z_][\w.\-]*+ = ")
_LONGEST = 1 << 24

Stop = Callable[[], bool]


def _never() -> bool:
    return False


@dataclass(frozen=True)
class Hit:
    """A line that was found.

    Attributes:
        place: the text.
        module: the module's name, by its header where the files do not say it.
        line: the line, from 0; of an instruction that takes several, where one was looked for, the first.
        text: the line's bytes, bounded; where they begin behind the beginning, `column` says where.
        computation: that holds the instruction, None where the line is of none: a head, or a table.
        column: of the first byte of `text`.
        at: where in `text` the pattern was found; 0 where there is none.
        known: the instruction, where it has been taken apart.
        source: where its whole text is, else; from `start` to `end`.
    """

    place: Place
    module: str
    line: int
    text: bytes
    computation: str | None = None
    column: int = 0
    at: int = 0
    known: Instruction | None = field(default=None, repr=False)
    source: Source | None = field(default=None, repr=False, compare=False)
    start: int = 0
    end: int = 0

    @cached_property
    def instruction(self) -> Instruction | None:
        """The instruction that the line is part of, None where it is of none."""
        if self.known is not None or self.computation is None or self.source is None:
            return self.known
        text = self.source.read(self.start, min(self.end - self.start, _LONGEST)).decode("utf-8", "replace")
        return parse_instruction(text.rstrip(), self.computation, self.line, self.start)


@dataclass(slots=True)
class Search:
    """One search.

    Attributes:
        listing: the dump, or the file.
        query: what is looked for.
        looked: how many texts have been looked through.
        found: how many lines were found.
        modules: names and numbers of the modules in which something was found.
        unread: texts that could not be read, with why.
    """

    listing: Listing
    query: Query
    looked: int = 0
    found: int = 0
    modules: set[tuple[str, object]] = field(default_factory=set)
    unread: list[tuple[Place, HloTuiError]] = field(default_factory=list)

    def run(self, places: Iterable[Place], stop: Stop = _never) -> Iterator[Hit]:
        """Look through texts one after the other; `stop` is asked between blocks and between hits."""
        for place in places:
            if stop():
                return
            try:
                source = open_place(self.listing, place)
            except HloTuiError as error:
                self.unread.append((place, error))
                continue
            for hit in search(source, place, self.query, stop):
                self.found += 1
                self.modules.add((hit.module, place.key or place.id))
                yield hit
            self.looked += 1


def search(source: Source, place: Place, query: Query, stop: Stop = _never) -> Iterator[Hit]:
    """What a query finds in one text, in the order of the lines; each line, or each instruction, once."""
    begin = 0
    if source.size >= _LARGE:
        lines = _Lines(source, place, query)
        yield from lines.search(stop)
        if lines.irregular < 0:
            return
        begin = lines.irregular
    yield from _search_parts(source, place, query, begin, stop)


class _Lines:
    """Looks through a large text as compilers write it: each instruction is a line, between a head and a brace.

    Attributes:
        irregular: where a line begins that needs the whole text to be understood; -1 where there is none.
    """

    def __init__(self, source: Source, place: Place, query: Query) -> None:
        self.irregular = -1
        self._source = source
        self._place = place
        self._query = query
        self._filtered = query.filtered
        named = _MODULE.search(source.read(0, _HEAD))
        self._module = place.module or (named[1].decode("utf-8", "replace") if named else "")
        self._number = 0
        self._head = ""

    def search(self, stop: Stop) -> Iterator[Hit]:
        """What is found, up to the end or up to the first line that is not regular."""
        for base, block in _blocks(self._source, 0):
            counted = 0
            for at in _matches(block, self._query):
                begin = block.rfind(b"\n", 0, at) + 1
                behind = block.find(b"\n", at)
                line = block[begin : behind if behind >= 0 else len(block)]
                self._pass(block, counted, begin)
                counted = begin
                hit = self._hit(line, base + begin, at - begin)
                if self.irregular >= 0:
                    return
                if hit is not None:
                    yield hit
                if stop():
                    return
            self._pass(block, counted, len(block))
            if stop():
                return

    def _pass(self, block: bytes, begin: int, end: int) -> None:
        """Count lines, and note the last head of a computation."""
        self._number += block.count(b"\n", begin, end)
        brace = block.rfind(b" {\n", begin, end)
        while brace >= 0:
            start = block.rfind(b"\n", 0, brace) + 1
            head = whole_head(block[start : brace + 2])
            if head is not None:
                self._head = head[2].decode("utf-8", "replace")
                return
            brace = block.rfind(b" {\n", begin, start)

    def _hit(self, line: bytes, start: int, at: int) -> Hit | None:
        query = self._query
        computation = None
        if line[:1].isspace() or b" = " in line:
            if not _REGULAR.match(line) or not complete(line) or not self._head:
                self.irregular = start
                return None
            computation = self._head
        elif self._filtered:
            return None
        column = max(0, at - _TEXT // 2) if at > _TEXT else 0
        found = Hit(
            self._place, self._module, self._number, line[column : column + _TEXT], computation, column,
            at - column if query.pattern is not None else 0, None, self._source, start, start + len(line),
        )  # fmt: skip
        if not self._filtered:
            return found
        return found if found.instruction is not None and query.takes(found.instruction) else None


def _search_parts(source: Source, place: Place, query: Query, begin: int, stop: Stop) -> Iterator[Hit]:
    """The same from `begin` on in a text of any form, which is taken apart as soon as there is a candidate."""
    module: Module | None = None
    last, seen = -1, -1
    for base, block in _blocks(source, begin):
        for at in _matches(block, query):
            if module is None:
                module = Module(source)
                if not module.scan(stop=stop).complete:
                    return
            assert module.lines is not None
            line = module.lines.line_at(base + at)
            if line <= last:
                continue
            last = line
            for hit in _hits(module, place, query, line, base + at - module.lines.start(line)):
                if query.filtered:
                    if hit.start <= seen:
                        continue
                    seen = hit.start
                yield hit
            if stop():
                return
        if stop():
            return


def _hits(module: Module, place: Place, query: Query, line: int, at: int) -> Iterator[Hit]:
    assert module.outline is not None
    name = place.module or module.name
    around = module.outline.all_at_line(line)
    found = [one for computation in around for one in module.body(computation).on_line(line)]
    if not query.filtered:
        first = found[0] if found else None
        column = max(0, at - _TEXT // 2) if at > _TEXT else 0
        computation = first.computation if first is not None else None
        yield Hit(place, name, line, module.raw(line, column, _TEXT), computation, column, at - column, first)
        return
    for one in found:
        if query.takes(one):
            text = module.raw(one.line, 0, _TEXT)
            shown = at if query.pattern is not None and one.line == line else 0
            yield Hit(
                place,
                name,
                one.line,
                text,
                one.computation,
                at=min(shown, len(text)),
                known=one,
                start=one.start,
            )


def _blocks(source: Source, offset: int) -> Iterator[tuple[int, bytes]]:
    """Parts of a text from `offset` on with where they begin, cut behind lines; of a longer line, anywhere."""
    while block := source.read(offset, _BLOCK):
        end = block.rfind(b"\n") + 1
        if not end or len(block) < _BLOCK:
            end = len(block)
        yield offset, block[:end]
        offset += end


def _matches(block: bytes, query: Query) -> Iterator[int]:
    """Where there is a candidate, the first place in each line."""
    found = _literal(block, query, query.literal) if query.literal is not None else query.candidates.search
    at = 0
    while at < len(block):
        match = found(block, at)
        start = match.start() if isinstance(match, re.Match) else match
        if start is None or start < 0:
            return
        yield start
        behind = block.find(b"\n", start)
        if behind < 0:
            return
        at = behind + 1


def _literal(block: bytes, query: Query, literal: bytes) -> Callable[[bytes, int], int]:
    """Finds plain text: much faster than an expression that takes large and small letters for the same."""
    text = block.lower() if query.candidates.flags & re.IGNORECASE else block
    return lambda _, at: text.find(literal, at)
