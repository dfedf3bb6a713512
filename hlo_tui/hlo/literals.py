"""Text of literals (the values of constants), as XLA writes them on one line."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence

from hlo_tui.hlo.literal_floats import SMALL_FLOATS, nan_text
from hlo_tui.hlo.printing_shapes import bit_width, is_array, primitive_type_name, shape_text
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.wire import field

ELIDED = "{...}"
# XLA leaves out arrays of more elements than this unless it was asked for large constants.
LARGE_CONSTANT = 10

# Bounds on what a damaged literal can make us write: braces without elements, and nesting.
_MAX_EMPTY_ROWS = 10_000
_MAX_RANK = 64

# Element type -> format of one number, digits that always suffice, digits that are tried first.
_FLOATS: dict[int, tuple[str, int, int]] = {
    pb.F32: ("f", 9, 6),
    pb.C64: ("f", 9, 6),
    pb.F64: ("d", 17, 15),
    pb.C128: ("d", 17, 15),
}
_FIELD_NUMBERS = {one.name: one.number for one in pb.LiteralProto.DESCRIPTOR.fields}

# How many elements there are, and what gives the text of one of them by its place in the stored order.
Texts = tuple[int, Callable[[int], str]]


def literal_text(literal: pb.LiteralProto, large_constants: bool = False) -> str:
    """Give the text between the parentheses of a constant.

    Args:
        literal: the value. Where it does not hold as many elements as its shape says, the text is `{...}` and
            a comment that tells the two numbers.
        large_constants: print arrays of more than ten elements and tuples too, not `{...}`.
    """
    if large_constants:
        return _text(literal, with_shape=False)
    if is_array(literal.shape) and math.prod(literal.shape.dimensions) <= LARGE_CONSTANT:
        return _text(literal, with_shape=False)
    return ELIDED


def literal_with_shape_text(literal: pb.LiteralProto) -> str:
    """Give a whole literal with the shape and layout of every array before its elements."""
    return _text(literal, with_shape=True)


def _text(literal: pb.LiteralProto, with_shape: bool) -> str:
    shape = literal.shape
    if shape.element_type == pb.TUPLE:
        elements = ", ".join(_text(element, with_shape) for element in literal.tuple_literals)
        return f"( {elements} )"
    if shape.element_type == pb.TOKEN:
        return "token"
    if not is_array(shape):
        return ELIDED
    prefix = ""
    if with_shape:
        sizes = f"({','.join(map(str, _sizes(literal)))})" if any(shape.is_dynamic_dimension) else ""
        prefix = f"{shape_text(shape)}{sizes} "
    return prefix + _array_text(literal)


def _sizes(literal: pb.LiteralProto) -> list[int]:
    """The size of each dimension of the value: for a dynamic dimension what is used of its bound."""
    shape = literal.shape
    sizes = list(shape.dimensions)
    for index, dynamic in enumerate(shape.is_dynamic_dimension[: len(sizes)]):
        if dynamic and index < len(literal.dynamic_sizes):
            sizes[index] = min(sizes[index], literal.dynamic_sizes[index])
    return sizes


def _array_text(literal: pb.LiteralProto) -> str:
    dimensions = literal.shape.dimensions
    expected = math.prod(dimensions)
    count, element = _elements(literal, expected)
    if count != expected:
        return f"{ELIDED} /* {count} of {expected} elements */"
    sizes = _sizes(literal)
    if min(sizes, default=0) < 0 or len(sizes) > _MAX_RANK:
        return ELIDED
    if 0 in sizes and math.prod(sizes[: sizes.index(0)]) > _MAX_EMPTY_ROWS:
        return ELIDED
    return _nested(sizes, _strides(literal.shape), element)


def _strides(shape: pb.ShapeProto) -> list[int]:
    """How far apart neighbours are in the stored order, for each dimension: the layout's, else row-major."""
    rank = len(shape.dimensions)
    order: Sequence[int] = shape.layout.minor_to_major
    if sorted(order) != list(range(rank)):
        order = range(rank - 1, -1, -1)
    strides = [0] * rank
    step = 1
    for dimension in order:
        strides[dimension] = step
        step *= shape.dimensions[dimension]
    return strides


