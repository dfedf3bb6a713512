"""The values of a module's parameters: recorded in a snapshot, given in a file, or made."""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays, dynamic
from hlo_tui.replay.arrayfiles import typed
from hlo_tui.replay.changes import Changes
from hlo_tui.replay.making import draw
from hlo_tui.replay.program import Program
from hlo_tui.replay.sharding import Tiling
from hlo_tui.replay.uses import Uses, find_uses
from hlo_tui.replay.xla import Replicated


@dataclass
class Inputs:
    """Values for the entry's parameters, in order of their numbers.

    Attributes:
        kind: "snapshot", "npz", "zeros" or "made".
        values: one value a parameter; `Replicated` where every partition has its own.
        source: the file they come from; empty for made ones.
        seed: of made values.
        reasons: what keeps the replay from being faithful to the job.
        result: what the job recorded as the module's result, where it did.
    """

    kind: str
    values: list[Any]
    source: str = ""
    seed: int | None = None
    reasons: list[str] = field(default_factory=list)
    result: Any = None


def parameters(program: Program) -> list[pb.HloInstructionProto]:
    """The entry's parameter instructions, in order of their numbers."""
    return [program.entry.ops[index].proto for index in program.entry.parameters]


class Placement(NamedTuple):
    """How the values of parameters are spread over devices.

    Attributes:
        devices: how many there are.
        tilings: for each parameter, the tiles of the whole array that its devices have, where it is cut.
        own: whether a parameter that is not cut has a value of its own on every device, as replicas do.
    """

    devices: int = 1
    tilings: tuple[Tiling | None, ...] = ()
    own: bool = False

    def tiling(self, parameter: int) -> Tiling | None:
        """The tiles of a parameter."""
        return self.tilings[parameter] if parameter < len(self.tilings) else None


ONE_PLACE = Placement()


def made(program: Program, seed: int, placement: Placement = ONE_PLACE, preset: str = "made") -> Inputs:
    """Seeded values of one of `making.PRESETS`, within what the module's uses allow.

    What the devices have tiles of is made whole and then cut.

    Raises:
        HloTuiError: a parameter is of a type that numpy cannot hold.
    """
    rng = np.random.default_rng(seed)
    uses = find_uses(program)
    values = []
    for number, parameter in enumerate(parameters(program)):
        maker = _Maker(rng, preset, placement, number, uses)
        values.append(maker.value(parameter.shape, ()))
    kind = preset if preset == "zeros" else "made"
    words = {"made": "made, not the job's"}.get(preset, f"made ({preset}), not the job's")
    reasons = [f"the inputs are {words}"] if values else []
    return Inputs(kind, values, seed=seed, reasons=reasons)


class _Maker:
    """Makes the value of one parameter."""

    def __init__(
        self, rng: np.random.Generator, preset: str, placement: Placement, number: int, uses: Uses
    ) -> None:
        self._rng = rng
        self._preset = preset
        self._placement = placement
        self._number = number
        self._uses = uses

    def value(self, shape: pb.ShapeProto, path: tuple[int, ...]) -> Any:
        """A value of this shape; `path` is where it is in the parameter's tuple."""
        if shape.element_type == arrays.TUPLE:
            return tuple(self.value(part, (*path, n)) for n, part in enumerate(shape.tuple_shapes))
        if shape.element_type in (arrays.TOKEN, arrays.OPAQUE):
            return None
        if shape.element_type not in arrays.DTYPES:
            message = arrays.shape_text(shape)
            raise HloTuiError("a parameter of a type that numpy cannot hold", message)
        dims = list(shape.dimensions)
        if min(dims, default=0) < 0:
            message = "it has a dimension without a bound"
            raise HloTuiError("this module cannot be run", message, "run a stage where its shapes are known")
        for d in dynamic.dimensions(shape):
            dims[d] = int(self._rng.integers(1, dims[d] + 1)) if dims[d] else 0
        return self._array(arrays.DTYPES[shape.element_type], tuple(dims), path)

    def _array(self, dtype: np.dtype[Any], dims: tuple[int, ...], path: tuple[int, ...]) -> Any:
        use = self._uses.of(self._number, path)
        tiling = self._placement.tiling(self._number)
        if tiling is not None and len(tiling.tiles) == len(dims):
            whole = tuple(n * t for n, t in zip(dims, tiling.tiles, strict=True))
            parts = tiling.split(draw(self._rng, self._preset, dtype, whole, use))
            assert parts is not None
            return Replicated(parts)
        if self._placement.own:
            devices = range(self._placement.devices)
            return Replicated(tuple(draw(self._rng, self._preset, dtype, dims, use) for _ in devices))
        return draw(self._rng, self._preset, dtype, dims, use)


