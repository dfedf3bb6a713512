"""The code: one line of the file a row, with a gutter, a cursor that moves by lines and by names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hlo_tui.ui.codeline import Name
from hlo_tui.ui.codetext import CodeText, hidden_text
from hlo_tui.ui.glyphs import MORE, STANDING
from hlo_tui.ui.marks import Marks
from hlo_tui.ui.paint import Paint
from hlo_tui.ui.rows import Row, Span, width_of
from hlo_tui.ui.rowsview import Build

# Columns in which matches are looked for; of a pattern that a person typed nothing is known.
_MATCHED = 600
_PLACE_WIDTH = 22
_WIDE = 100
_MARGIN = 2


class CodeView(ScrollView, can_focus=True):
    """Shows a `CodeText`."""

    DEFAULT_CSS = """
    CodeView { overflow-x: hidden; overflow-y: scroll; scrollbar-size-vertical: 1; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("left,h", "name(-1)", show=False),
        Binding("right,l", "name(1)", show=False),
        Binding("home", "column(-2)", show=False),
        Binding("end", "column(2)", show=False),
        Binding("less_than_sign,shift+left", "column(-1)", show=False),
        Binding("greater_than_sign,shift+right", "column(1)", show=False),
    ]

    class Moved(Message):
        """The cursor is on another line."""

        def __init__(self, line: int) -> None:
            super().__init__()
            self.line = line

        def can_replace(self, message: Message) -> bool:
            """Only where it is in the end counts."""
            return isinstance(message, CodeView.Moved)

    def __init__(self, paint: Paint, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._paint = paint
        self.text: CodeText | None = None
        self._blank: Build = lambda _: ()
        self.marks = Marks()
        self.changes: Mapping[int, str] = {}
        self.pattern: re.Pattern[str] | None = None
        self.line = 0
        self._chosen = -1
        self._column = 0
        self._hidden = True

    def show_rows(self, build: Build) -> None:
        """Show rows where there is no text."""
        self._blank = build
        if self.text is not None:
            self.show(None)
        self.refresh()

    def show(self, text: CodeText | None, line: int = 0) -> None:
        """Show a text with the cursor on a line."""
        self.text = text
        self.marks = Marks()
        self.changes = {}
        self._column = 0
        self._chosen = -1
        self.line = line
        self.resized()
        if text is not None:
            self.go_to(line, center=True)

    def resized(self) -> None:
        """Take in that there are other rows, or another width."""
        if self.text is None:
            self.virtual_size = Size(0, 0)
        else:
            width = self.scrollable_content_region.width
            self.text.set_width(width - self._gutter())
            self.virtual_size = Size(width, self.text.folds.rows)
        self.refresh()

    def repaint(self, paint: Paint) -> None:
        """Paint with another theme."""
        self._paint = paint
        self.refresh()

    def set_marks(self, marks: Marks) -> None:
        """Show other signs in the gutter; only lines that differ are painted again."""
        old, self.marks = self.marks, marks
        if self.text is None:
            return
        for y in range(self.size.height):
            line = self._line_at(y)
            if line is not None and _signs(old, line) != _signs(marks, line):
                self.refresh_line(y + self.scroll_offset.y)

    def set_changes(self, changes: Mapping[int, str]) -> None:
        """Show which lines (from 0) are others than at the stage before: "+" for new ones, "~" for changed ones."""
        self.changes = changes
        self.refresh()

    def set_pattern(self, pattern: re.Pattern[str] | None) -> None:
        """Highlight other matches."""
        self.pattern = pattern
        self.refresh()

    def go_to(self, line: int, center: bool = False) -> None:
        """Put the cursor on a line; what is out of sight is scrolled to, into the middle if `center`."""
        text = self.text
        if text is None or not text.count:
            return
        line = max(0, min(text.count - 1, line))
        if text.reveal(line):
            self.resized()
        old = self.line
        self.line = line
        self._chosen = -1
        row = text.folds.row_of(line)
        top, height = self.scroll_offset.y, max(1, self.size.height)
        margin = min(_MARGIN, (height - 1) // 2)
        if not top + margin <= row < top + height - margin:
            target = row - margin if row < top + margin else row - height + 1 + margin
            self.scroll_to(y=max(0, row - height // 3 if center else target), animate=False)
        if self._column and not text.is_long(line):
            self._column = 0
            self.refresh()
        self._refresh_line(old)
        self._refresh_line(line)
        self.post_message(self.Moved(line))

    @property
    def target(self) -> Name | None:
        """The marked name of the line: the one that was walked to, else the first that is used."""
        names = self._names()
        if not names:
            return None
        if 0 <= self._chosen < len(names):
            return names[self._chosen]
        return names[1] if len(names) > 1 else names[0]

    def action_move(self, way: int) -> None:
        """Go a row on or back."""
        if self.text is not None:
            row = self.text.folds.row_of(self.line) + way
            if 0 <= row < self.text.folds.rows:
                self.go_to(self.text.folds.line_of(row))

    def action_page(self, way: int) -> None:
        """Go a window on or back: the window moves by its height, the cursor with it."""
        if self.text is None:
            return
        folds, height = self.text.folds, max(1, self.size.height - 1)
        self.scroll_to(y=max(0, self.scroll_offset.y + way * height), animate=False)
        row = max(0, min(folds.rows - 1, folds.row_of(self.line) + way * height))
        self.go_to(folds.line_of(row))

    def action_name(self, way: int) -> None:
        """Go to the next name on the line, or the one before."""
        names = self._names()
        current = self.target
        if not names or current is None:
            return
        self._chosen = max(0, min(len(names) - 1, names.index(current) + way))
        self._show_columns(names[self._chosen])
        self._refresh_line(self.line)

    def action_column(self, way: int) -> None:
        """Move the window over the line: by half its width, or to its end (2) and back (-2)."""
        if self.text is None:
            return
        room = self._room()
        length = (
            self.text.length(self.line) if self.text.is_long(self.line) else self.text.line(self.line).width
        )
        last = max(0, length - room + 1)
        wanted = {-2: 0, 2: last}.get(way, self._column + way * room // 2)
        self._column = max(0, min(last, wanted))
        self.refresh()

    def on_resize(self) -> None:
        """The width decides how much of a line is shown; a view that was hidden finds its cursor again."""
        hidden, self._hidden = self._hidden, self.size.height == 0
        self.resized()
        if hidden and not self._hidden:
            self.go_to(self.line, center=True)

    def on_focus(self) -> None:
        """The cursor looks different now."""
        self._refresh_line(self.line)

    def on_blur(self) -> None:
        """The cursor looks different now."""
        self._refresh_line(self.line)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there, on the name if there is one."""
        line = self._line_at(event.y)
        if line is None or self.text is None:
            return
        self.go_to(line)
        column = event.x - self._gutter() + self._column
        for at, name in enumerate(self._names()):
            if name.start <= column < name.end:
                self._chosen = at
        self._refresh_line(line)

    def render_line(self, y: int) -> Strip:
        """One row of the window."""
        width = self.scrollable_content_region.width
        line = self._line_at(y)
        if line is None or self.text is None:
            rows = self._blank(width) if self.text is None else ()
            return self._paint.row(rows[y] if y < len(rows) else Row(), width)
        over = ""
        if line == self.line:
            over = "cursor" if self.has_focus else "cursor_away"
        spans = [*self._gutter_spans(line), *self._content(line, width - self._gutter())]
        pieces: Iterable[tuple[Span, str]] = [
            (span, "" if span.role == "standing" else over) for span in spans
        ]
        if self.pattern is not None:
            pieces = _overlay_matches(pieces, self.pattern, self._gutter())
        if line == self.line and self.has_focus:
            name = self.target
            if name is not None and name.end > self._column:
                start = self._gutter() + max(0, name.start - self._column)
                pieces = _overlay(pieces, start, self._gutter() + name.end - self._column, "target")
        return Strip(
            [self._paint.segment(span.text, span.role, above) for span, above in pieces if span.text], width
        )

    def _content(self, line: int, room: int) -> list[Span]:
        """The text of a line in exactly `room` columns, with its place at the right."""
        assert self.text is not None
        if self.text.is_long(line):
            shown = self.text.window(line, self._column, room)
            hidden = self.text.length(line) - self._column - room
            more = hidden_text(hidden) if hidden > 0 else ""
            spans = _slice(shown.spans, 0, room - len(more))
            return [*_fill(spans, room - len(more)), Span(more, "muted")]
        shown = self.text.line(line)
        place = self.text.place(shown)[:_PLACE_WIDTH] if self.text.folded else ""
        visible = shown.width - self._column
        space = room - (len(place) + 2 if place else 0)
        if visible > space and room < _WIDE:
            place, space = "", room
        spans = _slice(shown.spans, self._column, space)
        if visible > space:
            spans = [*_slice(spans, 0, space - 1), Span(MORE, "muted")]
        if not place:
            return _fill(spans, room)
        return [*_fill(spans, room - len(place)), Span(place, "place")]

    def _gutter_spans(self, line: int) -> list[Span]:
        digits = self._gutter() - 5
        standing = line == self.marks.standing
        arrow = (
            Span(STANDING, "standing")
            if standing
            else Span("›" if line in self.marks.frames else " ", "accent")
        )
        stop, stop_role = self.marks.stop_sign(line)
        run, run_role = self.marks.run_sign(line)
        number = Span(f"{line + 1:>{digits}} ", "standing" if standing else "line_number")
        change = self.changes.get(line, " ")
        return [
            arrow, number, Span(stop, stop_role), Span(run, run_role),
            Span(change, "added" if change == "+" else "modified"),
        ]  # fmt: skip

    def _gutter(self) -> int:
        count = self.text.count if self.text is not None else 0
        return max(3, len(str(count))) + 5

    def _room(self) -> int:
        return max(1, self.scrollable_content_region.width - self._gutter())

    def _names(self) -> tuple[Name, ...]:
        if self.text is None or not 0 <= self.line < self.text.count or self.text.is_long(self.line):
            return ()
        return self.text.line(self.line).names

    def _show_columns(self, name: Name) -> None:
        room = self._room()
        if not self._column <= name.start <= name.end <= self._column + room - 1:
            self._column = 0 if name.end < room else max(0, name.start - room // 3)
            self.refresh()

    def _line_at(self, y: int) -> int | None:
        if self.text is None:
            return None
        row = y + self.scroll_offset.y
        return self.text.folds.line_of(row) if row < self.text.folds.rows else None

    def _refresh_line(self, line: int) -> None:
        if self.text is not None and line < self.text.count:
            self.refresh_line(self.text.folds.row_of(line))


def _signs(marks: Marks, line: int) -> tuple[object, ...]:
    return line == marks.standing, line in marks.frames, marks.stop_sign(line), marks.run_sign(line)


def _slice(spans: Iterable[Span], start: int, width: int) -> list[Span]:
    """The columns from `start` on; a character counts as one column, as in the file."""
    found: list[Span] = []
    for text, role in spans:
        if width <= 0:
            break
        if start >= len(text):
            start -= len(text)
            continue
        part = text[start : start + width]
        start = 0
        width -= len(part)
        found.append(Span(part, role))
    return found


def _fill(spans: list[Span], width: int) -> list[Span]:
    missing = width - width_of(spans)
    return [*spans, Span(" " * missing)] if missing > 0 else spans


def _overlay(pieces: Iterable[tuple[Span, str]], start: int, end: int, over: str) -> list[tuple[Span, str]]:
    """Lay a role over some columns."""
    found: list[tuple[Span, str]] = []
    column = 0
    for span, below in pieces:
        text, role = span
        first, last = max(0, start - column), min(len(text), end - column)
        column += len(text)
        if first >= last:
            found.append((span, below))
            continue
        found += [
            (Span(text[:first], role), below),
            (Span(text[first:last], role), over),
            (Span(text[last:], role), below),
        ]
    return found


def _overlay_matches(
    pieces: Iterable[tuple[Span, str]], pattern: re.Pattern[str], gutter: int
) -> list[tuple[Span, str]]:
    found = list(pieces)
    text = "".join(span.text for span, _ in found)
    for match in pattern.finditer(text, gutter, _MATCHED):
        if match.end() > match.start():
            found = _overlay(found, match.start(), match.end(), "match")
    return found
