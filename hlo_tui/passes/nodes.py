"""One instruction as comparing sees it: what its value depends on apart from what is only noted on it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from hlo_tui.hlo.attributes import CALL_ATTRIBUTES, parse_metadata, split_top
from hlo_tui.hlo.instruction import Instruction, parse_instruction
from hlo_tui.hlo.shape import parse_shape

LAYOUT = "layout"
METADATA = "metadata"
FRAME = "stack_frame_id"
# What an instruction's value does not depend on.
NOTES = frozenset((
    "sharding", METADATA, "frontend_attributes", "backend_config", "control-predecessors", "origin",
    "statistics", "operand_layout_constraints",
))  # fmt: skip
# The usual line of a dump; whatever else there is goes to the reader of all forms.
_USUAL = re.compile(
    r"\s*+(ROOT\s)?+%?([\w.\-]++) = ([a-z]\w*+\[[\d,]*+\])(\{[\d,]*+\})?+ ([a-z][\w\-]*+)"
    r"\(([\w.\-%, ]*+)\)(?:, (.*+))?+\s*+",
    re.S,
)
# An attribute without brackets in brackets, and without escapes in strings.
_ATTRIBUTE = re.compile(r'([\w\-]++)=(\{[^{}"]*+(?:"[^"\\]*+"[^{}"]*+)*+\}|[^,{}"\s]++)(?:, |\Z)')
_LAST_FRAME = re.compile(r" stack_frame_id=(\d{1,18})\}\Z")
_CALL_ATTRIBUTES = frozenset(CALL_ATTRIBUTES)
_NO_OPERANDS = frozenset(("constant", "parameter", "iota"))
_CALLED = re.compile(r"%?([A-Za-z_][\w.\-]*+)")
_NOTHING: Mapping[str, str] = MappingProxyType({})


class Parsed(NamedTuple):
    """An instruction's text, taken apart.

    Attributes:
        name: without percent sign.
        opcode: "" where it could not be read.
        shape: without layout.
        layout: the shape as written, with its layout.
        value: the literal of a constant, the number of a parameter; "" for what has operands.
        operands: their names, in order.
        called: the computations that it calls, in order.
        attributes: what its value depends on, by key; without the names of called computations.
        notes: the others, raw.
        frame: the number of its stack frame, 0 where there is none.
        is_root: whether ROOT stands before it.
        label: opcode, shape, value and attributes as one text: equal labels with equal operands compute the
            same.
    """

    name: str
    opcode: str
    shape: str
    layout: str
    value: str
    operands: tuple[str, ...]
    called: tuple[str, ...]
    attributes: Mapping[str, str]
    notes: Mapping[str, str]
    frame: int
    is_root: bool
    label: str


def read(row: bytes) -> Parsed | None:
    """Take apart the text of one instruction; None where it is none."""
    text = row.decode("utf-8", "replace")
    match = _USUAL.fullmatch(text)
    if match is None:
        instruction = parse_instruction(text)
        return None if instruction is None else from_instruction(instruction)
    root, name, shape, layout, opcode, inside, rest = match.groups()
    attributes, called = _sorted_out(rest) if rest else (_NOTHING, ())
    value = inside
    operands: tuple[str, ...] = ()
    if opcode not in _NO_OPERANDS:
        value = ""
        operands = tuple(part.strip(" %") for part in inside.split(",")) if inside else ()
    return _parsed(
        name, opcode, shape, shape + (layout or ""), value, operands, called, attributes, root is not None
    )


def from_instruction(instruction: Instruction) -> Parsed:
    """An instruction that was taken apart already."""
    value = "" if instruction.operands else instruction.operand_text.strip()
    attributes = {key: text for key, text in instruction.attributes.items() if key not in CALL_ATTRIBUTES}
    calls = [key for key in instruction.attributes if key in CALL_ATTRIBUTES]
    return _parsed(
        instruction.name,
        instruction.opcode,
        instruction.shape.without_layout(),
        instruction.shape.text,
        value,
        instruction.operands,
        instruction.called,
        attributes | dict.fromkeys(calls, ""),
        instruction.is_root,
    )


def _sorted_out(rest: str) -> tuple[dict[str, str], tuple[str, ...]]:
    """Attributes by key, those that name computations without the names, and the names."""
    attributes: dict[str, str] = {}
    called: list[str] = []
    for key, text in _split(rest):
        if key in _CALL_ATTRIBUTES:
            called += _CALLED.findall(text)
            attributes[key] = ""
        else:
            attributes[key] = text
    return attributes, tuple(called)


def _split(rest: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = _ATTRIBUTE.findall(rest)
    # Each has an equals sign, and a comma and a blank stand between two.
    if sum([len(key) + len(text) + 3 for key, text in found]) - 2 == len(rest):
        return found
    parts = (part.partition("=") for part in split_top(rest))
    return [(key.strip(), text.strip()) for key, equals, text in parts if equals]


def _parsed(
    name: str,
    opcode: str,
    shape: str,
    layout: str,
    value: str,
    operands: tuple[str, ...],
    called: tuple[str, ...],
    attributes: Mapping[str, str],
    is_root: bool,
) -> Parsed:
    frame = 0
    own, notes = attributes, _NOTHING
    if not NOTES.isdisjoint(attributes):
        notes = {key: text for key, text in attributes.items() if key in NOTES}
        own = {key: text for key, text in attributes.items() if key not in NOTES}
        if opcode == "custom-call" and "backend_config" in notes:
            # What the call does may depend on it.
            own["backend_config"] = notes.pop("backend_config")
        if FRAME in notes.get(METADATA, ""):
            frame = _frame(notes[METADATA])
    label = f"{opcode} {shape} {value}"
    if own:
        keys = sorted(own) if len(own) > 1 else own
        label += " " + ", ".join([f"{key}={own[key]}" for key in keys])
    return Parsed(name, opcode, shape, layout, value, operands, called, own, notes, frame, is_root, label)


def _frame(metadata: str) -> int:
    match = _LAST_FRAME.search(metadata)
    if match is not None:
        return int(match[1])
    found = parse_metadata(metadata).get(FRAME)
    return found if isinstance(found, int) else 0


def layout_text(shape: str) -> str:
    """A shape's layouts alone, "" where it has none: what differs between two that differ in layout only."""
    parsed, _ = parse_shape(shape)
    if parsed.elements:
        return ", ".join(layout_text(element.text) or "-" for element in parsed.elements)
    return parsed.layout
