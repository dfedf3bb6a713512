"""Worker side of converting: what only XLA's own parser and importers can do."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.attributes import split_top
from hlo_tui.hlo.loading import is_proto, open_document
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.source import FileSource
from hlo_tui.hlo.visible import visible
from hlo_tui.replay import xla
from hlo_tui.replay.atwork import Board, Doing, Phase
from hlo_tui.replay.opening import Target, open_target

Json = dict[str, Any]
PROTO, STABLEHLO, DOT = "proto", "stablehlo", "dot"


def translate(params: Json, board: Board) -> Json:
    """Read a module in any form and write it in one that only XLA can make.

    Args:
        params: "path" and "member" of the module, "stablehlo" whether it is StableHLO, "to" one of the forms above,
            "out" the file to write: for a proto the bytes of an HloModuleProto.
        board: where the worker says what it is doing.

    Returns:
        "notes": what got lost or is made up, a sentence each.

    Raises:
        HloTuiError: the file cannot be read or written.
        EngineError: XLA does not accept the module.
    """
    board.mark(Doing(Phase.PARSE).record())
    path, to = Path(params["path"]), params["to"]
    notes: list[str] = []
    if params["stablehlo"]:
        xla.set_flags(1)
        source = FileSource(path)
        module = xla.from_stablehlo(source.read(0, source.size).decode("utf-8", "surrogateescape"))
    else:
        notes += _left_in_header(path, params.get("member"))
        target = open_target(path, params.get("member"), as_written=True)
        notes += _said(target)
        module = target.module.SerializeToString(deterministic=True)
    if to == STABLEHLO:
        data = xla.to_stablehlo(module).encode()
    else:
        data = xla.to_dot(module).encode() if to == DOT else module
    try:
        Path(params["out"]).write_bytes(data)
    except OSError as error:
        raise HloTuiError("not written", f"{visible(params['out'])}: {error.strerror}") from error
    return {"notes": notes}


# What a header says that has a place in the proto.
_KEPT = frozenset((
    "is_scheduled", "input_output_alias", "buffer_donor", "entry_computation_layout", "replica_count", "num_partitions",
    "frontend_attributes", "origin_recovery_table",
))  # fmt: skip


def _left_in_header(path: Path, member: str | None) -> list[str]:
    """What the header of a text says and no proto has a place for: it is XLA's configuration."""
    if is_proto(path):
        return []
    module = Module(open_document(path, member).source)
    module.scan()
    keys = [part.partition("=")[0].strip() for part in split_top(module.header.attributes)]
    return [f"{visible(key)} of the header" for key in keys if key and key not in _KEPT]


def _said(target: Target) -> list[str]:
    """What is not as the file has it; constants whose values are nowhere have none in the proto either."""
    notes = [reason for reason in target.reasons if reason.startswith("attributes")]
    module = target.module
    if target.made_up:
        missing = set(target.made_up)
        for computation in module.computations:
            for instruction in computation.instructions:
                if (computation.name, instruction.name) in missing:
                    instruction.ClearField("literal")
        notes.append(f"{len(missing)} constants have no values, here as in the file")
    _note_devices(module, target)
    return notes


def _note_devices(module: pb.HloModuleProto, target: Target) -> None:
    """Write down for how many devices the module is: the proto has no other place for what the header says."""
    assignment, topology = module.device_assignment, target.topology
    if assignment.computation_count or topology.devices == 1:
        return
    assignment.replica_count, assignment.computation_count = topology.replicas, topology.partitions
    for partition in range(topology.partitions):
        devices = assignment.computation_devices.add()
        devices.replica_device_ids.extend(
            replica * topology.partitions + partition for replica in range(topology.replicas)
        )
