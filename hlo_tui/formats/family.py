"""The files around one file of a dump that are about the same function: its module's stages and side files, and what
JAX wrote of it before XLA."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.files import Changes, File, new_file, stamp_of
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module, process_group
from hlo_tui.dump.names import FileName, canonical, parse_path, read_folder
from hlo_tui.dump.suffixes import Role

# Files of a directory that are looked at: one that holds more is no dump of one run.
_MOST = 200_000
_JAXPRS = ("jaxpr-html", "jaxpr")
_PREFIXES = ("jit_", "pjit_", "pmap_")


@dataclass(frozen=True, slots=True)
class Family:
    """What belongs together.

    Attributes:
        listing: the dump as far as it is about this function.
        module: with its stages and side files; None where there are none.
        jaxprs: of the function, the form first that says more; empty where none was written.
        stablehlo: the module before XLA; None where it was not written.
        counted: whether there are as many jaxprs of this name as modules; else which is which is a guess.
    """

    listing: Listing
    module: Module | None
    jaxprs: tuple[Path, ...] = ()
    stablehlo: Path | None = None
    counted: bool = True


def family_of(path: Path) -> Family:
    """The family of a file, wherever in a dump it lies."""
    root = _root(path)
    relative = path.relative_to(root).as_posix()
    own = parse_path(relative)
    catalog = Catalog()
    files = _files(root, own)
    if own.group and own.id is not None:
        files += _inside(root, own.group)
    catalog.apply(Changes(tuple(files)))
    listing = Listing(str(root), catalog, {})
    return _family(root, listing, own, relative)


def _family(root: Path, listing: Listing, own: FileName, relative: str) -> Family:
    modules = listing.catalog.modules
    module = next((one for one in modules if _holds(one, relative)), None)
    function = _function(module.name if module is not None else own.module)
    named = [one for one in modules if _function(one.name) == function]
    place = _place(listing, named, module, own, relative)
    if module is None and 0 <= place < len(named):
        module = named[place]
    jaxprs = tuple(
        found
        for found in (_at(_free(listing, (kind,), function), place, own, relative) for kind in _JAXPRS)
        if found is not None
    )
    inside = next((file for file in module.others if file.name.kind == "stablehlo"), None) if module else None
    stablehlo = inside or _at(_free(listing, ("jax-stablehlo",), function), place, own, relative)
    counted = not named or not jaxprs or len(_free(listing, (jaxprs[0].name.kind,), function)) == len(named)
    return Family(
        listing,
        module,
        tuple(root / file.path for file in jaxprs),
        root / stablehlo.path if stablehlo is not None else None,
        counted,
    )


def _root(path: Path) -> Path:
    root = path.parent
    if root.parent.name == "shardy":
        return root.parent.parent
    # XLA may put each process's files of a module into a directory of their own; what is beside them stays above.
    process = process_group(f"{root.parent.name}/{root.name}")
    if process is not None and process[1] == canonical(parse_path(path.name).module):
        return root.parent.parent
    return root.parent if read_folder(root.name).id is not None else root


def _files(root: Path, own: FileName) -> list[File]:
    """The files that may be about the function: of its number, of its name, and of JAX."""
    function = _function(own.module)
    found = []
    try:
        with os.scandir(root) as entries:
            for count, entry in enumerate(entries):
                if count >= _MOST:
                    break
                folder = read_folder(entry.name)
                if folder.id is not None and entry.is_dir(follow_symlinks=False):
                    if folder.id == own.id or (folder.module and _function(folder.module) == function):
                        found += _inside(root, entry.name)
                    continue
                name = parse_path(entry.name)
                near = name.id is not None and (name.id == own.id or _function(name.module) == function)
                if (
                    near or (name.role is Role.FREE and _function(name.module) == function)
                ) and entry.is_file():
                    found.append(new_file(entry.name, stamp_of(entry.stat()), None))
    except OSError:
        return found
    return found


def _inside(root: Path, folder: str) -> list[File]:
    try:
        with os.scandir(root / folder) as entries:
            return [
                new_file(f"{folder}/{entry.name}", stamp_of(entry.stat()), None)
                for entry in entries
                if entry.is_file()
            ]
    except OSError:
        return []


def _function(module: str) -> str:
    """The function's name in what a module or a jaxpr is called."""
    name = canonical(module)
    prefix = next((one for one in _PREFIXES if name.startswith(one)), "")
    return name.removeprefix(prefix).rstrip("_")


def _holds(module: Module, path: str) -> bool:
    stages = (file for stage in module.stages for file in stage.files)
    return any(file.path == path for file in (*stages, *module.executions, *module.others))


def _free(listing: Listing, kinds: tuple[str, ...], function: str) -> list[File]:
    """The files of JAX for a function, in the order in which they were written."""
    return [
        file
        for file in listing.catalog.other
        if file.name.kind in kinds and _function(file.name.module) == function
    ]


def _place(listing: Listing, named: list[Module], module: Module | None, own: FileName, relative: str) -> int:
    """Which of several of one name it is."""
    if module is not None:
        return next((at for at, one in enumerate(named) if one.key == module.key), 0)
    alike = _free(listing, (own.kind,), _function(own.module))
    return next((at for at, file in enumerate(alike) if file.path == relative), 0)


def _at(files: list[File], place: int, own: FileName, relative: str) -> File | None:
    if own.role is Role.FREE:
        same = next((file for file in files if file.path == relative), None)
        if same is not None:
            return same
    return files[min(place, len(files) - 1)] if files else None
