"""Where to look: the stages of a dump's modules, the biggest module first, or the modules of one file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hlo_tui.dump.files import File
from hlo_tui.dump.listing import Listing, arrange, load
from hlo_tui.dump.modules import Module as DumpModule
from hlo_tui.dump.modules import ModuleKey, Stage
from hlo_tui.dump.opening import open_file, path_of, readable_stages
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.loading import open_document
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import visible

ENDS = "ends"
ALL = "all"


@dataclass(frozen=True, slots=True)
class Place:
    """A text to look through.

    Attributes:
        module: the module's name, "" where the files do not say it.
        id: its number, None where it has none.
        stage: the stage's label, or what else the file is.
        file: its path in the dump, for a block of a log the block's name.
        path: the file on the disk.
        member: which module, where the file holds several.
        key: the dump's module, None where the file is of none.
        bytes: how long the file is; of a packed one, packed.
    """

    module: str
    id: int | None
    stage: str
    file: str
    path: Path
    member: str | None = None
    key: ModuleKey | None = None
    bytes: int = 0


def places(listing: Listing, stages: str = ENDS) -> list[Place]:
    """The texts of a dump, in the order in which they are worth reading.

    Args:
        listing: the dump, or one file.
        stages: "ends" for the first and the last stage of each module, where a name of the program and a name of
            a profile stand; "all" for the passes between them too; else the stages whose labels have this text.

    Raises:
        HloTuiError: nothing in it can be looked through, or no stage has such a label.
    """
    if os.path.isfile(listing.root) and not listing.log:
        return _of_file(listing)
    groups, small = arrange(listing.catalog.modules)
    modules = [module for group in groups for module in group.modules] + small
    found = [place for module in modules for place in _of_module(listing, module, stages)]
    if stages in (ENDS, ALL):
        loose = (*listing.catalog.other, *listing.catalog.unrecognised)
        found += [_place(listing, None, file.path, file) for file in loose if _is_hlo(file)]
    if found:
        return found
    if stages in (ENDS, ALL):
        raise HloTuiError("no HLO here", visible(listing.root), "hlo-tui list DIR shows what there is")
    raise HloTuiError(
        f"no stage called {visible(stages)!r}",
        visible(listing.root),
        "ends, all, or a part of a stage's label, such as before, after or algsimp",
    )


def _of_module(listing: Listing, module: DumpModule, stages: str) -> Iterator[Place]:
    there = readable_stages(module)
    chosen = there
    if stages == ENDS:
        chosen = there[:1] + there[1:][-1:]
    elif stages != ALL:
        chosen = [stage for stage in there if stages in stage.label]
    for stage in chosen:
        yield _place(listing, module, stage.label, stage.main)
    if not there and module.executions and stages in (ENDS, ALL):
        yield _place(listing, module, "run", module.executions[-1])


def _place(listing: Listing, module: DumpModule | None, stage: str, file: File) -> Place:
    return Place(
        module=module.name if module is not None else file.path.rpartition("/")[2],
        id=module.id if module is not None else None,
        stage=stage,
        file=file.path,
        path=path_of(listing, file),
        member=file.path if file.span is not None else None,
        key=module.key if module is not None else None,
        bytes=file.size,
    )


def _is_hlo(file: File) -> bool:
    return file.name.kind == "hlo" or file.path.endswith((".hlo", ".hlo.txt"))


def _of_file(listing: Listing) -> list[Place]:
    document = open_document(listing.root)
    stage = _stage_of(listing)
    found = [one for one in document.members if one.is_module]
    path = Path(listing.root)
    if len(found) < 2:
        known = listing.catalog.modules
        number, key = (known[0].id, known[0].key) if len(known) == 1 else (None, None)
        return [Place("", number, stage, path.name, path, key=key, bytes=document.source.size)]
    return [
        Place(one.name, None, stage, path.name, path, one.name, bytes=one.end - one.start) for one in found
    ]


def _stage_of(listing: Listing) -> str:
    stages: list[Stage] = [stage for module in listing.catalog.modules for stage in module.stages]
    return stages[0].label if stages else Path(listing.root).name


def open_place(listing: Listing, place: Place) -> Source:
    """The text of a place.

    Raises:
        HloTuiError: it cannot be read, or is no HLO.
    """
    if place.member is not None and listing.log:
        return open_file(listing, listing.catalog.files[place.file])
    return open_document(place.path, place.member).source


def places_at(path: str | os.PathLike[str], stages: str = ENDS) -> tuple[Listing, list[Place]]:
    """The dump or the file at a path, and the texts in it; see `places`.

    Raises:
        HloTuiError: there is nothing to look through.
    """
    listing = load(path)
    return listing, places(listing, stages)
