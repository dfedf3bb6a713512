"""Computing values of frames on demand, in one of three grains, with XLA as the evaluator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from hlo_tui.errors import EngineError
from hlo_tui.replay.changes import NO_CHANGES
from hlo_tui.replay.collectives import ONE_DEVICE, Topology
from hlo_tui.replay.frames import MISSING, Frame
from hlo_tui.replay.grain import Grain, Interrupted
from hlo_tui.replay.hostops import host_function
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.program import CONTROL_FLOW, Computation, Op, Program
from hlo_tui.replay.runs import Runs
from hlo_tui.replay.slices import Slice, SliceCache, SliceModule, value_shape
from hlo_tui.replay.supplies import NotGiven, Supplies
from hlo_tui.replay.values import Unknown, each_replica, find_unknown
from hlo_tui.replay.xla import Backend

Step = Callable[[Frame], Any]

# A loop without a stop inside is driven from outside for at most this many instructions, then compiled for
# the rest.
DRIVEN = 200_000


class Evaluator:
    """Values of one program's frames."""

    def __init__(
        self,
        program: Program,
        backend: Backend,
        cache: SliceCache,
        topology: Topology = ONE_DEVICE,
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
        self.note: Callable[..., None] = lambda _text, _computation="", _instruction="": None
        self.interrupted = False
        self.unknown: dict[tuple[str, str], str] = {}
        self.driven = DRIVEN
        self.changes = NO_CHANGES
        self.supplies = Supplies(program)
        self.steps = 0
        self._steps: dict[int, list[Step | None]] = {}
        self._units: dict[tuple[int, int], Step] = {}
        self.runs = Runs(self)
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
        self.steps += len(needed)
        if frame.computation.id in self.changes.computations:
            self.changes.apply(frame, needed)
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
        self.forget()

    def supply(self, supplies: Supplies) -> None:
        """Take what the person gives in the place of what cannot be computed; frames keep what they have."""
        self.supplies = supplies
        self.unknown.clear()
        self.forget()

    def forget(self) -> None:
        """Forget how values are computed; compiled slices stay."""
        self._steps.clear()
        self._units.clear()

    # One instruction.

    def _make_step(self, computation: Computation, index: int) -> Step:
        op = computation.ops[index]
        if op.opcode == "parameter":
            number = op.proto.parameter_number
            return lambda frame: frame.arguments[number]
        given = self.supplies.step(op)
        if given is not None:
            return lambda frame: self._given_value(frame, op, given)
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

    def _given_value(self, frame: Frame, op: Op, given: Step) -> Any:
        try:
            return given(frame)
        except NotGiven as error:
            return self.became_unknown(frame.computation, op, str(error))

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
            if op.enterable:
                # What cannot be computed is somewhere inside: the rest of it can.
                return lambda frame: self.runs.value(frame, op.index)
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
                return self.became_unknown(computation, op, _reason(error))

        return step

    def _unknown_step(self, computation: Computation, op: Op, reason: str) -> Step:
        return lambda _: self.became_unknown(computation, op, reason)

    def became_unknown(self, computation: Computation, op: Op, reason: str) -> Unknown:
        self.unknown[computation.name, op.name] = reason
        return Unknown(f"{op.name}: {reason}", op.name)

    def _compile(
        self, computation: Computation, ops: list[int], live_in: list[int], live_out: list[int]
    ) -> Slice:
        if len(ops) > 1:
            self.note(f"compiling {len(ops)} instructions of {computation.name}", computation.name)
        else:
            name = computation.ops[ops[0]].name
            self.note(f"compiling {name} in {computation.name}", computation.name, name)
        module = SliceModule(self.program, self.topology, self.backend.replicas)
        text = module.cut(computation, ops, live_in, live_out)
        ins = [value_shape(computation.ops[i]) for i in live_in]
        outs = [value_shape(computation.ops[i]) for i in live_out]
        return Slice(self.cache.get(text), ins, outs, module.omitted)

    # A stretch in one piece.

    def _stretch(self, frame: Frame, needed: list[int]) -> bool:
        """Compute `needed` as one slice (whole grain); False where something in it has to go its own way."""
        computation, env = frame.computation, frame.env
        for j in needed:
            op = computation.ops[j]
            if env[j] is not MISSING:
                continue
            if op.opcode == "parameter":
                env[j] = frame.arguments[op.proto.parameter_number]
            elif self._driven_here(frame, j) or self.supplies.step(op) is not None:
                for operand in op.operands:
                    self.value(frame, operand)
                env[j] = self._make_step(computation, j)(frame)
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
        apart = self.changes.computations | self.supplies.computations
        if self.grain is Grain.BODY or any(c in apart for c in op.called):
            return True
        if op.opcode not in CONTROL_FLOW:
            return False
        if self.grain is Grain.UNIT:
            return True
        return any(self.holds(self.program.computation(c)) for c in op.called)

    def _enterable_value(self, frame: Frame, index: int) -> Any:
        operands = frame.computation.ops[index].operands
        if self._driven_here(frame, index) or any(find_unknown(frame.env[o]) for o in operands):
            return self.runs.value(frame, index)
        return self._computed_value(frame, index)

    def _computed_value(self, frame: Frame, index: int) -> Any:
        place = (frame.computation.id, index)
        step = self._units.get(place)
        if step is None:
            op = frame.computation.ops[index]
            step = self._units[place] = self._computed_step(frame.computation, op)
        return step(frame)

    def rest_compiled(self, frame: Frame, op: Op, carry: Any) -> Any:
        """The value of a loop that is compiled in one piece from the iteration on into which `carry` goes.

        Raises:
            EngineError: XLA refuses it.
        """
        self.note(f"{op.name} in {frame.computation.name}: the rest of the loop runs compiled")
        compiled = self._compile(frame.computation, [op.index], list(op.operands), [op.index])
        return compiled([carry])[0]


_PASS = frozenset(
    {
        "after-all", "add-dependency", "domain", "opt-barrier", "copy-start", "copy-done",
        "async-update", "async-done", "all-reduce-done", "all-gather-done", "collective-permute-done",
    }
)  # fmt: skip


def _reason(error: Exception) -> str:
    if isinstance(error, EngineError):
        return f"{error.title}: {error.message.splitlines()[0]}" if error.message else error.title
    return str(error)
