"""Where a program's own dump goes: files named as XLA names them, under a module number that is free."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from hlo_tui.dump.names import canonical
from hlo_tui.errors import HloTuiError

_NUMBER = re.compile(r"module_(\d{4,18})\.")
# A file's name may have 255 bytes; the longest ending that is put behind a module's name has less than this.
_LONGEST = 180


@dataclass(frozen=True, slots=True)
class Place:
    """A module's place in a dump directory.

    Attributes:
        directory: the dump.
        stem: what the names of the module's files begin with.
    """

    directory: Path
    stem: str

    def write(self, ending: str, contents: bytes | str) -> Path:
        """Write one of the module's files, whole or not at all.

        Raises:
            HloTuiError: it cannot be written.
        """
        path = self.directory / f"{self.stem}{ending}"
        data = contents.encode("utf-8", "surrogateescape") if isinstance(contents, str) else contents
        beside = path.with_name(f".{path.name}.part"[-250:])
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            beside.write_bytes(data)
            beside.replace(path)
        except OSError as error:
            beside.unlink(missing_ok=True)
            raise HloTuiError("the dump cannot be written", f"{path}: {error.strerror}") from error
        return path


def new_place(directory: str | os.PathLike[str], module: str) -> Place:
    """The place for another module in a directory, which is made where it is not there.

    Raises:
        HloTuiError: there can be no such directory.
    """
    path = Path(directory)
    try:
        path.mkdir(parents=True, exist_ok=True)
        numbers = [int(found[1]) for name in os.listdir(path) if (found := _NUMBER.search(name))]
    except OSError as error:
        raise HloTuiError("the dump cannot be written", f"{path}: {error.strerror}") from error
    name = canonical(module)[:_LONGEST]
    return Place(path, f"module_{max(numbers, default=-1) + 1:04d}.{name}")
