"""Bytes in use at every place of the schedule, from live ranges and the places that the values were given."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from hlo_tui.memory.assignment import TEMPORARY, Assignment
from hlo_tui.memory.live_ranges import LiveRanges


@dataclass(frozen=True, slots=True)
class Span:
    """One value's stay: `label` takes `size` bytes at the places `start` to `end`, both included.

    Spans with one `place` lie in the same bytes: while several stay, only the largest counts.
    """

    label: str
    size: int
    start: int
    end: int
    place: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Timeline:
    """Memory over the schedule.

    Attributes:
        sequence: the instruction at each place.
        base: bytes that are in use all the time.
        live: bytes in use at each place, `base` among them.
        spans: the values that come and go.
    """

    sequence: tuple[str, ...]
    base: int
    live: tuple[int, ...]
    spans: tuple[Span, ...]

    @property
    def peak(self) -> int:
        """The most bytes at any place."""
        return max(self.live, default=self.base)

    @property
    def peak_at(self) -> int:
        """The first place with that many."""
        return self.live.index(self.peak) if self.live else 0

    def at(self, place: int) -> list[Span]:
        """What is in use at a place, the largest first; of what shares its bytes only the largest."""
        found: dict[object, Span] = {}
        for span in self.spans:
            if span.start <= place <= span.end:
                key = span.place if span.place is not None else span.label
                if key not in found or found[key].size < span.size:
                    found[key] = span
        return sorted(found.values(), key=lambda span: (-span.size, span.label))


def from_ranges(ranges: LiveRanges, assignment: Assignment) -> Timeline | None:
    """The timeline that XLA's live ranges and its assignment give together; None where one of them is missing.

    Arguments, outputs and constants count all the time, as they do for XLA; values that share bytes count once.
    """
    if not ranges.sequence or not assignment.allocations:
        return None
    places = {
        value.label: (value, one.index)
        for one in assignment.allocations
        if one.kind == TEMPORARY
        for value in one.values
        # The table of pointers of a tuple has bytes of its own that XLA's simulation leaves out.
        if not value.shape.startswith("(")
    }
    spans = []
    for found in ranges.ranges:
        value, index = places.get(found.label, (None, 0))
        if value is not None:
            place = (index, value.offset)
            spans.append(Span(found.label, value.size, found.start, found.end, place))
    return timeline(ranges.sequence, assignment.static(), spans)


def timeline(sequence: Sequence[str], base: int, spans: Sequence[Span]) -> Timeline:
    """Sum up the spans."""
    count = len(sequence)
    changes = [0] * (count + 1)
    shared: dict[tuple[int, int], list[Span]] = defaultdict(list)
    for span in spans:
        if span.place is not None:
            shared[span.place].append(span)
        elif span.start < count:
            changes[span.start] += span.size
            changes[min(span.end + 1, count)] -= span.size
    for group in shared.values():
        for start, end, size in _largest(group):
            if start < count:
                changes[start] += size
                changes[min(end, count)] -= size
    return Timeline(tuple(sequence), base, tuple(accumulate(changes[:count], initial=base))[1:], tuple(spans))


def _largest(group: Iterable[Span]) -> list[tuple[int, int, int]]:
    """Stretches (start, end behind it, bytes) in which the largest of the spans that stay there is the same."""
    if not isinstance(group, list) or len(group) == 1:
        return [(span.start, span.end + 1, span.size) for span in group]
    waiting = sorted(group, key=lambda span: span.start)
    edges = sorted({edge for span in group for edge in (span.start, span.end + 1)})
    found: list[tuple[int, int, int]] = []
    staying: list[tuple[int, int]] = []
    taken = 0
    for begin, end in pairwise(edges):
        while taken < len(waiting) and waiting[taken].start <= begin:
            heapq.heappush(staying, (-waiting[taken].size, waiting[taken].end))
            taken += 1
        while staying and staying[0][1] < begin:
            heapq.heappop(staying)
        if staying:
            found.append((begin, end, -staying[0][0]))
    return found
