"""Which elements of its operands an element of an instruction's value is made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlo_tui.replay import arrays
from hlo_tui.replay.finite import ELEMENTWISE
from hlo_tui.replay.hostops import host_function
from hlo_tui.replay.program import Op
from hlo_tui.replay.slices import value_shape

Index = tuple[int, ...]


class Candidates(NamedTuple):
    """Elements of one operand.

    Attributes:
        operand: which operand.
        region: what to index the operand with, to have just these elements; a slice keeps its dimension.
    """

    operand: int
    region: tuple[int | slice, ...]


def made_of(op: Op, index: Index, operands: Sequence[Any]) -> list[Candidates]:
    """The elements that element `index` of an array-valued instruction depends on; all of an operand where in doubt.

    Args:
        op: the instruction.
        index: of the element.
        operands: the operands' values, as numpy arrays (None for what is none).
    """
    special = _SPECIAL.get(op.opcode)
    if special is not None:
        return special(op, index, operands)
    if op.opcode in ELEMENTWISE:
        places = [index if np.ndim(value) else () for value in operands]
        return [Candidates(n, place) for n, place in enumerate(places)]
    moved = _moved(op, index)
    if moved is not None:
        return [Candidates(0, moved)]
    return [Candidates(n, (slice(None),) * np.ndim(v)) for n, v in enumerate(operands) if v is not None]


def _moved(op: Op, index: Index) -> Index | None:
    """Where an operation that only moves data took an element from: the same move, made with numbers of places."""
    if not op.operands:
        return None
    shapes = [value_shape(op.computation.ops[o]) for o in op.operands]
    if op.opcode == "bitcast" and shapes[0].element_type != op.proto.shape.element_type:
        return None
    host = host_function(op, shapes) if op.opcode in _MOVES else None
    if host is None:
        return None
    dims = tuple(shapes[0].dimensions)
    places: NDArray[np.int64] = np.arange(int(np.prod(dims, dtype=np.int64))).reshape(dims)
    return _unravel(int(host(places)[index]), dims)


_MOVES = frozenset({"copy", "bitcast", "broadcast", "reshape", "transpose"})


def _unravel(place: int, dims: Index) -> Index:
    return tuple(int(i) for i in np.unravel_index(place, dims)) if dims else ()


def _select(_op: Op, index: Index, operands: Sequence[Any]) -> list[Candidates]:
    predicate = operands[0]
    chosen = bool(predicate[index] if np.ndim(predicate) else predicate)
    return [Candidates(1 if chosen else 2, index)]


def _slice(op: Op, index: Index, _operands: Sequence[Any]) -> list[Candidates]:
    cuts = op.proto.slice_dimensions
    return [Candidates(0, tuple(c.start + i * max(c.stride, 1) for c, i in zip(cuts, index, strict=True)))]


def _reverse(op: Op, index: Index, operands: Sequence[Any]) -> list[Candidates]:
    turned = set(op.proto.dimensions)
    sizes = operands[0].shape
    return [Candidates(0, tuple(sizes[d] - 1 - i if d in turned else i for d, i in enumerate(index)))]


def _concatenate(op: Op, index: Index, operands: Sequence[Any]) -> list[Candidates]:
    along = op.proto.dimensions[0]
    place = index[along]
    for n, operand in enumerate(operands):
        size = operand.shape[along]
        if place < size:
            return [Candidates(n, (*index[:along], place, *index[along + 1 :]))]
        place -= size
    return []


def _pad(op: Op, index: Index, operands: Sequence[Any]) -> list[Candidates]:
    source = []
    for d, (config, i) in enumerate(zip(op.proto.padding_config.dimensions, index, strict=True)):
        place, rest = divmod(i - config.edge_padding_low, config.interior_padding + 1)
        if rest or not 0 <= place < operands[0].shape[d]:
            return [Candidates(1, ())]
        source.append(place)
    return [Candidates(0, tuple(source))]


def _starts(starts: Sequence[Any], sizes: Sequence[int], cut: Sequence[int]) -> list[int]:
    """Start indices as XLA clamps them."""
    flat = [int(n) for start in starts for n in np.asarray(start).reshape(-1)]
    return [min(max(s, 0), n - c) for s, n, c in zip(flat, sizes, cut, strict=True)]


def _dynamic_slice(op: Op, index: Index, operands: Sequence[Any]) -> list[Candidates]:
    starts = _starts(operands[1:], operands[0].shape, op.proto.dynamic_slice_sizes)
    return [Candidates(0, tuple(s + i for s, i in zip(starts, index, strict=True)))]


def _dynamic_update_slice(_op: Op, index: Index, operands: Sequence[Any]) -> list[Candidates]:
    update = operands[1]
    starts = _starts(operands[2:], operands[0].shape, update.shape)
    inside = tuple(i - s for s, i in zip(starts, index, strict=True))
    if all(0 <= i < n for i, n in zip(inside, update.shape, strict=True)):
        return [Candidates(1, inside)]
    return [Candidates(0, index)]


def _reduce(op: Op, index: Index, operands: Sequence[Any]) -> list[Candidates]:
    half = len(operands) // 2
    given = iter(index)
    away = set(op.proto.dimensions)
    region = tuple(slice(None) if d in away else next(given) for d in range(operands[0].ndim))
    inputs = [Candidates(n, region) for n in range(half)]
    return [*inputs, *(Candidates(half + n, ()) for n in range(half))]


def _dot(op: Op, index: Index, operands: Sequence[Any]) -> list[Candidates]:
    numbers = op.proto.dot_dimension_numbers
    sides = (
        (list(numbers.lhs_batch_dimensions), list(numbers.lhs_contracting_dimensions)),
        (list(numbers.rhs_batch_dimensions), list(numbers.rhs_contracting_dimensions)),
    )
    found = []
    place = len(sides[0][0])
    for side, (batch, contracted) in enumerate(sides):
        region: list[int | slice] = [slice(None)] * operands[side].ndim
        for n, d in enumerate(batch):
            region[d] = index[n]
        for d in range(operands[side].ndim):
            if d not in batch and d not in contracted:
                region[d] = index[place]
                place += 1
        found.append(Candidates(side, tuple(region)))
    return found


_SPECIAL: dict[str, Callable[[Op, Index, Sequence[Any]], list[Candidates]]] = {
    "select": _select,
    "slice": _slice,
    "reverse": _reverse,
    "concatenate": _concatenate,
    "pad": _pad,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _dynamic_update_slice,
    "reduce": _reduce,
    "dot": _dot,
}


def worst_in(array: arrays.Array, region: tuple[int | slice, ...], like: str) -> Index | None:
    """The index of an element of a region: the first of a kind ("nan", "inf"), or the one of greatest magnitude.

    None where there is none of the kind.
    """
    part = array[region]
    part = np.asarray(part)
    if not part.size or part.dtype.kind in "b":
        return None
    wide = part if part.dtype.kind in "fciu" else part.astype(np.float32)
    if like == "nan":
        bad = np.isnan(wide)
    elif like == "inf":
        bad = ~np.isfinite(wide)
    else:
        place = int(
            np.abs(
                np.nan_to_num(wide.astype(np.complex128 if wide.dtype.kind == "c" else np.float64))
            ).argmax()
        )
        return _within(region, _unravel(place, part.shape))
    if not bad.any():
        return None
    return _within(region, _unravel(int(bad.argmax()), part.shape))


def _within(region: tuple[int | slice, ...], inside: Index) -> Index:
    given = iter(inside)
    return tuple(next(given) if isinstance(part, slice) else part for part in region)
