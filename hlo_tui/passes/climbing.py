"""The ladder of what a person points at in a file, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.formats.family import family_of
from hlo_tui.formats.links import CERTAIN
from hlo_tui.formats.page import Page
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.ladder import KERNEL, Ladder, Rung

_LONGEST = 240
_CODE = frozenset((
    "kernel-mlir", "mosaic-gpu", "mosaic-tpu", "triton-ir", "mlir-passes", "llvm-ir", "ptx", "sass", "object", "amdgcn",
))  # fmt: skip


def rungs_of_instruction(
    path: Path, instruction: Instruction, stop: Callable[[], bool] = lambda: False
) -> list[Rung]:
    """The rungs of an instruction of a file; none where the file is no stage of a dump, or nothing is beside it."""
    ladder = Ladder(family_of(path), stop)
    stage = ladder.stage_at(path)
    if stage is None:
        return []
    try:
        found = ladder.of_instruction(stage, instruction)
    except HloTuiError:
        # Another file of the dump cannot be read; that is no fault of this one.
        return []
    return found if len(found) > 1 else []


def rungs_of_line(path: Path, page: Page, line: int, stop: Callable[[], bool] = lambda: False) -> list[Rung]:
    """The rungs of what is on a line of a scanned page: of an operation, an equation or a function."""
    family = family_of(path)
    ladder = Ladder(family, stop)
    try:
        if path == family.stablehlo:
            return ladder.of_operation(line)
        if path in family.jaxprs:
            return ladder.of_equation(line)
        entry = page.entry_at(line)
        if page.sort.id in _CODE and entry is not None:
            text = page.text(entry.line).strip()[:_LONGEST]
            here = Rung(KERNEL, page.sort.words, path, entry.line, entry.name, text, here=True)
            return ladder.of_kernel(entry.name.strip('"'), here)
    except HloTuiError:
        return []
    return []


def ladder_report(rungs: list[Rung]) -> list[dict[str, Any]]:
    """Rungs as plain data, from the program down to the code; lines are counted from 1."""
    return [
        {
            "rung": rung.kind,
            "label": rung.label,
            "path": str(rung.path),
            "line": rung.line + 1,
            "name": rung.name,
            "text": rung.text,
            "sure": rung.sure,
            "why": rung.why,
            "here": rung.here,
        }
        for rung in rungs
    ]


def ladder_text(rungs: list[Rung], width: int = 100) -> str:
    """Rungs for people, safe for a terminal."""
    if not rungs:
        return ""
    rows = ["ladder"]
    for rung in rungs:
        sure = "" if rung.sure == CERTAIN else f", {rung.sure}"
        why = f" ({rung.why})" if rung.why else ""
        mark = ">" if rung.here else " "
        rows.append(f"{mark} {rung.kind:<9} {rung.path.name}:{rung.line + 1}{sure}{why}")
        rows.append(f"            {rung.text[:width]}")
    return "\n".join(visible(row) for row in rows)
