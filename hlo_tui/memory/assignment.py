"""A buffer assignment: which values XLA put where in which allocation, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

PARAMETER, OUTPUT, CONSTANT, TEMPORARY, THREAD_LOCAL, OTHER = (
    "argument", "output", "constant", "temporary", "thread-local", "other",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """One value that was given a place.

    Attributes:
        id: its number in the assignment, -1 where the report has none.
        name: the instruction that defines it.
        index: which part of its result, as XLA writes it: "" for an array, "{}" for a tuple's own table,
            "{0}", "{1, 2}".
        size: bytes that it takes.
        offset: bytes from the start of its allocation.
        shape: as the report has it, "" where it does not.
        phi: whether it stands for several others, at the head of a loop or behind one.
    """

    id: int
    name: str
    index: str
    size: int
    offset: int
    shape: str = ""
    phi: bool = False

    @property
    def label(self) -> str:
        """How live ranges call it; a value without an index is the whole result there."""
        return f"{self.name}{self.index or '{}'}"


@dataclass(frozen=True, slots=True)
class Allocation:
    """One stretch of memory.

    Attributes:
        index: its number.
        size: bytes.
        values: what is in it, at one time or another.
        parameter: the number of the entry's parameter that it holds, None where it holds none.
        shape_index: which part of that parameter.
        shape: of the parameter, or of the output, as the report has it.
        live_out: whether what the program gives back may be in it.
        constant, thread_local, temporary: what XLA calls it.
        color: the memory space.
    """

    index: int
    size: int
    values: tuple[Value, ...] = ()
    parameter: int | None = None
    shape_index: str = ""
    shape: str = ""
    live_out: bool = False
    constant: bool = False
    thread_local: bool = False
    temporary: bool = False
    color: int = 0

    @property
    def kind(self) -> str:
        """What it is for, in one word; an argument that is also an output is an argument."""
        if self.thread_local:
            return THREAD_LOCAL
        if self.parameter is not None:
            return PARAMETER
        if self.constant:
            return CONSTANT
        if self.live_out:
            return OUTPUT
        return TEMPORARY if self.temporary else OTHER

    @property
    def largest(self) -> Value | None:
        """The value that takes the most of it."""
        return max(self.values, key=lambda value: value.size, default=None)


@dataclass(frozen=True, slots=True)
class Assignment:
    """All allocations of a module.

    Attributes:
        allocations: in the order of their numbers.
        stated_total: bytes that the report itself gives as the sum, None where it gives none.
        peak_values: per allocation (by index) the values at its fullest moment, where the report lists them.
        peak: bytes in use at the fullest moment, as XLA computes it from its own simulation; None where the
            report has no simulation.
        cut: whether the report ends in the middle.
    """

    allocations: tuple[Allocation, ...] = ()
    stated_total: int | None = None
    peak_values: dict[int, tuple[Value, ...]] = field(default_factory=dict, hash=False)
    peak: int | None = None
    cut: bool = False

    @property
    def total(self) -> int:
        """Bytes of all allocations."""
        return sum(allocation.size for allocation in self.allocations)

    @property
    def values(self) -> dict[str, Value]:
        """Every value by its label; of those that share one the largest."""
        found: dict[str, Value] = {}
        for allocation in self.allocations:
            for value in allocation.values:
                if value.label not in found or found[value.label].size < value.size:
                    found[value.label] = value
        return found

    def by_kind(self) -> dict[str, int]:
        """Bytes of each kind of allocation, the largest first."""
        sums: dict[str, int] = {}
        for allocation in self.allocations:
            sums[allocation.kind] = sums.get(allocation.kind, 0) + allocation.size
        return dict(sorted(sums.items(), key=lambda item: -item[1]))

    def static(self) -> int:
        """Bytes that are in use all the time: arguments, constants and outputs, each by its largest value."""
        kinds = (PARAMETER, CONSTANT, OUTPUT)
        largest = (one.largest for one in self.allocations if one.kind in kinds)
        return sum(value.size for value in largest if value is not None)


def covered(spans: Iterable[tuple[int, int]]) -> int:
    """Bytes that spans (begin, end) cover together, what several cover counted once."""
    total, reached = 0, None
    for begin, end in sorted(spans):
        if reached is None or begin > reached:
            total += max(0, end - begin)
            reached = max(begin, end)
        elif end > reached:
            total += end - reached
            reached = end
    return total


def without_repeats(values: Sequence[Value]) -> list[Value]:
    """Of values that lie in the same bytes only the first, the largest first."""
    kept: list[Value] = []
    seen: set[tuple[int, int]] = set()
    for value in sorted(values, key=lambda value: -value.size):
        place = (value.offset, value.size)
        if place not in seen:
            seen.add(place)
            kept.append(value)
    return kept
