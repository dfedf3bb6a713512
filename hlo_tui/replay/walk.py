"""Moving through the time of a replay, forwards and backwards.

The runs of a program form a tree: frames, their instructions in order, and below an instruction the runs of
what it
calls. Time is that tree's order: an instruction is first stood on *before* what it calls has run, then come
the
positions inside, then it is stood on *after*. An instruction that calls nothing has one position, and its
value is
there as soon as it is stood on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.program import CONTROL_FLOW, Computation, Program


class Phase(IntEnum):
    """On which side of the runs inside an instruction a position is."""

    BEFORE = 0
    AFTER = 2


@dataclass(frozen=True, slots=True)
class Position:
    """A moment of the replay that can be written down and found again.

    Attributes:
        path: (instruction position, ordinal of the child run) for each frame below the entry.
        index: position of the instruction in the innermost frame; -1 before the first, len after the last.
        phase: before or after the runs inside it.
    """

    path: tuple[tuple[int, int], ...]
    index: int
    phase: Phase = Phase.BEFORE

    def key(self) -> tuple[int, ...]:
        """Sorts by time."""
        return (*(n for site, ordinal in self.path for n in (site, 1, ordinal)), self.index, int(self.phase))


@dataclass(frozen=True, slots=True)
class Spot:
    """A position with its frame at hand."""

    frame: Frame
    index: int
    phase: Phase = Phase.BEFORE

    def position(self) -> Position:
        """The form that can be kept."""
        return Position(tuple(self.frame.path()), self.index, self.phase)

    @property
    def waits(self) -> bool:
        """Whether the instruction has no value yet: what it calls runs first."""
        ops = self.frame.computation.ops
        if self.phase is not Phase.BEFORE or not 0 <= self.index < len(ops):
            return False
        return ops[self.index].opcode in CONTROL_FLOW

    def run_of(self, instruction: str, computation: str = "") -> tuple[Frame, int, bool] | None:
        """The run of an instruction on the way here, the innermost one, its position there, and whether it is done.

        Args:
            instruction: its name.
            computation: of the instruction; empty for any.
        """
        reached = self.index if self.waits else self.index + 1
        for frame in reversed(self.frame.chain()):
            index = frame.computation.by_name.get(instruction)
            if index is not None and computation in ("", frame.computation.name):
                return frame, index, index < reached
            reached = frame.site
        return None


class StopTable:
    """Which instructions of a program hold a stop, themselves or somewhere inside what they call."""

    def __init__(self, program: Program, direct: Mapping[int, Iterable[int]]) -> None:
        """Take the stops: computation id -> positions."""
        self.direct = {identity: frozenset(indices) for identity, indices in direct.items() if indices}
        self.holders: dict[int, list[int]] = {}
        self._inside: dict[int, frozenset[int]] = {}
        for computation in program.reachable():
            inside = [
                op.index for op in computation.ops
                if op.enterable and any(self.holders.get(called) for called in op.called)
            ]  # fmt: skip
            self._inside[computation.id] = frozenset(inside)
            self.holders[computation.id] = sorted({*inside, *self.direct.get(computation.id, ())})

    def holds(self, computation: Computation) -> bool:
        """Whether a stop is somewhere in a run of this computation."""
        return bool(self.holders.get(computation.id))

    def is_stop(self, computation: Computation, index: int) -> bool:
        """Whether the instruction itself is a stop."""
        return index in self.direct.get(computation.id, ())

    def inside(self, computation: Computation, index: int) -> bool:
        """Whether a stop is inside what the instruction calls."""
        return index in self._inside.get(computation.id, ())

    def phase(self, computation: Computation, index: int) -> Phase:
        """On which side a stop at this instruction is: after what runs inside, where that is a matter of
        time.
        """
        later = computation.ops[index].opcode in CONTROL_FLOW or self.inside(computation, index)
        return Phase.AFTER if later else Phase.BEFORE


class Walker:
    """Finds where the next or previous stop or step is."""

    def __init__(self, evaluator: Evaluator, entry: Frame, table: StopTable) -> None:
        self.evaluator = evaluator
        self.entry = entry
        self.table = table
        self.accept: Callable[[Spot], bool] = lambda _: True
        self.enters: Callable[[Frame, int], bool] = lambda _frame, _index: True
        evaluator.holds = self.holds

    def holds(self, computation: Computation) -> bool:
        """Whether a stop is somewhere in a run of this computation."""
        return self.table.holds(computation)

    def retable(self, table: StopTable) -> None:
        """Use other stops from now on."""
        self.table = table

    def start(self) -> Spot:
        """Before the first instruction."""
        return Spot(self.entry, -1, Phase.AFTER)

    def end(self) -> Spot:
        """After the last instruction."""
        return Spot(self.entry, len(self.entry.computation), Phase.BEFORE)

    def find(self, position: Position) -> Spot | None:
        """The spot of a position that was written down; None where the program does not come there."""
        frame = self.entry
        for site, ordinal in position.path:
            child = self.evaluator.runs.child(frame, site, ordinal)
            if child is None:
                return None
            frame = child
        return Spot(frame, position.index, position.phase)

    # Stops.

    def next_stop(self, spot: Spot, within: Frame | None = None) -> Spot | None:
        """The first stop after a spot.

        Args:
            spot: where to start; not itself the answer.
            within: look no further than the end of this frame's runs (with a loop, all its iterations).
        """
        frame, index, phase = spot.frame, spot.index, spot.phase
        while True:
            found = self._rest_of(frame, index, phase)
            if found is not None:
                return found
            sibling = self.next_run(frame)
            if sibling is not None:
                frame, index, phase = sibling, -1, Phase.AFTER
                continue
            if (
                frame.parent is None
                or frame is within
                or (within is not None and self._same_runs(frame, within))
            ):
                return None
            frame, index, phase = frame.parent, frame.site, Phase.BEFORE
            after = self._stop_at(frame, index, Phase.AFTER)
            if after is not None:
                return after
            phase = Phase.AFTER

    def previous_stop(self, spot: Spot, within: Frame | None = None) -> Spot | None:
        """The last stop before a spot; the mirror of `next_stop`."""
        frame, index, phase = spot.frame, spot.index, spot.phase
        while True:
            found = self._before(frame, index, phase)
            if found is not None:
                return found
            sibling = self.previous_run(frame)
            if sibling is not None:
                frame, index, phase = sibling, len(sibling.computation), Phase.BEFORE
                continue
            if frame.parent is None or (within is not None and self._same_runs(frame, within)):
                return None
            frame, index, phase = frame.parent, frame.site, Phase.BEFORE
            before = self._stop_at(frame, index, Phase.BEFORE)
            if before is not None:
                return before

    @staticmethod
    def _same_runs(frame: Frame, other: Frame) -> bool:
        return frame.parent is other.parent and frame.site == other.site

    def _rest_of(self, frame: Frame, index: int, phase: Phase) -> Spot | None:
        computation = frame.computation
        if 0 <= index < len(computation) and phase is Phase.BEFORE:
            found = self._inside_forward(frame, index) or self._stop_at(frame, index, Phase.AFTER)
            if found is not None:
                return found
        for holder in self.table.holders.get(computation.id, ()):
            if holder > index:
                found = self._all_forward(frame, holder)
                if found is not None:
                    return found
        return None

    def _before(self, frame: Frame, index: int, phase: Phase) -> Spot | None:
        computation = frame.computation
        if 0 <= index < len(computation) and phase is Phase.AFTER:
            found = self._inside_backward(frame, index) or self._stop_at(frame, index, Phase.BEFORE)
            if found is not None:
                return found
        for holder in reversed(self.table.holders.get(computation.id, ())):
            if holder < index:
                found = (
                    self._stop_at(frame, holder, Phase.AFTER)
                    or self._inside_backward(frame, holder)
                    or self._stop_at(frame, holder, Phase.BEFORE)
                )
                if found is not None:
                    return found
        return None

    def _all_forward(self, frame: Frame, index: int) -> Spot | None:
        return (
            self._stop_at(frame, index, Phase.BEFORE)
            or self._inside_forward(frame, index)
            or self._stop_at(frame, index, Phase.AFTER)
        )

    def _stop_at(self, frame: Frame, index: int, phase: Phase) -> Spot | None:
        computation = frame.computation
        if not self.table.is_stop(computation, index) or self.table.phase(computation, index) is not phase:
            return None
        spot = Spot(frame, index, phase)
        return spot if self.accept(spot) else None

    def _inside_forward(self, frame: Frame, index: int) -> Spot | None:
        if not self._goes_in(frame, index):
            return None
        child = self.evaluator.runs.first_child(frame, index)
        while child is not None:
            found = self._rest_of(child, -1, Phase.AFTER)
            if found is not None:
                return found
            child = self.next_run(child)
        return None

    def _goes_in(self, frame: Frame, index: int) -> bool:
        return self.table.inside(frame.computation, index) and self.enters(frame, index)

    def _inside_backward(self, frame: Frame, index: int) -> Spot | None:
        if not self._goes_in(frame, index):
            return None
        child = self.last_run(frame, index)
        while child is not None:
            found = self._before(child, len(child.computation), Phase.BEFORE)
            if found is not None:
                return found
            child = self.previous_run(child)
        return None

    # Runs of what an instruction calls.

    def next_run(self, frame: Frame) -> Frame | None:
        """The run after this one of the same instruction: a loop's next condition or body."""
        if frame.parent is None:
            return None
        return self.evaluator.runs.child(frame.parent, frame.site, frame.ordinal + 1)

    def previous_run(self, frame: Frame) -> Frame | None:
        """The run before this one of the same instruction."""
        if frame.parent is None or frame.ordinal == 0:
            return None
        return self.evaluator.runs.child(frame.parent, frame.site, frame.ordinal - 1)

    def last_run(self, frame: Frame, index: int) -> Frame | None:
        """The last run of what an instruction calls; a loop is run to its end for it."""
        runs = self.evaluator.runs
        op = frame.computation.ops[index]
        if op.opcode == "while":
            return runs.child(frame, index, 2 * runs.loop_length(frame, index))
        last = runs.first_child(frame, index)
        while last is not None and (following := runs.child(frame, index, last.ordinal + 1)) is not None:
            last = following
        return last

    # Steps.

    def next(self, spot: Spot) -> Spot | None:
        """The next instruction of this frame, past what this one calls; a stop inside comes first. None: the
        end.
        """
        return self._stop_inside(spot, forward=True) or self._step_over(spot)

    def previous(self, spot: Spot) -> Spot | None:
        """The mirror of `next`. None: the beginning."""
        return self._stop_inside(spot, forward=False) or self._step_back(spot)

    def step_in(self, spot: Spot) -> Spot | None:
        """The next position of all: into what this instruction calls, else the next instruction. None: the
        end.
        """
        frame, index = spot.frame, spot.index
        if (
            spot.phase is Phase.BEFORE
            and 0 <= index < len(frame.computation)
            and frame.computation.ops[index].has_runs
        ):
            child = self.evaluator.runs.first_child(frame, index)
            if child is not None:
                return _first_position(child)
        return self._step_over(spot)

    def step_back_in(self, spot: Spot) -> Spot | None:
        """The mirror of `step_in`. None: the beginning."""
        frame, index = spot.frame, spot.index
        if spot.phase is Phase.AFTER and 0 <= index < len(frame.computation):
            child = self.last_run(frame, index)
            return Spot(frame, index) if child is None else self._last_position(child)
        preceding = frame.computation.before(index)
        if preceding is not None:
            has_runs = frame.computation.ops[preceding].has_runs
            return Spot(frame, preceding, Phase.AFTER if has_runs else Phase.BEFORE)
        return self._step_back(spot)

    def finish(self, spot: Spot) -> Spot | None:
        """Out of this frame: after the caller's instruction (a loop runs to its end); a stop on the way comes
        first.
        """
        frame = spot.frame
        found = self.next_stop(spot, within=frame)
        if found is not None or frame.parent is None:
            return found
        return Spot(frame.parent, frame.site, Phase.AFTER)

    def finish_back(self, spot: Spot) -> Spot | None:
        """The mirror of `finish`: before the caller's instruction."""
        frame = spot.frame
        found = self.previous_stop(spot, within=frame)
        if found is not None or frame.parent is None:
            return found
        return Spot(frame.parent, frame.site, Phase.BEFORE)

    def _stop_inside(self, spot: Spot, forward: bool) -> Spot | None:
        frame, index = spot.frame, spot.index
        if not 0 <= index < len(frame.computation):
            return None
        if forward and spot.phase is Phase.BEFORE:
            return self._inside_forward(frame, index) or self._stop_at(frame, index, Phase.AFTER)
        if not forward and spot.phase is Phase.AFTER:
            return self._inside_backward(frame, index)
        return None

    def _step_over(self, spot: Spot) -> Spot | None:
        frame = spot.frame
        following = frame.computation.after(spot.index)
        if following is not None:
            return Spot(frame, following)
        if frame.parent is None:
            return None
        sibling = self.next_run(frame)
        return (
            _first_position(sibling) if sibling is not None else Spot(frame.parent, frame.site, Phase.AFTER)
        )

    def _step_back(self, spot: Spot) -> Spot | None:
        frame, index = spot.frame, spot.index
        if spot.phase is Phase.AFTER and 0 <= index < len(frame.computation):
            return Spot(frame, index)
        preceding = frame.computation.before(index)
        if preceding is not None:
            return Spot(frame, preceding)
        if frame.parent is None:
            return None
        sibling = self.previous_run(frame)
        return self._last_position(sibling) if sibling is not None else Spot(frame.parent, frame.site)

    def _last_position(self, frame: Frame) -> Spot:
        last = len(frame.computation) - 1
        return Spot(frame, last, Phase.AFTER if frame.computation.ops[last].has_runs else Phase.BEFORE)


def _first_position(frame: Frame) -> Spot:
    first = frame.computation.after(-1)
    return Spot(frame, 0 if first is None else first)
