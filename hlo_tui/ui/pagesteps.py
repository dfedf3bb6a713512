"""From pass to pass in what is not HLO: in a log of all of them, or from file to file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tui.ui.opened import Opened
from hlo_tui.ui.treerows import Place

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp


def step_beside(opened: Opened, line: int, way: int) -> tuple[Path, int] | None:
    """The file and the line at which the pass before (-1) or after (1) the one at a line begins; None without one."""
    page = opened.page
    if page is None:
        return None
    if page.sort.id == "mlir-passes":
        starts = [entry.line for entry in page.entries if entry.kind == "pass"]
        at = sum(start <= line for start in starts) - 1 + way
        return (opened.want.path, starts[at]) if 0 <= at < len(starts) else None
    if opened.want.path not in opened.series:
        return None
    at = opened.series.index(opened.want.path) + way
    return (opened.series[at], line) if 0 <= at < len(opened.series) else None


def go_beside(app: BaseApp, way: int) -> None:
    """Go to the pass before or after; in another file to the function that the cursor is in."""
    opened = app.desk.opened
    found = step_beside(opened, app.main.code.line, way) if opened is not None else None
    if opened is None or found is None:
        return
    path, line = found
    if path == opened.want.path:
        app.jump(line)
        return
    spot = app.here()
    if spot is not None:
        app.desk.trail.leave(spot)
    want = opened.want
    place = want.place.path.removesuffix(want.path.name) + path.name
    here = opened.page.entry_at(app.main.code.line) if opened.page is not None else None
    app.open(
        replace(
            want, place=Place(place, want.place.module), path=path, stage=path.name, line=line,
            computation=here.name if here is not None else "", instruction="", beside=None,
        )
    )  # fmt: skip
