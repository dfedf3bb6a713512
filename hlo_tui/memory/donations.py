"""Donated arguments that are copied all the same, or that no result lies in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hlo_tui.hlo.body import Body
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.numerals import number_of
from hlo_tui.hlo.shape import Shape
from hlo_tui.memory.report import Lost

_ALIASES = re.compile(r"input_output_alias=\{(.*?)\}(?=, \w+=|\s*\Z)", re.S)
_ALIAS = re.compile(r"\{([\d, ]*)\}: ?\((\d{1,9}), ?\{([\d, ]*)\}(?:, ?([\w-]+))?\)")
_DONORS = re.compile(r"buffer_donor=\{(.*?)\}(?=, \w+=|\s*\Z)", re.S)
_DONOR = re.compile(r"\((\d{1,9}), ?\{([\d, ]*)\}\)")
_PARAMETER = re.compile(rb"([A-Za-z_][\w.\-]*+) ?=[^\n]*? parameter\((\d{1,9})\)")
_BLOCK = 1 << 20
_COPIES = frozenset(("copy", "copy-start"))
_SAME_BYTES = frozenset(("bitcast", "opt-barrier"))
_READERS = 4
_DEEPEST = 16


@dataclass(frozen=True, slots=True)
class Alias:
    """A result that is to lie in an argument: parts of both as XLA writes them, "{}" for the whole."""

    output: str
    parameter: int
    index: str


def aliases(header: str) -> list[Alias]:
    """The aliases in the attributes of a module's header."""
    found = _ALIASES.search(header)
    if found is None:
        return []
    return [
        Alias(_index(output), int(number), _index(index))
        for output, number, index, _ in _ALIAS.findall(found[1] + "}")
    ]


def donors(header: str) -> list[tuple[int, str]]:
    """Arguments (number and part) that were donated and that no result lies in, as the header has them."""
    found = _DONORS.search(header)
    return [] if found is None else [(int(n), _index(index)) for n, index in _DONOR.findall(found[1] + "}")]


def lost(module: Module) -> list[Lost]:
    """The donations of a scanned module that are lost, the largest first."""
    outline = module.outline
    if outline is None or outline.entry is None:
        return []
    given, unused = aliases(outline.header.attributes), donors(outline.header.attributes)
    if not given and not unused:
        return []
    body = module.body(outline.entry)
    parameters = _parameters(module, body)
    found = []
    for alias in given:
        parameter = parameters.get(alias.parameter)
        if parameter is None:
            continue
        copies, readers = _uses(module, body, parameter, alias.index)
        if copies:
            found.append(_lost(parameter, alias.parameter, alias.index, alias.output, copies, readers))
    for number, index in unused:
        parameter = parameters.get(number)
        if parameter is not None:
            found.append(_lost(parameter, number, index, "", [], []))
    return sorted(found, key=lambda one: -one.size)


def _parameters(module: Module, body: Body) -> dict[int, Instruction]:
    """The parameters of a computation by number, without taking everything else in it apart."""
    found: dict[int, Instruction] = {}
    lines = module.lines
    if lines is None:
        return found
    for first, last in lines.blocks(body.computation.line, body.computation.last, _BLOCK):
        base = lines.start(first)
        block = module.source.read(base, lines.span(last)[1] - base)
        for match in _PARAMETER.finditer(block):
            one = body.by_name.get(match[1].decode("utf-8", "replace"))
            if one is not None and one.opcode == "parameter":
                found.setdefault(int(match[2]), one)
    return found


def _lost(
    parameter: Instruction,
    number: int,
    index: str,
    output: str,
    copies: list[Instruction],
    readers: list[Instruction],
) -> Lost:
    return Lost(
        number,
        index,
        parameter.name,
        _part(parameter.shape, index).byte_size,
        output,
        tuple(copy.name for copy in copies),
        tuple(reader.name for reader in readers[:_READERS]),
        parameter.op_name,
        copies[0].line if copies else parameter.line,
    )


def _index(text: str) -> str:
    return "{" + ",".join(part.strip() for part in text.split(",") if part.strip()) + "}"


def _part(shape: Shape, index: str) -> Shape:
    for part in index.strip("{}").split(","):
        at = number_of(part)
        if at is not None and at < len(shape.elements):
            shape = shape.elements[at]
    return shape


def _uses(
    module: Module, body: Body, parameter: Instruction, index: str
) -> tuple[list[Instruction], list[Instruction]]:
    """What copies an argument, and what else reads it."""
    copies, readers = [], []
    for user, operand in _users(body, parameter, [at for at in index.strip("{}").split(",") if at], 0):
        if user.opcode in _COPIES or _is_copying_fusion(module, user, operand):
            copies.append(user)
        elif user.opcode != "tuple":
            readers.append(user)
    return copies, readers


def _users(body: Body, value: Instruction, index: list[str], depth: int) -> Iterator[tuple[Instruction, str]]:
    """What uses a part of a value, through everything that only gives the same bytes on; and as which operand."""
    for user in body.users(value.name):
        if user.opcode == "get-tuple-element":
            if index and user.attributes.get("index") == index[0] and depth < _DEEPEST:
                yield from _users(body, user, index[1:], depth + 1)
        elif user.opcode in _SAME_BYTES and depth < _DEEPEST:
            yield from _users(body, user, index, depth + 1)
        else:
            yield user, value.name


def _is_copying_fusion(module: Module, user: Instruction, operand: str) -> bool:
    """Whether a fusion does nothing but copy that operand."""
    if user.opcode != "fusion" or not user.called:
        return False
    try:
        inner = module.body(user.called[0])
    except KeyError:
        return False
    if len(inner) > _DEEPEST:
        return False
    root = inner.root
    source = inner.by_name.get(root.operands[0]) if root is not None and root.operands else None
    while source is not None and source.opcode in _SAME_BYTES and source.operands:
        source = inner.by_name.get(source.operands[0])
    if root is None or root.opcode != "copy" or source is None or source.opcode != "parameter":
        return False
    number = number_of(source.operand_text)
    return number is not None and user.operands[number : number + 1] == (operand,)
