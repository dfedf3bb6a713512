"""Made values for parameters: seeded, of the kind that was asked for, and within what the module's uses
allow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from hlo_tui.replay.arrays import Array
from hlo_tui.replay.uses import Use

Draw = Callable[[np.random.Generator, tuple[int, ...], Any], Array]


def _small(rng: np.random.Generator, dims: tuple[int, ...], _dtype: Any) -> Array:
    # As XLA's own tools make them: small, so that sums stay small.
    return rng.uniform(-0.1, 0.2, dims)


def _normal(rng: np.random.Generator, dims: tuple[int, ...], _dtype: Any) -> Array:
    return rng.normal(size=dims)


def _large(rng: np.random.Generator, dims: tuple[int, ...], dtype: Any) -> Array:
    """Log-uniform over the type's exponents, both signs."""
    finfo = _limits(dtype)
    exponents = rng.uniform(np.log2(float(finfo.tiny)), np.log2(float(finfo.max)), dims)
    return rng.choice([-1.0, 1.0], dims) * np.exp2(exponents)


def _boundary(rng: np.random.Generator, dims: tuple[int, ...], dtype: Any) -> Array:
    """Zeros, ones, the type's least and greatest, and their negatives."""
    finfo = _limits(dtype)
    edges = [0.0, 1.0, float(finfo.tiny), float(finfo.eps), float(finfo.max)]
    return rng.choice([*edges, *(-edge for edge in edges)], dims)


def _limits(dtype: Any) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(dtype)


def _constant(number: float) -> Draw:
    return lambda _rng, dims, _dtype: np.full(dims, number)


PRESETS: Mapping[str, Draw] = {
    "made": _small,
    "zeros": _constant(0.0),
    "ones": _constant(1.0),
    "normal": _normal,
    "large": _large,
    "boundary": _boundary,
}


def draw(
    rng: np.random.Generator, preset: str, dtype: np.dtype[Any], dims: tuple[int, ...], use: Use
) -> Array:
    """One array.

    Args:
        rng: goes on with each draw.
        preset: one of PRESETS.
        dtype: of the result.
        dims: of the result.
        use: what the module's uses ask for; a domain is kept only in preset "made".
    """
    if use.start is not None:
        return np.full(dims, use.start).astype(dtype)
    if dtype == np.bool_:
        return (
            np.full(dims, preset == "ones")
            if preset in ("zeros", "ones")
            else rng.integers(0, 2, dims).astype(dtype)
        )
    if _is_integer(dtype):
        return _integers(rng, preset, dtype, dims, use)
    if use.unique and preset not in ("zeros", "ones"):
        return (rng.permutation(int(np.prod(dims))).reshape(dims) / 8).astype(dtype)
    if dtype.kind == "c":
        real, imaginary = (PRESETS[preset](rng, dims, np.dtype(np.float32)) for _ in range(2))
        return np.asarray(real + 1j * imaginary).astype(dtype)
    values = PRESETS[preset](rng, dims, dtype)
    return np.asarray(_in_domain(values, use.domain) if preset == "made" else values).astype(dtype)


def _is_integer(dtype: np.dtype[Any]) -> bool:
    return dtype.kind in "iu" or dtype.name.startswith(("int", "uint"))


def _integers(
    rng: np.random.Generator, preset: str, dtype: np.dtype[Any], dims: tuple[int, ...], use: Use
) -> Array:
    if use.unique and preset not in ("zeros", "ones"):
        return rng.permutation(int(np.prod(dims))).reshape(dims).astype(dtype)
    largest = {"int2": 1, "uint2": 3, "int4": 7}.get(dtype.name, 7)
    highest = largest if use.highest is None else max(0, min(use.highest, 1 << 20))
    if preset in ("zeros", "ones"):
        values = np.full(dims, min(highest, int(preset == "ones")))
    else:
        # Small, so that counters end.
        values = rng.integers(0, highest + 1, dims)
    if use.in_order:
        values = np.sort(values.reshape(-1)).reshape(dims)
    return np.asarray(values).astype(dtype)


def _in_domain(values: Array, domain: str) -> Array:
    """The values moved into a domain, away from its border: so that a NaN is not made by the data."""
    if domain == "positive":
        return np.abs(values) + 0.01
    if domain == "not negative":
        return np.abs(values)
    if domain == "not zero":
        return np.where(np.abs(values) < 0.01, 0.01, values)
    return values
