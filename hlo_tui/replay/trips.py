"""How often a loop that counts runs, known before it is run: from its counter, the step and the limit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays
from hlo_tui.replay.loops import kept
from hlo_tui.replay.program import Computation, Op, trip_count
from hlo_tui.replay.values import leaves

_PASSED_ON = frozenset({"copy", "bitcast", "opt-barrier", "domain"})


def counted_trips(op: Op, first: Any) -> int | None:
    """How often a while instruction runs that adds a constant to a counter while that is below a limit.

    Args:
        op: the while instruction.
        first: what goes into its first iteration.
    """
    return _trips(op, lambda element: _of_first(first, element))


def fixed_trips(op: Op) -> int | None:
    """The same where the module says it: written down by the compiler, or counted from constants."""
    written = trip_count(op)
    if written is not None:
        return written
    given = op.computation.ops[op.operands[0]]
    if given.opcode != "tuple":
        return None
    return _trips(op, lambda element: _constant(_source(op.computation, given.operands[element])))


def _trips(op: Op, start_of: Callable[[int], int | None]) -> int | None:
    """Counted from what an element of the first iteration's parameter is."""
    program = op.computation.program
    body, condition = (program.computation(called) for called in op.called[:2])
    root = condition.ops[condition.root]
    if root.opcode != "compare" or root.proto.comparison_direction not in ("LT", "LE"):
        return None
    counter = _element(condition, root.operands[0])
    limit = _limit(condition, root.operands[1], body, start_of)
    step = None if counter is None else _step(body, counter)
    start = None if counter is None else start_of(counter)
    if limit is None or step is None or start is None or step <= 0:
        return None
    beyond = limit + (root.proto.comparison_direction == "LE")
    trips = max(0, -(-(beyond - start) // step))
    # Where the counter would go beyond its type it wraps, and the loop goes on.
    return trips if start + trips * step <= _largest(condition.ops[root.operands[0]]) else None


def _largest(op: Op) -> int:
    dtype = arrays.DTYPES.get(op.proto.shape.element_type)
    return int(np.iinfo(dtype).max) if dtype is not None and dtype.kind in "iu" else -1


def _source(computation: Computation, index: int) -> Op:
    op = computation.ops[index]
    while op.opcode in _PASSED_ON:
        op = computation.ops[op.operands[0]]
    return op


def _element(computation: Computation, index: int) -> int | None:
    """Which element of the computation's parameter a value is."""
    op = _source(computation, index)
    if op.opcode != "get-tuple-element" or _source(computation, op.operands[0]).opcode != "parameter":
        return None
    return int(op.proto.tuple_index)


def _limit(
    condition: Computation, index: int, body: Computation, start_of: Callable[[int], int | None]
) -> int | None:
    written = _constant(_source(condition, index))
    element = _element(condition, index) if written is None else None
    return start_of(element) if element is not None and kept(body, element) else written


def _step(body: Computation, counter: int) -> int | None:
    """What the body adds to an element of its parameter."""
    root = body.ops[body.root]
    if root.opcode != "tuple" or counter >= len(root.operands):
        return None
    added = _source(body, root.operands[counter])
    if added.opcode != "add":
        return None
    for one, other in (added.operands, added.operands[::-1]):
        if _element(body, one) == counter:
            return _constant(_source(body, other))
    return None


def _constant(op: Op) -> int | None:
    if op.opcode != "constant":
        return None
    literal: pb.LiteralProto = op.proto.literal
    for numbers in (literal.s32s, literal.s64s, literal.u32s, literal.u64s):
        if len(numbers) == 1:
            return int(numbers[0])
    return None


def _of_first(first: Any, element: int) -> int | None:
    """An element of what goes into a loop, where it is one integer, the same on all devices."""
    if not isinstance(first, tuple) or element >= len(first):
        return None
    arrays = [np.asarray(leaf) for leaf in leaves(first[element])]
    if not arrays or any(array.size != 1 or array.dtype.kind not in "iu" for array in arrays):
        return None
    found = {int(array.reshape(())) for array in arrays}
    return found.pop() if len(found) == 1 else None
