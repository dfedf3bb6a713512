"""Products of matrices in a type that loses nothing, as the libraries of accelerators accumulate them."""

from __future__ import annotations

from typing import Any

import numpy as np

Numbers = tuple[tuple[tuple[int, ...], tuple[int, ...]], tuple[tuple[int, ...], tuple[int, ...]]]


def dot_dimensions(written: dict[str, Any]) -> Numbers:
    """Dot dimension numbers as a JSON object has them, as JAX takes them: ((contracting), (batch))."""
    left, right, left_batch, right_batch = (
        tuple(int(number) for number in written.get(f"{side}_{kind}_dimensions", ()))
        for kind in ("contracting", "batch")
        for side in ("lhs", "rhs")
    )
    return (left, right), (left_batch, right_batch)


def accumulator(*dtypes: np.dtype[Any]) -> np.dtype[Any]:
    """The type in which a product of these types is summed up."""
    if any(dtype.kind == "c" for dtype in dtypes):
        return np.result_type(*(dtype for dtype in dtypes if dtype.kind == "c"))
    if all(dtype.kind in "iu" or dtype.name.startswith(("int", "uint")) for dtype in dtypes):
        return np.dtype(np.int32)
    return np.dtype(np.float64 if np.dtype(np.float64) in dtypes else np.float32)


def dot(a: Any, b: Any, numbers: Numbers, kept: np.dtype[Any]) -> Any:
    """A general dot, both operands and the sum in the type `kept`."""
    from jax import lax

    return lax.dot_general(a.astype(kept), b.astype(kept), numbers, preferred_element_type=kept)


def saturated(value: Any, result: np.dtype[Any]) -> Any:
    """The value in a narrow type; what is out of its range becomes its largest or least number."""
    import jax.numpy as jnp
    import ml_dtypes

    if result.itemsize > 1 or result == np.dtype(bool):
        return value.astype(result)
    if result.kind in "iu" or result.name.startswith(("int", "uint")):
        info: Any = ml_dtypes.iinfo(result)
        return jnp.clip(jnp.round(value), info.min, info.max).astype(result)
    limit = float(ml_dtypes.finfo(result).max)
    return jnp.clip(value, -limit, limit).astype(result)
