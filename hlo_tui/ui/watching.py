"""Watches the dump from threads of its own, from before there is a screen, and tells what is on the shelf."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.edges import Edges
from hlo_tui.dump.files import Changes, File, Stamp, new_file, stamp_of
from hlo_tui.dump.listing import load
from hlo_tui.dump.modules import Module, ModuleKey
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo import kinds
from hlo_tui.hlo.source import FileSource
from hlo_tui.ui.shelf import ONE_FILE, PEEKED, Peek, Shelf, first_stage, peek, shelve

# Files that are looked into before the screen hears of it.
_BATCH = 64
# Seconds that everything else waits for the first paint, at most.
_FIRST_PAINT = 1.0


@dataclass(frozen=True, slots=True)
class News:
    """The dump is another than before.

    Attributes:
        shelf: what it holds now.
        notices: what a person should know about the watching.
        mode: how changes are noticed.
    """

    shelf: Shelf
    notices: tuple[str, ...]
    mode: str


Listener = Callable[["News | HloTuiError"], None]


class Watch:
    """One dump under watch: a directory, or a single file, which is looked at once.

    Attributes:
        is_directory: which of the two.
        painted: to be set when there is something on the screen; what can wait waits for it.
    """

    def __init__(self, root: Path, poll: bool = False) -> None:
        self._root = os.fspath(root)
        self._poll = poll
        self._started = False
        self._listener: Listener | None = None
        self._news: News | HloTuiError | None = None
        self._lock = threading.Lock()
        self._catalog = Catalog(Edges(self._root).module_name)
        self._peeks: dict[ModuleKey, Peek] = {}
        self._seen: dict[ModuleKey, Stamp] = {}
        self._queue: queue.SimpleQueue[Module | None] = queue.SimpleQueue()
        self._mode: Callable[[], str] = str
        self._stop: Callable[[], None] = lambda: None
        self.is_directory = not root.is_file()
        self.painted = threading.Event()

    def attach(self, listener: Listener) -> None:
        """Tell all news from now on to `listener`, on threads of the watch; what is known already at once."""
        with self._lock:
            self._listener, news = listener, self._news
        if news is not None:
            listener(news)

    def start(self) -> None:
        """Begin to look, if that has not begun yet."""
        if self._started:
            return
        self._started = True
        threading.Thread(target=self._look_into, name="hlo-tui-peek", daemon=True).start()
        threading.Thread(target=self._begin, name="hlo-tui-shelf", daemon=True).start()

    def stop(self) -> None:
        """End."""
        self._stop()
        self._queue.put(None)

    def path_of(self, path: str) -> Path:
        """Where a file of the shelf is: a part of a log is in the log."""
        return Path(self._root, path) if self.is_directory else Path(self._root)

    def _begin(self) -> None:
        if self.is_directory:
            self._first_look()
            self.painted.wait(_FIRST_PAINT)
            from hlo_tui.dump.watch import Watcher

            watcher = Watcher(self._root, self._take, poll=self._poll)
            self._stop = watcher.stop
            self._mode = lambda: "live" if watcher.mode == "events" else "polling"
            watcher.start()
            return
        try:
            one = self._single()
            listing = load(self._root) if one is None else None
        except HloTuiError as error:
            self._tell(error)
            return
        if one is None and listing is not None:
            self._mode = lambda: "a log" if listing.log else ONE_FILE
            self._take(Changes(tuple(listing.catalog.files.values())))
        elif one is not None:
            self._mode = lambda: ONE_FILE
            self._take(Changes((one,)))

    def _single(self) -> File | None:
        """The root as the one file that its beginning says it is; None where all of it has to be looked through."""
        source = FileSource(self._root)
        head = source.read(0, PEEKED)
        source.close()
        if b"*** Begin " in head or kinds.sniff(head, os.path.basename(self._root)) != kinds.TEXT:
            return None
        status = os.stat(self._root)
        return new_file(os.path.basename(self._root), stamp_of(status), None)

    def _first_look(self) -> None:
        """What is there already, before the watcher with all that it needs has been imported."""
        try:
            listing = load(self._root)
        except HloTuiError:
            # Not there yet, or no longer: the watcher says so, and waits for it.
            return
        self._mode = lambda: "live"
        if listing.catalog.files:
            self._take(Changes(tuple(listing.catalog.files.values())))

    def _take(self, changes: Changes) -> None:
        with self._lock:
            delta = self._catalog.apply(changes)
            for key in delta.removed:
                self._peeks.pop(key, None)
                self._seen.pop(key, None)
            shelf = shelve(self._catalog, self._peeks)
        if not shelf.count and self.is_directory:
            from hlo_tui.dump.doctor import explain_empty

            shelf = replace(shelf, explanation=tuple(explain_empty(self._root)))
        self._tell(News(shelf, changes.notices, self._mode()))
        for module in (*delta.added, *delta.changed):
            self._queue.put(module)

    def _tell(self, news: News | HloTuiError) -> None:
        with self._lock:
            self._news, listener = news, self._listener
        if listener is not None:
            listener(news)

    def _look_into(self) -> None:
        """Read the beginnings of modules; what was found is told in batches."""
        self.painted.wait(_FIRST_PAINT)
        while True:
            module = self._queue.get()
            found = 0
            while module is not None:
                found += self._peek(module)
                if found >= _BATCH:
                    break
                try:
                    module = self._queue.get_nowait()
                except queue.Empty:
                    break
            if found:
                with self._lock:
                    shelf = shelve(self._catalog, self._peeks)
                self._tell(News(shelf, (), self._mode()))
            if module is None:
                return

    def _peek(self, module: Module) -> bool:
        """Look into one module; gives whether that was news."""
        stage = first_stage(module)
        if stage is None or not stage.main.is_text:
            return False
        file = stage.main
        if self._seen.get(module.key) == file.stamp:
            return False
        known = peek(self._head(file), file.size)
        with self._lock:
            news = self._peeks.get(module.key) != known
            self._peeks[module.key] = known
            self._seen[module.key] = file.stamp
        return news

    def _head(self, file: File) -> bytes:
        path = self.path_of(file.path)
        start = file.span[0] if file.span is not None else 0
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return b""
        try:
            return os.pread(descriptor, min(PEEKED, file.size), start)
        except OSError:
            return b""
        finally:
            os.close(descriptor)
