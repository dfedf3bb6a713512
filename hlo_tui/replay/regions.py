"""The borders of a manual region (a shard_map): from whole arrays to each device's tile, and back."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays
from hlo_tui.replay.program import Op
from hlo_tui.replay.sharding import Tiling, from_op_sharding, from_shardy, read_axes, read_meshes

if TYPE_CHECKING:
    from hlo_tui.replay.lowering import Emitter

Instruction = pb.HloInstructionProto
_IN, _OUT = "xla.sdy.in_shardings", "xla.sdy.out_shardings"
_Move = Callable[[Instruction, pb.ShapeProto, Tiling, "Emitter"], Instruction]


class Unreadable(Exception):
    """The sharding at the border cannot be read; the text says why."""


def into_region(op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    """Each device's tile of whole arrays.

    Raises:
        Unreadable: the sharding is of no form that is known here.
    """
    return _border(op, operands, out, _IN, _tile_of)


def out_of_region(op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    """The whole arrays of all devices' tiles.

    Raises:
        Unreadable: the sharding is of no form that is known here.
    """
    return _border(op, operands, out, _OUT, _whole_of)


def _border(op: Op, operands: Sequence[Instruction], out: Emitter, key: str, move: _Move) -> Instruction:
    shape = op.proto.shape
    is_tuple = shape.element_type == arrays.TUPLE
    targets = list(shape.tuple_shapes) if is_tuple else [shape]
    tilings = _tilings(op, key, out)
    if not len(targets) == len(operands) == len(tilings):
        raise Unreadable(f"{op.name} has {len(operands)} operands and {len(tilings)} shardings")
    moved = [
        _moved(op, operand, target, tiling, out, move)
        for operand, target, tiling in zip(operands, targets, tilings, strict=True)
    ]
    return out.emit("tuple", shape, moved) if is_tuple else moved[0]


def _moved(
    op: Op, operand: Instruction, target: pb.ShapeProto, tiling: Tiling | None, out: Emitter, move: _Move
) -> Instruction:
    if list(operand.shape.dimensions) == list(target.dimensions):
        return operand
    if tiling is None or len(tiling.coordinates) != out.module.replicas:
        raise Unreadable(f"the sharding of {op.name} cannot be read for {out.module.replicas} devices")
    return move(operand, target, tiling, out)


def _tilings(op: Op, key: str, out: Emitter) -> list[Tiling | None]:
    """The tiles at a border, a value each: from Shardy's text, else from the sharding of what is whole."""
    text = op.attributes.get(key, "")
    if text:
        axes = read_axes(op.attributes.get("xla.sdy.manual_axes", ""))
        return from_shardy(text, read_meshes(out.module.meshes), axes)
    devices = out.module.replicas
    if key == _IN:
        wholes = [op.computation.ops[operand].proto for operand in op.operands]
        return [from_op_sharding(p.sharding, len(p.shape.dimensions), devices) for p in wholes]
    shapes = list(op.proto.shape.tuple_shapes) or [op.proto.shape]
    shardings = list(op.proto.sharding.tuple_shardings) or [op.proto.sharding]
    return [
        from_op_sharding(sharding, len(shape.dimensions), devices)
        for sharding, shape in zip(shardings, shapes, strict=False)
    ]


def full_to_shard(op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    """The older form of `into_region`: the sharding is the operand's own.

    Raises:
        Unreadable: the operand carries none.
    """
    rank = len(op.proto.shape.dimensions)
    tiling = from_op_sharding(op.computation.ops[op.operands[0]].proto.sharding, rank, out.module.replicas)
    return _moved(op, operands[0], op.proto.shape, tiling, out, _tile_of)


def shard_to_full(op: Op, operands: Sequence[Instruction], out: Emitter) -> Instruction:
    """The older form of `out_of_region`: the sharding is the instruction's own.

    Raises:
        Unreadable: it carries none.
    """
    rank = len(op.proto.shape.dimensions)
    tiling = from_op_sharding(op.proto.sharding, rank, out.module.replicas)
    return _moved(op, operands[0], op.proto.shape, tiling, out, _whole_of)


def _tile_of(operand: Instruction, target: pb.ShapeProto, tiling: Tiling, out: Emitter) -> Instruction:
    scalar, one = arrays.array_shape(arrays.S32, ()), arrays.array_shape(arrays.S32, (1,))
    device = out.emit("convert", scalar, [out.emit("replica-id", arrays.array_shape(arrays.U32, ()), [])])
    starts = []
    for column in tiling.offsets(list(target.dimensions)).T:
        table_shape = arrays.array_shape(arrays.S32, (len(column),))
        literal = pb.LiteralProto(shape=table_shape, s32s=[int(n) for n in column])
        table = out.emit("constant", table_shape, [], literal=literal)
        start = out.emit("dynamic-slice", one, [table, device], dynamic_slice_sizes=[1])
        starts.append(out.emit("reshape", scalar, [start]))
    return out.emit("dynamic-slice", target, [operand, *starts], dynamic_slice_sizes=list(target.dimensions))


def _whole_of(operand: Instruction, target: pb.ShapeProto, tiling: Tiling, out: Emitter) -> Instruction:
    element, local = operand.shape.element_type, list(operand.shape.dimensions)
    devices = len(tiling.coordinates)
    alone = out.emit("reshape", arrays.array_shape(element, [1, *local]), [operand])
    everyone = [pb.ReplicaGroup(replica_ids=range(devices))]
    together = arrays.array_shape(element, [devices, *local])
    gathered = out.emit("all-gather", together, [alone], dimensions=[0], replica_groups=everyone)
    # Where several devices have the same tile, the first one's is as good as any.
    owner = {tuple(row): device for device, row in reversed(list(enumerate(tiling.coordinates.tolist())))}
    pieces: np.ndarray[tuple[int, ...], np.dtype[np.object_]] = np.empty(tiling.tiles, dtype=object)
    for place in itertools.product(*(range(n) for n in tiling.tiles)):
        pieces[place] = _device_part(gathered, owner[place], local, out)
    return _joined(pieces, len(local) - 1, local, element, out, target)


def _device_part(gathered: Instruction, device: int, local: list[int], out: Emitter) -> Instruction:
    element = gathered.shape.element_type
    cut = [pb.HloInstructionProto.SliceDimensions(start=device, limit=device + 1, stride=1)]
    cut += [pb.HloInstructionProto.SliceDimensions(start=0, limit=n, stride=1) for n in local]
    piece = out.emit("slice", arrays.array_shape(element, [1, *local]), [gathered], slice_dimensions=cut)
    return out.emit("reshape", arrays.array_shape(element, local), [piece])


def _joined(
    pieces: np.ndarray[tuple[int, ...], np.dtype[np.object_]],
    dimension: int,
    local: list[int],
    element: pb.PrimitiveType,
    out: Emitter,
    target: pb.ShapeProto,
) -> Instruction:
    """Concatenate along the last dimension of the grid, then along the one before it, down to one array."""
    while dimension >= 0:
        size = list(local)
        size[dimension] = target.dimensions[dimension]
        rows = np.empty(pieces.shape[:-1], dtype=object)
        for place in np.ndindex(rows.shape):
            parts = list(pieces[place])
            whole = arrays.array_shape(element, size)
            rows[place] = (
                parts[0] if len(parts) == 1 else out.emit("concatenate", whole, parts, dimensions=[dimension])
            )
        pieces, local, dimension = rows, size, dimension - 1
    found: Instruction = pieces.item()
    return found
