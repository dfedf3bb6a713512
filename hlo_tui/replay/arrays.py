"""Literals and shapes of a proto as numpy arrays, and back (worker side: numpy and ml_dtypes, not jax)."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.wire import to_varint

Array = NDArray[Any]

PRED, S32, U32 = pb.PRED, pb.S32, pb.U32
TUPLE, OPAQUE, TOKEN, BUFFER = pb.TUPLE, pb.OPAQUE_TYPE, pb.TOKEN, pb.BUFFER

# XLA's PrimitiveType number -> (name in HLO text, numpy dtype, literal field).
_ML = {
    16: ("bf16", "bfloat16", "bf16s"),
    19: ("f8e5m2", "float8_e5m2", "f8e5m2s"),
    20: ("f8e4m3fn", "float8_e4m3fn", "f8e4m3fns"),
    21: ("s4", "int4", "s4s"),
    22: ("u4", "uint4", "u4s"),
    23: ("f8e4m3b11fnuz", "float8_e4m3b11fnuz", "f8e4m3b11fnuzs"),
    24: ("f8e5m2fnuz", "float8_e5m2fnuz", "f8e5m2fnuzs"),
    25: ("f8e4m3fnuz", "float8_e4m3fnuz", "f8e4m3fnuzs"),
    26: ("s2", "int2", "s2s"),
    27: ("u2", "uint2", "u2s"),
    28: ("f8e4m3", "float8_e4m3", "f8e4m3s"),
    29: ("f8e3m4", "float8_e3m4", "f8e3m4s"),
    32: ("f4e2m1fn", "float4_e2m1fn", "f4e2m1fns"),
    33: ("f8e8m0fnu", "float8_e8m0fnu", "f8e8m0fnus"),
    35: ("f6e3m2fn", "float6_e3m2fn", "f6e3m2fns"),
    36: ("f6e2m3fn", "float6_e2m3fn", "f6e2m3fns"),
}
_PLAIN = {
    1: ("pred", "bool", "preds"),
    2: ("s8", "int8", "s8s"),
    3: ("s16", "int16", "s16s"),
    4: ("s32", "int32", "s32s"),
    5: ("s64", "int64", "s64s"),
    6: ("u8", "uint8", "u8s"),
    7: ("u16", "uint16", "u16s"),
    8: ("u32", "uint32", "u32s"),
    9: ("u64", "uint64", "u64s"),
    10: ("f16", "float16", "f16s"),
    11: ("f32", "float32", "f32s"),
    12: ("f64", "float64", "f64s"),
    15: ("c64", "complex64", "c64s"),
    18: ("c128", "complex128", "c128s"),
}
DTYPES: dict[int, np.dtype[Any]] = {n: np.dtype(name) for n, (_, name, _) in _PLAIN.items()}
DTYPES |= {
    n: np.dtype(getattr(ml_dtypes, name)) for n, (_, name, _) in _ML.items() if hasattr(ml_dtypes, name)
}
NAMES: dict[int, str] = {n: row[0] for n, row in (_PLAIN | _ML).items()}
NAMES |= {TUPLE: "tuple", OPAQUE: "opaque", TOKEN: "token", BUFFER: "b", pb.S1: "s1", pb.U1: "u1"}
_FIELDS = {n: row[2] for n, row in (_PLAIN | _ML).items()}
_BITS = {21: 4, 22: 4, 26: 2, 27: 2, 30: 1, 31: 1, 32: 4}
INTEGERS = frozenset(
    n for n, dtype in DTYPES.items() if dtype.kind in "biu" or dtype.name.startswith(("int", "uint"))
)
NUMBERS = {dtype: cast(pb.PrimitiveType, n) for n, dtype in DTYPES.items()}


def element_bits(element_type: int) -> int:
    """Bits of one element in memory: 4 for s4, 8 for pred."""
    return _BITS.get(element_type) or DTYPES[element_type].itemsize * 8


def byte_size(shape: pb.ShapeProto) -> int:
    """Bytes of a value of this shape; tuples are the sum of their parts, tokens are 0, unknown types count 8
    a piece.
    """
    if shape.element_type == TUPLE:
        return sum(byte_size(part) for part in shape.tuple_shapes)
    if shape.element_type in (TOKEN, OPAQUE):
        return 0
    bits = element_bits(shape.element_type) if shape.element_type in DTYPES else 64
    return (math.prod(shape.dimensions) * bits + 7) // 8


def shape_text(shape: pb.ShapeProto) -> str:
    """The shape as HLO text writes it, without layout: `f32[4,1024]`, `(s32[], pred[3])`."""
    if shape.element_type == TUPLE:
        return "(" + ", ".join(shape_text(part) for part in shape.tuple_shapes) + ")"
    name = NAMES.get(shape.element_type, f"type{shape.element_type}")
    dynamic = list(shape.is_dynamic_dimension) or [False] * len(shape.dimensions)
    dims = ",".join(("<=" if dyn else "") + str(d) for d, dyn in zip(shape.dimensions, dynamic, strict=False))
    return f"{name}[{dims}]"


def dtype_name(array: Array) -> str:
    """XLA's name for the array's element type."""
    return NAMES[NUMBERS[array.dtype]]


def minor_to_major(shape: pb.ShapeProto) -> list[int]:
    """The layout's order; row-major where the shape carries none."""
    order = list(shape.layout.minor_to_major)
    rank = len(shape.dimensions)
    return order if len(order) == rank else list(range(rank - 1, -1, -1))


