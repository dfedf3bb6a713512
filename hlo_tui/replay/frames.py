"""Frames: a computation, the values of its parameters, and what has been computed of it so far.

A frame's children are the runs of the computations that its instructions call, in order of time: a call has
one, a
conditional the branch taken, a while loop condition 0, body 0, condition 1, ... up to the condition that is
false.
"""

from __future__ import annotations

from typing import Any

from hlo_tui.replay.program import Computation, Op

MISSING: Any = object()


class Frame:
    """One run of one computation."""

    __slots__ = (
        "arguments", "calls", "carriers", "computation", "env", "flags", "iteration", "ordinal", "parent", "site",
    )  # fmt: skip

    def __init__(
        self,
        computation: Computation,
        arguments: list[Any],
        parent: Frame | None = None,
        site: int = -1,
        ordinal: int = 0,
        iteration: int | None = None,
    ) -> None:
        self.computation = computation
        self.arguments = arguments
        self.parent = parent
        self.site = site
        self.ordinal = ordinal
        self.iteration = iteration
        self.env: list[Any] = [MISSING] * len(computation)
        self.flags: dict[int, Any] = {}
        self.carriers: list[int] = []
        self.calls: dict[int, Call | Loop] = {}

    @property
    def op(self) -> Op:
        """The caller's instruction that this frame runs for; only for frames with a parent."""
        assert self.parent is not None
        return self.parent.computation.ops[self.site]

    def chain(self) -> list[Frame]:
        """The frames from the entry to this one."""
        frames = [self]
        while frames[-1].parent is not None:
            frames.append(frames[-1].parent)
        return frames[::-1]

    def path(self) -> list[tuple[int, int]]:
        """How to come here from the entry: (site, ordinal of the child) for each frame below it."""
        return [(frame.site, frame.ordinal) for frame in self.chain()[1:]]


class Call:
    """The one child frame of a call, a fusion or a conditional."""

    __slots__ = ("child",)

    def __init__(self, child: Frame) -> None:
        self.child = child


class Loop:
    """The runs of a while loop.

    `carries` holds the value that goes into some iterations; `reached` counts the iterations whose condition
    is known
    to be true; `length` is how many there are, once a condition came out false (or `unknown`).

    Kept values are thinned as the loop goes on, so that a loop of any length keeps a bounded number of them;
    what is
    not kept is computed again from the nearest kept value before it. What is met on such a way is in `near` for a
    while: who goes back through a loop needs it next. From iteration `compiled` on, where it is not None, the
    iterations ran in one piece with others.
    """

    KEPT = 64
    NEAR = 32
    __slots__ = (
        "_newest", "_stride", "carries", "compiled", "frames", "length", "near", "reached", "unknown",
    )  # fmt: skip

    def __init__(self, first: Any) -> None:
        self.carries: dict[int, Any] = {0: first}
        self.reached = 0
        self.length: int | None = None
        self.unknown: Any = None
        self.frames: dict[int, Frame] = {}
        self.near: dict[int, Any] = {}
        self.compiled: int | None = None
        self._newest = 0
        self._stride = 1

    def keep(self, iteration: int, value: Any) -> None:
        """Remember what goes into an iteration, as long as there is room."""
        before = self._newest
        if iteration % self._stride and iteration < before:
            return
        self.carries[iteration] = value
        if iteration > before:
            self._newest = iteration
            if before % self._stride:
                self.carries.pop(before, None)
        if len(self.carries) > self.KEPT:
            self.thin()

    def thin(self) -> bool:
        """Forget every other of the kept values, but the first and the newest; whether there was any to forget."""
        before = len(self.carries) + len(self.near)
        self.near.clear()
        if before > 2:
            self._stride *= 2
            self.carries = {
                k: v for k, v in self.carries.items() if k % self._stride == 0 or k == self._newest
            }
        return before > 2

    def nearest(self, iteration: int) -> tuple[int, Any]:
        """The last iteration not after this one whose value is there, and the value."""
        k = max(k for kept in (self.carries, self.near) for k in kept if k <= iteration)
        return k, self.carries[k] if k in self.carries else self.near[k]

    def pass_by(self, iteration: int, value: Any) -> None:
        """Remember for a while what goes into an iteration on the way to another one."""
        self.near.pop(iteration, None)
        self.near[iteration] = value
        if len(self.near) > self.NEAR:
            del self.near[next(iter(self.near))]

    def remember(self, ordinal: int, frame: Frame) -> None:
        """Keep a child frame for a while: stepping back and forth by one iteration needs no new run."""
        self.frames[ordinal] = frame
        for old in [o for o in self.frames if abs(o - ordinal) > 3]:
            del self.frames[old]
