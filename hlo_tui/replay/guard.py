"""Ends a worker that takes too much memory, before the system does it without a word."""

from __future__ import annotations

import threading
from collections.abc import Callable

from hlo_tui.replay.memory import available, resident, size_words

INTERVAL = 0.05
# What must stay free for everyone else on the machine, or an eighth of what is free at the start where that is less.
# A worker that holds less than that is not to blame.
RESERVE = 512 << 20


class Guard:
    """Looks at the memory of a process while it works."""

    def __init__(
        self,
        pid: int,
        limit: int | None,
        end: Callable[[str], None],
        free: Callable[[], int | None] = available,
    ) -> None:
        """Begin to watch, on a thread.

        Args:
            pid: the process.
            limit: bytes that it may hold; None for as much as is free.
            end: called once, with the reason, when it is too much.
            free: gives the bytes that can still be allocated.
        """
        self._pid = pid
        self._limit = limit
        self._end = end
        self._free = free
        at_start = free()
        self._reserve = RESERVE if at_start is None else min(RESERVE, at_start // 8)
        self._working = threading.Event()
        self._over = threading.Event()
        threading.Thread(target=self._watch, daemon=True).start()

    def work(self, begins: bool) -> None:
        """Whether the process works; one that does not is not looked at."""
        if begins:
            self._working.set()
        else:
            self._working.clear()

    def stop(self) -> None:
        """The process is gone."""
        self._over.set()
        self._working.set()

    def _watch(self) -> None:
        while self._working.wait() and not self._over.wait(INTERVAL):
            reason = self._too_much()
            if reason:
                self._end(reason)
                return

    def _too_much(self) -> str:
        held = resident(self._pid)
        if held is None:
            return ""
        if self._limit is not None and held > self._limit:
            return f"it held {size_words(held)} of memory, the limit is {size_words(self._limit)}"
        free = self._free() if held > self._reserve else None
        if free is not None and free < self._reserve:
            return (
                f"it held {size_words(held)} of memory, and only {size_words(free)} were left on the machine"
            )
        return ""
