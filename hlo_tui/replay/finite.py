"""Where a NaN or an infinity begins: at an operation that makes one while its operands hold none."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import numpy as np

from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.flags import FINITE, Flags, flags_in, holds_floats
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.program import CONTROL_FLOW, Computation, Op
from hlo_tui.replay.values import floats_of, leaves, number, summarize

Json = dict[str, Any]

# How many operands are shown where a NaN or an infinity begins.
MOST_GIVEN = 4

# They only pass on what they are given, or have it written in the program.
_PASSING = frozenset(
    {
        "constant", "tuple", "get-tuple-element", "copy", "bitcast", "reshape", "transpose", "broadcast",
        "iota", "slice", "reverse", "opt-barrier", "domain", "after-all", "add-dependency", "copy-start",
        "copy-done", "async-update", "async-done", "all-reduce-done", "all-gather-done",
        "collective-permute-done",
    }
)  # fmt: skip

# Each element depends on the same element of the operands alone, so elements are compared one by one.
ELEMENTWISE = frozenset(
    {
        "abs", "acos", "acosh", "add", "asin", "asinh", "atan2", "atanh", "cbrt", "ceil", "clamp", "complex",
        "convert", "cosh", "cosine", "divide", "erf", "exponential", "exponential-minus-one", "floor", "imag",
        "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "power", "real",
        "reduce-precision", "remainder", "round-nearest-afz", "round-nearest-even", "rsqrt", "select", "sign",
        "sine", "sinh", "sqrt", "subtract", "tan", "tanh",
    }
)  # fmt: skip


def can_begin(computation: Computation, op: Op) -> bool:
    """Whether one can begin at an instruction; of parameters only the entry's bring any in."""
    if not holds_floats(op.proto.shape):
        return False
    if op.opcode == "parameter":
        return computation is computation.program.entry
    return op.opcode not in _PASSING and op.opcode not in CONTROL_FLOW


def counts(value: Any) -> dict[str, int]:
    """How many elements of a value are NaN ("nan") and infinite ("inf")."""
    arrays = [array for array in map(floats_of, leaves(value)) if array is not None]
    return {
        "nan": sum(int(np.isnan(array).sum()) for array in arrays),
        "inf": sum(int(np.isinf(array).sum()) for array in arrays),
    }


def counts_at(value: Any, masks: list[Any]) -> dict[str, int]:
    """How many elements under the masks, one for each array, are "NaN", "inf" and "-inf" (complex: "inf")."""
    found = {"NaN": 0, "inf": 0, "-inf": 0}
    for leaf, mask in zip(leaves(value), masks, strict=True):
        array = floats_of(leaf)
        if array is None or mask is None:
            continue
        found["NaN"] += int((np.isnan(array) & mask).sum())
        low = np.isneginf(array) & mask if array.dtype.kind == "f" else np.zeros(array.shape, bool)
        found["-inf"] += int(low.sum())
        found["inf"] += int((np.isinf(array) & mask & ~low).sum())
    return found


def given(op: Op, operands: Mapping[str, Any], masks: list[Any]) -> Json:
    """What a NaN or an infinity is made of, to see why: the first `MOST_GIVEN` operands, by name.

    Each has its summary as `value`. Where elements are made of elements, `index` is the first one that begins, as
    the masks (one for each array) say, and each operand of that shape has its `element` there.
    """
    mask = masks[0] if len(masks) == 1 and op.opcode in ELEMENTWISE else None
    index = tuple(int(at) for at in np.argwhere(mask)[0]) if mask is not None and np.any(mask) else None
    found = []
    for name, value in islice(operands.items(), MOST_GIVEN):
        one: Json = {"instruction": name, "value": summarize(value)}
        parts = leaves(value)
        if index is not None and len(parts) == 1 and np.shape(parts[0]) == np.asarray(mask).shape:
            one["element"] = number(np.asarray(parts[0])[index])
        found.append(one)
    return {"index": None if index is None else list(index), "operands": found}


