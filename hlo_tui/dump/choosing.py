"""Finding the module that a person means by a name or a number."""

from __future__ import annotations

import difflib
from pathlib import Path

from hlo_tui.dump.doctor import dump_flags
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module
from hlo_tui.dump.points import MAX_DIGITS
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible


def find_module(listing: Listing, wanted: str) -> Module:
    """The module of this name or number (`#12`, `12`): the newest of several, with the most in it.

    Raises:
        HloTuiError: there is none.
    """
    digits = wanted.removeprefix("#")
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS else -1
    found = [module for module in listing.catalog.modules if module.name == wanted or module.id == number]
    if not found:
        names = sorted({m.name for m in listing.catalog.modules})
        close = difflib.get_close_matches(wanted, names, 3) or names[:3]
        raise HloTuiError(
            f"no module {visible(wanted)!r}", visible(listing.root), f"there are: {visible(', '.join(close))}"
        )
    return max(found, key=lambda module: (len(module.executions) > 0, len(module.stages), module.mtime_ns))


def first_file(listing: Listing, wanted: str) -> Path:
    """The file of a module's first stage.

    Raises:
        HloTuiError: there is no such module, it has no stage, or this is no directory.
    """
    if not Path(listing.root).is_dir():
        hint = "leave MODULE out; --member says which module is meant, where a file holds several"
        raise HloTuiError("this is no directory", visible(listing.root), hint)
    module = find_module(listing, wanted)
    if not module.stages:
        raise HloTuiError(f"no stage of {visible(module.name)} was dumped", visible(listing.root))
    return Path(listing.root) / module.stages[0].main.path


def snapshots(listing: Listing, wanted: str) -> list[Path]:
    """The snapshots of a module's executions, the oldest first.

    Raises:
        HloTuiError: there is no such module, or it has none.
    """
    module = find_module(listing, wanted)
    if not module.executions:
        hint = dump_flags(listing.root, "--xla_dump_hlo_snapshots")
        raise HloTuiError(f"no execution of {visible(module.name)} was recorded", visible(listing.root), hint)
    return [Path(listing.root) / file.path for file in module.executions]
