"""Messages, which go to standard error."""

from __future__ import annotations

import contextlib
import sys

from hlo_tui.hlo.visible import visible


def say(text: str) -> None:
    """Write a message, safe for a terminal: names of files and of modules are in it."""
    with contextlib.suppress(OSError):
        print("\n".join(map(visible, text.split("\n"))), file=sys.stderr)
