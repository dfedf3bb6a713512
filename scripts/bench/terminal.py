"""A program on a terminal of its own, looked at from outside: what is on its screen, what it writes, what it takes."""

from __future__ import annotations

import codecs
import fcntl
import os
import pty
import select
import signal
import struct
import tempfile
import termios
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pyte

# What a terminal answers to the questions that full-screen programs ask when they start.
_ANSWERS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[?2026$p": b"\x1b[?2026;0$y", b"\x1b[c": b"\x1b[?62c"}


class _Screen(pyte.Screen):
    """Takes the private form of a colour sequence, with which vim asks for key codes, as no colour."""

    def select_graphic_rendition(self, *attributes: int, private: bool = False) -> None:
        """Colours, but for the private form."""
        if not private:
            super().select_graphic_rendition(*attributes)


class Terminal:
    """Starts a command on a pseudo-terminal; use it as a context manager."""

    def __init__(self, command: Sequence[str], columns: int = 120, rows: int = 40) -> None:
        self.written = 0
        self.began = time.perf_counter()
        self.pid, self._fd = pty.fork()
        if self.pid == 0:
            environment = dict(os.environ, TERM="xterm-256color", COLUMNS=str(columns), LINES=str(rows))
            environment.pop("COLORTERM", None)
            # As installed: compiled once, not at every start.
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            environment["PYTHONPYCACHEPREFIX"] = str(Path(tempfile.gettempdir()) / "hlo-tui-bench")
            os.execvpe(command[0], list(command), environment)
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._screen = _Screen(columns, rows)
        self._stream = pyte.Stream(self._screen)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._peak = 0

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self._fd)

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(self._screen.display)

    def pump(self, seconds: float) -> bool:
        """Take what the program writes, for at most so long; whether it wrote anything."""
        ready, _, _ = select.select([self._fd], [], [], seconds)
        if not ready:
            return False
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            return False
        self.written += len(data)
        self._stream.feed(self._decoder.decode(data))
        for question, answer in _ANSWERS.items():
            if question in data:
                os.write(self._fd, answer)
        return True

    def until(self, happened: Callable[[], bool], patience: float = 120) -> float:
        """Seconds from now until something is so.

        Raises:
            TimeoutError: it never was.
        """
        start = time.perf_counter()
        while not happened():
            if time.perf_counter() - start > patience:
                raise TimeoutError(self.text)
            self.pump(0.002)
        return time.perf_counter() - start

    def sees(self, text: str) -> float:
        """Seconds from now until a text is on the screen."""
        return self.until(lambda: text in self.text)

    def settle(self, quiet: float = 0.5) -> int:
        """Wait until nothing was written for so long; the bytes written meanwhile."""
        before = self.written
        while self.pump(quiet):
            pass
        return self.written - before

    def rest(self, seconds: float) -> None:
        """Let the program do as it likes for so long."""
        end = time.perf_counter() + seconds
        self.until(lambda: time.perf_counter() > end)

    def press(self, keys: str) -> int:
        """Send keys and wait until the screen is still; the bytes written for it."""
        os.write(self._fd, keys.encode())
        return self.settle()

    def peak_memory(self) -> int:
        """The greatest resident size of the program so far, bytes (not of its children)."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                self._peak = max(self._peak, int(line.split()[1]) * 1024)
        return self._peak
