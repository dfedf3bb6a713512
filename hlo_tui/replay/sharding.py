"""How a sharding cuts an array into tiles, and which device has which."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hlo_tui.hlo.numerals import number_of, product
from hlo_tui.hlo.schema import hlo_pb2 as pb


class Tiling(NamedTuple):
    """Tiles of an array over devices.

    Attributes:
        tiles: how many along each dimension.
        coordinates: for each device, which tile it has: one row a device, one column a dimension.
    """

    tiles: tuple[int, ...]
    coordinates: NDArray[np.int64]

    def offsets(self, local: Sequence[int]) -> NDArray[np.int64]:
        """Where each device's tile begins, for tiles of this shape."""
        return self.coordinates * np.asarray(local, dtype=np.int64)

    def split(self, array: NDArray[Any]) -> tuple[NDArray[Any], ...] | None:
        """The devices' tiles of an array; None where it does not divide."""
        if len(self.tiles) != array.ndim or any(n % t for n, t in zip(array.shape, self.tiles, strict=True)):
            return None
        local = [n // t for n, t in zip(array.shape, self.tiles, strict=True)]
        return tuple(
            array[tuple(slice(o, o + n) for o, n in zip(row, local, strict=True))]
            for row in self.offsets(local)
        )


def from_op_sharding(sharding: pb.OpSharding, rank: int, devices: int) -> Tiling | None:
    """The tiles of HLO's own sharding form; None where every device has all, or the form is not known."""
    dims = list(sharding.tile_assignment_dimensions)
    if sharding.type != pb.OpSharding.OTHER or len(dims) < rank or product(dims) != devices:
        return None
    if sharding.iota_reshape_dims:
        order = np.arange(devices).reshape(list(sharding.iota_reshape_dims))
        order = order.transpose(list(sharding.iota_transpose_perm) or None)
    else:
        order = np.array(sharding.tile_assignment_devices)
    if order.size != devices:
        return None
    coordinates = np.empty((devices, len(dims)), dtype=np.int64)
    coordinates[order.reshape(-1)] = np.stack(np.unravel_index(np.arange(devices), dims), axis=1)
    return Tiling(tuple(dims[:rank]), coordinates[:, :rank])


class Mesh(NamedTuple):
    """Named axes, major first, and the device at each place."""

    axes: dict[str, int]
    devices: tuple[int, ...]


_MESH = re.compile(r"@?([\w.\-]+)\s*=\s*#sdy\.mesh<\[([^\]]*)\](?:\s*,\s*device_ids\s*=\s*\[([^\]]*)\])?>")
# No mesh has more devices.
_MOST_DEVICES = 1 << 20
_AXIS = re.compile(r'"([^"]*)"\s*=\s*(\d{1,9})\b')
_SHARDING = re.compile(r"<@([\w.\-]+),\s*\[([^\]]*)\]")
_DIMENSION = re.compile(r"\{([^}]*)\}")
_NAME = re.compile(r'"([^"]*)"(?::\((\d+)\)(\d+))?')


def read_meshes(text: str) -> dict[str, Mesh]:
    """The meshes of a module's `xla.sdy.meshes` attribute."""
    meshes = {}
    for name, axes, ids in _MESH.findall(text):
        sizes = {axis: int(size) for axis, size in _AXIS.findall(axes)}
        count = product(sizes.values())
        listed = (
            [number_of(i) for i in ids.split(",")] if ids.strip() else list(range(min(count, _MOST_DEVICES)))
        )
        devices = tuple(i for i in listed if i is not None and i < count)
        # Each device has one place; where a damaged text says otherwise, the mesh is not known.
        if count == len(set(devices)) == len(listed):
            meshes[name] = Mesh(sizes, devices)
    return meshes


def read_axes(text: str) -> frozenset[str]:
    """The axis names in a `xla.sdy.manual_axes` attribute."""
    return frozenset(name for name, _, _ in _NAME.findall(text))


def from_shardy(text: str, meshes: Mapping[str, Mesh], only: frozenset[str]) -> list[Tiling | None]:
    """The tilings of a `#sdy.sharding_per_value<[...]>`, one a value; axes that are not in `only` do not cut.

    A value's entry is None where its mesh is not known or it has sub-axes, which are not cut here.
    """
    return [_shardy_tiling(meshes.get(mesh), dims, only) for mesh, dims in _SHARDING.findall(text)]


def _shardy_tiling(mesh: Mesh | None, dims: str, only: frozenset[str]) -> Tiling | None:
    if mesh is None:
        return None
    places = np.stack(np.unravel_index(np.arange(len(mesh.devices)), list(mesh.axes.values())), axis=1)
    column = {axis: places[:, n] for n, axis in enumerate(mesh.axes)}
    tiles, rows = [], []
    for dimension in _DIMENSION.findall(dims):
        count, along = 1, np.zeros(len(mesh.devices), dtype=np.int64)
        for axis, sub, _ in _NAME.findall(dimension):
            if sub or axis not in mesh.axes:
                return None
            if axis in only:
                along = along * mesh.axes[axis] + column[axis]
                count *= mesh.axes[axis]
        tiles.append(count)
        rows.append(along)
    coordinates = np.zeros((len(mesh.devices), len(tiles)), dtype=np.int64)
    for n, along in enumerate(rows):
        coordinates[list(mesh.devices), n] = along
    return Tiling(tuple(tiles), coordinates)
