"""How two arrays differ, told so that a person sees what kind of difference it is."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from hlo_tui.replay import arrays
from hlo_tui.replay.program import Program
from hlo_tui.replay.values import compare, number
from hlo_tui.replay.xla import Replicated

# Between two roundings of the coarsest type of a module so many of its steps are no fault.
_STEPS = 4
_LEAST = 1e-3
_WORST = 5
# So much of an array has to be equal for its tiles to be known to stand in order.
_MOST = 0.5
_BUCKETS = (1e-6, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


class Errors:
    """The differences of the arrays of a value.

    Attributes:
        exact: whether every byte is the same.
        max_abs, max_rel: the largest errors of finite pairs; infinite where an infinity meets something else.
        out: elements out of tolerance.
        nan: of them those where only one side is NaN.
        count: elements in all.
        buckets: how many elements have a relative error above each bound, and at most the next.
        worst: the elements with the largest errors.
    """

    def __init__(self) -> None:
        self.exact = True
        self.max_abs = self.max_rel = 0.0
        self.out = self.nan = self.count = 0
        self.buckets = dict.fromkeys(map(str, _BUCKETS), 0)
        self.worst: list[dict[str, Any]] = []

    def json(self) -> dict[str, Any]:
        """As a message holds it."""
        return {
            "exact": self.exact,
            "max_abs": number(self.max_abs),
            "max_rel": number(self.max_rel),
            "out": self.out,
            "nan_only": bool(self.nan) and self.nan == self.out,
            "nan": self.nan,
            "count": self.count,
            "buckets": self.buckets,
            "worst": self.worst,
        }


def errors(a: Any, b: Any, tolerance: float | None, found: Errors) -> bool:
    """Add the differences between two arrays; False where their shapes are not comparable.

    Args:
        a, b: arrays, or `Replicated` ones; None for tokens.
        tolerance: an element is out where both its absolute and its relative error exceed it; integers and
            booleans must be equal. None: what the elements' type allows.
        found: what to add to.
    """
    if a is None or b is None:
        return a is b
    pairs = _pairs(a, b)
    for x, y in pairs:
        exact_type = x.dtype.kind in "iub" or arrays.dtype_name(x)[0] in "su" or x.dtype == np.bool_
        allowed = 0.0 if exact_type else step_of(x.dtype) if tolerance is None else tolerance
        _add(x, y, allowed, found)
    return bool(pairs)


def is_partial(a: Any, b: Any) -> bool:
    """Whether only one of two values is a tuple."""
    return isinstance(a, tuple) is not isinstance(b, tuple)


def coarseness(program: Program) -> float:
    """The tolerance that the coarsest floating point type of a module asks for."""
    types = {op.proto.shape.element_type for c in program.reachable() for op in c.ops}
    known = [arrays.DTYPES[one] for one in types if one in arrays.DTYPES]
    return max([_LEAST, *(step_of(dtype) for dtype in known if is_float(dtype))])


def is_float(dtype: Any) -> bool:
    """Whether a type is a floating point one, complex included."""
    return dtype.kind in "fc" or (dtype.kind == "V" and not dtype.name.startswith(("int", "uint")))


def step_of(dtype: Any) -> float:
    """The tolerance for values of a type."""
    if not is_float(dtype) or dtype.kind == "c":
        return _LEAST
    return max(_LEAST, _STEPS * float(ml_dtypes.finfo(dtype).eps))


def _pairs(a: Any, b: Any) -> list[tuple[Any, Any]]:
    """The arrays to compare; of a partitioned value the parts put together, or each where each has all."""
    if isinstance(a, Replicated) and isinstance(b, Replicated):
        if len(a.parts) == len(b.parts) and a.parts[0].shape == b.parts[0].shape:
            return [(np.asarray(x), np.asarray(y)) for x, y in zip(a.parts, b.parts, strict=True)]
        # Before the program is partitioned every device has the whole of it, and afterwards a tile.
        if (whole := _whole(b)) is not None:
            return _pairs(a, whole)
        whole = _whole(a)
        return [] if whole is None else _pairs(whole, b)
    if isinstance(b, Replicated):
        return [(x, y) for y, x in _pairs(b, a)]
    if isinstance(a, Replicated):
        whole = np.asarray(b)
        parts = [np.asarray(part) for part in a.parts]
        if all(part.shape == whole.shape for part in parts):
            return [(part, whole) for part in parts]
        joined = _joined(parts, whole.shape)
        return [(joined, whole)] if joined is not None and _is_in_order(parts, joined, whole) else []
    x, y = np.asarray(a), np.asarray(b)
    return [(x, y)] if x.shape == y.shape else []


def _whole(value: Any) -> Any:
    """The array that every device has; None where they have different ones."""
    first = np.asarray(value.parts[0])
    same = all(np.asarray(part).tobytes() == first.tobytes() for part in value.parts[1:])
    return first if same else None


def _is_in_order(parts: list[Any], joined: Any, whole: Any) -> bool:
    """Whether tiles that were put together stand where they belong: the text does not say which device has which.

    They do where everything is equal; and where most is equal, and less would be in another order: then what is left
    is a difference of values.
    """
    if compare(joined, whole).within:
        return True
    other = _joined([*parts[1:], parts[0]], whole.shape)
    share = _equal_share(joined, whole)
    return share >= _MOST and (other is None or _equal_share(other, whole) < share)


def _equal_share(a: Any, b: Any) -> float:
    same = (a == b) | ((a != a) & (b != b))
    return float(np.mean(same)) if same.size else 1.0


def _joined(parts: list[Any], shape: tuple[int, ...]) -> Any:
    """The tiles of an array put together row by row; None where they do not fill it."""
    tile = parts[0].shape
    if len(tile) != len(shape) or any(not t or n % t for n, t in zip(shape, tile, strict=True)):
        return None
    counts = [n // t for n, t in zip(shape, tile, strict=True)]
    needed = int(np.prod(counts))
    if not needed or len(parts) % needed:
        return None
    # Devices that hold the same tile stand together or apart by a stride: both are tried by the caller's test.
    chosen = parts[:: len(parts) // needed]
    whole = np.empty(shape, parts[0].dtype)
    for place, part in zip(np.ndindex(*counts), chosen, strict=True):
        whole[tuple(slice(i * t, (i + 1) * t) for i, t in zip(place, tile, strict=True))] = part
    return whole


def _add(x: Any, y: Any, tolerance: float, found: Errors) -> None:
    found.count += x.size
    difference = compare(x, y, tolerance)
    if difference.exact:
        return
    found.exact = False
    found.max_abs = max(found.max_abs, difference.max_abs)
    found.max_rel = max(found.max_rel, difference.max_rel)
    found.nan += difference.nan_mismatches
    found.out += difference.mismatches + difference.nan_mismatches
    _look_closer(x.reshape(-1), y.reshape(-1), found)


def _look_closer(x: Any, y: Any, found: Errors) -> None:
    """Buckets, the worst elements, and infinities, which `compare` leaves out of the largest errors."""
    a, b = (value.astype(np.complex128 if value.dtype.kind == "c" else np.float64) for value in (x, y))
    with np.errstate(all="ignore"):
        absolute = np.abs(a - b)
        relative = np.where(absolute == 0, 0.0, absolute / np.abs(b))
    infinite = (np.isinf(a) | np.isinf(b)) & ~(np.isnan(a) | np.isnan(b)) & (a != b)
    if infinite.any():
        found.max_abs = found.max_rel = float("inf")
    for bound, above in zip(_BUCKETS, (*_BUCKETS[1:], np.inf), strict=True):
        found.buckets[str(bound)] += int(((relative > bound) & (relative <= above)).sum())
    one_nan = np.isnan(a) != np.isnan(b)
    rank = np.where(one_nan | infinite, np.inf, np.where(np.isnan(absolute), 0.0, absolute))
    for place in np.argsort(-rank, kind="stable")[: _WORST - len(found.worst)]:
        if rank[place] > 0:
            found.worst.append({"element": int(place), "a": number(x[place]), "b": number(y[place])})
