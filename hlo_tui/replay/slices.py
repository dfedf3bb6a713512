"""Cutting instructions out of a computation as a small module of plain HLO, compiled once per text."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from hlo_tui.errors import EngineError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays, dynamic
from hlo_tui.replay.collectives import Topology, result_shape
from hlo_tui.replay.lowering import Emitter, ModuleScope, lower, reset_layout
from hlo_tui.replay.program import Computation, Op, Program

Instruction = pb.HloInstructionProto


def value_shape(op: Op) -> pb.ShapeProto:
    """The shape of the value that the engine keeps for an instruction.

    The start of an async pair holds the result already, so its value has the shape of the done.
    """
    shape = op.proto.shape
    if op.opcode == "async-start" and len(shape.tuple_shapes) > 1:
        return shape.tuple_shapes[1]
    if op.opcode == "copy-start" and shape.tuple_shapes:
        return shape.tuple_shapes[0]
    return result_shape(op)


class SliceModule(ModuleScope):
    """A module under construction: what it calls is lowered into it as it is met."""

    def __init__(
        self, program: Program, topology: Topology, replicas: int, within: SliceModule | None = None
    ) -> None:
        """Begin a module.

        Args:
            program: whose instructions it is made of.
            topology: for how many devices the program was compiled.
            replicas: on how many it runs.
            within: the module that this one becomes a part of.
        """
        self.topology = topology
        self.replicas = replicas
        self.meshes = program.proto.frontend_attributes.map.get("xla.sdy.meshes", "")
        self.tuples: dict[int, list[Instruction]] = {}
        self.spare: set[int] = set()
        self.omitted: list[int] = []
        self.proto: pb.HloModuleProto = pb.HloModuleProto(name="slice") if within is None else within.proto
        self._program = program
        self._numbers: itertools.count[int] = itertools.count(1) if within is None else within._numbers
        self._parameters = 0
        self._callees: dict[int, int] = {}
        self._grafts: dict[Program, int] = {}

    def next_id(self) -> int:
        """A number that no other instruction or computation of this module has."""
        return next(self._numbers)

    def callee(self, computation: int) -> int:
        """Lower a computation of the original module into this one, once; its id here."""
        made = self._callees.get(computation)
        if made is None:
            original = self._program.computation(computation)
            into = pb.HloComputationProto()
            emitted = self._lower_all(original, range(len(original)), {}, Emitter(self, into))
            made = self._callees[computation] = self._close(into, emitted[original.root])
        return made

    def graft(self, program: Program) -> int:
        """Lower the entry of another program into this module, once; its id here."""
        made = self._grafts.get(program)
        if made is None:
            inner = SliceModule(program, self.topology, self.replicas, self)
            made = self._grafts[program] = inner.callee(program.entry.id)
        return made

    def cut(
        self, computation: Computation, ops: Sequence[int], live_in: Sequence[int], live_out: Sequence[int]
    ) -> bytes:
        """Make the module whose entry computes `ops` and return its bytes, equal for equal slices.

        `omitted` then has the numbers of the arrays of the result that are not computed.

        Args:
            computation: where the instructions are.
            ops: positions to compute, in execution order.
            live_in: positions whose values come in; each array of a tuple is one parameter.
            live_out: positions whose values go out, flattened in this order into the result tuple.

        Raises:
            lowering.Cannot: an instruction of the slice has no plain form here.
        """
        into = pb.HloComputationProto()
        out = Emitter(self, into)
        emitted: dict[int, Instruction] = {}
        for index in live_in:
            emitted[index] = self._live_in(value_shape(computation.ops[index]), out)
        self._lower_all(computation, ops, emitted, out)
        leaves: list[Instruction] = []
        for index in live_out:
            self._leaves(emitted[index], leaves, out)
        return self._finish(into, leaves, out)

    def _finish(self, into: pb.HloComputationProto, leaves: list[Instruction], out: Emitter) -> bytes:
        root = out.emit("tuple", _tuple_shape(leaves), leaves)
        self.proto.entry_computation_id = self._close(into, root)
        self.proto.entry_computation_name = self.proto.computations[-1].name
        self.proto.host_program_shape.CopyFrom(self.proto.computations[-1].program_shape)
        return self.proto.SerializeToString(deterministic=True)

    def turns(self, op: Op) -> bytes:
        """Make the module that runs some iterations of a `while`, and return its bytes.

        Its parameters are what goes into the first one, a zero, and how many to run at most; its results what goes
        into the next one, and how many were run.

        Raises:
            lowering.Cannot: an instruction in it has no plain form here.
        """
        carry = value_shape(op)
        state = pb.ShapeProto(element_type=arrays.TUPLE, tuple_shapes=[carry, self.COUNT, self.COUNT])
        into = pb.HloComputationProto()
        out = Emitter(self, into)
        parts = [self._live_in(shape, out) for shape in state.tuple_shapes]
        called = [self._turn(op, state), self._goes_on(op, state)]
        loop = out.emit("while", state, [out.emit("tuple", state, parts)], called_computation_ids=called)
        leaves: list[Instruction] = []
        for index in range(2):
            self._leaves(
                out.emit("get-tuple-element", state.tuple_shapes[index], [loop], tuple_index=index),
                leaves,
                out,
            )
        return self._finish(into, leaves, out)

    COUNT = arrays.array_shape(pb.S64, ())

    def _turn(self, op: Op, state: pb.ShapeProto) -> int:
        """The body: that of the original loop, and one more is counted."""
        into = pb.HloComputationProto()
        out = Emitter(self, into)
        carry, count, limit = self._state_parts(state, out)
        after = out.emit("call", carry.shape, [carry], called_computation_ids=[self.callee(op.called[0])])
        one = out.emit("constant", self.COUNT, [], literal=pb.LiteralProto(shape=self.COUNT, s64s=[1]))
        counted = out.emit("add", self.COUNT, [count, one])
        return self._close(into, out.emit("tuple", state, [after, counted, limit]))

    def _goes_on(self, op: Op, state: pb.ShapeProto) -> int:
        """The condition: that of the original loop, and not so many were run."""
        into = pb.HloComputationProto()
        out = Emitter(self, into)
        carry, count, limit = self._state_parts(state, out)
        flag = arrays.array_shape(arrays.PRED, ())
        goes_on = out.emit("call", flag, [carry], called_computation_ids=[self.callee(op.called[1])])
        fewer = out.emit("compare", flag, [count, limit], comparison_direction="LT", comparison_type="SIGNED")
        return self._close(into, out.emit("and", flag, [fewer, goes_on]))

    @staticmethod
    def _state_parts(state: pb.ShapeProto, out: Emitter) -> list[Instruction]:
        whole = out.emit("parameter", state, [], parameter_number=0)
        return [
            out.emit("get-tuple-element", shape, [whole], tuple_index=index)
            for index, shape in enumerate(state.tuple_shapes)
        ]

    def _lower_all(
        self, computation: Computation, ops: Sequence[int], emitted: dict[int, Instruction], out: Emitter
    ) -> dict[int, Instruction]:
        for index in ops:
            op = computation.ops[index]
            operands = [emitted[o] for o in op.operands]
            shapes = [value_shape(computation.ops[o]) for o in op.operands]
            emitted[index] = lower(op, operands, shapes, out)
        return emitted

    def _live_in(self, shape: pb.ShapeProto, out: Emitter) -> Instruction:
        if shape.element_type == arrays.TUPLE:
            parts = [self._live_in(part, out) for part in shape.tuple_shapes]
            return out.emit("tuple", shape, parts)
        if shape.element_type == arrays.TOKEN:
            return out.emit("after-all", shape, [])
        array, *sizes = (self._parameter(leaf, out) for leaf in dynamic.leaf_shapes(shape))
        return dynamic.sized(array, sizes, shape, out) if sizes else array

    def _parameter(self, shape: pb.ShapeProto, out: Emitter) -> Instruction:
        self._parameters += 1
        return out.emit("parameter", shape, [], parameter_number=self._parameters - 1)

    def _leaves(self, value: Instruction, leaves: list[Instruction], out: Emitter) -> None:
        if value.shape.element_type == arrays.TUPLE:
            parts = self.tuples.get(value.id)
            for index, part in enumerate(value.shape.tuple_shapes):
                self._leaves(
                    parts[index]
                    if parts is not None
                    else out.emit("get-tuple-element", part, [value], tuple_index=index),
                    leaves,
                    out,
                )
        elif value.id in self.spare:
            self.omitted.append(len(leaves) + len(self.omitted))
        elif dynamic.is_dynamic(value.shape):
            leaves.extend(dynamic.leaves(value, out))
        elif value.shape.element_type != arrays.TOKEN:
            leaves.append(value)

    def _close(self, into: pb.HloComputationProto, root: Instruction) -> int:
        into.id = self.next_id()
        into.name = f"c{into.id}"
        into.root_id = root.id
        into.program_shape.result.CopyFrom(root.shape)
        parameters = sorted(
            (i for i in into.instructions if i.opcode == "parameter"), key=lambda i: i.parameter_number
        )
        for parameter in parameters:
            into.program_shape.parameters.add().CopyFrom(parameter.shape)
            into.program_shape.parameter_names.append(f"p{parameter.parameter_number}")
        self.proto.computations.append(into)
        return into.id


def _tuple_shape(parts: Sequence[Instruction]) -> pb.ShapeProto:
    shape = pb.ShapeProto(element_type=arrays.TUPLE, tuple_shapes=[part.shape for part in parts])
    reset_layout(shape)
    return shape


class Piece(NamedTuple):
    """Instructions cut out.

    Attributes:
        module: the module that computes them; equal pieces have equal ones.
        ins: shapes of the values that come in.
        outs: shapes of the values that go out.
        omitted: numbers of the arrays that go out without being computed.
    """

    module: bytes
    ins: list[pb.ShapeProto]
    outs: list[pb.ShapeProto]
    omitted: list[int]


class Compiled(Protocol):
    """A compiled slice, as the backend gives it: leaf arrays in, leaf arrays out."""

    def __call__(self, leaves: list[Any]) -> list[Any]: ...


class SliceCache:
    """Compiled slices by their text without names, shared by every module that this process opens."""

    def __init__(self, compile_module: Callable[[bytes], Compiled]) -> None:
        self._compile = compile_module
        self._compiled: dict[bytes, Compiled | EngineError] = {}
        self.hits = 0

    @property
    def compiles(self) -> int:
        """How many different slices there are."""
        return len(self._compiled)

    def __contains__(self, module: bytes) -> bool:
        return module in self._compiled

    def add(self, module: bytes) -> None:
        """Compile a slice that is not there; several threads may do so at once, each with another slice."""
        try:
            self._compiled[module] = self._compile(module)
        except EngineError as error:
            # The answer is kept too, so that it is asked only once.
            self._compiled[module] = error

    def get(self, module: bytes) -> Compiled:
        """The compiled form of a slice.

        Raises:
            EngineError: XLA refuses it.
        """
        if module in self._compiled:
            self.hits += 1
        else:
            self.add(module)
        found = self._compiled[module]
        if isinstance(found, EngineError):
            raise found
        return found


class Slice:
    """A compiled slice with the shapes of what goes in and out."""

    def __init__(
        self,
        compiled: Compiled,
        ins: Sequence[pb.ShapeProto],
        outs: Sequence[pb.ShapeProto],
        omitted: Sequence[int] = (),
    ) -> None:
        """Take a compiled slice.

        Args:
            compiled: leaf arrays in, leaf arrays out.
            ins: shapes of what goes in.
            outs: shapes of what comes out.
            omitted: numbers of the leaf arrays of `outs` that are not computed; they are zeros.
        """
        self._compiled = compiled
        self._omitted = [(number, _zeros(outs, number)) for number in omitted]
        self._ins = None if all(_is_array(shape) for shape in ins) else list(ins)
        self._outs = None if all(_is_array(shape) for shape in outs) else list(outs)

    def __call__(self, values: list[Any]) -> list[Any]:
        """Run it: one value for each live-in, one for each live-out."""
        leaves = values
        if self._ins is not None:
            leaves = []
            for value, shape in zip(values, self._ins, strict=True):
                flatten(value, shape, leaves)
        results = self._compiled(leaves)
        for number, zeros in self._omitted:
            results.insert(number, zeros)
        if self._outs is None:
            return results
        given = iter(results)
        return [unflatten(shape, given) for shape in self._outs]


def _is_array(shape: pb.ShapeProto) -> bool:
    return shape.element_type not in (arrays.TUPLE, arrays.TOKEN) and not dynamic.is_dynamic(shape)


def _zeros(shapes: Sequence[pb.ShapeProto], number: int) -> arrays.Array:
    """Zeros for one leaf of these shapes, which take no memory."""
    leaves: list[pb.ShapeProto] = []
    for shape in shapes:
        _shape_leaves(shape, leaves)
    leaf = leaves[number]
    return np.broadcast_to(np.zeros((), arrays.DTYPES[leaf.element_type]), tuple(leaf.dimensions))


def _shape_leaves(shape: pb.ShapeProto, leaves: list[pb.ShapeProto]) -> None:
    if shape.element_type == arrays.TUPLE:
        for part in shape.tuple_shapes:
            _shape_leaves(part, leaves)
    elif shape.element_type != arrays.TOKEN:
        leaves.extend(dynamic.leaf_shapes(shape))


def with_tokens(unknown: Any, shape: pb.ShapeProto) -> Any:
    """An unknown value of this shape: what of it is a token is known all the same."""
    parts = [part.element_type for part in shape.tuple_shapes]
    if arrays.TOKEN not in parts:
        return unknown
    return tuple(None if part == arrays.TOKEN else unknown for part in parts)


def flatten(value: Any, shape: pb.ShapeProto, leaves: list[Any]) -> None:
    """Append the arrays of a value, depth first; tokens are none."""
    if shape.element_type == arrays.TUPLE:
        for part, part_shape in zip(value, shape.tuple_shapes, strict=True):
            flatten(part, part_shape, leaves)
    elif dynamic.is_dynamic(shape):
        leaves.extend(dynamic.padded(value, shape))
    elif shape.element_type != arrays.TOKEN:
        leaves.append(value)


def unflatten(shape: pb.ShapeProto, leaves: Any) -> Any:
    """Build a value of this shape from an iterator over its arrays."""
    if shape.element_type == arrays.TUPLE:
        return tuple(unflatten(part, leaves) for part in shape.tuple_shapes)
    if shape.element_type == arrays.TOKEN:
        return None
    if dynamic.is_dynamic(shape):
        return dynamic.cut([next(leaves) for _ in dynamic.leaf_shapes(shape)], shape)
    return next(leaves)
