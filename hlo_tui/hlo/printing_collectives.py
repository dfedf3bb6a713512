"""Attributes of instructions that talk to other devices: channels, replica groups and permutations."""

from __future__ import annotations

from collections.abc import Iterable

from hlo_tui.hlo.printing_numbers import Shapes
from hlo_tui.hlo.printing_shapes import flag, integers
from hlo_tui.hlo.printing_sharding import replica_groups_text
from hlo_tui.hlo.schema import hlo_pb2 as pb


def _channel(instruction: pb.HloInstructionProto) -> Iterable[str]:
    channel = instruction.channel_id if instruction.channel_id > 0 else instruction.all_reduce_id
    if channel > 0:
        yield f"channel_id={channel}"


def _send_recv(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield from _channel(instruction)
    yield from flag("is_host_transfer", instruction.is_host_transfer)


def _collective(instruction: pb.HloInstructionProto, _: Shapes) -> Iterable[str]:
    yield from _channel(instruction)
    yield f"replica_groups={replica_groups_text(instruction)}"
    yield from flag("constrain_layout", instruction.constrain_layout)


def _collective_broadcast(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    yield from _collective(instruction, shapes)
    yield from flag("has_dynamic_root", instruction.has_dynamic_root)


def _all_gather(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    yield from _collective(instruction, shapes)
    yield f"dimensions={{{integers(instruction.dimensions)}}}"
    yield from flag("use_global_device_ids", instruction.use_global_device_ids)


def _all_reduce(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    yield from _collective(instruction, shapes)
    yield from flag("use_global_device_ids", instruction.use_global_device_ids)


def _reduce_scatter(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    yield from _all_reduce(instruction, shapes)
    yield f"dimensions={{{integers(instruction.dimensions)}}}"


def _all_to_all(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    yield from _collective(instruction, shapes)
    if instruction.dimensions:
        yield f"dimensions={{{integers(instruction.dimensions)}}}"


def _collective_permute(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[str]:
    yield from _channel(instruction)
    pairs = (f"{{{pair.source},{pair.target}}}" for pair in instruction.source_target_pairs)
    yield f"source_target_pairs={{{','.join(pairs)}}}"
    if instruction.dynamic_slice_sizes:
        groups = (f"{{{integers(group)}}}" for group in _slice_sizes(instruction, shapes))
        yield f"slice_sizes={{{','.join(groups)}}}"


def _slice_sizes(instruction: pb.HloInstructionProto, shapes: Shapes) -> Iterable[list[int]]:
    """Cut the list of slice sizes into a group for each slice, as long as the input has dimensions."""
    sizes = list(instruction.dynamic_slice_sizes)
    source = shapes[0] if shapes else None
    inputs = [] if source is None else list(source.tuple_shapes) or [source]
    ranks = [len(shape.dimensions) for shape in inputs]
    repeats = len(sizes) // sum(ranks) if sum(ranks) else 0
    place = 0
    for rank in ranks:
        for _ in range(repeats):
            yield sizes[place : place + rank]
            place += rank
    if place < len(sizes):
        yield sizes[place:]


COLLECTIVES = {
    "send": _send_recv,
    "send-done": _send_recv,
    "recv": _send_recv,
    "recv-done": _send_recv,
    "all-gather": _all_gather,
    "all-gather-start": _all_gather,
    "all-reduce": _all_reduce,
    "all-reduce-start": _all_reduce,
    "reduce-scatter": _reduce_scatter,
    "all-to-all": _all_to_all,
    "ragged-all-to-all": _collective,
    "collective-broadcast": _collective_broadcast,
    "collective-permute": _collective_permute,
    "collective-permute-start": _collective_permute,
}
