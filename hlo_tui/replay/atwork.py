"""What the worker is doing at this moment, kept where its parent can read it even after the worker's death."""

from __future__ import annotations

import mmap
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import IO, NamedTuple

SLOTS = 8
SIZE = 1024
NOTHING = b"\0"


class Phase(StrEnum):
    """What is being done with an instruction."""

    PARSE = "parse"
    COMPILE = "compile"
    LOAD = "load"
    RUN = "run"
    STRETCH = "stretch"
    CHECK = "check"


class Doing(NamedTuple):
    """One thing that is being done.

    Attributes:
        phase: what. A "stretch" is a run of instructions in one piece, "check" a run of the whole module.
        computation: of the instruction.
        instruction: its name, of a stretch the last one's; empty where it is not about one.
    """

    phase: Phase
    computation: str = ""
    instruction: str = ""

    def key(self) -> tuple[str, str]:
        """What stands for it where it must not be done again: computation and instruction, or more than that one."""
        if self.phase in (Phase.STRETCH, Phase.CHECK):
            return self.computation, f"{self.phase} {self.instruction}"
        return self.computation, self.instruction

    def record(self) -> bytes:
        """The form that `Board.mark` takes; a name too long for it is left out."""
        written = "\0".join((*self, "")).encode("utf-8", "surrogateescape")
        return written if len(written) <= SIZE else f"{self.phase}\0\0\0".encode()


class _Slot(threading.local):
    """Which place of a board this thread writes to; the main thread's is the first."""

    number = 0


class Board:
    """Shared memory with a place for each thread of the worker.

    Writing costs a tenth of a microsecond, so that it can be done before each run of an instruction. The memory is a
    nameless file of our own, which nobody else can reach or cut.
    """

    def __init__(self, descriptor: int = -1) -> None:
        """Take a board that `file` made; without one it is this process's own."""
        self._memory = mmap.mmap(descriptor, SLOTS * SIZE)
        self._slot = _Slot()

    @staticmethod
    def file() -> IO[bytes]:
        """A file for a new board; it is gone when it is closed."""
        file = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the worker
        file.truncate(SLOTS * SIZE)
        return file

    def take(self, slot: int) -> None:
        """Let this thread write to a place of its own."""
        self._slot.number = slot

    def mark(self, record: bytes) -> None:
        """Say what this thread is doing from now on: a `Doing.record`, or NOTHING."""
        start = self._slot.number * SIZE
        self._memory[start : start + len(record)] = record

    @contextmanager
    def instead(self, record: bytes) -> Iterator[None]:
        """Say that this thread does something else for a while, and then again what it did before."""
        start = self._slot.number * SIZE
        before = self._memory[start : start + SIZE]
        self.mark(record)
        yield
        self.mark(before)

    def read(self) -> list[Doing]:
        """What is being done, the main thread's first; empty where nothing is."""
        found = []
        for slot in range(SLOTS):
            data = self._memory[slot * SIZE : (slot + 1) * SIZE]
            phase, *names = data.split(b"\0", 3)[:3]
            if phase and len(names) == 2:
                computation, instruction = (name.decode("utf-8", "surrogateescape") for name in names)
                try:
                    found.append(Doing(Phase(phase.decode("ascii", "replace")), computation, instruction))
                except ValueError:
                    # Written over while it was read: the next look is better.
                    continue
        return found
