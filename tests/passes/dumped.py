"""The dumps of our own programs, opened for the tests of passes."""

from __future__ import annotations

from pathlib import Path

from hlo_tui.dump import choosing, listing
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module
from tests.corpus import DATA

PASSES = DATA / "passes"


def opened(name: str, directory: Path = PASSES) -> tuple[Listing, Module]:
    """A dump and one module of it."""
    dump = listing.load(directory)
    return dump, choosing.find_module(dump, name)


def stage_file(name: str, label: str, directory: Path = PASSES) -> Path:
    """The one file of a module whose stage's label begins with `label`."""
    (found,) = (path for path in directory.glob(f"module_*.{name}.{label}*") if path.suffix == ".txt")
    return found
