"""Where the bytes of one module come from: a file, a span of a file, or memory. Nothing is mapped or kept."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Protocol

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible


class Source(Protocol):
    """Bytes that can be read anywhere, and that may turn out shorter than they were."""

    @property
    def name(self) -> str:
        """What the source is called on the screen."""

    @property
    def size(self) -> int:
        """Bytes there were when the source was opened."""

    def read(self, offset: int, length: int) -> bytes:
        """Give up to `length` bytes from `offset`: fewer at the end, none beyond it."""


class FileSource:
    """A regular file, read with pread; it may be truncated or replaced meanwhile."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Open `path`.

        Raises:
            HloTuiError: it is not there, may not be read, or is not a regular file.
        """
        self.path = Path(path)
        self.name = str(self.path)
        try:
            # O_NONBLOCK: opening a fifo that nobody writes must not wait.
            self._fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            message = f"{visible(self.name)}: {error.strerror}"
            raise HloTuiError("Cannot open the file", message) from error
        except ValueError as error:
            raise HloTuiError("Cannot open the file", f"{visible(self.name)}: {error}") from error
        status = os.fstat(self._fd)
        if not stat.S_ISREG(status.st_mode):
            self.close()
            raise HloTuiError("Not a regular file", visible(self.name), "Give the path of a dump file.")
        self.size = status.st_size
        self.identity = _identity(status)

    def read(self, offset: int, length: int) -> bytes:
        """Give up to `length` bytes from `offset`; nothing where the file is closed or cannot be read."""
        if self._fd < 0 or length <= 0 or offset < 0:
            return b""
        parts = []
        while length > 0:
            try:
                part = os.pread(self._fd, length, offset)
            except OSError:
                break
            if not part:
                break
            parts.append(part)
            offset += len(part)
            length -= len(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def changed(self) -> bool:
        """Whether the path no longer names the bytes that were opened: it is gone, replaced or written to."""
        try:
            return _identity(os.stat(self.path)) != self.identity
        except OSError:
            return True

    def close(self) -> None:
        """Let the file go; later reads give nothing."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            self.close()


class BytesSource:
    """Bytes in memory, such as a printed proto."""

    def __init__(self, data: bytes, name: str) -> None:
        self.name = name
        self.size = len(data)
        self._data = data

    def read(self, offset: int, length: int) -> bytes:
        """Give up to `length` bytes from `offset`."""
        if length <= 0 or offset < 0:
            return b""
        return self._data[offset : offset + length]


class SpanSource:
    """A part of another source: one module inside a log or a stdout dump."""

    def __init__(self, base: Source, start: int, end: int, name: str) -> None:
        """The bytes of `base` from `start` up to `end`, both kept inside of it."""
        self.name = name
        self._base = base
        self._start = max(0, min(start, base.size))
        self.size = max(0, min(end, base.size) - self._start)

    def read(self, offset: int, length: int) -> bytes:
        """Give up to `length` bytes from `offset` within the span."""
        if offset < 0:
            return b""
        return self._base.read(self._start + offset, min(length, self.size - offset))


def _identity(status: os.stat_result) -> tuple[int, int, int, int]:
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
