"""Text of shardings, meshes and replica groups, as XLA writes it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hlo_tui.hlo.printing_shapes import integers, with_indices
from hlo_tui.hlo.printing_strings import metadata_text
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.visible import visible

_WHOLE = {
    pb.OpSharding.REPLICATED: "replicated",
    pb.OpSharding.MANUAL: "manual",
    pb.OpSharding.UNKNOWN: "unknown",
    pb.OpSharding.UNREDUCED: "unreduced",
}
_SUBGROUPS = {
    pb.OpSharding.MANUAL: "manual",
    pb.OpSharding.MAXIMAL: "maximal",
    pb.OpSharding.REPLICATED: "replicated",
    pb.OpSharding.UNREDUCED: "unreduced",
}
_REDUCTIONS = {pb.NamedShardingProto.MAX: "max", pb.NamedShardingProto.MIN: "min"}


def sharding_text(sharding: pb.OpSharding) -> str:
    """Give a sharding with its braces, in whichever form: whole, tuple, devices, iota or named axes."""
    if sharding.HasField("named_sharding"):
        return _named_text(sharding.named_sharding)
    if sharding.type == pb.OpSharding.TUPLE:
        return f"{{{with_indices([sharding_text(element) for element in sharding.tuple_shardings])}}}"
    tail = _shard_group_text(sharding) + _metadata_list_text(sharding.metadata)
    devices = sharding.tile_assignment_devices
    reshape = sharding.iota_reshape_dims
    if sharding.type in _WHOLE:
        return f"{{{_WHOLE[sharding.type]}{tail}}}"
    if sharding.type == pb.OpSharding.MAXIMAL:
        return f"{{maximal device={integers(devices)}{tail}}}"
    if all(size == 1 for size in reshape) if reshape else len(devices) == 1:
        return f"{{replicated{tail}}}"
    text = f"devices=[{integers(sharding.tile_assignment_dimensions)}]"
    text += f"<={_iota_text(reshape, sharding.iota_transpose_perm)}" if reshape else integers(devices)
    if sharding.replicate_on_last_tile_dim:
        text += " last_tile_dim_replicate"
    if sharding.last_tile_dims:
        kinds = ", ".join(_SUBGROUPS.get(kind, f"type{kind}") for kind in sharding.last_tile_dims)
        text += f" last_tile_dims={{{kinds}}}"
    return f"{{{text}{tail}}}"


def _iota_text(reshape: Sequence[int], permutation: Sequence[int]) -> str:
    transpose = f"T({integers(permutation)})" if len(reshape) > 1 else ""
    return f"[{integers(reshape)}]{transpose}"


def _shard_group_text(sharding: pb.OpSharding) -> str:
    if not sharding.is_shard_group:
        return ""
    kind = "shard_like" if sharding.shard_group_type == pb.OpSharding.LIKE else "shard_as"
    return f" {kind} {sharding.shard_group_id}"


def _metadata_list_text(metadata: Sequence[pb.OpMetadata]) -> str:
    if not metadata:
        return ""
    if len(metadata) == 1:
        return f" metadata={{{metadata_text(metadata[0])}}}"
    return f" metadata={{{', '.join(f'{{{metadata_text(one)}}}' for one in metadata)}}}"


def _named_text(sharding: pb.NamedShardingProto) -> str:
    metadata = ""
    if sharding.metadata:
        metadata = f", metadata={{{', '.join(f'{{{metadata_text(one)}}}' for one in sharding.metadata)}}}"
    mesh = sharding.mesh
    axes = (sharding.replicated_axes, sharding.unreduced_axes, sharding.manual_axes)
    reduction = _REDUCTIONS.get(sharding.reduction_op, "")
    parts = [mesh_text(mesh)] if mesh.axes or _is_maximal(mesh) else []
    if not sharding.dim_shardings and not _is_maximal(mesh):
        if not any(axes):
            parts.append("replicated")
        elif _covers(sharding.unreduced_axes, mesh):
            parts.append("unreduced=" + reduction if reduction else "unreduced")
        elif _covers(sharding.manual_axes, mesh):
            parts.append("manual")
    if len(parts) < 2 and mesh.axes:
        dimensions = (_dimension_text(one, mesh) for one in sharding.dim_shardings)
        parts.append(f"[{', '.join(dimensions)}]")
        for name, some in zip(("replicated=", f"unreduced={reduction}", "manual="), axes, strict=True):
            if some:
                parts.append(f"{name}{{{', '.join(_axes_texts(some, mesh))}}}")
    return f"{{{', '.join(parts)}{metadata}}}"


def _is_maximal(mesh: pb.MeshProto) -> bool:
    return not mesh.axes and bool(mesh.device_ids)


def _covers(axes: Sequence[pb.AxisRefProto], mesh: pb.MeshProto) -> bool:
    """Whether the axes are all the axes of the mesh, none of them only in part."""
    whole = {axis.mesh_axis_index for axis in axes if not axis.HasField("sub_axis_info")}
    return bool(axes) and whole == set(range(len(mesh.axes)))


def _dimension_text(dimension: pb.NamedShardingProto.DimensionSharding, mesh: pb.MeshProto) -> str:
    pieces = list(_axes_texts(dimension.axes, mesh))
    if not dimension.is_closed:
        pieces.append("?")
    return f"{{{', '.join(pieces)}}}"


def _axes_texts(axes: Iterable[pb.AxisRefProto], mesh: pb.MeshProto) -> Iterable[str]:
    for axis in axes:
        index = axis.mesh_axis_index
        text = f"'{visible(mesh.axes[index].name)}'" if 0 <= index < len(mesh.axes) else str(index)
        if axis.HasField("sub_axis_info"):
            text += f":({axis.sub_axis_info.pre_size}){axis.sub_axis_info.size}"
        yield text


def mesh_text(mesh: pb.MeshProto) -> str:
    """Give a mesh: its named axes with their sizes, and the devices where they are not in order."""
    if _is_maximal(mesh):
        return f"maximal_mesh[device_id={mesh.device_ids[0]}]"
    axes = ",".join(f"'{visible(axis.name)}'={axis.size}" for axis in mesh.axes)
    text = f"mesh[{axes}]"
    if mesh.device_ids:
        return f"{text}, device_ids=({integers(mesh.device_ids)})"
    iota = mesh.iota_transform
    if len(iota.reshape_dims) > 1:
        return f"{text}, device_ids=({_iota_text(iota.reshape_dims, iota.transpose_perm)})"
    return text


def replica_groups_text(instruction: pb.HloInstructionProto) -> str:
    """Give the value of `replica_groups=` of a collective, from whichever of its fields holds it."""
    listed = instruction.collective_device_list
    if instruction.replica_groups:
        return _groups_text(instruction.replica_groups)
    if instruction.HasField("mesh_axes_replica_group_list"):
        groups = instruction.mesh_axes_replica_group_list
        return f"{mesh_text(groups.mesh)} {{{','.join(_axes_texts(groups.axes, groups.mesh))}}}"
    if instruction.HasField("iota_collective_device_list"):
        iota = instruction.iota_collective_device_list
    elif listed.HasField("iota_replica_group_list"):
        iota = listed.iota_replica_group_list
    else:
        return _groups_text(listed.replica_groups)
    source = _iota_text(iota.iota_reshape_dims, iota.iota_transpose_perm)
    return f"[{iota.num_replica_groups},{iota.num_devices_per_group}]<={source}"


def _groups_text(groups: Iterable[pb.ReplicaGroup]) -> str:
    return f"{{{','.join(f'{{{integers(group.replica_ids)}}}' for group in groups)}}}"
