"""Bounded dynamic shapes (`f32[<=8]`): values are arrays of the size that they have, and padded on their way into XLA.

XLA's CPU client does not take dynamic parameters. So what goes into a slice is an array of the bounds and the sizes,
set inside of it; what comes out is made static again, its sizes beside it. What is past the size is never seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tui.errors import EngineError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays, traced
from hlo_tui.replay.program import Op
from hlo_tui.replay.traced import Unsupported
from hlo_tui.replay.xla import Replicated

if TYPE_CHECKING:
    from hlo_tui.replay.lowering import Emitter

Instruction = pb.HloInstructionProto
_SCALAR = arrays.array_shape(arrays.S32, ())


def is_dynamic(shape: pb.ShapeProto) -> bool:
    """Whether an array has a dimension with a bound instead of a size."""
    return any(shape.is_dynamic_dimension)


def dimensions(shape: pb.ShapeProto) -> list[int]:
    """The dynamic dimensions."""
    return [d for d, dynamic in enumerate(shape.is_dynamic_dimension) if dynamic]


def fits(dims: Sequence[int], shape: pb.ShapeProto) -> bool:
    """Whether an array of these dimensions is a value of this shape."""
    return len(dims) == len(shape.dimensions) and all(
        size == n or (size < n and d in dimensions(shape))
        for d, (size, n) in enumerate(zip(dims, shape.dimensions, strict=True))
    )


def bound(shape: pb.ShapeProto) -> pb.ShapeProto:
    """The static shape of the bounds."""
    return arrays.array_shape(shape.element_type, shape.dimensions)


# Values.


def padded(value: Any, shape: pb.ShapeProto) -> list[Any]:
    """A value as it goes into a slice: padded to the bounds, then its size in each dynamic dimension.

    Raises:
        EngineError: it is larger than its bounds.
    """
    if isinstance(value, Replicated):
        columns = zip(*(padded(part, shape) for part in value.parts), strict=True)
        return [Replicated(tuple(column)) for column in columns]
    array = np.asarray(value)
    if not fits(array.shape, shape):
        message = f"{list(array.shape)} for {arrays.shape_text(shape)}"
        raise EngineError("a value is larger than its bounds", message)
    missing = [(0, n - size) for n, size in zip(shape.dimensions, array.shape, strict=True)]
    sizes = [np.array(array.shape[d], np.int32) for d in dimensions(shape)]
    return [np.pad(array, missing), *sizes]


def cut(leaves: Sequence[Any], shape: pb.ShapeProto) -> Any:
    """The value of what comes out of a slice in the form of `padded`."""
    replicas = max((len(leaf.parts) for leaf in leaves if isinstance(leaf, Replicated)), default=0)
    if replicas:
        parts = (
            [leaf.parts[r] if isinstance(leaf, Replicated) else leaf for leaf in leaves]
            for r in range(replicas)
        )
        return Replicated(tuple(cut(part, shape) for part in parts))
    sizes = list(shape.dimensions)
    for d, size in zip(dimensions(shape), leaves[1:], strict=True):
        sizes[d] = min(max(int(np.asarray(size)), 0), sizes[d])
    return np.asarray(leaves[0])[tuple(slice(0, size) for size in sizes)]


def leaf_shapes(shape: pb.ShapeProto) -> list[pb.ShapeProto]:
    """The shapes of `padded`."""
    return [bound(shape), *(_SCALAR for _ in dimensions(shape))] if is_dynamic(shape) else [shape]


# Instructions.


def sized(
    static: Instruction, sizes: Sequence[Instruction], shape: pb.ShapeProto, out: Emitter
) -> Instruction:
    """An array of bounds with its sizes set."""
    value, dims = static, pb.ShapeProto()
    dims.CopyFrom(bound(shape))
    for d, size in zip(dimensions(shape), sizes, strict=True):
        dims.is_dynamic_dimension[d] = True
        value = out.emit("set-dimension-size", dims, [value, size], dimensions=[d])
    return value


def unsized(value: Instruction, out: Emitter) -> Instruction:
    """An array of the bounds; what is past the sizes may be anything."""
    dims = pb.ShapeProto()
    dims.CopyFrom(value.shape)
    for d in dimensions(value.shape):
        size = _constant(value.shape.dimensions[d], out)
        dims.is_dynamic_dimension[d] = False
        value = out.emit("set-dimension-size", dims, [value, size], dimensions=[d])
    return value


def size_of(value: Instruction, dimension: int, out: Emitter) -> Instruction:
    """The size of a dimension."""
    return out.emit("get-dimension-size", _SCALAR, [value], dimensions=[dimension])


def leaves(value: Instruction, out: Emitter) -> list[Instruction]:
    """A dynamic array in the form of `padded`."""
    return [unsized(value, out), *(size_of(value, d, out) for d in dimensions(value.shape))]


def pad_to_static(op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    """The custom call PadToStatic: the array of the bounds with zeros past the sizes, and every dimension's size."""
    (value,) = operands
    sizes = [size_of(value, d, out) for d in range(len(value.shape.dimensions))]
    static = pb.HloInstructionProto(opcode="pad-to-static", shape=bound(value.shape))
    masked = traced.emit(static, [unsized(value, out), *sizes], out, _zeros_past_the_sizes)
    return out.emit("tuple", op.proto.shape, [masked, *sizes])


