"""The schema has XLA's names and numbers, and lives beside XLA's own registrations."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from hlo_tui.hlo.schema import hlo_pb2 as pb

# From the description of the format; what a newer XLA adds is unknown, not wrong.
NUMBERS = {
    pb.HloProto: {"hlo_module": 1, "buffer_assignment": 3},
    pb.HloSnapshot: {"hlo": 1, "arguments": 2, "result": 3, "execution_platform": 4},
    pb.HloUnoptimizedSnapshot: {"hlo_module": 1, "partitions": 2, "version": 3},
    pb.HloInputs: {"arguments": 1, "arguments_descriptors": 2},
    pb.HloModuleProto: {
        "name": 1,
        "computations": 3,
        "host_program_shape": 4,
        "entry_computation_id": 6,
        "schedule": 7,
        "input_output_alias": 8,
        "device_assignment": 15,
        "stack_frame_index": 17,
        "buffer_donor": 18,
        "frontend_attributes": 19,
        "original_value_recovery_table": 20,
        "payloads": 22,
        "debug_attributes": 24,
    },
    pb.HloComputationProto: {"name": 1, "instructions": 2, "program_shape": 4, "id": 5, "root_id": 6},
    pb.HloInstructionProto: {
        "name": 1,
        "opcode": 2,
        "shape": 3,
        "metadata": 7,
        "literal": 8,
        "parameter_number": 9,
        "tuple_index": 13,
        "dimensions": 14,
        "window": 15,
        "id": 35,
        "operand_ids": 36,
        "called_computation_ids": 38,
        "sharding": 40,
        "backend_config": 43,
        "comparison_direction": 63,
        "frontend_attributes": 68,
        "custom_call_api_version": 77,
        "original_value": 88,
        "iota_collective_device_list": 92,
        "mesh_axes_replica_group_list": 93,
        "backend_config_payload": 99,
    },
    pb.OpMetadata: {
        "op_type": 1,
        "op_name": 2,
        "source_line": 4,
        "stack_frame_id": 15,
        "metadata_payload": 20,
    },
    pb.LiteralProto: {"shape": 1, "preds": 2, "u8s": 3, "f32s": 8, "bf16s": 13, "s4s": 21, "f6e2m3fns": 36},
    pb.ShapeProto: {"element_type": 2, "dimensions": 3, "tuple_shapes": 4, "layout": 5},
    pb.HloModuleMetadataProto: {"canonical_module_id": 1, "pass_metadata": 5},
    pb.HloPassMetadata: {"pass_name": 2, "module_changed": 5, "start_timestamp_usec": 8, "kv_metrics": 11},
}


@pytest.mark.parametrize("message", NUMBERS, ids=lambda message: message.DESCRIPTOR.name)
def test_fields_have_the_numbers_of_the_format(message: type) -> None:
    fields = message.DESCRIPTOR.fields_by_name
    assert {name: fields[name].number for name in NUMBERS[message]} == NUMBERS[message]


def test_element_types_have_the_numbers_of_the_format() -> None:
    wanted = {"PRED": 1, "S32": 4, "F32": 11, "TUPLE": 13, "BF16": 16, "TOKEN": 17, "S4": 21, "BUFFER": 34}
    assert {name: pb.PrimitiveType.Value(name) for name in wanted} == wanted


def test_unknown_fields_come_back_out() -> None:
    """Field 500 of next year's XLA, a string of three bytes, survives reading and writing."""
    unknown = b"\xa2\x1f\x03abc"
    module = pb.HloModuleProto.FromString(pb.HloModuleProto(name="m").SerializeToString() + unknown)
    assert module.SerializeToString().endswith(unknown)


def test_the_schema_loads_beside_xla_without_a_warning() -> None:
    code = "import jaxlib._hlo, hlo_tui.hlo.schema.hlo_pb2 as pb; print(pb.HloProto.DESCRIPTOR.full_name)"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout == "hlo_tui.xla.HloProto\n"


def test_the_generated_code_loads_with_the_oldest_protobuf() -> None:
    """Generated code refuses every runtime that is older than its compiler."""
    generated = Path(pb.__file__).read_text()
    found = re.search(r"Protobuf Python Version: (\d+)\.(\d+)", generated)
    assert found
    assert (int(found[1]), int(found[2])) <= (6, 33)
