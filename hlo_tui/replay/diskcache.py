"""Compiled slices kept on disk from one session to the next, in a directory that only this person can write."""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path

from hlo_tui.replay.atwork import Board, Doing, Phase
from hlo_tui.replay.xla import Backend, Executable

LIMIT = 512 << 20
_MAGIC = b"hlo-tui slice 1\n"
_HEAD = len(_MAGIC) + hashlib.sha256().digest_size
# When there is too much, so much of the limit stays.
_KEPT = 0.8


def cache_directory() -> Path:
    """Where compiled slices are kept."""
    base = os.environ.get("XDG_CACHE_HOME", "")
    root = Path(base) if base.startswith("/") else Path.home() / ".cache"
    return root / "hlo-tui" / "slices"


class DiskCache:
    """Blobs by key, at most `limit` bytes of them; those that were used longest ago go first.

    An entry carries a checksum, and is only read where this person owns it and nobody else can write it: what is
    loaded from it is machine code. Several processes may use one directory at the same time. Whatever goes wrong with
    the disk, an entry is only not there.
    """

    def __init__(self, root: Path, limit: int = LIMIT) -> None:
        self._root = root
        self._limit = limit
        self._lock = threading.Lock()
        self._size: int | None = None
        self._usable = self._make_root()

    def get(self, key: str) -> bytes | None:
        """The blob of a key, if there is a sound one."""
        path = self._root / key
        if not self._usable:
            return None
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
            with os.fdopen(descriptor, "rb") as file:
                if not _is_own(os.fstat(descriptor), stat.S_ISREG):
                    return None
                data = file.read(self._limit)
            os.utime(path)
        except OSError:
            return None
        blob = data[_HEAD:]
        if data[:_HEAD] == _head(blob):
            return blob
        self.drop(key)
        return None

    def put(self, key: str, blob: bytes) -> None:
        """Keep a blob."""
        if not self._usable or len(blob) > self._limit // 8:
            return
        try:
            # Written beside and then renamed: nobody sees half an entry.
            with tempfile.NamedTemporaryFile(dir=self._root, prefix=".", delete=False) as file:
                file.write(_head(blob) + blob)
            os.replace(file.name, self._root / key)
        except OSError:
            return
        with self._lock:
            self._size = self._measured() if self._size is None else self._size + _HEAD + len(blob)
            if self._size > self._limit:
                self._size = self._prune()

    def drop(self, key: str) -> None:
        """Forget an entry."""
        try:
            os.unlink(self._root / key)
        except OSError:
            # It is gone already, or cannot be removed; it is not used either way.
            return

    def _make_root(self) -> bool:
        try:
            self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
            return _is_own(os.lstat(self._root), stat.S_ISDIR)
        except OSError:
            return False

    def _entries(self) -> list[tuple[int, int, str]]:
        """(time of the last use, bytes, name) of each."""
        found = []
        try:
            with os.scandir(self._root) as entries:
                for entry in entries:
                    status = _status(entry)
                    if status is not None:
                        found.append((status.st_mtime_ns, status.st_size, entry.name))
        except OSError:
            return []
        return found

    def _measured(self) -> int:
        return sum(size for _, size, _ in self._entries())

    def _prune(self) -> int:
        """Remove the oldest entries until there is room again; the bytes that stay."""
        size = self._measured()
        for _, freed, name in sorted(self._entries()):
            if size <= self._limit * _KEPT:
                break
            self.drop(name)
            size -= freed
        return size


def _head(blob: bytes) -> bytes:
    return _MAGIC + hashlib.sha256(blob).digest()


def _status(entry: os.DirEntry[str]) -> os.stat_result | None:
    """None where another process has removed it meanwhile."""
    try:
        return entry.stat(follow_symlinks=False)
    except OSError:
        return None


def _is_own(status: os.stat_result, kind: Callable[[int], bool]) -> bool:
    """Whether a file of this kind belongs to this person and nobody else can write it."""
    return kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


class StoredSlices:
    """Compiles slices, or loads what was compiled before.

    Attributes:
        loaded: how many were there already.
    """

    def __init__(self, backend: Backend, cache: DiskCache, board: Board) -> None:
        """Take XLA's client, where to keep what it compiles, and where to say that a slice is being loaded."""
        self.loaded = 0
        self._backend = backend
        self._cache = cache
        self._board = board
        self._salt = hashlib.sha256(backend.fingerprint()).digest()

    def compile(self, module: bytes) -> Executable:
        """The compiled form of a module.

        Raises:
            EngineError: XLA refuses it.
        """
        key = hashlib.sha256(self._salt + module).hexdigest()
        blob = self._cache.get(key)
        if blob is not None:
            with self._board.instead(Doing(Phase.LOAD).record()):
                restored = self._backend.restored(module, blob)
            if restored is not None:
                self.loaded += 1
                return restored
            self._cache.drop(key)
        compiled = self._backend.compile(module)
        made = compiled.stored()
        if made is not None:
            self._cache.put(key, made)
        return compiled
