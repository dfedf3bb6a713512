"""What a session does otherwise after XLA has ended its worker, so that the same does not happen again."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, replace

from hlo_tui.replay.atwork import Doing, Phase

# Signals with which XLA itself ends the process: SIGILL, SIGABRT, SIGBUS, SIGFPE, SIGSEGV.
OWN_FAULT = frozenset({-4, -6, -7, -8, -11})
# Compiling is most of a cold replay; more threads than this are for the job that is being watched.
_MOST_THREADS = 4
_NOT_LOADED = "what earlier sessions compiled is not loaded any more"
_ONE_AT_A_TIME = "slices are compiled one at a time from now on, to tell which it was"


def _threads() -> int:
    usable = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    return min(len(usable), _MOST_THREADS)


@dataclass(frozen=True, slots=True)
class Lessons:
    """How a fresh worker is to be started.

    Attributes:
        refused: (computation, instruction, why) of what is not to be run; see `Doing.key`.
        threads: how many slices it may compile at the same time.
        stored: whether it may load compiled slices of earlier sessions.
    """

    refused: tuple[tuple[str, str, str], ...] = ()
    threads: int = _threads()
    stored: bool = True

    def without_check(self, doing: list[Doing], why: str) -> Lessons:
        """The lessons after the worker was ended from here: the check at the end is the only thing to leave out.

        Args:
            doing: what each thread of the worker was doing.
            why: the reason.
        """
        checks = [one for one in doing if one.phase is Phase.CHECK]
        return replace(self, refused=(*self.refused, *((*one.key(), why) for one in checks)))

    def learn(self, doing: list[Doing], status: int) -> tuple[Lessons, str]:
        """The lessons after a death, and in words what is new; no words where nothing can be learned.

        Args:
            doing: what each thread of the worker was doing.
            status: how it ended; negative for a signal.
        """
        loading = any(one.phase is Phase.LOAD for one in doing)
        if self.stored and (loading or status == -signal.SIGILL):
            return replace(self, stored=False), _NOT_LOADED
        found = [one for one in doing if one.phase not in (Phase.PARSE, Phase.LOAD)]
        if len(found) > 1 and self.threads > 1:
            return replace(self, threads=1), _ONE_AT_A_TIME
        for one in found[:1]:
            refusal = (*one.key(), "XLA ended the process on it")
            return replace(self, refused=(*self.refused, refusal)), _left_out(one)
        parsing = any(one.phase is Phase.PARSE for one in doing)
        return self, "XLA's parser does not survive this file" if parsing else ""


def _left_out(doing: Doing) -> str:
    phase, computation, instruction = doing
    if phase is Phase.CHECK:
        return "the whole module is not run again to check"
    if phase is Phase.STRETCH:
        return f"{computation} is not run in one piece up to {instruction} again"
    return f"{instruction} in {computation} is left out as unknown from now on"
