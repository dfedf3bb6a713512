"""XLA's live ranges (`-live-range.txt`, or the end of an older buffer assignment): when each value is in use."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_HEAD = re.compile(r"\s*HloLiveRange \(max (\d{1,18})\)")
_STEP = re.compile(r"\s*(\d{1,18}):(\S{1,4096})")
_RANGE = re.compile(r"\s*([^\s{}]{1,4096})(\{[\d, ]*\}):(\d{1,18})-(\d{1,18})")
_PEAK = re.compile(r"\s*Live ranges at (\d{1,18}) \(peak\):")
_LIVE = re.compile(
    r"\s*([^\s{}]{1,4096})(\{[\d, ]*\})?: (\d{1,18}) bytes\b(?: \(cumulative: (\d{1,18}) bytes\))?"
)
_SUM = re.compile(r"\s*Stack trace breakdown for peak usage: (\d[\d\s,.'\u2009\u202f]{0,60})bytes")
_SEQUENCE, _RANGES, _AT_PEAK = "InstructionSequence:", "BufferLiveRange:", "peak"


@dataclass(frozen=True, slots=True)
class LiveRange:
    """When a value is in use: from place `start` to place `end` of the sequence, both included.

    `index` tells which part of the instruction's result it is, as XLA writes it ("{}" for the whole).
    """

    name: str
    index: str
    start: int
    end: int

    @property
    def label(self) -> str:
        """The value as a buffer assignment labels it."""
        return self.name + self.index


@dataclass(frozen=True, slots=True)
class LiveRanges:
    """What the file says.

    Attributes:
        end: the time of the end.
        sequence: the instructions in the order of execution, those of loops and calls in their places.
        ranges: of every value.
        peak_at: the place that XLA calls the peak, None where the report does not say.
        at_peak: what is in use there by XLA's own list: label and bytes, the largest first.
        stated: the sum of that list as the report itself gives it.
        cut: whether the report ends in the middle.
    """

    end: int = 0
    sequence: tuple[str, ...] = ()
    ranges: tuple[LiveRange, ...] = ()
    peak_at: int | None = None
    at_peak: tuple[tuple[str, int], ...] = ()
    stated: int | None = None
    cut: bool = False

    @property
    def peak(self) -> int | None:
        """Bytes of XLA's list, None where there is none."""
        return sum(size for _, size in self.at_peak) if self.at_peak else None


def read_live_ranges(lines: Iterable[str]) -> LiveRanges | None:
    """Read live ranges from the lines of a file; None where there are none. Unknown lines are passed over.

    A file that holds several has the last one read: each is of the whole module.
    """
    reader: _Reader | None = None
    for line in lines:
        head = _HEAD.match(line)
        if head is not None:
            reader = _Reader(int(head[1]))
        elif reader is not None:
            reader.take(line)
    return reader.result() if reader is not None else None


class _Reader:
    def __init__(self, end: int) -> None:
        self._end = end
        self._part = ""
        self._sequence: list[str] = []
        self._ranges: list[LiveRange] = []
        self._peak_at: int | None = None
        self._at_peak: list[tuple[str, int]] = []
        self._stated: int | None = None

    def take(self, line: str) -> None:
        word = line.strip()
        if word in (_SEQUENCE, _RANGES):
            self._part = word
        elif self._part == _SEQUENCE:
            step = _STEP.fullmatch(line)
            # The places count up; a line that says another number belongs to no sequence of this module.
            if step is not None and int(step[1]) == len(self._sequence):
                self._sequence.append(step[2])
        elif self._part == _AT_PEAK:
            self._take_peak(line)
        else:
            found = _RANGE.fullmatch(line)
            if found is not None:
                self._ranges.append(LiveRange(found[1], found[2], int(found[3]), int(found[4])))
        peak = _PEAK.match(line)
        if peak is not None:
            self._part, self._peak_at = _AT_PEAK, int(peak[1])

    def _take_peak(self, line: str) -> None:
        found = _LIVE.match(line)
        if found is not None:
            self._at_peak.append((found[1] + (found[2] or ""), int(found[3])))
            if found[4] is not None:
                self._stated = int(found[4])
            return
        total = _SUM.match(line)
        if total is not None:
            self._stated = int("".join(filter(str.isdecimal, total[1])))

    def result(self) -> LiveRanges:
        return LiveRanges(
            self._end,
            tuple(self._sequence),
            tuple(self._ranges),
            self._peak_at,
            tuple(self._at_peak),
            self._stated,
            cut=self._peak_at is None or len(self._sequence) < self._end,
        )
