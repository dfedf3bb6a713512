"""What the worker is doing, in words, a few times a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from hlo_tui.replay.atwork import Board, Doing, Phase
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.program import trip_count
from hlo_tui.replay.protocol import Closed

Json = dict[str, Any]

INTERVAL = 0.1
_LONG = 2.0
_MANY = 100


class Progress:
    """Looks at the work from a thread of its own, so that the work itself never waits for a message.

    One message is sent in each `INTERVAL` seconds at most, and only where it says something new.
    """

    def __init__(self, look: Callable[[], str], say: Callable[[Json], None]) -> None:
        self._look = look
        self._say = say
        self._busy = threading.Event()
        self._lock = threading.Lock()
        self._said = ""
        threading.Thread(target=self._run, daemon=True).start()

    def begin(self) -> None:
        """A request is being carried out from now on."""
        self._busy.set()

    def end(self) -> None:
        """It is done; no message follows."""
        with self._lock:
            self._busy.clear()
            self._said = ""

    def _run(self) -> None:
        try:
            while self._busy.wait():
                time.sleep(INTERVAL)
                self._tell()
        except Closed:
            # Nobody listens any more, and the process is about to end.
            return

    def _tell(self) -> None:
        with self._lock:
            words = self._look() if self._busy.is_set() else ""
            if words not in ("", self._said):
                self._said = words
                self._say({"note": words})


class Words:
    """Puts the work into words, with how long it takes already and how much there is."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._doing: list[Doing] = []
        self._since = 0.0

    def now(self, evaluator: Evaluator | None) -> str:
        """What is being done now; empty where nothing is."""
        found = self._board.read()
        moment = time.monotonic()
        if found != self._doing:
            self._doing, self._since = found, moment
        if not found:
            return ""
        parts = [_doing_words(found[0])]
        if evaluator is not None:
            ahead, active = evaluator.ahead, list(evaluator.keeper.active)
            if ahead.total:
                parts.append(f"{min(ahead.done + 1, ahead.total)} of {ahead.total}")
            if active:
                parts += _iterations(active[-1].frame)
                if len(active[0].needed) >= _MANY:
                    parts.append(f"step {active[0].position} of {len(active[0].needed)}")
        if moment - self._since >= _LONG:
            parts.append(f"{moment - self._since:.0f} s")
        return ", ".join(parts)


def _doing_words(doing: Doing) -> str:
    phase, computation, instruction = doing
    if phase is Phase.PARSE:
        return "reading the module"
    if phase is Phase.CHECK:
        return "running the whole module once, to check"
    if phase is Phase.STRETCH:
        return f"compiling and running {computation} up to {instruction}"
    verb = {Phase.COMPILE: "compiling", Phase.LOAD: "loading", Phase.RUN: "running"}[phase]
    return f"{verb} {instruction} in {computation}"


def _iterations(frame: Frame) -> list[str]:
    """For each loop that a frame is in, the outermost first, how far it is."""
    words = []
    for one in frame.chain():
        if one.iteration is not None and one.parent is not None:
            total = trip_count(one.op)
            known = "" if total is None else f"{total} of "
            words.append(
                f"iteration {one.iteration} of {known}{one.op.name} in {one.parent.computation.name}"
            )
    return words
