"""Integers of 64 bits in two halves, as programs for TPUs have them."""

from __future__ import annotations

from typing import Any

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay.traced import Call, Function, Unsupported

_INTEGERS = frozenset({pb.S64, pb.U64})


def low(call: Call) -> Function:
    """The lower 32 bits."""
    _check(call.operands[0])
    return lambda whole: [whole.astype("uint64") & 0xFFFFFFFF]


def high(call: Call) -> Function:
    """The upper 32 bits."""
    _check(call.operands[0])
    return lambda whole: [whole.astype("uint64") >> 32]


def combine(call: Call) -> Function:
    """The number of a lower and an upper half."""
    _check(call.results[0])

    def run(lower: Any, upper: Any) -> list[Any]:
        return [(upper.astype("uint32").astype("uint64") << 32) | lower.astype("uint32").astype("uint64")]

    return run


def _check(shape: pb.ShapeProto) -> None:
    # A float of 64 bits is the sum of two of 32 there, not these bits in two halves.
    if shape.element_type not in _INTEGERS:
        raise Unsupported("only integers are known in halves")
