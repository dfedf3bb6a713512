"""A module proto as the engine walks it: computations with their instructions in execution order, operands by
position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay.channels import received

ENTERABLE = frozenset({"call", "fusion", "while", "conditional", "async-start"})
APPLIED = frozenset(
    {
        "reduce", "reduce-window", "map", "sort", "scatter", "select-and-scatter", "all-reduce",
        "all-reduce-start", "reduce-scatter",
    }
)  # fmt: skip
CONTROL_FLOW = frozenset({"call", "while", "conditional"})
# They go on from a state of the process: a second run gives other numbers.
DRAWN = frozenset({"rng", "rng-get-and-update-state"})


# Of longer computations only what the root needs is remembered: a list for each of many stops would fill the memory.
_REMEMBERED = 2000


class Op:
    """One instruction: its proto and where it stands in its computation.

    Attributes:
        operands: positions of the values that it needs: its operands, and last what a send of its computation gives it.
    """

    __slots__ = ("called", "computation", "index", "operands", "proto")

    def __init__(
        self,
        computation: Computation,
        index: int,
        proto: pb.HloInstructionProto,
        operands: tuple[int, ...],
        called: tuple[int, ...],
    ) -> None:
        self.computation = computation
        self.index = index
        self.proto = proto
        self.operands = operands
        self.called = called

    @property
    def name(self) -> str:
        """The instruction's name without `%`."""
        return self.proto.name

    @property
    def opcode(self) -> str:
        """The opcode as HLO text writes it."""
        return self.proto.opcode

    @property
    def attributes(self) -> Mapping[str, str]:
        """The frontend attributes."""
        return self.proto.frontend_attributes.map

    @property
    def has_runs(self) -> bool:
        """Whether step in has somewhere to go: a run of what it calls, or one application of it."""
        return bool(self.called) and (self.proto.opcode in ENTERABLE or self.proto.opcode in APPLIED)

    @property
    def enterable(self) -> bool:
        """Whether it calls a computation whose runs are part of the replay's time."""
        return bool(self.called) and self.proto.opcode in ENTERABLE


class Computation:
    """A computation in execution order: the schedule's where there is one, else the order of the text or
    proto.
    """

    __slots__ = (
        "_cones", "by_name", "hidden", "id", "name", "ops", "parameters", "program", "received", "root", "users",
        "with_floats",
    )  # fmt: skip

    def __init__(self, program: Program, proto: pb.HloComputationProto, order: list[int] | None) -> None:
        self.program = program
        self.id = proto.id
        self.name = proto.name
        protos = {instruction.id: instruction for instruction in proto.instructions}
        ids = order if order is not None and set(order) == set(protos) else list(protos)
        position = {identity: index for index, identity in enumerate(ids)}
        self.received = received([protos[identity] for identity in ids])
        self.ops = [
            Op(
                self,
                index,
                protos[identity],
                (
                    *(position[o] for o in protos[identity].operand_ids),
                    *((self.received[index].data,) if index in self.received else ()),
                ),
                tuple(program.known(c) for c in protos[identity].called_computation_ids),
            )
            for index, identity in enumerate(ids)
        ]
        self.root = position[proto.root_id]
        self.by_name = {op.name: op.index for op in self.ops}
        numbered = sorted(
            (op.proto.parameter_number, op.index) for op in self.ops if op.opcode == "parameter"
        )
        self.parameters = [index for _, index in numbered]
        self.users: list[list[int]] = [[] for _ in self.ops]
        for op in self.ops:
            for operand in set(op.operands):
                self.users[operand].append(op.index)
        self.hidden = frozenset(op.index for op in self.ops if (self.name, op.name) in program.hidden)
        self._cones: dict[int, list[int]] = {}
        self.with_floats: list[int] | None = None

    def after(self, index: int) -> int | None:
        """The position after one, past those that stand for what the text only implies; None at the end."""
        return next((i for i in range(index + 1, len(self.ops)) if i not in self.hidden), None)

    def before(self, index: int) -> int | None:
        """The mirror of `after`."""
        return next((i for i in range(index - 1, -1, -1) if i not in self.hidden), None)

    def __len__(self) -> int:
        return len(self.ops)

    def cone(self, target: int) -> list[int]:
        """Positions of everything that `target` needs, and itself, in execution order."""
        cone = self._cones.get(target)
        if cone is None:
            needed, stack = {target}, [target]
            while stack:
                for operand in self.ops[stack.pop()].operands:
                    if operand not in needed:
                        needed.add(operand)
                        stack.append(operand)
            cone = sorted(needed)
            if self.remembers(target):
                self._cones[target] = cone
        return cone

    def remembers(self, target: int) -> bool:
        """Whether the cone of `target` is found only once."""
        return target == self.root or len(self.ops) <= _REMEMBERED


