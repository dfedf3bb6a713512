"""What products with block-scaled operands and ragged groups mean: each block of elements has a scale of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hlo_tui.replay.dotting import Numbers, accumulator, dot
from hlo_tui.replay.traced import Call, Function, Unsupported, dtype_of


def scaled_dot(call: Call) -> Function:
    """The opcode scaled-dot: A, B, scales of A, scales of B; a scale that is a scalar counts as none."""
    return scaled_product(_numbers(call.proto.dot_dimension_numbers), call)


def scaled_product(numbers: Numbers, call: Call) -> Function:
    """The product of scaled operands with these dimension numbers."""
    kept = accumulator(dtype_of(call.results[0]))

    def run(a: Any, b: Any, a_scale: Any, b_scale: Any) -> Sequence[Any]:
        return [dot(_dequantized(a, a_scale, kept), _dequantized(b, b_scale, kept), numbers, kept)]

    return run


def block_scaled_dot(call: Call) -> Function:
    """`__op$block_scaled_dot`: A, B, scales of A, and perhaps scales of B and a scale of the result.

    Both operands are contracted along their last dimension, the first of three is a batch. Scales may be
    padded.
    """
    kept = accumulator(dtype_of(call.results[0]))
    rank = len(call.operands[0].dimensions)
    batch = (0,) if rank == 3 else ()
    numbers = ((rank - 1,), (rank - 1,)), (batch, batch)
    block = int(call.settings("block_scaled_dot_backend_config").get("block_size", 0))

    def run(a: Any, b: Any, a_scale: Any, *rest: Any) -> Sequence[Any]:
        left = _dequantized(a, _unpadded(a_scale, a.shape, block), kept)
        right = _dequantized(b, _unpadded(rest[0], b.shape, block), kept) if rest else b
        result = dot(left, right, numbers, kept)
        return [result * rest[1].astype(kept) if len(rest) > 1 else result]

    return run


def quantize(call: Call) -> Function:
    """`__op$quantize`: blocks of the last dimension divided by a scale that keeps them in range, and the scales."""
    import ml_dtypes

    quantized, scales = call.results
    dtype, scale_dtype = dtype_of(quantized), dtype_of(scales)
    dims = tuple(scales.dimensions)
    largest = 2.0 ** math.floor(math.log2(float(ml_dtypes.finfo(dtype).max)))

    def run(x: Any) -> Sequence[Any]:
        import jax.numpy as jnp

        blocks = x.reshape(*dims, -1)
        scale = (jnp.max(jnp.abs(blocks), axis=-1) / x.dtype.type(largest)).astype(scale_dtype)
        return [(blocks / scale.astype(x.dtype)[..., None]).reshape(x.shape), scale]

    return run


def dequantize(call: Call) -> Function:
    """`__op$dequantize`: elements times the scale of their block."""
    kept = dtype_of(call.results[0])
    return lambda x, scale: [_dequantized(x, scale, kept)]


def ragged_dot(call: Call) -> Function:
    """The opcode ragged-dot: one dimension of A is cut into groups of given sizes, each with a B of its own."""
    from jax import lax

    written = call.proto.ragged_dot_dimension_numbers
    numbers = _numbers(written.dot_dimension_numbers)
    ragged, groups = list(written.lhs_ragged_dimensions), list(written.rhs_group_dimensions)
    result = dtype_of(call.results[0])
    kept = accumulator(*(dtype_of(shape) for shape in (*call.operands[:2], call.results[0])))
    if len(ragged) != 1:
        raise Unsupported("a ragged dot with other than one ragged dimension")
    if ragged[0] in numbers[1][0]:
        # A batch dimension stays what it is: its groups only say how it is cut.
        return lambda a, b, _sizes: [dot(a, b, numbers, kept)]
    make: Any = lax.RaggedDotDimensionNumbers
    dimensions = make(numbers, ragged, groups)

    def run(a: Any, b: Any, sizes: Any) -> Sequence[Any]:
        wide = a.astype(kept), b.astype(kept)
        return [lax.ragged_dot_general(*wide, sizes, dimensions, preferred_element_type=kept).astype(result)]

    return run


def _numbers(written: Any) -> Numbers:
    return (
        (tuple(written.lhs_contracting_dimensions), tuple(written.rhs_contracting_dimensions)),
        (tuple(written.lhs_batch_dimensions), tuple(written.rhs_batch_dimensions)),
    )


def _dequantized(x: Any, scale: Any, kept: np.dtype[Any]) -> Any:
    """Elements times the scale of their block; each dimension of the scales divides that of the elements."""
    import jax.numpy as jnp

    wide = x.astype(kept)
    if not scale.ndim:
        return wide
    factors = scale.astype(kept)
    for dimension, (size, blocks) in enumerate(zip(x.shape, scale.shape, strict=True)):
        if size % blocks:
            raise ValueError(f"{blocks} blocks do not fit {size} elements")
        factors = jnp.repeat(factors, size // blocks, axis=dimension)
    return wide * factors


def _unpadded(scale: Any, dims: Sequence[int], block: int) -> Any:
    """The scales that belong to elements, where a library wanted more of them."""
    kept = tuple(slice(0, size) for size in dims[:-1])
    last = -(-dims[-1] // block) if block else scale.shape[-1]
    return scale[(*kept, slice(0, last))]
