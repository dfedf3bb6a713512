"""One instruction of HLO text, taken apart; whatever cannot be read is marked and the rest still given."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from hlo_tui.hlo.attributes import (
    CALL_ATTRIBUTES,
    balanced_end,
    parse_frontend_attributes,
    parse_metadata,
    split_top,
    without_comments,
)
from hlo_tui.hlo.shape import Shape, parse_shape, skip_blanks

# What has a literal or nothing between its brackets, never operands.
_NO_OPERANDS = frozenset(("constant", "parameter", "iota"))
# `name =` with a blank: `name=` is an attribute, `%name=` can only be an instruction.
_DEFINITION = re.compile(r"\s*+(ROOT\s++)?+(?:%\s*+([\w.\-]++)\s*+=|([\w.\-]++)\s++=(?!=))")
_OPCODE = re.compile(r"([A-Za-z_][\w.\-]*+)\s*+\(")
_SIMPLE = re.compile(r"[^()\[\]{}\"'/]*+\)")
_PLAIN = re.compile(r"[\w.\-%#,\s]*+")
_OPERAND = re.compile(r"\s*+%?([A-Za-z_][\w.\-]*+)")
# Instructions nest in operands where people write them; each level is one more pass over the text.
_DEEPEST = 8
_CALLED = re.compile(r"%?([A-Za-z_][\w.\-]*+)")


@dataclass(frozen=True, slots=True)
class Instruction:
    """An instruction as its text says it.

    Attributes:
        name: without the percent sign.
        computation: the computation that holds it; names are unique only within one.
        opcode: "" where it could not be read.
        shape: its result; `NO_SHAPE` where it could not be read.
        operands: names without percent sign; of a nested operand (`add(b, c)`) those in it, of `t#1` the `t`.
        operand_text: everything between the brackets: the literal of a constant, the number of a parameter.
        attributes: every attribute by its key, the value raw and balanced.
        metadata: the fields of `metadata`, see `parse_metadata`.
        frontend_attributes: keys and unquoted values.
        is_root: whether ROOT is before it.
        line: the line on which it begins, from 0.
        start: offset in the source of its first byte.
        end: offset just behind its last byte.
        called: computations that it calls, in the order of its attributes.
        damaged: what could not be read, "" where all could.
    """

    name: str
    computation: str
    opcode: str
    shape: Shape
    operands: tuple[str, ...] = ()
    operand_text: str = ""
    attributes: dict[str, str] = field(default_factory=dict, hash=False)
    metadata: dict[str, str | int] = field(default_factory=dict, hash=False)
    frontend_attributes: dict[str, str] = field(default_factory=dict, hash=False)
    is_root: bool = False
    line: int = 0
    start: int = 0
    end: int = 0
    called: tuple[str, ...] = ()
    damaged: str = ""

    @property
    def sharding(self) -> str:
        """The sharding in its braces, "" where there is none."""
        return self.attributes.get("sharding", "")

    @property
    def op_name(self) -> str:
        """The op_name of the metadata, "" where there is none."""
        return str(self.metadata.get("op_name", ""))

    @property
    def stack_frame_id(self) -> int:
        """The stack frame, from 1; 0 where there is none."""
        value = self.metadata.get("stack_frame_id", 0)
        return value if isinstance(value, int) else 0

    @property
    def elided(self) -> bool:
        """Whether it is a constant whose values were left out of the text."""
        return self.opcode == "constant" and self.operand_text.strip() == "{...}"


def parse_instruction(
    text: str, computation: str = "", line: int = 0, start: int = 0, end: int | None = None
) -> Instruction | None:
    """Take apart the text of one instruction, one line of it or several.

    Gives None where `text` is no instruction at all: it must begin with `[ROOT ][%]NAME =`. `computation`,
    `line`, `start` and `end` (byte offsets, `end` by default that of the text) are passed on.
    """
    match = _DEFINITION.match(text)
    if match is None:
        return None
    name = match[2] or match[3]
    shape, at = parse_shape(text, match.end())
    damaged = [] if shape.dtype else ["no shape"]
    opcode, operand_text, behind = _operation(text, at, damaged)
    attributes = _attributes(text[behind:], damaged)
    return Instruction(
        name=name,
        computation=computation,
        opcode=opcode,
        shape=shape,
        operands=() if opcode in _NO_OPERANDS else _operands(operand_text),
        operand_text=operand_text,
        attributes=attributes,
        metadata=parse_metadata(attributes["metadata"]) if "metadata" in attributes else {},
        frontend_attributes=(
            parse_frontend_attributes(attributes["frontend_attributes"])
            if "frontend_attributes" in attributes
            else {}
        ),
        is_root=match[1] is not None,
        line=line,
        start=start,
        end=start + len(text) if end is None else end,
        called=_called(attributes),
        damaged=", ".join(damaged),
    )


def parse_opcode(text: str) -> str:
    """The opcode of the instruction that `text` begins with, "" where it cannot be read.

    What is behind the opcode is not looked at, and may be cut off.
    """
    match = _DEFINITION.match(text)
    if match is None:
        return ""
    _, at = parse_shape(text, match.end())
    opcode = _OPCODE.match(text, skip_blanks(text, at))
    return opcode[1] if opcode is not None else ""


def _operation(text: str, at: int, damaged: list[str]) -> tuple[str, str, int]:
    """The opcode, what is between its brackets, and the offset behind them."""
    match = _OPCODE.match(text, skip_blanks(text, at))
    if match is None:
        damaged.append("no opcode")
        return "", "", at
    begin = match.end()
    simple = _SIMPLE.match(text, begin)
    end = simple.end() if simple else balanced_end(text, begin - 1)
    if end < 0:
        damaged.append("the operands are not closed")
        return match[1], text[begin:], len(text)
    return match[1], text[begin : end - 1], end


def _attributes(text: str, damaged: list[str]) -> dict[str, str]:
    attributes = {}
    if "//" in text:
        text = without_comments(text)
    for part in split_top(text):
        key, equals, value = part.partition("=")
        key = key.strip()
        if "/" in key or not equals or value[:1] == "/":
            key, equals, value = without_comments(part).partition("=")
            key = key.strip()
        if equals and key:
            attributes[key] = value.strip()
        elif key:
            damaged.append(f"not an attribute: {key[:40]}")
    return attributes


def _operands(text: str) -> tuple[str, ...]:
    text = without_comments(text)
    if _PLAIN.fullmatch(text):
        parts = [part.strip().lstrip("%").partition("#")[0] for part in text.split(",")]
        return tuple(part for part in parts if part and part != "null")
    names = []
    waiting = [(part, 0) for part in reversed(split_top(text))]
    while waiting:
        part, depth = waiting.pop()
        _, at = parse_shape(part)
        nested = _OPCODE.match(part, skip_blanks(part, at))
        if nested is not None:
            end = balanced_end(part, nested.end() - 1)
            if nested[1] not in _NO_OPERANDS and end > 0 and depth < _DEEPEST:
                waiting += [(inner, depth + 1) for inner in reversed(split_top(part[nested.end() : end - 1]))]
            continue
        name = _OPERAND.match(part, at)
        if name is not None and name[1] != "null":
            names.append(name[1])
    return tuple(names)


def _called(attributes: dict[str, str]) -> tuple[str, ...]:
    called: list[str] = []
    for key in attributes:
        if key in CALL_ATTRIBUTES:
            value = attributes[key]
            # A body written in place has instructions in its braces; who knows the whole text names it.
            if "=" not in value:
                called += _CALLED.findall(value)
    return tuple(called)
