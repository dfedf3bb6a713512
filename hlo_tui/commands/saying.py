"""Messages, which go to standard error."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible


def say(text: str) -> None:
    """Write a message, safe for a terminal: names of files and of modules are in it."""
    with contextlib.suppress(OSError):
        print("\n".join(map(visible, text.split("\n"))), file=sys.stderr)


def refuse(
    parser: argparse.ArgumentParser, path: Path, left: Sequence[str], commands: Sequence[str]
) -> NoReturn:
    """Say what is wrong with a line that is for the screen by its first word and has too much for it.

    Raises:
        HloTuiError: the first word seems to be meant for a command.
    """
    word = str(path)
    if os.sep not in word and not path.exists():
        near = difflib.get_close_matches(word, commands, 1)
        message = f"did you mean {near[0]}?" if near else f"there are: {', '.join(sorted(commands))}"
        raise HloTuiError(f"no command {visible(word)}", message, "hlo-tui --help says what each does")
    parser.error(f"unrecognized arguments: {' '.join(left)}")
