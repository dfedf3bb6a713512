"""Collectives in the form that one host can run: N replicas with explicit groups, or one device alone.

A partitioned module (P partitions, R replicas) runs as R*P replicas; device r*P+p is partition p of replica
r. XLA's
own partition form is refused by the CPU client for modules that are already partitioned, the replica form is
not.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays
from hlo_tui.replay.communication import COMMUNICATING, STARTS
from hlo_tui.replay.program import Op

if TYPE_CHECKING:
    from hlo_tui.replay.lowering import Emitter

Instruction = pb.HloInstructionProto

_DONE = frozenset({"all-reduce-done", "all-gather-done", "collective-permute-done"})
OPCODES = COMMUNICATING | _DONE | {"partition-id", "replica-id"}


class Unsupported(Exception):
    """This collective cannot be run here; the text says why."""


class Topology(NamedTuple):
    """How many devices the module was compiled for."""

    replicas: int = 1
    partitions: int = 1

    @property
    def devices(self) -> int:
        """All devices together."""
        return self.replicas * self.partitions


ONE_DEVICE = Topology()


def lower(
    op: Op, operands: Sequence[Instruction], shapes: Sequence[pb.ShapeProto], out: Emitter
) -> Instruction:
    """Emit the plain form of a collective.

    Raises:
        Unsupported: its groups cannot be read, or no single device can stand in for it.
    """
    if op.opcode in _DONE:
        return operands[0]
    topology = out.module.topology
    if out.module.replicas > 1:
        return _replicated(op, operands, out, topology)
    return _alone(op, operands, shapes, out)


def result_shape(op: Op) -> pb.ShapeProto:
    """The shape of what a collective gives; a start's own one may be (operands, results, contexts)."""
    parts = op.proto.shape.tuple_shapes
    started = op.opcode in ("all-gather-start", "collective-permute-start") and len(parts) > 1
    # Not as XLA writes it, but it takes it: (operand, result).
    paired = op.opcode == "all-reduce-start" and len(op.operands) == 1 and len(parts) == 2
    return parts[1] if started or paired else op.proto.shape


def _replicated(op: Op, operands: Sequence[Instruction], out: Emitter, topology: Topology) -> Instruction:
    if op.opcode in ("partition-id", "replica-id"):
        return _device_number(op, out, topology)
    proto = pb.HloInstructionProto()
    proto.CopyFrom(op.proto)
    proto.opcode = STARTS.get(op.opcode, op.opcode)
    proto.shape.CopyFrom(result_shape(op))
    if proto.opcode == "collective-permute":
        pairs = permute_pairs(op.proto, topology)
        del proto.source_target_pairs[:]
        for source, target in pairs:
            proto.source_target_pairs.add(source=source, target=target)
    else:
        found = groups(op.proto, topology)
        del proto.replica_groups[:]
        for group in found:
            proto.replica_groups.add(replica_ids=group)
    for field in (
        "channel_id", "use_global_device_ids", "collective_device_list", "iota_collective_device_list",
        "mesh_axes_replica_group_list", "all_reduce_id",
    ):  # fmt: skip
        proto.ClearField(field)
    return out.clone(proto, operands, op.called)


def _device_number(op: Op, out: Emitter, topology: Topology) -> Instruction:
    device = out.emit("replica-id", op.proto.shape, [])
    if op.opcode == "partition-id" and topology.replicas == 1:
        return device
    if op.opcode == "replica-id" and topology.partitions == 1:
        return device
    size = pb.LiteralProto(shape=arrays.array_shape(arrays.U32, ()), u32s=[topology.partitions])
    partitions = out.emit("constant", op.proto.shape, [], literal=size)
    return out.emit(
        "remainder" if op.opcode == "partition-id" else "divide", op.proto.shape, [device, partitions]
    )


def _alone(
    op: Op, operands: Sequence[Instruction], shapes: Sequence[pb.ShapeProto], out: Emitter
) -> Instruction:
    opcode = STARTS.get(op.opcode, op.opcode)
    shape = result_shape(op)
    if opcode in ("partition-id", "replica-id"):
        zero = pb.LiteralProto(shape=arrays.array_shape(arrays.U32, ()), u32s=[0])
        return out.emit("constant", op.proto.shape, [], literal=zero)
    if opcode == "ragged-all-to-all":
        raise Unsupported("a ragged all-to-all has no meaning on one device")
    parts = list(shape.tuple_shapes) if shape.element_type == arrays.TUPLE else [shape]
    if len(parts) != len(operands):
        raise Unsupported(f"{op.opcode} gives {len(parts)} values of {len(operands)} operands")
    results = [
        _one_device(opcode, op, operand, source, part, out)
        for operand, source, part in zip(operands, shapes, parts, strict=True)
    ]
    if shape.element_type == arrays.TUPLE:
        return out.emit("tuple", shape, results)
    return results[0]


