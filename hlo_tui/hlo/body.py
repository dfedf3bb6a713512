"""The instructions of one computation, read and taken apart when they are asked for."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from hlo_tui.hlo.instruction import Instruction, parse_instruction
from hlo_tui.hlo.landmarks import NameIndex, name_bytes
from hlo_tui.hlo.lines import LineIndex
from hlo_tui.hlo.outline import Computation, Outline
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.structure import Structure, log_prefix

_BLOCK = 1 << 20
_LONGEST = 1 << 24
_KEPT_BYTES = 1 << 22
_NAME_BYTES = 4096
# Chains of copies are not longer, and damaged text may have a circle of them.
_DEEPEST = 32
_HANDING_ON = frozenset(("bitcast", "convert", "copy"))
# Longer ones are not written by hand: where lines and instructions are equally many, each is the other.
_HAND_WRITTEN = 1 << 18
_IN_NAMES = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
_NAME = re.compile(rb"\s*+(?:ROOT\s++)?+%?\s*+([\w.\-\x80-\xff]++)")


class Body:
    """One computation's instructions, in the order of the text.

    Attributes:
        computation: the computation.
        bytes: how long its text is.
    """

    def __init__(self, source: Source, lines: LineIndex, outline: Outline, computation: Computation) -> None:
        self.computation = computation
        self._source = source
        self._lines = lines
        self._begin = lines.start(computation.line)
        self._end = outline.end(computation)
        self.bytes = self._end - self._begin
        self._nested = outline.nested(computation)
        self._nested_starts = [outline.start(nested) for nested in self._nested]
        self._instructions: tuple[Instruction, ...] | None = None
        plain = computation.instructions == computation.last - computation.line - 1 and not self._nested
        self._places: _Places = (
            _LinePlaces(lines, computation)
            if plain and self.bytes > _HAND_WRITTEN
            else _FoundPlaces(source, lines, outline, computation)
        )

    def __len__(self) -> int:
        return len(self._places.lines)

    @property
    def instructions(self) -> tuple[Instruction, ...]:
        """All of them, taken apart; kept where they are not very many."""
        if self._instructions is not None:
            return self._instructions
        found = (self.at(index) for index in range(len(self)))
        instructions = tuple(instruction for instruction in found if instruction is not None)
        if self.bytes <= _KEPT_BYTES:
            self._instructions = instructions
        return instructions

    @cached_property
    def by_name(self) -> Mapping[str, Instruction]:
        """Instructions by name; the first of those that share one. Only those asked for are taken apart."""
        return _ByName(self)

    @property
    def root(self) -> Instruction | None:
        """The instruction whose value is the computation's; None where none is marked."""
        found = (self.at(index) for index in reversed(range(len(self))))
        return next((one for one in found if one is not None and one.is_root), None)

    def source_of(self, at: Instruction | None) -> Instruction | None:
        """What makes the value that an instruction only copies, converts or sees as another type."""
        for _ in range(_DEEPEST):
            if at is None or at.opcode not in _HANDING_ON or not at.operands:
                return at
            at = self.by_name.get(at.operands[0])
        return at

    def at(self, index: int) -> Instruction | None:
        """The instruction at place `index`, or None where its text cannot be read any more."""
        start, end = self._places.span(index)
        data = self._source.read(start, min(end - start, _LONGEST)).rstrip()
        line = self._places.lines[index]
        text = _without_log_prefixes(data).decode("utf-8", "replace")
        instruction = parse_instruction(text, self.computation.name, line, start, start + len(data))
        if instruction is None or not self._nested:
            return instruction
        first, last = (bisect_left(self._nested_starts, at) for at in (instruction.start, instruction.end))
        inner = tuple(nested.name for nested in self._nested[first:last])
        return replace(instruction, called=instruction.called + inner) if inner else instruction

    def at_line(self, line: int) -> Instruction | None:
        """The instruction that `line` (from 0) is part of, or None; the last of several."""
        index = bisect_right(self._places.lines, line) - 1
        if index < 0:
            return None
        instruction = self.at(index)
        if instruction is None or line > self._lines.line_at(max(instruction.start, instruction.end - 1)):
            return None
        return instruction

    def on_line(self, line: int) -> Iterator[Instruction]:
        """The instructions that begin on `line`, and else the one that it is part of."""
        begun = list(self.begun_on(line))
        around = None if begun else self.at_line(line)
        return iter(begun if around is None else [around])

    def begun_on(self, line: int) -> Iterator[Instruction]:
        """The instructions that begin on `line`."""
        places = self._places.lines
        found = map(self.at, range(bisect_left(places, line), bisect_right(places, line)))
        return (instruction for instruction in found if instruction is not None)

    def users(self, name: str) -> tuple[Instruction, ...]:
        """The instructions that have `name` as an operand, in the order of the text."""
        pattern = re.compile(re.escape(name_bytes(name)) + rb"(?![\w.\-])")
        places = set()
        for first, last in self._lines.blocks(self.computation.line, self.computation.last, _BLOCK):
            base = self._lines.start(first)
            data = self._source.read(base, self._lines.span(last)[1] - base)
            for match in pattern.finditer(data):
                # Looked at here: an expression that begins with a letter is found much faster.
                if match.start() == 0 or data[match.start() - 1] not in _IN_NAMES:
                    places.add(self._places.index(base + match.start()))
        found = (self.at(index) for index in sorted(places) if index >= 0)
        return tuple(instruction for instruction in found if instruction and name in instruction.operands)

    def names(self) -> Iterator[bytes]:
        """The name of each instruction, without taking it apart."""
        base, block = 0, b""
        for index in range(len(self)):
            start, _ = self._places.span(index)
            if start + _NAME_BYTES > base + len(block):
                base, block = start, self._source.read(start, min(_BLOCK, self._end - start))
            match = _NAME.match(block, start - base)
            yield match[1] if match else b""


