"""The text that XLA prints for a module, made from its proto."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from google.protobuf.message import Message

from hlo_tui.hlo.printing_instructions import InstructionPrinter
from hlo_tui.hlo.printing_order import computation_order, instruction_order
from hlo_tui.hlo.printing_shapes import entry_layout_text, integers, program_shape_text
from hlo_tui.hlo.printing_strings import c_escape, frontend_attributes_text, original_array_text
from hlo_tui.hlo.printing_unknown import has_unknown_fields, unknown_fields
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.visible import visible

_LOG_MODES = {
    pb.DebugAttributesProto.DEFAULT: "default",
    pb.DebugAttributesProto.FUSION_DEBUGGER: "fusion_debugger",
    pb.DebugAttributesProto.NO_FUSION: "no_fusion",
    pb.DebugAttributesProto.GUARANTEED: "guaranteed",
}


@dataclass(frozen=True, slots=True)
class PrintedModule:
    """A module as text.

    Attributes:
        text: UTF-8.
        unknown_fields: how many fields of the proto have no name here; each is in a comment at its place.
    """

    text: bytes
    unknown_fields: int


def print_module(module: pb.HloModuleProto, *, large_constants: bool = False) -> PrintedModule:
    """Print a module as XLA prints it into a dump.

    Args:
        module: what is missing in it or contradicts itself is printed as far as it goes.
        large_constants: print constants of more than ten elements too, which are `{...}` otherwise.
    """
    printer = _ModulePrinter(module, large_constants)
    text = "".join(printer.pieces())
    return PrintedModule(text.encode("utf-8", "surrogateescape"), printer.unknown)


class _ModulePrinter:
    """One printing of a module, and the count of unknown fields that goes with it."""

    def __init__(self, module: pb.HloModuleProto, large_constants: bool, nested: bool = False) -> None:
        self.module = module
        self.large_constants = large_constants
        self.nested = nested
        self.unknown = 0

    def pieces(self) -> Iterator[str]:
        """The text, in order, a piece for the header and one for each line after it."""
        yield self._header()
        yield from _tables(self.module.stack_frame_index)
        yield "\n\n"
        instructions = InstructionPrinter(self.module, self.large_constants)
        for computation in computation_order(self.module):
            yield from self._computation(computation, instructions)

    def _comments(self, message: Message, skip: str = "") -> str:
        found = unknown_fields(message, skip)
        self.unknown += len(found)
        return "".join(f" /* {one} */" for one in found)

    def _header(self) -> str:
        module = self.module
        parts = [f"HloModule {visible(module.name)}"]
        if module.HasField("schedule"):
            parts.append("is_scheduled=true")
        if module.input_output_alias.entries:
            aliases = ", ".join(map(_alias, module.input_output_alias.entries))
            parts.append(f"input_output_alias={{ {aliases} }}")
        if module.buffer_donor.entries:
            donors = ", ".join(
                f"({one.parameter_number}, {{{integers(one.parameter_shape_index)}}})"
                for one in module.buffer_donor.entries
            )
            parts.append(f"buffer_donor={{ {donors} }}")
        if module.HasField("host_program_shape"):
            parts.append(f"entry_computation_layout={{{entry_layout_text(module.host_program_shape)}}}")
        assignment = module.device_assignment
        if assignment.replica_count > 1:
            parts.append(f"replica_count={assignment.replica_count}")
        if assignment.computation_count > 1:
            parts.append(f"num_partitions={assignment.computation_count}")
        if module.frontend_attributes.map:
            parts.append(f"frontend_attributes={frontend_attributes_text(module.frontend_attributes)}")
        text = ", ".join(parts)
        if module.original_value_recovery_table.entries:
            text += f", origin_recovery_table={{\n{self._recovery_table()}}}\n"
        text += _debug_attributes(module.debug_attributes)
        return text + self._comments(module, "computations")

    def _recovery_table(self) -> str:
        lines = []
        for entry in self.module.original_value_recovery_table.entries:
            old = original_array_text(entry.old_original_array)
            line = f"  {{{old}}} : {{{original_array_text(entry.new_original_array)}}}"
            if entry.HasField("recovery_module"):
                line += f",\n  {self._recovery_module(entry.recovery_module)}"
            lines.append(f"{line}\n")
        return "".join(lines)

    def _recovery_module(self, module: pb.HloModuleProto) -> str:
        if self.nested:
            # Quoting inside quotes doubles every backslash at each level.
            return '"" /* a module inside a recovery module */'
        inner = _ModulePrinter(module, self.large_constants, nested=True)
        text = "".join(inner.pieces()).replace("\\", "\\\\").replace('"', '\\"')
        self.unknown += inner.unknown
        indented = "\n".join(f"    {line}" if line else line for line in text.split("\n"))
        return f'"\n{indented}\n  "'

    def _computation(
        self, computation: pb.HloComputationProto, instructions: InstructionPrinter
    ) -> Iterator[str]:
        look = has_unknown_fields(computation)
        entry = "ENTRY " if instructions.is_entry(computation) else ""
        signature = program_shape_text(computation.program_shape)
        comments = self._comments(computation, "instructions") if look else ""
        yield f"{entry}%{visible(computation.name)} {signature} {{{comments}\n"
        inside = instructions.of(computation)
        schedule = self.module.schedule.sequences
        sequence = schedule[computation.id].instruction_ids if computation.id in schedule else ()
        for instruction in instruction_order(computation, sequence):
            root = "ROOT " if instruction.id == computation.root_id else ""
            comments = self._comments(instruction) if look else ""
            yield f"  {root}{inside.text(instruction)}{comments}\n"
        thread = computation.execution_thread
        yield f'}}, execution_thread="{visible(thread)}"\n\n' if thread and thread != "main" else "}\n\n"


def _alias(entry: pb.HloInputOutputAliasProto.AliasEntryProto) -> str:
    kind = "must-alias" if entry.kind == pb.MUST_ALIAS else "may-alias"
    return (
        f"{{{integers(entry.output_shape_index)}}}:"
        f" ({entry.parameter_number}, {{{integers(entry.parameter_shape_index)}}}, {kind})"
    )


def _debug_attributes(table: Iterable[pb.DebugAttributeTableEntryProto]) -> str:
    rows = []
    for entry in table:
        attributes = ",".join(f"{{{_debug_attribute(one)}}}" for one in entry.debug_attributes)
        if attributes:
            rows.append(f"  {{{original_array_text(entry.original_array)}}}:({attributes})")
    return ",\ndebug_attributes={\n" + ",\n".join(rows) + "\n}" if rows else ""


def _debug_attribute(attributes: pb.DebugAttributesProto) -> str:
    parts = []
    if attributes.log_mode:
        parts.append(f"log_mode={_LOG_MODES.get(attributes.log_mode, attributes.log_mode)}")
    if attributes.callback_id:
        parts.append(f"callback_id={attributes.callback_id}")
    if attributes.partitioned:
        parts.append("partitioned=true")
    if attributes.op_id:
        parts.append(f"op_id={attributes.op_id}")
    return ",".join(parts)


def _tables(index: pb.StackFrameIndexProto) -> Iterator[str]:
    if not index.stack_frames:
        return
    yield "\n\nFileNames\n"
    for number, name in enumerate(index.file_names, 1):
        yield f'{number} "{c_escape(name)}"\n'
    yield "\nFunctionNames\n"
    for number, name in enumerate(index.function_names, 1):
        yield f'{number} "{c_escape(name)}"\n'
    yield "\nFileLocations\n"
    for number, place in enumerate(index.file_locations, 1):
        yield (
            f"{number} {{file_name_id={place.file_name_id} function_name_id={place.function_name_id}"
            f" line={place.line} end_line={place.end_line} column={place.column}"
            f" end_column={place.end_column}}}\n"
        )
    yield "\nStackFrames\n"
    for number, frame in enumerate(index.stack_frames, 1):
        # The text counts parents from one more than the proto: 1 is no parent.
        parent = frame.parent_frame_id + 1
        yield f"{number} {{file_location_id={frame.file_location_id} parent_frame_id={parent}}}\n"
