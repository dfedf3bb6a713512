"""Attributes that hold dimension numbers: of slices, windows, convolutions, dots, gathers and scatters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlo_tui.hlo.printing_shapes import enum_name, flag, integers
from hlo_tui.hlo.schema import hlo_pb2 as pb

# The shapes of the operands; None where an operand is missing.
Shapes = Sequence[pb.ShapeProto | None]


def _slice(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    with_stride = any(one.stride != 1 for one in instruction.slice_dimensions)
    pieces = (
        f"[{one.start}:{one.limit}{f':{one.stride}' if with_stride else ''}]"
        for one in instruction.slice_dimensions
    )
    yield f"slice={{{', '.join(pieces)}}}"


def _dynamic_slice(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"dynamic_slice_sizes={{{integers(instruction.dynamic_slice_sizes)}}}"


def _pad(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    dimensions = instruction.padding_config.dimensions
    interior = any(one.interior_padding for one in dimensions)
    pieces = (
        f"{one.edge_padding_low}_{one.edge_padding_high}{f'_{one.interior_padding}' if interior else ''}"
        for one in dimensions
    )
    yield f"padding={'x'.join(pieces)}"


def window_attribute(instruction: pb.HloInstructionProto, _: Shapes = ()) -> Iterable[str]:
    """Give `window={...}`, or nothing for a window without dimensions."""
    dimensions = instruction.window.dimensions
    if not dimensions:
        return
    fields = [f"size={'x'.join(str(one.size) for one in dimensions)}"]
    if any(one.stride != 1 for one in dimensions):
        fields.append(f"stride={'x'.join(str(one.stride) for one in dimensions)}")
    if any(one.padding_low or one.padding_high for one in dimensions):
        fields.append(f"pad={'x'.join(f'{one.padding_low}_{one.padding_high}' for one in dimensions)}")
    if any(one.base_dilation != 1 for one in dimensions):
        fields.append(f"lhs_dilate={'x'.join(str(one.base_dilation) for one in dimensions)}")
    if any(one.window_dilation != 1 for one in dimensions):
        fields.append(f"rhs_dilate={'x'.join(str(one.window_dilation) for one in dimensions)}")
    if any(one.window_reversal for one in dimensions):
        fields.append(f"rhs_reversal={'x'.join(str(int(one.window_reversal)) for one in dimensions)}")
    yield f"window={{{' '.join(fields)}}}"


def dim_labels(numbers: pb.ConvolutionDimensionNumbers) -> str:
    """Give the dimension numbers of a convolution in letters: `b01f_01io->b01f`."""
    sides = (
        (("input", "batch", "b"), ("input", "feature", "f")),
        (("kernel", "input_feature", "i"), ("kernel", "output_feature", "o")),
        (("output", "batch", "b"), ("output", "feature", "f")),
    )
    labels = []
    for side in sides:
        places = {getattr(numbers, f"{value}_{name}_dimension"): letter for value, name, letter in side}
        spatial = getattr(numbers, f"{side[0][0]}_spatial_dimensions")
        places |= {place: str(index) for index, place in enumerate(spatial)}
        # A damaged number could name a place that is far away.
        width = min(max(places) + 1, 2 * len(places))
        labels.append("".join(places.get(place, "?") for place in range(width)))
    return f"{labels[0]}_{labels[1]}->{labels[2]}"


def precision_attributes(instruction: pb.HloInstructionProto, count: int | None = None) -> Iterable[str]:
    """Give `operand_precision=` and `algorithm=` where they are not the default.

    Args:
        instruction: with a precision config.
        count: how many operands have a precision; all where it is None.
    """
    config = instruction.precision_config
    if any(config.operand_precision):
        names = [enum_name(pb.PrecisionConfig.Precision, one).lower() for one in config.operand_precision]
        wanted = len(instruction.operand_ids) if count is None else count
        names = (names + ["default"] * wanted)[: max(wanted, 1)]
        yield f"operand_precision={{{','.join(names)}}}"
    if config.algorithm:
        yield f"algorithm={enum_name(pb.PrecisionConfig.Algorithm, config.algorithm, 'ALG_').lower()}"


def group_counts(instruction: pb.HloInstructionProto) -> Iterable[str]:
    """Give the feature and batch group counts of a convolution where they are not 1."""
    if instruction.feature_group_count not in (0, 1):
        yield f"feature_group_count={instruction.feature_group_count}"
    if instruction.batch_group_count not in (0, 1):
        yield f"batch_group_count={instruction.batch_group_count}"


def _convolution(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield from window_attribute(instruction)
    yield f"dim_labels={dim_labels(instruction.convolution_dimension_numbers)}"
    yield from group_counts(instruction)
    if instruction.conv_kind:
        kind = enum_name(pb.ConvolutionKind, instruction.conv_kind, "CONVOLUTION_KIND_")
        yield f"convolution_kind={kind.lower()}"
    yield from precision_attributes(instruction)
    sides = []
    for name in ("lhs", "rhs"):
        if instruction.sparsity_config.HasField(name):
            one = getattr(instruction.sparsity_config, name)
            sides.append(
                f"{name}={{sparsity={one.num_non_zero}x{one.block_size} dimension={one.dimension}"
                f" stride={one.stride} idx={one.idx}}}"
            )
    if sides:
        yield f"sparsity_config={{{' '.join(sides)}}}"


def _dot_numbers(numbers: pb.DotDimensionNumbers) -> Iterable[str]:
    for side in ("lhs", "rhs"):
        if batch := getattr(numbers, f"{side}_batch_dimensions"):
            yield f"{side}_batch_dims={{{integers(batch)}}}"
        yield f"{side}_contracting_dims={{{integers(getattr(numbers, f'{side}_contracting_dimensions'))}}}"


def _dot(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield from _dot_numbers(instruction.dot_dimension_numbers)
    yield from precision_attributes(instruction, 2 if instruction.opcode == "scaled-dot" else None)
    if instruction.dot_sparsity:
        sides = (f"{'RL'[not one.index]}.{one.dimension}@{one.n}:{one.m}" for one in instruction.dot_sparsity)
        yield f"sparsity={'_'.join(sides)}"


def _ragged_dot(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    numbers = instruction.ragged_dot_dimension_numbers
    yield from _dot_numbers(numbers.dot_dimension_numbers)
    if numbers.lhs_ragged_dimensions:
        yield f"lhs_ragged_dims={{{integers(numbers.lhs_ragged_dimensions)}}}"
    if numbers.rhs_group_dimensions:
        yield f"rhs_group_dims={{{integers(numbers.rhs_group_dimensions)}}}"
    yield from precision_attributes(instruction, 2)


def _lists(numbers: object, names: Sequence[str], optional: Sequence[str]) -> Iterable[str]:
    for name in (*names, *optional):
        values = getattr(numbers, name)
        if values or name in names:
            yield f"{name}={{{integers(values)}}}"


def _gather(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    numbers = instruction.gather_dimension_numbers
    yield from _lists(
        numbers,
        ("offset_dims", "collapsed_slice_dims", "start_index_map"),
        ("operand_batching_dims", "start_indices_batching_dims"),
    )
    yield f"index_vector_dim={numbers.index_vector_dim}"
    yield f"slice_sizes={{{integers(instruction.gather_slice_sizes)}}}"
    yield from flag("indices_are_sorted", instruction.indices_are_sorted)


def _scatter(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    numbers = instruction.scatter_dimension_numbers
    yield from _lists(
        numbers,
        ("update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims"),
        ("input_batching_dims", "scatter_indices_batching_dims"),
    )
    yield f"index_vector_dim={numbers.index_vector_dim}"
    yield from flag("indices_are_sorted", instruction.indices_are_sorted)
    yield from flag("unique_indices", instruction.unique_indices)


DIMENSION_NUMBERS = {
    "slice": _slice,
    "dynamic-slice": _dynamic_slice,
    "pad": _pad,
    "reduce-window": window_attribute,
    "select-and-scatter": window_attribute,
    "convolution": _convolution,
    "dot": _dot,
    "scaled-dot": _dot,
    "ragged-dot": _ragged_dot,
    "gather": _gather,
    "scatter": _scatter,
}
