"""Operations that only move data, done in numpy on the host: no arithmetic, so nothing of XLA's is re-
implemented.

They are about half of all instructions, and none of them is worth a compile.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays
from hlo_tui.replay.program import Op
from hlo_tui.replay.updated import Updated, updated

Array = arrays.Array
Function = Callable[..., Array]


# What a broadcast makes is written out up to so many bytes: that costs less than a view of it, and is done once.
_WRITTEN_OUT = 16 << 10


def host_function(op: Op, shapes: Sequence[pb.ShapeProto]) -> Function | None:
    """A function of numpy arrays with the value of `op`, or None where XLA has to compute it.

    The functions of AS_THEY_ARE take any form of their operands' values.

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
    in_order = order == list(range(len(kept)))
    middle = [target[d] if d in kept else 1 for d in range(len(target))]
    dtype = arrays.DTYPES[op.proto.shape.element_type]

    def view(x: Array) -> Array:
        return np.broadcast_to(x.transpose(order).reshape(middle), target)

    def written_out(x: Array) -> Array:
        made = np.empty(target, dtype)
        made[...] = x.reshape(middle) if in_order else x.transpose(order).reshape(middle)
        return made

    return written_out if math.prod(target) * dtype.itemsize <= _WRITTEN_OUT else view


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
    in_order = to_physical == sorted(to_physical) and to_logical == sorted(to_logical)
    if in_order and source.element_type == target.element_type:
        return lambda x: x.reshape(physical)

    def bitcast(x: Array) -> Array:
        flat = np.ascontiguousarray(x.transpose(to_physical)).reshape(-1)
        if flat.dtype != dtype:
            flat = flat.view(dtype)
        return flat.reshape(physical).transpose(to_logical)

    return bitcast


def _slice(op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function:
    index = tuple(slice(d.start, d.limit, d.stride) for d in op.proto.slice_dimensions)
    # A copy: a view would keep all of the operand in memory.
    return lambda x: arrays.owned(x[index])


def _reverse(op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function:
    axes = tuple(op.proto.dimensions)
    # Of an array without dimensions numpy makes a scalar, here and below.
    return lambda x: np.asarray(np.flip(x, axes))


def _concatenate(op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function:
    axis = op.proto.dimensions[0]
    return lambda *parts: np.concatenate(parts, axis)


def _select(op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function:
    target = tuple(op.proto.shape.dimensions)

    def select(which: Array, yes: Array, no: Array) -> Array:
        chosen: Array = np.where(which, yes, no)
        return chosen.reshape(target)

    return select


def _pad(op: Op, _shapes: Sequence[pb.ShapeProto]) -> Function:
    target = tuple(op.proto.shape.dimensions)
    config = [
        (d.edge_padding_low, d.edge_padding_high, d.interior_padding + 1)
        for d in op.proto.padding_config.dimensions
    ]
    inside = tuple(slice(max(low, 0), None, step) for low, _, step in config)
    # What padding below zero takes away is there first, and is cut off again.
    cut = tuple(slice(max(-low, 0), max(-low, 0) + n) for (low, _, _), n in zip(config, target, strict=True))

    def pad(x: Array, filler: Array) -> Array:
        spread = [max((n - 1) * step + 1, 0) for n, (_, _, step) in zip(x.shape, config, strict=True)]
        whole = [n + max(low, 0) + max(high, 0) for n, (low, high, _) in zip(spread, config, strict=True)]
        made = np.broadcast_to(filler, whole).copy()
        places = tuple(
            slice(one.start, one.start + n, one.step) for one, n in zip(inside, spread, strict=True)
        )
        made[places] = x
        return np.asarray(made[cut])

    return pad


def _starts(at: Sequence[Array], sizes: Sequence[int], within: Sequence[int]) -> tuple[slice, ...]:
    """The part of these sizes at a place; a place from which it would not fit is moved as far as needed."""
    begins = [
        min(max(int(one), 0), outer - inner) for one, inner, outer in zip(at, sizes, within, strict=True)
    ]
    return tuple(slice(begin, begin + inner) for begin, inner in zip(begins, sizes, strict=True))


def _dynamic_slice(op: Op, shapes: Sequence[pb.ShapeProto]) -> Function | None:
    sizes, within = list(op.proto.dynamic_slice_sizes), list(shapes[0].dimensions)
    if len(shapes) != len(within) + 1:
        return None

    def part(x: Any, *at: Any) -> Array:
        source = x if isinstance(x, Updated) else np.asarray(x)
        return arrays.owned(source[_starts([np.asarray(one) for one in at], sizes, within)])

    return part


def _dynamic_update_slice(_op: Op, shapes: Sequence[pb.ShapeProto]) -> Function | None:
    within, sizes = list(shapes[0].dimensions), list(shapes[1].dimensions)
    if len(shapes) != len(within) + 2:
        return None

    def update(x: Any, part: Any, *at: Any) -> Any:
        return updated(x, np.asarray(part), _starts([np.asarray(one) for one in at], sizes, within))

    return update


_MAKERS: dict[str, Callable[[Op, Sequence[pb.ShapeProto]], Function | None]] = {
    "constant": _constant,
    "copy": _copy,
    "broadcast": _broadcast,
    "reshape": _reshape,
    "transpose": _transpose,
    "iota": _iota,
    "bitcast": _bitcast,
    "slice": _slice,
    "reverse": _reverse,
    "concatenate": _concatenate,
    "select": _select,
    "pad": _pad,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
}

# Opcodes that are done here, but for a few element types.
HOSTED = frozenset(_MAKERS)

AS_THEY_ARE = frozenset({"copy", "dynamic-slice", "dynamic-update-slice"})
