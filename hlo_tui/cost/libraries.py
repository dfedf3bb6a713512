"""Floating-point operations of library calls whose meaning is known: matrix products and convolutions."""

from __future__ import annotations

import re
from collections.abc import Sequence

from hlo_tui.cost.windows import convolution_flops
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.numerals import product
from hlo_tui.hlo.shape import Shape

_MATMUL = re.compile(r"__cublas|__triton_gemm|__onednn\$matmul|matmul", re.IGNORECASE)
_CONVOLUTION = re.compile(r"__cudnn\$conv|__onednn\$convolution")
_CONTRACTING = re.compile(r'"lhs_contracting_dimensions":\s*\[([^\]]{0,200})\]')
# Calls that compute nothing: they mark a place or give a value on.
_FREE = frozenset((
    "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "AllocateBuffer", "MoveToHost", "MoveToDevice",
    "annotate_device_placement", "xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape",
    "xla.sdy.LocalToGlobalShape",
))  # fmt: skip


def library_cost(instruction: Instruction, operands: Sequence[Shape]) -> float | None:
    """The operations of a custom call; None where nobody knows what it does."""
    target = instruction.attributes.get("custom_call_target", "").strip('"')
    if target in _FREE:
        return 0.0
    result = instruction.shape
    if result.is_tuple and result.elements:
        result = result.elements[0]
    if len(operands) < 2:
        return None
    if _CONVOLUTION.search(target):
        return _convolution(instruction, target, operands, result)
    if _MATMUL.search(target):
        return 2.0 * result.element_count * _width(instruction, operands[0])
    return None


def _width(instruction: Instruction, lhs: Shape) -> int:
    """How many products are summed up for each element; the last dimension where the call does not say."""
    found = _CONTRACTING.search(instruction.attributes.get("backend_config", "").replace('\\"', '"'))
    places = [int(at) for at in re.findall(r"\d{1,9}", found[1])] if found is not None else [lhs.rank - 1]
    return product(lhs.dimensions[at] for at in places if 0 <= at < lhs.rank)


def _convolution(
    instruction: Instruction, target: str, operands: Sequence[Shape], result: Shape
) -> float | None:
    """A gradient is counted as the convolution that it is the gradient of."""
    lhs, rhs = operands[0], operands[1]
    if "BackwardInput" in target:
        lhs, result = result, lhs
    elif "BackwardFilter" in target:
        rhs, result = result, rhs
    return convolution_flops(instruction, lhs, rhs, result) or None
