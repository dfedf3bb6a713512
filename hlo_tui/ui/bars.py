"""Single lines of the screen: the head, the title of a pane, the foot."""

from __future__ import annotations

from textual.strip import Strip
from textual.widget import Widget

from hlo_tui.hlo.visible import visible
from hlo_tui.ui.commands import BY_ID, COMMANDS, Command, Situation, shown_key
from hlo_tui.ui.glyphs import LINE
from hlo_tui.ui.paint import Paint
from hlo_tui.ui.rows import Row, Span, row, width_of


class Bar(Widget):
    """One row; painted again only when it says something else."""

    DEFAULT_CSS = """
    Bar { height: 1; width: 1fr; }
    """

    def __init__(self, paint: Paint, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self._paint = paint
        self._row = Row()

    def show(self, line: Row) -> None:
        """Show another row."""
        if line != self._row:
            self._row = line
            self.refresh()

    def repaint(self, paint: Paint) -> None:
        """Paint with another theme."""
        self._paint = paint
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """The row."""
        return self._paint.row(self._row if y == 0 else Row(), self.size.width)


def rule(title: str, focused: bool, width: int) -> Row:
    """A line across with a title in it, which may have names of files and of modules."""
    words = f" {visible(title)} "
    return Row(
        (Span(words, "title" if focused else "title_away"), Span(LINE * max(0, width - len(words)), "rule"))
    )


def footer(now: Situation, status: tuple[Span, ...], width: int, on: str = "main") -> Row:
    """The keys that do something now, as many as there is room for; and what is going on, alone if it is long."""
    if width_of(status) > width // 2:
        return row(" ", *status)
    spans = [Span(" ")]
    help_id = "help" if on == "main" else f"{on}_help"
    last = _key_spans(BY_ID[help_id]) if help_id in BY_ID else []
    room = width - 1 - width_of(last) - (width_of(status) + 2 if status else 0)
    for command in COMMANDS:
        shown = command.footer and command.on == on and command.id not in (help_id, "quit")
        if shown and (command.check(now) is None or (command.id == "stage_previous" and now.later)):
            words = _key_spans(command)
            room -= width_of(words)
            if room < 0:
                break
            spans += words
    return Row((*spans, *last), (*status, Span(" ")) if status else ())


def _key_spans(command: Command) -> list[Span]:
    key = "[ ]" if command.id == "stage_previous" else shown_key(command.keys[0])
    return [Span(key, "key"), Span(f" {command.footer}  ", "key_text")]
