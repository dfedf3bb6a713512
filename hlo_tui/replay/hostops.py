"""Operations that only move data, done in numpy on the host: no arithmetic, so nothing of XLA's is re-
implemented.

They are about half of all instructions, and none of them is worth a compile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays
from hlo_tui.replay.program import Op

Array = arrays.Array
Function = Callable[..., Array]


def host_function(op: Op, shapes: Sequence[pb.ShapeProto]) -> Function | None:
    """A numpy function with the value of `op`, or None where XLA has to compute it.

    Args:
        op: the instruction.
        shapes: its operands' shapes, with the layouts they have in the module.
    """
    maker = _MAKERS.get(op.opcode)
    if (
        maker is None
        or op.proto.shape.element_type not in arrays.DTYPES
        or any(op.proto.shape.is_dynamic_dimension)
    ):
        return None
    if any(shape.element_type not in arrays.DTYPES or any(shape.is_dynamic_dimension) for shape in shapes):
        return None
    return maker(op, shapes)


def _constant(op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function:
    value = arrays.literal_to_value(op.proto.literal)
    return lambda: value


def _copy(_op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function:
    return lambda x: x


def _broadcast(op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function:
    target = tuple(op.proto.shape.dimensions)
    kept = list(op.proto.dimensions)
    order = sorted(range(len(kept)), key=kept.__getitem__)
    middle = [target[d] if d in kept else 1 for d in range(len(target))]

    def broadcast(x: Array) -> Array:
        return np.broadcast_to(x.transpose(order).reshape(middle), target)

    return broadcast


def _reshape(op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function:
    target = tuple(op.proto.shape.dimensions)
    return lambda x: x.reshape(target)


def _transpose(op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function:
    order = list(op.proto.dimensions)
    return lambda x: x.transpose(order)


def _iota(op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function | None:
    if not op.proto.dimensions:
        return None
    dtype = arrays.DTYPES[op.proto.shape.element_type]
    if dtype.kind not in "iu":
        return None
    target = tuple(op.proto.shape.dimensions)
    along = op.proto.dimensions[0]
    line = np.arange(target[along]).astype(dtype)
    middle = [n if d == along else 1 for d, n in enumerate(target)]
    value = np.broadcast_to(line.reshape(middle), target)
    return lambda: value


def _bitcast(op: Op, shapes: Sequence[pb.ShapeProto]) -> Function | None:
    source, target = shapes[0], op.proto.shape
    old, new = arrays.element_bits(source.element_type), arrays.element_bits(target.element_type)
    if source.element_type != target.element_type and min(old, new) < 8:
        return None
    dtype = arrays.DTYPES[target.element_type]
    to_physical = arrays.minor_to_major(source)[::-1]
    from_physical = arrays.minor_to_major(target)[::-1]
    physical = [target.dimensions[d] for d in from_physical]
    to_logical = sorted(range(len(from_physical)), key=from_physical.__getitem__)
    if math.prod(source.dimensions) * old != math.prod(physical) * new:
        return None

    def bitcast(x: Array) -> Array:
        flat = np.ascontiguousarray(x.transpose(to_physical)).reshape(-1)
        if flat.dtype != dtype:
            flat = flat.view(dtype)
        return flat.reshape(physical).transpose(to_logical)

    return bitcast


_MAKERS: dict[str, Callable[[Op, Sequence[pb.ShapeProto]], Function | None]] = {
    "constant": _constant,
    "copy": _copy,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "transpose": _transpose,
    "iota": _iota,
    "bitcast": _bitcast,
}

# Opcodes that are done here, but for a few element types.
HOSTED = frozenset(_MAKERS)
