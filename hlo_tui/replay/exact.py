"""Loops over integers alone: however they are compiled, their values are the same to the bit."""

from __future__ import annotations

from collections.abc import Container

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays
from hlo_tui.replay.program import Op, Program
from hlo_tui.replay.trips import fixed_trips

# Integer arithmetic wraps, and the rest of them only move data; the order of an integer sum does not matter.
_OPCODES = frozenset(
    {
        "add", "subtract", "multiply", "and", "or", "xor", "not", "negate", "minimum", "maximum", "clamp",
        "shift-left", "shift-right-logical", "shift-right-arithmetic", "popcnt", "count-leading-zeros",
        "compare", "select", "convert", "constant", "parameter", "iota", "copy", "bitcast", "bitcast-convert",
        "broadcast", "reshape", "transpose", "reverse", "slice", "concatenate", "pad", "dynamic-slice",
        "dynamic-update-slice", "reduce", "tuple", "get-tuple-element", "opt-barrier", "call", "fusion",
        "conditional", "while",
    }
)  # fmt: skip
# What goes round more often, in loops within loops together, is something that a person may want to interrupt.
_TRIPS = 1000
# How often the loops of a computation go round in one run of it, by its id; only of computations of integers alone.
_Rounds = dict[int, int]


def exact_loops(program: Program, refused: Container[tuple[str, str]] = ()) -> frozenset[Op]:
    """The short loops over integers alone, and what calls computations of integers alone with such a loop in them.

    Without a loop there is little to gain: the small pieces are compiled for other instructions as well.

    Args:
        program: the module.
        refused: (computation, instruction) of what must not be run, so that it is in none of them.
    """
    rounds: _Rounds = {}
    looping: set[int] = set()
    found: set[Op] = set()
    for computation in program.reachable():
        for op in computation.ops:
            loops = op.opcode == "while" or any(called in looping for called in op.called)
            if loops:
                looping.add(computation.id)
            if loops and op.enterable and _calls_exact(op, rounds):
                found.add(op)
        runs = not any((computation.name, op.name) in refused for op in computation.ops)
        if runs and all(_is_exact(op, rounds) for op in computation.ops):
            total = sum(_rounds_of(op, rounds) for op in computation.ops)
            if total <= _TRIPS:
                rounds[computation.id] = total
    return frozenset(found)


def _calls_exact(op: Op, rounds: _Rounds) -> bool:
    if not all(called in rounds for called in op.called):
        return False
    return op.opcode != "while" or (fixed_trips(op) is not None and _rounds_of(op, rounds) <= _TRIPS)


def _rounds_of(op: Op, rounds: _Rounds) -> int:
    inside = sum(rounds[called] for called in op.called)
    return (fixed_trips(op) or 0) * (1 + inside) if op.opcode == "while" else inside


def _is_exact(op: Op, rounds: _Rounds) -> bool:
    return op.opcode in _OPCODES and _calls_exact(op, rounds) and _of_integers(op.proto.shape)


def _of_integers(shape: pb.ShapeProto) -> bool:
    if shape.element_type == arrays.TUPLE:
        return all(_of_integers(part) for part in shape.tuple_shapes)
    return shape.element_type in arrays.INTEGERS and not any(shape.is_dynamic_dimension)