class _ByName(Mapping[str, Instruction]):
    def __init__(self, body: Body) -> None:
        self._body = body
        self._index = NameIndex(array("q", map(hash, body.names())))

    def __getitem__(self, name: str) -> Instruction:
        for index in self._index.find(name):
            instruction = self._body.at(index)
            if instruction is not None and instruction.name == name:
                return instruction
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name.decode("utf-8", "replace") for name in self._body.names()))

    def __len__(self) -> int:
        return len(set(self._body.names()))


class _LinePlaces:
    """Every line between head and brace is one instruction."""

    def __init__(self, lines: LineIndex, computation: Computation) -> None:
        self.lines: Sequence[int] = range(computation.line + 1, computation.last)
        self._index = lines

    def span(self, index: int) -> tuple[int, int]:
        return self._index.span(self.lines[index])

    def index(self, offset: int) -> int:
        line = self._index.line_at(offset)
        return line - self.lines[0] if self.lines and line in self.lines else -1


class _FoundPlaces:
    """Where the line machine finds instructions, which may share lines or take several."""

    def __init__(self, source: Source, lines: LineIndex, outline: Outline, computation: Computation) -> None:
        finder = _Finder()
        machine = Structure(finder)
        if outline.is_nested(computation):
            machine.skip(True, b"calls=")
        for number in range(computation.line, computation.last + 1):
            start, end = lines.span(number)
            if number == computation.line:
                start = outline.start(computation)
            if number == computation.last:
                end = outline.end(computation)
            finder.line_start = start
            finder.line = source.read(start, min(end - start, _LONGEST))
            machine.feed(number, finder.line)
        self._index = lines
        self.lines: Sequence[int] = finder.lines
        self._starts = finder.starts
        self._end = finder.end if finder.end >= 0 else outline.end(computation)

    def span(self, index: int) -> tuple[int, int]:
        following = index + 1
        if following == len(self._starts):
            return self._starts[index], self._end
        line = self.lines[following]
        end = self._starts[following] if line == self.lines[index] else self._index.start(line)
        return self._starts[index], end

    def index(self, offset: int) -> int:
        return bisect_right(self._starts, offset) - 1 if offset < self._end else -1


_Places = _LinePlaces | _FoundPlaces


def _without_log_prefixes(data: bytes) -> bytes:
    """An instruction's text, of the lines after its first without what a log put before them."""
    first, *rest = data.split(b"\n")
    return b"\n".join([first, *(line[log_prefix(line) :] for line in rest)])


class _Finder:
    """Keeps the instructions of the first computation that the machine comes by."""

    def __init__(self) -> None:
        self._depth = 0
        self.line_start = 0
        self.line = b""
        self.lines = array("I")
        self.starts = array("Q")
        self.end = -1

    def header(self, _line: int, _text: bytes) -> None:
        """No header is expected inside of a computation."""

    def table(self, _line: int, _keyword: bytes) -> None:
        """Nor a table."""

    def opened(self, _line: int, _column: int, _name: bytes, _entry: bool, _nested: bool) -> None:
        """Go into a computation."""
        self._depth += 1

    def instruction(self, line: int, column: int) -> None:
        """Keep an instruction, but for those of nested computations and of what follows."""
        if self._depth == 1 and self.end < 0:
            self.lines.append(line)
            self.starts.append(self.line_start + column)

    def closed(self, _line: int, column: int) -> None:
        """Come out of a computation."""
        self._depth -= 1
        if self._depth == 0 and self.end < 0 and column >= 0:
            before = self.line[log_prefix(self.line) : column]
            self.end = self.line_start + column if before.strip() else self.line_start
