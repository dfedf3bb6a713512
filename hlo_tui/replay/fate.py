"""What becomes of a NaN or an infinity: the outputs that hold it at the end, or the instruction that took it away."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.finite import ELEMENTWISE
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.program import Op
from hlo_tui.replay.values import floats_of, leaves

# Each instruction on the way is computed: where there are more, only the outputs are looked at.
MOST = 400

# For each array of a value, where it holds what is followed; None where nowhere.
Masks = list[Any]


class Fate(NamedTuple):
    """What became of it.

    Attributes:
        outputs: (number, elements that are NaN, elements that are infinite) of each output that holds it.
        masked_by: the first instruction whose value has none of it any more; empty where outputs hold it, or where
            nothing uses it.
    """

    outputs: tuple[tuple[int, int, int], ...] = ()
    masked_by: str = ""


def follow(evaluator: Evaluator, frame: Frame, index: int, masks: Masks) -> Fate | None:
    """Follow elements of a value to the outputs, by the values on the way.

    Elements are told apart through operations that work on each by itself; of others, what is not finite in the
    result counts as come from there.

    Returns:
        None where the way is longer than `MOST` instructions.
    """
    left = MOST
    masked_by = ""
    while True:
        found, gone, taken = _through(evaluator, frame, index, masks, left)
        left -= taken
        if left <= 0:
            return None
        if found is None:
            return Fate(masked_by=gone or masked_by)
        if frame.parent is None:
            return Fate(_outputs(evaluator.value(frame, frame.computation.root), found))
        index, parent = frame.site, frame.parent
        masks = _left(evaluator.value(parent, index))
        if not _any(masks):
            return Fate(masked_by=parent.computation.ops[index].name)
        frame = parent


def _through(
    evaluator: Evaluator, frame: Frame, index: int, masks: Masks, most: int
) -> tuple[Masks | None, str, int]:
    """Where the root holds it (None: nowhere), the first instruction that has none of it, how many were computed."""
    computation = frame.computation
    carried = {index: masks}
    waiting: list[int] = []
    gone = ""
    computed = 0
    _wait(waiting, computation.users[index])
    while waiting and computed < most:
        at = heappop(waiting)
        if at in carried:
            continue
        computed += 1
        op = computation.ops[at]
        value = evaluator.value(frame, at)
        carried[at] = _passed_on(evaluator, frame, op, value, carried)
        if _any(carried[at]):
            _wait(waiting, computation.users[at])
        elif not gone and any(floats_of(leaf) is not None for leaf in leaves(value)):
            gone = "" if op.opcode in ("get-tuple-element", "tuple") else op.name
    root = carried.get(computation.root, [])
    return (root if _any(root) else None), gone, computed


def _wait(waiting: list[int], users: list[int]) -> None:
    for user in users:
        heappush(waiting, user)


def _passed_on(evaluator: Evaluator, frame: Frame, op: Op, value: Any, carried: dict[int, Masks]) -> Masks:
    given = [carried.get(operand, []) for operand in op.operands]
    if op.opcode == "tuple":
        parts = [leaves(part) for part in value]
        return [mask for one, part in zip(given, parts, strict=True) for mask in one or [None] * len(part)]
    if op.opcode == "get-tuple-element":
        whole = evaluator.value(frame, op.operands[0])
        number = op.proto.tuple_index
        before = sum(len(leaves(part)) for part in whole[:number])
        return given[0][before : before + len(leaves(whole[number]))]
    if op.opcode not in ELEMENTWISE:
        return _left(value) if any(_any(one) for one in given) else []
    found: Masks = []
    for number, (leaf, here) in enumerate(zip(leaves(value), _left(value), strict=True)):
        came = np.zeros(np.shape(leaf), bool)
        for one in given:
            mask = one[number % len(one)] if one else None
            came |= mask if mask is not None else False
        found.append(None if here is None else here & came)
    return found


def _left(value: Any) -> Masks:
    """Where each array of a value is not finite."""
    arrays = [floats_of(leaf) for leaf in leaves(value)]
    return [None if array is None else ~np.isfinite(array) for array in arrays]


def _any(masks: Masks) -> bool:
    return any(mask is not None and bool(mask.any()) for mask in masks)


def _outputs(value: Any, masks: Masks) -> tuple[tuple[int, int, int], ...]:
    rows, at = [], 0
    for number, part in enumerate(value if isinstance(value, tuple) else (value,)):
        nan = inf = 0
        for leaf in leaves(part):
            array, mask = floats_of(leaf), masks[at]
            at += 1
            if array is not None and mask is not None:
                nan += int((np.isnan(array) & mask).sum())
                inf += int((np.isinf(array) & mask).sum())
        if nan or inf:
            rows.append((number, nan, inf))
    return tuple(rows)
