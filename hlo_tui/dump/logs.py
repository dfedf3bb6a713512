"""Dumps on standard output: the blocks of a job's log between XLA's marks, as files."""

from __future__ import annotations

import os
from collections import Counter

from hlo_tui.dump.files import File
from hlo_tui.dump.names import parse_path

_CHUNK = 1 << 20
_MARK = b"*** "
_BEGIN, _END, _CLOSE = b"*** Begin ", b"*** End ", b" ***"
_LONGEST = 4096  # bytes of one mark's line; XLA's names have at most 255
# What XLA replaces when it makes a file's name of a title; in the log the title stands as it is.
_FILE_NAME = str.maketrans(dict.fromkeys("/\\[] ", "_"))


class _Blocks:
    """Takes the marks one after the other and keeps the blocks between them."""

    def __init__(self, status: os.stat_result) -> None:
        self.files: list[File] = []
        self._status = status
        self._seen: Counter[str] = Counter()
        self._name: str | None = None
        self._start = 0

    def mark(self, line: bytes, start: int) -> None:
        """Take one line that starts like a mark, and the offset of its first byte."""
        text = line.rstrip(b"\r\n")
        begins = text.startswith(_BEGIN)
        if not text.endswith(_CLOSE) or not (begins or text.startswith(_END)):
            return
        title = text[len(_BEGIN if begins else _END) : -len(_CLOSE)]
        name = title.decode("utf-8", "replace").translate(_FILE_NAME)
        if begins:
            self.close(start, complete=False)
            self._name, self._start = name, start + len(line)
        elif name == self._name:
            self.close(start, complete=True)

    def close(self, end: int, *, complete: bool) -> None:
        """End the open block, if there is one, before the mark at `end`."""
        if self._name is None:
            return
        # XLA writes a newline of its own between the contents and the closing mark.
        length = max(0, end - self._start - (1 if complete else 0))
        self._seen[self._name] += 1
        again = self._seen[self._name]
        path = self._name if again == 1 else f"{again}/{self._name}"
        status = self._status
        self.files.append(
            File(
                path,
                parse_path(path),
                length,
                status.st_mtime_ns,
                status.st_ino,
                complete,
                (self._start, length),
            )
        )
        self._name = None


def read_log(path: str | os.PathLike[str]) -> list[File]:
    """Find the dumps in a log.

    Args:
        path: a text file of any size that may hold the output of a job with `--xla_dump_to=-`.

    Returns:
        One file for each block, in the log's order, with its span. A name that comes a second time (another
        process wrote to the same log) is put in a directory "2", and so on. A block without its end is there
        up to the next mark or the end of the log, and not complete. Empty where there are no marks.

    Raises:
        OSError: the log cannot be opened.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        blocks = _Blocks(os.fstat(descriptor))
        offset, starts_line = 0, True
        while data := os.pread(descriptor, _CHUNK, offset):
            last = len(data) < _CHUNK
            end = len(data) if last else data.rfind(b"\n") + 1
            position = 0 if starts_line else data.find(b"\n") + 1
            if starts_line or position:
                _marks(data, position, end or len(data), offset, blocks)
            # A line that is longer than the chunk is no mark; the rest of it is passed over.
            starts_line = last or end > 0
            offset += end or len(data)
        blocks.close(offset, complete=False)
        return blocks.files
    finally:
        os.close(descriptor)


def _marks(data: bytes, position: int, end: int, offset: int, blocks: _Blocks) -> None:
    """Give the marks in `data[position:end]`, which begins at the start of a line, to `blocks`."""
    while position < end:
        if not data.startswith(_MARK, position):
            found = data.find(b"\n" + _MARK, position, end)
            if found < 0:
                return
            position = found + 1
        newline = data.find(b"\n", position, min(end, position + _LONGEST))
        stop = newline + 1 if newline >= 0 else min(end, position + _LONGEST)
        blocks.mark(data[position:stop], offset + position)
        position = stop


def holds_blocks(path: str | os.PathLike[str]) -> bool:
    """Whether a dump begins in the first megabyte of this file; False where it cannot be read."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        head = os.pread(descriptor, _CHUNK, 0)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return head.startswith(_BEGIN) or b"\n" + _BEGIN in head