def _one_device(
    opcode: str, op: Op, operand: Instruction, source: pb.ShapeProto, target: pb.ShapeProto, out: Emitter
) -> Instruction:
    if list(source.dimensions) == list(target.dimensions):
        return operand
    if opcode == "all-gather":
        dimension = op.proto.dimensions[0]
        copies = target.dimensions[dimension] // max(source.dimensions[dimension], 1)
        return out.emit("concatenate", target, [operand] * copies, dimensions=[dimension])
    if opcode == "reduce-scatter":
        piece = [
            pb.HloInstructionProto.SliceDimensions(start=0, limit=d, stride=1) for d in target.dimensions
        ]
        return out.emit("slice", target, [operand], slice_dimensions=piece)
    raise Unsupported(f"{op.opcode} changes the shape, which one device alone cannot do")


def groups(proto: Instruction, topology: Topology) -> list[list[int]]:
    """The groups of device numbers that take part, in any of the forms XLA has written them.

    Raises:
        Unsupported: the form is none that is known here.
    """
    written = _written_groups(proto)
    replicas, partitions = topology
    has_channel = proto.channel_id > 0
    if has_channel and proto.use_global_device_ids:
        return written or [list(range(topology.devices))]
    if has_channel and proto.opcode in ("all-to-all", "ragged-all-to-all", "collective-broadcast"):
        members = written or [list(range(partitions))]
        return [[r * partitions + p for p in group] for r in range(replicas) for group in members]
    members = written or [list(range(replicas))]
    if has_channel:
        return [[r * partitions + p for r in group for p in range(partitions)] for group in members]
    return [[r * partitions + p for r in group] for p in range(partitions) for group in members]


def permute_pairs(proto: Instruction, topology: Topology) -> list[tuple[int, int]]:
    """Source and target device numbers of a collective-permute."""
    replicas, partitions = topology
    pairs = [(pair.source, pair.target) for pair in proto.source_target_pairs]
    if proto.channel_id > 0:
        return [(r * partitions + s, r * partitions + t) for r in range(replicas) for s, t in pairs]
    return [(s * partitions + p, t * partitions + p) for p in range(partitions) for s, t in pairs]


def _written_groups(proto: Instruction) -> list[list[int]]:
    if proto.replica_groups:
        return [list(group.replica_ids) for group in proto.replica_groups if group.replica_ids]
    kind = proto.WhichOneof("replica_group_list")
    if kind == "collective_device_list":
        listed = proto.collective_device_list
        if listed.replica_groups:
            return [list(group.replica_ids) for group in listed.replica_groups if group.replica_ids]
        return _iota(listed.iota_replica_group_list)
    if kind == "iota_collective_device_list":
        return _iota(proto.iota_collective_device_list)
    if kind == "mesh_axes_replica_group_list":
        return _mesh(proto.mesh_axes_replica_group_list)
    return []


def _iota(form: pb.IotaReplicaGroupListProto) -> list[list[int]]:
    if not form.num_replica_groups:
        return []
    dims = list(form.iota_reshape_dims)
    if math.prod(dims) != form.num_replica_groups * form.num_devices_per_group:
        raise Unsupported("the iota form of the replica groups does not fit its own size")
    devices = np.arange(math.prod(dims)).reshape(dims)
    if form.iota_transpose_perm:
        devices = devices.transpose(list(form.iota_transpose_perm))
    rows: list[list[int]] = devices.reshape(form.num_replica_groups, -1).tolist()
    return rows


def _mesh(form: pb.MeshAxesReplicaGroupListProto) -> list[list[int]]:
    """Groups along named mesh axes: written out, because the importer mixes up two meshes with the same axis
    names.
    """
    pieces: list[int] = []
    chosen: dict[int, int] = {}
    for number, axis in enumerate(form.mesh.axes):
        refs = {place: ref for place, ref in enumerate(form.axes) if ref.mesh_axis_index == number}
        for size, place in _split_axis(axis.size, refs):
            if place is not None:
                chosen[place] = len(pieces)
            pieces.append(size)
    inside = [chosen[place] for place in sorted(chosen)]
    outside = [axis for axis in range(len(pieces)) if axis not in inside]
    count = math.prod(pieces[axis] for axis in inside)
    devices = _mesh_devices(form.mesh, math.prod(pieces))
    rows: list[list[int]] = devices.reshape(pieces).transpose(outside + inside).reshape(-1, count).tolist()
    return rows


def _mesh_devices(mesh: pb.MeshProto, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if mesh.device_ids:
        return np.array(mesh.device_ids)
    if mesh.HasField("iota_transform"):
        dims, order = list(mesh.iota_transform.reshape_dims), list(mesh.iota_transform.transpose_perm)
        return np.arange(count).reshape(dims).transpose(order or None).reshape(-1)
    return np.arange(count)


def _split_axis(size: int, refs: dict[int, pb.AxisRefProto]) -> list[tuple[int, int | None]]:
    """One mesh axis as (size, place of the group's axis that it is), major first; a sub-axis splits it."""
    parts: list[tuple[int, int | None]] = []
    done = 1
    for place, ref in sorted(refs.items(), key=lambda item: item[1].sub_axis_info.pre_size):
        if not ref.HasField("sub_axis_info"):
            return [(size, place)]
        before, piece = ref.sub_axis_info.pre_size, ref.sub_axis_info.size
        parts += [(before // done, None), (piece, place)]
        done = before * piece
    return [*parts, (size // done, None)]
