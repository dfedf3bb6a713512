"""Computing values of frames on demand, in one of three grains, with XLA as the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

from hlo_tui.errors import EngineError
from hlo_tui.replay import onestep
from hlo_tui.replay.ahead import Ahead
from hlo_tui.replay.atwork import Board, Doing, Phase
from hlo_tui.replay.blockfusion import BlockFusion, block_fusion
from hlo_tui.replay.changes import NO_CHANGES, Place
from hlo_tui.replay.collectives import ONE_DEVICE, Topology
from hlo_tui.replay.exact import exact_loops
from hlo_tui.replay.frames import MISSING, Frame
from hlo_tui.replay.grain import Grain, Interrupted
from hlo_tui.replay.hostops import HOSTED, host_function
from hlo_tui.replay.keeping import Active, Keeper
from hlo_tui.replay.limits import value_bytes
from hlo_tui.replay.loops import holding, never_ends
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.onestep import Step
from hlo_tui.replay.program import CONTROL_FLOW, Computation, Op, Program
from hlo_tui.replay.reasons import reason_of
from hlo_tui.replay.runs import Runs
from hlo_tui.replay.slices import Piece, Slice, SliceCache, SliceModule, value_shape, with_tokens
from hlo_tui.replay.stretches import Stretches
from hlo_tui.replay.supplies import NotGiven, Supplies
from hlo_tui.replay.updated import Updated
from hlo_tui.replay.values import Unknown, find_unknown
from hlo_tui.replay.xla import Backend

# A loop without a stop inside is driven from outside for at most this many instructions, then compiled for
# the rest: that costs about as much as so many steps.
DRIVEN = 10_000


class Evaluator:
    """Values of one program's frames.

    Attributes:
        joins: whether loops over integers alone are compiled as a whole in every grain, unless a stop is in them.
        hosts: whether what only moves data is done here, and not by XLA.
    """

    joins = True

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
        self._counted: dict[int, list[int]] = {}
        self.drawn: dict[Place, tuple[tuple[Any, ...], Any]] = {}
        self.runs = Runs(self)
        self._stretches = Stretches(self)
        self.ahead = Ahead(self, 1)
        self.keeper = Keeper(self.sizes)
        self.keeper.fixed = lambda: (given for pair in self.drawn.values() for given in pair)
        self._kept = 0
        self._room = 0
        self.hosts = backend.devices[0].platform == "cpu"

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
            if self.grain is not Grain.WHOLE or not self._stretches.compute(frame, needed):
                self.ahead.prepare(frame.computation, needed)
                self._step_through(active)
        finally:
            self.keeper.active.pop()
        return env[index]

    def _step_through(self, active: Active) -> None:
        frame, env = active.frame, active.frame.env
        steps, sizes = self._steps_of(frame.computation), self._new_bytes(frame.computation)
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
                if self._kept + Updated.allocated > self._room:
                    self._sweep()

    def _sweep(self) -> None:
        """Forget values where more may be kept than the budget allows; the sum of the sizes is only a bound."""
        kept = self.keeper.sweep()
        self._kept = kept - Updated.allocated
        self._room = max(self.keeper.budget, kept + kept // 4)

    def sizes(self, computation: Computation) -> list[int]:
        """The bytes of each instruction's value, on all devices."""
        sizes = self._sizes.get(computation.id)
        if sizes is None:
            devices = self.backend.replicas
            sizes = self._sizes[computation.id] = [value_bytes(op) * devices for op in computation.ops]
        return sizes

    def _new_bytes(self, computation: Computation) -> list[int]:
        """The same, without what counts itself: values of other frames, and arrays of which a block is replaced."""
        sizes = self._counted.get(computation.id)
        if sizes is None:
            sizes = self._counted[computation.id] = [
                0 if op.enterable or self._replaces(op) else size
                for op, size in zip(computation.ops, self.sizes(computation), strict=True)
            ]
        return sizes

    def _replaces(self, op: Op) -> bool:
        if not self.hosts or op.opcode != "dynamic-update-slice":
            return False
        return host_function(op, [value_shape(op.computation.ops[o]) for o in op.operands]) is not None

    def root(self, frame: Frame) -> Any:
        """The value of a frame's root."""
        return self.value(frame, frame.computation.root)

    def _missing(self, frame: Frame, index: int) -> list[int]:
        env = frame.env
        if frame.computation.remembers(index):
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
        self._stretches.forget()
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
            return onestep.element(op)
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
        return not (self.hosts and op.opcode in HOSTED)

    def _computed_step(self, computation: Computation, op: Op) -> Step:
        shapes = [value_shape(computation.ops[o]) for o in op.operands]
        host = host_function(op, shapes) if self.hosts else None
        if host is not None:
            return onestep.hosted(op, host, self.backend.replicas)
        try:
            piece = self.ahead.taken(computation, op) or self.piece(computation, op)
            compiled = self.compiled(piece, Doing(Phase.COMPILE, computation.name, op.name))
        except (Cannot, EngineError) as error:
            if op.enterable:
                # What cannot be computed is somewhere inside: the rest of it can.
                return lambda frame: self.runs.value(frame, op.index)
            return self._unknown_step(computation, op, reason_of(error))
        block = self._block(op)
        if block is not None:
            return onestep.in_block(self, op, compiled, block)
        step = onestep.compiled(self, op, compiled)
        return onestep.drawn(self.drawn, op, step) if self.program.draws(op) else step

    def piece(self, computation: Computation, op: Op) -> Piece:
        """One instruction cut out.

        Raises:
            lowering.Cannot: it has no plain form here.
        """
        block = self._block(op)
        if block is not None:
            return block.piece_of(self.cut)
        return self.cut(computation, [op.index], sorted(set(op.operands)), [op.index])

    def _block(self, op: Op) -> BlockFusion | None:
        return block_fusion(op) if self.hosts else None

    def cut(self, computation: Computation, ops: list[int], live_in: list[int], live_out: list[int]) -> Piece:
        module = SliceModule(self.program, self.topology, self.backend.replicas)
        text = module.cut(computation, ops, live_in, live_out)
        ins = [value_shape(computation.ops[i]) for i in live_in]
        outs = [value_shape(computation.ops[i]) for i in live_out]
        return Piece(text, ins, outs, module.omitted)

    def compiled(self, piece: Piece, doing: Doing) -> Slice:
        """A piece compiled; where the process ends by that, it was `doing` something.

        Raises:
            EngineError: XLA refuses it.
        """
        self.board.mark(doing.record())
        return Slice(self.cache.get(piece.module), piece.ins, piece.outs, piece.omitted)

    def _unknown_step(self, computation: Computation, op: Op, reason: str) -> Step:
        shape = value_shape(op)
        return lambda _: with_tokens(self.became_unknown(computation, op, reason), shape)

    def became_unknown(self, computation: Computation, op: Op, reason: str) -> Unknown:
        self.unknown[computation.name, op.name] = reason
        return Unknown(f"{op.name}: {reason}", op.name)

    def alone(self, frame: Frame, index: int) -> Any:
        """The value of an instruction whose operands are there."""
        steps = self._steps_of(frame.computation)
        step = steps[index]
        if step is None:
            step = steps[index] = self._make_step(frame.computation, index)
        return step(frame)

    def keep(self, computation: Computation, indices: Iterable[int]) -> None:
        """Count values that were computed elsewhere among those that are kept."""
        sizes = self.sizes(computation)
        self._kept += sum(sizes[index] for index in indices)
        if self._kept + Updated.allocated > self._room:
            self._sweep()

    # Instructions with computations of their own.

    def driven_here(self, op: Op) -> bool:
        """Whether an instruction's value comes from its child frames rather than from one compiled slice."""
        if not op.enterable:
            return False
        apart = self.changes.computations | self.supplies.computations
        if any(called in apart for called in op.called):
            return True
        held = any(self.holds(self.program.computation(called)) for called in op.called)
        if self.joins and not held and op in self._exact:
            return False
        if self.grain is Grain.BODY:
            return True
        if op.opcode not in CONTROL_FLOW:
            return False
        return self.grain is Grain.UNIT or held or self.goes_on(op)

    @cached_property
    def _exact(self) -> frozenset[Op]:
        return exact_loops(self.program, self.refused)

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
        size = 0 if self._block(op) else self.sizes(computation)[op.index]

        def step(frame: Frame) -> Any:
            if self.driven_here(op) or any(find_unknown(frame.env[o]) for o in operands):
                return self.runs.value(frame, op.index)
            if not compiled:
                compiled.append(self._computed_step(computation, op))
            self._kept += size
            return compiled[0](frame)

        return step


_PASS = frozenset(
    {
        "after-all", "add-dependency", "domain", "opt-barrier", "copy-start", "copy-done",
        "async-update", "async-done", "all-reduce-done", "all-gather-done", "collective-permute-done",
    }
)  # fmt: skip


_NOT_COMPILED = _PASS | {"parameter", "tuple", "get-tuple-element"}
