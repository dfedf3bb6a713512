"""Windows of convolutions and reductions, and the multiply-adds of a convolution."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.numerals import product
from hlo_tui.hlo.shape import Shape

_FIELD = re.compile(r"(\w+)=([\dx_\-]+)")
# Positions that are counted one by one; larger windows are counted as if nothing were padding.
_MOST = 1 << 24


@dataclass(frozen=True, slots=True)
class Dimension:
    """One dimension of a window, in XLA's words."""

    size: int = 1
    stride: int = 1
    low: int = 0
    high: int = 0
    window_dilation: int = 1
    base_dilation: int = 1


def window_of(text: str) -> tuple[Dimension, ...]:
    """Read `{size=3x3 stride=2x2 pad=1_1x0_1 lhs_dilate=... rhs_dilate=...}`; what is missing has its usual value."""
    found = {key: value.split("x") for key, value in _FIELD.findall(text)}
    count = len(found.get("size", ()))
    pads = [(*pad.split("_"), "0", "0")[:2] for pad in found.get("pad", ["0_0"] * count)]
    dimensions = []
    for at in range(count):
        low, high = pads[at] if at < len(pads) else ("0", "0")
        dimensions.append(
            Dimension(
                _at(found.get("size"), at), _at(found.get("stride"), at), _int(low, 0), _int(high, 0),
                _at(found.get("rhs_dilate"), at), _at(found.get("lhs_dilate"), at),
            )
        )  # fmt: skip
    return tuple(dimensions)


def _at(values: Sequence[str] | None, at: int) -> int:
    return _int(values[at], 1) if values is not None and at < len(values) else 1


def _int(text: str, usual: int) -> int:
    return int(text) if re.fullmatch(r"-?\d{1,18}", text) else usual


def convolution_flops(instruction: Instruction, lhs: Shape, rhs: Shape, result: Shape) -> float:
    """Two for each multiply-add; padding and dilation are not counted. 0 where the dimensions cannot be read."""
    labels = re.fullmatch(r"([\w?]+)_([\w?]+)->([\w?]+)", instruction.attributes.get("dim_labels", ""))
    if labels is None:
        return 0
    inputs, kernel, output = labels.groups()
    if len(inputs) != lhs.rank or len(kernel) != rhs.rank or len(output) != result.rank:
        return 0
    try:
        batch, features = lhs.dimensions[inputs.index("b")], lhs.dimensions[inputs.index("f")]
        made = result.dimensions[output.index("f")]
        spatial = [
            _valid(dimension, lhs.dimensions[inputs.index(str(at))], rhs.dimensions[kernel.index(str(at))],
                   result.dimensions[output.index(str(at))])
            for at, dimension in enumerate(window_of(instruction.attributes.get("window", "")))
        ]  # fmt: skip
    except ValueError:
        return 0
    groups = max(1, _int(instruction.attributes.get("feature_group_count", "1"), 1))
    batches = max(1, _int(instruction.attributes.get("batch_group_count", "1"), 1))
    return 2.0 * (features // groups) * made * (batch // batches) * product(spatial)


def _valid(window: Dimension, base: int, kernel: int, output: int) -> int:
    """How often an element of the kernel meets one of the input along one dimension."""
    if kernel * output > _MOST or min(base, kernel, output) < 0:
        return kernel * output
    total = 0
    if window.stride == 1 and window.base_dilation == 1:
        for at in range(kernel):
            shift = window.low - at * window.window_dilation
            total += max(0, min(base + shift, output) - max(shift, 0))
        return total
    for at in range(kernel):
        for place in range(output):
            index = place * window.stride - window.low + at * window.window_dilation
            if index % window.base_dilation == 0 and 0 <= index // window.base_dilation < base:
                total += 1
    return total