def recorded(
    program: Program,
    arguments: Sequence[Sequence[pb.LiteralProto]],
    result: pb.LiteralProto | None,
    source: str,
    devices: int,
) -> Inputs:
    """The values that a snapshot holds.

    Args:
        program: the module to run; the snapshot's own or another stage of the same module.
        arguments: the literals of each partition.
        result: the recorded result, where there is one.
        source: the snapshot's path.
        devices: how many devices the module runs on.

    Raises:
        HloTuiError: the literals do not fit the module's parameters.
    """
    try:
        columns = [[arrays.literal_to_value(literal) for literal in part] for part in arguments]
        recorded_result = None if result is None else arrays.literal_to_value(result)
    except ValueError as error:
        raise HloTuiError("the snapshot's literals cannot be read", f"{source}: {error}") from error
    if isinstance(recorded_result, tuple) and not recorded_result:
        recorded_result = None
    rows = [list(row) for row in zip(*columns, strict=False)] if columns else []
    wanted = parameters(program)
    values = _fit(wanted, [_partitioned(row, devices) for row in rows], source)
    return Inputs("snapshot", values, source=source, result=recorded_result)


def _partitioned(parts: list[Any], devices: int) -> Any:
    return parts[0] if devices == 1 or len(parts) != devices else Replicated(tuple(parts))


def _fit(wanted: list[pb.HloInstructionProto], values: list[Any], source: str) -> list[Any]:
    """Pack values into the parameters' shapes: a tuple parameter takes as many as it has parts."""
    # Newer XLA records an empty array for a token parameter, older XLA nothing.
    tokens = len(values) == len(wanted)
    given = iter(values)
    fitted = []
    for parameter in wanted:
        try:
            if tokens and parameter.shape.element_type == arrays.TOKEN:
                next(given)
            fitted.append(_take(parameter.shape, given))
        except (StopIteration, ValueError) as error:
            detail = str(error) or f"{len(values)} values for {len(wanted)} parameters"
            message = f"{source}: parameter {parameter.parameter_number} ({parameter.name}): {detail}"
            raise HloTuiError(
                "the inputs do not fit the module", message, "use the file of the same module"
            ) from error
    if next(given, None) is not None:
        raise HloTuiError("the inputs do not fit the module", f"{source}: more values than parameters")
    return fitted


def _take(shape: pb.ShapeProto, given: Any) -> Any:
    if shape.element_type == arrays.TUPLE:
        first = next(given)
        if isinstance(first, tuple):
            return first
        rest = iter([first])
        return tuple(_take(part, _chain(rest, given)) for part in shape.tuple_shapes)
    if shape.element_type == arrays.TOKEN:
        return None
    value = next(given)
    for part in value.parts if isinstance(value, Replicated) else (value,):
        if part is None or not dynamic.fits(part.shape, shape):
            got = None if part is None else list(part.shape)
            raise ValueError(f"it wants {arrays.shape_text(shape)}, the file has {got}")
    return value


def _chain(first: Any, second: Any) -> Any:
    for source in (first, second):
        yield from source


