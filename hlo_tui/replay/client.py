"""The worker as its parent sees it: started, asked, listened to, ended."""

from __future__ import annotations

import collections
import itertools
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import Any

from hlo_tui.errors import EngineError
from hlo_tui.hlo.visible import decode
from hlo_tui.replay.atwork import Board, Doing
from hlo_tui.replay.guard import Guard
from hlo_tui.replay.protocol import Closed, receive, send

Json = dict[str, Any]
STDERR_LINES = 200
# The one request that has no answer of its own.
INTERRUPT = "interrupt"


class Client:
    """One worker process.

    `on_message` gets every message of the worker, `on_exit` the exit status once it is gone (negative: the
    signal);
    both are called on threads of the client.

    Attributes:
        ended: why this side ended the worker; empty where it did not.
    """

    def __init__(
        self,
        on_message: Callable[[Json], None],
        on_exit: Callable[[int], None],
        memory_limit: int | None = None,
    ) -> None:
        """Start a worker; it may hold `memory_limit` bytes, or as much as is free."""
        self.ended = ""
        self._on_message = on_message
        self._on_exit = on_exit
        self._ids = itertools.count(1)
        self._lock = threading.Lock()
        self._stderr: collections.deque[str] = collections.deque(maxlen=STDERR_LINES)
        self._under_way: set[int] = set()
        self._board_file = Board.file()
        descriptor = self._board_file.fileno()
        self._board = Board(descriptor)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "hlo_tui.replay.worker", str(descriptor)],
            pass_fds=(descriptor,),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment(),
            # A key at the terminal signals the foreground group: the worker is not in it.
            start_new_session=True,
        )
        self._guard = Guard(self._process.pid, memory_limit, self.kill)
        self._drain = threading.Thread(target=self._read_stderr, daemon=True)
        self._drain.start()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self._process.pid

    def request(self, method: str, params: Json) -> int:
        """Ask for something; the answer comes as a message with this number.

        Raises:
            EngineError: the worker is gone.
        """
        assert self._process.stdin is not None
        with self._lock:
            identity = next(self._ids)
            if method != INTERRUPT:
                self._under_way.add(identity)
                self._guard.work(True)
            try:
                send(self._process.stdin, {"id": identity, "method": method, "params": params})
            except Closed as error:
                raise EngineError(
                    "the engine is not running", str(error), "the next command starts it again"
                ) from error
        return identity

    def doing(self) -> list[Doing]:
        """What the worker is doing, or was at its death."""
        return self._board.read()

    def kill(self, reason: str = "") -> None:
        """End the worker now."""
        if self._process.poll() is None:
            self.ended = self.ended or reason
            self._process.kill()

    def close(self) -> None:
        """End the worker and wait until it is gone."""
        self.kill()
        if threading.current_thread() is not self._listener:
            self._listener.join()

    def stderr_tail(self) -> list[str]:
        """The last lines that the worker wrote to its standard error, safe to show."""
        return list(self._stderr)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        assert self._process.stdin is not None
        try:
            while True:
                message = receive(self._process.stdout)
                self._answered(message.get("id"))
                self._on_message(message)
        except Closed:
            pass
        except Exception:
            # The border: whoever listens failed, and would wait for ever for an answer that is lost.
            self._stderr.extend(traceback.format_exc().splitlines())
        self.kill()
        status = self._process.wait()
        self._guard.stop()
        self._drain.join(timeout=1)
        for stream in (self._process.stdout, self._process.stdin, self._board_file):
            try:
                stream.close()
            except OSError:
                # The pipe broke with a message still in it; the worker that should have read it is gone.
                continue
        self._on_exit(status)

    def _answered(self, identity: object) -> None:
        with self._lock:
            if isinstance(identity, int):
                self._under_way.discard(identity)
                self._guard.work(bool(self._under_way))

    def _read_stderr(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as stream:
            for line in stream:
                self._stderr.append(decode(line.rstrip(b"\r\n")[:2000]))


# The job's own flags must not reach the worker: a dump flag would make it write into the watched directory.
_NOT_INHERITED = frozenset(
    {
        "XLA_FLAGS", "LIBTPU_INIT_ARGS", "TF_XLA_FLAGS", "MOSAIC_GPU_DUMP_TO",
        "JAX_DUMP_IR_TO", "JAX_DUMP_IR_MODES", "JAX_PLATFORMS", "JAX_COMPILATION_CACHE_DIR",
        "JAX_ENABLE_COMPILATION_CACHE", "JAX_DEBUG_NANS", "JAX_DISABLE_JIT",
    }
)  # fmt: skip


def environment() -> dict[str, str]:
    """The environment of a process that runs XLA for a replay."""
    return {k: v for k, v in os.environ.items() if k not in _NOT_INHERITED}


def last_words(lines: list[str], count: int) -> tuple[str, ...]:
    """The last lines that say something: addresses on the stack push out what they are about."""
    telling = [line for line in lines if not line.lstrip().startswith(("@ ", "*** Check failure"))]
    return tuple(telling[-count:])


def describe_exit(status: int) -> str:
    """How a process ended, in words."""
    if status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {-status} ({signal.Signals(-status).name})"
    except ValueError:
        return f"signal {-status}"
