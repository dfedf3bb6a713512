"""The first and the last bytes of dumped files: all that is read of a file before somebody opens it."""

from __future__ import annotations

import os
import re
from contextlib import closing

from hlo_tui.dump.files import File
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.source import FileSource

_TAIL = 512
_HEAD = 4096
_MODULE = re.compile(rb"(?:^|\n)HloModule ([^\s,]{1,1024})")


class Edges:
    """Reads the edges of the files of one dump."""

    def __init__(self, root: str) -> None:
        """Take the dump's directory, or the log that holds it."""
        self._root = root

    def _read(self, file: File, offset: int, length: int) -> bytes | None:
        """Give the bytes, None where the file cannot be read."""
        path, start = os.path.join(self._root, file.path), 0
        if file.span is not None:
            path, start = self._root, file.span[0]
        try:
            with closing(FileSource(path)) as source:
                return source.read(start + offset, length)
        except HloTuiError:
            return None

    def is_whole(self, file: File) -> bool:
        """Whether the last line of a module's text that is not blank closes a computation.

        Of a file that may not be read nothing bad is known.
        """
        length = min(file.size, _TAIL)
        text = self._read(file, file.size - length, length)
        return text is None or text.rstrip().rpartition(b"\n")[2].startswith(b"}")

    def module_name(self, file: File) -> str:
        """The module's name in the head of its text, "" where it is not there."""
        found = _MODULE.search(self._read(file, 0, min(file.size, _HEAD)) or b"")
        return found.group(1).decode("utf-8", "replace") if found is not None else ""
