"""The stages of a module of a dump, opened for reading one after the other."""

from __future__ import annotations

import os
from pathlib import Path

from hlo_tui.dump.files import File
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.loading import open_document
from hlo_tui.hlo.source import FileSource, Source, SpanSource
from hlo_tui.hlo.visible import visible

# The forms of a stage that hold the module itself.
READABLE = frozenset(("txt", "hlo.pb", "hlo.pb.gz"))


def readable_stages(module: Module) -> list[Stage]:
    """The stages that can be read as HLO, in the order of the compilation."""
    return [stage for stage in module.stages if stage.main.name.form in READABLE]


def path_of(listing: Listing, file: File) -> Path:
    """Where a file of a dump is; of a block of a log, the log."""
    return Path(listing.root) if listing.log else Path(listing.root, file.path)


def open_stage(listing: Listing, stage: Stage) -> Source:
    """The text of a stage, printed where it is a proto.

    Raises:
        HloTuiError: it cannot be read.
    """
    file = stage.main
    if file.span is not None:
        begin, length = file.span
        return SpanSource(FileSource(listing.root), begin, begin + length, visible(file.path))
    if os.path.isfile(listing.root):
        return open_document(listing.root).source
    return open_document(os.path.join(listing.root, file.path)).source


def need_stages(module: Module, least: int) -> list[Stage]:
    """The stages that can be read.

    Raises:
        HloTuiError: there are fewer than `least`.
    """
    found = readable_stages(module)
    if len(found) >= least:
        return found
    have = ", ".join(stage.label for stage in found) or "none"
    raise HloTuiError(
        f"too few stages of {visible(module.name)}",
        f"there are: {visible(have)}",
        "dump with --xla_dump_hlo_pass_re=.* to have the module after each pass that changed it",
    )
