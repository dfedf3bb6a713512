"""Reads files for the screen on a thread of its own: the newest request of each kind, one after the other."""

from __future__ import annotations

import re
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from textual.message import Message

from hlo_tui.dump.files import Stamp, stamp_of
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo import kinds
from hlo_tui.hlo.members import several
from hlo_tui.hlo.source import FileSource, Source
from hlo_tui.hlo.visible import decode, visible
from hlo_tui.ui.messages import (
    Climbed,
    Counted,
    Head,
    Inspected,
    Located,
    Marked,
    OpenFailed,
    Problem,
    Progress,
    Scanned,
    Searched,
)
from hlo_tui.ui.opened import Opened, Want

if TYPE_CHECKING:
    from hlo_tui.formats.page import Page
    from hlo_tui.passes.climbing import Climber
    from hlo_tui.replay.session import State
    from hlo_tui.replay.stopspec import StopSpec

# Seconds between two reports of progress.
_REPORT = 0.1
# Seconds that the scan waits for the first lines to be drawn, at most.
_PAINT = 0.2
_HEAD, _HEAD_LINES, _HEAD_COLUMNS = 1 << 16, 1000, 1 << 14
# In this order: what a person waits for comes first.
_ORDER = ("open", "locate", "search", "climb", "marks", "inspect", "count")

T = TypeVar("T")
Stop = Callable[[], bool]
Job = Callable[[Stop], Message | None]


class Reader:
    """Does what it is asked for. A newer request takes the place of an older one of its kind."""

    def __init__(self, post: Callable[[Message], object]) -> None:
        self._post = post
        self._waiting: dict[str, Job] = {}
        self._running = ""
        self._stopped = False
        self._abandon = False
        self._numbers = 0
        self._climber: Climber | None = None
        self._condition = threading.Condition()
        threading.Thread(target=self._run, name="hlo-tui-read", daemon=True).start()

    def open(self, want: Want) -> None:
        """Open a file; what was under way for another one ends."""
        with self._condition:
            self._numbers += 1
            number = self._numbers
            self._waiting.clear()
            self._abandon = True
        self._put("open", lambda stop: _open(want, number, stop, self._post))

    def inspect(self, opened: Opened, line: int) -> None:
        """Find out what a line is: quickly first, then with its users."""

        def job(stop: Stop) -> Message | None:
            from hlo_tui.ui.inspection import inspect, is_quick

            if opened.page is not None:
                from hlo_tui.ui.pagerows import inspect_page

                return Inspected(opened.number, line, inspect_page(opened.page, line))
            if not is_quick(opened.module, line):
                self._post(Inspected(opened.number, line, inspect(opened.module, line, stop, deep=False)))
            if stop():
                return None
            return Inspected(opened.number, line, inspect(opened.module, line, stop, deep=True))

        self._put("inspect", job)

    def locate(self, opened: Opened, name: str, line: int, computation: str = "") -> None:
        """Find where a name is defined, as seen from `line` or from a computation."""

        def job(_: Stop) -> Message:
            if computation:
                found = opened.module.find(name, computation)
                return Located(opened.number, name, None if found is None else found.line)
            return Located(opened.number, name, opened.module.definition_line(name, line))

        self._put("locate", job)

    def climb(self, opened: Opened, line: int, way: int) -> None:
        """Find the other rungs of what a line is, to go `way` of them from here; 0 to list them."""

        def job(stop: Stop) -> Message | None:
            from hlo_tui.passes.climbing import Climber
            from hlo_tui.ui.climbing import rungs_at

            if self._climber is None:
                self._climber = Climber()
            rungs = rungs_at(self._climber, opened, line, way, stop)
            return None if stop() else Climbed(opened.number, line, tuple(rungs), way)

        self._put("climb", job)

    def search(self, opened: Opened, pattern: re.Pattern[bytes], line: int, forward: bool) -> None:
        """Find the next line that matches, from `line` on or back, and once around."""

        def job(stop: Stop) -> Message:
            found = opened.module.search(pattern, line, forward, stop)
            wrapped = False
            if found is None and not stop():
                lines = opened.module.lines
                start = 0 if forward or lines is None else lines.count - 1
                found = opened.module.search(pattern, start, forward, stop)
                wrapped = True
            return Searched(opened.number, found, wrapped, stop())

        self._put("search", job)

    def count(self, opened: Opened, pattern: re.Pattern[bytes]) -> None:
        """Count the lines that match."""

        def job(stop: Stop) -> Message:
            from hlo_tui.ui.counting import count

            return Counted(count(opened.module, pattern, opened.number, stop))

        self._put("count", job)

    def mark(self, opened: Opened, specs: tuple[StopSpec, ...], state: State | None, follow: bool) -> None:
        """Find the lines of stops and of a replay."""

        def job(stop: Stop) -> Message | None:
            from hlo_tui.replay.meaning import all_meanings
            from hlo_tui.ui.marking import find_marks

            meant = all_meanings(opened.module, specs, opened.meant, stop)
            if stop():
                return None
            opened.meant = meant
            return Marked(opened.number, find_marks(opened, specs, state), follow)

        self._put("marks", job)

    def interrupt(self) -> None:
        """Let what is under way end early."""
        with self._condition:
            self._abandon = True

    @property
    def busy(self) -> str:
        """What is under way: one of the kinds of requests, or empty."""
        return self._running

    def close(self) -> None:
        """End the thread as soon as it listens."""
        with self._condition:
            self._stopped = self._abandon = True
            self._waiting.clear()
            self._condition.notify()

    def _put(self, kind: str, job: Job) -> None:
        with self._condition:
            self._waiting[kind] = job
            if self._running in (kind, "inspect", "count") or kind == "open":
                self._abandon = True
            self._condition.notify()

    def _run(self) -> None:
        while True:
            with self._condition:
                self._running = ""
                self._condition.wait_for(lambda: self._waiting or self._stopped)
                if self._stopped:
                    return
                kind = next(kind for kind in _ORDER if kind in self._waiting)
                job = self._waiting.pop(kind)
                self._running, self._abandon = kind, False
            self._do(job)

    def _do(self, job: Job) -> None:
        message, problem = guarded(lambda: job(lambda: self._abandon))
        if problem is not None:
            message = Problem(problem)
        if message is not None:
            self._post(message)


