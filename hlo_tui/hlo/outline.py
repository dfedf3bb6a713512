"""The outline of one module: its header, computations and landmarks, found in one linear pass."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, count
from operator import add
from typing import overload

from hlo_tui.hlo.attributes import CALL_ATTRIBUTES
from hlo_tui.hlo.header import Header, parse_header
from hlo_tui.hlo.instruction import parse_opcode
from hlo_tui.hlo.landmarks import ENTRY, FRAGMENT, NESTED, Landmarks, NameIndex, nested_name
from hlo_tui.hlo.lines import LineIndex
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.structure import Structure, complete, head_name, log_prefix

_BLOCK = 1 << 20
# Below this size every line goes through the machine, which also knows what only people write.
_FAST_FROM = 1 << 18
_NAME_BYTES = 4096
# Enough for an instruction up to its opcode, unless its shape is a tuple of hundreds.
_CALL_BYTES, _LONG_CALL_BYTES = 1 << 12, 1 << 20
# Only damaged calls make it necessary to look at more than one.
_CALLERS = 8
# The usual border of two computations is taken in one match.
_IRREGULAR = re.compile(rb"\n(?:\}\n\n)?(?! ++(?:ROOT )?+%?[A-Za-z_][\w.\-]*+ = )")
_REGULAR = re.compile(rb" ++(?:ROOT )?+%?[A-Za-z_][\w.\-]*+ = ")
_THREAD = re.compile(rb'execution_thread="([^"]*)"')
_KINDS = {"conditional": "conditional branch", "all-reduce-start": "all-reduce"}


@dataclass(frozen=True, slots=True)
class Computation:
    """One computation and its place in the text.

    Attributes:
        index: its number in the order of the text.
        name: without the percent sign; `_`, `_.1` ... for those written inside of an instruction, "" for
            instructions that have lost their head.
        line: the line of its head, from 0.
        last: the line of its closing brace.
        instructions: how many there are in it, without those of nested computations.
        is_entry: whether ENTRY is before it.
        execution_thread: "" for the main thread.
    """

    index: int
    name: str
    line: int
    last: int
    instructions: int
    is_entry: bool
    execution_thread: str = ""


class Computations(Sequence[Computation]):
    """The computations in the order of the text; each is read from the source when it is asked for."""

    def __init__(self, source: Source, lines: LineIndex, marks: Landmarks) -> None:
        self._source = source
        self._lines = lines
        self._marks = marks

    def __len__(self) -> int:
        return len(self._marks.lines)

    @overload
    def __getitem__(self, index: int) -> Computation: ...

    @overload
    def __getitem__(self, index: slice) -> list[Computation]: ...

    def __getitem__(self, index: int | slice) -> Computation | list[Computation]:
        positions = range(len(self))[index]
        return self._at(positions) if isinstance(positions, int) else [self._at(at) for at in positions]

    def __iter__(self) -> Iterator[Computation]:
        return map(self._at, range(len(self)))

    def _at(self, index: int) -> Computation:
        marks = self._marks
        last = marks.lasts[index]
        return Computation(
            index=index,
            name=self._name(index),
            line=marks.lines[index],
            last=last,
            instructions=marks.counts[index],
            is_entry=bool(marks.flags[index] & ENTRY),
            execution_thread=self._thread(last),
        )

    def _name(self, index: int) -> str:
        flags = self._marks.flags[index]
        if flags & FRAGMENT:
            return ""
        if flags & NESTED:
            return nested_name(self._marks.nested.get(index, 0))
        start = self._lines.start(self._marks.lines[index]) + self._marks.columns.get(index, 0)
        head = self._source.read(start, _NAME_BYTES)
        return head_name(head).decode("utf-8", "replace")

    def _thread(self, last: int) -> str:
        start, end = self._lines.span(last)
        if end - start < len('execution_thread="'):
            return ""
        match = _THREAD.search(self._source.read(start, min(end - start, _NAME_BYTES)))
        return match[1].decode("utf-8", "replace") if match else ""


class Outline:
    """What a scan found in a module.

    Attributes:
        header: the module's header.
        computations: all of them, in the order of the text.
        entry: the entry computation; the last one where none is marked, None where there are none.
        instructions: how many there are in the whole module.
        elided_constants: constants whose values were left out of the text.
        tagged: lines that hold frontend attributes of instructions.
        tables: the line of the keyword of each stack frame table.
        complete: False where the scan was stopped before the end.
    """

    def __init__(self, source: Source, lines: LineIndex, marks: Landmarks, complete: bool) -> None:
        self._source = source
        self._lines = lines
        self._marks = marks
        self._names = NameIndex(marks.names)
        self._callees = NameIndex(marks.callees)
        missing = marks.header_last < 0
        self.header = Header() if missing else parse_header(marks.header_text.decode("utf-8", "replace"))
        self.computations: Sequence[Computation] = Computations(source, lines, marks)
        self.entry = self.computations[at] if (at := _entry(marks)) >= 0 else None
        self.instructions = sum(marks.counts)
        self.elided_constants = marks.elided
        self.tagged: Sequence[int] = marks.tagged[bisect_right(marks.tagged, marks.header_last) :]
        self.tables = marks.tables
        self.complete = complete
        # Computations that follow one another are often called by one instruction.
        self._last_opcode = (-1, "")

    def by_name(self, name: str) -> Computation | None:
        """The first computation called `name` (without percent sign), or None."""
        for index in self._names.find(name):
            computation = self.computations[index]
            if computation.name == name:
                return computation
        return None

    def at_line(self, line: int) -> Computation | None:
        """The innermost computation that `line` is part of, or None."""
        index = bisect_right(self._marks.lines, line) - 1
        while index >= 0:
            if line <= self._marks.lasts[index]:
                return self.computations[index]
            index = self._marks.outer.get(index, -1)
        return None

    def all_at_line(self, line: int) -> list[Computation]:
        """Every computation that `line` is part of, in the order of the text: people write several on one."""
        marks = self._marks
        found = []
        index = bisect_right(marks.lines, line) - 1
        while index >= 0 and marks.lines[index] == line:
            found.append(index)
            index -= 1
        # Of those that begin before the line only the last one, and what is around it, can be open there.
        while index >= 0:
            if line <= marks.lasts[index]:
                found.append(index)
            index = marks.outer.get(index, -1)
        return [self.computations[index] for index in reversed(found)]

    def start(self, computation: Computation) -> int:
        """The offset in the source at which `computation` begins."""
        return self._start(computation.index)

    def _start(self, index: int) -> int:
        return self._lines.start(self._marks.lines[index]) + self._marks.columns.get(index, 0)

    def end(self, computation: Computation) -> int:
        """The offset of the end of its last line, or of the next computation that begins on that line."""
        following = self._behind(computation.index)
        if following < len(self._marks.lines) and self._marks.lines[following] == computation.last:
            return self._start(following)
        return self._lines.span(computation.last)[1]

    def _behind(self, index: int) -> int:
        """The place of the next computation that is not written inside of the one at `index`."""
        following = index + 1
        while self._marks.outer.get(following, -1) >= index:
            following += 1
        return following

    def is_nested(self, computation: Computation) -> bool:
        """Whether `computation` is written inside of an instruction."""
        return computation.index in self._marks.outer

    def nested(self, computation: Computation) -> list[Computation]:
        """The computations that are written inside of instructions of `computation` itself."""
        inside = range(computation.index + 1, self._behind(computation.index))
        outer = self._marks.outer
        return [self.computations[index] for index in inside if outer[index] == computation.index]

    def calls(self, computation: Computation, most: int | None = None) -> list[tuple[int, str]]:
        """Where `computation` is called: the line on which the instruction begins, and its attribute.

        `most` limits how many are given.
        """
        marks = self._marks
        found = self._callees.find(computation.name)[:most]
        return [(marks.call_lines[at], CALL_ATTRIBUTES[marks.call_keys[at]]) for at in found]

    def kind(self, computation: Computation) -> str:
        """What `computation` is for, in XLA's words: "entry", "fusion", "while body", its caller's opcode;
        "called" where that cannot be read, "unused", or "fragment" where its head is lost."""
        flags = self._marks.flags[computation.index]
        if flags & ENTRY:
            return "entry"
        if flags & FRAGMENT:
            return "fragment"
        calls = self.calls(computation, _CALLERS)
        for line, attribute in calls:
            opcode = self._opcode(line)
            if opcode == "while":
                return f"while {attribute}"
            if opcode.startswith("async-") or (attribute == "calls" and opcode.endswith("-start")):
                return "async"
            if opcode:
                return _KINDS.get(opcode, opcode)
        if self.entry is not None and self.entry.index == computation.index:
            return "entry"
        return "called" if calls else "unused"

    def _opcode(self, line: int) -> str:
        if self._last_opcode[0] != line:
            self._last_opcode = (line, self._read_opcode(line))
        return self._last_opcode[1]

    def _read_opcode(self, line: int) -> str:
        start, end = self._lines.span(line)
        opcode = ""
        for length in (_CALL_BYTES, min(end - start, _LONG_CALL_BYTES)):
            data = self._source.read(start, length)
            opcode = parse_opcode(data[log_prefix(data) :].decode("utf-8", "replace"))
            if opcode or end - start <= _CALL_BYTES:
                break
        return opcode


def _entry(marks: Landmarks) -> int:
    if ENTRY in marks.flags:
        return marks.flags.index(ENTRY)
    at = len(marks.flags) - 1
    while at >= 0 and marks.flags[at] & NESTED:
        at -= 1
    return at


def scan(
    source: Source,
    progress: Callable[[int, int], None] | None = None,
    stop: Callable[[], bool] | None = None,
) -> tuple[LineIndex, Outline]:
    """Read the whole of `source` once and find its lines and its outline.

    `progress` is told bytes done and bytes in all, every megabyte; when `stop` gives True the scan ends early
    and the outline says that it is not complete. Memory goes by lines and computations, not by bytes.
    """
    scanner = _Scanner(source)
    complete = True
    while scanner.step():
        if progress is not None:
            progress(scanner.offset, source.size)
        if stop is not None and stop():
            complete = False
            break
    return scanner.lines, Outline(source, scanner.lines, scanner.finish(), complete)


class _Scanner:
    """Reads block by block; whole blocks of the usual form are taken without looking at each line."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._marks = Landmarks()
        self._machine = Structure(self._marks)
        self._fast = source.size >= _FAST_FROM
        self.lines = LineIndex()
        self.offset = 0

    def step(self) -> bool:
        """Take the next block; False where there is none."""
        data = self._source.read(self.offset, _BLOCK)
        if not data:
            return False
        end = data.rfind(b"\n") + 1
        if end == 0 and len(data) == _BLOCK:
            self._long_line(data)
        else:
            self._block(data[:end] if end else data)
        return True

    def finish(self) -> Landmarks:
        """End what is open and give what was found."""
        self._machine.finish(max(0, self.lines.count - 1))
        return self._marks

    def _block(self, block: bytes) -> None:
        lines = block.split(b"\n")
        if not lines[-1]:
            lines.pop()
        base = self.offset
        starts = array("Q", map(add, accumulate(map(len, lines), initial=0), count(base)))
        starts.pop()
        first = self.lines.count
        self.offset += len(block)
        self.lines.extend(starts, max(map(len, lines)), self.offset, block.endswith(b"\n"))
        if self._fast and self._machine.clean and self._usual(block, lines, starts, first):
            self._machine.skip(self._marks.inside, lines[-1])
            self._marks.look_at_block(block, base, starts, first)
            return
        for number, line in enumerate(lines, first):
            self._machine.feed(number, line)
            self._marks.look(number, line)

    def _usual(self, block: bytes, lines: list[bytes], starts: array[int], first: int) -> bool:
        """Whether every line is an instruction, a head or an end of a computation; then they are taken."""
        if _REGULAR.match(lines[-1]) and not complete(lines[-1]):
            return False
        irregular = [] if _REGULAR.match(block) else [0]
        at = 0
        for match in _IRREGULAR.finditer(block):
            at = bisect_left(starts, starts[0] + match.end(), at)
            if match.end() - match.start() > 1:
                irregular += (at - 2, at - 1)
            if at < len(lines):
                irregular.append(at)
        return self._marks.take_lines(lines, irregular, first)

    def _long_line(self, part: bytes) -> None:
        """Take one line that is longer than a block, part by part; the first is given."""
        start = at = self.offset
        number = self.lines.count
        newline = -1
        while part:
            newline = part.find(b"\n")
            last = newline >= 0 or len(part) < _BLOCK
            if newline >= 0:
                part = part[:newline]
            elif not last:
                # Behind a comma no token is cut in two.
                part = part[: part.rfind(b",", len(part) - _NAME_BYTES) + 1] or part
            if at == start:
                self._machine.feed(number, part, last)
            else:
                self._machine.feed_more(number, part, last)
            self._marks.look(number, part)
            at += len(part)
            part = b"" if last else self._source.read(at, _BLOCK)
        self.offset = at + (newline >= 0)
        self.lines.extend(array("Q", [start]), at - start, self.offset, newline >= 0)
