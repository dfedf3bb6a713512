"""Constants that the text of a module leaves out, out of the StableHLO that it was made of: jaxlib dumps that beside
it from 0.10.2 on, as `module.mlir`, with all constants in full."""

from __future__ import annotations

from pathlib import Path

from hlo_tui.errors import EngineError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla

Literals = dict[tuple[str, str], pb.LiteralProto]

_STAGE = ".before_optimizations."
_LONGEST = 1 << 30


def converted_literals(path: Path, module: pb.HloModuleProto) -> Literals:
    """Convert the StableHLO again, as the job did, and take the constants.

    Args:
        path: of the module's text, before optimizations: later stages have constants of their own making.
        module: what the text says.

    Returns:
        By computation and name; nothing where there is no such file, or where this XLA makes another module of it.
    """
    if _STAGE not in path.name:
        return {}
    # The module's folder is called as the part of the file's name before the stage.
    source = path.parent / path.name.partition(_STAGE)[0] / "module.mlir"
    try:
        if not source.is_file() or source.stat().st_size > _LONGEST:
            return {}
        text = source.read_text("utf-8", "replace")
        made = pb.HloModuleProto.FromString(xla.from_stablehlo(text))
    except (OSError, EngineError):
        return {}
    if _outline(made) != _outline(module):
        return {}
    return {
        (computation.name, instruction.name): instruction.literal
        for computation in made.computations
        for instruction in computation.instructions
        if instruction.opcode == "constant"
    }


def _outline(module: pb.HloModuleProto) -> dict[tuple[str, str], object]:
    """What every instruction is, but for its value."""
    return {
        (computation.name, one.name): (one.opcode, one.shape.element_type, tuple(one.shape.dimensions))
        for computation in module.computations
        for one in computation.instructions
    }