def literal_to_value(literal: pb.LiteralProto) -> Any:
    """A numpy array, a tuple of such, or None for a token.

    Elements are stored in the layout of the literal's own shape.
    Raises ValueError where the literal does not hold what its shape says.
    """
    shape = literal.shape
    if shape.element_type == TUPLE:
        return tuple(literal_to_value(part) for part in literal.tuple_literals)
    if shape.element_type in (TOKEN, OPAQUE):
        return None
    if shape.element_type not in DTYPES:
        raise ValueError(
            f"no numpy type for element type {NAMES.get(shape.element_type, shape.element_type)}"
        )
    dims = list(shape.dimensions)
    flat = _elements(literal, math.prod(dims))
    major_to_minor = minor_to_major(shape)[::-1]
    stored = flat.reshape([dims[d] for d in major_to_minor])
    array = np.ascontiguousarray(stored.transpose(np.argsort(major_to_minor))) if dims else stored.reshape(())
    if literal.dynamic_sizes:
        # It is stored with the padding up to its bounds.
        array = array[tuple(slice(0, size) for size in literal.dynamic_sizes)]
    array.flags.writeable = False
    return array


def value_to_literal(value: Any) -> pb.LiteralProto:
    """An array, or a tuple of such, as a literal in row-major order; None is a token.

    Raises ValueError where XLA has no such type.
    """
    if value is None:
        return pb.LiteralProto(shape=pb.ShapeProto(element_type=TOKEN))
    if isinstance(value, tuple):
        parts = [value_to_literal(part) for part in value]
        shape = pb.ShapeProto(element_type=TUPLE, tuple_shapes=[part.shape for part in parts])
        return pb.LiteralProto(shape=shape, tuple_literals=parts)
    array = np.asarray(value, order="C")
    if array.dtype not in NUMBERS:
        raise ValueError(f"XLA has no type for arrays of {array.dtype}")
    literal = pb.LiteralProto(shape=shape_of(array))
    name = _FIELDS[literal.shape.element_type]
    if isinstance(getattr(literal, name), bytes):
        setattr(literal, name, array.tobytes())
    elif array.dtype.kind in "fc":
        # Of a fixed width: the wire has just these bytes, and no list of numbers is made on the way.
        number = pb.LiteralProto.DESCRIPTOR.fields_by_name[name].number
        literal.MergeFromString(to_varint(number << 3 | 2) + to_varint(array.nbytes) + array.tobytes())
    else:
        getattr(literal, name).extend(array.reshape(-1).tolist())
    return literal


