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
_SIZE = r"(?:0|[1-9]\d{0,17}+)"
_ELEMENT = rf"[a-z]\w*+\[(?:{_SIZE}(?:,{_SIZE})*+)?+\](?:\{{[\d,]*+\}})?+"
_COUNT = r"/\*index=\d++\*/"
_USUAL = re.compile(
    r"\s*+(ROOT\s)?+%?([\w.\-]++) = "
    rf"([a-z]\w*+\[[\d,]*+\]|\({_ELEMENT}(?:, (?:{_COUNT})?+{_ELEMENT})*+\)(?!\{{))(\{{[\d,]*+\}})?+ "
    rf"([a-z][\w\-]*+)\(((?:[\w.\-%, ]++|{_COUNT})*+)\)(?:, (.*+))?+\s*+",
    re.S,
)
_COUNTS = re.compile(_COUNT)
_NOT_SHAPE = re.compile(rf"\{{[\d,]*+\}}|{_COUNT}")
# An attribute without brackets in brackets, and without escapes in strings.
_ATTRIBUTE = re.compile(r'([\w\-]++)=(\{[^{}"]*+(?:"[^"\\]*+"[^{}"]*+)*+\}|[^,{}"\s]++)(?:, |\Z)')
_LAST_FRAME = re.compile(r" stack_frame_id=(\d{1,18})\}\Z")
_CALL_ATTRIBUTES = frozenset(CALL_ATTRIBUTES)
_NO_OPERANDS = frozenset(("constant", "parameter", "iota"))
_CALLED = re.compile(r"%?([A-Za-z_][\w.\-]*+)")
_NOTHING: Mapping[str, str] = MappingProxyType({})
_CUSTOM_CALL = "custom-call"


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


class Tail(NamedTuple):
    """What stands behind an instruction's operands, taken apart: very many lines of a module have the same.

    Attributes:
        called, attributes, notes, frame: as in `Parsed`.
        label: what the attributes add to the label.
    """

    called: tuple[str, ...]
    attributes: Mapping[str, str]
    notes: Mapping[str, str]
    frame: int
    label: str


_NO_TAIL = Tail((), _NOTHING, _NOTHING, 0, "")


def read(row: bytes, tails: dict[str, Tail] | None = None) -> Parsed | None:
    """Take apart the text of one instruction; None where it is none.

    Args:
        row: the text.
        tails: what was read of other lines; gains what is read of this one.
    """
    text = row.decode("utf-8", "replace")
    match = _USUAL.fullmatch(text)
    if match is None:
        instruction = parse_instruction(text)
        return None if instruction is None else from_instruction(instruction)
    root, name, shape, layout, opcode, inside, rest = match.groups()
    layout = shape + (layout or "")
    if shape.startswith("("):
        shape = _NOT_SHAPE.sub("", shape)
    tail = _read_tail(rest, opcode, tails) if rest else _NO_TAIL
    value = inside
    operands: tuple[str, ...] = ()
    if opcode not in _NO_OPERANDS:
        value = ""
        inside = _COUNTS.sub("", inside) if "/" in inside else inside
        operands = tuple([part.strip(" %") for part in inside.split(",")]) if inside else ()
    return _parsed(name, opcode, shape, layout, value, operands, tail, root is not None)


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
        _tail(instruction.opcode, instruction.called, attributes | dict.fromkeys(calls, "")),
        instruction.is_root,
    )


def _read_tail(rest: str, opcode: str, tails: dict[str, Tail] | None) -> Tail:
    # What is said of a custom call counts in another way.
    if tails is None or opcode == _CUSTOM_CALL:
        return _tail(opcode, *_sorted_out(rest))
    tail = tails.get(rest)
    if tail is None:
        tail = tails[rest] = _tail(opcode, *_sorted_out(rest))
    return tail


def _sorted_out(rest: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The names of computations, and attributes by key, those that name computations without the names."""
    attributes: dict[str, str] = {}
    called: list[str] = []
    for key, text in _split(rest):
        if key in _CALL_ATTRIBUTES:
            called += _CALLED.findall(text)
            attributes[key] = ""
        else:
            attributes[key] = text
    return tuple(called), attributes


def _split(rest: str) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = _ATTRIBUTE.findall(rest)
    # Each has an equals sign, and a comma and a blank stand between two.
    if sum([len(key) + len(text) + 3 for key, text in found]) - 2 == len(rest):
        return found
    parts = (part.partition("=") for part in split_top(rest))
    return [(key.strip(), text.strip()) for key, equals, text in parts if equals]


def _tail(opcode: str, called: tuple[str, ...], attributes: Mapping[str, str]) -> Tail:
    frame = 0
    own, notes = attributes, _NOTHING
    if not NOTES.isdisjoint(attributes):
        notes = {key: text for key, text in attributes.items() if key in NOTES}
        own = {key: text for key, text in attributes.items() if key not in NOTES}
        if opcode == _CUSTOM_CALL and "backend_config" in notes:
            # What the call does may depend on it.
            own["backend_config"] = notes.pop("backend_config")
        if FRAME in notes.get(METADATA, ""):
            frame = _frame(notes[METADATA])
    label = ""
    if own:
        keys = sorted(own) if len(own) > 1 else own
        label = " " + ", ".join([f"{key}={own[key]}" for key in keys])
    return Tail(called, own, notes, frame, label)


def _parsed(
    name: str,
    opcode: str,
    shape: str,
    layout: str,
    value: str,
    operands: tuple[str, ...],
    tail: Tail,
    is_root: bool,
) -> Parsed:
    called, attributes, notes, frame, more = tail
    label = f"{opcode} {shape} {value}{more}"
    return Parsed(
        name, opcode, shape, layout, value, operands, called, attributes, notes, frame, is_root, label
    )


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
