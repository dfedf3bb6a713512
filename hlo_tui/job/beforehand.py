"""Setting what makes this very program dump, before it first uses XLA (no import of jax)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.job.recipes import chosen
from hlo_tui.job.settings import settings

# JAX has read these when it was imported: its configuration has to be told as well.
_OF_JAX = "JAX_"


def dump_to(dir: str | os.PathLike[str], *recipes: str) -> Path:
    """Make this program dump what it compiles from now on.

    Args:
        dir: a directory; XLA makes it where it is not there.
        recipes: of `hlo-tui flags`; before and after optimisation where there are none.

    Returns:
        The directory.

    Raises:
        HloTuiError: XLA was used already, so that it is too late; or this jaxlib lacks what a recipe needs.
    """
    if "jax" in sys.modules:
        from hlo_tui.replay.xla import backend_started

        if backend_started():
            raise HloTuiError(
                "it is too late to dump everything: XLA was used in this program already",
                "it reads its flags once, when the first array or device is asked for",
                "call hlo_tui.dump_to first thing in the program, or restart the notebook's kernel; "
                "hlo_tui.dump(jax.jit(f).lower(*args), DIR, 'passes') works at any time",
            )
    try:
        jaxlib: str | None = version("jaxlib")
    except PackageNotFoundError:
        jaxlib = ""
    found = settings(chosen(recipes), dir, os.environ, jaxlib=jaxlib)
    os.environ.update(found.environment)
    if "jax" in sys.modules:
        _tell_jax(found.environment)
    return Path(found.directory)


def _tell_jax(environment: Mapping[str, str]) -> None:
    import jax

    configuration: Any = jax.config
    for name, value in environment.items():
        if name.startswith(_OF_JAX):
            known: object = {"true": True, "false": False}.get(
                value, int(value) if value.isdigit() else value
            )
            try:
                configuration.update(name.lower(), known)
            except AttributeError:
                # A version that does not know it reads it from nowhere.
                continue