def store_row_major(literal: pb.LiteralProto) -> None:
    """Put the elements of an array literal in row-major order; its shape stays as it is.

    Raises ValueError where the literal does not hold what its shape says.
    """
    array = np.ascontiguousarray(literal_to_value(literal))
    name = _FIELDS[literal.shape.element_type]
    field = getattr(literal, name)
    if isinstance(field, bytes):
        setattr(literal, name, array.tobytes())
        return
    flat = array.reshape(-1)
    del field[:]
    field.extend(flat.view(flat.real.dtype).tolist() if flat.dtype.kind == "c" else flat.tolist())


def _elements(literal: pb.LiteralProto, count: int) -> Array:
    """The literal's elements in stored order, `count` of them."""
    number = literal.shape.element_type
    dtype = DTYPES[number]
    data = getattr(literal, _FIELDS[number])
    if number in (15, 18):
        parts = np.array(data, dtype=np.float32 if number == 15 else np.float64)
        flat: Array = parts.view(dtype)
    elif not isinstance(data, bytes):
        flat = np.array(data, dtype=dtype)
    elif number in _BITS:
        flat = _small(np.frombuffer(data, np.uint8), _BITS[number], count, dtype)
    else:
        flat = np.frombuffer(data, dtype)
    if len(flat) != count:
        raise ValueError(f"the literal holds {len(flat)} elements, its shape wants {count}")
    return flat


def _small(stored: NDArray[np.uint8], bits: int, count: int, dtype: np.dtype[Any]) -> Array:
    """Elements of 1, 2 or 4 bits: one a byte as XLA writes them, or packed low bits first."""
    codes: Array = stored
    if len(stored) != count and len(stored) == -(-count * bits // 8):
        shifts = np.arange(8 // bits, dtype=np.uint8) * bits
        codes = (stored[:, None] >> shifts).reshape(-1)[:count]
    codes = codes & ((1 << bits) - 1)
    if dtype.name.startswith("int"):
        sign = 1 << (bits - 1)
        codes = (codes.astype(np.int8) ^ sign) - sign
    elif not dtype.name.startswith("uint"):
        return codes.view(dtype)
    return codes.astype(dtype)


# XLA takes arrays from such an address on as they are, and copies others.
_ALIGNMENT = 64
_WORTH_ALIGNING = 16 << 10


def owned(array: Array) -> Array:
    """A row-major copy, of a scalar an array; a large one stands where XLA takes it without copying it once more."""
    if array.nbytes < _WORTH_ALIGNING:
        return np.array(array, order="C")
    raw: NDArray[np.uint8] = np.empty(array.nbytes + _ALIGNMENT, np.uint8)
    skipped = -raw.__array_interface__["data"][0] % _ALIGNMENT
    made: Array = raw[skipped : skipped + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def shape_of(array: Array) -> pb.ShapeProto:
    """The row-major shape of an array."""
    return array_shape(NUMBERS[array.dtype], array.shape)


def array_shape(element_type: pb.PrimitiveType, dimensions: Any) -> pb.ShapeProto:
    """A row-major array shape of these dimensions."""
    dims = [int(d) for d in dimensions]
    shape = pb.ShapeProto(
        element_type=element_type, dimensions=dims, is_dynamic_dimension=[False] * len(dims)
    )
    shape.layout.minor_to_major.extend(range(len(dims) - 1, -1, -1))
    return shape


def write_npz(path: Path, stored: Mapping[str, Any]) -> None:
    """Write arrays as a .npz, under any names; numpy's own `savez` takes "file" for something else.

    Raises:
        OSError: it cannot be written.
    """
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in stored.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