def slice_to_dynamic(op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    """The custom call SliceToDynamic: an array and the size of every dimension."""
    static, *sizes = operands
    return sized(static, [sizes[d] for d in dimensions(op.proto.shape)], op.proto.shape, out)


def reshape(op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    """reshape and dynamic-reshape where a shape is dynamic: the elements that there are, in their order.

    Raises:
        Unsupported: a reshape gives more than one size that is not in the program.
    """
    value, *given = operands
    old, new = value.shape, op.proto.shape
    sizes = [size_of(value, d, out) for d in range(len(old.dimensions))]
    if not given:
        given = _inferred(sizes, new, out)
    static = pb.HloInstructionProto(opcode="dynamic-reshape", shape=bound(new))
    moved = traced.emit(static, [unsized(value, out), *sizes, *given], out, _moved)
    return sized(moved, [given[d] for d in dimensions(new)], new, out)


def _inferred(sizes: Sequence[Instruction], new: pb.ShapeProto, out: Emitter) -> list[Instruction]:
    """The sizes of a reshape's result: one may be dynamic, and holds what the others leave."""
    places = dimensions(new)
    if len(places) > 1:
        raise Unsupported("a reshape to more than one dynamic dimension")
    static = math.prod(n for d, n in enumerate(new.dimensions) if d not in places)
    total = _constant(1, out)
    for size in sizes:
        total = out.emit("multiply", _SCALAR, [total, size])
    left = out.emit("divide", _SCALAR, [total, _constant(max(static, 1), out)])
    return [left if d in places else _constant(n, out) for d, n in enumerate(new.dimensions)]


def _constant(number: int, out: Emitter) -> Instruction:
    return out.emit("constant", _SCALAR, [], literal=pb.LiteralProto(shape=_SCALAR, s32s=[number]))


def _zeros_past_the_sizes(_call: traced.Call) -> traced.Function:
    def run(array: Any, *sizes: Any) -> Sequence[Any]:
        import jax.numpy as jnp

        inside = jnp.ones(array.shape, bool)
        for place, size in zip(jnp.indices(array.shape), sizes, strict=True):
            inside &= place < size
        return [jnp.where(inside, array, jnp.zeros((), array.dtype))]

    return run


def _moved(call: traced.Call) -> traced.Function:
    """Operands: the array of the bounds, the sizes that it has, the sizes that it gets."""
    rank, target = len(call.operands[0].dimensions), tuple(call.results[0].dimensions)

    def run(array: Any, *sizes: Any) -> Sequence[Any]:
        import jax.numpy as jnp

        old, new = sizes[:rank], sizes[rank:]
        number = jnp.zeros(target, jnp.int32)
        for place, size in zip(jnp.indices(target), new, strict=True):
            number = number * size + place
        source = jnp.zeros(target, jnp.int32)
        for d in range(rank):
            inner = math.prod(old[d + 1 :])
            place = number // jnp.maximum(inner, 1) % jnp.maximum(old[d], 1)
            source = source * array.shape[d] + place
        return [jnp.take(array.reshape(-1), source, mode="clip")]

    return run
