"""A file that is to be opened, and one that is open."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tui.hlo.source import FileSource, Source
from hlo_tui.ui.marks import Tagged
from hlo_tui.ui.treerows import Place

if TYPE_CHECKING:
    from hlo_tui.hlo.module import Module


@dataclass(frozen=True, slots=True)
class Want:
    """What to open, and where in it to go.

    Attributes:
        place: where it is in the dump.
        path: the file.
        member: which module in it, where it holds several.
        title: the module's name and number.
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
    """An open file. The reader's thread fills it; the screen's reads single lines of it and nothing else.

    Attributes:
        number: tells it from others that were opened before and after.
        want: what was asked for.
        source: the text.
        kind: what the file is.
        note: what a person should know of how the text came about.
        hlo: whether it is HLO.
        file: what tells whether the file on disk is still the same.
        head: its first lines.
        scanned: whether all of it is known.
        module: the text with its outline; there once it is scanned.
        tagged: the operations to stop at; there once it is scanned.
        painted: to be set when the first lines are on the screen; the scan would slow their drawing down.
    """

    number: int
    want: Want
    source: Source
    kind: str
    note: str = ""
    hlo: bool = False
    file: FileSource | None = None
    head: tuple[str, ...] = ()
    scanned: bool = False
    module: Module = field(init=False, repr=False)
    tagged: tuple[Tagged, ...] = ()
    painted: threading.Event = field(default_factory=threading.Event, repr=False)

    @property
    def replaced(self) -> bool:
        """Whether the path names other bytes by now."""
        return self.file is not None and self.file.changed()
