"""A bound on the bytes of computed values that frames keep: what can be computed again goes first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from hlo_tui.replay.frames import MISSING, Call, Frame, Loop
from hlo_tui.replay.program import Computation
from hlo_tui.replay.updated import Updated
from hlo_tui.replay.values import leaves

BUDGET = 1 << 30


class Active:
    """A computation of values that is under way: `needed[position:]` of a frame are still to come."""

    __slots__ = ("frame", "needed", "position")

    def __init__(self, frame: Frame, needed: list[int]) -> None:
        self.frame = frame
        self.needed = needed
        self.position = 0

    def wanted(self) -> set[int]:
        """Positions whose values must stay: those to come, and what they are computed from."""
        ops = self.frame.computation.ops
        ahead = self.needed[self.position :]
        return {*ahead, *(operand for index in ahead for operand in ops[index].operands)}


class _Candidate(NamedTuple):
    still_used: bool
    depth: int
    place: int
    frame: Frame
    size: int


class Keeper:
    """Forgets values, so that what is kept stays in a budget.

    Attributes:
        budget: bytes. What is being computed with is never forgotten, so that more is kept where that is more.
        active: the computations under way, the innermost last.
        standing: gives the frame and position where the replay stands.
        fixed: gives values that are kept besides the frames' and cannot be computed again.
    """

    def __init__(self, sizes: Callable[[Computation], list[int]]) -> None:
        """`sizes` gives the bytes of each instruction's value."""
        self.budget = BUDGET
        self.active: list[Active] = []
        self.standing: Callable[[], tuple[Frame, int] | None] = lambda: None
        self.fixed: Callable[[], Iterable[Any]] = lambda: ()
        self._sizes = sizes

    def sweep(self) -> int:
        """Forget values until half of the budget is free; the bytes that are kept then.

        First go runs that are not on the way to where the replay stands, then values on that way that nothing uses any
        more, then what loops keep of their iterations, then the other values; the oldest first each time.
        """
        kept = self.kept()
        if kept <= self.budget // 2:
            return kept
        for step in (self._forget_runs, self._forget_unused, self._thin_loops, self._forget_used):
            for _ in step(self._held()):
                kept = self.kept()
                if kept <= self.budget // 2:
                    return kept
        return kept

    def kept(self) -> int:
        """The bytes of all values that are kept, each buffer counted once."""
        buffers: dict[int, int] = {}
        for value in self.fixed():
            _count(value, buffers)
        for frame in _runs({chain[0] for chain, _ in self._chains()}):
            for value in (*frame.arguments, *frame.env):
                _count(value, buffers)
            for runs in frame.calls.values():
                if isinstance(runs, Loop):
                    for value in (*runs.carries.values(), *runs.near.values()):
                        _count(value, buffers)
        return sum(buffers.values())

    def _chains(self) -> Iterator[tuple[list[Frame], int]]:
        standing = self.standing()
        if standing is not None:
            yield standing[0].chain(), standing[1]
        for active in self.active:
            yield active.frame.chain(), active.needed[active.position]

    def _held(self) -> dict[Frame, int]:
        """The frames on the way to where the replay stands or computes, and the position of the way in each."""
        held: dict[Frame, int] = {}
        for chain, index in self._chains():
            positions = [*(frame.site for frame in chain[1:]), index]
            for frame, position in zip(chain, positions, strict=True):
                held[frame] = max(held.get(frame, -1), position)
        return held

    @staticmethod
    def _forget_runs(held: dict[Frame, int]) -> Iterator[None]:
        for frame in held:
            for site, runs in list(frame.calls.items()):
                if isinstance(runs, Loop):
                    runs.frames = {k: child for k, child in runs.frames.items() if child in held}
                elif runs.child not in held:
                    del frame.calls[site]
        yield

    def _forget_unused(self, held: dict[Frame, int]) -> Iterator[None]:
        return self._forget(held, still_used=False)

    def _forget_used(self, held: dict[Frame, int]) -> Iterator[None]:
        return self._forget(held, still_used=True)

    def _forget(self, held: dict[Frame, int], still_used: bool) -> Iterator[None]:
        enough, freed = max(self.budget // 8, 1), 0
        for candidate in sorted(self._candidates(held), key=lambda one: (one.depth, one.place)):
            if candidate.still_used is still_used:
                candidate.frame.env[candidate.place] = MISSING
                freed += candidate.size
                if freed >= enough:
                    freed = 0
                    yield
        yield

    def _candidates(self, held: dict[Frame, int]) -> Iterator[_Candidate]:
        wanted: dict[Frame, set[int]] = {}
        for active in self.active:
            wanted.setdefault(active.frame, set()).update(active.wanted())
        for frame, position in held.items():
            keep = wanted.get(frame, set())
            depth, sizes, users = len(frame.chain()), self._sizes(frame.computation), frame.computation.users
            for index, value in enumerate(frame.env):
                if value is not MISSING and index not in keep:
                    still_used = any(user > position for user in users[index])
                    yield _Candidate(still_used, depth, index, frame, sizes[index])

    @staticmethod
    def _thin_loops(held: dict[Frame, int]) -> Iterator[None]:
        loops = [runs for frame in held for runs in frame.calls.values() if isinstance(runs, Loop)]
        while any(loop.thin() for loop in loops):
            yield


def _runs(roots: set[Frame]) -> Iterator[Frame]:
    """Frames and all runs that they keep."""
    stack = list(roots)
    while stack:
        frame = stack.pop()
        yield frame
        for runs in frame.calls.values():
            stack += [runs.child] if isinstance(runs, Call) else runs.frames.values()


def _count(value: Any, buffers: dict[int, int]) -> None:
    """Add the buffers that a value keeps alive: address -> bytes."""
    if value is MISSING:
        return
    for leaf in leaves(value):
        base = leaf.count(buffers) if isinstance(leaf, Updated) else leaf
        if base is None:
            continue
        while isinstance(base, np.ndarray) and isinstance(base.base, np.ndarray):
            base = base.base
        if isinstance(base, np.ndarray):
            buffers[base.__array_interface__["data"][0]] = base.nbytes
        else:
            buffers[base.unsafe_buffer_pointer()] = base.nbytes