class Program:
    """The computations of one module, built when they are first asked for."""

    def __init__(
        self,
        proto: pb.HloModuleProto,
        text_order: Mapping[str, list[str]] | None = None,
        hidden: frozenset[tuple[str, str]] = frozenset(),
    ) -> None:
        """Take a module.

        Args:
            proto: the module; kept, not copied.
            text_order: for a module read from text, the instruction names of a computation as they stand
                in it; it decides the order of stepping where there is no schedule, so that the cursor goes
                down the page.
            hidden: (computation, instruction) that stepping goes past: the text only implies them.

        Raises:
            ValueError: an instruction or computation is named that is not in the module.
        """
        self.proto = proto
        self._text_order = text_order or {}
        self.hidden = hidden
        self._protos = {computation.id: computation for computation in proto.computations}
        self._built: dict[int, Computation] = {}
        if proto.entry_computation_id not in self._protos:
            raise ValueError("the module names no entry computation")

    @cached_property
    def entry(self) -> Computation:
        """The entry computation."""
        return self.computation(self.proto.entry_computation_id)

    def computation(self, identity: int) -> Computation:
        """The computation with this id."""
        built = self._built.get(identity)
        if built is None:
            try:
                proto = self._protos[identity]
                built = self._built[identity] = Computation(self, proto, self._order(proto))
            except KeyError as error:
                raise ValueError(f"the module refers to id {error}, which is not in it") from error
        return built

    def known(self, identity: int) -> int:
        """The id itself, if a computation of the module has it.

        Raises:
            KeyError: none has.
        """
        if identity not in self._protos:
            raise KeyError(identity)
        return identity

    def by_name(self, name: str) -> Computation | None:
        """The computation of this name."""
        for identity, proto in self._protos.items():
            if proto.name == name:
                return self.computation(identity)
        return None

    def reachable(self) -> Iterator[Computation]:
        """Every computation that the entry can come to, callees first."""
        seen: set[int] = set()
        stack: list[tuple[int, bool]] = [(self.proto.entry_computation_id, False)]
        while stack:
            identity, done = stack.pop()
            if done:
                yield self.computation(identity)
            elif identity not in seen:
                seen.add(identity)
                stack.append((identity, True))
                stack.extend((c, False) for op in self.computation(identity).ops for c in op.called)

    @cached_property
    def receiving(self) -> tuple[Op, ...]:
        """What receives data from outside of it, or from a send, in order of `reachable`."""
        return tuple(op for one in self.reachable() for op in one.ops if op.opcode in ("infeed", "recv"))

    def draws(self, op: Op) -> bool:
        """Whether an instruction's value, or one inside what it calls, is drawn anew each time it is run."""
        return op.opcode in DRAWN or any(called in self._drawing for called in op.called)

    @cached_property
    def _drawing(self) -> frozenset[int]:
        drawing: set[int] = set()
        for computation in self.reachable():
            for op in computation.ops:
                if op.opcode in DRAWN or any(called in drawing for called in op.called):
                    drawing.add(computation.id)
        return frozenset(drawing)

    def _order(self, proto: pb.HloComputationProto) -> list[int] | None:
        sequences = self.proto.schedule.sequences
        if proto.id in sequences:
            return list(sequences[proto.id].instruction_ids)
        names = self._text_order.get(proto.name)
        if names is None:
            return None
        ids = {instruction.name: instruction.id for instruction in proto.instructions}
        if set(ids) != set(names):
            return None
        return [ids[name] for name in names]


def trip_count(op: Op) -> int | None:
    """How often a while loop runs, where the compiler wrote it down."""
    import json

    try:
        config = json.loads(op.proto.backend_config or b"{}")
        return int(config["known_trip_count"]["n"])
    except (ValueError, KeyError, TypeError):
        return None