def from_npz(program: Program, path: Path, placement: Placement = ONE_PLACE) -> Inputs:
    """Arrays of a .npz or .npy file, by parameter name, by `arg0`, `arg1`, ..., or in the file's order.

    An array may be the whole one that the devices have tiles of, one device's (then all have the same), or
    one
    with a leading axis over the devices.

    Raises:
        HloTuiError: the file cannot be read or does not fit the parameters.
    """
    stored = _read_arrays(path)
    wanted = parameters(program)
    ordered = list(stored.values())
    values = []
    for position, parameter in enumerate(wanted):
        array = stored.get(parameter.name, stored.get(f"arg{parameter.parameter_number}"))
        if array is None and len(ordered) == len(wanted):
            array = ordered[position]
        if array is None:
            names = ", ".join(p.name for p in wanted)
            raise HloTuiError(
                "the inputs do not fit the module",
                f"{path} has nothing for {parameter.name}",
                f"parameters: {names}",
            )
        values.append(_as_parameter(array, parameter, placement, path))
    return Inputs("npz", values, source=str(path))


def save_npz(program: Program, values: Sequence[Any], changes: Changes, path: Path) -> dict[str, Any]:
    """Write the values of a module's parameters as a .npz that `from_npz` reads, with the person's changes.

    What every device has its own of is written with a leading axis over the devices.

    Raises:
        HloTuiError: a parameter is no array, or the file cannot be written.
    """
    stored = {}
    for place, parameter, value in zip(program.entry.parameters, parameters(program), values, strict=True):
        value = changes.values.get(((), place), value)
        if value is None or isinstance(value, tuple):
            wanted = f"{parameter.name} is {arrays.shape_text(parameter.shape)}"
            raise HloTuiError("the inputs cannot be saved", f"{wanted}: a .npz holds arrays only")
        parts = value.parts if isinstance(value, Replicated) else (value,)
        whole = [np.asarray(part) for part in parts]
        stored[parameter.name] = np.stack(whole) if isinstance(value, Replicated) else whole[0]
    try:
        arrays.write_npz(path, stored)
    except OSError as error:
        raise HloTuiError("the inputs were not saved", f"{path}: {error.strerror}") from error
    return {"path": str(path), "bytes": path.stat().st_size, "arrays": len(stored)}


def _read_arrays(path: Path) -> dict[str, Any]:
    try:
        loaded = np.load(path, allow_pickle=False)
        stored = dict(loaded) if hasattr(loaded, "files") else {"arg0": loaded}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        hint = "numpy.savez(FILE, x=..., y=...) with the names of the parameters makes one"
        raise HloTuiError("the inputs cannot be read", f"{path}: {error}", hint) from error
    # What else an archive has comes as bytes.
    return {name: array for name, array in stored.items() if isinstance(array, np.ndarray)}


def _as_parameter(array: Any, parameter: pb.HloInstructionProto, placement: Placement, path: Path) -> Any:
    shape = parameter.shape
    if shape.element_type not in arrays.DTYPES:
        wanted = f"{parameter.name} is {arrays.shape_text(shape)}"
        raise HloTuiError("the inputs do not fit the module", f"{wanted}: a .npz holds arrays only")
    dtype, dims = arrays.DTYPES[shape.element_type], tuple(shape.dimensions)
    array = typed(array, dtype, path)
    if dynamic.fits(array.shape, shape):
        return array
    tiling = placement.tiling(parameter.parameter_number)
    parts = None if tiling is None else tiling.split(array)
    if parts is None and array.shape == (placement.devices, *dims):
        parts = tuple(array)
    if parts is None or parts[0].shape != dims:
        message = (
            f"{path}: {parameter.name} wants {arrays.shape_text(shape)}, the file has {list(array.shape)}"
        )
        raise HloTuiError("the inputs do not fit the module", message)
    return Replicated(parts)
