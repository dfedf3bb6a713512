"""A file that is to be opened, and one that is open."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import FileSource
from hlo_tui.ui.marks import Tagged
from hlo_tui.ui.treerows import Place


@dataclass(frozen=True, slots=True)
class Want:
    """What to open, and where in it to go.

    Attributes:
        place: where it is in the dump.
        path: the file.
        member: which module in it, where it holds several.
        title: the module's name.
        stage: the stage's name, or what else the file is.
        computation, instruction: where to put the cursor: the same as in another stage.
        line: or a line, from 0; -1 for the first tagged operation.
    """

    place: Place
    path: Path
    member: str | None = None
    title: str = ""
    stage: str = ""
    computation: str = ""
    instruction: str = ""
    line: int = -1


@dataclass(slots=True)
class Opened:
    """An open file. `source` and `module` may be read from the screen's thread line by line, nothing else."""

    number: int
    want: Want
    module: Module
    kind: str
    note: str = ""
    hlo: bool = False
    file: FileSource | None = None
    tagged: tuple[Tagged, ...] = ()
    scanned: bool = False

    @property
    def replaced(self) -> bool:
        """Whether the path names other bytes by now."""
        return self.file is not None and self.file.changed()
