"""Whether what a job recorded as a module's result is finite: read from the snapshot, nothing runs."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator
from pathlib import Path

from hlo_tui.hlo.loading import read_proto
from hlo_tui.hlo.schema import hlo_pb2 as pb

# Exponents of sixteen bit floats that are all ones, and what of the number is its mantissa.
_HALVES = {pb.F16: (0x7C00, 0x3FF), pb.BF16: (0x7F80, 0x7F)}


def recorded_health(path: Path) -> str:
    """ "nan" or "inf" where the recorded result of a snapshot holds one, "finite" where it holds none.

    Empty where no result was recorded, or one without floating point numbers of two bytes or more.

    Raises:
        HloTuiError: the snapshot cannot be read.
    """
    result = read_proto(path).result
    found = set(_kinds(result)) if result is not None else set()
    return next((kind for kind in ("nan", "inf", "finite") if kind in found), "")


def _kinds(literal: pb.LiteralProto) -> Iterator[str]:
    for part in literal.tuple_literals:
        yield from _kinds(part)
    for numbers in (literal.f32s, literal.f64s, literal.c64s, literal.c128s):
        if numbers:
            yield _kind(numbers)
    kind = literal.shape.element_type
    if kind in _HALVES:
        yield _half(literal.f16s if kind == pb.F16 else literal.bf16s, *_HALVES[kind])


def _kind(numbers: Iterable[float]) -> str:
    # A sum is finite only if every number is; that it may overflow is looked into.
    if math.isfinite(sum(numbers)):
        return "finite"
    found = [number for number in numbers if not math.isfinite(number)]
    return "nan" if any(map(math.isnan, found)) else "inf" if found else "finite"


def _half(data: bytes, exponent: int, mantissa: int) -> str:
    codes = array("H", data[: len(data) & ~1])
    found = [code for code in codes if code & exponent == exponent]
    return "nan" if any(code & mantissa for code in found) else "inf" if found else "finite"
