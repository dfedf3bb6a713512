"""Sessions with real workers for tests: started, waited for, looked at, closed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from hlo_tui.replay.session import Options, Session, State
from hlo_tui.replay.stopspec import TAGS, StopSpec

PATIENCE = 60.0


@contextmanager
def opened(path: Path, specs: tuple[StopSpec, ...] = (TAGS,), **options: object) -> Iterator[Session]:
    """A session on a file, standing at the beginning."""
    session = Session(Options(path, **options), lambda _: None, specs)  # type: ignore[arg-type]
    try:
        session.start()
        session.wait()
        yield session
    finally:
        session.close()


def worker_of(session: Session) -> int:
    assert session._client is not None
    return session._client.pid


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.005)


def go(session: Session, *moves: str) -> State:
    """Make moves one after the other; a capital letter at the beginning is backwards."""
    for move in moves:
        session.move(move.lower(), backward=move[0].isupper())
        session.wait()
    return session.state


def alive(pid: int) -> bool:
    """Whether a process runs; one that is only waited for does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
