"""The container that XLA writes an unoptimized snapshot into: a message, then literals in native format."""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Iterator
from itertools import chain, islice

from google.protobuf.message import DecodeError

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.literals import literal_field
from hlo_tui.hlo.printing_shapes import bit_width, is_array
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import visible
from hlo_tui.hlo.wire import to_varint, varint

_INTEGERS = {pb.S32: "i", pb.U32: "I", pb.S64: "q", pb.U64: "Q"}
_FLOATS = frozenset((pb.F32, pb.F64, pb.C64, pb.C128))
_NUMBERS = {one.name: one.number for one in pb.LiteralProto.DESCRIPTOR.fields}
_HEADER = 8


def read_container(source: Source) -> pb.HloUnoptimizedSnapshot:
    """Read a container into the message that it stands for, its arguments in their places.

    Raises:
        HloTuiError: it ends in the middle, or is not such a container.
    """
    length, offset = varint(source.read(0, 16), 0)
    if length + offset > source.size:
        raise cut_off(source.name, source.size)
    snapshot = pb.HloUnoptimizedSnapshot()
    try:
        snapshot.ParseFromString(source.read(offset, length))
    except DecodeError as error:
        raise HloTuiError("Not an unoptimized snapshot", f"{visible(source.name)}: {error}") from error
    offset += length
    for partition in snapshot.partitions:
        for descriptor in partition.arguments_descriptors:
            size = descriptor.argument_size_bytes
            if offset + size > source.size:
                raise cut_off(source.name, source.size)
            partition.arguments.append(native_literal(source.read(offset, size), source.name))
            offset += size
        del partition.arguments_descriptors[:]
    return snapshot


def cut_off(name: str, size: int) -> HloTuiError:
    """Give the error for a proto that announces more bytes than its file has."""
    return HloTuiError(
        "The proto ends in the middle",
        f"{visible(name)}: {size:,} bytes",
        "Is it still being written? If not, the job that wrote it was stopped before it was done.",
    )


def native_literal(data: bytes, name: str) -> pb.LiteralProto:
    """Turn a literal in its native format into a message.

    Args:
        data: the length of the shape in eight bytes, the shape, then the arrays, depth first.
        name: of the file, for the error.

    Raises:
        HloTuiError: the bytes are not as many as the shape says, or there is no such shape.
    """
    literal = pb.LiteralProto()
    start = _HEADER + int.from_bytes(data[:_HEADER], "little")
    try:
        literal.shape.ParseFromString(data[_HEADER:start])
        end = _fill(literal, memoryview(data), start)
    except (DecodeError, ValueError, OverflowError) as error:
        raise HloTuiError("An argument of the snapshot is damaged", f"{visible(name)}: {error}") from error
    if end != len(data):
        message = f"{visible(name)}: {len(data):,} bytes where its shape has {end:,}"
        raise HloTuiError("An argument of the snapshot is damaged", message)
    return literal


def _fill(literal: pb.LiteralProto, data: memoryview, place: int) -> int:
    """Read the arrays of a literal whose shape is set from `place` on; give the place after them."""
    shape = literal.shape
    if not is_array(shape):
        for element in shape.tuple_shapes:
            inner = literal.tuple_literals.add()
            inner.shape.CopyFrom(element)
            place = _fill(inner, data, place)
        return place
    if any(shape.is_dynamic_dimension):
        sizes = _take(data, place, 4 * len(shape.dimensions))
        literal.dynamic_sizes.extend(_integers("i", sizes))
        place += len(sizes)
    count = math.prod(shape.dimensions)
    stored = _take(data, place, -(-count * _native_bits(shape.element_type) // 8))
    _store(literal, stored, count)
    return place + len(stored)


def _take(data: memoryview, place: int, size: int) -> memoryview:
    if size < 0 or place + size > len(data):
        raise ValueError(f"{len(data) - place:,} bytes where {size:,} are needed")
    return data[place : place + size]


def _native_bits(kind: int) -> int:
    """Bits of an element: 1, 2 and 4 bit types are packed, the first element in the low bits."""
    bits = bit_width(kind)
    return bits if bits in (1, 2, 4) else max(bits, 8)


def _store(literal: pb.LiteralProto, stored: memoryview, count: int) -> None:
    kind = literal.shape.element_type
    name = literal_field(kind)
    if name not in _NUMBERS:
        raise ValueError(f"its element type has no values: {name[:-1]}")
    if kind in _FLOATS:
        # These bytes are just what the wire has, and no list of numbers is made on the way.
        key = to_varint(_NUMBERS[name] << 3 | 2)
        literal.MergeFromString(key + to_varint(len(stored)) + stored)
    elif kind in _INTEGERS:
        getattr(literal, name).extend(_integers(_INTEGERS[kind], stored))
    elif kind == pb.PRED:
        literal.preds.extend(map(bool, _unpacked(stored, 1, count)))
    elif _native_bits(kind) < 8:
        setattr(literal, name, bytes(_unpacked(stored, _native_bits(kind), count)))
    else:
        setattr(literal, name, bytes(stored))


def _integers(code: str, stored: memoryview) -> array[int]:
    numbers = array(code, bytes(stored))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers


def _unpacked(stored: memoryview, bits: int, count: int) -> Iterator[int]:
    mask, shifts = (1 << bits) - 1, range(0, 8, bits)
    table = [tuple(byte >> shift & mask for shift in shifts) for byte in range(256)]
    return islice(chain.from_iterable(map(table.__getitem__, stored)), count)
