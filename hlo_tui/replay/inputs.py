"""The values of a module's parameters: recorded in a snapshot, given in a file, or made."""

from __future__ import annotations

import functools
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays
from hlo_tui.replay.program import Program
from hlo_tui.replay.sharding import Tiling
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


def made(program: Program, seed: int, placement: Placement = ONE_PLACE) -> Inputs:
    """Seeded values: floats uniform in [-0.1, 0.2) as XLA's own tools make them, small integers, random
    booleans.

    Integers stay in 0..7, so that counters end and most indices are in range. What the devices have tiles of
    is
    made whole and then cut.
    """
    rng = np.random.default_rng(seed)
    values = [
        _each(parameter.shape, functools.partial(_place, rng, placement, number))
        for number, parameter in enumerate(parameters(program))
    ]
    reasons = ["the inputs are made, not the job's"] if values else []
    return Inputs("made", values, seed=seed, reasons=reasons)


def _place(
    rng: np.random.Generator,
    placement: Placement,
    parameter: int,
    dtype: np.dtype[Any],
    dims: tuple[int, ...],
) -> Any:
    tiling = placement.tiling(parameter)
    if tiling is not None and len(tiling.tiles) == len(dims):
        whole = _draw(rng, dtype, tuple(n * t for n, t in zip(dims, tiling.tiles, strict=True)))
        parts = tiling.split(whole)
        assert parts is not None
        return Replicated(parts)
    if placement.own:
        return Replicated(tuple(_draw(rng, dtype, dims) for _ in range(placement.devices)))
    return _draw(rng, dtype, dims)


def zeros(program: Program) -> Inputs:
    """Zeros for every parameter."""
    values = [
        _each(parameter.shape, lambda dtype, dims: np.zeros(dims, dtype)) for parameter in parameters(program)
    ]
    return Inputs("zeros", values, reasons=["the inputs are zeros, not the job's"] if values else [])


def _draw(rng: np.random.Generator, dtype: np.dtype[Any], dims: tuple[int, ...]) -> Any:
    if dtype == np.bool_:
        return rng.integers(0, 2, dims).astype(dtype)
    if dtype.kind in "iu" or dtype.name.startswith(("int", "uint")):
        highest = {"int4": 8, "int2": 2, "uint2": 4}.get(dtype.name, 8)
        return rng.integers(0, highest, dims).astype(np.int8).astype(dtype)
    if dtype.kind == "c":
        return (rng.uniform(-0.1, 0.2, dims) + 1j * rng.uniform(-0.1, 0.2, dims)).astype(dtype)
    return np.asarray(rng.uniform(-0.1, 0.2, dims)).astype(dtype)


def _each(shape: pb.ShapeProto, make: Any) -> Any:
    """Build a value of this shape from a function of (dtype, dimensions)."""
    if shape.element_type == arrays.TUPLE:
        return tuple(_each(part, make) for part in shape.tuple_shapes)
    if shape.element_type in (arrays.TOKEN, arrays.OPAQUE):
        return None
    if shape.element_type not in arrays.DTYPES:
        raise HloTuiError("a parameter of a type that numpy cannot hold", arrays.shape_text(shape))
    return make(arrays.DTYPES[shape.element_type], tuple(shape.dimensions))


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
    dims = tuple(shape.dimensions)
    for part in value.parts if isinstance(value, Replicated) else (value,):
        if part is None or tuple(part.shape) != dims:
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


def _read_arrays(path: Path) -> dict[str, Any]:
    try:
        loaded = np.load(path, allow_pickle=False)
        return dict(loaded) if hasattr(loaded, "files") else {"arg0": loaded}
    except (OSError, ValueError, zipfile.BadZipFile, EOFError, KeyError) as error:
        hint = "numpy.savez(FILE, x=..., y=...) with the names of the parameters makes one"
        raise HloTuiError("the inputs cannot be read", f"{path}: {error}", hint) from error


def _as_parameter(array: Any, parameter: pb.HloInstructionProto, placement: Placement, path: Path) -> Any:
    shape = parameter.shape
    if shape.element_type not in arrays.DTYPES:
        wanted = f"{parameter.name} is {arrays.shape_text(shape)}"
        raise HloTuiError("the inputs do not fit the module", f"{wanted}: a .npz holds arrays only")
    dtype, dims = arrays.DTYPES[shape.element_type], tuple(shape.dimensions)
    # numpy stores the types it does not know as raw bytes of the same width.
    if array.dtype.kind == "V" and array.dtype.itemsize == dtype.itemsize:
        array = array.view(dtype)
    array = array.astype(dtype)
    if array.shape == dims:
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
