"""What comes over the screen for a moment: a list to read or to choose from, and a line to type in."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.screen import ModalScreen
from textual.strip import Strip
from textual.widgets import Input

from hlo_tui.ui import glyphs
from hlo_tui.ui.bars import Bar, rule
from hlo_tui.ui.commands import COMMANDS, Command, Situation, shown_keys
from hlo_tui.ui.paint import Paint
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.rowsview import Build, RowsView

# Cells that a hint behind what is typed takes at least.
_HINT = 12


class Popup(ModalScreen[Hashable]):
    """Rows over the screen; gives the key of the row that was chosen, None where none was."""

    CSS = """
    Popup { align: center middle; background: $background; }
    Popup > Vertical { width: 100%; max-width: 124; height: 100%; }
    Popup RowsView { height: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,backspace,ctrl+c,question_mark", "leave", show=False),
    ]

    def __init__(self, paint: Paint, title: str, build: Build) -> None:
        super().__init__()
        self._paint = paint
        self._title = title
        self._build = build

    def compose(self) -> ComposeResult:
        """A title and the rows."""
        with Vertical():
            yield Bar(self._paint, id="popup-title")
            yield RowsView(self._paint, self._build, id="popup-rows")
            yield Bar(self._paint, id="popup-foot")

    def on_mount(self) -> None:
        """Take the focus."""
        self.query_one(RowsView).focus()

    def on_resize(self) -> None:
        """The title goes across."""
        bar = self.query_one("#popup-title", Bar)
        width = bar.size.width or self.size.width
        bar.show(rule(self._title, True, width))
        choice = any(line.key is not None for line in self._build(width))
        enter = (Span("enter", "key"), Span(" goes there   ", "key_text")) if choice else ()
        keys = (*enter, Span("q", "key"), Span(" closes", "key_text"))
        self.query_one("#popup-foot", Bar).show(Row((Span(" "), *keys)))

    def on_rows_view_chosen(self, message: RowsView.Chosen) -> None:
        """Give the key."""
        message.stop()
        self.dismiss(message.key)

    def on_rows_view_moved(self, message: RowsView.Moved) -> None:
        """What is under the cursor matters to nobody else."""
        message.stop()

    def action_leave(self) -> None:
        """Close without a choice."""
        self.dismiss(None)


def help_rows(now: Situation, width: int) -> list[Row]:
    """The keys that do something now, by group; then those that do not, with the reason."""
    rows: list[Row] = []
    groups: dict[str, list[Row]] = {}
    off: list[Row] = []
    title_width = _TITLE if width >= _WIDE else 0
    for command in COMMANDS:
        if not command.keys or command.on != "main":
            continue
        reason = command.check(now)
        if reason is None:
            groups.setdefault(command.group, []).extend(_help_rows(command, width, command.id))
            continue
        keys, title = f"  {shown_keys(command):<20} ", f"{command.title:<{title_width}} "
        off.append(
            row(
                Span(keys, "key_off"), Span(title, "key_off"), Span(reason, "muted"), key=(command.id, "not now")
            )
        )  # fmt: skip
    for group, lines in groups.items():
        rows += [row(Span(f" {group}", "heading")), *lines, row()]
    rows.append(row(Span(" In lists and in the code", "heading")))
    rows += [row(Span(f"  {key:<20} ", "key"), Span(words, "muted"), key=(key,)) for key, words in _WALKING]
    rows += [row(), row(Span(" Signs beside the code and the modules", "heading"))]
    # The cursor goes through what has a key, and so comes to the end of all this.
    for sign, role, words in _SIGNS:
        first, *rest = wrap(words, width - 24, "muted")
        rows.append(row(Span(f"  {sign:<20} ", role), *first.spans[1:], key=(sign,)))
        rows += [row(Span(" " * 23), *line.spans[1:]) for line in rest]
    if off:
        rows += [row(), row(Span(" Not now", "heading")), *off]
    return rows


def panel_help(panel: str, width: int) -> list[Row]:
    """The commands of a panel, then how to walk in it."""
    commands = [command for command in COMMANDS if command.on == panel]
    rows = [row(Span(f" {commands[0].group}", "heading"))] if commands else []
    rows += [line for command in commands for line in _help_rows(command, width, None)]
    rows += [row(), row(Span(" In lists", "heading"))]
    return rows + [row(Span(f"  {key:<20} ", "key"), Span(words, "muted")) for key, words in _WALKING[:3:2]]


