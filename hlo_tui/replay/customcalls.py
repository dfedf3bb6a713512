"""What becomes of a custom call: run by this jaxlib, replaced by plain HLO where it can be, or refused.

REWRITES is the table of what is replaced, FOREIGN that of what only another backend has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import (
    arrays,
    attention,
    blockscaled,
    cublas,
    cudnn,
    dynamic,
    elementary,
    halves,
    onednn,
    regions,
    selecting,
    threefry,
    traced,
)
from hlo_tui.replay.program import Op
from hlo_tui.replay.traced import Unsupported

if TYPE_CHECKING:
    from hlo_tui.replay.lowering import Emitter

__all__ = ["FOREIGN", "REWRITES", "Rewrite", "Unsupported", "is_callback", "lower"]

Instruction = pb.HloInstructionProto

_CALLBACK = re.compile(r"callback|host_?compute|xla\.debug\.log|py_?func", re.IGNORECASE)


def is_callback(target: str) -> bool:
    """Whether the target calls into the program that made the dump: its argument is a pointer in that
    process.
    """
    return _CALLBACK.search(target) is not None


def lower(
    op: Op, operands: Sequence[Instruction], _shapes: Sequence[pb.ShapeProto], out: Emitter
) -> Instruction:
    """Emit the plain form of a custom call, or the call itself where XLA has the target.

    Raises:
        Unsupported: a host callback that gives values, or a target that only another backend has and whose
            meaning is not known.
    """
    target = op.proto.custom_call_target
    if is_callback(target):
        if not _has_arrays(op.proto.shape):
            return _no_value(op.proto.shape, out)
        raise Unsupported(f"{target} calls into the program that made the dump; it is never run")
    rewrite = REWRITES.get(target)
    if rewrite is not None:
        try:
            return rewrite.lower(op, operands, out)
        except regions.Unreadable as error:
            raise Unsupported(str(error)) from error
        except Unsupported as error:
            raise Unsupported(f"{target}: {error}") from error
    if _has_body(op):
        return out.emit(
            "call", op.proto.shape, operands, called_computation_ids=[out.module.callee(op.called[0])]
        )
    for prefix, what in FOREIGN.items():
        if target.startswith(prefix):
            raise Unsupported(f"{target} is {what}")
    return out.clone(op.proto, operands, op.called)


def _has_arrays(shape: pb.ShapeProto) -> bool:
    if shape.element_type == arrays.TUPLE:
        return any(_has_arrays(part) for part in shape.tuple_shapes)
    return shape.element_type != arrays.TOKEN


def _no_value(shape: pb.ShapeProto, out: Emitter) -> Instruction:
    """Tokens, and tuples of nothing else."""
    if shape.element_type == arrays.TUPLE:
        return out.emit("tuple", shape, [_no_value(part, out) for part in shape.tuple_shapes])
    return out.emit("after-all", shape, [])


def _has_body(op: Op) -> bool:
    """Whether the call brings a computation that takes its operands: then that is what it means."""
    if len(op.called) != 1:
        return False
    body = op.computation.program.computation(op.called[0])
    operands = [op.computation.ops[o].proto.shape for o in op.operands]
    taken = [body.ops[p].proto.shape for p in body.parameters]
    return [arrays.shape_text(shape) for shape in operands] == [arrays.shape_text(shape) for shape in taken]


Lower = Callable[[Op, Sequence[Instruction], "Emitter"], Instruction]


class Rewrite(NamedTuple):
    """How a custom call is lowered, and what that is in words.

    Attributes:
        lower: emits the plain form.
        becomes: what that is.
        rounds: whether another library rounds otherwise than it.
    """

    lower: Lower
    becomes: str
    rounds: bool = False


def _identity(_op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    return operands[0] if len(operands) == 1 else out.emit("tuple", _tuple_of(operands), operands)


def _tuple_of(operands: Sequence[Instruction]) -> pb.ShapeProto:
    return pb.ShapeProto(element_type=arrays.TUPLE, tuple_shapes=[operand.shape for operand in operands])


def _zeros(op: Op, _operands: Sequence[Instruction], out: Emitter) -> Instruction:
    return out.zeros(op.proto.shape)


def _means(meaning: traced.Meaning, becomes: str, rounds: bool = True) -> Rewrite:
    return Rewrite(lambda op, operands, out: traced.emit(op.proto, operands, out, meaning), becomes, rounds)


def remarks(module: pb.HloModuleProto) -> list[str]:
    """What the custom calls of a module keep from being as they were in the job."""
    calls = [
        instruction
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.opcode == "custom-call"
    ]
    said = []
    callbacks = [call.name for call in calls if is_callback(call.custom_call_target)]
    if callbacks:
        said.append(f"callbacks into the job's program are never run: {_named(callbacks)}")
    targets = [call.custom_call_target for call in calls]
    rounded = [target for target in targets if target in REWRITES and REWRITES[target].rounds]
    if rounded:
        names = _named(sorted(set(rounded)))
        said.append(f"library calls are computed as plain HLO, so last digits may differ: {names}")
    return said


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:4]) + (f" and {len(names) - 4} more" if len(names) > 4 else "")


_MARKERS = (
    "Sharding", "LayoutConstraint", "annotate_device_placement", "MoveToHost", "MoveToDevice", "PinToDevice",
    "Pin", "Unpin", "xla.sdy.FuncResultSharding", "xla.sdy.Sharding", "xla.sdy.PropagationBarrier",
    "AssumeGatherIndicesInBound",
)  # fmt: skip
_SORT = _means(selecting.radix_sort, "a stable sort along the last dimension", rounds=False)
_SORTS = (
    "__cub$DeviceRadixSort", "__cub$DeviceRadixSortUnassignedScratchSize", "xla.gpu.ext.cub_sort_keys",
    "xla.gpu.ext.cub_sort_pairs", "xla.gpu.ext.cub_sort_unassigned_scratch_size",
)  # fmt: skip
_ATTENTION = _means(attention.forward, "dots around a softmax, with the mask and the bias")
_ATTENTION_BACK = _means(attention.backward, "the gradients of dots around a softmax")
_GEMM = "a dot, alpha and beta, the bias, the activation"

REWRITES: dict[str, Rewrite] = (
    dict.fromkeys(_MARKERS, Rewrite(_identity, "its operand: it marks a place or a sharding"))
    | dict.fromkeys(_SORTS, _SORT)
    | dict.fromkeys(("__cudnn$fmhaSoftmax", "__cudnn$fmhaScaleBiasSoftmax"), _ATTENTION)
    | dict.fromkeys(("__cudnn$fmhaSoftmaxBackward", "__cudnn$fmhaScaleBiasSoftmaxBackward"), _ATTENTION_BACK)
    | {
        "AllocateBuffer": Rewrite(_zeros, "zeros"),
        "PadToStatic": Rewrite(dynamic.pad_to_static, "the array of the bounds, and the sizes"),
        "SliceToDynamic": Rewrite(dynamic.slice_to_dynamic, "the array with its sizes set"),
        "xla.sdy.GlobalToLocalShape": Rewrite(regions.into_region, "each device's tile"),
        "xla.sdy.LocalToGlobalShape": Rewrite(regions.out_of_region, "an all-gather of the tiles"),
        "SPMDFullToShardShape": Rewrite(regions.full_to_shard, "each device's tile"),
        "SPMDShardToFullShape": Rewrite(regions.shard_to_full, "an all-gather of the tiles"),
        "__cublas$gemm": _means(cublas.product, _GEMM),
        "__cublas$lt$matmul": _means(cublas.product, _GEMM),
        "__cublas$lt$matmul$f8": _means(cublas.product_f8, f"{_GEMM}, and the scales"),
        "__cublas$lt$matmul$mx": _means(cublas.product_mx, "a dot of what the block scales multiply"),
        "__cudnn$convForward": _means(cudnn.forward, "a convolution"),
        "__cudnn$convBiasActivationForward": _means(
            cudnn.bias_activation, "a convolution, scales, the bias, what is added, the activation"
        ),
        "__cudnn$convBackwardInput": _means(
            cudnn.backward_input, "the gradient of a convolution's input, as a convolution"
        ),
        "__cudnn$convBackwardFilter": _means(
            cudnn.backward_filter, "the gradient of a convolution's filter, as a convolution"
        ),
        "__cudnn$convForwardGraph": _means(
            cudnn.forward_graph, "a convolution and the steps of its serialized graph"
        ),
        "__onednn$matmul": _means(onednn.matmul, "a dot and the fused operations"),
        "__onednn$convolution": _means(onednn.convolution, "a convolution and the fused operations"),
        "__onednn$layernorm": _means(onednn.layer_norm, "a layer norm over the last dimension"),
        "__onednn$softmax": _means(onednn.softmax, "a softmax"),
        "__op$block_scaled_dot": _means(blockscaled.block_scaled_dot, "a dot of what the scales multiply"),
        "__op$quantize": _means(blockscaled.quantize, "a division by the scale of each block"),
        "__op$dequantize": _means(blockscaled.dequantize, "a product with the scale of each block"),
        "__gpu$TopK": _means(selecting.top_k, "a topk", rounds=False),
        "TopK": _means(
            selecting.top_k, "a topk: XLA's CPU compiler takes the call for f32 alone", rounds=False
        ),
        "ApproxTopK": Rewrite(selecting.approximate, "a sort and its first elements: none is missed"),
        "PartialReduce": Rewrite(selecting.approximate, "a sort and its first elements: none is missed"),
    }
    | dict.fromkeys(
        threefry.TARGETS, _means(threefry.threefry, "the additions and rotations of Threefry", rounds=False)
    )
    | {
        "X64SplitLow": _means(halves.low, "the lower half of the bits", rounds=False),
        "X64SplitHigh": _means(halves.high, "the upper half of the bits", rounds=False),
        "X64Combine": _means(halves.combine, "the bits of both halves", rounds=False),
    }
    | {target: _means(meaning, "its expansion") for target, meaning in elementary.BY_TARGET.items()}
)

FOREIGN: dict[str, str] = {
    "tpu_custom_call": "a kernel of the TPU in Mosaic",
    "triton_kernel_call": "a kernel of the GPU in Triton",
    "mosaic_gpu": "a kernel of the GPU in Mosaic",
    "CuteDSL": "a kernel of the GPU in CuTe",
    "te_": "a kernel of Transformer Engine",
    "nvshmem": "communication between GPUs",
    "AwsNeuron": "a kernel of Neuron devices",
    "__gpu$": "a kernel of the GPU",
    "__cublas$": "a kernel of cuBLAS whose meaning is not known here",
    "__cudnn$": "a kernel of cuDNN whose meaning is not known here",
    "cudnn": "a kernel of cuDNN whose meaning is not known here",
    "__onednn$": "a call of oneDNN whose meaning is not known here",
    "xla.gpu.": "a kernel of the GPU",
}
