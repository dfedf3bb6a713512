"""Infeed, outfeed, send and recv in plain HLO: what goes out is dropped, what a send of the module gives comes in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays, channels
from hlo_tui.replay.collectives import permute_pairs
from hlo_tui.replay.program import Op, Program

if TYPE_CHECKING:
    from hlo_tui.replay.lowering import Emitter

Instruction = pb.HloInstructionProto
Operands = Sequence[Instruction]

WAITS = {
    "infeed": "an infeed waits for the host program, which is not here",
    "recv": "a recv waits for a sender, which is not here",
}


class Unsupported(Exception):
    """This transfer cannot be run here; the text says why."""


def remarks(program: Program, devices: int) -> list[str]:
    """What keeps what is received in a program from being what the job received, but for made data."""
    received = [op for op in program.receiving if op.opcode == "recv" and not waits(op, devices)]
    moved = [op.name for op in received if _has_data(op.proto.shape) and not _stays(op)]
    if devices > 1 or not moved:
        return []
    more = f" and {len(moved) - 3} more" if len(moved) > 3 else ""
    return [f"one device stands for several: {', '.join(moved[:3])}{more} has what its send gives"]


def _stays(op: Op) -> bool:
    """Whether what a `recv` is given is sent by each device to itself."""
    there = op if channels.sent_to(op) is not None else channels.done_of(op)
    way = () if there is None else channels.way(there)
    return bool(way) and all(source == target for source, target in way)


def waits(op: Op, devices: int) -> bool:
    """Whether an instruction waits for data that nothing in its computation gives.

    Args:
        op: the instruction.
        devices: on how many the module runs; of what goes between several the way has to be known.
    """
    if op.opcode not in WAITS or not _has_data(op.proto.shape):
        return False
    if op.opcode == "infeed":
        return True
    there = op if channels.sent_to(op) is not None else channels.done_of(op)
    return there is None or not _is_known(there, devices)


def _is_known(op: Op, devices: int) -> bool:
    """Whether it is known on which devices what a send gives to an instruction arrives."""
    return devices == 1 or bool(channels.way(op))


def _has_data(shape: pb.ShapeProto) -> bool:
    return any(part.element_type != arrays.TOKEN for data in shape.tuple_shapes[:1] for part in _leaves(data))


def _leaves(shape: pb.ShapeProto) -> list[pb.ShapeProto]:
    if shape.element_type != arrays.TUPLE:
        return [shape]
    return [leaf for part in shape.tuple_shapes for leaf in _leaves(part)]


def lower(op: Op, operands: Operands, out: Emitter) -> Instruction:
    """Emit the plain form of a transfer.

    Raises:
        Unsupported: it waits for what is not here, or is of a form that is not known.
    """
    if op.opcode in ("outfeed", "send-done"):
        return out.emit("after-all", op.proto.shape, [])
    if op.opcode == "recv-done":
        return _recv_done(op, operands, out)
    if waits(op, out.module.replicas):
        raise Unsupported(WAITS[op.opcode])
    if op.opcode == "infeed":
        if not op.proto.shape.tuple_shapes:
            raise Unsupported("an infeed of a form that is not known")
        return _empty(op.proto.shape, out)
    data = operands[0] if op.opcode == "send" else None
    if op.opcode == "recv" and channels.sent_to(op) is not None:
        data = _moved(op, operands[-1], out)
    return _started(op, data, out)


def _started(op: Op, data: Instruction | None, out: Emitter) -> Instruction:
    """What a send or a recv gives: the data, zeros where it is not there yet."""
    shape = op.proto.shape
    if [part.element_type for part in shape.tuple_shapes[1:]] != [arrays.U32, arrays.TOKEN]:
        raise Unsupported(f"a {op.opcode} of a form that is not known")
    held, context, token = shape.tuple_shapes
    parts = [
        _empty(held, out) if data is None else data,
        out.zeros(context),
        out.emit("after-all", token, []),
    ]
    return out.emit("tuple", shape, parts)


def _recv_done(op: Op, operands: Operands, out: Emitter) -> Instruction:
    parts = op.proto.shape.tuple_shapes
    if len(parts) != 2 or parts[1].element_type != arrays.TOKEN:
        raise Unsupported("a recv-done of a form that is not known")
    data, token = parts
    if channels.sent_to(op) is not None and _is_known(op, out.module.replicas):
        held = _moved(op, operands[-1], out)
    else:
        held = out.emit("get-tuple-element", data, operands[:1], tuple_index=0)
    return out.emit("tuple", op.proto.shape, [held, out.emit("after-all", token, [])])


def _empty(shape: pb.ShapeProto, out: Emitter) -> Instruction:
    """A value of this shape without data: zeros and tokens."""
    if shape.element_type == arrays.TUPLE:
        return out.emit("tuple", shape, [_empty(part, out) for part in shape.tuple_shapes])
    if shape.element_type == arrays.TOKEN:
        return out.emit("after-all", shape, [])
    return out.zeros(shape)


def _moved(op: Op, data: Instruction, out: Emitter) -> Instruction:
    """What is sent, on the devices that it goes to; one device alone has what it sends itself.

    Devices that nothing goes to get zeros.
    """
    devices = out.module.replicas
    if devices == 1:
        return data
    pairs: Sequence[tuple[int, int]] = channels.way(op)
    if min(out.module.topology) > 1:
        proto = pb.HloInstructionProto(channel_id=op.proto.channel_id)
        for source, target in pairs:
            proto.source_target_pairs.add(source=source, target=target)
        pairs = permute_pairs(proto, out.module.topology)
    pairs = [pair for pair in pairs if min(pair) >= 0 and max(pair) < devices]
    return _permuted(data, pairs, out)


def _permuted(data: Instruction, pairs: Sequence[tuple[int, int]], out: Emitter) -> Instruction:
    shape = data.shape
    if shape.element_type == arrays.TUPLE:
        parts = [
            _permuted(out.emit("get-tuple-element", part, [data], tuple_index=n), pairs, out)
            for n, part in enumerate(shape.tuple_shapes)
        ]
        return out.emit("tuple", shape, parts)
    if shape.element_type == arrays.TOKEN:
        return data
    written = [pb.SourceTarget(source=source, target=target) for source, target in pairs]
    return out.emit("collective-permute", shape, [data], source_target_pairs=written)
