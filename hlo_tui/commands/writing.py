"""Files that a command was told to write: never over what it reads, and never into a dump."""

from __future__ import annotations

import os
from pathlib import Path

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible


def check_out(out: Path, *read: Path) -> None:
    """Refuse a place for a result that would change what is read, before any work is done.

    Args:
        out: of the file that is to be written; what is there is replaced.
        read: the files that the command reads.

    Raises:
        HloTuiError: it is one of the files that are read, or lies in the dump that one of them belongs to.
    """
    for path in read:
        if _same(out, path):
            raise HloTuiError("not written", f"{visible(str(out))} is what is read", "give another name")
        root = _dump_of(path)
        if root is not None and out.resolve().is_relative_to(root):
            message = f"{visible(str(out))} is inside the dump"
            raise HloTuiError("not written", message, "write it somewhere else")


def write(data: bytes, out: Path) -> None:
    """Write a result.

    Raises:
        HloTuiError: it cannot be written.
    """
    try:
        out.write_bytes(data)
    except OSError as error:
        raise HloTuiError("not written", f"{visible(str(out))}: {error.strerror}") from error


def _same(a: Path, b: Path) -> bool:
    try:
        return os.path.samefile(a, b)
    except OSError:
        return False


def _dump_of(path: Path) -> Path | None:
    """The dump that a file belongs to: its directory, where files with numbers of modules lie there, or the one around
    the folder of a module; None where the file lies anywhere else."""
    from hlo_tui.dump.names import parse_name, read_folder

    folder = path.resolve().parent
    own = read_folder("/".join(folder.parts[-2:]))
    if own.id is not None:
        return folder.parent.parent if own.shardy else folder.parent
    place = read_folder("")
    try:
        with os.scandir(folder) as entries:
            numbered = any(parse_name(entry.name, place).id is not None for entry in entries)
    except OSError:
        return None
    return folder if numbered else None
