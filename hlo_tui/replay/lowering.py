"""What each HLO construct becomes before XLA's CPU compiler takes it: plain HLO, with default layouts.

An optimised module holds forms that only the backend that made it can read: fusions, bitcasts, tiled layouts,
async
pairs, scheduling and aliasing. Each has a plain form with the same value. RULES is the whole table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import (
    arrays,
    blockscaled,
    collectives,
    customcalls,
    dynamic,
    elementary,
    traced,
    transfers,
)
from hlo_tui.replay.program import Op, Program

Instruction = pb.HloInstructionProto


class Cannot(Exception):
    """This instruction has no plain form here; the text says why."""


class Emitter:
    """Instructions of one computation under construction; `module` numbers them and lowers what they call."""

    def __init__(self, module: ModuleScope, into: pb.HloComputationProto) -> None:
        self.module = module
        self._into = into

    def emit(
        self, opcode: str, shape: pb.ShapeProto, operands: Sequence[Instruction], **fields: Any
    ) -> Instruction:
        """Add a clean instruction; its layout is made the default one."""
        made = self._into.instructions.add(opcode=opcode, **fields)
        made.shape.CopyFrom(shape)
        reset_layout(made.shape)
        return self._number(made, operands)

    def clone(
        self, original: Instruction, operands: Sequence[Instruction], called: Sequence[int] = ()
    ) -> Instruction:
        """Add a copy of an instruction without what is not part of its value."""
        made = self._into.instructions.add()
        made.CopyFrom(original)
        for field in _NOT_VALUE:
            made.ClearField(field)
        if made.opcode != "custom-call":
            made.ClearField("backend_config")
        if not (made.opcode == "custom-call" and made.constrain_layout):
            reset_layout(made.shape)
        if made.HasField("literal"):
            _reset_literal(made.literal)
        made.called_computation_ids.extend(self.module.callee(c) for c in called)
        return self._number(made, operands)

    def _number(self, made: Instruction, operands: Sequence[Instruction]) -> Instruction:
        made.id = self.module.next_id()
        made.name = f"i{made.id}"
        made.operand_ids.extend(operand.id for operand in operands)
        if made.opcode == "tuple":
            self.module.tuples[made.id] = list(operands)
        return made

    def zeros(self, shape: pb.ShapeProto) -> Instruction:
        """Add an array of zeros."""
        false_shape = arrays.array_shape(arrays.PRED, ())
        literal = pb.LiteralProto(shape=false_shape, preds=[False])
        false = self.emit("constant", false_shape, [], literal=literal)
        element = shape.element_type
        zero = false
        if element != arrays.PRED:
            zero = self.emit("convert", arrays.array_shape(element, ()), [false])
        return self.emit("broadcast", shape, [zero])

    def scratch(self, shape: pb.ShapeProto) -> Instruction:
        """Add an array that nobody computes: memory that a library used. It is not carried out of a slice."""
        made = self.zeros(shape)
        self.module.spare.add(made.id)
        return made


class ModuleScope:
    """What an emitter needs of the module it is part of."""

    replicas: int
    topology: collectives.Topology
    meshes: str
    tuples: dict[int, list[Instruction]]
    spare: set[int]

    def next_id(self) -> int:
        """A number that no other instruction of the module has."""
        raise AssertionError("given by the module under construction")

    def callee(self, computation: int) -> int:
        """Lower a computation of the original module into this one; its id here."""
        raise AssertionError(f"given by the module under construction: {computation}")

    def graft(self, program: Program) -> int:
        """Lower the entry of another program into this one; its id here."""
        raise AssertionError(f"given by the module under construction: {program}")


_NOT_VALUE = (
    "id", "name", "operand_ids", "called_computation_ids", "control_predecessor_ids", "metadata", "sharding",
    "frontend_attributes", "statistics_viz", "original_value", "backend_config_payload",
    "async_execution_thread", "output_operand_aliasing", "parameter_replication",
)  # fmt: skip


def reset_layout(shape: pb.ShapeProto) -> None:
    """Make a shape's layout row-major, without tiles, memory space or padding."""
    if shape.element_type == arrays.TUPLE:
        for part in shape.tuple_shapes:
            reset_layout(part)
    elif shape.HasField("layout") or shape.dimensions:
        shape.ClearField("layout")
        shape.layout.minor_to_major.extend(range(len(shape.dimensions) - 1, -1, -1))


def _reset_literal(literal: pb.LiteralProto) -> None:
    """Store a literal's elements row by row, whatever layout it has."""
    for part in literal.tuple_literals:
        _reset_literal(part)
    shape = literal.shape
    if not shape.HasField("layout"):
        return
    if arrays.minor_to_major(shape) != list(range(len(shape.dimensions) - 1, -1, -1)):
        arrays.store_row_major(literal)
    reset_layout(shape)


