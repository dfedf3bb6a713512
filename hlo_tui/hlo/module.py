"""One module to read from: its lines, outline, computations and instructions, each found when asked for."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from operator import attrgetter
from threading import Lock

from hlo_tui.hlo.body import Body
from hlo_tui.hlo.frames import SourceFrame, StackFrames, inline_frame
from hlo_tui.hlo.header import Header
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.landmarks import name_bytes
from hlo_tui.hlo.lines import LineIndex
from hlo_tui.hlo.outline import Computation, Outline, scan
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.tags import Tag
from hlo_tui.hlo.visible import decode

_BLOCK = 1 << 18
_HEAD_BYTES = 1 << 16
_HEAD_COLUMNS = 4096
_KEPT_BYTES = 1 << 26


class Module:
    """A module's text. Before `scan` only `source` and `head` are of use; the rest raises RuntimeError.

    One thread may scan while others use `head`; after that any number of threads may read.

    Attributes:
        source: the bytes.
        name: what the module is called: by its header once it is scanned, by its source before.
        format: what the bytes were before they were text: "text", "hlo proto" and so on.
        lines: the line index, None until scanned.
        outline: the outline, None until scanned.
    """

    def __init__(self, source: Source, format: str = "text") -> None:
        self.source = source
        self.name = source.name
        self.format = format
        self.lines: LineIndex | None = None
        self.outline: Outline | None = None
        self._bodies: OrderedDict[int, Body] = OrderedDict()
        self._kept_bytes = 0
        self._lock = Lock()
        self._frames: StackFrames | None = None

    def scan(
        self, progress: Callable[[int, int], None] | None = None, stop: Callable[[], bool] | None = None
    ) -> Outline:
        """Find lines and outline in one pass, see `outline.scan`; gives the outline, perhaps not complete."""
        lines, outline = scan(self.source, progress, stop)
        with self._lock:
            self._bodies.clear()
            self._kept_bytes = 0
        self._frames = StackFrames(self.source, lines, outline.tables)
        self.name = outline.header.name or self.name
        self.lines, self.outline = lines, outline
        return outline

    @property
    def header(self) -> Header:
        """The header; an empty one before the scan."""
        return self.outline.header if self.outline is not None else Header()

    def head(self, rows: int) -> list[str]:
        """The first `rows` lines, each bounded, from the first bytes: for a first look before the scan."""
        lines = self.source.read(0, _HEAD_BYTES).split(b"\n", rows)[:rows]
        return [_text(line[:_HEAD_COLUMNS]) for line in lines]

    def raw(self, line: int, start: int = 0, length: int | None = None) -> bytes:
        """Bytes of `line` without its newline, from column `start`; nothing for a line that is not there."""
        lines, _ = self._scanned()
        if not 0 <= line < lines.count or start < 0:
            return b""
        begin, end = lines.span(line)
        stop = end if length is None else min(end, begin + start + length)
        return self.source.read(begin + start, stop - begin - start)

    def text(self, line: int) -> str:
        """`line` as text that is safe to show; a column is a byte where it is ASCII, a tab is a blank."""
        return _text(self.raw(line))

    def body(self, computation: Computation | str) -> Body:
        """The instructions of a computation, or of the one with that name.

        Raises:
            KeyError: no computation has that name.
        """
        lines, outline = self._scanned()
        if isinstance(computation, str):
            found = outline.by_name(computation)
            if found is None:
                raise KeyError(computation)
            computation = found
        with self._lock:
            body = self._bodies.get(computation.index)
            if body is not None:
                self._bodies.move_to_end(computation.index)
                return body
        body = Body(self.source, lines, outline, computation)
        with self._lock:
            # Another thread may have made it meanwhile.
            if self._bodies.setdefault(computation.index, body) is body:
                self._kept_bytes += body.bytes
            while len(self._bodies) > 1 and self._kept_bytes > _KEPT_BYTES:
                self._kept_bytes -= self._bodies.popitem(last=False)[1].bytes
        return body

    def instruction_at(self, line: int) -> Instruction | None:
        """The instruction that `line` is part of, or None."""
        _, outline = self._scanned()
        computation = outline.at_line(line)
        return None if computation is None else self.body(computation).at_line(line)

    def find(self, name: str, computation: Computation | str | None = None) -> Instruction | None:
        """The instruction called `name` in a computation, or the first in the module; None without one."""
        if computation is not None:
            try:
                return self.body(computation).by_name.get(name)
            except KeyError:
                return None
        text = re.escape(name_bytes(name))
        # The name first, which is found fast, and only then that it is no end of another word, such as `metadata=`.
        pattern = re.compile(text + rb"(?<![\w.\-]" + text + rb")\s*+=(?!=)")
        line = self.search(pattern)
        while line is not None:
            for around in self._outline.all_at_line(line):
                for instruction in self.body(around).begun_on(line):
                    if instruction.name == name:
                        return instruction
            line = self.search(pattern, line + 1)
        return None

    def users(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """The instructions that use its value, in the order of the text."""
        body = self._around(instruction)
        return () if body is None else body.users(instruction.name)

    def operands(self, instruction: Instruction) -> tuple[Instruction, ...]:
        """The instructions whose values it uses, as far as they are there."""
        body = self._around(instruction)
        found = () if body is None else map(body.by_name.get, instruction.operands)
        return tuple(operand for operand in found if operand is not None)

    def definition_line(self, name: str, near_line: int) -> int | None:
        """The line that defines `name`: in the computation at `near_line`, else a computation, else any."""
        near = self._outline.at_line(near_line)
        found = None if near is None else self.body(near).by_name.get(name)
        if found is not None:
            return found.line
        computation = self._outline.by_name(name)
        if computation is not None:
            return computation.line
        found = self.find(name)
        return None if found is None else found.line

    def callers(self, computation: Computation | str) -> tuple[Instruction, ...]:
        """The instructions that call a computation, in the order of the text."""
        if isinstance(computation, str):
            found = self._outline.by_name(computation)
            if found is None:
                return ()
            computation = found
        callers: dict[int, Instruction] = {}
        for line in dict.fromkeys(line for line, _ in self._outline.calls(computation)):
            for around in self._outline.all_at_line(line):
                for instruction in self.body(around).on_line(line):
                    if computation.name in instruction.called:
                        callers[instruction.start] = instruction
        return tuple(callers.values())

    def frames(self, instruction: Instruction) -> tuple[SourceFrame, ...]:
        """The source frames of an instruction, innermost first; none where the text has none."""
        found = self._frames.frames(instruction.stack_frame_id) if self._frames is not None else ()
        return found or inline_frame(instruction.metadata)

    def frame_ids(self, wanted: Callable[[SourceFrame], bool]) -> tuple[int, ...]:
        """The stack frame ids whose innermost frame is wanted; none where the text has no tables."""
        return () if self._frames is None else tuple(self._frames.ids(wanted))

    def tagged(self) -> Iterator[Instruction]:
        """The instructions with frontend attributes, in the order of the text."""
        seen: set[int] = set()
        for line in self._outline.tagged:
            around = self._outline.all_at_line(line)
            found = [one for computation in around for one in self.body(computation).on_line(line)]
            for instruction in sorted(found, key=attrgetter("start")):
                if instruction.frontend_attributes and instruction.start not in seen:
                    seen.add(instruction.start)
                    yield instruction

    def tags(self) -> list[Tag]:
        """Every frontend attribute of every instruction, those of compilers too, in the order of the text."""
        return [tag for instruction in self.tagged() for tag in self.tags_of(instruction)]

    def tags_of(self, instruction: Instruction) -> list[Tag]:
        """The frontend attributes of one instruction, with where it comes from."""
        frames = self.frames(instruction) if instruction.frontend_attributes else ()
        return [
            Tag(
                key=key,
                value=value,
                instruction=instruction.name,
                computation=instruction.computation,
                opcode=instruction.opcode,
                op_name=instruction.op_name,
                file=frames[0].file if frames else "",
                line=frames[0].line if frames else 0,
            )
            for key, value in instruction.frontend_attributes.items()
        ]

    def search(
        self,
        pattern: re.Pattern[bytes] | bytes,
        start_line: int = 0,
        forward: bool = True,
        stop: Callable[[], bool] | None = None,
    ) -> int | None:
        """The first line from `start_line` on (or back) in which `pattern` is found, or None.

        Plain bytes are taken literally; `^` and `$` are the ends of a line. `stop` is asked every 256 KiB.
        """
        lines, _ = self._scanned()
        text = re.escape(pattern) if isinstance(pattern, bytes) else pattern.pattern
        flags = re.MULTILINE if isinstance(pattern, bytes) else pattern.flags | re.MULTILINE
        matcher = re.compile(text, flags)
        if forward:
            blocks = lines.blocks(max(0, start_line), lines.count - 1, _BLOCK)
        else:
            blocks = lines.blocks_back(min(start_line, lines.count - 1), _BLOCK)
        for first, last in blocks:
            if stop is not None and stop():
                return None
            base = lines.start(first)
            found = -1
            for match in matcher.finditer(self.source.read(base, lines.span(last)[1] - base)):
                found = match.start()
                if forward:
                    break
            if found >= 0:
                return lines.line_at(base + found)
        return None

    @property
    def _outline(self) -> Outline:
        return self._scanned()[1]

    def _scanned(self) -> tuple[LineIndex, Outline]:
        if self.lines is None or self.outline is None:
            raise RuntimeError("the module has not been scanned")
        return self.lines, self.outline

    def _around(self, instruction: Instruction) -> Body | None:
        for computation in self._outline.all_at_line(instruction.line):
            if computation.name == instruction.computation:
                return self.body(computation)
        return None


def _text(line: bytes) -> str:
    return decode(line.removesuffix(b"\r").replace(b"\t", b" "))
