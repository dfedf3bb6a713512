"""The module's text beside its memory: each value's instruction, line, op_name and place in the program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from hlo_tui.hlo.body import Body
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.numerals import number_of
from hlo_tui.hlo.outline import Outline
from hlo_tui.hlo.scopes import own_frame
from hlo_tui.hlo.shape import Shape
from hlo_tui.memory.report import Owner

_BLOCK = 1 << 20
_DEFINITION = re.compile(rb"^[ \t]*(?:ROOT )?%?([A-Za-z_][\w.\-]*+) ?=(?!=)", re.MULTILINE)
_LOOP = ("while body", "while condition")
_THROUGH = frozenset(("copy", "bitcast", "opt-barrier", "optimization-barrier"))
_HANDED_ON = frozenset(("get-tuple-element", "parameter"))
_DEEPEST = 8
# Bytes of a loop's body that are looked through for what it carries.
_LARGEST = 1 << 24


class Code:
    """A scanned module, asked for many instructions at once."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._lines: dict[str, int] = {}

    @property
    def outline(self) -> Outline:
        """The module's outline."""
        assert self.module.outline is not None
        return self.module.outline

    def find_lines(self, names: Iterable[str], stop: Callable[[], bool] | None = None) -> dict[str, int]:
        """The lines (from 0) on which the names are defined, found in one pass over the text."""
        wanted = {name for name in names if name not in self._lines}
        lines = self.module.lines
        if wanted and lines is not None and lines.count:
            for first, last in lines.blocks(0, lines.count - 1, _BLOCK):
                if stop is not None and stop():
                    break
                base = lines.start(first)
                block = self.module.source.read(base, lines.span(last)[1] - base)
                for match in _DEFINITION.finditer(block):
                    name = match[1].decode("utf-8", "replace")
                    if name in wanted:
                        self._lines.setdefault(name, lines.line_at(base + match.start(1)))
        return self._lines

    def instruction(self, name: str) -> Instruction | None:
        """The instruction of that name, None where the text has none."""
        line = self.find_lines((name,)).get(name)
        found = None if line is None else self.module.instruction_at(line)
        if found is not None and found.name == name:
            return found
        return self.module.find(name)

    def owner(self, size: int, label: str, kind: str, why: str, shape: str = "") -> Owner:
        """An owner with everything that the text knows of it; what a loop carries is known by what makes it."""
        name = label.partition("{")[0]
        found = self.instruction(name)
        if found is None:
            return Owner(size, label, name, shape=shape, kind=kind, why=why)
        maker = self._maker(found, label[len(name) :])
        if maker is not None:
            why = "; ".join(filter(None, (f"carried by a loop, made by %{maker.name}", why)))
        part = _part(found.shape, label[len(name) :])
        padding = size - part.byte_size if "T(" in part.layout else 0
        if padding > 0:
            why = "; ".join(filter(None, (why, f"{padding:,} bytes of it are padding")))
        named = maker if maker is not None and (maker.op_name or not found.op_name) else found
        frame = own_frame(self.module.frames(named))
        return Owner(
            size=size,
            label=label.removesuffix("{}"),
            instruction=found.name,
            computation=found.computation,
            opcode=found.opcode,
            shape=shape or part.text,
            op_name=named.op_name,
            file=frame.file if frame is not None else "",
            line=frame.line if frame is not None else 0,
            function=frame.function if frame is not None else "",
            kind=kind,
            why=why,
            code_line=found.line,
            unpadded=part.byte_size if padding > 0 else None,
        )

    def _maker(self, found: Instruction, index: str) -> Instruction | None:
        """For a part of what a loop carries the instruction that makes it: in the loop's body, or before it where the
        body only hands it on; None for everything else."""
        loop = found if found.opcode == "while" else self._loop_of(found)
        part = number_of(index.strip("{}").partition(",")[0])
        if loop is None or part is None:
            return None
        body = self._body(loop.attributes.get("body", ""))
        made = self._element(body, body.root, part) if body is not None else None
        if made is not None and made.opcode not in _HANDED_ON:
            return made
        around = self._body(loop.computation)
        begun = around.by_name.get(loop.operands[0]) if around is not None and loop.operands else None
        return self._element(around, begun, part) if around is not None else None

    def _loop_of(self, found: Instruction) -> Instruction | None:
        """The loop whose body or condition has this parameter."""
        around = self.outline.by_name(found.computation) if found.opcode == "parameter" else None
        if around is None or self.outline.kind(around) not in _LOOP:
            return None
        return next((one for one in self.module.callers(around) if one.opcode == "while"), None)

    def _body(self, name: str) -> Body | None:
        try:
            body = self.module.body(name.lstrip("%"))
        except KeyError:
            return None
        return body if body.bytes <= _LARGEST else None

    @staticmethod
    def _element(body: Body, whole: Instruction | None, part: int) -> Instruction | None:
        """What makes one element of a tuple, through copies of the whole and of the element."""
        for _ in range(_DEEPEST):
            if whole is None or whole.opcode not in _THROUGH or not whole.operands:
                break
            whole = body.by_name.get(whole.operands[0])
        if whole is None or whole.opcode != "tuple" or part >= len(whole.operands):
            return None
        element = body.by_name.get(whole.operands[part])
        for _ in range(_DEEPEST):
            if element is None or element.opcode not in _THROUGH or not element.operands or element.op_name:
                break
            element = body.by_name.get(element.operands[0])
        return element


def _part(shape: Shape, index: str) -> Shape:
    """A part of a result's shape, the whole where there is no such part."""
    part = shape
    for at in index.strip("{}").split(","):
        if not at.strip():
            continue
        number = number_of(at)
        if number is None or number >= len(part.elements):
            return shape
        part = part.elements[number]
    return part
