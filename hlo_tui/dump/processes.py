"""Running programs that have XLA loaded, and where each was told to dump when it was started."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_XLA = re.compile(rb"libjax_common|xla_extension|_XLAC\.|libtensorflow_cc|xla_cuda_plugin|libtpu\.so")
_DUMP_TO = re.compile(r"""--xla_dump_to=(?:"((?:\\.|[^"\\])*)"|'([^']*)'|(\S*))""")
_MAPS = 8 << 20
_ENVIRONMENT = 1 << 20


@dataclass(frozen=True, slots=True)
class Process:
    """A program that has XLA loaded.

    Attributes:
        pid: its number.
        command: what it was started as, cut off where it is long.
        dumps_to: the directory of the flag that it was started with, absolute; "" where it had none.
    """

    pid: int
    command: str
    dumps_to: str


def with_xla(proc: Path = Path("/proc")) -> Iterator[Process]:
    """The person's own Python programs that have XLA loaded, as far as the system tells (Linux does).

    Nothing is read of another program than the names of the files that it has mapped.
    """
    try:
        numbers = sorted(int(name) for name in os.listdir(proc) if name.isdigit())
    except OSError:
        return
    for pid in numbers:
        found = read_process(pid, proc)
        if found is not None and pid != os.getpid():
            yield found


def read_process(pid: int, proc: Path = Path("/proc")) -> Process | None:
    """Look at one program; None where it is not there, not the person's, no Python, or has no XLA."""
    place = proc / str(pid)
    try:
        if place.stat().st_uid != os.getuid():
            return None
        if not os.path.basename(os.readlink(place / "exe")).startswith("python"):
            return None
        if not _XLA.search(_read(place / "maps", _MAPS)):
            return None
        command = _read(place / "cmdline", 4096).decode("utf-8", "replace").rstrip("\0").replace("\0", " ")
        flags = _flags(_read(place / "environ", _ENVIRONMENT))
        directory = os.readlink(place / "cwd")
    except OSError:
        return None
    found = _DUMP_TO.findall(flags)
    target = "".join(found[-1]) if found else ""
    return Process(pid, command[:100], os.path.join(directory, target) if target else "")


def _flags(environment: bytes) -> str:
    for variable in environment.split(b"\0"):
        if variable.startswith(b"XLA_FLAGS="):
            return variable[len(b"XLA_FLAGS=") :].decode("utf-8", "replace")
    return ""


def _read(path: Path, most: int) -> bytes:
    with path.open("rb") as file:
        return file.read(most)
