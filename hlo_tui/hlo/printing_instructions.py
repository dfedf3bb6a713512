"""The line that XLA prints for an instruction."""

from __future__ import annotations

from collections.abc import Iterable

from hlo_tui.hlo.literals import ELIDED, literal_text
from hlo_tui.hlo.printing_attributes import fields_of_other_opcodes, opcode_attributes
from hlo_tui.hlo.printing_shapes import enum_name, shape_text, with_indices
from hlo_tui.hlo.printing_sharding import sharding_text
from hlo_tui.hlo.printing_strings import (
    frontend_attributes_text,
    metadata_text,
    original_value_text,
    payload_bytes,
    quoted_or_json,
)
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.visible import visible

# Newer XLA packs the id of the computation into the upper bits of an instruction's id.
_LOCAL_ID = 0xFFFFFFFF
_MISSING = "null "

_TO_APPLY = frozenset(
    (
        "call",
        "map",
        "reduce-window",
        "reduce",
        "all-reduce",
        "reduce-scatter",
        "all-reduce-start",
        "scatter",
        "sort",
        "scan",
    )
)


class InstructionPrinter:
    """What is the same for all instructions of a module: names of computations, payloads, texts of shapes."""

    def __init__(self, module: pb.HloModuleProto, large_constants: bool) -> None:
        self._module = module
        self.payloads = module.payloads
        self.large_constants = large_constants
        self._computations = {one.id: f"%{visible(one.name)}" for one in module.computations}
        self._shapes: dict[bytes, str] = {}

    def of(self, computation: pb.HloComputationProto) -> ComputationInstructions:
        """Give what prints the instructions of one computation."""
        return ComputationInstructions(self, computation)

    def is_entry(self, computation: pb.HloComputationProto) -> bool:
        """Whether the module starts with this computation."""
        if self._module.entry_computation_id in self._computations:
            return bool(computation.id == self._module.entry_computation_id)
        return bool(computation.name and computation.name == self._module.entry_computation_name)

    def computation_name(self, number: int) -> str:
        """Give the name of a computation with its percent sign; `null ` where there is none with that id."""
        return self._computations.get(number) or self._computations.get(number & _LOCAL_ID, _MISSING)

    def shape(self, shape: pb.ShapeProto) -> str:
        """Give the text of a shape with its layout; the same shapes come again and again."""
        key = shape.SerializeToString()
        text = self._shapes.get(key)
        if text is None:
            text = self._shapes[key] = shape_text(shape)
        return text


