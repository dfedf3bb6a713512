"""Compact operands written out: `%t#0#1` is element 1 of element 0 of `%t`, whose own instructions a dump left away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from hlo_tui.hlo.body import Body
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.shape import Shape
from hlo_tui.hlo.source import BytesSource

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|%?([A-Za-z_][\w.\-]*)((?:#\d{1,9})+)', re.S)
MARK = ".element."


def is_compact(text: bytes) -> bool:
    """Whether any operand is written that way."""
    return b"#" in text and any(found[2] for found in _TOKEN.finditer(text))


def expand(text: bytes) -> bytes:
    """The text with an instruction for each element that is used, and its name in the operands.

    An element whose tuple is not in the computation, or not that long, stays as it is.
    """
    module = Module(BytesSource(text, "compact"))
    outline = module.scan()
    pieces, kept = [], 0
    for computation in outline.computations:
        for start, end, fresh in _expanded(text, module.body(computation)):
            pieces += [text[kept:start], fresh]
            kept = end
    return b"".join((*pieces, text[kept:]))


def _expanded(text: bytes, body: Body) -> Iterator[tuple[int, int, bytes]]:
    """Parts of the text and what takes their place: lines with compact operands, in order."""
    shapes = {instruction.name: instruction.shape for instruction in body.instructions}
    made: set[str] = set()
    for instruction in body.instructions:
        line = text[instruction.start : instruction.end]
        if b"#" not in line:
            continue
        before: list[str] = []
        fresh = _TOKEN.sub(partial(_name, shapes, made, before), line)
        if fresh != line:
            indent = _indent(text, instruction)
            yield instruction.start, instruction.end, f"\n{indent}".join([*before, ""]).encode() + fresh


def _indent(text: bytes, instruction: Instruction) -> str:
    begin = text.rfind(b"\n", 0, instruction.start) + 1
    return " " * (instruction.start - begin)


def _name(shapes: dict[str, Shape], made: set[str], before: list[str], found: re.Match[bytes]) -> bytes:
    if found[2] is None:
        return found.group()
    name = found[1].decode()
    shape = shapes.get(name)
    path = [int(number) for number in found[2].decode().split("#")[1:]]
    for place in path:
        if shape is None or place >= len(shape.elements):
            return found.group()
        shape = shape.elements[place]
        element = f"{name}{MARK}{place}"
        if element not in made:
            made.add(element)
            before.append(f"%{element} = {shape.text} get-tuple-element(%{name}), index={place}")
        name = element
    return f"%{name}".encode()