def _nested(sizes: list[int], strides: list[int], element: Callable[[int], str]) -> str:
    rank = len(sizes)

    def group(depth: int, offset: int, mark: str) -> str:
        if depth == rank:
            return element(offset)
        size, stride = sizes[depth], strides[depth]
        pieces = (
            group(depth + 1, offset + index * stride, f" /*i{depth}={index}*/" if rank > 3 else "")
            for index in range(size)
        )
        body = ", ".join(pieces)
        if rank == 1:
            return f"{{{body}}}"
        if depth == rank - 1:
            return f"{{ {body} }}" if size > 1 else f"{{{body}}}"
        opening = f"{{{mark} " if size or not mark else f"{{{mark}"
        return f"{opening}{body} }}"

    return group(0, 0, "")


def literal_field(kind: int) -> str:
    """Give the name of the field of a literal that holds elements of a type."""
    return f"{primitive_type_name(kind)}s"


def _elements(literal: pb.LiteralProto, expected: int) -> Texts:
    """Give how many elements are stored, and what gives the text of one by its place in the stored order."""
    kind = literal.shape.element_type
    stored = getattr(literal, literal_field(kind), b"")
    if kind == pb.PRED:
        names = ("0", "1") if literal.shape.dimensions else ("false", "true")
        return len(stored), lambda index: names[stored[index]]
    if kind in _FLOATS:
        size, text = _float_texts(literal, kind)
        if kind in (pb.F32, pb.F64):
            return size, text
        return size // 2, lambda index: f"({text(2 * index)}, {text(2 * index + 1)})"
    if kind in (pb.F16, pb.BF16):
        return _half_texts(stored, kind)
    if kind in SMALL_FLOATS:
        small = SMALL_FLOATS[kind]
        size, code_at = _codes(stored, small.bits, expected)
        return size, lambda index: small.text(code_at(index))
    if bit_width(kind) > 16:
        return len(stored), lambda index: str(stored[index])
    return _integer_texts(stored, kind, expected)


def _codes(data: bytes, bits: int, expected: int) -> tuple[int, Callable[[int], int]]:
    """Read unsigned numbers of at most eight bits from bytes.

    XLA stores one element a byte. Where several are packed into a byte, the first is in the low bits; the
    number of bytes tells which it is.
    """
    mask = (1 << bits) - 1
    per_byte = 8 // bits if bits in (1, 2, 4) else 1
    if per_byte > 1 and len(data) != expected and len(data) == -(-expected // per_byte):
        return expected, lambda index: data[index // per_byte] >> (index % per_byte * bits) & mask
    return len(data), lambda index: data[index] & mask


def _integer_texts(data: bytes, kind: int, expected: int) -> Texts:
    bits, signed = bit_width(kind), primitive_type_name(kind).startswith("s")
    if bits == 16:
        code = "<h" if signed else "<H"
        return len(data) // 2, lambda index: str(struct.unpack_from(code, data, 2 * index)[0])
    count, code_at = _codes(data, bits, expected)
    top = 1 << (bits - 1)
    if signed:
        return count, lambda index: str((code_at(index) ^ top) - top)
    return count, lambda index: str(code_at(index))


def _float_texts(literal: pb.LiteralProto, kind: int) -> Texts:
    name = literal_field(kind)
    code, digits, tried = _FLOATS[kind]
    values = getattr(literal, name)
    stored = b""

    def text(index: int) -> str:
        nonlocal stored
        value = values[index]
        if math.isnan(value):
            # Only the wire still has the payload of a NaN: reading it as a Python float may have changed it.
            stored = stored or field(literal.SerializeToString(), _FIELD_NUMBERS[name])
            return _nan_text(stored, code, index)
        short = f"{value:.{tried}g}"
        try:
            same = struct.unpack(code, struct.pack(code, float(short)))[0] == value
        except OverflowError:
            same = False
        return short if same else f"{value:.{digits}g}"

    return len(values), text


def _nan_text(stored: bytes, code: str, index: int) -> str:
    width, mantissa_bits = (4, 23) if code == "f" else (8, 52)
    bits = int.from_bytes(stored[index * width : (index + 1) * width], "little")
    return nan_text(bits >> (8 * width - 1), bits & ((1 << mantissa_bits) - 1), mantissa_bits - 1)


def _half_texts(data: bytes, kind: int) -> Texts:
    def text(index: int) -> str:
        (bits,) = struct.unpack_from("<H", data, 2 * index)
        if kind == pb.F16:
            (value,) = struct.unpack_from("<e", data, 2 * index)
            digits, mantissa, quiet = 5, bits & 0x3FF, 9
        else:
            (value,) = struct.unpack("<f", struct.pack("<I", bits << 16))
            digits, mantissa, quiet = 4, bits & 0x7F, 6
        if math.isnan(value):
            return nan_text(bits >> 15, mantissa, quiet)
        return f"{value:.{digits}g}"

    return len(data) // 2, text
