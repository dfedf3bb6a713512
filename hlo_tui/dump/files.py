"""The files of a dump directory, and what changed among them: plain values, and one walk that makes them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from hlo_tui.dump.names import FileName, parse_name, read_folder
from hlo_tui.dump.suffixes import Role


class Stamp(NamedTuple):
    """What tells one state of a file from another: bytes, nanoseconds since 1970, the inode's number."""

    size: int
    mtime_ns: int
    inode: int


@dataclass(frozen=True, slots=True)
class File:
    """One file of a dump, or one block of a log that holds what would have been a file.

    Attributes:
        path: relative to the root, "/" between components, unique.
        name: what the path says.
        size: bytes.
        mtime_ns: time of the last change, nanoseconds since 1970.
        inode: the inode's number; another one under the same path is another file.
        complete: whether it is whole as far as that can be told without reading it through.
        span: offset and length in bytes inside the log, None for a file of its own.
    """

    path: str
    name: FileName
    size: int
    mtime_ns: int
    inode: int = 0
    complete: bool = True
    span: tuple[int, int] | None = None

    @property
    def stamp(self) -> Stamp:
        """The file's state."""
        return Stamp(self.size, self.mtime_ns, self.inode)

    @property
    def is_text(self) -> bool:
        """Whether it is a module as HLO text, whose last line closes the entry computation."""
        return self.name.role is Role.STAGE and self.name.form == "txt"

    def marked(self, complete: bool) -> File:
        """The same file, with `complete` as given."""
        return self if complete == self.complete else replace(self, complete=complete)


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed in a directory since the last look.

    Attributes:
        present: files that are new or differ from what was told before, each once.
        gone: paths that are not there any more; none of them is in `present`.
        notices: what a person should know about the watching itself, a sentence each, safe for a terminal.
    """

    present: tuple[File, ...] = ()
    gone: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()


@dataclass(slots=True)
class Scan:
    """One walk over a directory.

    Attributes:
        files: every regular file below the root, by path.
        unread: directories that could not be read, each with the reason in words.
        missing: whether the root itself is not there (or is no directory).
        directories: how many directories were read.
    """

    files: dict[str, File] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    missing: bool = False
    directories: int = 0


def stamp_of(status: os.stat_result) -> Stamp:
    """The state that a stat result describes."""
    return Stamp(status.st_size, status.st_mtime_ns, status.st_ino)


def new_file(path: str, stamp: Stamp, known: File | None) -> File:
    """The known file where its state is still `stamp`, else one in that state, taken as complete."""
    if known is None:
        directory, _, last = path.rpartition("/")
        return File(path, parse_name(last, read_folder(directory)), *stamp)
    return known if known.stamp == stamp else File(path, known.name, *stamp)


def scan(root: str, known: dict[str, File] | None = None, stop: Callable[[], bool] | None = None) -> Scan:
    """Walk over a directory; one stat for each file, no reads.

    Args:
        root: the directory's path.
        known: files of an earlier walk; those in the same state are given again as they are.
        stop: asked between directories; the walk ends early when it says so.

    Returns:
        What is there. Links to files count as files; links to directories are not followed. Never raises for
        what it meets.
    """
    result = Scan()
    known = known or {}
    waiting = [""]
    while waiting and not (stop is not None and stop()):
        directory = waiting.pop()
        try:
            with os.scandir(os.path.join(root, directory) if directory else root) as entries:
                waiting.extend(_read_directory(directory, entries, known, result))
        except (FileNotFoundError, NotADirectoryError):
            result.missing = result.missing or not directory
        except OSError as error:
            result.unread[directory] = _reason(error)
        result.directories += 1
    return result


def _reason(error: OSError) -> str:
    return (error.strerror or "cannot be read").lower()


def _read_directory(
    directory: str, entries: Iterable[os.DirEntry[str]], known: dict[str, File], result: Scan
) -> list[str]:
    """Add the files of one directory to `result`; the directories in it are given back."""
    folder = read_folder(directory)
    prefix = f"{directory}/" if directory else ""
    below = []
    for entry in entries:
        path = prefix + entry.name
        try:
            if entry.is_dir(follow_symlinks=False):
                below.append(path)
                continue
            if not entry.is_file():
                continue
            status = entry.stat()
        except OSError as error:
            # Else it went away between the two looks, or is a link that leads nowhere.
            if isinstance(error, PermissionError) and not entry.is_symlink():
                result.unread[directory] = _reason(error)
            continue
        stamp = Stamp(status.st_size, status.st_mtime_ns, status.st_ino)
        old = known.get(path)
        if old is None:
            result.files[path] = File(path, parse_name(entry.name, folder), *stamp)
        else:
            result.files[path] = old if old.stamp == stamp else File(path, old.name, *stamp)
    return below
