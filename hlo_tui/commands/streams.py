"""Standard input, output and error, any of which may be closed, a terminal or a pipe that nobody reads."""

from __future__ import annotations

import os
import sys

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import decode


def open_closed() -> None:
    """Open what was closed, to nothing: the next file that is opened would take its place, and be written to."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest number that is free, so that of the stream.
            number = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def drop_output() -> None:
    """Let go what Python still holds for standard output: to write it at the end would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def put(data: bytes, text: bool = True) -> None:
    """Write bytes to standard output as they are; to a terminal only text, made safe for it.

    Raises:
        HloTuiError: it is a terminal and they are no text.
    """
    if not sys.stdout.isatty():
        sys.stdout.buffer.write(data)
    elif text:
        print("\n".join(map(decode, data.removesuffix(b"\n").split(b"\n"))))
    else:
        raise HloTuiError("not written", "these bytes are not for a terminal", "give a file, or pipe them on")
