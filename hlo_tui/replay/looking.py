"""Looking at values closely: a table of elements, where the extremes are, a histogram, a heat map,
comparisons.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from hlo_tui.errors import HloTuiError
from hlo_tui.replay import arrays
from hlo_tui.replay.slicing import parse_slice
from hlo_tui.replay.values import Unknown, compare, leaves, number, summarize
from hlo_tui.replay.xla import Replicated

Json = dict[str, Any]
ROWS, COLUMNS = 200, 64
BINS = 32


def part_of(value: Any, element: list[int], partition: int | None) -> Any:
    """One array of a value.

    Args:
        value: as the engine has it.
        element: positions in nested tuples; empty for an array.
        partition: whose part of a replicated value; the first by default.

    Raises:
        HloTuiError: there is no such part, or it is no array.
    """
    for position in element:
        if not isinstance(value, tuple) or not 0 <= position < len(value):
            raise HloTuiError("no such element", f"the value has no element {position}")
        value = value[position]
    if isinstance(value, Replicated):
        if not 0 <= (partition or 0) < len(value.parts):
            raise HloTuiError("no such partition", f"{partition}: there are {len(value.parts)}")
        value = value.parts[partition or 0]
    if isinstance(value, Unknown):
        raise HloTuiError("the value is unknown", value.reason)
    if isinstance(value, tuple):
        raise HloTuiError("the value is a tuple", f"it has {len(value)} elements", "choose one of them")
    if value is None:
        raise HloTuiError("the value is a token", "it only orders operations and holds nothing")
    return np.asarray(value)


def table(array: arrays.Array, text: str, start: tuple[int, int] = (0, 0)) -> Json:
    """The elements of a slice, at most ROWS x COLUMNS of them, as rows of numbers.

    Of a slice of more than two dimensions the last two are shown, at the first place of the others. `start` is the row
    and the column of what the slice shows to begin at.

    Raises:
        HloTuiError: the slice cannot be read.
    """
    index = parse_slice(text, array.shape)
    chosen = array[index]
    kept = [d for d, part in enumerate(index) if isinstance(part, slice)]
    origin = [0] * array.ndim
    steps = [1] * array.ndim
    for d, part in enumerate(index):
        begin, _, step = part.indices(array.shape[d]) if isinstance(part, slice) else (part, None, 1)
        origin[d], steps[d] = begin, step
    while chosen.ndim > 2:
        chosen = chosen[0] if len(chosen) else chosen.reshape((0, *chosen.shape[2:]))
    row, column = (kept[-2] if len(kept) > 1 else None), (kept[-1] if kept else None)
    first = [max(0, min(at, size - 1)) for at, size in zip(start, page_shape(chosen), strict=True)]
    page = chosen.reshape((1, -1) if chosen.ndim < 2 else chosen.shape)
    page = page[first[0] : first[0] + ROWS, first[1] : first[1] + COLUMNS]
    for dimension, at in ((row, first[0]), (column, first[1])):
        if dimension is not None:
            origin[dimension] += at * steps[dimension]
    rows = [[number(item) for item in _wide_row(line)] for line in page]
    return {
        "rows": rows,
        "shape": list(chosen.shape),
        "row": row,
        "column": column,
        "origin": origin,
        "steps": steps,
        "start": first,
        "cut": [
            max(0, size - at - limit)
            for size, at, limit in zip(page_shape(chosen), first, (ROWS, COLUMNS), strict=True)
        ],
    }


def page_shape(chosen: arrays.Array) -> tuple[int, int]:
    """Rows and columns of what a slice shows."""
    return (1, chosen.size) if chosen.ndim < 2 else (chosen.shape[0], chosen.shape[1])


def _wide_row(row: arrays.Array) -> arrays.Array:
    if row.dtype.kind in "fciub" and row.dtype.name[0] in "fciub":
        return row
    return row.astype(np.int64) if row.dtype.name.startswith(("int", "uint")) else row.astype(np.float32)


def _real(array: arrays.Array) -> arrays.Array:
    """The elements as real numbers; of complex ones the magnitude."""
    wide = _wide_row(array.reshape(-1))
    return np.abs(wide) if wide.dtype.kind == "c" else wide.astype(np.float64)


def histogram(array: arrays.Array, bins: int = BINS) -> Json:
    """Counts of finite elements in `bins` ranges of equal width between the least and the greatest."""
    flat = _real(array)
    finite = flat[np.isfinite(flat)]
    if not finite.size:
        return {"counts": [], "low": None, "high": None}
    low, high = float(finite.min()), float(finite.max())
    counts, _ = np.histogram(finite, bins=bins, range=(low, high if high > low else low + 1))
    return {"counts": counts.tolist(), "low": low, "high": high}


def heat(array: arrays.Array, rows: int, columns: int) -> Json:
    """The array folded to two dimensions and to at most rows x columns blocks.

    For each block: the greatest magnitude of its finite elements (None where there is none), and whether it
    holds a
    NaN (2), an infinity (1) or neither (0).
    """
    grid = _folded(array)
    height, width = grid.shape
    down = max(1, math.ceil(height / max(rows, 1)))
    across = max(1, math.ceil(width / max(columns, 1)))
    magnitudes: list[list[float | None]] = []
    marks: list[list[int]] = []
    for top in range(0, height, down):
        line, marked = [], []
        for left in range(0, width, across):
            block = grid[top : top + down, left : left + across]
            finite = np.abs(block[np.isfinite(block)])
            line.append(float(finite.max()) if finite.size else None)
            marked.append(2 if np.isnan(block).any() else int(np.isinf(block).any()))
        magnitudes.append(line)
        marks.append(marked)
    return {"magnitudes": magnitudes, "marks": marks, "block": [down, across], "grid": [height, width]}


def _folded(array: arrays.Array) -> arrays.Array:
    real = _real(array)
    if array.ndim == 0:
        return real.reshape(1, 1)
    return real.reshape(-1, array.shape[-1]) if array.size else real.reshape(0, 0)


def worst(array: arrays.Array) -> Json | None:
    """The element most out of the ordinary: the first NaN, else the first infinity, else the largest."""
    flat = _real(array)
    if not flat.size:
        return None
    nan, inf = np.isnan(flat), np.isinf(flat)
    if nan.any():
        place, kind = int(nan.argmax()), "nan"
    elif inf.any():
        place, kind = int(inf.argmax()), "inf"
    else:
        place, kind = int(np.abs(flat).argmax()), "largest"
    index = [int(i) for i in np.unravel_index(place, array.shape)]
    return {"index": index, "kind": kind, "value": number(_wide_row(array.reshape(-1)[place : place + 1])[0])}


def outside(array: arrays.Array, low: float, high: float, limit: int = 100) -> Json:
    """Elements outside a range, or not finite: how many, and the first `limit` of them with their places."""
    flat = _real(array)
    out = ~((flat >= low) & (flat <= high))
    places = np.flatnonzero(out)[:limit]
    found = [
        {"index": [int(i) for i in np.unravel_index(int(p), array.shape)], "value": number(flat[p])}
        for p in places
    ]
    return {"count": int(out.sum()), "elements": found}


def distinct(array: arrays.Array, limit: int = 16) -> list[Any] | None:
    """The different values of an array where there are few; None where there are more than `limit`."""
    found = np.unique(_real(array)) if array.size <= 1 << 22 else np.empty(limit + 1)
    return None if len(found) > limit else [number(item) for item in found]


def outside_of(path: Path, watched: Path) -> None:
    """Refuse to write into the watched directory.

    Raises:
        HloTuiError: the path is inside of it.
    """
    if path.resolve().is_relative_to(watched.resolve()):
        raise HloTuiError("not saved", f"{path} is inside the watched directory", "save it somewhere else")


def save(array: arrays.Array, path: Path, watched: Path) -> Json:
    """Write an array as .npy.

    Raises:
        HloTuiError: it would be inside the watched directory, or cannot be written.
    """
    outside_of(path, watched)
    try:
        with path.open("wb") as file:
            np.save(file, array, allow_pickle=False)
    except OSError as error:
        raise HloTuiError("not saved", f"{path}: {error.strerror}") from error
    return {"path": str(path), "bytes": path.stat().st_size}


def difference(a: Any, b: Any, tolerance: float) -> Json:
    """How two values differ: the largest errors, what is out of tolerance, the worst places, and error
    buckets.
    """
    found = compare(a, b, tolerance)
    report: Json = {
        "exact": found.exact,
        "within": found.within,
        "max_abs": number(found.max_abs),
        "max_rel": number(found.max_rel),
        "mismatches": found.mismatches,
        "nan_mismatches": found.nan_mismatches,
        "a": summarize(a),
        "b": summarize(b),
        "tolerance": tolerance,
    }
    pairs = list(zip(leaves(a), leaves(b), strict=False))
    if len(pairs) == 1 and np.shape(pairs[0][0]) == np.shape(pairs[0][1]):
        report |= _places(np.asarray(pairs[0][0]), np.asarray(pairs[0][1]))
    return report


_EDGES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0)


def _places(a: arrays.Array, b: arrays.Array) -> Json:
    x, y = _real(a), _real(b)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        absolute = np.abs(x - y)
        relative = np.where(absolute == 0, 0, absolute / np.abs(y))
    # What is NaN on one side only is worse than any number.
    one_sided = np.isnan(x) != np.isnan(y)
    rank = np.where(one_sided, np.inf, np.nan_to_num(absolute, nan=0.0, posinf=np.inf))
    order = np.argsort(-rank, kind="stable")[:8]
    top = [
        {
            "index": [int(i) for i in np.unravel_index(int(p), a.shape)],
            "a": number(x[p]),
            "b": number(y[p]),
        }
        for p in order
        if rank[p] > 0
    ]
    finite = np.isfinite(absolute)
    buckets = {
        name: [int(((errors >= low) & (errors < high)).sum()) for low, high in _ranges()]
        for name, errors in (("abs", absolute[finite]), ("rel", relative[finite]))
    }
    return {"worst": top, "buckets": buckets, "edges": list(_EDGES)}


def _ranges() -> list[tuple[float, float]]:
    return list(zip(_EDGES, (*_EDGES[1:], math.inf), strict=True))
