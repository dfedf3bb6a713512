"""Dumps on standard output: the blocks of a job's log between XLA's marks, as files."""

from __future__ import annotations

import os
from contextlib import closing

from hlo_tui.dump.files import File
from hlo_tui.dump.names import parse_path
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.members import find_blocks
from hlo_tui.hlo.source import FileSource

_HEAD = 1 << 20
_BEGIN = b"*** Begin "


def read_log(path: str | os.PathLike[str]) -> list[File]:
    """Find the dumps in a log.

    Args:
        path: a text file of any size that may hold the output of a job with `--xla_dump_to=-`.

    Returns:
        One file for each block, in the log's order, with its span, see `find_blocks`. A name that comes a
        second time (another process wrote to the same log) is put in a directory "2", and so on. Empty where
        there are no marks.

    Raises:
        HloTuiError: the log cannot be opened.
    """
    with closing(FileSource(path)) as source:
        _, inode, _, mtime_ns = source.identity
        blocks = find_blocks(source)
    files = []
    for block in blocks:
        name, length = parse_path(block.name), block.end - block.start
        span = (block.start, length)
        files.append(File(block.name, name, length, mtime_ns, inode, block.complete, span))
    return files


def holds_blocks(path: str | os.PathLike[str]) -> bool:
    """Whether a dump begins in the first megabyte of this file; False where it cannot be read."""
    try:
        with closing(FileSource(path)) as source:
            head = source.read(0, _HEAD)
    except HloTuiError:
        return False
    return head.startswith(_BEGIN) or b"\n" + _BEGIN in head
