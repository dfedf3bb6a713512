"""The stages of a module of a dump, opened for reading."""

from __future__ import annotations

import os
from pathlib import Path

from hlo_tui.dump.files import File
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.hlo.loading import open_document
from hlo_tui.hlo.source import FileSource, Source, SpanSource
from hlo_tui.hlo.visible import visible

# The forms of a stage that hold the module itself.
READABLE = frozenset(("txt", "hlo.pb", "hlo.pb.gz"))


def readable_stages(module: Module) -> list[Stage]:
    """The stages that can be read as HLO, in the order of the compilation."""
    return [stage for stage in module.stages if stage.main.name.form in READABLE]


def path_of(listing: Listing, file: File) -> Path:
    """Where a file of a dump is; of a block of a log, the log; the root itself where that is a file."""
    return (
        Path(listing.root) if listing.log or os.path.isfile(listing.root) else Path(listing.root, file.path)
    )


def open_file(listing: Listing, file: File) -> Source:
    """The text of a file of a dump, printed where it is a proto.

    Raises:
        HloTuiError: it cannot be read, or holds no HLO.
    """
    if file.span is not None:
        begin, length = file.span
        return SpanSource(FileSource(listing.root), begin, begin + length, visible(file.path))
    return open_document(path_of(listing, file)).source


def open_stage(listing: Listing, stage: Stage) -> Source:
    """The text of a stage; see `open_file`."""
    return open_file(listing, stage.main)
