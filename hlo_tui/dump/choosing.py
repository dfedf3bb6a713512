"""Finding the module that a person means by a name or a number."""

from __future__ import annotations

import difflib
import shlex
from pathlib import Path

from hlo_tui.dump.doctor import dump_flags
from hlo_tui.dump.listing import Listing, arrange
from hlo_tui.dump.modules import Module
from hlo_tui.dump.points import MAX_DIGITS
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible

# How many names are said where a name is of no module, and how like it they have to be to come first (0 to 1).
_NAMED, _ALIKE = 5, 0.5


def find_module(listing: Listing, wanted: str) -> Module:
    """The module of this name or number (`#12`, `12`): the newest of several, with the most in it.

    Raises:
        HloTuiError: there is none.
    """
    digits = wanted.removeprefix("#")
    number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) <= MAX_DIGITS else -1
    found = [module for module in listing.catalog.modules if module.name == wanted or module.id == number]
    if not found:
        raise HloTuiError(f"no module {visible(wanted)!r}", visible(listing.root), _there(listing, wanted))
    return max(found, key=lambda module: (len(module.executions) > 0, len(module.stages), module.mtime_ns))


def of_same_name(listing: Listing, wanted: str) -> str:
    """Which of several modules of one name `find_module` finds, in words; empty where there is one alone, or numbers
    are not known.

    Raises:
        HloTuiError: there is none.
    """
    named = [module for module in listing.catalog.modules if module.name == wanted]
    chosen = find_module(listing, wanted)
    if len(named) < 2 or chosen.id is None:
        return ""
    numbers = [f"#{one.id}" for one in named if one is not chosen and one.id is not None]
    others = ", ".join(reversed(numbers[-_NAMED:])) + (", ..." if len(numbers) > _NAMED else "")
    return f"{len(named):,} modules are called {visible(wanted)}: this is #{chosen.id}; also {others}"


def _there(listing: Listing, wanted: str) -> str:
    """Which modules there are: those of names like this one first, the person's own before helpers."""
    groups, small = arrange(listing.catalog.modules)
    names = list(dict.fromkeys([*(group.name for group in groups), *(module.name for module in small)]))
    if not names:
        return "there is no module in it"
    # Functions with a leading underscore are those of libraries (`jit__normal`).
    names.sort(key=lambda name: "__" in name)
    within = [name for name in names if wanted and wanted.lower() in name.lower()]
    nearest = difflib.get_close_matches(wanted, names, _NAMED, _ALIKE)
    shown = list(dict.fromkeys([*within, *nearest, *names]))[:_NAMED]
    left = len(names) - len(shown)
    more = f" ... and {left:,} more; hlo-tui list {shlex.quote(listing.root)} shows them" if left else ""
    return f"there are: {visible(', '.join(shown) + more)}"


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
