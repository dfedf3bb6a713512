"""Watching a dump directory: events where they come, a look around where they do not, and news in batches."""

from __future__ import annotations

import errno
import os
import queue
import stat
import threading
import time
from collections.abc import Callable

from hlo_tui.dump.edges import Edges
from hlo_tui.dump.events import Event, Events
from hlo_tui.dump.files import Changes, File, Scan, new_file, scan, stamp_of
from hlo_tui.dump.mounts import silence_at
from hlo_tui.dump.settle import Settler, is_young, judge
from hlo_tui.hlo.visible import visible

# Seconds between two looks around: as the second opinion behind events, in place of events, and while there
# is nothing to look at. A look that takes long makes the next one wait longer, so that looking stays cheap.
LOOK_BEHIND_EVENTS = 3.0
LOOK_WITHOUT_EVENTS = 0.5
LOOK_FOR_ROOT = 0.25
_SHARE = 50.0
_LONGEST = 10.0
# A file that a look found and no event announced within this time is one that events do not come for; events
# are not trusted alone for a while then.
UNANNOUNCED = 1.0
DOUBT = 60.0


class Watcher:
    """Tells what changes below one directory, from a thread of its own, until it is stopped.

    The directory need not be there yet and may go away and come back. Nothing is written in it.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        on_change: Callable[[Changes], None],
        *,
        poll: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare; `start` begins.

        Args:
            root: the directory.
            on_change: called on the watcher's thread; first with all that is there (perhaps nothing), then
                with every batch of news. It must not wait for the caller of `stop`.
            poll: look around instead of listening to events.
            clock: seconds that never go back.
        """
        self.root = os.fspath(root)
        self._on_change = on_change
        self._poll = poll
        self._clock = clock
        self._queue: queue.SimpleQueue[Event | None] = queue.SimpleQueue()
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="hlo-tui-watch", daemon=True)
        self._edges = Edges(self.root)
        self._settler = Settler(self._edges.is_whole)
        self._events: Events | None = None
        self._identity: tuple[int, int] | None = None
        self._was_there = False
        self._new_root = False
        self._next_look = 0.0
        self._doubt_until = 0.0
        self._unread: dict[str, str] = {}
        self._notices: list[str] = []
        self._replaced: list[str] = []
        self._unannounced: dict[str, float] = {}

    @property
    def mode(self) -> str:
        """How changes are noticed: "events" or "poll"."""
        return "poll" if self._poll else "events"

    def start(self) -> None:
        """Begin; the first call of `on_change` follows at once."""
        self._thread.start()

    def stop(self) -> None:
        """End; `on_change` is not called any more after this, unless it is at this very moment."""
        self._stopped.set()
        self._queue.put(None)
        if self._thread.ident is not None and self._thread is not threading.current_thread():
            self._thread.join(0.2)

    def _run(self) -> None:
        self._look(first=True)
        while not self._stopped.is_set():
            events = self._wait()
            if self._stopped.is_set():
                break
            self._take_events(events)
            if self._clock() >= self._next_look:
                self._look()
            now = self._clock()
            for path in self._settler.doubtful(now):
                self._check(path, now)
            present, gone = self._settler.take(now)
            # What is to be said in words goes along with the news that it explains.
            if present or gone or not self._settler.gathering:
                self._tell(present, gone)
        self._listen(None)

    def _wait(self) -> list[Event]:
        """The events that have come, after waiting for the first or for the next thing to do."""
        due = self._settler.due()
        until = self._next_look if due is None else min(due, self._next_look)
        events: list[Event] = []
        try:
            event = self._queue.get(timeout=max(0.0, until - self._clock()))
            while event is not None:
                events.append(event)
                event = self._queue.get_nowait()
        except queue.Empty:
            pass
        return events

    def _take_events(self, events: list[Event]) -> None:
        now = self._clock()
        # One stat for each file, after its last event: what comes later sends another event.
        latest: dict[str, bool] = {}
        for event in events:
            if event.path is None:
                self._next_look = now
            else:
                latest[event.path] = event.closed
        for path, closed in latest.items():
            self._unannounced.pop(path, None)
            self._check(path, now, closed=closed)

    def _check(self, path: str, now: float, *, closed: bool = False) -> None:
        """Look at one file."""
        try:
            status = os.stat(os.path.join(self.root, path))
        except OSError:
            self._settler.lost(path, now)
            return
        if not stat.S_ISREG(status.st_mode):
            self._settler.lost(path, now)
            return
        known = self._settler.known(path)
        file = new_file(path, stamp_of(status), known)
        self._settler.saw(file, now, closed=closed)
        if known is not None and known.inode != file.inode:
            self._replaced.append(path)

    def _look(self, *, first: bool = False) -> None:
        """Look at everything: the truth behind all events."""
        begin = self._clock()
        if self._find_root(first):
            known = self._settler.files
            found = scan(self.root, known, self._stopped.is_set)
            if self._stopped.is_set():
                return
            present = self._adopt(found) if self._new_root else []
            self._new_root = False
            self._compare(found, known)
            self._note_unread(found.unread)
            self._doubt_events()
            now = self._clock()
            often = self._poll or now < self._doubt_until
            pause = LOOK_WITHOUT_EVENTS if often else LOOK_BEHIND_EVENTS
            self._next_look = now + max(pause, min(_LONGEST, _SHARE * (now - begin)))
        else:
            present, now = [], begin
            self._next_look = now + LOOK_FOR_ROOT
        if present or first:
            fresh, gone = self._settler.take(now, at_once=True)
            self._tell(present + fresh, gone, always=first)

    def _compare(self, found: Scan, known: dict[str, File]) -> None:
        """Take in how what was found differs from what is known."""
        now = self._clock()
        for path, file in found.files.items():
            old = known.get(path)
            if old is file or not self._settler.saw(file, now):
                continue
            if old is not None and old.inode != file.inode:
                self._replaced.append(path)
            if old is None or old.size != file.size:
                self._unannounced.setdefault(path, now)
        unread = tuple(f"{directory}/" for directory in found.unread if directory)
        for path in known.keys() - found.files.keys():
            if "" not in found.unread and not path.startswith(unread):
                self._settler.lost(path, now)
                self._unannounced.pop(path, None)

    def _adopt(self, found: Scan) -> list[File]:
        """Take in what was there before the first look at this root; gives what is to be told at once."""
        files, now, wall = list(found.files.values()), self._clock(), time.time_ns()
        judged = judge((file for file in files if not is_young(file, wall)), wall, self._edges.is_whole)
        for file in judged:
            self._settler.adopt(file, now)
        for file in files:
            if is_young(file, wall):
                self._settler.saw(file, now)
        return judged

    def _find_root(self, first: bool) -> bool:
        """Whether the directory is there; listens to it when it has come, and says what became of it."""
        identity = None
        reason = "is not there yet"
        try:
            status = os.stat(self.root)
            if stat.S_ISDIR(status.st_mode):
                identity = (status.st_dev, status.st_ino)
            else:
                reason = "is not a directory"
        except FileNotFoundError:
            pass
        except OSError as error:
            reason = f"cannot be looked at: {(error.strerror or str(error)).lower()}"
        if identity is not None and identity != self._identity:
            if not first:
                self._notices.append(f"{self.root} is there {'again' if self._was_there else 'now'}")
            self._was_there = self._new_root = True
            self._listen(os.path.realpath(self.root))
        if identity is None and (first or self._identity is not None):
            reason = "is gone" if self._was_there else reason
            self._notices.append(f"{self.root} {reason}; waiting for it")
            self._listen(None)
            now = self._clock()
            for path in self._settler.files:
                self._settler.lost(path, now)
        self._identity = identity
        return identity is not None

    def _listen(self, path: str | None) -> None:
        """Listen to the events of this directory, or to none."""
        if self._events is not None:
            self._events.stop()
            self._events = None
        if path is None or self._poll:
            return
        kind = silence_at(path)
        if kind is not None:
            self._without_events(f"{self.root} is on {kind}, where changes by other machines send no events")
            return
        try:
            self._events = Events(path, self._queue.put)
        except OSError as error:
            limit = error.errno in (errno.ENOSPC, errno.EMFILE, errno.ENFILE)
            why = "the system's limit for watches (fs.inotify) is reached" if limit else str(error)
            self._without_events(f"no events come: {why}")

    def _without_events(self, why: str) -> None:
        self._poll = True
        self._notices.append(f"{why}; looking every {LOOK_WITHOUT_EVENTS:g} s instead")

    def _doubt_events(self) -> None:
        """Look more often for a while where changes were found that no event had announced."""
        if self._events is None:
            self._unannounced.clear()
            return
        if not self._events.alive():
            self._listen(None)
            self._without_events("events have stopped coming")
            return
        now = self._clock()
        late = [path for path, since in self._unannounced.items() if now - since > UNANNOUNCED]
        for path in late:
            del self._unannounced[path]
        if late:
            if self._doubt_until == 0.0:
                often = f"looking every {LOOK_WITHOUT_EVENTS:g} s"
                self._notices.append(f"some changes come without events; {often}")
            self._doubt_until = now + DOUBT

    def _note_unread(self, unread: dict[str, str]) -> None:
        """Say which directories cannot be read, when that changes."""
        if unread != self._unread:
            for directory in sorted(unread.keys() - self._unread.keys()):
                self._notices.append(f"{directory or self.root} is left out: {unread[directory]}")
            for directory in sorted(self._unread.keys() - unread.keys()):
                self._notices.append(f"{directory or self.root} is not left out any more")
            self._unread = unread

    def _tell(self, present: list[File], gone: list[str], *, always: bool = False) -> None:
        if len(self._replaced) == 1:
            self._notices.append(f"{self._replaced[0]} was replaced by another file")
        elif self._replaced:
            self._notices.append(f"{len(self._replaced)} files were replaced by others")
        self._replaced.clear()
        notices = tuple(map(visible, self._notices))
        self._notices.clear()
        if (present or gone or notices or always) and not self._stopped.is_set():
            self._on_change(Changes(tuple(present), tuple(gone), notices))
