"""Recipes: what somebody wants to see, as the flags and the environment that make a job dump it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hlo_tui.errors import HloTuiError

# Stands for the directory in a recipe.
DIRECTORY = "{dir}"
DEFAULT = "default"


@dataclass(frozen=True, slots=True)
class Recipe:
    """What somebody wants to see.

    Attributes:
        name: as it is typed.
        words: what it is for.
        flags: of XLA_FLAGS, without dashes, with their values.
        environment: other variables.
        warnings: what is known to go wrong with it.
        leaves: files that any program leaves with it, as a pattern; empty where only some do.
        alone: whether it keeps every other dump from being written.
    """

    name: str
    words: str
    flags: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    leaves: str = ""
    alone: bool = False


_GROWS = (
    "every execution writes its inputs{more} into a file: a training loop fills the disk. End the job after "
    "some steps, or keep to one module with --module"
)
_ALL = (
    Recipe(DEFAULT, "each module before and after optimisation, as text and as proto"),
    Recipe(
        "passes",
        "every compiler pass that changed something",
        {"xla_dump_hlo_pass_re": ".*"},
        warnings=("a file for every pass that changed a module: hundreds for a big one",),
        leaves="*.after_*.before_*",
    ),
    Recipe(
        "spmd",
        "only the passes that spread a program over devices",
        {"xla_dump_hlo_pass_re": "spmd|propagation|shardy"},
    ),
    Recipe(
        "snapshots",
        "the real inputs and the result of every execution, for the replay",
        {"xla_dump_hlo_snapshots": "true"},
        warnings=(
            _GROWS.format(more=" and result"),
            "what runs on several devices (SPMD, shard_map, pmap) leaves no snapshot: hlo_tui.capture(f, *args) "
            "in the program records that",
            "XLA's GPU backend has written none since early 2025: unoptimized-snapshots does",
        ),
        leaves="*.snapshot.*.pb",
    ),
    Recipe(
        "unoptimized-snapshots",
        "the real inputs of every execution with the module as it was before optimisation; nothing else",
        {"xla_dump_hlo_unoptimized_snapshots": "true"},
        warnings=(
            "nothing but these is written: the flag silences every other dump of XLA",
            _GROWS.format(more=""),
            "a program with shard_map fails with it (RET_CHECK, HloModuleConfig has different shape)",
        ),
        leaves="*.hlo_unoptimized_snapshot.*",
        alone=True,
    ),
    Recipe(
        "constants",
        "large constants in the text, so that it can be replayed without the proto",
        {"xla_dump_large_constants": "true"},
        warnings=("constants are written digit by digit: a module with weights in it becomes very long",),
    ),
    Recipe(
        "mosaic",
        "what Mosaic makes of Pallas kernels, a file for each of its passes",
        environment={
            "LIBTPU_INIT_ARGS": f"--xla_mosaic_dump_to={DIRECTORY}",
            "MOSAIC_GPU_DUMP_TO": DIRECTORY,
        },
        warnings=("Mosaic compiles for TPU and GPU only; elsewhere it writes nothing",),
    ),
    Recipe(
        "jaxpr",
        "JAX's own programs: the jaxpr and the StableHLO of every function",
        environment={"JAX_DUMP_IR_TO": DIRECTORY, "JAX_DUMP_IR_MODES": "stablehlo,jaxpr"},
    ),
    Recipe(
        "all",
        "also modules of less than 10 operations, which JAX before 0.4.30 leaves out",
        environment={"JAX_COMPILER_DETAILED_LOGGING_MIN_OPS": "0"},
    ),
    Recipe(
        "uncached",
        "compile everything: a hit in JAX's compile cache writes next to nothing",
        environment={"JAX_ENABLE_COMPILATION_CACHE": "false"},
    ),
)
RECIPES: Mapping[str, Recipe] = {recipe.name: recipe for recipe in _ALL}


def chosen(names: Sequence[str]) -> list[Recipe]:
    """The recipes of these names, each once; the default one alone where there are none.

    Raises:
        HloTuiError: there is no such recipe.
    """
    for name in names:
        if name not in RECIPES:
            raise HloTuiError(f"there is no recipe {name!r}", f"there are: {', '.join(RECIPES)}")
    return [RECIPES[name] for name in dict.fromkeys(names)] or [RECIPES[DEFAULT]]


def recipe_table() -> str:
    """The recipes and what each is for, a line each."""
    width = max(map(len, RECIPES))
    return "\n".join(f"  {recipe.name:{width}}  {recipe.words}" for recipe in _ALL)
