"""A full-screen terminal debugger for XLA programs.

In a program or a notebook: `dump_to` makes it dump, `dump` writes one function that is lowered or compiled, `capture`
records a run of one with its real inputs, and `show` puts modules, tags and values into a cell.
"""

from __future__ import annotations

import importlib
from typing import Any

__version__ = "0.1.0"

# The commands need none of them, and some need JAX. Their types are in the .pyi file beside this.
_HOMES = {"capture": "capture", "dump_to": "beforehand", "show": "notebook"}


def __getattr__(name: str) -> Any:
    if name == "dump":
        return importlib.import_module("hlo_tui.dump")
    if name in _HOMES:
        return getattr(importlib.import_module(f"hlo_tui.job.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'hlo_tui' has no attribute {name!r}")
