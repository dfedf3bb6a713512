"""The options that XLA compiled with, as it writes them beside its dumps: the proof that flags arrived."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from hlo_tui.dump.modules import Module

_LINE = re.compile(r'^(xla_\w{1,100}): (?:"((?:\\.|[^"\\]){0,4096})"|(\S{1,200}))\s*$', re.MULTILINE)
_MOST = 1 << 16
_FILES = 200


def read_options(root: str, modules: Iterable[Module]) -> list[dict[str, str]]:
    """Read the `.debug_options` files of a dump: what each says that is not XLA's default.

    Args:
        root: the dump's directory.
        modules: of that dump. At most two hundred files are read, 64 KiB of each.

    Returns:
        Names of options with their values, without quotes; one for each file that differs from the others.
    """
    paths = [file.path for module in modules for file in module.others if file.name.kind == "debug-options"]
    found: list[dict[str, str]] = []
    for path in paths[:_FILES]:
        try:
            with open(os.path.join(root, path), "rb") as file:
                text = file.read(_MOST).decode("utf-8", "replace")
        except OSError:
            continue
        options = {name: quoted or plain for name, quoted, plain in _LINE.findall(text)}
        if options not in found:
            found.append(options)
    return found
