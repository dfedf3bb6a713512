"""Arrays of numpy and other archives: what is in them, told from their heads."""

from __future__ import annotations

import re
import struct
import zipfile
from typing import IO, cast

from hlo_tui.dump.words import count_text, size_text
from hlo_tui.formats.rendered import Rendered, damaged
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import decode, visible

_MAGIC = b"\x93NUMPY"
_HEAD = 1 << 16
_MOST = 10_000
_SHAPE = re.compile(rb"'shape': ?\(([\d, ]{0,400})\)")
_TYPE = re.compile(rb"'descr': ?'([^']{1,40})'")


def render_array(source: Source) -> Rendered:
    """Type and shape of a .npy file.

    Raises:
        HloTuiError: its head is damaged.
    """
    words = _array(source.read(0, _HEAD))
    if not words:
        raise damaged(source.name, "the head of the array is damaged")
    return Rendered(words.encode(), (words, size_text(source.size)), "the head of an array")


def render_archive(source: Source) -> Rendered:
    """The names in a zip archive; of arrays their types and shapes.

    Raises:
        HloTuiError: it is no archive, or cut off.
    """
    try:
        with zipfile.ZipFile(cast("IO[bytes]", _Opened(source))) as archive:
            infos = archive.infolist()
            rows = [f"# {count_text(len(infos), 'file')}"]
            for info in infos[:_MOST]:
                head = b""
                if info.filename.endswith(".npy"):
                    with archive.open(info) as file:
                        head = file.read(1 << 12)
                what = f"  {_array(head)}" if head else ""
                rows.append(f"{info.file_size:>12,}  {visible(info.filename)}{what}")
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, RuntimeError, EOFError) as error:
        raise damaged(source.name, f"the archive is damaged or cut off ({error})") from error
    total = sum(info.file_size for info in infos)
    facts = (f"{count_text(len(infos), 'file')}, {size_text(total)} unpacked",)
    return Rendered("\n".join(rows).encode(), facts, "the list of an archive")


def _array(head: bytes) -> str:
    if not head.startswith(_MAGIC) or len(head) < 12:
        return ""
    length = struct.unpack_from("<H" if head[6] == 1 else "<I", head, 8)[0]
    text = head[10 : 12 + min(length, _HEAD)]
    shape, kind = _SHAPE.search(text), _TYPE.search(text)
    if shape is None or kind is None:
        return ""
    sizes = ",".join(part.strip() for part in decode(shape[1]).split(",") if part.strip())
    return f"{decode(kind[1])}[{sizes}]"


class _Opened:
    """A source as a file that can only be read."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0

    def read(self, length: int = -1) -> bytes:
        """Bytes from where the file stands."""
        data = self._source.read(self._at, self._source.size - self._at if length < 0 else length)
        self._at += len(data)
        return data

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to another place."""
        base = {0: 0, 1: self._at, 2: self._source.size}[whence]
        if base + offset < 0:
            raise ValueError("before the beginning")
        self._at = base + offset
        return self._at

    def tell(self) -> int:
        """The place."""
        return self._at

    def seekable(self) -> bool:
        """It can be read anywhere."""
        return True

    def close(self) -> None:
        """The source goes on."""
