"""The module that a screen of what the compiler did is about, and the way from there into the code."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.errors import HloTuiError
from hlo_tui.passes.stages import need_stages
from hlo_tui.ui.opened import Want
from hlo_tui.ui.treerows import Place, module_title, stage_name

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp


@dataclass(frozen=True, slots=True)
class Subject:
    """A module of the dump that is watched, as it was when somebody asked."""

    listing: Listing
    module: Module

    @property
    def key(self) -> Hashable:
        """Equal for as long as its files are the same."""
        return self.module.key, tuple((stage.label, stage.main.stamp) for stage in self.module.stages)

    @property
    def title(self) -> str:
        """Its name and number."""
        return module_title(self.module)


@dataclass(frozen=True, slots=True)
class At:
    """A row that leads into the code: an instruction of a stage, or the stage. `row` tells rows apart."""

    label: str
    computation: str = ""
    name: str = ""
    row: int = 0


def subject(app: BaseApp, least: int = 1) -> Subject:
    """The module that is open, with at least so many stages that can be read.

    Raises:
        HloTuiError: none is open, or it has fewer.
    """
    want, shelf, watch = app.desk.wanted, app.desk.shelf, app.desk.watch
    module = None
    if want is not None and shelf is not None and want.place.module is not None:
        module = shelf.module(want.place.module)
    if module is None:
        raise HloTuiError("No module is open", "", "Choose one among the modules.")
    need_stages(module, least)
    root = watch.path_of("")
    in_log = not watch.is_directory and module.stages[0].main.path != root.name
    listing = Listing(str(root if watch.is_directory or in_log else root.parent), Catalog(), {}, in_log)
    return Subject(listing, module)


def open_label(app: BaseApp) -> str:
    """The label of the stage that is open, "" where that is none."""
    return app.desk.wanted.place.label if app.desk.wanted is not None else ""


def instruction_here(app: BaseApp) -> tuple[str, str]:
    """The computation and the name of the instruction under the cursor.

    Raises:
        HloTuiError: there is none.
    """
    found = app.desk.inspection
    if found is None or found.instruction is None or app.desk.inspected != app.main.code.line:
        raise HloTuiError("The cursor is on no instruction")
    return found.instruction.computation, found.instruction.name


def go(app: BaseApp, about: Subject, at: At) -> None:
    """Show a place of the module in the code; backspace comes back."""
    stage = about.module.stage(at.label)
    if stage is None:
        raise HloTuiError("The stage is gone", at.label)
    place = Place(stage.main.path, about.module.key, stage.label)
    if at.name or at.computation:
        want = replace(app.desk.want(place), computation=at.computation, instruction=at.name)
    else:
        want = app.desk.same_place(place, app.main.code.line)
    leave_for(app, want)


def leave_for(app: BaseApp, want: Want) -> None:
    """Close what is over the main screen and open something in the code."""
    from hlo_tui.ui.panel import Panel

    here = app.here()
    if here is not None and app.desk.opened is not None and app.desk.opened.scanned:
        app.desk.trail.leave(here)
    for screen in reversed(app.screen_stack):
        if isinstance(screen, Panel):
            app.pop_screen()
    app.open(want)
    app.main.go("code")


def stage_words(stage: Stage) -> str:
    """A stage in few words, with its pipeline."""
    point = stage.point
    name = stage_name(stage)
    return f"{name[:4]} {point.pipeline} › {name[5:]}" if point.kind == "pass" and point.pipeline else name
