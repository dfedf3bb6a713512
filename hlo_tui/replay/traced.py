"""Plain HLO for what an instruction of another backend means, written as a JAX function: tracing it gives the HLO."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays, xla
from hlo_tui.replay.program import Program

if TYPE_CHECKING:
    from hlo_tui.replay.lowering import Emitter

Instruction = pb.HloInstructionProto
Function = Callable[..., Sequence[Any]]


class Unsupported(Exception):
    """This instruction cannot be written as plain HLO here; the text says why."""


def results_of(shape: pb.ShapeProto) -> list[pb.ShapeProto]:
    """The arrays of a result: the parts of a flat tuple, or the one array."""
    return list(shape.tuple_shapes) if shape.element_type == arrays.TUPLE else [shape]


def is_scratch(shape: pb.ShapeProto) -> bool:
    """Whether a result is of the form of the memory that libraries work in: a row of bytes."""
    return shape.element_type in (pb.S8, pb.U8) and len(shape.dimensions) == 1


class Call(NamedTuple):
    """An instruction without its place in a program: what its meaning may depend on.

    Attributes:
        proto: opcode, shape, and the fields that belong to it.
        operands: the shapes of the operands.
    """

    proto: Instruction
    operands: tuple[pb.ShapeProto, ...]

    @property
    def results(self) -> list[pb.ShapeProto]:
        """The arrays of the result: the parts of a flat tuple, or the one array."""
        return results_of(self.proto.shape)

    def settings(self, name: str = "") -> dict[str, Any]:
        """The backend config as an object, or the object `name` in it; older XLA wrote that one alone.

        Raises:
            Unsupported: it is no JSON object.
        """
        try:
            found = json.loads(self.proto.backend_config or b"{}")
        except ValueError as error:
            raise Unsupported("its backend config cannot be read") from error
        inner = found.get(name, found) if isinstance(found, dict) else None
        if not isinstance(inner, dict):
            raise Unsupported("its backend config is not of the form that is known")
        return inner


Meaning = Callable[[Call], Function]


def dtype_of(shape: pb.ShapeProto) -> Any:
    """numpy's type for the elements of an array.

    Raises:
        Unsupported: it is no array, or of a type that numpy does not have.
    """
    dtype = arrays.DTYPES.get(shape.element_type)
    if dtype is None:
        raise Unsupported(f"{arrays.shape_text(shape)} is of a type that has no values here")
    return dtype


def emit(proto: Instruction, operands: Sequence[Instruction], out: Emitter, meaning: Meaning) -> Instruction:
    """Emit a call of the traced meaning of an instruction.

    Args:
        proto: the instruction.
        operands: the plain forms of its operands.
        out: where to emit.
        meaning: gives the function of the operands that computes the leading results; the results after
            those are memory that the library used, and become zeros.

    Raises:
        Unsupported: it has no such meaning; the text says why.
    """
    shapes = tuple(_static(operand.shape).SerializeToString() for operand in operands)
    program, scratch = _traced(meaning, _outline(proto), shapes)
    callee = out.module.graft(program)
    root = program.entry.ops[program.entry.root].proto
    made = out.emit("call", root.shape, operands, called_computation_ids=[callee])
    if proto.shape.element_type != arrays.TUPLE:
        return made
    results = [made]
    if root.shape.element_type == arrays.TUPLE:
        parts = enumerate(root.shape.tuple_shapes)
        results = [out.emit("get-tuple-element", part, [made], tuple_index=n) for n, part in parts]
    return out.emit("tuple", proto.shape, [*results, *(out.scratch(shape) for shape in scratch)])


def _static(shape: pb.ShapeProto) -> pb.ShapeProto:
    if any(shape.is_dynamic_dimension):
        raise Unsupported("its meaning is known for static shapes only")
    return shape


_PLACE = (
    "name", "id", "operand_ids", "called_computation_ids", "control_predecessor_ids", "metadata", "sharding",
    "frontend_attributes", "original_value", "statistics_viz", "output_operand_aliasing",
)  # fmt: skip


def _outline(proto: Instruction) -> bytes:
    copy = pb.HloInstructionProto()
    copy.CopyFrom(proto)
    for field in _PLACE:
        copy.ClearField(field)
    return copy.SerializeToString(deterministic=True)


# What JAX and the meanings raise where shapes, numbers of operands or fields are not what they should be.
_MISFITS = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError,
)  # fmt: skip


@lru_cache(maxsize=512)
def _traced(
    meaning: Meaning, outline: bytes, operands: tuple[bytes, ...]
) -> tuple[Program, list[pb.ShapeProto]]:
    """The traced function as a program, and the shapes of the results that it does not compute."""
    shapes = tuple(pb.ShapeProto.FromString(shape) for shape in operands)
    call = Call(pb.HloInstructionProto.FromString(outline), shapes)
    wanted = call.results
    try:
        function = meaning(call)
        specs = [(tuple(shape.dimensions), dtype_of(shape)) for shape in shapes]
        module = pb.HloModuleProto.FromString(xla.trace(_fitted(function, wanted), specs))
    except _MISFITS as error:
        words = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise Unsupported(f"it is not of the form that is known: {words[:200]}") from error
    program = Program(module)
    root = program.entry.ops[program.entry.root].proto.shape
    computed = len(root.tuple_shapes) if root.element_type == arrays.TUPLE else 1
    scratch = wanted[computed:]
    if not all(is_scratch(shape) for shape in scratch):
        raise Unsupported("it has more results than are known")
    return program, scratch


def _fitted(function: Function, wanted: Sequence[pb.ShapeProto]) -> Function:
    """The function with its results in the types that the instruction has."""

    def fitted(*operands: Any) -> Sequence[Any]:
        results = []
        for result, shape in zip(function(*operands), wanted, strict=False):
            if tuple(result.shape) != tuple(shape.dimensions):
                raise ValueError(f"{arrays.shape_text(shape)} does not fit {list(result.shape)}")
            results.append(result.astype(dtype_of(shape)))
        return results

    return fitted
