"""The cost of something: operations and bytes, to be added and multiplied."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cost:
    """What XLA's HloCostAnalysis counts.

    Attributes:
        flops: floating-point operations; an addition of integers is one too, a multiply-add is two.
        transcendentals: exponentials, logarithms and their like, which are not in `flops`.
        bytes: read and written, each operand and result once.
        unknown: how many operations are in it of which nobody knows what they do.
    """

    flops: float = 0
    transcendentals: float = 0
    bytes: float = 0
    unknown: float = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flops + other.flops,
            self.transcendentals + other.transcendentals,
            self.bytes + other.bytes,
            self.unknown + other.unknown,
        )

    def times(self, count: float) -> Cost:
        """The cost of as many of them."""
        return Cost(
            self.flops * count, self.transcendentals * count, self.bytes * count, self.unknown * count
        )

    def arithmetic(self, count: float) -> Cost:
        """The same operations as often, and no bytes."""
        return Cost(self.flops * count, self.transcendentals * count, 0, self.unknown * count)

    def largest(self, other: Cost) -> Cost:
        """Of each count the larger one."""
        return Cost(
            max(self.flops, other.flops),
            max(self.transcendentals, other.transcendentals),
            max(self.bytes, other.bytes),
            max(self.unknown, other.unknown),
        )


NOTHING = Cost()
