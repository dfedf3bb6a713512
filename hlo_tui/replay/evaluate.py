"""Computing values of frames on demand, in one of three grains, with XLA as the evaluator."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from hlo_tui.errors import EngineError
from hlo_tui.replay.ahead import Ahead
from hlo_tui.replay.atwork import Board, Doing, Phase
from hlo_tui.replay.changes import NO_CHANGES, Place
from hlo_tui.replay.collectives import ONE_DEVICE, Topology
from hlo_tui.replay.frames import MISSING, Frame
from hlo_tui.replay.grain import Grain, Interrupted
from hlo_tui.replay.hostops import HOSTED, host_function
from hlo_tui.replay.keeping import Active, Keeper
from hlo_tui.replay.limits import value_bytes
from hlo_tui.replay.loops import holding, never_ends
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.program import CONTROL_FLOW, Computation, Op, Program
from hlo_tui.replay.reasons import reason_of
from hlo_tui.replay.runs import Runs
from hlo_tui.replay.slices import Piece, Slice, SliceCache, SliceModule, value_shape, with_tokens
from hlo_tui.replay.supplies import NotGiven, Supplies
from hlo_tui.replay.values import Unknown, compare, each_replica, find_unknown
from hlo_tui.replay.xla import Backend

Step = Callable[[Frame], Any]

# A loop without a stop inside is driven from outside for at most this many instructions, then compiled for
# the rest: that costs about as much as so many steps.
DRIVEN = 10_000


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
        self.board = Board()
        self.interrupted = False
        self.unknown: dict[tuple[str, str], str] = {}
        self.driven = DRIVEN
        self.changes = NO_CHANGES
        self.supplies = Supplies(program, devices=topology.devices)
        self.steps = 0
        self._steps: dict[int, list[Step | None]] = {}
        self._sizes: dict[int, list[int]] = {}
        self.drawn: dict[Place, tuple[tuple[Any, ...], Any]] = {}
        self.runs = Runs(self)
        self.ahead = Ahead(self, 1)
        self.keeper = Keeper(self.sizes)
        self.keeper.fixed = lambda: (given for pair in self.drawn.values() for given in pair)
        self._kept = 0
        self._room = 0
        self._host_moves = backend.devices[0].platform == "cpu"

    def at_work(self, board: Board, threads: int) -> None:
        """Say on a board what is being done, and compile with so many threads; before anything is computed."""
        self.board = board
        self.ahead = Ahead(self, threads)

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
        active = Active(frame, needed)
        self.keeper.active.append(active)
        try:
            if self.grain is not Grain.WHOLE or not self._stretch(frame, needed):
                self.ahead.prepare(frame.computation, needed)
                self._step_through(active)
        finally:
            self.keeper.active.pop()
        return env[index]

    def _step_through(self, active: Active) -> None:
        frame, env = active.frame, active.frame.env
        steps, sizes = self._steps_of(frame.computation), self.sizes(frame.computation)
        for position, j in enumerate(active.needed):
            if env[j] is MISSING:
                if self.interrupted:
                    raise Interrupted
                active.position = position
                step = steps[j]
                if step is None:
                    step = steps[j] = self._make_step(frame.computation, j)
                env[j] = step(frame)
                self._kept += sizes[j]
                if self._kept > self._room:
                    self._sweep()

    def _sweep(self) -> None:
        """Forget values where more may be kept than the budget allows; the sum of the sizes is only a bound."""
        self._kept = self.keeper.sweep()
        self._room = max(self.keeper.budget, self._kept + self._kept // 4)

    def sizes(self, computation: Computation) -> list[int]:
        """The bytes of each instruction's value, on all devices."""
        sizes = self._sizes.get(computation.id)
        if sizes is None:
            devices = self.backend.replicas
            sizes = self._sizes[computation.id] = [value_bytes(op) * devices for op in computation.ops]
        return sizes

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
        self.ahead.forget()

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
            return self._enterable_step(computation, op)
        return self._computed_step(computation, op)

    def _given_value(self, frame: Frame, op: Op, given: Step) -> Any:
        try:
            return given(frame)
        except NotGiven as error:
            return self.became_unknown(frame.computation, op, str(error))

    def made(self, computation: Computation, index: int) -> bool:
        """Whether an instruction was computed before, so that all that it needs is compiled."""
        return self._steps_of(computation)[index] is not None

    def compiles(self, computation: Computation, op: Op) -> bool:
        """Whether an instruction's own value comes from a compiled slice."""
        if op.opcode in _NOT_COMPILED or (computation.name, op.name) in self.refused:
            return False
        if self.supplies.step(op) is not None:
            return False
        if op.enterable:
            return not self.driven_here(op)
        return not (self._host_moves and op.opcode in HOSTED)

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
            piece = self.ahead.taken(computation, op) or self.piece(computation, op)
            self.board.mark(Doing(Phase.COMPILE, computation.name, op.name).record())
            compiled = self._compiled(piece)
        except (Cannot, EngineError) as error:
            if op.enterable:
                # What cannot be computed is somewhere inside: the rest of it can.
                return lambda frame: self.runs.value(frame, op.index)
            return self._unknown_step(computation, op, reason_of(error))
        step = self._compiled_step(computation, op, compiled)
        return self._drawn_step(op, step) if self.program.draws(op) else step

    def piece(self, computation: Computation, op: Op) -> Piece:
        """One instruction cut out.

        Raises:
            lowering.Cannot: it has no plain form here.
        """
        return self._cut(computation, [op.index], sorted(set(op.operands)), [op.index])

    def _cut(
        self, computation: Computation, ops: list[int], live_in: list[int], live_out: list[int]
    ) -> Piece:
        module = SliceModule(self.program, self.topology, self.backend.replicas)
        text = module.cut(computation, ops, live_in, live_out)
        ins = [value_shape(computation.ops[i]) for i in live_in]
        outs = [value_shape(computation.ops[i]) for i in live_out]
        return Piece(text, ins, outs, module.omitted)

    def _compiled(self, piece: Piece) -> Slice:
        return Slice(self.cache.get(piece.module), piece.ins, piece.outs, piece.omitted)

    def _drawn_step(self, op: Op, step: Step) -> Step:
        """A step whose value is drawn once: the next run would draw another one."""
        operands = op.operands

        def once(frame: Frame) -> Any:
            given = tuple(frame.env[o] for o in operands)
            place = (tuple(frame.path()), op.index)
            before, value = self.drawn.get(place, (None, None))
            if before is None or not compare(before, given).exact:
                value = step(frame)
                self.drawn[place] = (given, value)
            return value

        return once

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
        put, mark = self.backend.put, self.board.mark
        keep = self.backend.replicas == 1
        record = Doing(Phase.RUN, computation.name, op.name).record()

        def step(frame: Frame) -> Any:
            env = frame.env
            values = []
            for o in live_in:
                value = env[o]
                if isinstance(value, np.ndarray):
                    # The device's form is kept, so that the next user of the value does not move it again.
                    value = put(value)
                    if keep:
                        env[o] = value
                elif isinstance(value, Unknown):
                    return value
                elif isinstance(value, tuple):
                    found = find_unknown(value)
                    if found is not None:
                        return found
                values.append(value)
            mark(record)
            try:
                return compiled(values)[0]
            except EngineError as error:
                return self.became_unknown(computation, op, reason_of(error))

        return step

    def _unknown_step(self, computation: Computation, op: Op, reason: str) -> Step:
        shape = value_shape(op)
        return lambda _: with_tokens(self.became_unknown(computation, op, reason), shape)

    def became_unknown(self, computation: Computation, op: Op, reason: str) -> Unknown:
        self.unknown[computation.name, op.name] = reason
        return Unknown(f"{op.name}: {reason}", op.name)

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
            elif self.driven_here(op) or self.program.draws(op) or self.supplies.step(op) is not None:
                for operand in op.operands:
                    self.value(frame, operand)
                env[j] = self._alone(frame, j)
        ops = [j for j in needed if env[j] is MISSING]
        if not ops:
            return True
        inside = set(ops)
        live_in = sorted({o for j in ops for o in computation.ops[j].operands if o not in inside})
        users = computation.users
        target = needed[-1]
        live_out = [j for j in ops if j == target or any(user not in inside for user in users[j])]
        phase = Phase.STRETCH if len(ops) > 1 else Phase.RUN
        doing = Doing(phase, computation.name, computation.ops[target].name)
        if any(find_unknown(env[o]) for o in live_in) or doing.key() in self.refused:
            return False
        try:
            piece = self._cut(computation, ops, live_in, live_out)
            self.board.mark(doing.record())
            results = self._compiled(piece)([env[o] for o in live_in])
        except (Cannot, EngineError):
            return False
        sizes = self.sizes(computation)
        for j, result in zip(live_out, results, strict=True):
            env[j] = result
            self._kept += sizes[j]
        if self._kept > self._room:
            self._sweep()
        return True

    def _alone(self, frame: Frame, index: int) -> Any:
        steps = self._steps_of(frame.computation)
        step = steps[index]
        if step is None:
            step = steps[index] = self._make_step(frame.computation, index)
        return step(frame)

    # Instructions with computations of their own.

    def driven_here(self, op: Op) -> bool:
        """Whether an instruction's value comes from its child frames rather than from one compiled slice."""
        if not op.enterable:
            return False
        apart = self.changes.computations | self.supplies.computations
        if self.grain is Grain.BODY or any(c in apart for c in op.called):
            return True
        if op.opcode not in CONTROL_FLOW:
            return False
        if self.grain is Grain.UNIT or self.goes_on(op):
            return True
        return any(self.holds(self.program.computation(c)) for c in op.called)

    def goes_on(self, op: Op) -> bool:
        """Whether an instruction is a loop that never ends, or has one inside."""
        if op.opcode == "while" and never_ends(op):
            return True
        return any(called in self._unending for called in op.called)

    @cached_property
    def _unending(self) -> frozenset[int]:
        return holding(self.program)

    def _enterable_step(self, computation: Computation, op: Op) -> Step:
        """A step that decides each time; stops and changes that are set meanwhile count."""
        compiled: list[Step] = []
        operands = op.operands

        def step(frame: Frame) -> Any:
            if self.driven_here(op) or any(find_unknown(frame.env[o]) for o in operands):
                return self.runs.value(frame, op.index)
            if not compiled:
                compiled.append(self._computed_step(computation, op))
            return compiled[0](frame)

        return step


_PASS = frozenset(
    {
        "after-all", "add-dependency", "domain", "opt-barrier", "copy-start", "copy-done",
        "async-update", "async-done", "all-reduce-done", "all-gather-done", "collective-permute-done",
    }
)  # fmt: skip


_NOT_COMPILED = _PASS | {"parameter", "tuple", "get-tuple-element"}
