"""What the screens about costs are about: the stage that is open, or the file; and the way from there into the code."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module
from hlo_tui.errors import HloTuiError
from hlo_tui.ui.opened import Want
from hlo_tui.ui.passes.subject import leave_for, open_label, subject
from hlo_tui.ui.reading import stamp_at

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp


@dataclass(frozen=True, slots=True)
class About:
    """A module of a dump with the label of the stage that is open, or a file alone.

    Attributes:
        want: what is open.
        listing, module: the dump and the module, None for a file alone.
        label: of the stage.
        sign: another one where the files have changed.
    """

    want: Want
    listing: Listing | None = None
    module: Module | None = None
    label: str = ""
    sign: Hashable = None

    @property
    def path(self) -> Path:
        """The open file."""
        return self.want.path

    @property
    def title(self) -> str:
        """What to call it."""
        return f"{self.want.title} {self.want.stage}".strip() or self.path.name


def about(app: BaseApp) -> About:
    """What is open.

    Raises:
        HloTuiError: nothing is.
    """
    want = app.desk.wanted
    if want is None:
        raise HloTuiError("Nothing is open", "", "Choose a module.")
    if want.place.module is None or not open_label(app):
        return About(want, sign=(want.path, want.member, stamp_at(want.path)))
    found = subject(app)
    return About(want, found.listing, found.module, open_label(app), found.key)


def show_code(app: BaseApp, what: About, label: str, computation: str, instruction: str, line: int) -> None:
    """Show an instruction in the code; backspace comes back.

    Args:
        app: the app.
        what: what the screen is about.
        label: the stage whose text has it.
        computation, instruction: its names, "" where only the line is known.
        line: from 0, -1 where it is not known.

    Raises:
        HloTuiError: it is in no text that is here.
    """
    if not instruction and line < 0:
        raise HloTuiError("This is no instruction of the module's text")
    want = what.want
    if what.module is not None and label and label != what.label:
        from hlo_tui.ui.treerows import Place

        stage = what.module.stage(label)
        if stage is None:
            raise HloTuiError("That stage is gone", label)
        want = app.desk.want(Place(stage.main.path, what.module.key, stage.label))
    leave_for(app, replace(want, computation=computation, instruction=instruction, line=line, beside=None))