class ComputationInstructions:
    """Prints the instructions of one computation."""

    def __init__(self, module: InstructionPrinter, computation: pb.HloComputationProto) -> None:
        self._module = module
        self._by_id = {one.id: one for one in computation.instructions}
        self._names = {number: f"%{visible(one.name)}" for number, one in self._by_id.items()}
        self._local = {number & _LOCAL_ID: number for number in self._by_id}

    def text(self, instruction: pb.HloInstructionProto) -> str:
        """Give the line of an instruction, without indentation and without `ROOT`."""
        parts = [
            f"%{visible(instruction.name)} = {self._module.shape(instruction.shape)}"
            f" {visible(instruction.opcode)}({self._operands(instruction)})"
        ]
        parts.extend(opcode_attributes(instruction, self._operand_shapes(instruction)))
        parts.extend(self._called(instruction))
        parts.extend(self._common(instruction))
        config = self._backend_config(instruction)
        if config:
            parts.append(f"backend_config={quoted_or_json(config)}")
        text = ", ".join(parts)
        for name in fields_of_other_opcodes(instruction):
            text += f" /* {name} */"
        return text

    def _name(self, number: int) -> str:
        name = self._names.get(number)
        if name is None:
            name = self._names.get(self._local.get(number & _LOCAL_ID, number), _MISSING)
        return name

    def _operands(self, instruction: pb.HloInstructionProto) -> str:
        opcode = instruction.opcode
        if opcode == "parameter":
            return str(instruction.parameter_number)
        if opcode == "constant":
            if not instruction.HasField("literal"):
                return ELIDED
            return literal_text(instruction.literal, self._module.large_constants)
        return with_indices([self._name(number) for number in instruction.operand_ids])

    def _operand_shapes(self, instruction: pb.HloInstructionProto) -> list[pb.ShapeProto | None]:
        # Only these need them, and looking up every operand of every instruction costs time.
        if instruction.opcode not in ("compare", "collective-permute", "collective-permute-start"):
            return []
        return [self._operand_shape(number) for number in instruction.operand_ids]

    def _operand_shape(self, number: int) -> pb.ShapeProto | None:
        operand = self._by_id.get(number) or self._by_id.get(self._local.get(number & _LOCAL_ID, number))
        return None if operand is None else operand.shape

    def _called(self, instruction: pb.HloInstructionProto) -> Iterable[str]:
        opcode = instruction.opcode
        names = [self._module.computation_name(number) for number in instruction.called_computation_ids]
        if not names:
            pass
        elif opcode == "while" and len(names) == 2:
            yield f"condition={names[1]}"
            yield f"body={names[0]}"
        elif opcode == "select-and-scatter" and len(names) == 2:
            yield f"select={names[0]}"
            yield f"scatter={names[1]}"
        elif opcode == "conditional":
            yield from self._branches(instruction, names)
        elif opcode in _TO_APPLY and len(names) == 1:
            yield f"to_apply={names[0]}"
        elif opcode == "custom-call":
            yield f"called_computations={{{', '.join(names)}}}"
        elif opcode not in ("async-update", "async-done"):
            yield f"calls={', '.join(names)}"
        if instruction.is_composite:
            yield "is_composite=true"

    def _branches(self, instruction: pb.HloInstructionProto, names: list[str]) -> Iterable[str]:
        index = self._operand_shape(instruction.operand_ids[0]) if instruction.operand_ids else None
        if index is not None and index.element_type == pb.PRED and len(names) == 2:
            yield f"true_computation={names[0]}"
            yield f"false_computation={names[1]}"
        else:
            yield f"branch_computations={{{', '.join(names)}}}"

    def _common(self, instruction: pb.HloInstructionProto) -> Iterable[str]:
        if instruction.HasField("sharding"):
            yield f"sharding={sharding_text(instruction.sharding)}"
        if instruction.frontend_attributes.map:
            yield f"frontend_attributes={frontend_attributes_text(instruction.frontend_attributes)}"
        if instruction.control_predecessor_ids:
            names = ", ".join(self._name(number) for number in instruction.control_predecessor_ids)
            yield f"control-predecessors={{{names}}}"
        if instruction.statistics_viz.statistics:
            yield f"statistics={_statistics_text(instruction.statistics_viz)}"
        if instruction.HasField("result_accuracy"):
            yield from _result_accuracy(instruction.result_accuracy)
        if instruction.HasField("original_value"):
            yield f"origin={{{original_value_text(instruction.original_value)}}}"
        if instruction.HasField("metadata"):
            metadata = metadata_text(instruction.metadata, self._module.payloads)
            if metadata:
                yield f"metadata={{{metadata}}}"

    def _backend_config(self, instruction: pb.HloInstructionProto) -> bytes:
        if instruction.HasField("backend_config_payload"):
            value = payload_bytes(instruction.backend_config_payload, self._module.payloads)
            if value is not None:
                return value
        return bytes(instruction.backend_config)


def _statistics_text(statistics: pb.StatisticsViz) -> str:
    pieces = "".join(f",{visible(one.stat_name)}={one.stat_val:g}" for one in statistics.statistics)
    return f"{{visualizing_index={statistics.stat_index_to_visualize}{pieces}}}"


def _result_accuracy(accuracy: pb.ResultAccuracy) -> Iterable[str]:
    if accuracy.HasField("tolerance"):
        one = accuracy.tolerance
        yield f"result_accuracy={{tolerance={{atol={one.atol:g},rtol={one.rtol:g},ulps={one.ulps}}}}}"
    elif accuracy.mode:
        yield f"result_accuracy={{mode={enum_name(pb.ResultAccuracy.Mode, accuracy.mode).lower()}}}"
