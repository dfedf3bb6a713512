"""Text of shapes, layouts and program shapes, as XLA writes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.visible import visible

# Every fifth element of a long list is preceded by a comment with its index.
INDEX_INTERVAL = 5

_NOT_ARRAYS = frozenset((pb.TUPLE, pb.TOKEN, pb.OPAQUE_TYPE, pb.BUFFER, pb.PRIMITIVE_TYPE_INVALID))
_NAMES = {number: name.lower() for name, number in pb.PrimitiveType.items()}
_NAMES |= {pb.OPAQUE_TYPE: "opaque", pb.PRIMITIVE_TYPE_INVALID: "invalid"}
_INTEGRAL = frozenset(number for number, name in _NAMES.items() if name[0] in "su" and name[1:].isdigit())
_WIDTH = re.compile(r"\d+")
_LEVEL_TYPES = {
    pb.DIM_DENSE: "D",
    pb.DIM_COMPRESSED: "C",
    pb.DIM_SINGLETON: "S",
    pb.DIM_LOOSE_COMPRESSED: "H",
}


def primitive_type_name(number: int) -> str:
    """Give the name that HLO text uses for an element type; a number that is not known becomes `typeN`."""
    return _NAMES.get(number) or f"type{number}"


def bit_width(number: int) -> int:
    """Give the bits of an element of an array type; of the real and the imaginary part together."""
    digits = _WIDTH.search(primitive_type_name(number))
    return int(digits[0]) if digits else 1


class _Enum(Protocol):
    def Name(self, number: int) -> str: ...


def enum_name(enum: _Enum, number: int, prefix: str = "") -> str:
    """Give the name of an enum value without `prefix`; a number that has no name here as it is."""
    try:
        return enum.Name(number).removeprefix(prefix)
    except ValueError:
        return str(number)


def is_array(shape: pb.ShapeProto) -> bool:
    """Whether the shape is an array: not a tuple, a token, an opaque value or a buffer."""
    return shape.element_type not in _NOT_ARRAYS


def integers(values: Iterable[int]) -> str:
    """Give the numbers joined by commas without spaces."""
    return ",".join(map(str, values))


def flag(name: str, value: bool) -> tuple[str, ...]:
    """Give the attribute `name=true`, or none where the value is false."""
    return (f"{name}=true",) if value else ()


def with_indices(pieces: Sequence[str]) -> str:
    """Join pieces by `, ` with a comment that gives the index before every fifth."""
    if len(pieces) <= INDEX_INTERVAL:
        return ", ".join(pieces)
    marked = (
        f"/*index={index}*/{piece}" if index and index % INDEX_INTERVAL == 0 else piece
        for index, piece in enumerate(pieces)
    )
    return ", ".join(marked)


def shape_text(shape: pb.ShapeProto, layout: bool = True) -> str:
    """Give the text of a shape.

    Args:
        shape: any shape; what contradicts itself is printed as far as it goes.
        layout: whether layouts are shown, as in instructions but not in program shapes.
    """
    kind = shape.element_type
    if kind == pb.TUPLE:
        return f"({with_indices([shape_text(element, layout) for element in shape.tuple_shapes])})"
    if kind == pb.BUFFER:
        return f"b({with_indices([shape_text(element, layout) for element in shape.tuple_shapes])})"
    dimensions = _dimensions_text(shape) if is_array(shape) else ""
    text = f"{primitive_type_name(kind)}[{dimensions}]"
    if layout and is_array(shape) and shape.HasField("layout"):
        braces = layout_text(shape.layout)
        if shape.dimensions or braces != "{}":
            return text + braces
    return text


def _dimensions_text(shape: pb.ShapeProto) -> str:
    dynamic = shape.is_dynamic_dimension
    if not any(dynamic):
        return integers(shape.dimensions)
    pieces = []
    for index, size in enumerate(shape.dimensions):
        if index < len(dynamic) and dynamic[index]:
            pieces.append("?" if size < 0 else f"<={size}")
        else:
            pieces.append(str(size))
    return ",".join(pieces)


def layout_text(layout: pb.LayoutProto) -> str:
    """Give a layout in its braces: minor to major order, then tiles and what else is set."""
    parts = []
    if layout.dim_level_types:
        parts.append(f"D({','.join(_level_types(layout))})")
    if layout.tiles:
        parts.append("T" + "".join(map(_tile_text, layout.tiles)))
    if layout.tail_padding_alignment_in_elements not in (0, 1):
        parts.append(f"L({layout.tail_padding_alignment_in_elements})")
    for mark, kind in (("#", layout.index_primitive_type), ("*", layout.pointer_primitive_type)):
        if kind != pb.PRIMITIVE_TYPE_INVALID:
            parts.append(f"{mark}({primitive_type_name(kind) if kind in _INTEGRAL else 'invalid'})")
    if layout.element_size_in_bits:
        parts.append(f"E({layout.element_size_in_bits})")
    if layout.memory_space:
        parts.append(f"S({layout.memory_space})")
    if layout.split_configs:
        splits = (f"({split.dimension}:{integers(split.split_indices)})" for split in layout.split_configs)
        parts.append("SC" + "".join(splits))
    if layout.HasField("physical_shape"):
        parts.append(f"P({shape_text(layout.physical_shape)})")
    if layout.dynamic_shape_metadata_prefix_bytes > 0:
        parts.append(f"M({layout.dynamic_shape_metadata_prefix_bytes})")
    colon = ":" if parts else ""
    return f"{{{integers(layout.minor_to_major)}{colon}{''.join(parts)}}}"


def _level_types(layout: pb.LayoutProto) -> Iterable[str]:
    for index, kind in enumerate(layout.dim_level_types):
        text = _LEVEL_TYPES.get(kind, f"level{kind}")
        if index < len(layout.dim_unique) and not layout.dim_unique[index]:
            text += "+"
        if index < len(layout.dim_ordered) and not layout.dim_ordered[index]:
            text += "~"
        yield text


def _tile_text(tile: pb.TileProto) -> str:
    # The smallest 64-bit number stands for "combine with the next dimension".
    return "(" + ",".join("*" if size == -(2**63) else str(size) for size in tile.dimensions) + ")"


def program_shape_text(shape: pb.ProgramShapeProto) -> str:
    """Give the signature of a computation: `(name: shape, ...) -> shape`, without layouts."""
    names = shape.parameter_names
    parameters = []
    for index, parameter in enumerate(shape.parameters):
        name = visible(names[index]) if index < len(names) else ""
        parameters.append(f"{name or '(unknown)'}: {shape_text(parameter, layout=False)}")
    return f"({', '.join(parameters)}) -> {shape_text(shape.result, layout=False)}"


def entry_layout_text(shape: pb.ProgramShapeProto) -> str:
    """Give the shapes that the entry takes and gives, with layouts: `(shape, ...)->shape`."""
    parameters = with_indices([shape_text(parameter) for parameter in shape.parameters])
    return f"({parameters})->{shape_text(shape.result)}"
