"""A list of rows with a cursor: the modules, the inspector, the replay's history, help and pickers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from hlo_tui.ui.paint import Paint
from hlo_tui.ui.rows import Row

Build = Callable[[int], Sequence[Row]]


class RowsView(ScrollView, can_focus=True):
    """Shows what a function of the width gives. Rows with a key can be walked over and chosen."""

    DEFAULT_CSS = """
    RowsView { overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 1; scrollbar-gutter: stable; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home", "edge(-1)", show=False),
        Binding("end", "edge(1)", show=False),
        Binding("enter", "choose", show=False),
        Binding("left", "turn(-1)", show=False),
        Binding("right", "turn(1)", show=False),
    ]

    class Moved(Message):
        """The cursor is on another row."""

        def __init__(self, view: RowsView, key: Hashable) -> None:
            super().__init__()
            self.view = view
            self.key = key

        @property
        def control(self) -> RowsView:
            """The list."""
            return self.view

    class Chosen(Moved):
        """A row was chosen with Enter or the mouse."""

    class Turned(Moved):
        """A row is to be opened (`way` 1) or closed (-1)."""

        def __init__(self, view: RowsView, key: Hashable, way: int) -> None:
            super().__init__(view, key)
            self.way = way

    def __init__(self, paint: Paint, build: Build = lambda _: (), *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._paint = paint
        self._build = build
        self._rows: Sequence[Row] = ()
        self._cursor = -1

    @property
    def keys(self) -> list[Hashable]:
        """What all rows are about that can be chosen."""
        return [row.key for row in self._rows if row.key is not None]

    @property
    def key(self) -> Hashable:
        """What the cursor is on, None where it is nowhere."""
        return self._rows[self._cursor].key if 0 <= self._cursor < len(self._rows) else None

    @property
    def rows(self) -> Sequence[Row]:
        """What is shown."""
        return self._rows

    def show(self, build: Build, *, top: bool = False) -> None:
        """Show other rows, from the top where that is asked for; else what can stay where it is stays."""
        self._build = build
        if top:
            self._cursor = -1
            self.scroll_to(y=0, animate=False)
        self.rebuild()

    def repaint(self, paint: Paint) -> None:
        """Paint with another theme."""
        self._paint = paint
        self.refresh()

    def rebuild(self) -> None:
        """Ask for the rows again; the cursor stays on its key, and that at its place on the screen."""
        width = self._width()
        if width <= 0:
            return
        before, key, at = self._rows, self.key, self._cursor
        scroll = self.scroll_offset.y
        self._rows = self._build(width)
        self._cursor = self._find(key, max(at, 0) if self.has_focus else at)
        if self.virtual_size.height != len(self._rows):
            self.virtual_size = Size(width, len(self._rows))
        if key is not None and at >= 0 and self._cursor != at:
            scroll = max(0, scroll + self._cursor - at)
            self.scroll_to(y=scroll, animate=False)
        self._refresh_changed(before)

    def put_cursor(self, key: Hashable) -> None:
        """Move the cursor to a key where there is such a row."""
        found = self._find(key, -1)
        if found >= 0 and self._rows[found].key == key:
            self._move_to(found, tell=False)

    def render_line(self, y: int) -> Strip:
        """One line of the window."""
        width = self._width()
        place = y + self.scroll_offset.y
        if place >= len(self._rows):
            return self._paint.row(Row(), width)
        over = ""
        if place == self._cursor:
            over = "cursor" if self.has_focus else "cursor_away"
        return self._paint.row(self._rows[place], width, over)

    def action_move(self, way: int) -> None:
        """Go to the next row with a key; scroll where there is none."""
        at = self._next(self._cursor + way, way)
        if at is None:
            self.scroll_relative(y=way, animate=False)
        else:
            self._move_to(at)

    def action_page(self, way: int) -> None:
        """Go a window on or back."""
        step = max(1, self.size.height - 1)
        place = max(0, min(len(self._rows) - 1, max(self._cursor, self.scroll_offset.y) + way * step))
        at = self._next(place, way)
        if at is None:
            at = self._next(place, -way)
        if at is None:
            self.scroll_relative(y=way * step, animate=False)
        else:
            self._move_to(at)

    def action_edge(self, way: int) -> None:
        """Go to the first or the last row."""
        at = self._next(0, 1) if way < 0 else self._next(len(self._rows) - 1, -1)
        self.scroll_to(y=0 if way < 0 else len(self._rows), animate=False)
        if at is not None:
            self._move_to(at)

    def action_choose(self) -> None:
        """Choose the row under the cursor."""
        if self.key is not None:
            self.post_message(self.Chosen(self, self.key))

    def action_turn(self, way: int) -> None:
        """Open or close the row under the cursor; where there is none, what else left and right mean there."""
        self.post_message(self.Turned(self, self.key, way))

    def on_resize(self) -> None:
        """The width decides what the rows are."""
        self.rebuild()

    def on_focus(self) -> None:
        """The cursor looks different now."""
        if self._cursor < 0:
            self._cursor = self._find(None, 0)
        self._refresh_row(self._cursor)

    def on_blur(self) -> None:
        """The cursor looks different now."""
        self._refresh_row(self._cursor)

    def on_click(self, event: events.Click) -> None:
        """Put the cursor there; a second click chooses."""
        place = event.y + self.scroll_offset.y
        if 0 <= place < len(self._rows) and self._rows[place].key is not None:
            if event.chain > 1 or place == self._cursor:
                self.action_choose()
            else:
                self._move_to(place)

    def _move_to(self, place: int, tell: bool = True) -> None:
        old, self._cursor = self._cursor, place
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if place < top or place >= top + height:
            self.scroll_to(y=place if place < top else place - height + 1, animate=False)
        self._refresh_row(old)
        self._refresh_row(place)
        if tell and old != place:
            self.post_message(self.Moved(self, self.key))

    def _next(self, place: int, way: int) -> int | None:
        while 0 <= place < len(self._rows):
            if self._rows[place].key is not None:
                return place
            place += way
        return None

    def _find(self, key: Hashable, near: int) -> int:
        if key is not None:
            if 0 <= near < len(self._rows) and self._rows[near].key == key:
                return near
            for place, line in enumerate(self._rows):
                if line.key == key:
                    return place
        near = min(near, len(self._rows) - 1)
        found = self._next(near, 1) if near >= 0 else None
        if found is None and near >= 0:
            found = self._next(near, -1)
        return -1 if found is None else found

    def _width(self) -> int:
        return self.scrollable_content_region.width

    def _refresh_row(self, place: int) -> None:
        if place >= 0:
            self.refresh_line(place)

    def _refresh_changed(self, before: Sequence[Row]) -> None:
        top = self.scroll_offset.y
        changed = [
            y
            for y in range(self.size.height)
            if (before[top + y] if top + y < len(before) else None)
            != (self._rows[top + y] if top + y < len(self._rows) else None)
        ]
        if changed:
            self.refresh(Region(0, changed[0], self.size.width, changed[-1] - changed[0] + 1))
