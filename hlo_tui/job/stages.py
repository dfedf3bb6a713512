"""Dumping a lowered or compiled function from inside the person's program (imports jax)."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.job.placing import Place, new_place
from hlo_tui.job.recipes import chosen
from hlo_tui.job.settings import compile_options
from hlo_tui.replay import xla


def dump(stage: Any, dir: str | os.PathLike[str], *recipes: str) -> Path:
    """Write a function of JAX that is lowered, or compiled, into a dump that hlo-tui opens.

    Works at any time: no flag has to be set before the program starts.

    Args:
        stage: what `jax.jit(f).lower(...)` gives, or `.compile()` of that.
        dir: a directory; made where it is not there. What is in it stays.
        recipes: of `hlo-tui flags`: what is lowered is compiled once more, and XLA itself dumps it.

    Returns:
        The directory.

    Raises:
        HloTuiError: it is neither, or cannot be written.
        EngineError: XLA does not give its module.
    """
    if recipes:
        return _compile(stage, Path(dir), recipes)
    if hasattr(stage, "runtime_executable"):
        write_compiled(stage, dir, None)
    elif hasattr(stage, "compiler_ir"):
        write_lowered(stage, dir)
    else:
        raise _wrong(stage)
    return Path(dir)


def _compile(stage: Any, directory: Path, recipes: tuple[str, ...]) -> Path:
    if not hasattr(stage, "compile"):
        raise _wrong(stage)
    options = compile_options(chosen(recipes), directory, jaxlib=xla.versions()["jaxlib"])
    before = set(directory.iterdir()) if directory.is_dir() else set()
    try:
        stage.compile(compiler_options=options)
    except (RuntimeError, ValueError) as error:
        raise HloTuiError("XLA could not compile it", str(error)[:400]) from error
    if not directory.is_dir() or set(directory.iterdir()) == before:
        raise HloTuiError(
            "XLA wrote nothing",
            "it was compiled with these options before, or came out of JAX's compile cache",
            "jax.config.update('jax_enable_compilation_cache', False), and lower it anew",
        )
    return directory


def write_lowered(lowered: Any, dir: str | os.PathLike[str]) -> Place:
    """Write the stage before optimisation, as text and as proto, and the StableHLO; see `dump`."""
    module = pb.HloModuleProto.FromString(xla.unoptimized(lowered))
    devices = xla.device_count(lowered)
    assign(module, devices)
    place = new_place(dir, module.name)
    place.write(".before_optimizations.hlo.pb", pb.HloProto(hlo_module=module).SerializeToString())
    header, newline, rest = lowered.as_text("hlo", debug_info=True).partition("\n")
    if devices > 1 and "num_partitions=" not in header:
        # As XLA's own dumps have it.
        header += f", num_partitions={devices}"
    place.write(".before_optimizations.txt", header + newline + rest)
    place.write("/module.mlir", lowered.as_text(debug_info=True))
    return place


def write_compiled(compiled: Any, dir: str | os.PathLike[str], place: Place | None) -> Place:
    """Write the stage after optimisation, as text and as proto; beside what is at `place` where that is given."""
    data, devices = xla.optimized(compiled)
    module = pb.HloModuleProto.FromString(data)
    assign(module, len(devices))
    place = place or new_place(dir, module.name)
    platform = devices[0].platform if devices else "cpu"
    stage = f".{platform}_after_optimizations"
    place.write(f"{stage}.hlo.pb", pb.HloProto(hlo_module=module).SerializeToString())
    place.write(f"{stage}.txt", compiled.as_text())
    return place


def assign(module: pb.HloModuleProto, devices: int) -> None:
    """Say in a module's proto for how many devices it is, which nothing else there does."""
    if devices < 2 or module.HasField("device_assignment"):
        return
    module.device_assignment.replica_count = 1
    module.device_assignment.computation_count = devices
    for number in range(devices):
        module.device_assignment.computation_devices.add(replica_device_ids=[number])


def _wrong(stage: Any) -> HloTuiError:
    return HloTuiError(
        "this is no lowered or compiled function of JAX",
        f"it is a {type(stage).__name__}",
        "hlo_tui.dump(jax.jit(f).lower(*args), DIR), or hlo_tui.capture(f, *args, dir=DIR)",
    )
