"""Whole grain: what a value still needs, computed in one piece as XLA would compile it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hlo_tui.errors import EngineError
from hlo_tui.replay import arrays
from hlo_tui.replay.atwork import Doing, Phase
from hlo_tui.replay.blockfusion import WORTH_IT, block_fusion
from hlo_tui.replay.frames import MISSING, Frame
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.program import Computation
from hlo_tui.replay.slices import Slice
from hlo_tui.replay.values import find_unknown

if TYPE_CHECKING:
    from hlo_tui.replay.evaluate import Evaluator


class _Stretch(NamedTuple):
    """A compiled stretch, and the positions of what goes in and comes out."""

    run: Slice
    live_in: list[int]
    live_out: list[int]


class Stretches:
    """Compiled stretches of one program, for an evaluator."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._made: dict[tuple[int, tuple[int, ...]], _Stretch | None] = {}
        self._late: dict[tuple[int, tuple[int, ...]], frozenset[int]] = {}

    def forget(self) -> None:
        """Forget how values are computed; compiled slices stay."""
        self._made.clear()
        self._late.clear()

    def compute(self, frame: Frame, needed: list[int]) -> bool:
        """Compute `needed`, the last of them; False where something in it has to go its own way."""
        computation, env, evaluator = frame.computation, frame.env, self._evaluator
        late = self._put_together(computation, needed)
        for j in needed:
            if env[j] is MISSING and j not in late:
                self._by_itself(frame, j)
        ops = tuple(j for j in needed if env[j] is MISSING and j not in late)
        if ops:
            doing = Doing(
                Phase.STRETCH if len(ops) > 1 else Phase.RUN, computation.name, computation.ops[ops[-1]].name
            )
            stretch = None if doing.key() in evaluator.refused else self._stretch(computation, ops)
            if stretch is None or any(find_unknown(env[o]) for o in stretch.live_in):
                return False
            evaluator.board.mark(doing.record())
            try:
                results = stretch.run([env[o] for o in stretch.live_in])
            except EngineError:
                return False
            for j, result in zip(stretch.live_out, results, strict=True):
                env[j] = result
            evaluator.keep(computation, stretch.live_out)
        for j in sorted(late):
            if env[j] is MISSING:
                env[j] = evaluator.alone(frame, j)
        return True

    def _by_itself(self, frame: Frame, index: int) -> None:
        """Compute what is no part of a piece: what comes in, and what has runs of its own."""
        computation, env, evaluator = frame.computation, frame.env, self._evaluator
        op = computation.ops[index]
        if op.opcode == "parameter":
            env[index] = frame.arguments[op.proto.parameter_number]
        elif op.opcode == "get-tuple-element" and env[op.operands[0]] is not MISSING:
            env[index] = evaluator.alone(frame, index)
        elif evaluator.driven_here(op) or evaluator.program.draws(op) or evaluator.supplies.step(op):
            for operand in op.operands:
                evaluator.value(frame, operand)
            env[index] = evaluator.alone(frame, index)

    def _stretch(self, computation: Computation, ops: tuple[int, ...]) -> _Stretch | None:
        """The piece that computes `ops`; None where something in it has no plain form, or XLA refuses it."""
        key = computation.id, ops
        if key not in self._made:
            inside, users = set(ops), computation.users
            live_in = sorted({o for j in ops for o in computation.ops[j].operands if o not in inside})
            live_out = [j for j in ops if j == ops[-1] or any(user not in inside for user in users[j])]
            try:
                run = self._evaluator.compiled(
                    self._evaluator.cut(computation, list(ops), live_in, live_out),
                    Doing(Phase.STRETCH, computation.name, computation.ops[ops[-1]].name),
                )
                self._made[key] = _Stretch(run, live_in, live_out)
            except (Cannot, EngineError):
                self._made[key] = None
        return self._made[key]

    def _put_together(self, computation: Computation, needed: list[int]) -> frozenset[int]:
        """What is put together after the piece: tuples, and large arrays of which only a block is replaced.

        XLA would have to copy such an array: the one before it is kept.
        """
        key = computation.id, tuple(needed)
        found = self._late.get(key)
        if found is None:
            within, late, users = set(needed), set[int](), computation.users
            for j in reversed(needed):
                if all(user in late for user in users[j] if user in within) and self._is_last(computation, j):
                    late.add(j)
            found = self._late[key] = frozenset(late)
        return found

    def _is_last(self, computation: Computation, index: int) -> bool:
        op = computation.ops[index]
        if op.opcode == "dynamic-update-slice":
            return self._evaluator.hosts and arrays.byte_size(op.proto.shape) >= WORTH_IT
        return op.opcode == "tuple" or (self._evaluator.hosts and block_fusion(op) is not None)
