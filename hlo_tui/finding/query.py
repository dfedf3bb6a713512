"""What is looked for: a regular expression over lines, and filters over instructions."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.shape import Shape
from hlo_tui.hlo.visible import visible

_SIZE = re.compile(r"\s*(>=|<=|>|<|=|==)?\s*(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?\s*", re.IGNORECASE)
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}\n]")
_COMPARE = {">": operator.gt, ">=": operator.ge, "<": operator.lt, "<=": operator.le, "=": operator.eq}
_POWER = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
# What every instruction has, whatever else is on its line.
_ANY_INSTRUCTION = rb"="


@dataclass(frozen=True, slots=True)
class Query:
    """What is looked for. All that is given has to hold; empty texts and None ask for nothing.

    Attributes:
        pattern: to be found in a line, or in a line of the instruction.
        opcodes: one of them has to be the opcode; `*` stands for any letters (`all-*`).
        shape: of the result, or of an array in it, without layout: `f32[8,128]`, `[8,*]`.
        dtype: of the result, or of an array in it.
        size: compares the bytes of the result.
        op_name: to be found in the op_name of the metadata.
        tag: a key of the frontend attributes, or KEY=VALUE.
        candidates: what at least stands on a line that can be meant.
        literal: the same as plain bytes, small letters where case does not matter; None where it is no plain text.
    """

    pattern: re.Pattern[bytes] | None = None
    opcodes: tuple[re.Pattern[str], ...] = ()
    shape: re.Pattern[str] | None = None
    dtype: str = ""
    size: Callable[[int], bool] | None = None
    op_name: re.Pattern[str] | None = None
    tag: str = ""
    candidates: re.Pattern[bytes] = re.compile(_ANY_INSTRUCTION)
    literal: bytes | None = None

    @property
    def filtered(self) -> bool:
        """Whether only instructions are looked for."""
        asked = (self.opcodes, self.shape, self.dtype, self.size, self.op_name, self.tag)
        return any(bool(one) for one in asked)

    def takes(self, instruction: Instruction) -> bool:
        """Whether the filters let an instruction through; the pattern is not looked at."""
        if self.opcodes and not any(one.fullmatch(instruction.opcode) for one in self.opcodes):
            return False
        if self.dtype and not any(leaf.dtype == self.dtype for leaf in _leaves(instruction.shape)):
            return False
        shape, size = self.shape, self.size
        if shape is not None and not any(
            shape.fullmatch(leaf.without_layout()) for leaf in _leaves(instruction.shape)
        ):
            return False
        if size is not None and not size(instruction.shape.byte_size):
            return False
        if self.op_name is not None and not self.op_name.search(instruction.op_name):
            return False
        if not self.tag:
            return True
        key, equals, value = self.tag.partition("=")
        found = instruction.frontend_attributes.get(key)
        return found is not None and (not equals or found == value)


def make_query(
    pattern: str,
    *,
    opcode: str = "",
    shape: str = "",
    dtype: str = "",
    size: str = "",
    op_name: str = "",
    tag: str = "",
) -> Query:
    """Read what a person asked for.

    Args:
        pattern: a regular expression; where it has no capital letter, case does not matter. Empty finds all.
        opcode: one or several with commas.
        shape: with `*` for any size; without a type any type.
        dtype: as HLO writes it.
        size: of the result: `>1MB`, `<=4KiB`, `4096` (at least); kB and MB are decimal, KiB and MiB binary.
        op_name: a regular expression.
        tag: KEY or KEY=VALUE.

    Raises:
        HloTuiError: a pattern or a size cannot be read, or nothing is asked for.
    """
    found = compile_pattern(pattern) if pattern else None
    name = compile_pattern(op_name) if op_name else None
    query = Query(
        pattern=found,
        opcodes=tuple(_glob(part.strip(), r"[\w.\-]*") for part in opcode.split(",") if part.strip()),
        shape=_shape(shape) if shape else None,
        dtype=dtype,
        size=parse_size(size) if size else None,
        op_name=None if name is None else re.compile(op_name, name.flags & re.IGNORECASE),
        tag=tag,
        candidates=found or re.compile(_candidates(opcode, shape, dtype, op_name, tag)),
        literal=found.pattern if found is not None and not _SPECIAL.search(pattern) else None,
    )
    if found is None and not query.filtered:
        raise HloTuiError(
            "nothing to look for",
            "the pattern is empty",
            "give a regular expression, or filters: --opcode, --shape, --dtype, --bytes, --op-name, --tag",
        )
    return query


def compile_pattern(text: str) -> re.Pattern[bytes]:
    """A regular expression over the lines of a file; one without capital letters ignores case.

    Raises:
        HloTuiError: it is none.
    """
    flags = re.MULTILINE | (0 if text != text.lower() else re.IGNORECASE)
    try:
        # Both: what is no expression over text says so in a person's words.
        re.compile(text)
        return re.compile(text.encode("utf-8", "surrogateescape"), flags)
    except (re.error, OverflowError, RecursionError) as error:
        hint = "signs like [ ( * + . mean something there: put a backslash before them"
        raise HloTuiError("not a regular expression", f"{visible(text)}: {error}", hint) from error


def parse_size(text: str) -> Callable[[int], bool]:
    """Read a comparison of bytes.

    Raises:
        HloTuiError: it is none.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise HloTuiError("not a size", visible(text), "such as '>1MB', '<=4KiB' or 4096")
    compare = _COMPARE[(match[1] or ">=").replace("==", "=")]
    bound = float(match[2]) * (1024 if match[4] else 1000) ** _POWER[match[3].lower()]
    return lambda count: bool(compare(count, bound))


