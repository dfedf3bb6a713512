"""What becomes of a custom call: run by this jaxlib, replaced by plain HLO where its meaning is public, or
refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays
from hlo_tui.replay.program import Op

if TYPE_CHECKING:
    from hlo_tui.replay.lowering import Emitter

Instruction = pb.HloInstructionProto


class Unsupported(Exception):
    """This target cannot be run here; the text says why."""


def is_callback(target: str) -> bool:
    """Whether the target calls back into the program that made the dump: its argument is a pointer in that
    process.
    """
    return "callback" in target or target in ("xla.debug.Log",)


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
        return rewrite(op, operands, out)
    if target.startswith(_FOREIGN):
        raise Unsupported(f"{target} is a kernel of another backend")
    return out.clone(op.proto, operands, op.called)


def _identity(_op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    return operands[0] if len(operands) == 1 else out.emit("tuple", _tuple_of(operands), operands)


def _tuple_of(operands: Sequence[Instruction]) -> pb.ShapeProto:
    return pb.ShapeProto(element_type=arrays.TUPLE, tuple_shapes=[operand.shape for operand in operands])


def _zeros(op: Op, _operands: Sequence[Instruction], out: Emitter) -> Instruction:
    number = op.proto.shape.element_type
    scalar = arrays.array_shape(number, ())
    # A literal without elements of its own type is read as zero only for numbers; an array's first element
    # makes it so for all.
    zero = pb.LiteralProto(shape=arrays.array_shape(1, ()), preds=[False])
    constant = out.emit("constant", arrays.array_shape(1, ()), [], literal=zero)
    converted = constant if number == 1 else out.emit("convert", scalar, [constant])
    return out.emit("broadcast", op.proto.shape, [converted])


_MARKERS = (
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "LayoutConstraint",
    "annotate_device_placement", "MoveToHost", "MoveToDevice", "PinToDevice", "Pin", "Unpin",
    "xla.sdy.FuncResultSharding", "xla.sdy.Sharding", "xla.sdy.PropagationBarrier",
)  # fmt: skip

Rewrite = Callable[[Op, Sequence[Instruction], "Emitter"], Instruction]
REWRITES: dict[str, Rewrite] = dict.fromkeys(_MARKERS, _identity) | {"AllocateBuffer": _zeros}

_FOREIGN = (
    "tpu_custom_call",
    "triton_kernel_call",
    "__gpu$",
    "te_",
    "__cublas$",
    "__cudnn$",
    "cudnn",
    "mosaic_gpu",
    "nvshmem",
    "AwsNeuron",
)