Operands = Sequence[Instruction]
Handler = Callable[[Op, Operands, Sequence[pb.ShapeProto], Emitter], Instruction]


class Rule(NamedTuple):
    """How an opcode is lowered, and why it cannot stay as it is."""

    lower: Handler
    why: str


def lower(op: Op, operands: Operands, shapes: Sequence[pb.ShapeProto], out: Emitter) -> Instruction:
    """Emit the plain form of `op`.

    Args:
        op: the instruction as the module has it.
        operands: the plain forms of its operands.
        shapes: the operands' own shapes, with the layouts that they have in the module.
        out: where to emit.

    Raises:
        Cannot: it has no plain form here.
    """
    rule = RULES.get(op.opcode)
    if rule is not None:
        return rule.lower(op, operands, shapes, out)
    return out.clone(op.proto, operands, op.called)


def _call(op: Op, operands: Operands, _shapes: Sequence[pb.ShapeProto], out: Emitter) -> Instruction:
    callee = out.module.callee(op.called[0])
    # An async-start's own shape is (operands, result, context); the call gives the result.
    shape = op.proto.shape.tuple_shapes[1] if op.opcode == "async-start" else op.proto.shape
    return out.emit("call", shape, operands, called_computation_ids=[callee])


def _operand(_op: Op, operands: Operands, _shapes: Sequence[pb.ShapeProto], _out: Emitter) -> Instruction:
    return operands[0]


def _copy_start(_op: Op, operands: Operands, shapes: Sequence[pb.ShapeProto], out: Emitter) -> Instruction:
    return out.emit("copy", shapes[0], operands)


def _bitcast(op: Op, operands: Operands, shapes: Sequence[pb.ShapeProto], out: Emitter) -> Instruction:
    source, target = shapes[0], op.proto.shape
    value = _transpose(operands[0], source, arrays.minor_to_major(source)[::-1], out)
    if source.element_type != target.element_type:
        value = _bitcast_type(value, target.element_type, out)
    physical = [target.dimensions[d] for d in arrays.minor_to_major(target)[::-1]]
    if list(value.shape.dimensions) != physical:
        value = out.emit("reshape", arrays.array_shape(target.element_type, physical), [value])
    to_logical = _inverse(arrays.minor_to_major(target)[::-1])
    return _transpose(value, value.shape, to_logical, out)


def _transpose(value: Instruction, shape: pb.ShapeProto, order: list[int], out: Emitter) -> Instruction:
    if order == list(range(len(order))):
        return value
    moved = arrays.array_shape(shape.element_type, [shape.dimensions[d] for d in order])
    return out.emit("transpose", moved, [value], dimensions=order)


def _inverse(order: list[int]) -> list[int]:
    return sorted(range(len(order)), key=order.__getitem__)