def _glob(text: str, any_text: str) -> re.Pattern[str]:
    return re.compile(any_text.join(re.escape(part) for part in text.split("*")))


def _shape(text: str) -> re.Pattern[str]:
    plain = text.replace(" ", "")
    inside = r"[^,\[\]]*".join(re.escape(part) for part in plain.split("*"))
    return re.compile(rf"\w+{inside}" if plain.startswith("[") else inside)


def _leaves(shape: Shape) -> list[Shape]:
    """The arrays of a shape, depth first."""
    if not shape.elements:
        return [shape]
    return [leaf for element in shape.elements for leaf in _leaves(element)]


def _candidates(opcode: str, shape: str, dtype: str, op_name: str, tag: str) -> bytes:
    """What at least stands on a line of an instruction that the filters let through."""
    if tag:
        return rb"frontend_attributes\s*="
    if op_name:
        return rb"op_name\s*="
    if opcode:
        names = [
            re.escape(part.strip()).replace(r"\*", r"[\w.\-]*") for part in opcode.split(",") if part.strip()
        ]
        return rf"(?<![\w.\-%])(?:{'|'.join(names)})\s*\(".encode()
    letters = dtype or shape.partition("[")[0].strip().replace("*", "")
    return rf"{re.escape(letters)}".encode() + rb"\[" if letters else _ANY_INSTRUCTION


WORDS = "op:dot, shape:[8,*], dtype:bf16, bytes:>1MB, name:OP_NAME, tag:KEY, stage:all"
_FILTERS = {
    "op": "opcode", "shape": "shape", "dtype": "dtype", "bytes": "size", "name": "op_name", "tag": "tag",
}  # fmt: skip


def parse_words(text: str) -> tuple[Query, str]:
    """Read a query from one line: words with a filter's name before a colon, the rest is the pattern.

    Returns:
        The query, and which stages are meant, "" where the line does not say it.

    Raises:
        HloTuiError: as `make_query`.
    """
    given: dict[str, str] = {}
    stage = ""
    rest = []
    for word in text.split(" "):
        name, colon, value = word.partition(":")
        if colon and value and name == "stage":
            stage = value
        elif colon and value and name in _FILTERS:
            given[_FILTERS[name]] = value
        else:
            rest.append(word)
    return make_query(" ".join(rest).strip(), **given), stage