def _help_rows(command: Command, width: int, key: Hashable) -> list[Row]:
    """What a command does, in as many rows as it needs; with its title where there is room."""
    keys = f"  {shown_keys(command):<20} "
    title = f"{command.title:<{_TITLE}} " if width >= _WIDE else ""
    role = "muted" if title else "text"
    first, *rest = wrap(command.help, width - max(len(keys), 23) - len(title) - 1, role)
    return [
        row(Span(keys, "key"), Span(title, "strong"), *first.spans[1:], key=key),
        *(row(Span(" " * (23 + len(title))), *line.spans[1:]) for line in rest),
    ]


_WIDE, _TITLE = 100, 26
_WALKING = (
    ("up down, j k", "by row"),
    ("left right", "code: from name to name; modules: fold and unfold"),
    ("page up, page down", "by window; space too"),
    ("< >, shift+arrows", "over a long line; home and end go to its ends"),
)


_SIGNS = (
    (glyphs.TAGGED, "tagged", "the program asks for a stop here; of a module: how many"),
    (glyphs.STOP, "stop", "you set a stop here"),
    (
        glyphs.DISABLED,
        "disabled",
        "a stop that is switched off, or inside a block of which only the ends are one",
    ),
    (glyphs.STANDING, "standing", "the replay stands here"),
    (glyphs.GIVEN, "modified", "a value that is not computed but given, or made: I shows with what"),
    (glyphs.RAN, "ran", "was run on the way here; of a module: ran to its end, all that was seen is finite"),
    (
        glyphs.BAD,
        "nan",
        "a NaN or an infinity in the value; of a module: in what was seen of it, or recorded",
    ),
    (glyphs.UNKNOWN, "missing", "the value is not known"),
)


class Prompt(Input):
    """A line to type in at the foot of the screen; gone as soon as it was answered. Up and down go through what
    was answered before."""

    DEFAULT_CSS = """
    Prompt, Prompt:focus { border: none; height: 1; padding: 0 1; background: $panel; width: 1fr; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,ctrl+c,ctrl+g", "leave", show=False, priority=True),
        Binding("up", "recall(-1)", show=False),
        Binding("down", "recall(1)", show=False),
        # The keys that would take the focus away, and leave the line there.
        Binding("tab,shift+tab", "stay", show=False),
    ]

    class Answered(Message):
        """The person typed something; None where it was left."""

        def __init__(self, purpose: str, text: str | None) -> None:
            super().__init__()
            self.purpose = purpose
            self.text = text

    class Typed(Message):
        """Another letter is there."""

        def __init__(self, purpose: str, text: str) -> None:
            super().__init__()
            self.purpose = purpose
            self.text = text

    def __init__(
        self, purpose: str, hint: str, value: str = "", past: Sequence[str] = (), select: bool = True
    ) -> None:
        """Make the line.

        Args:
            purpose: what the answer is for.
            hint: what can be typed.
            value: what is there already.
            past: what was answered before, oldest first.
            select: whether the first letter takes the place of `value`.
        """
        super().__init__(value, placeholder=hint, select_on_focus=select)
        self.cursor_blink = False
        self.purpose = purpose
        self._given = value
        self._lines = [*(line for line in past if line != value), value]
        self._at = len(self._lines) - 1

    def render_line(self, y: int) -> Strip:
        """The line; behind what is there already what else can be typed, until a letter is typed."""
        strip = super().render_line(y)
        used = cell_len(self.value) + 3
        room = self.content_size.width - used
        if not self.value or self.value != self._given or room < _HINT:
            return strip
        hint = set_cell_size(self.placeholder, room)
        style = self.get_component_rich_style("input--placeholder")
        return Strip.join([strip.crop(0, used), Strip([Segment(hint, style)]).apply_style(self.rich_style)])

    def on_input_changed(self, event: Input.Changed) -> None:
        """Pass on what is typed."""
        event.stop()
        self.post_message(self.Typed(self.purpose, self.value))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Answer."""
        event.stop()
        self.post_message(self.Answered(self.purpose, self.value))

    def action_recall(self, way: int) -> None:
        """Show what was answered before, or after; what is typed now stays there to come back to."""
        if 0 <= self._at + way < len(self._lines):
            self._lines[self._at] = self.value
            self._at += way
            self.value = self._lines[self._at]
            self.cursor_position = len(self.value)

    def action_stay(self) -> None:
        """Do nothing."""

    def action_leave(self) -> None:
        """Leave without an answer."""
        self.post_message(self.Answered(self.purpose, None))
