"""One application of a computation that an instruction applies to many elements: what step in shows of it.

A reducer runs once for every element, inside one compiled operation. To look into it, it is run once on the
first
elements that the instruction would give it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlo_tui.replay import arrays
from hlo_tui.replay.program import Op
from hlo_tui.replay.values import each_replica, find_unknown


def sample(op: Op, ordinal: int, operands: list[Any]) -> list[Any] | None:
    """Arguments for one application; None where the operands have no elements or are unknown.

    Args:
        op: the instruction.
        ordinal: which of its computations.
        operands: the values of its operands.
    """
    if any(find_unknown(value) for value in operands):
        return None
    chosen = _CHOOSERS[op.opcode](op, ordinal, operands)
    return None if any(argument is None for argument in chosen) else chosen


def _element(value: Any, number: int = 0, along: int | None = None) -> Any:
    """The first element, or element `number` along a dimension (and the first along the others)."""

    def pick(array: arrays.Array) -> Any:
        if not array.size:
            return None
        if along is None:
            return array.reshape(-1)[min(number, array.size - 1)]
        place = [0] * array.ndim
        place[along] = min(number, array.shape[along] - 1)
        return np.asarray(array[tuple(place)])

    found = each_replica(lambda array: np.asarray(pick(array)), [value])
    return None if getattr(found, "dtype", None) == np.object_ else found


def _reduce(_op: Op, _ordinal: int, operands: list[Any]) -> list[Any]:
    half = len(operands) // 2
    return [*map(_element, operands[half:]), *map(_element, operands[:half])]


def _map(_op: Op, _ordinal: int, operands: list[Any]) -> list[Any]:
    return [_element(value) for value in operands]


def _pair(_op: Op, _ordinal: int, operands: list[Any]) -> list[Any]:
    return [*map(_element, operands), *(_element(value, 1) for value in operands)]


def _sort(op: Op, _ordinal: int, operands: list[Any]) -> list[Any]:
    along = op.proto.dimensions[0]
    return [_element(value, number, along) for value in operands for number in (0, 1)]


def _scatter(_op: Op, _ordinal: int, operands: list[Any]) -> list[Any]:
    count = len(operands) // 2
    return [*map(_element, operands[:count]), *map(_element, operands[count + 1 :])]


def _select_and_scatter(_op: Op, ordinal: int, operands: list[Any]) -> list[Any]:
    if ordinal == 0:
        return [_element(operands[0]), _element(operands[0], 1)]
    return [_element(operands[1]), _element(operands[2])]


_CHOOSERS: dict[str, Callable[[Op, int, list[Any]], list[Any]]] = {
    "reduce": _reduce,
    "reduce-window": _reduce,
    "map": _map,
    "sort": _sort,
    "scatter": _scatter,
    "select-and-scatter": _select_and_scatter,
    "all-reduce": _pair,
    "all-reduce-start": _pair,
    "reduce-scatter": _pair,
}
