"""Compiling what a computation will need before it is run, several slices at a time."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hlo_tui.replay.atwork import NOTHING, SLOTS, Doing, Phase
from hlo_tui.replay.grain import Interrupted
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.program import Computation, Op
from hlo_tui.replay.slices import Piece

if TYPE_CHECKING:
    from hlo_tui.replay.evaluate import Evaluator


class Ahead:
    """Finds the slices that a value will need and compiles them; XLA lets other threads run meanwhile.

    Attributes:
        total: how many are being compiled now; 0 between times.
        done: how many of them are.
    """

    def __init__(self, evaluator: Evaluator, threads: int) -> None:
        self.total = 0
        self.done = 0
        self._evaluator = evaluator
        self._seen: set[tuple[int, int]] = set()
        self._pieces: dict[tuple[int, int], Piece] = {}
        slots = itertools.count(1)
        self._pool: ThreadPoolExecutor | None = None
        if threads > 1:
            # Each thread says what it does in a place of its own: a compile can end the process.
            self._pool = ThreadPoolExecutor(
                min(threads, SLOTS - 1), initializer=lambda: evaluator.board.take(next(slots))
            )

    def forget(self) -> None:
        """Look at everything again: in another grain other slices are needed."""
        self._seen.clear()
        self._pieces.clear()

    def taken(self, computation: Computation, op: Op) -> Piece | None:
        """The piece of an instruction, where it has been cut already; it is not kept any longer."""
        return self._pieces.pop((computation.id, op.index), None)

    def prepare(self, computation: Computation, needed: list[int]) -> None:
        """Compile what the instructions at `needed`, and what they call, still need.

        Raises:
            Interrupted: the person asked to stop.
        """
        key = (computation.id, needed[-1])
        if key in self._seen:
            return
        self._seen.add(key)
        todo: dict[bytes, bytes] = {}
        for one, op in self._sites(computation, needed):
            if self._evaluator.interrupted:
                raise Interrupted
            try:
                piece = self._evaluator.piece(one, op)
            except Cannot:
                continue
            self._pieces[one.id, op.index] = piece
            if piece.module not in self._evaluator.cache:
                todo.setdefault(piece.module, Doing(Phase.COMPILE, one.name, op.name).record())
        if len(todo) > 1:
            self._compile(todo)

    def _sites(self, computation: Computation, needed: list[int]) -> Iterator[tuple[Computation, Op]]:
        """The instructions that will be compiled: of a conditional only itself, since one branch is taken."""
        evaluator = self._evaluator
        stack = [(computation, needed)]
        while stack:
            one, indices = stack.pop()
            for index in indices:
                op = one.ops[index]
                if evaluator.made(one, index):
                    continue
                if evaluator.compiles(one, op):
                    yield one, op
                elif op.opcode != "conditional" and evaluator.driven_here(op):
                    for called in op.called:
                        inner = evaluator.program.computation(called)
                        if (called, inner.root) not in self._seen:
                            self._seen.add((called, inner.root))
                            stack.append((inner, inner.cone(inner.root)))

    def _compile(self, todo: dict[bytes, bytes]) -> None:
        self.done, self.total = 0, len(todo)
        # What this thread did last is over: where the process ends now, it was not that.
        self._evaluator.board.mark(NOTHING)
        try:
            if self._pool is None:
                results: Iterable[None] = map(self._one, todo.keys(), todo.values())
            else:
                results = self._pool.map(self._one, todo.keys(), todo.values())
            for _ in results:
                self.done += 1
        finally:
            self.total = 0
        if self._evaluator.interrupted:
            raise Interrupted

    def _one(self, module: bytes, record: bytes) -> None:
        if not self._evaluator.interrupted:
            self._evaluator.board.mark(record)
            self._evaluator.cache.add(module)
            self._evaluator.board.mark(NOTHING)
