"""When a file is whole and when to say so: events and times in, batches of news out. No clock, no disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hlo_tui.dump.files import File, Stamp
from hlo_tui.dump.modules import family

# Seconds. The first event of a quiet time is passed on after GATHER, which takes most files from their
# creation to their close in one piece of news; while news keeps coming there are no more than one in SPACING.
GATHER = 0.03
SPACING = 0.1
# A file that nobody closed, as far as is known, is taken as written when it has not changed for this long.
STABLE = 0.5


def is_young(file: File, now_ns: int) -> bool:
    """Whether it changed so shortly before `now_ns` (as `mtime_ns`) that it may still be written."""
    return 0 <= now_ns - file.mtime_ns < STABLE * 1e9


def judge(files: Iterable[File], now_ns: int, is_whole: Callable[[File], bool]) -> list[File]:
    """Mark which files are complete, where nothing is known but one walk over the directory.

    Of the texts of a module only the newest can have been cut off by a crash, so that only that one, young
    and empty ones are looked into.

    Args:
        files: what the walk found.
        now_ns: the time, nanoseconds since 1970.
        is_whole: as for `Settler`.

    Returns:
        The same files in the same order.
    """
    files = list(files)
    newest: dict[tuple[object, ...], File] = {}
    for file in files:
        if file.is_text:
            unit = (*family(file), file.name.module)
            if unit not in newest or newest[unit].mtime_ns < file.mtime_ns:
                newest[unit] = file
    suspects = {file.path for file in newest.values()}
    judged = []
    for file in files:
        young = is_young(file, now_ns)
        if not file.is_text:
            judged.append(file.marked(not young))
        else:
            suspect = young or not file.size or file.path in suspects
            judged.append(file.marked(not suspect or is_whole(file)))
    return judged


@dataclass(slots=True)
class _Watched:
    file: File
    since: float  # when its state was first seen
    closed: bool
    told: tuple[Stamp, bool] | None = None


class Settler:
    """Decides what to tell about files while they are written, and when to look again.

    Times are seconds of one clock that never goes back; the caller brings them along.
    """

    def __init__(self, is_whole: Callable[[File], bool]) -> None:
        """Start with no files.

        Args:
            is_whole: looks at the end of a file and says whether its last line is there; asked once for each
                state of a text that is closed or has not changed for a while.
        """
        self._is_whole = is_whole
        self._files: dict[str, _Watched] = {}
        self._fresh: dict[str, None] = {}
        self._gone: dict[str, tuple[Stamp, bool]] = {}
        self._doubtful: dict[str, None] = {}
        self._first: float | None = None
        self._last = float("-inf")

    @property
    def files(self) -> dict[str, File]:
        """Every file that is there, in its latest state."""
        return {path: watched.file for path, watched in self._files.items()}

    @property
    def gathering(self) -> bool:
        """Whether there is news that `take` holds back for a moment."""
        return self._first is not None

    def known(self, path: str) -> File | None:
        """The file in its latest state, or None."""
        watched = self._files.get(path)
        return None if watched is None else watched.file

    def adopt(self, file: File, now: float) -> None:
        """Take in a file that was told by the caller, as it is."""
        self._files[file.path] = _Watched(file, now, True, (file.stamp, file.complete))
        self._gone.pop(file.path, None)

    def saw(self, file: File, now: float, *, closed: bool = False) -> bool:
        """Take in that a file is there in this state.

        Args:
            file: the file; whether it says that it is complete does not matter.
            now: the time.
            closed: whether its writer is known to have closed it in this state.

        Returns:
            Whether that was news.
        """
        path = file.path
        watched = self._files.get(path)
        if watched is None:
            self._files[path] = _Watched(file, now, closed, self._gone.pop(path, None))
        elif watched.file.stamp != file.stamp:
            watched.file, watched.since, watched.closed = file, now, closed
        elif closed and not watched.closed:
            watched.closed = True
            if watched.told == (file.stamp, True):
                return False
        else:
            return False
        self._fresh[path] = None
        self._gather(now)
        return True

    def lost(self, path: str, now: float) -> bool:
        """Take in that a file is not there; gives whether that was news."""
        watched = self._files.pop(path, None)
        if watched is None:
            return False
        self._fresh.pop(path, None)
        self._doubtful.pop(path, None)
        if watched.told is not None:
            self._gone[path] = watched.told
            self._gather(now)
        return True

    def _gather(self, now: float) -> None:
        if self._first is None:
            self._first = now

    def due(self) -> float | None:
        """When to call `take` next, None where only an event can bring news."""
        times = [self._files[path].since + STABLE for path in self._doubtful]
        if self._first is not None:
            times.append(self._first + GATHER)
        return max(min(times), self._last + SPACING) if times else None

    def doubtful(self, now: float) -> list[str]:
        """Files to look at again before `take`: told as incomplete, and quiet for long enough by now."""
        return [path for path in self._doubtful if self._files[path].since + STABLE <= now]

    def take(self, now: float, *, at_once: bool = False) -> tuple[list[File], list[str]]:
        """Give the news that is due.

        Args:
            now: the time.
            at_once: do not wait for more.

        Returns:
            Files that are new, have changed or have become complete, and paths that are gone.
        """
        present: list[File] = []
        gone: list[str] = []
        if not at_once and now < self._last + SPACING:
            return present, gone
        for path in self.doubtful(now):
            self._tell(self._files[path], now, present)
        if at_once or (self._first is not None and self._first + GATHER <= now):
            for path in self._fresh:
                self._tell(self._files[path], now, present)
            gone = list(self._gone)
            self._fresh.clear()
            self._gone.clear()
            self._first = None
        if present or gone:
            self._last = now
        return present, gone

    def _tell(self, watched: _Watched, now: float, present: list[File]) -> None:
        file = watched.file
        quiet = watched.closed or watched.since + STABLE <= now
        complete = quiet and (not file.is_text or self._is_whole(file))
        if quiet:
            self._doubtful.pop(file.path, None)
        else:
            self._doubtful[file.path] = None
        if watched.told != (file.stamp, complete):
            watched.told = (file.stamp, complete)
            watched.file = file.marked(complete)
            present.append(watched.file)
