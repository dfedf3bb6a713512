"""What becomes of a custom call: run by this jaxlib, replaced by plain HLO where it can be, or refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays, regions
from hlo_tui.replay.program import Op

if TYPE_CHECKING:
    from hlo_tui.replay.lowering import Emitter

Instruction = pb.HloInstructionProto


class Unsupported(Exception):
    """This target cannot be run here; the text says why."""


def is_callback(target: str) -> bool:
    """Whether the target calls into the program that made the dump: its argument is a pointer in that
    process.
    """
    return "callback" in target or target == "xla.debug.Log"


def lower(
    op: Op, operands: Sequence[Instruction], _shapes: Sequence[pb.ShapeProto], out: Emitter
) -> Instruction:
    """Emit the plain form of a custom call, or the call itself where XLA has the target.

    Raises:
        Unsupported: a host callback, or a target with no public meaning that only another backend has.
    """
    target = op.proto.custom_call_target
    if is_callback(target):
        raise Unsupported(f"{target} calls into the program that made the dump; it is never run")
    rewrite = REWRITES.get(target)
    if rewrite is not None:
        try:
            return rewrite(op, operands, out)
        except regions.Unreadable as error:
            raise Unsupported(str(error)) from error
    if _has_body(op):
        return out.emit(
            "call", op.proto.shape, operands, called_computation_ids=[out.module.callee(op.called[0])]
        )
    if target.startswith(_FOREIGN):
        raise Unsupported(f"{target} is a kernel of another backend")
    return out.clone(op.proto, operands, op.called)


def _has_body(op: Op) -> bool:
    """Whether the call brings a computation that takes its operands: then that is what it means."""
    if len(op.called) != 1:
        return False
    body = op.computation.program.computation(op.called[0])
    operands = [op.computation.ops[o].proto.shape for o in op.operands]
    taken = [body.ops[p].proto.shape for p in body.parameters]
    return [arrays.shape_text(shape) for shape in operands] == [arrays.shape_text(shape) for shape in taken]


def _identity(_op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    return operands[0] if len(operands) == 1 else out.emit("tuple", _tuple_of(operands), operands)


def _tuple_of(operands: Sequence[Instruction]) -> pb.ShapeProto:
    return pb.ShapeProto(element_type=arrays.TUPLE, tuple_shapes=[operand.shape for operand in operands])


def _zeros(op: Op, _operands: Sequence[Instruction], out: Emitter) -> Instruction:
    false_shape = arrays.array_shape(arrays.PRED, ())
    literal = pb.LiteralProto(shape=false_shape, preds=[False])
    false = out.emit("constant", false_shape, [], literal=literal)
    element = op.proto.shape.element_type
    zero = false if element == arrays.PRED else out.emit("convert", arrays.array_shape(element, ()), [false])
    return out.emit("broadcast", op.proto.shape, [zero])


_MARKERS = (
    "Sharding", "LayoutConstraint", "annotate_device_placement", "MoveToHost", "MoveToDevice", "PinToDevice",
    "Pin", "Unpin", "xla.sdy.FuncResultSharding", "xla.sdy.Sharding", "xla.sdy.PropagationBarrier",
)  # fmt: skip

Rewrite = Callable[[Op, Sequence[Instruction], "Emitter"], Instruction]
REWRITES: dict[str, Rewrite] = dict.fromkeys(_MARKERS, _identity) | {
    "AllocateBuffer": _zeros,
    "xla.sdy.GlobalToLocalShape": regions.into_region,
    "xla.sdy.LocalToGlobalShape": regions.out_of_region,
    "SPMDFullToShardShape": regions.full_to_shard,
    "SPMDShardToFullShape": regions.shard_to_full,
}

_FOREIGN = (
    "tpu_custom_call", "triton_kernel_call", "__gpu$", "te_", "__cublas$", "__cudnn$", "cudnn",
    "mosaic_gpu", "nvshmem", "AwsNeuron",
)  # fmt: skip
