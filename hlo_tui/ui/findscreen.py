"""What was found in all modules: a list that grows while the search goes on; enter goes there."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.dump.words import count_text
from hlo_tui.finding.places import ENDS, places_at
from hlo_tui.finding.query import WORDS, parse_words
from hlo_tui.finding.report import hit_line, summary_text
from hlo_tui.finding.search import Hit, Search
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.passes.subject import leave_for
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.treerows import Place

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task

KIND = "find"
# More than a person looks through; the search ends there and says so.
MOST = 5000
_REPORT = 0.1


@dataclass(frozen=True, slots=True)
class Found:
    """A row that leads to a hit: the how manieth it is."""

    number: int


class FindScreen(TaskPanel):
    """The hits of one query."""

    PANEL = "find"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("find")

    def __init__(self, app: BaseApp, text: str) -> None:
        super().__init__(app, f"Find in all modules: {text}")
        self._text = text
        self._rows: list[Row] = []
        self._shown = (0, 0)

    def start(self) -> Task:
        """Begin to look, or show what was found for the same text."""
        return begin(self.owner, self._text)

    def lines(self, width: int) -> Sequence[Row]:
        """The hits under the stages that they are in; only new ones are made into rows."""
        hits: list[Hit] = self.work.found if self.work is not None else []
        count = len(hits)
        if self._shown[1] != width or self._shown[0] > count:
            self._rows, self._shown = [], (0, width)
        for number in range(self._shown[0], count):
            hit = hits[number]
            if not number or hits[number - 1].place is not hit.place:
                self._rows += [row(), _heading(hit)] if self._rows else [_heading(hit)]
            self._rows.append(_hit_row(hit, number, width))
        self._shown = (count, width)
        if self.work is None or not self.work.done or self.work.problem is not None:
            return self._rows
        end = [*self._rows, row(), row(Span(f" {self.work.words}", "muted"))]
        return end if count else [*end, *wrap(f"words can be filters: {WORDS}", width - 2, "muted", " ")]

    def do(self, identity: str) -> None:
        """Carry out a command."""
        if identity == "find_new":
            self.ask("find_all", f"a regular expression; filters: {WORDS}", self._text)
        else:
            super().do(identity)

    def answered(self, purpose: str, text: str) -> None:
        """Find something else."""
        if purpose == "find_all" and text:
            parse_words(text)
            self._text, self.heading = text, visible(f"Find in all modules: {text}")
            self._rows, self._shown = [], (0, 0)
            self.work = begin(self.owner, text)

    def chosen(self, key: object) -> None:
        """Go there; the next matches are found with the same pattern."""
        if isinstance(key, Found) and self.work is not None:
            open_hit(self.owner, self.work.found[key.number], self._text)


def begin(app: BaseApp, text: str) -> Task:
    """Look through the dump for a query in words, on a thread.

    Raises:
        HloTuiError: the query cannot be read.
    """
    query, stages = parse_words(text)
    root = app.desk.watch.path_of("")

    def job(task: Task) -> None:
        task.say("looking what there is")
        listing, texts = places_at(root, stages or ENDS)
        search = Search(listing, query)
        last = 0.0
        for hit in search.run(texts, lambda: task.stopping):
            # Without the file that it is in: thousands of them would stay open.
            task.found.append(replace(hit, source=None, known=None))
            if len(task.found) >= MOST:
                break
            now = time.monotonic()
            if now - last >= _REPORT:
                last = now
                task.say(f"{count_text(len(task.found), 'hit')}, text {search.looked + 1} of {len(texts)}")
        task.check()
        more = f"; the first {MOST:,}: narrow it down" if len(task.found) >= MOST else ""
        unread = f"; {count_text(len(search.unread), 'text')} could not be read" if search.unread else ""
        task.words = summary_text(search) + more + unread

    shelf = app.desk.shelf
    return app.tasks.start(KIND, (text, shelf.mtime_ns if shelf is not None else 0), job)


def open_hit(app: BaseApp, hit: Hit, text: str) -> None:
    """Show a hit in the code; backspace comes back, and the list is there again under its key."""
    place = hit.place
    label = place.stage if place.key is not None and place.stage != "run" else ""
    want = app.desk.want(Place(place.file, place.key, label))
    if place.member is not None and want.member is None:
        want = replace(want, member=place.member)
    pattern = parse_words(text)[0].pattern
    if pattern is not None:
        app.desk.pattern = pattern
        app.main.code.set_pattern(
            re.compile(pattern.pattern.decode("utf-8", "replace"), pattern.flags & re.I)
        )
    leave_for(app, replace(want, line=hit.line, computation="", instruction="", beside=None))


def _heading(hit: Hit) -> Row:
    place = hit.place
    number = f" #{place.id}" if place.id is not None else ""
    return row(
        Span(f" {visible(hit.module)}{number}", "strong"), Span(f"  {visible(place.stage)}", "count"),
        right=[Span(visible(place.file.rpartition("/")[2]), "muted")],
    )  # fmt: skip


def _hit_row(hit: Hit, number: int, width: int) -> Row:
    where = f"  {visible(hit.computation)[:20]:<20}" if hit.computation is not None and width >= 100 else ""
    head = f"{hit.line + 1:>9,}"
    return row(
        Span(head, "line_number"), Span(where, "computation"),
        Span(f"  {hit_line(hit, max(20, width - len(head) - len(where) - 3))}"), key=Found(number),
    )  # fmt: skip
