"""A module's text as comparing reads it: one block for each computation, taken apart only where it is needed."""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections import defaultdict
from functools import cached_property

from hlo_tui.hlo.frames import SourceFrame, StackFrames
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.outline import Computation, Outline
from hlo_tui.hlo.source import BytesSource, Source
from hlo_tui.passes.nodes import Parsed, Tail, from_instruction, read

_ROWS = re.compile(rb"\n[ \t]*+(?:ROOT )?+%?([A-Za-z_][\w.\-\x80-\xff]*+) = ")


class Reader:
    """Takes lines apart, each once for the last two modules that were read: neighbours share most of them."""

    def __init__(self) -> None:
        self._now: dict[bytes, Parsed | None] = {}
        self._before: dict[bytes, Parsed | None] = {}
        self._tails: dict[str, Tail] = {}
        self._tails_kept = 0

    def turn(self) -> None:
        """Begin with another module; what only the one before the last had is forgotten."""
        self._before, self._now = self._now, {}
        self._tails = dict(itertools.islice(self._tails.items(), self._tails_kept, None))
        self._tails_kept = len(self._tails)

    def read(self, row: bytes) -> Parsed | None:
        """One instruction, None where the line is none."""
        if row in self._now:
            return self._now[row]
        parsed = self._before[row] if row in self._before else read(row.strip(), self._tails)
        self._now[row] = parsed
        return parsed


class Block:
    """One computation.

    Attributes:
        name: of the computation.
        line: the line of its head, from 0.
        size: how many instructions there are in it.
    """

    def __init__(self, text: Text, computation: Computation, name: str) -> None:
        self.name = name
        self.line = computation.line
        self.size = computation.instructions
        self._module = text.module
        self._data = text.data
        self._reader = text.reader
        self._computation = computation
        self._start, self._end = text.span(computation)
        self._parsed: dict[int, Parsed | None] = {}
        self._instructions: tuple[Parsed, ...] | None = None
        self._lines: tuple[int, ...] = ()

    @property
    def text(self) -> bytes:
        """Its bytes, from its head to its brace."""
        return self._data[self._start : self._end]

    @cached_property
    def rows(self) -> list[bytes]:
        """The text of each instruction, in the order of the text."""
        return self._rows_and_names[0]

    @cached_property
    def names(self) -> list[str]:
        """The name of each instruction."""
        return self._rows_and_names[1]

    @cached_property
    def _rows_and_names(self) -> tuple[list[bytes], list[str]]:
        text = self.text
        rows = text.split(b"\n")[1:-1]
        if len(rows) == self.size:
            # In one go: a module has these by the ten thousand. A line has one name at most.
            found = b"\n".join(_ROWS.findall(text))
            names = found.decode("utf-8", "replace").split("\n") if found else []
            if len(names) == self.size:
                return rows, names
        instructions = self._module.body(self._computation).instructions
        self._instructions = tuple(map(from_instruction, instructions))
        self._lines = tuple(found.line for found in instructions)
        source = self._module.source
        rows = [source.read(found.start, found.end - found.start) for found in instructions]
        return rows, [found.name for found in instructions]

    @cached_property
    def index(self) -> dict[str, int]:
        """The place of each name; of the first instruction where several share one."""
        return {name: place for place, name in reversed(list(enumerate(self.names)))}

    def parsed(self, place: int) -> Parsed | None:
        """The instruction at a place; None where its text is none."""
        if place in self._parsed:
            return self._parsed[place]
        rows = self.rows
        if self._instructions is not None:
            return self._instructions[place]
        parsed = self._parsed[place] = self._reader.read(rows[place])
        return parsed

    def line_of(self, place: int) -> int:
        """The line of the text, from 0, on which the instruction at a place begins."""
        return self._lines[place] if self.rows and self._lines else self.line + 1 + place

    @cached_property
    def root(self) -> str:
        """The name of the root; the last instruction where none is marked, "" where there are none."""
        for place in range(len(self.rows) - 1, -1, -1):
            if self.rows[place].lstrip().startswith(b"ROOT "):
                return self.names[place]
        return self.names[-1] if self.rows else ""


class Text:
    """A module's text in memory.

    Attributes:
        module: the module, scanned.
        data: all of its bytes.
        blocks: the computations by name, in the order of the text.
        entry: the entry computation, None where there are no computations.
    """

    def __init__(self, source: Source, reader: Reader | None = None) -> None:
        self.reader = reader or Reader()
        self.reader.turn()
        self.data = source.read(0, source.size)
        self.module = Module(BytesSource(self.data, source.name))
        self.outline: Outline = self.module.scan()
        self._found: dict[int, tuple[SourceFrame, ...]] = {}
        self.blocks: dict[str, Block] = {}
        self._order: list[Block] = []
        for computation in self.outline.computations:
            name = computation.name
            if name in self.blocks:
                name = f"{name}#{computation.index}"
            block = self.blocks[name] = Block(self, computation, name)
            self._order.append(block)
        entry = self.outline.entry
        self.entry = None if entry is None else self._order[entry.index]

    def span(self, computation: Computation) -> tuple[int, int]:
        """The offsets between which a computation stands."""
        assert self.module.lines is not None
        return self.outline.start(computation), self.module.lines.span(computation.last)[1]

    @property
    def instructions(self) -> int:
        """How many there are in the module."""
        return self.outline.instructions

    @cached_property
    def sites(self) -> dict[str, list[tuple[Block, int]]]:
        """For each computation that is called: the computation that does, and the line on which."""
        sites: dict[str, list[tuple[Block, int]]] = defaultdict(list)
        computations = list(self.outline.computations)
        lines = [computation.line for computation in computations]
        for computation, block in zip(computations, self._order, strict=True):
            for line, _ in self.outline.calls(computation):
                at = bisect_right(lines, line) - 1
                while at > 0 and computations[at].last < line:
                    at -= 1
                sites[block.name].append((self._order[at], line))
        return sites

    @cached_property
    def tables(self) -> bytes:
        """The text of the stack frame tables, as it stands."""
        assert self.module.lines is not None
        if not self.outline.tables:
            return b""
        begin = self.module.lines.start(min(self.outline.tables.values()))
        after = [self.outline.start(one) for one in self.outline.computations[:1]]
        return self.data[begin : after[0] if after else len(self.data)].strip()

    @cached_property
    def _frames(self) -> StackFrames:
        assert self.module.lines is not None
        return StackFrames(self.module.source, self.module.lines, self.outline.tables)

    def frames(self, number: int) -> tuple[SourceFrame, ...]:
        """The source frames behind a number of the metadata, innermost first."""
        found = self._found.get(number)
        if found is None:
            found = self._found[number] = self._frames.frames(number) if number else ()
        return found
