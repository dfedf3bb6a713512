"""A file that is to be opened, and one that is open."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tui.dump.modules import Module as DumpModule
from hlo_tui.hlo.source import FileSource, Source
from hlo_tui.ui.marks import Tagged
from hlo_tui.ui.treerows import Place

if TYPE_CHECKING:
    from hlo_tui.formats.page import Page
    from hlo_tui.hlo.module import Module
    from hlo_tui.replay.meaning import Meaning
    from hlo_tui.replay.stopspec import StopSpec


@dataclass(frozen=True, slots=True)
class Beside:
    """Two stages of a module: one that a place is known in, and the one to find it in.

    Attributes:
        root, log: the dump, as `dump.listing.Listing` has it.
        module: with these two stages alone, in their order.
        back: whether the later one is where the place is known.
    """

    root: str
    log: bool
    module: DumpModule
    back: bool

    @property
    def label(self) -> str:
        """Of the stage in which the place is known."""
        return self.module.stages[-1 if self.back else 0].label


@dataclass(frozen=True, slots=True)
class Want:
    """What to open, and where in it to go.

    Attributes:
        place: where it is in the dump.
        path: the file.
        member: which module in it, where it holds several.
        title: the module's name and number.
        stage: the stage's name, or what else the file is.
        computation, instruction: where to put the cursor: what has these names, in another stage if `beside` is given.
        beside: that stage and this one.
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
    beside: Beside | None = None


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
        meant: what the stops of this module mean in it, as far as that was looked up.
        painted: to be set when the first lines are on the screen; the scan would slow their drawing down.
        page: the text as a page, where it is not HLO.
        members: the modules in the file, where it holds several and is no log of a dump.
        series: the files of the passes of which this is one, in their order; empty where it is none.
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
    meant: dict[StopSpec, Meaning] = field(default_factory=dict)
    painted: threading.Event = field(default_factory=threading.Event, repr=False)
    page: Page | None = None
    series: tuple[Path, ...] = ()
    members: tuple[str, ...] = ()

    @property
    def replaced(self) -> bool:
        """Whether the path names other bytes by now."""
        return self.file is not None and self.file.changed()