def _bitcast_type(value: Instruction, element_type: pb.PrimitiveType, out: Emitter) -> Instruction:
    dims = list(value.shape.dimensions)
    old, new = arrays.element_bits(value.shape.element_type), arrays.element_bits(element_type)
    if old > new:
        dims = [*dims, old // new]
    elif new > old:
        # Wider elements take the minor dimension together; where it is too short, the whole array is one run.
        ratio = new // old
        if not dims or dims[-1] != ratio:
            count = math.prod(dims)
            flat = arrays.array_shape(value.shape.element_type, [count // ratio, ratio])
            value, dims = out.emit("reshape", flat, [value]), [count // ratio, ratio]
        dims = dims[:-1]
    return out.emit("bitcast-convert", arrays.array_shape(element_type, dims), [value])


def _get_dimension_size(
    op: Op, operands: Operands, shapes: Sequence[pb.ShapeProto], out: Emitter
) -> Instruction:
    dimension = op.proto.dimensions[0]
    if dimension in dynamic.dimensions(shapes[0]):
        return dynamic.size_of(operands[0], dimension, out)
    literal = pb.LiteralProto(
        shape=arrays.array_shape(arrays.S32, ()), s32s=[shapes[0].dimensions[dimension]]
    )
    return out.emit("constant", op.proto.shape, [], literal=literal)


def _collective(op: Op, operands: Operands, shapes: Sequence[pb.ShapeProto], out: Emitter) -> Instruction:
    try:
        return collectives.lower(op, operands, shapes, out)
    except collectives.Unsupported as error:
        raise Cannot(str(error)) from error


def _custom_call(op: Op, operands: Operands, shapes: Sequence[pb.ShapeProto], out: Emitter) -> Instruction:
    try:
        return customcalls.lower(op, operands, shapes, out)
    except customcalls.Unsupported as error:
        raise Cannot(str(error)) from error


def _transfer(op: Op, operands: Operands, _shapes: Sequence[pb.ShapeProto], out: Emitter) -> Instruction:
    try:
        return transfers.lower(op, operands, out)
    except transfers.Unsupported as error:
        raise Cannot(str(error)) from error


_SUB_BYTE = frozenset({pb.S1, pb.U1, pb.S2, pb.U2, pb.S4, pb.U4})


def _product(op: Op, operands: Operands, _shapes: Sequence[pb.ShapeProto], out: Emitter) -> Instruction:
    if not any(operand.shape.element_type in _SUB_BYTE for operand in operands):
        return out.clone(op.proto, operands)
    result = op.proto.shape.element_type
    kept = pb.S8 if result in _SUB_BYTE else result
    wide = [
        out.emit("convert", arrays.array_shape(kept, operand.shape.dimensions), [operand])
        for operand in operands
    ]
    proto = pb.HloInstructionProto()
    proto.CopyFrom(op.proto)
    proto.shape.element_type = kept
    product = out.clone(proto, wide)
    return product if kept == result else out.emit("convert", op.proto.shape, [product])


def _reshape(op: Op, operands: Operands, _shapes: Sequence[pb.ShapeProto], out: Emitter) -> Instruction:
    if not any(dynamic.is_dynamic(shape) for shape in (op.proto.shape, *(o.shape for o in operands))):
        return out.clone(op.proto, operands)
    try:
        return dynamic.reshape(op, operands, out)
    except traced.Unsupported as error:
        raise Cannot(str(error)) from error


def _means(meaning: traced.Meaning) -> Handler:
    def lower_traced(
        op: Op, operands: Operands, _shapes: Sequence[pb.ShapeProto], out: Emitter
    ) -> Instruction:
        try:
            return traced.emit(op.proto, operands, out, meaning)
        except traced.Unsupported as error:
            raise Cannot(str(error)) from error

    return lower_traced


_PAIR = "the pair is one synchronous operation here, so the start already has the result"

RULES: dict[str, Rule] = {
    "fusion": Rule(_call, "a backend's fusion needs its own emitter"),
    "call": Rule(_call, "only the body is part of the value"),
    "bitcast": Rule(_bitcast, "a bitcast means the bytes of one layout; it becomes transposes and a reshape"),
    "async-start": Rule(_call, _PAIR),
    "async-update": Rule(_operand, _PAIR),
    "async-done": Rule(_operand, _PAIR),
    "copy-start": Rule(_copy_start, _PAIR),
    "copy-done": Rule(_operand, _PAIR),
    "add-dependency": Rule(_operand, "only the order of execution depends on it"),
    "domain": Rule(_operand, "it marks a border and has no value of its own"),
    "opt-barrier": Rule(_operand, "between slices there is nothing to optimise across it"),
    "get-dimension-size": Rule(_get_dimension_size, "a static size is a constant, a dynamic one is kept"),
    "dot": Rule(_product, "XLA's CPU compiler takes no operands of less than a byte: they are widened"),
    "convolution": Rule(_product, "as a dot"),
    "outfeed": Rule(_transfer, "nobody takes what it gives; only its token is left"),
    "infeed": Rule(_transfer, "it waits for the host program: its data are made"),
    "send": Rule(_transfer, "its own operand is what it holds"),
    "send-done": Rule(_transfer, "only its token is left"),
    "recv": Rule(
        _transfer,
        "what a send of its computation gives comes as by a collective-permute; where there is none, its data are made",
    ),
    "recv-done": Rule(_transfer, _PAIR),
    "reshape": Rule(_reshape, "XLA loses the sizes of a dynamic one on the way in; a static one stays"),
    "dynamic-reshape": Rule(_reshape, "the importer ends the process on it"),
    "custom-call": Rule(_custom_call, "see customcalls"),
    "scaled-dot": Rule(
        _means(blockscaled.scaled_dot), "the importer does not know it; the scales are products"
    ),
    "ragged-dot": Rule(_means(blockscaled.ragged_dot), "the importer does not know it; each group is a dot"),
} | {opcode: Rule(_collective, "see collectives") for opcode in collectives.OPCODES}
RULES |= {
    opcode: Rule(_means(meaning), "XLA's CPU compiler has no code for it")
    for opcode, meaning in elementary.BY_OPCODE.items()
}


def table() -> list[tuple[str, str, str]]:
    """What each construct becomes, as rows: the kind of construct, its name, and what becomes of it or why."""
    rows = [("opcode", opcode, rule.why) for opcode, rule in RULES.items()]
    rows += [
        ("custom call", target, f"becomes {rewrite.becomes}")
        for target, rewrite in customcalls.REWRITES.items()
    ]
    rows += [
        ("custom call", f"{prefix}...", f"unknown: {what}") for prefix, what in customcalls.FOREIGN.items()
    ]
    return sorted(rows)
