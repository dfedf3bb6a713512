"""Some iterations of a loop in one piece: a loop of its own that counts them and ends after so many."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tui.errors import EngineError
from hlo_tui.replay.atwork import Doing, Phase
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.program import Op
from hlo_tui.replay.slices import Slice, SliceModule, value_shape
from hlo_tui.replay.values import find_unknown

if TYPE_CHECKING:
    from hlo_tui.replay.evaluate import Evaluator


class Turns:
    """Compiled loops of one program, for an evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._compiled: dict[Op, Slice | None] = {}

    def run(self, op: Op, carry: Any, count: int) -> tuple[Any, int] | None:
        """Run a `while` from an iteration on.

        Args:
            op: the instruction.
            carry: what goes into the iteration.
            count: how many to run at most.

        Returns:
            What goes into the next one, and how many were run: fewer than asked for where the loop is over. None
            where something in it has no plain form, or XLA refuses it.
        """
        if op not in self._compiled:
            self._compiled[op] = self._compile(op)
        compiled = self._compiled[op]
        if compiled is None or find_unknown(carry) is not None:
            return None
        self._evaluator.board.mark(Doing(Phase.RUN, op.computation.name, op.name).record())
        try:
            after, done = compiled([carry, np.int64(0), np.int64(count)])
        except EngineError:
            return None
        self._evaluator.keep(op.computation, [op.index])
        parts = getattr(done, "parts", (done,))
        return after, int(np.asarray(parts[0]))

    def _compile(self, op: Op) -> Slice | None:
        evaluator = self._evaluator
        module = SliceModule(evaluator.program, evaluator.topology, evaluator.backend.replicas)
        try:
            text = module.turns(op)
            evaluator.board.mark(Doing(Phase.COMPILE, op.computation.name, op.name).record())
            compiled = evaluator.cache.get(text)
        except (Cannot, EngineError):
            return None
        carry, count = value_shape(op), SliceModule.COUNT
        return Slice(compiled, [carry, count, count], [carry, count], module.omitted)
