"""Shapes as HLO text writes them: `f32[8,<=128]{1,0:T(8,128)}`, tuples, tokens and types of next year."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from hlo_tui.hlo.attributes import balanced_end
from hlo_tui.hlo.numerals import product

# Bits that an element takes in a packed buffer. The 6-bit floats are kept one to a byte.
_BITS = {
    "pred": 8, "token": 0, "opaque": 0, "tuple": 0, "buffer": 0,
    "s1": 1, "s2": 2, "s4": 4, "s8": 8, "s16": 16, "s32": 32, "s64": 64,
    "u1": 1, "u2": 2, "u4": 4, "u8": 8, "u16": 16, "u32": 32, "u64": 64,
    "f16": 16, "bf16": 16, "f32": 32, "f64": 64, "c64": 64, "c128": 128,
    "f4e2m1fn": 4, "f6e2m3fn": 8, "f6e3m2fn": 8, "f8e3m4": 8, "f8e4m3": 8, "f8e4m3b11fnuz": 8, "f8e4m3fn": 8,
    "f8e4m3fnuz": 8, "f8e5m2": 8, "f8e5m2fnuz": 8, "f8e8m0fnu": 8,
}  # fmt: skip
_DEEPEST = 64
_ARRAY = re.compile(r"([A-Za-z_]\w*+)\[((?:<=)?(?:[\d?][\d,<=? ]*+)?)\]")
_PLAIN_LAYOUT = re.compile(r"\{[\d,]*+\}")
_BUFFER = re.compile(r"b\((?=\(|\w++\[)")
_BLANKS = re.compile(r"(?:\s++|/\*(?:[^*]|\*(?!/))*+\*/|//[^\n]*+)*+")
_DIMENSION = re.compile(r"\s*(<=)?(\d{1,18}|\?)\s*")


@dataclass(frozen=True, slots=True)
class Shape:
    """The shape of one value.

    Attributes:
        dtype: the element type as written; "tuple" and "buffer" for these; "" where no shape could be read.
        dimensions: sizes, the bound of a bounded dimension, -1 of an unbounded one.
        dynamic: for each dimension, whether its size is known only when it runs.
        layout: the braces after the dimensions, "" where there are none.
        elements: the shapes in a tuple or a buffer.
        text: the shape as written.
    """

    dtype: str
    dimensions: tuple[int, ...] = ()
    dynamic: tuple[bool, ...] = ()
    layout: str = ""
    elements: tuple[Shape, ...] = ()
    text: str = ""

    @property
    def is_tuple(self) -> bool:
        """Whether this is a tuple; its elements are in `elements`."""
        return self.dtype == "tuple"

    @property
    def rank(self) -> int:
        """The number of dimensions; 0 for scalars and tuples."""
        return len(self.dimensions)

    @property
    def element_count(self) -> int:
        """Elements of an array, of a tuple all of its arrays together; 0 where a dimension is unbounded."""
        if self.elements:
            return sum(element.element_count for element in self.elements)
        if -1 in self.dimensions or not _BITS.get(self.dtype, 8):
            return 0
        return product(self.dimensions)

    @property
    def byte_size(self) -> int:
        """Bytes of the dense value, sub-byte types packed; 0 for tokens and for types that are not known."""
        if self.elements:
            return sum(element.byte_size for element in self.elements)
        return (self.element_count * _BITS.get(self.dtype, 0) + 7) // 8

    def without_layout(self) -> str:
        """The shape as text with no layouts and no comments."""
        if self.is_tuple:
            return "(" + ", ".join(element.without_layout() for element in self.elements) + ")"
        if self.dtype == "buffer":
            return f"b({self.elements[0].without_layout()})"
        if not self.dtype:
            return ""
        sizes = zip(self.dimensions, self.dynamic, strict=True)
        inside = ",".join("?" if size < 0 else f"<={size}" if bound else str(size) for size, bound in sizes)
        return f"{self.dtype}[{inside}]"


NO_SHAPE = Shape("")


def parse_shape(text: str, start: int = 0) -> tuple[Shape, int]:
    """Read the shape at `start`, after blanks and comments.

    Gives it and the offset just behind it; `NO_SHAPE` and `start` where there is none. An element type that
    is not known is kept as it is. A tuple that is not closed is no shape.
    """
    return _parse(text, start, 0)


def _parse(text: str, start: int, depth: int) -> tuple[Shape, int]:
    at = skip_blanks(text, start)
    match = _ARRAY.match(text, at)
    if match is not None:
        return _array(text, at, match.end())
    if text.startswith("(", at):
        return _tuple(text, start, at, depth)
    match = _BUFFER.match(text, at)
    if match is not None and depth < _DEEPEST:
        inner, end = _parse(text, match.end(), depth + 1)
        end = skip_blanks(text, end)
        if inner.dtype and text.startswith(")", end):
            inner = Shape("buffer", elements=(inner,), text=text[at : end + 1])
            return inner, end + 1
    return NO_SHAPE, start


def skip_blanks(text: str, at: int) -> int:
    """The offset behind the blanks and comments at `at`."""
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _array(text: str, start: int, end: int) -> tuple[Shape, int]:
    if text.startswith("{", end):
        plain = _PLAIN_LAYOUT.match(text, end)
        closing = plain.end() if plain else balanced_end(text, end)
        if closing > 0:
            return _array_shape(text[start:closing], end - start), closing
    return _array_shape(text[start:end], end - start), end


@lru_cache(maxsize=4096)
def _array_shape(text: str, end: int) -> Shape:
    dtype, _, sizes = text[: end - 1].partition("[")
    dimensions, dynamic = [], []
    for part in sizes.split(","):
        match = _DIMENSION.fullmatch(part)
        if match is not None:
            unbounded = match[2] == "?"
            dimensions.append(-1 if unbounded else int(match[2]))
            dynamic.append(unbounded or match[1] is not None)
    return Shape(dtype, tuple(dimensions), tuple(dynamic), text[end:], (), text)


def _tuple(text: str, start: int, at: int, depth: int) -> tuple[Shape, int]:
    if depth >= _DEEPEST:
        end = balanced_end(text, at)
        return (Shape("tuple", text=text[at:end]), end) if end > 0 else (NO_SHAPE, start)
    elements = []
    end = skip_blanks(text, at + 1)
    while not text.startswith(")", end):
        element, behind = _parse(text, end, depth + 1)
        if not element.dtype:
            return NO_SHAPE, start
        elements.append(element)
        end = skip_blanks(text, behind)
        if text.startswith(",", end):
            end = skip_blanks(text, end + 1)
        elif not text.startswith(")", end):
            return NO_SHAPE, start
    return Shape("tuple", elements=tuple(elements), text=text[at : end + 1]), end + 1
