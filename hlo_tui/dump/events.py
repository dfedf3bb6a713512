"""The kernel's events for one directory tree, as watchdog brings them, in the watcher's few words."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

from watchdog.events import (
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer

# Without a handler of its own its warnings would be written over the screen.
logging.getLogger("watchdog").addHandler(logging.NullHandler())

# Opening and reading are left out: the reads of this program would come back as news.
_WANTED: list[type[FileSystemEvent]] = [
    DirDeletedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
]


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened.

    Attributes:
        path: relative to the root; None where it happened to a directory, and only a new look can tell the
            rest.
        closed: whether the file's writer closed it.
    """

    path: str | None
    closed: bool = False


class _Handler(FileSystemEventHandler):
    def __init__(self, root: str, put: Callable[[Event], None]) -> None:
        self._prefix = root.rstrip("/") + "/"
        self._put = put

    def dispatch(self, event: FileSystemEvent) -> None:
        """Pass on what watchdog saw: both ends of a move, and directories without their names."""
        if event.is_directory:
            self._put(Event(None))
            return
        for path in (os.fsdecode(event.src_path), os.fsdecode(event.dest_path)):
            if path.startswith(self._prefix):
                self._put(Event(path[len(self._prefix) :], isinstance(event, FileClosedEvent)))


class Events:
    """Listens to one directory tree until it is stopped."""

    def __init__(self, root: str, put: Callable[[Event], None]) -> None:
        """Start to listen.

        Args:
            root: the directory, absolute and without links.
            put: called with each event, on a thread of watchdog's.

        Raises:
            OSError: the system has no watches left, or the directory went away.
        """
        self._observer = Observer()
        self._observer.schedule(_Handler(root, put), root, recursive=True, event_filter=_WANTED)
        self._observer.start()

    def alive(self) -> bool:
        """Whether events still come."""
        emitters = self._observer.emitters
        return self._observer.is_alive() and bool(emitters) and all(one.is_alive() for one in emitters)

    def stop(self) -> None:
        """Stop listening. Does not wait: a thread of watchdog's may sleep for half a second."""
        threading.Thread(target=self._observer.stop, name="hlo-tui-stop-events", daemon=True).start()
