"""A person's program in a terminal of its own, whose output is kept, and which it can be spoken to through."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pty
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence

from hlo_tui.errors import HloTuiError
from hlo_tui.job.scrollback import Scrollback

# The child takes the terminal for its own (so that ctrl+c reaches it) and becomes the program. Where there is no
# locale Python sets one for whom it starts: that is taken back.
_BECOME = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
if sys.argv[1] == "without":
    os.environ.pop("LC_CTYPE", None)
os.execvp(sys.argv[2], sys.argv[2:])
"""
_CHUNK = 1 << 16
# Bytes that are kept as they came, for the terminal that the program goes on in when the screen is gone.
_RAW = 1 << 16
# Seconds between two notices of new output.
_PACE = 0.1


class Job:
    """A running program.

    Attributes:
        command: what it was started as.
        started: by the monotonic clock.
        ended: the same; None while it runs.
        code: its exit code as a shell tells it (128 and the signal's number where one ended it); None while it runs.
        reported: whether its end was shown to the person.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], size: tuple[int, int] = (80, 24)
    ) -> None:
        """Start it.

        Args:
            command: with its arguments.
            environment: all of it.
            size: columns and rows of its terminal.

        Raises:
            HloTuiError: there is no such program.
        """
        self.command = tuple(command)
        self.code: int | None = None
        self.reported = False
        self.ended: float | None = None
        self.started = time.monotonic()
        check_command(command)
        self._lock = threading.Lock()
        self._scrollback = Scrollback()
        self._raw = bytearray()
        self._listener: Callable[[], None] | None = None
        self._through: int | None = None
        self._asked = 0
        self._done = threading.Event()
        locale = "with" if "LC_CTYPE" in environment else "without"
        self._master, slave = pty.openpty()
        self.resize(*size)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _BECOME, locale, *command], env=dict(environment), stdin=slave,
                stdout=slave, stderr=slave, start_new_session=True,
            )  # fmt: skip
        finally:
            os.close(slave)
        threading.Thread(target=self._read, name="hlo-tui-job", daemon=True).start()

    @property
    def lines(self) -> list[str]:
        """All lines that are kept of its output."""
        with self._lock:
            return self._scrollback.lines

    def tail(self, count: int) -> list[str]:
        """The last lines of its output."""
        with self._lock:
            return self._scrollback.tail(count)

    def listen(self, listener: Callable[[], None]) -> None:
        """Have a function called, on another thread, when there is new output and when it has ended."""
        self._listener = listener
        listener()

    def resize(self, columns: int, rows: int) -> None:
        """Tell it how large its terminal is."""
        # It may have ended, and its terminal with it.
        with contextlib.suppress(OSError, ValueError):
            fcntl.ioctl(self._master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def send(self, text: str) -> None:
        """Type a line for it."""
        self._write(text.encode("utf-8", "surrogateescape") + b"\n")

    def interrupt(self) -> None:
        """Press ctrl+c in its terminal."""
        self._write(b"\x03")

    def end(self) -> str:
        """End it, and what it has started: politely, and by force when it is asked again. Gives what was done."""
        number = signal.SIGKILL if self._asked else signal.SIGTERM
        self._asked += 1
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)
        return "killed" if number == signal.SIGKILL else "asked to end"

    def wait(self, seconds: float | None = None) -> int | None:
        """Wait until it has ended; its exit code, None where it still runs."""
        self._done.wait(seconds)
        return self.code

    def pass_through(self, reading: int = 0, writing: int = 1) -> int:
        """Let it go on in the person's own terminal until it ends: its last output first, ctrl+c is for it.

        Args:
            reading: what is typed here goes to it.
            writing: its output goes here as it is.

        Returns:
            Its exit code.
        """
        self._listener = None
        with self._lock:
            newline = self._raw.find(b"\n") + 1 if len(self._raw) >= _RAW else 0
            _write_all(writing, bytes(self._raw[newline:]))
            self._through = writing
        before = _set_echo(reading, None)
        caught = signal.signal(signal.SIGINT, lambda *_: self.interrupt())
        try:
            with contextlib.suppress(OSError):
                self.resize(*os.get_terminal_size(writing))
            self._forward(reading)
        finally:
            signal.signal(signal.SIGINT, caught)
            _set_echo(reading, before)
        assert self.code is not None
        return self.code

    def _forward(self, reading: int) -> None:
        """Pass on what is typed, until it has ended."""
        sources = [reading] if os.isatty(reading) else []
        while not self._done.is_set():
            if not sources:
                self._done.wait(_PACE)
                continue
            ready, _, _ = select.select(sources, [], [], _PACE)
            if ready:
                data = os.read(reading, _CHUNK)
                if data:
                    self._write(data)
                else:
                    sources = []

    def _write(self, data: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(self._master, data)

    def _read(self) -> None:
        told, new = 0.0, False
        while True:
            ready, _, _ = select.select([self._master], [], [], _PACE)
            data = self._take() if ready else b""
            new = new or bool(data)
            if new and time.monotonic() - told >= _PACE:
                told, new = time.monotonic(), False
                self._tell()
            # What it has started may hold its terminal for longer than it runs itself.
            if not data and (ready or self._process.poll() is not None):
                break
        code = self._process.wait()
        master, self._master = self._master, -1
        os.close(master)
        self.code = 128 - code if code < 0 else code
        self.ended = time.monotonic()
        self._done.set()
        self._tell()

    def _take(self) -> bytes:
        try:
            data = os.read(self._master, _CHUNK)
        except OSError as error:
            # Linux says so when nobody has the other side open any more.
            if error.errno != errno.EIO:
                raise
            return b""
        with self._lock:
            self._scrollback.feed(data)
            self._raw += data
            del self._raw[: max(0, len(self._raw) - _RAW)]
            if self._through is not None:
                _write_all(self._through, data)
        return data

    def _tell(self) -> None:
        if self._listener is not None:
            self._listener()


def check_command(command: Sequence[str]) -> None:
    """Look whether there is such a program.

    Raises:
        HloTuiError: there is none.
    """
    if not command:
        raise HloTuiError(
            "there is no program to run",
            "it stands behind two dashes",
            "hlo-tui run [RECIPE...] -- python train.py",
        )
    if shutil.which(command[0]) is None:
        raise HloTuiError(
            f"{command[0]} cannot be run", "there is no such program here, or it may not be run"
        )


def run_here(command: Sequence[str], environment: Mapping[str, str], output: int | None = None) -> int:
    """Run a program in the terminal that is there, without a screen.

    Args:
        command: with its arguments.
        environment: all of it.
        output: where its standard output goes; where it is for this program if not given.

    Returns:
        Its exit code as a shell tells it. ctrl+c is for the program alone.

    Raises:
        HloTuiError: there is no such program.
    """
    check_command(command)
    # A handler, as what is ignored here the program would ignore too.
    caught = signal.signal(signal.SIGINT, lambda *_: None)
    try:
        code = subprocess.Popen(command, env=dict(environment), stdout=output).wait()
    except OSError as error:
        raise HloTuiError(f"{command[0]} cannot be run", str(error.strerror)) from error
    finally:
        signal.signal(signal.SIGINT, caught)
    return 128 - code if code < 0 else code


def _write_all(descriptor: int, data: bytes) -> None:
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(descriptor, data) :]


def _set_echo(descriptor: int, attributes: list[object] | None) -> list[object] | None:
    """Switch the terminal's echo off, as the program's own terminal has one; or set what was there before."""
    try:
        before: list[object] = termios.tcgetattr(descriptor)
        now = list(before) if attributes is None else attributes
        if attributes is None:
            assert isinstance(now[3], int)
            now[3] &= ~termios.ECHO
        termios.tcsetattr(descriptor, termios.TCSANOW, now)  # type: ignore[arg-type]
    except (termios.error, ValueError):
        return None
    return before
