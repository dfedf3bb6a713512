"""A dump directory: what its files are, which module they belong to, and what changes in it."""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


class _Room(ModuleType):
    """This room, which in a person's program is also the function of the same name."""

    def __call__(self, stage: Any, dir: str | os.PathLike[str], *recipes: str) -> Path:
        """Write a lowered or compiled function of JAX into a directory; see `hlo_tui.job.stages.dump`."""
        written: Path = importlib.import_module("hlo_tui.job.stages").dump(stage, dir, *recipes)
        return written


# A module of the package takes the name in it as soon as it is imported: then `hlo_tui.dump(...)` is this.
sys.modules[__name__].__class__ = _Room