class Origins:
    """Finds origins, with the flags of each value computed once."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def flags(self, frame: Frame, index: int) -> Flags:
        """The flags of an instruction's value."""
        found: Flags | None = frame.flags.get(index)
        return flags_in(frame, index, self._evaluator.value(frame, index)) if found is None else found

    def begins(self, frame: Frame, index: int, which: str) -> bool:
        """Whether a "nan", an "inf" or either ("nonfinite") begins at an instruction.

        A NaN begins where no operand has one (an infinity may); an infinity where no operand is other than
        finite.
        Of a fusion this means: in the compiled fusion, and in no operation inside it.
        """
        here = self.flags(frame, index)
        if not here.any():
            return False
        new_nan, new_inf = self._new(frame, index, here)
        return (new_nan and which != "inf") or (new_inf and which != "nan")

    def _new(self, frame: Frame, index: int, here: Flags) -> Flags:
        op = frame.computation.ops[index]
        given = [self.flags(frame, operand) for operand in op.operands]
        if op.opcode == "fusion":
            return here if self._only_compiled(frame, index, here) else FINITE
        if op.opcode in ELEMENTWISE and any(flags.any() for flags in given):
            nan, inf = zip(*self._new_elements(frame, op), strict=True)
            return Flags(any(bool(mask.any()) for mask in nan), any(bool(mask.any()) for mask in inf))
        new_nan = here.nan and not any(flags.nan for flags in given)
        return Flags(new_nan, here.inf and not any(flags.any() for flags in given))

    def fresh(self, frame: Frame, index: int) -> list[Any]:
        """Where in each array of a value that is not finite one begins; None for arrays without floats."""
        op = frame.computation.ops[index]
        if op.opcode in ELEMENTWISE:
            return [nan | inf for nan, inf in self._new_elements(frame, op)]
        arrays = [floats_of(leaf) for leaf in leaves(self._evaluator.value(frame, index))]
        new = self._new(frame, index, self.flags(frame, index))
        return [
            None
            if array is None
            else (np.isnan(array) if new.nan else False) | (np.isinf(array) if new.inf else False)
            for array in arrays
        ]

    def out_of_infinity(self, frame: Frame, index: int, fresh: list[Any]) -> bool:
        """Whether a NaN that begins here, as `fresh` says where, is made of an infinity among the operands."""
        op = frame.computation.ops[index]
        value = [floats_of(leaf) for leaf in leaves(self._evaluator.value(frame, index))]
        nan = [
            np.isnan(leaf) & mask if leaf is not None else np.zeros((), bool)
            for leaf, mask in zip(value, fresh, strict=True)
        ]
        if not any(mask.any() for mask in nan):
            return False
        if op.opcode not in ELEMENTWISE:
            return any(self.flags(frame, operand).inf for operand in op.operands)
        for operand in op.operands:
            given = leaves(self._evaluator.value(frame, operand))
            for part, mask in enumerate(nan):
                array = floats_of(given[part % len(given)]) if given else None
                if array is not None and bool((np.isinf(array) & mask).any()):
                    return True
        return False

    def _new_elements(self, frame: Frame, op: Op) -> list[tuple[Any, Any]]:
        """For each array of the value, where a NaN, an infinity stands and no operand has one at the same place."""
        value = leaves(self._evaluator.value(frame, op.index))
        operands = [leaves(self._evaluator.value(frame, operand)) for operand in op.operands]
        found = []
        for part, leaf in enumerate(value):
            array = floats_of(leaf)
            if array is None:
                found.append((np.zeros(np.shape(leaf), bool), np.zeros(np.shape(leaf), bool)))
                continue
            nan, inf = np.isnan(array), np.isinf(array)
            for operand in operands:
                given = floats_of(operand[part % len(operand)]) if operand else None
                if given is not None:
                    nan = nan & ~np.isnan(given)
                    inf = inf & np.isfinite(given)
            found.append((nan, inf))
        return found

    def _only_compiled(self, frame: Frame, index: int, here: Flags) -> bool:
        child = self._evaluator.runs.first_child(frame, index)
        if child is None:
            return False
        stepped = self.flags(child, child.computation.root)
        return (here.nan and not stepped.nan) or (here.inf and not stepped.any())

    def inside(self, frame: Frame, index: int, which: str) -> bool:
        """Whether one begins inside the fusion that an instruction is.

        Unless fusions are entered anyway (body grain), only a fusion whose value has one is looked into.
        """
        if self._evaluator.grain is not Grain.BODY and not self.flags(frame, index).any():
            return False
        child = self._evaluator.runs.first_child(frame, index)
        if child is None:
            return False
        ops = [op for op in child.computation.ops if can_begin(child.computation, op)]
        return any(self.begins(child, op.index, which) for op in ops)
