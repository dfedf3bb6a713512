"""A full-screen terminal debugger for XLA programs.

In a program or a notebook: `dump_to` makes it dump, `dump` writes one function that is lowered or compiled, `capture`
records a run of one with its real inputs, and `show` puts modules, tags and values into a cell.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from hlo_tui.job.beforehand import dump_to
    from hlo_tui.job.capture import capture
    from hlo_tui.job.notebook import show
    from hlo_tui.job.stages import dump

__all__ = ["__version__", "capture", "dump", "dump_to", "show"]

# The commands need none of them, and some need JAX.
_HOMES = {"capture": "capture", "dump_to": "beforehand", "show": "notebook"}


def __getattr__(name: str) -> Any:
    if name == "dump":
        return importlib.import_module("hlo_tui.dump")
    if name in _HOMES:
        return getattr(importlib.import_module(f"hlo_tui.job.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'hlo_tui' has no attribute {name!r}")