def guarded(act: Callable[[], T]) -> tuple[T | None, HloTuiError | None]:
    """Do something on a thread; gives what came of it, or what went wrong: a fault must not end the thread."""
    try:
        return act(), None
    except HloTuiError as error:
        return None, error
    except Exception as error:  # the border
        place = traceback.extract_tb(error.__traceback__)[-1]
        words = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
        return None, HloTuiError("A fault in hlo-tui", visible(words), "Please report it.")


def _open(want: Want, number: int, stop: Stop, post: Callable[[Message], object]) -> Message | None:
    try:
        opened = _document(want, number)
    except HloTuiError as error:
        return OpenFailed(want, error, stamp_at(want.path))
    post(Head(opened))
    opened.painted.wait(_PAINT)
    from hlo_tui.hlo.module import Module
    from hlo_tui.ui.marking import find_tagged

    last = time.monotonic()

    def progress(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _REPORT:
            last = now
            post(Progress("reading", done, total))

    opened.module = opened.page or Module(opened.source, opened.kind)
    outline = opened.module.scan(progress, stop)
    if not outline.complete:
        return None
    if opened.hlo:
        opened.tagged = find_tagged(opened.module)
        if outline.entry is not None:
            # Puts the index of calls in order here rather than while the screen waits for it.
            outline.kind(outline.entry)
    opened.scanned = True
    return Scanned(opened, *_first_place(opened))


def stamp_at(path: Path) -> Stamp | None:
    """The state of a file, None where it is not there."""
    try:
        return stamp_of(path.stat())
    except OSError:
        return None


def _document(want: Want, number: int) -> Opened:
    """Open a file with its first lines, as quickly as that can be done."""
    plain = FileSource(want.path)
    head = plain.read(0, _HEAD)
    kind = kinds.sniff(head, want.path.name)
    one = b"HloModule " in head and not several(head)
    if kind == kinds.TEXT and want.member is None and one:
        return Opened(number, want, plain, kind, hlo=True, file=plain, head=_lines(head))
    from hlo_tui.formats.opening import open_page, page_instead, sort_of
    from hlo_tui.hlo.loading import open_document

    if want.member is None and sort_of(want.path) is not None:
        return _as_page(want, number, open_page(want.path), plain)
    try:
        document = open_document(want.path, want.member)
    except HloTuiError as error:
        return _as_page(want, number, page_instead(want.path, error), plain)
    file = _file_of(document.source, want.path)
    head = document.source.read(0, _HEAD)
    opened = Opened(number, want, document.source, document.kind, document.note, True, file, _lines(head))
    opened.members = tuple(one.name for one in document.members if one.is_module)
    return opened


def _as_page(want: Want, number: int, page: Page, file: FileSource) -> Opened:
    head = page.source.read(0, _HEAD)
    opened = Opened(number, want, page.source, page.format, page.note, False, file, _lines(head), page=page)
    if page.sort.language == "mlir":
        from hlo_tui.formats.mlirpasses import series_of

        opened.series = series_of(want.path)
    return opened


def _lines(head: bytes) -> tuple[str, ...]:
    lines = head.removesuffix(b"\n").split(b"\n", _HEAD_LINES)[:_HEAD_LINES]
    return tuple(decode(line[:_HEAD_COLUMNS].removesuffix(b"\r").replace(b"\t", b" ")) for line in lines)


def _file_of(source: Source, path: Path) -> FileSource | None:
    """What tells whether the file on disk is still the same."""
    if isinstance(source, FileSource):
        return source
    try:
        return FileSource(path)
    except HloTuiError:
        return None


def _first_place(opened: Opened) -> tuple[int, str]:
    """The line to begin at, and what a person should know of how it was found."""
    if opened.want.beside is None or not opened.hlo:
        return _first_line(opened), ""
    from hlo_tui.ui.stageplace import counterpart

    line, words = counterpart(opened)
    return (_beginning(opened) if line is None else line), words


def _first_line(opened: Opened) -> int:
    want, module = opened.want, opened.module
    if opened.page is not None:
        entry = opened.page.entry(want.computation) if want.computation else None
        return entry.line if entry is not None else max(0, want.line)
    if want.instruction:
        found = module.find(want.instruction, want.computation) or module.find(want.instruction)
        if found is not None:
            return found.line
    outline = module.outline
    if want.computation and outline is not None:
        computation = outline.by_name(want.computation)
        if computation is not None:
            return computation.line
    return want.line if want.line >= 0 else _beginning(opened)


def _beginning(opened: Opened) -> int:
    """The first tagged operation, else the entry."""
    if opened.tagged:
        return opened.tagged[0].line
    outline = opened.module.outline
    return 0 if outline is None or outline.entry is None else outline.entry.line
