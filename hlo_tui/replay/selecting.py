"""What the sorts and top-k selections of other backends mean."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays
from hlo_tui.replay.program import Op
from hlo_tui.replay.traced import Call, Function, Unsupported

if TYPE_CHECKING:
    from hlo_tui.replay.lowering import Emitter

Instruction = pb.HloInstructionProto

_DESCENDING = re.compile(rb"descending\W{0,4}(?:true|1)")


def radix_sort(call: Call) -> Function:
    """`__cub$DeviceRadixSort` and its later names: keys along the last dimension, and perhaps values with them."""
    descending = _DESCENDING.search(call.proto.backend_config) is not None

    def run(*operands: Any) -> Sequence[Any]:
        from jax import lax

        last = operands[0].ndim - 1
        if not descending:
            return list(lax.sort(operands, dimension=last, is_stable=True, num_keys=1))
        # Turned round before and after, so that equal keys keep their order.
        turned = tuple(lax.rev(operand, (last,)) for operand in operands)
        sorted_up = lax.sort(turned, dimension=last, is_stable=True, num_keys=1)
        return [lax.rev(operand, (last,)) for operand in sorted_up]

    return run


def top_k(call: Call) -> Function:
    """`TopK` and `__gpu$TopK`: the largest elements along the last dimension, and where they are."""
    k = call.results[0].dimensions[-1]

    def run(x: Any) -> Sequence[Any]:
        from jax import lax

        return list(lax.top_k(x, k))

    return run


def approximate(op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    """`ApproxTopK` and `PartialReduce`: the best elements by a comparison, of which some may be missed.

    Operands are the arrays and as many initial values; a sort misses none.

    Raises:
        Unsupported: it is of another form.
    """
    count = len(operands) // 2
    try:
        dimension = int(json.loads(op.proto.backend_config)["reduction_dim"])
    except (ValueError, KeyError, TypeError) as error:
        raise Unsupported("its backend config cannot be read") from error
    shape = op.proto.shape
    results = list(shape.tuple_shapes) if shape.element_type == arrays.TUPLE else [shape]
    if len(op.called) != 1 or len(results) != count or len(operands) != 2 * count:
        raise Unsupported(f"{len(operands)} operands and {len(results)} results")
    whole = [operand.shape for operand in operands[:count]]
    if any(not _is_part(part, of) for part, of in zip(results, whole, strict=True)):
        raise Unsupported("it gives more elements than it takes")
    ordered = out.emit(
        "sort", _tuple_of(whole), operands[:count], dimensions=[dimension], is_stable=True,
        called_computation_ids=[out.module.callee(op.called[0])],
    )  # fmt: skip
    parts = [ordered]
    if count > 1:
        parts = [out.emit("get-tuple-element", w, [ordered], tuple_index=n) for n, w in enumerate(whole)]
    best = [_first(part, wanted, out) for part, wanted in zip(parts, results, strict=True)]
    return out.emit("tuple", shape, best) if shape.element_type == arrays.TUPLE else best[0]


def _tuple_of(shapes: Sequence[pb.ShapeProto]) -> pb.ShapeProto:
    return shapes[0] if len(shapes) == 1 else pb.ShapeProto(element_type=arrays.TUPLE, tuple_shapes=shapes)


def _is_part(part: pb.ShapeProto, whole: pb.ShapeProto) -> bool:
    return len(part.dimensions) == len(whole.dimensions) and all(
        size <= n for size, n in zip(part.dimensions, whole.dimensions, strict=True)
    )


def _first(value: Instruction, wanted: pb.ShapeProto, out: Emitter) -> Instruction:
    piece = [pb.HloInstructionProto.SliceDimensions(start=0, limit=d, stride=1) for d in wanted.dimensions]
    return out.emit("slice", wanted, [value], slice_dimensions=piece)
