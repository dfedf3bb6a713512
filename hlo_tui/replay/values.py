"""What a value of the replay can be, and its summary for a person or a script."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from hlo_tui.replay import arrays
from hlo_tui.replay.xla import Replicated

FIRST = 8


class Unknown:
    """A value that could not be computed; `origin` is the instruction where it began."""

    __slots__ = ("origin", "reason")

    def __init__(self, reason: str, origin: str) -> None:
        self.reason = reason
        self.origin = origin


def find_unknown(value: Any) -> Unknown | None:
    """The first unknown part of a value."""
    if isinstance(value, Unknown):
        return value
    if isinstance(value, tuple):
        for part in value:
            found = find_unknown(part)
            if found is not None:
                return found
    return None


def to_numpy(value: Any) -> Any:
    """A device value as numpy arrays (no copy on the CPU); tuples part by part, replicated values as their
    first part.
    """
    if isinstance(value, tuple):
        return tuple(to_numpy(part) for part in value)
    if isinstance(value, Replicated):
        return np.asarray(value.parts[0])
    if value is None or isinstance(value, Unknown):
        return value
    return np.asarray(value)


def as_it_is(value: Any) -> Any:
    """For `each_replica`: the function takes any form of a value."""
    return value


def each_replica(
    function: Callable[..., Any], values: list[Any], form: Callable[[Any], Any] = np.asarray
) -> Any:
    """Apply a function of arrays to values, replica by replica where any of them is replicated.

    Args:
        function: takes what `form` gives.
        values: arrays, replicated or not.
        form: makes numpy arrays, unless it is `as_it_is`.
    """
    count = max((len(v.parts) for v in values if isinstance(v, Replicated)), default=0)
    if not count:
        return function(*map(form, values))
    rows = [v.parts if isinstance(v, Replicated) else (v,) * count for v in values]
    return Replicated(tuple(function(*(form(row[r]) for row in rows)) for r in range(count)))


def number(value: Any) -> float | int | str | None:
    """A number as JSON can hold it: non-finite ones are written out, complex ones as text."""
    item = value.item() if hasattr(value, "item") else value
    if isinstance(item, complex):
        return f"({item.real:.9g}, {item.imag:.9g})"
    if isinstance(item, bool | int):
        return int(item)
    item = float(item)
    if math.isnan(item):
        return "nan"
    if math.isinf(item):
        return "inf" if item > 0 else "-inf"
    return item


def summarize(value: Any, partition: int | None = None) -> dict[str, Any]:
    """SUMMARY of a value: shape, dtype, statistics over finite elements, counts, the first elements.

    Args:
        value: an array, a tuple of values, Unknown, or None for a token.
        partition: whose part of a value that every partition has its own of.
    """
    if isinstance(value, tuple):
        return {"tuple": [summarize(part, partition) for part in value]}
    if isinstance(value, Unknown):
        return {"unknown": value.reason}
    if value is None:
        return {"shape": "token[]", "dtype": "token"}
    if isinstance(value, Replicated):
        return _replicated_summary(value, partition)
    return _array_summary(np.asarray(value))


def _replicated_summary(value: Replicated, partition: int | None) -> dict[str, Any]:
    parts = [np.asarray(part) for part in value.parts]
    summary = _array_summary(parts[partition or 0])
    same = [bool(_same(parts[0], part)) for part in parts]
    summary["partitions"] = len(parts)
    summary["partitions_equal"] = all(same)
    if not all(same):
        summary["partitions_differ"] = [number for number, one in enumerate(same) if not one]
    return summary


def _same(a: arrays.Array, b: arrays.Array) -> bool:
    return a.tobytes() == b.tobytes()


def _array_summary(array: arrays.Array) -> dict[str, Any]:
    flat = array.reshape(-1)
    name = arrays.dtype_name(array)
    summary: dict[str, Any] = {
        "shape": f"{name}[{','.join(map(str, array.shape))}]",
        "dtype": name,
        "min": None, "max": None, "mean": None, "std": None,
        "nan": 0, "inf": 0, "zero": 0,
        "count": int(flat.size),
        "first": [number(item) for item in _wide(flat[:FIRST])],
    }  # fmt: skip
    if not flat.size:
        return summary
    wide = _wide(flat)
    if wide.dtype.kind == "c":
        finite = np.isfinite(wide)
        summary |= {
            "nan": int(np.isnan(wide).sum()),
            "inf": int(np.isinf(wide).sum()),
            "zero": int((wide == 0).sum()),
        }
        magnitudes = np.abs(wide[finite])
        return summary | _statistics(magnitudes)
    if wide.dtype.kind == "f":
        nan, inf = np.isnan(wide), np.isinf(wide)
        summary |= {"nan": int(nan.sum()), "inf": int(inf.sum()), "zero": int((wide == 0).sum())}
        return summary | _statistics(wide[~(nan | inf)])
    summary["zero"] = int((wide == 0).sum())
    return summary | _statistics(wide)


def _wide(flat: arrays.Array) -> arrays.Array:
    """The elements in a numpy type whose arithmetic is exact enough for statistics."""
    if flat.dtype.kind in "fciu" and flat.dtype.itemsize >= 4 and flat.dtype.name[0] in "fciu":
        return flat
    if flat.dtype == np.bool_:
        return flat.astype(np.int64)
    if flat.dtype.name.startswith(("int", "uint")):
        return flat.astype(np.int64)
    return flat.astype(np.float32)


def _statistics(finite: arrays.Array) -> dict[str, Any]:
    if not finite.size:
        return {}
    with np.errstate(over="ignore", invalid="ignore"):
        return {
            "min": number(finite.min()),
            "max": number(finite.max()),
            "mean": number(finite.mean(dtype=np.float64)),
            "std": number(finite.std(dtype=np.float64)),
        }


class Difference:
    """How two values differ: the largest errors over finite pairs, and where only one has a NaN."""

    __slots__ = ("exact", "max_abs", "max_rel", "mismatches", "nan_mismatches")

    def __init__(self) -> None:
        self.exact = True
        self.max_abs = 0.0
        self.max_rel = 0.0
        self.mismatches = 0
        self.nan_mismatches = 0

    @property
    def within(self) -> bool:
        """Whether nothing is out of tolerance."""
        return not self.mismatches and not self.nan_mismatches


def compare(a: Any, b: Any, tolerance: float = 1e-3) -> Difference:
    """Compare two values leaf by leaf: an element is out where both its absolute and its relative error
    exceed `tolerance`.

    A NaN must meet a NaN and an infinity the same infinity.
    """
    found = Difference()
    left, right = leaves(a), leaves(b)
    if len(left) != len(right):
        found.exact = False
        found.mismatches = max(len(left), len(right))
        return found
    for x, y in zip(left, right, strict=True):
        _compare_arrays(np.asarray(x), np.asarray(y), tolerance, found)
    return found


def leaves(value: Any) -> list[Any]:
    """The arrays of a value, depth first; a replicated one gives all its parts."""
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in leaves(part)]
    if isinstance(value, Replicated):
        return list(value.parts)
    return [] if value is None or isinstance(value, Unknown) else [value]


def _compare_arrays(x: arrays.Array, y: arrays.Array, tolerance: float, found: Difference) -> None:
    if x.shape != y.shape:
        found.exact = False
        found.mismatches += max(x.size, y.size)
        return
    if x.dtype == y.dtype and _same(x, y):
        return
    found.exact = False
    a, b = _double(x), _double(y)
    nan_a, nan_b = np.isnan(a), np.isnan(b)
    found.nan_mismatches += int((nan_a != nan_b).sum())
    both = ~(nan_a | nan_b)
    a, b = a[both], b[both]
    infinite = np.isinf(a) | np.isinf(b)
    found.mismatches += int((a[infinite] != b[infinite]).sum())
    a, b = a[~infinite], b[~infinite]
    if not a.size:
        return
    absolute = np.abs(a - b)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(absolute == 0, 0.0, absolute / np.abs(b))
    found.max_abs = max(found.max_abs, float(absolute.max()))
    found.max_rel = max(found.max_rel, float(relative.max()))
    bound = max(tolerance, _rounding(x.dtype))
    found.mismatches += int(((absolute > bound) & (relative > bound)).sum())


def _rounding(dtype: np.dtype[Any]) -> float:
    """Errors of a few roundings, which are more than any fixed tolerance for the small float types.

    XLA keeps more precision than the type has inside a fusion, so the number of roundings depends on the
    grain.
    """
    if dtype.kind in "biu" or dtype.name.startswith(("int", "uint")) or dtype.itemsize > 2:
        return 0.0
    return 4 * float(ml_dtypes.finfo(dtype).eps)


def _double(array: arrays.Array) -> arrays.Array:
    wide = _wide(array.reshape(-1))
    return wide.astype(np.complex128 if wide.dtype.kind == "c" else np.float64)


def floats_of(leaf: Any) -> arrays.Array | None:
    """A leaf as numbers that numpy can ask about; None for integers and booleans."""
    array = np.asarray(leaf)
    kind = array.dtype.kind
    if kind in "fc":
        return array
    if kind in "biu" or array.dtype.name.startswith(("int", "uint")):
        return None
    return array.astype(np.float32)


def replaced(value: Any, number: float) -> Any:
    """The value with `number` in the place of each element that is not finite."""
    if isinstance(value, tuple):
        return tuple(replaced(part, number) for part in value)
    if isinstance(value, Replicated):
        return Replicated(tuple(replaced(part, number) for part in value.parts))
    array = np.asarray(value)
    floats = floats_of(array)
    if floats is None:
        return value
    return np.where(np.isfinite(floats), array, np.asarray(number).astype(array.dtype))
