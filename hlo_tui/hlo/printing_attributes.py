"""The attributes that belong to an opcode, as XLA writes them after the operands of an instruction."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hlo_tui.hlo.literals import literal_with_shape_text
from hlo_tui.hlo.printing_collectives import COLLECTIVES
from hlo_tui.hlo.printing_numbers import (
    DIMENSION_NUMBERS,
    Shapes,
    dim_labels,
    group_counts,
    precision_attributes,
    window_attribute,
)
from hlo_tui.hlo.printing_shapes import enum_name, flag, integers, primitive_type_name, shape_text
from hlo_tui.hlo.printing_sharding import sharding_text
from hlo_tui.hlo.printing_strings import c_escape
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.visible import visible


def opcode_attributes(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    """Give the attributes that the opcode has of its own, `name=value` each, in XLA's order.

    Args:
        instruction: of any opcode.
        shapes: of its operands; None where an operand is missing.
    """
    printer = _PRINTERS.get(instruction.opcode)
    return () if printer is None else printer(instruction, shapes)


def fields_of_other_opcodes(instruction: pb.HloInstructionProto) -> Iterable[str]:
    """Give the names of fields that are set although the opcode, as it is known here, has no use for them."""
    if instruction.opcode in _PRINTERS:
        return
    for field, _ in instruction.ListFields():
        if field.name not in _COMMON:
            yield field.name


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _dimensions(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"dimensions={{{integers(instruction.dimensions)}}}"


def _sort(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    yield from _dimensions(instruction, shapes)
    yield from flag("is_stable", instruction.is_stable)


def _scan(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    yield from _dimensions(instruction, shapes)
    yield f"num_carries={instruction.num_carries}"
    yield from flag("is_reverse", instruction.is_reverse)
    if instruction.is_associative != pb.TRI_STATE_UNSPECIFIED:
        yield f"is_associative={_bool(instruction.is_associative == pb.TRI_STATE_TRUE)}"


def _reshape(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    if instruction.dimensions:
        yield f"inferred_dimension={instruction.dimensions[0]}"


def _iota(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"iota_dimension={integers(instruction.dimensions)}"


def _batch_norm(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"epsilon={instruction.epsilon:g}"
    yield f"feature_index={instruction.feature_index}"


def _fft(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"fft_type={enum_name(pb.FftType, instruction.fft_type)}"
    yield f"fft_length={{{integers(instruction.fft_length)}}}"


def _compare(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    yield f"direction={visible(instruction.comparison_direction)}"
    kind = instruction.comparison_type
    compared = shapes[0] if shapes else None
    if kind and (compared is None or kind != _default_comparison(compared.element_type)):
        yield f"type={visible(kind)}"


def _default_comparison(element_type: int) -> str:
    name = primitive_type_name(element_type)
    if name == "pred" or name[0] == "u":
        return "UNSIGNED"
    return "SIGNED" if name[0] == "s" else "FLOAT"


def _triangular_solve(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    options = instruction.triangular_solve_options
    for name in ("left_side", "lower", "unit_diagonal"):
        yield from flag(name, getattr(options, name))
    if options.transpose_a:
        yield f"transpose_a={enum_name(pb.TriangularSolveOptions.Transpose, options.transpose_a)}"


def _cholesky(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield from flag("lower", instruction.cholesky_options.lower)


def _topk(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"k={instruction.k}"
    yield f"largest={_bool(instruction.largest)}"
    yield from flag("is_stable", instruction.is_stable)


def _rng(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"distribution={enum_name(pb.RandomDistribution, instruction.distribution).lower()}"


def _rng_bit_generator(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"algorithm={enum_name(pb.RandomAlgorithm, instruction.rng_algorithm).lower()}"


def _rng_state(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"delta={instruction.delta}"


def _reduce_precision(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"exponent_bits={instruction.exponent_bits}"
    yield f"mantissa_bits={instruction.mantissa_bits}"


def _tuple_element(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"index={instruction.tuple_index}"


def _parameter(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    if instruction.HasField("parameter_replication"):
        flags = map(_bool, instruction.parameter_replication.replicated_at_leaf_buffers)
        yield f"parameter_replication={{{','.join(flags)}}}"


def _fusion(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    yield f"kind={visible(instruction.fusion_kind)}"
    yield from _aliasing(instruction, shapes)


def _aliasing(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    if instruction.output_operand_aliasing:
        pieces = (
            f"{{{integers(one.output_shape_index)}}}:"
            f" ({one.operand_index}, {{{integers(one.operand_shape_index)}}})"
            for one in instruction.output_operand_aliasing
        )
        yield f"output_to_operand_aliasing={{{', '.join(pieces)}}}"


def _async_start(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    thread = instruction.async_execution_thread
    if thread and thread != "main":
        yield f'async_execution_thread="{visible(thread)}"'
    yield from _aliasing(instruction, shapes)


def _copy_start(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    if instruction.HasField("cross_program_prefetch_index"):
        yield f"cross_program_prefetch_index={instruction.cross_program_prefetch_index}"
    elif instruction.is_cross_program_prefetch:
        yield "cross_program_prefetch_index=0"


def _infeed(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    if instruction.infeed_config:
        yield f'infeed_config="{c_escape(instruction.infeed_config)}"'


def _outfeed(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield f"outfeed_shape={shape_text(instruction.outfeed_shape)}"
    if instruction.outfeed_config:
        yield f'outfeed_config="{c_escape(instruction.outfeed_config)}"'


def _domain(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    # XLA calls the sharding of the user side "exit" in the proto and "entry" in the text.
    entry, exit_ = (
        sharding_text(getattr(instruction, name)) if instruction.HasField(name) else "{}"
        for name in ("domain_exit_sharding", "domain_entry_sharding")
    )
    yield f'domain={{kind="sharding", entry={entry}, exit={exit_}}}'


def _custom_call(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    if instruction.HasField("window"):
        yield from window_attribute(instruction)
    if instruction.HasField("convolution_dimension_numbers"):
        yield f"dim_labels={dim_labels(instruction.convolution_dimension_numbers)}"
    yield from group_counts(instruction)
    yield from precision_attributes(instruction)
    if instruction.padding_type:
        yield f"padding_type={enum_name(pb.PaddingType, instruction.padding_type)}"
    yield f'custom_call_target="{c_escape(instruction.custom_call_target)}"'
    if instruction.constrain_layout:
        layouts = ", ".join(shape_text(shape) for shape in instruction.operand_shapes_with_layout)
        yield f"operand_layout_constraints={{{layouts}}}"
    yield from flag("custom_call_has_side_effect", instruction.custom_call_has_side_effect)
    if instruction.HasField("literal"):
        yield f"literal={literal_with_shape_text(instruction.literal)}"
    yield from _aliasing(instruction, shapes)
    if instruction.custom_call_schedule:
        yield f"schedule={enum_name(pb.CustomCallSchedule, instruction.custom_call_schedule)}"
    version = instruction.custom_call_api_version
    if version != pb.API_VERSION_ORIGINAL:
        yield f"api_version={enum_name(pb.CustomCallApiVersion, version)}"


_PRINTERS: dict[str, Callable[[pb.HloInstructionProto, Shapes], Iterable[str]]] = {
    **DIMENSION_NUMBERS,
    **COLLECTIVES,
    **dict.fromkeys(
        (
            "broadcast",
            "concatenate",
            "get-dimension-size",
            "map",
            "reduce",
            "reverse",
            "set-dimension-size",
            "transpose",
        ),
        _dimensions,
    ),
    **dict.fromkeys(("batch-norm-training", "batch-norm-inference", "batch-norm-grad"), _batch_norm),
    **dict.fromkeys(("async-update", "call"), _aliasing),
    "async-start": _async_start,
    "cholesky": _cholesky,
    "compare": _compare,
    "copy-start": _copy_start,
    "custom-call": _custom_call,
    "domain": _domain,
    "fft": _fft,
    "fusion": _fusion,
    "get-tuple-element": _tuple_element,
    "infeed": _infeed,
    "iota": _iota,
    "outfeed": _outfeed,
    "parameter": _parameter,
    "reduce-precision": _reduce_precision,
    "reshape": _reshape,
    "rng": _rng,
    "rng-bit-generator": _rng_bit_generator,
    "rng-get-and-update-state": _rng_state,
    "scan": _scan,
    "sort": _sort,
    "topk": _topk,
    "triangular-solve": _triangular_solve,
}

# Fields that any instruction can have; they are printed outside this module.
_COMMON = frozenset(
    (
        "name",
        "opcode",
        "shape",
        "metadata",
        "literal",
        "parameter_number",
        "id",
        "operand_ids",
        "control_predecessor_ids",
        "called_computation_ids",
        "sharding",
        "backend_config",
        "backend_config_payload",
        "frontend_attributes",
        "statistics_viz",
        "original_value",
        "is_composite",
        "result_accuracy",
    )
)
