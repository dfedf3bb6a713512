"""The runs of what an instruction calls: child frames of calls, conditionals and loops."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tui.replay.applications import sample
from hlo_tui.replay.frames import Call, Frame, Loop
from hlo_tui.replay.grain import Grain, Interrupted
from hlo_tui.replay.loops import never_ends
from hlo_tui.replay.program import APPLIED, Op
from hlo_tui.replay.turns import Turns
from hlo_tui.replay.values import Unknown, find_unknown

if TYPE_CHECKING:
    from hlo_tui.replay.evaluate import Evaluator

# A loop that is run in pieces listens between them; the first is this many iterations, and later ones are longer until
# they take this long.
_FIRST_PIECE = 1 << 8
_PIECE_SECONDS = 0.05
# In so many parts it is run to one iteration, so that from there it is not far back.
_PARTS = 8
_NEVER_ENDS = "the loop never ends: its condition depends on nothing that its body changes"


class Runs:
    """Child frames, for an evaluator that computes what is in them."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator
        self._computation = evaluator.program.computation
        self._never: dict[Op, bool] = {}
        self.turns = Turns(evaluator)

    def value(self, frame: Frame, index: int) -> Any:
        """The value of an instruction, from the runs of what it calls."""
        op = frame.computation.ops[index]
        if op.opcode == "while":
            return self._loop_value(frame, index)
        child = self.first_child(frame, index)
        return self._operand_unknown(frame, op) if child is None else self._evaluator.root(child)

    def _operand_unknown(self, frame: Frame, op: Op) -> Unknown:
        for operand in op.operands:
            found = find_unknown(frame.env[operand])
            if found is not None:
                return found
        return self._evaluator.became_unknown(frame.computation, op, "which branch is taken is not known")

    def first_child(self, frame: Frame, index: int) -> Frame | None:
        """The first run of what an instruction calls; None where that depends on an unknown value."""
        return self.child(frame, index, 0)

    def child(self, frame: Frame, index: int, ordinal: int) -> Frame | None:
        """Run number `ordinal` of what an instruction calls, in order of time; None where there is none."""
        op = frame.computation.ops[index]
        if op.opcode == "while":
            return self._loop_child(frame, index, ordinal)
        if op.opcode in APPLIED:
            return self._application(frame, op, ordinal)
        if ordinal:
            return None
        call = frame.calls.get(index)
        if call is None:
            made = self._call_child(frame, index, op)
            if made is None:
                return None
            call = frame.calls[index] = Call(made)
        assert isinstance(call, Call)
        return call.child

    def _application(self, frame: Frame, op: Op, ordinal: int) -> Frame | None:
        if ordinal >= len(op.called):
            return None
        arguments = sample(op, ordinal, [self._evaluator.value(frame, o) for o in op.operands])
        called = self._computation(op.called[ordinal])
        return None if arguments is None else Frame(called, arguments, frame, op.index, ordinal)

    def _call_child(self, frame: Frame, index: int, op: Op) -> Frame | None:
        arguments = [self._evaluator.value(frame, o) for o in op.operands]
        called = op.called[0]
        if op.opcode == "conditional":
            branch = self.branch(op, arguments[0])
            if branch is None:
                return None
            called, arguments = op.called[branch], [arguments[branch + 1]]
        return Frame(self._computation(called), arguments, frame, index)

    def branch(self, op: Op, selector: Any) -> int | None:
        """Which branch of a conditional is taken for a value of its first operand; None where that is unknown."""
        if isinstance(selector, Unknown):
            return None
        chosen = scalar(selector)
        if isinstance(chosen, bool | np.bool_):
            return 0 if chosen else 1
        return int(chosen) if 0 <= int(chosen) < len(op.called) else len(op.called) - 1

    # Loops.

    def loop_length(self, frame: Frame, index: int) -> int:
        """How many times a loop's body runs; it is driven to its end to find out.

        Of one that never ends: how many times it is known to.
        """
        loop, op = self.loop(frame, index), frame.computation.ops[index]
        never = self._never_ends(op)
        left = self._driven_at_most(op)
        while self._condition(frame, index, loop.reached) and not never:
            if self._evaluator.interrupted:
                raise Interrupted
            if self._evaluator.steps > left and not self._run_rest(frame, index):
                left = math.inf
        return loop.reached

    def _never_ends(self, op: Op) -> bool:
        known = self._never.get(op)
        if known is None:
            known = self._never[op] = never_ends(op)
        return known

    def loop(self, frame: Frame, index: int) -> Loop:
        """The runs of a while instruction."""
        found = frame.calls.get(index)
        if found is None:
            operand = frame.computation.ops[index].operands[0]
            found = frame.calls[index] = Loop(self._evaluator.value(frame, operand))
        assert isinstance(found, Loop)
        return found

    def _loop_child(self, frame: Frame, index: int, ordinal: int) -> Frame | None:
        loop = self.loop(frame, index)
        known = loop.frames.get(ordinal)
        if known is not None:
            return known
        iteration, is_body = divmod(ordinal, 2)
        if not self._reaches(frame, index, iteration, is_body == 1):
            return None
        op = frame.computation.ops[index]
        # HLO lists a while's computations as body, condition.
        called = self._computation(op.called[0 if is_body else 1])
        child = Frame(called, [self._carry(frame, index, iteration)], frame, index, ordinal, iteration)
        loop.remember(ordinal, child)
        return child

    def _reaches(self, frame: Frame, index: int, iteration: int, into_body: bool) -> bool:
        loop = self.loop(frame, index)
        for k in range(loop.reached, iteration + (1 if into_body else 0)):
            if not self._condition(frame, index, k):
                return False
        return loop.length is None or iteration < loop.length or (iteration == loop.length and not into_body)

    def _condition(self, frame: Frame, index: int, iteration: int) -> bool:
        loop = self.loop(frame, index)
        if iteration < loop.reached:
            return True
        if loop.length is not None:
            return False
        child = self._loop_child(frame, index, 2 * iteration)
        assert child is not None
        answer = self._evaluator.root(child)
        if isinstance(answer, Unknown):
            loop.length = iteration
            loop.unknown = answer
        elif scalar(answer):
            loop.reached = iteration + 1
            return True
        else:
            loop.length = iteration
        return False

    def _carry(self, frame: Frame, index: int, iteration: int) -> Any:
        loop = self.loop(frame, index)
        op = frame.computation.ops[index]
        k, value = loop.nearest(iteration)
        way = iteration - k
        in_one_piece = loop.compiled is not None and k >= loop.compiled and way > 1
        every = max(1, way // (_PARTS if in_one_piece else loop.NEAR))
        while k < iteration:
            done = self.turns.run(op, value, min(every, iteration - k)) if in_one_piece else None
            if done is None:
                body = loop.frames.get(2 * k + 1)
                if body is None:
                    body = Frame(self._computation(op.called[0]), [value], frame, index, 2 * k + 1, k)
                    loop.remember(2 * k + 1, body)
                done = self._evaluator.root(body), 1
            value = done[0]
            k += done[1]
            loop.keep(k, value)
            if way > 1 and (iteration - k) % every == 0:
                loop.pass_by(k, value)
        return value

    def _loop_value(self, frame: Frame, index: int) -> Any:
        op = frame.computation.ops[index]
        loop = self.loop(frame, index)
        never = self._never_ends(op)
        left = self._driven_at_most(op)
        while self._condition(frame, index, loop.reached):
            if self._evaluator.interrupted:
                raise Interrupted
            if never:
                return self._evaluator.became_unknown(frame.computation, op, _NEVER_ENDS)
            if self._evaluator.steps > left and not self._run_rest(frame, index):
                left = math.inf
        if loop.unknown is not None:
            return self._unchanging(op, self._carry(frame, index, loop.reached), loop.unknown)
        assert loop.length is not None
        return self._carry(frame, index, loop.length)

    def _driven_at_most(self, op: Op) -> float:
        """The count of steps at which what is left of a loop is run in one piece."""
        evaluator = self._evaluator
        called = [self._computation(c) for c in op.called]
        apart = evaluator.changes.computations | evaluator.supplies.computations
        if evaluator.grain is Grain.BODY or evaluator.program.draws(op):
            return math.inf
        if any(evaluator.holds(one) or one.id in apart for one in called):
            return math.inf
        return evaluator.steps + evaluator.driven

    def _run_rest(self, frame: Frame, index: int) -> bool:
        """Run a loop to its end in a few pieces; False where something in it has to go its own way."""
        op, loop = frame.computation.ops[index], self.loop(frame, index)
        piece = _FIRST_PIECE
        while loop.length is None:
            if self._evaluator.interrupted:
                raise Interrupted
            start, began = loop.reached, time.monotonic()
            # Pieces end where values are kept longest.
            wanted = piece - start % piece
            done = self.turns.run(op, self._carry(frame, index, start), wanted)
            if done is None:
                return False
            if loop.compiled is None:
                loop.compiled = start
            loop.reached = start + done[1]
            loop.keep(loop.reached, done[0])
            if done[1] < wanted:
                loop.length = loop.reached
            if time.monotonic() - began < _PIECE_SECONDS:
                piece *= 2
        return True

    def _unchanging(self, op: Op, carry: Any, unknown: Unknown) -> Any:
        """The value of a loop of unknown length: known where the body hands on what it is given."""
        body = self._computation(op.called[0])
        root = body.ops[body.root]
        if root.opcode != "tuple" or not isinstance(carry, tuple):
            return unknown
        parts = [body.ops[operand] for operand in root.operands]
        return tuple(
            value if _hands_on(part, number) else unknown
            for number, (part, value) in enumerate(zip(parts, carry, strict=True))
        )


def _hands_on(op: Op, number: int) -> bool:
    """Whether an instruction is part `number` of its computation's one parameter."""
    if op.opcode != "get-tuple-element" or op.proto.tuple_index != number:
        return False
    return op.computation.ops[op.operands[0]].opcode == "parameter"


def scalar(value: Any) -> Any:
    """A one-element value as a numpy scalar; of a replicated one the first part (control flow must be
    uniform).
    """
    parts = getattr(value, "parts", None)
    return np.asarray(value if parts is None else parts[0]).reshape(-1)[0]
