"""Files for tests: values without a disk, and small dumps on one."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.files import Changes, File
from hlo_tui.dump.modules import Module
from hlo_tui.dump.names import parse_path

TEXT = "HloModule jit_f\n\nENTRY main {\n  ROOT x = f32[] parameter(0)\n}\n"


def file(path: str, size: int = 100, mtime: int = 0, *, complete: bool = True) -> File:
    """A file as a walk would give it."""
    return File(path, parse_path(path), size, mtime, complete=complete)


def catalog_of(paths: Iterable[str]) -> Catalog:
    """A catalog that holds files of these names; each is newer than the one before."""
    catalog = Catalog()
    catalog.apply(Changes(tuple(file(path, mtime=index) for index, path in enumerate(paths))))
    return catalog


def places(catalog: Catalog) -> list[str]:
    """The paths of all places of the catalog, one for each place."""
    found = [each.path for each in (*catalog.other, *catalog.unrecognised)]
    for module in catalog.modules:
        found += [each.path for stage in module.stages for each in stage.files]
        found += [each.path for each in (*module.executions, *module.others)]
    return sorted(found)


def named(catalog: Catalog, name: str) -> list[Module]:
    """The modules of this name."""
    return [module for module in catalog.modules if module.name == name]


def labels(module: Module) -> list[str]:
    """The labels of a module's stages, in order."""
    return [stage.label for stage in module.stages]


def write(root: Path, path: str, text: str = TEXT) -> Path:
    """Write a file below `root`, with its directories."""
    target = root / path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return target
