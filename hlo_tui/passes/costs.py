"""Where compile time went: the slowest passes and modules of a dump, and how much modules grew."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, replace
from typing import Any

from hlo_tui.dump.listing import Listing, short_name
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.dump.words import count_text, size_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.module import Module as HloModule
from hlo_tui.passes.stages import open_stage, readable_stages
from hlo_tui.passes.tables import table
from hlo_tui.passes.times import FILE_TIMES, METADATA, recorded_runs, step_times

_SHOWN = 20


@dataclass(frozen=True, slots=True)
class PassCost:
    """All runs of one pass in a dump."""

    pipeline: str
    name: str
    runs: int
    ms: float
    source: str


@dataclass(frozen=True, slots=True)
class ModuleCost:
    """One module.

    Attributes:
        module: which one.
        ms: from its first dump to its last, or what the compiler recorded; None where neither tells.
        source: METADATA or FILE_TIMES.
        sizes: bytes of its stages, in order.
        instructions: how many there were at first and at last; None where that was not looked at.
    """

    module: Module
    ms: float | None
    source: str
    sizes: tuple[int, ...]
    instructions: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Costs:
    """The passes and modules of a dump, the slowest first."""

    passes: tuple[PassCost, ...]
    modules: tuple[ModuleCost, ...]


def costs(listing: Listing, counted: int = _SHOWN) -> Costs:
    """Add up what is known of times.

    Args:
        listing: the dump.
        counted: in how many of the slowest modules instructions are counted, for which two files each are read.
    """
    totals: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    modules = []
    for module in listing.catalog.modules:
        runs = recorded_runs(listing, module)
        for run in runs:
            totals[run.pipeline, run.name, METADATA].append(run.ms)
        stages = readable_stages(module)
        if not runs:
            times = step_times(listing, module)
            for stage in (stage for stage in stages if stage.label in times and stage.point.step is not None):
                totals[*_pass(stage), FILE_TIMES].append(times[stage.label].ms)
        if stages:
            ms = _module_ms(stages, [(run.start_us, run.end_us) for run in runs])
            sizes = tuple(stage.main.size for stage in stages)
            modules.append(ModuleCost(module, ms, METADATA if runs else FILE_TIMES, sizes))
    modules.sort(key=lambda cost: (-(cost.ms or 0), -max(cost.sizes), cost.module.name))
    modules[:counted] = [_counted(listing, cost) for cost in modules[:counted]]
    passes = [PassCost(*key[:2], len(ms), sum(ms), key[2]) for key, ms in totals.items()]
    passes.sort(key=lambda cost: (-cost.ms, cost.pipeline, cost.name))
    return Costs(tuple(passes), tuple(modules))


def _pass(stage: Stage) -> tuple[str, str]:
    point = stage.point
    return point.pipeline or "", point.during or point.after or ""


def _module_ms(stages: list[Stage], recorded: list[tuple[int, int]]) -> float | None:
    if recorded:
        return (max(end for _, end in recorded) - min(begin for begin, _ in recorded)) / 1000
    times = [stage.main.mtime_ns for stage in stages]
    return (max(times) - min(times)) / 1e6 if len(times) > 1 else None


def _counted(listing: Listing, cost: ModuleCost) -> ModuleCost:
    stages = readable_stages(cost.module)
    try:
        first, last = (HloModule(open_stage(listing, stage)).scan() for stage in (stages[0], stages[-1]))
    except HloTuiError:
        return cost
    return replace(cost, instructions=(first.instructions, last.instructions))


def to_json(found: Costs) -> dict[str, Any]:
    """The costs as `passes --json` gives them where no module is named."""
    return {
        "passes": [
            {
                "pipeline": cost.pipeline,
                "pass": cost.name,
                "runs": cost.runs,
                "ms": cost.ms,
                "ms_from": cost.source,
            }
            for cost in found.passes
        ],
        "modules": [
            {
                "module": cost.module.name,
                "id": cost.module.id,
                "ms": cost.ms,
                "ms_from": None if cost.ms is None else cost.source,
                "dumps": len(cost.sizes),
                "bytes": {"first": cost.sizes[0], "largest": max(cost.sizes), "last": cost.sizes[-1]},
                "instructions": None
                if cost.instructions is None
                else {"first": cost.instructions[0], "last": cost.instructions[1]},
            }
            for cost in found.modules
        ],
    }


def to_text(found: Costs) -> str:
    """The costs for people: the slowest ones."""
    lines: list[str] = []
    if found.passes:
        rows: list[tuple[str, ...]] = [
            (f"{cost.pipeline} › {cost.name}", f"{cost.runs:,}", f"{cost.ms:,.1f}")
            for cost in found.passes[:_SHOWN]
        ]
        lines += table([("slowest passes", "runs", "ms"), *rows], (1, 2))
        if len(found.passes) > _SHOWN:
            lines.append(
                f"... {count_text(len(found.passes) - _SHOWN, 'pass', 'passes')} more: --json has all"
            )
        lines.append("")
    rows = [_module_row(cost) for cost in found.modules[:_SHOWN]]
    if rows:
        lines += table([("slowest modules", "", "ms", "dumps", "instructions", "size"), *rows], (2, 3, 4, 5))
    else:
        lines.append("no module that can be read")
    if any(cost.source == FILE_TIMES for cost in found.modules):
        lines += ["", "ms: from the times of the files, so with all that went on between two dumps;"]
        lines += ["--xla_dump_module_metadata writes down what each pass took, where the backend does"]
    return "\n".join(lines)


def _module_row(cost: ModuleCost) -> tuple[str, ...]:
    grown = ""
    if cost.instructions is not None:
        first, last = cost.instructions
        grown = f"{first:,} → {last:,}" if first != last else f"{first:,}"
    return (
        short_name(cost.module.name),
        f"#{cost.module.id}" if cost.module.id is not None else "",
        "" if cost.ms is None else f"{cost.ms:,.1f}",
        f"{len(cost.sizes):,}",
        grown,
        size_text(cost.sizes[-1]),
    )
