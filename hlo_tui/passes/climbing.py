"""The ladder of what a person points at in a file, and how it is told."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.formats.family import Family, family_of
from hlo_tui.formats.links import CERTAIN
from hlo_tui.formats.page import Entry, Page
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.ladder import KERNEL, Ladder, Rung

Stop = Callable[[], bool]
_LONGEST = 240
_CODE = frozenset((
    "kernel-mlir", "mosaic-gpu", "mosaic-tpu", "triton-ir", "mlir-passes", "llvm-ir", "ptx", "sass", "object", "amdgcn",
))  # fmt: skip


def never() -> bool:
    """Nothing asks for an early end."""
    return False


class Climber:
    """Finds rungs; what was read for the last ones is kept, as the next are often of the same function."""

    def __init__(self) -> None:
        self._ladder: Ladder | None = None

    def of_instruction(
        self, path: Path, instruction: Instruction, way: int = 0, stop: Stop = never
    ) -> list[Rung]:
        """The rungs of an instruction of a file; none where the file is no stage of a dump, or nothing is beside it.

        Args:
            path, instruction: of HLO.
            way: 0 for all rungs, -1 for those above, 1 for those below.
            stop: asked between steps.
        """
        try:
            ladder = self._of(path, stop)
            stage = ladder.stage_at(path)
            found = ladder.of_instruction(stage, instruction, way) if stage is not None else []
        except HloTuiError:
            # Another file of the dump cannot be read; that is no fault of this one.
            return []
        return found if len(found) > 1 else []

    def of_line(self, path: Path, page: Page, line: int, way: int = 0, stop: Stop = never) -> list[Rung]:
        """The same for what is on a line of a scanned page: an operation, an equation or a function."""
        try:
            ladder = self._of(path, stop)
            if path == ladder.family.stablehlo:
                return ladder.of_operation(line, way)
            if path in ladder.family.jaxprs:
                return ladder.of_equation(line)
            entry = page.entry_at(line) or _only_function(page)
            if page.sort.id in _CODE and entry is not None:
                text = page.text(entry.line).strip()[:_LONGEST]
                here = Rung(KERNEL, page.sort.words, path, entry.line, entry.name, text, here=True)
                return ladder.of_kernel(entry.name.strip('"'), here, way)
        except HloTuiError:
            return []
        return []

    def _of(self, path: Path, stop: Stop) -> Ladder:
        family, known = family_of(path), self._ladder
        if known is None or not _same(known.family, family):
            known = self._ladder = Ladder(family)
        known.stop = stop
        return known


def _only_function(page: Page) -> Entry | None:
    """The function of a file of code that has one, for the lines around it."""
    functions = [entry for entry in page.entries if entry.kind in ("function", "kernel")]
    return functions[0] if len(functions) == 1 else None


def _same(a: Family, b: Family) -> bool:
    """Whether two families have the same files in the same state, as far as their stamps tell."""
    return (a.listing.root, a.module, a.jaxprs, a.stablehlo) == (
        b.listing.root,
        b.module,
        b.jaxprs,
        b.stablehlo,
    ) and a.listing.catalog.files == b.listing.catalog.files


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
