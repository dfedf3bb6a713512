"""Computing values of frames on demand, in one of three grains, with XLA as the evaluator."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import numpy as np

from hlo_tui.errors import EngineError
from hlo_tui.replay.collectives import Topology
from hlo_tui.replay.frames import MISSING, Call, Frame, Loop
from hlo_tui.replay.hostops import host_function
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.program import CONTROL_FLOW, Computation, Op, Program, trip_count
from hlo_tui.replay.slices import Slice, SliceCache, SliceModule, value_shape
from hlo_tui.replay.values import Unknown, each_replica, find_unknown
from hlo_tui.replay.xla import Backend


class Grain(StrEnum):
    """How much XLA compiles at a time."""

    WHOLE = "whole"
    UNIT = "unit"
    BODY = "body"


class Interrupted(Exception):
    """The person asked to stop; what was computed so far stays."""


Step = Callable[[Frame], Any]

# A loop without a stop inside is driven from outside for at most this many instructions, then compiled for the rest.
DRIVEN = 200_000


class Evaluator:
    """Values of one program's frames."""

    def __init__(
        self,
        program: Program,
        backend: Backend,
        cache: SliceCache,
        topology: Topology = Topology(),
        grain: Grain = Grain.UNIT,
        refused: dict[tuple[str, str], str] | None = None,
    ) -> None:
        """Make an evaluator.

        Args:
            program: the module.
            backend: XLA's client.
            cache: compiled slices.
            topology: how many devices the module was compiled for.
            grain: how much is compiled at a time.
            refused: (computation, instruction) -> why it must not be run (it ended the process before).
        """
        self.program = program
        self.backend = backend
        self.cache = cache
        self.topology = topology
        self.grain = grain
        self.refused = refused or {}
        self.holds: Callable[[Computation], bool] = lambda _: False
        self.note: Callable[[str], None] = lambda _: None
        self.interrupted = False
        self.unknown: dict[tuple[str, str], str] = {}
        self.driven = DRIVEN
        self._steps: dict[int, list[Step | None]] = {}
        self._host_moves = backend.devices[0].platform == "cpu"

    # Values.

    def value(self, frame: Frame, index: int) -> Any:
        """The value of an instruction in a frame, computed now where it is not there yet.

        Raises:
            Interrupted: the person asked to stop.
        """
        env = frame.env
        if env[index] is not MISSING:
            return env[index]
        needed = self._missing(frame, index)
        if self.grain is Grain.WHOLE and self._stretch(frame, needed):
            return env[index]
        steps = self._steps_of(frame.computation)
        for j in needed:
            if env[j] is MISSING:
                if self.interrupted:
                    raise Interrupted
                step = steps[j]
                if step is None:
                    step = steps[j] = self._make_step(frame.computation, j)
                env[j] = step(frame)
        return env[index]

    def root(self, frame: Frame) -> Any:
        """The value of a frame's root."""
        return self.value(frame, frame.computation.root)

    def _missing(self, frame: Frame, index: int) -> list[int]:
        env = frame.env
        cone = frame.computation.cone(index)
        if all(env[j] is MISSING for j in cone):
            return cone
        ops = frame.computation.ops
        needed, stack = {index}, [index]
        while stack:
            for operand in ops[stack.pop()].operands:
                if env[operand] is MISSING and operand not in needed:
                    needed.add(operand)
                    stack.append(operand)
        return sorted(needed)

    def _steps_of(self, computation: Computation) -> list[Step | None]:
        steps = self._steps.get(computation.id)
        if steps is None:
            steps = self._steps[computation.id] = [None] * len(computation)
        return steps

    def regrain(self, grain: Grain) -> None:
        """Change the grain; frames keep what they have."""
        self.grain = grain
        self._steps.clear()

    # One instruction.

    def _make_step(self, computation: Computation, index: int) -> Step:
        op = computation.ops[index]
        if op.opcode == "parameter":
            number = op.proto.parameter_number
            return lambda frame: frame.arguments[number]
        if (computation.name, op.name) in self.refused:
            return self._unknown_step(computation, op, self.refused[computation.name, op.name])
        if op.opcode == "tuple":
            parts = op.operands
            return lambda frame: tuple(frame.env[o] for o in parts)
        if op.opcode == "get-tuple-element":
            return self._element_step(op)
        if op.opcode in _PASS:
            source = op.operands[0] if op.operands else -1
            return lambda frame: frame.env[source] if source >= 0 else None
        if op.enterable:
            return lambda frame: self._enterable_value(frame, index)
        return self._computed_step(computation, op)

    def _element_step(self, op: Op) -> Step:
        source, position = op.operands[0], op.proto.tuple_index

        def element(frame: Frame) -> Any:
            whole = frame.env[source]
            return whole if isinstance(whole, Unknown) else whole[position]

        return element

    def _computed_step(self, computation: Computation, op: Op) -> Step:
        shapes = [value_shape(computation.ops[o]) for o in op.operands]
        host = host_function(op, shapes) if self._host_moves else None
        if host is not None:
            return self._host_step(op, host)
        try:
            compiled = self._compile(computation, [op.index], sorted(set(op.operands)), [op.index])
        except (Cannot, EngineError) as error:
            return self._unknown_step(computation, op, _reason(error))
        return self._compiled_step(computation, op, compiled)

    def _host_step(self, op: Op, host: Callable[..., Any]) -> Step:
        operands = op.operands
        if not operands:
            return lambda _: host()

        def step(frame: Frame) -> Any:
            values = [frame.env[o] for o in operands]
            for value in values:
                if isinstance(value, Unknown):
                    return value
            return each_replica(host, values)

        return step

    def _compiled_step(self, computation: Computation, op: Op, compiled: Slice) -> Step:
        live_in = sorted(set(op.operands))
        put = self.backend.put

        def step(frame: Frame) -> Any:
            env = frame.env
            values = []
            for o in live_in:
                value = env[o]
                if isinstance(value, np.ndarray):
                    # The device's form is kept, so that the next user of the value does not move it again.
                    value = env[o] = put(value)
                elif isinstance(value, Unknown):
                    return value
                elif isinstance(value, tuple):
                    found = find_unknown(value)
                    if found is not None:
                        return found
                values.append(value)
            try:
                return compiled(values)[0]
            except EngineError as error:
                return self._became_unknown(computation, op, _reason(error))

        return step

    def _unknown_step(self, computation: Computation, op: Op, reason: str) -> Step:
        return lambda _: self._became_unknown(computation, op, reason)

    def _became_unknown(self, computation: Computation, op: Op, reason: str) -> Unknown:
        self.unknown[computation.name, op.name] = reason
        return Unknown(f"{op.name}: {reason}", op.name)

    def _compile(self, computation: Computation, ops: list[int], live_in: list[int], live_out: list[int]) -> Slice:
        if len(ops) > 1:
            self.note(f"compiling {len(ops)} instructions of {computation.name}")
        else:
            self.note(f"compiling {computation.ops[ops[0]].name} in {computation.name}")
        module = SliceModule(self.program, self.topology, self.backend.replicas)
        text = module.cut(computation, ops, live_in, live_out)
        ins = [value_shape(computation.ops[i]) for i in live_in]
        outs = [value_shape(computation.ops[i]) for i in live_out]
        return Slice(self.cache.get(text), ins, outs)

    # A stretch in one piece.

    def _stretch(self, frame: Frame, needed: list[int]) -> bool:
        """Compute `needed` as one slice (whole grain); False where something in it has to go its own way."""
        computation, env = frame.computation, frame.env
        for j in needed:
            op = computation.ops[j]
            if op.opcode == "parameter":
                env[j] = frame.arguments[op.proto.parameter_number]
            elif self._driven_here(frame, j):
                for operand in op.operands:
                    self.value(frame, operand)
                env[j] = self._enterable_value(frame, j)
        ops = [j for j in needed if env[j] is MISSING]
        if not ops:
            return True
        inside = set(ops)
        live_in = sorted({o for j in ops for o in computation.ops[j].operands if o not in inside})
        users = computation.users
        target = needed[-1]
        live_out = [j for j in ops if j == target or any(user not in inside for user in users[j])]
        if any(find_unknown(env[o]) for o in live_in):
            return False
        try:
            results = self._compile(computation, ops, live_in, live_out)([env[o] for o in live_in])
        except (Cannot, EngineError):
            return False
        for j, result in zip(live_out, results, strict=True):
            env[j] = result
        return True

    # Instructions with computations of their own.

    def _driven_here(self, frame: Frame, index: int) -> bool:
        """Whether an instruction's value comes from its child frames rather than from one compiled slice."""
        op = frame.computation.ops[index]
        if not op.enterable:
            return False
        if self.grain is Grain.BODY:
            return True
        if op.opcode not in CONTROL_FLOW:
            return False
        if self.grain is Grain.UNIT:
            return True
        return any(self.holds(self.program.computation(c)) for c in op.called)

    def _enterable_value(self, frame: Frame, index: int) -> Any:
        op = frame.computation.ops[index]
        if not self._driven_here(frame, index):
            return self._computed_value(frame, index)
        if op.opcode == "while":
            return self._loop_value(frame, index)
        child = self.first_child(frame, index)
        return self._operand_unknown(frame, op) if child is None else self.root(child)

    def _computed_value(self, frame: Frame, index: int) -> Any:
        return self._computed_step(frame.computation, frame.computation.ops[index])(frame)

    def _operand_unknown(self, frame: Frame, op: Op) -> Unknown:
        for operand in op.operands:
            found = find_unknown(frame.env[operand])
            if found is not None:
                return found
        return self._became_unknown(frame.computation, op, "which branch is taken is not known")

    def first_child(self, frame: Frame, index: int) -> Frame | None:
        """The first run of what an instruction calls; None where that depends on an unknown value."""
        return self.child(frame, index, 0)

    def child(self, frame: Frame, index: int, ordinal: int) -> Frame | None:
        """The run number `ordinal` of what an instruction calls, in order of time; None where there is none."""
        op = frame.computation.ops[index]
        if op.opcode == "while":
            return self._loop_child(frame, index, ordinal)
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

    def _call_child(self, frame: Frame, index: int, op: Op) -> Frame | None:
        arguments = [self.value(frame, o) for o in op.operands]
        called = op.called[0]
        if op.opcode == "conditional":
            branch = self._branch(op, arguments[0])
            if branch is None:
                return None
            called, arguments = op.called[branch], [arguments[branch + 1]]
        return Frame(self.program.computation(called), arguments, frame, index)

    def _branch(self, op: Op, selector: Any) -> int | None:
        if isinstance(selector, Unknown):
            return None
        chosen = scalar(selector)
        if isinstance(chosen, bool | np.bool_):
            return 0 if chosen else 1
        return int(chosen) if 0 <= int(chosen) < len(op.called) else len(op.called) - 1

    # Loops.

    def loop_length(self, frame: Frame, index: int) -> int:
        """How many times a loop's body runs; it is driven to its end to find out."""
        loop = self.loop(frame, index)
        while self._condition(frame, index, loop.reached):
            if self.interrupted:
                raise Interrupted
        return loop.reached

    def loop(self, frame: Frame, index: int) -> Loop:
        """The runs of a while instruction."""
        found = frame.calls.get(index)
        if found is None:
            operand = frame.computation.ops[index].operands[0]
            found = frame.calls[index] = Loop(self.value(frame, operand))
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
        called = self.program.computation(op.called[0 if is_body else 1])
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
        answer = self.root(child)
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
        k = loop.nearest(iteration)
        value = loop.carries[k]
        while k < iteration:
            body = loop.frames.get(2 * k + 1)
            if body is None:
                body = Frame(self.program.computation(op.called[0]), [value], frame, index, 2 * k + 1, k)
                loop.remember(2 * k + 1, body)
            value = self.root(body)
            k += 1
            loop.keep(k, value)
        return value

    def _loop_value(self, frame: Frame, index: int) -> Any:
        op = frame.computation.ops[index]
        loop = self.loop(frame, index)
        called = [self.program.computation(c) for c in op.called]
        endless = self.grain is Grain.BODY or any(self.holds(computation) for computation in called)
        limit = None if endless else self.driven // max(sum(map(len, called)), 1)
        first = loop.reached
        while self._condition(frame, index, loop.reached):
            if loop.reached % 256 == 0:
                self.note(f"{op.name} in {frame.computation.name}: iteration {loop.reached} of {trip_count(op) or 'unknown'}")
            if limit is not None and loop.reached - first > limit:
                return self._rest_compiled(frame, op, self._carry(frame, index, loop.reached))
        if loop.unknown is not None:
            return Unknown(loop.unknown.reason, loop.unknown.origin)
        assert loop.length is not None
        return self._carry(frame, index, loop.length)

    def _rest_compiled(self, frame: Frame, op: Op, carry: Any) -> Any:
        self.note(f"{op.name} in {frame.computation.name}: the rest of the loop runs compiled")
        compiled = self._compile(frame.computation, [op.index], list(op.operands), [op.index])
        return compiled([carry])[0]


_PASS = frozenset({
    "after-all", "add-dependency", "domain", "opt-barrier", "copy-start", "copy-done", "async-update", "async-done",
    "all-reduce-done", "all-gather-done", "collective-permute-done",
})  # fmt: skip


def scalar(value: Any) -> Any:
    """A one-element value as a numpy scalar; of a replicated one the first part (control flow must be uniform)."""
    parts = getattr(value, "parts", None)
    return np.asarray(value if parts is None else parts[0]).reshape(-1)[0]


def _reason(error: Exception) -> str:
    if isinstance(error, EngineError):
        return f"{error.title}: {error.message.splitlines()[0]}" if error.message else error.title
    return str(error)
