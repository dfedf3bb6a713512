"""What the screens over the main one have in common: rows, keys of their own, a line to type in, and a foot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.bars import Bar, footer, rule
from hlo_tui.ui.commands import BY_ID, COMMANDS
from hlo_tui.ui.popups import Popup, Prompt, panel_help
from hlo_tui.ui.replayrows import status
from hlo_tui.ui.rows import Row, Span
from hlo_tui.ui.rowsview import RowsView

if TYPE_CHECKING:
    from hlo_tui.replay.session import State
    from hlo_tui.ui.base import BaseApp


def keys_of(panel: str) -> list[BindingType]:
    """The keys of the commands that are on a panel. Among those that close it ctrl+c stops the replay first."""
    found: list[BindingType] = []
    for command in COMMANDS:
        if command.on == panel and command.keys:
            closes = command.id == f"{panel}_close"
            keys = [key for key in command.keys if not closes or key != _STOP]
            found.append(Binding(",".join(keys), f"panel('{command.id}')", show=False))
            if len(keys) < len(command.keys):
                found.append(Binding(_STOP, "stop", show=False))
    return found


_STOP = "ctrl+c"


def words_of(error: HloTuiError) -> str:
    """What went wrong and what can be done, in one line."""
    return "; ".join(part for part in (error.title, error.message, error.hint) if part)


class Panel(ModalScreen[None]):
    """A screen over the main one. Its commands are those of the registry that are on it; `PANEL_close` leaves and
    `PANEL_help` shows the keys.

    Attributes:
        PANEL: what the registry calls it.
        heading: what stands in its first line.
        rows: the list.
    """

    CSS = "Panel { background: $background; } Panel RowsView { height: 1fr; }"
    PANEL: ClassVar[str]

    def __init__(self, app: BaseApp, heading: str) -> None:
        super().__init__()
        self.owner = app
        self.heading = heading
        self.notice = ""
        self._title = Bar(app.paint)
        self.rows = RowsView(app.paint, id=f"{self.PANEL}-rows")
        self._foot = Bar(app.paint)

    # What each one has of its own.

    def build(self, width: int) -> Sequence[Row]:
        """All rows."""
        raise NotImplementedError

    def begin(self) -> None:
        """Ask for what is to be shown; it may raise HloTuiError, which is said."""

    def do(self, identity: str) -> None:
        """Carry out a command; it may raise HloTuiError, which is said."""
        raise NotImplementedError

    def answered(self, purpose: str, text: str) -> None:
        """Take what was typed; it may raise HloTuiError, which is said."""

    def chosen(self, key: object) -> None:
        """Enter was pressed on a row; it may raise HloTuiError, which is said."""

    def turned(self, key: object, way: int) -> None:
        """A row is to be unfolded (1) or folded (-1)."""

    def replay_changed(self, state: State) -> None:
        """The replay is in another state."""

    def marked(self) -> None:
        """The gutter's signs, and what stops mean, are known again."""

    def shelved(self) -> None:
        """The dump is another than before."""

    def activity(self) -> str:
        """What goes on, in a few words; empty where nothing does."""
        state = self.owner.desk.replays.state
        return status(state, self.owner.now()) if state is not None and state.status == "busy" else ""

    # What they share.

    def compose(self) -> ComposeResult:
        """A title, the rows, and the keys."""
        yield self._title
        yield self.rows
        yield self._foot

    def on_mount(self) -> None:
        """Take the focus and begin."""
        self.rows.focus()
        self.attempt(self.begin)
        self.show()

    def on_resize(self, _: events.Resize) -> None:
        """The rows depend on the width."""
        self.show()

    def take(self, state: State) -> None:
        """Hear of a new state of the replay."""
        if state.status == "standing" and state.problem is not None:
            self.say_error(state.problem)
        self.attempt(lambda: self.replay_changed(state))
        self.show()

    def action_panel(self, identity: str) -> None:
        """Run one of the panel's commands, or say why it cannot run."""
        self.notice = ""
        reason = BY_ID[identity].check(self.owner.situation())
        if identity == f"{self.PANEL}_close":
            self.dismiss(None)
            return
        if identity == f"{self.PANEL}_help":
            self.app.push_screen(Popup(self.owner.paint, "Keys", lambda width: panel_help(self.PANEL, width)))
        elif reason is not None:
            self.notice = f"{BY_ID[identity].title}: {reason}"
        else:
            self.attempt(lambda: self.do(identity))
        self.show()

    def action_stop(self) -> None:
        """Stop what the replay does; leave where it does nothing."""
        state = self.owner.desk.replays.state
        if state is not None and state.status == "busy":
            self.owner.desk.replays.interrupt()
        else:
            self.dismiss(None)

    def ask(self, purpose: str, hint: str, value: str = "", select: bool = True) -> None:
        """Ask for a line of text."""
        self.query(Prompt).remove()
        prompt = Prompt(purpose, hint, value, self.owner.desk.answers.get(purpose, ()), select)
        self.mount(prompt, before=self._foot)
        self.set_focus(prompt)

    def on_prompt_answered(self, message: Prompt.Answered) -> None:
        """Pass on what was typed."""
        message.stop()
        self.query(Prompt).remove()
        self.set_focus(self.rows)
        text = message.text
        if text is not None:
            self.owner.desk.answered(message.purpose, text)
            self.attempt(lambda: self.answered(message.purpose, text.strip()))
        self.show()

    def on_prompt_typed(self, message: Prompt.Typed) -> None:
        """Nothing changes while the person types."""
        message.stop()

    def on_rows_view_chosen(self, message: RowsView.Chosen) -> None:
        """Pass on that a row was chosen."""
        message.stop()
        self.attempt(lambda: self.chosen(message.key))
        self.show()

    def on_rows_view_moved(self, message: RowsView.Moved) -> None:
        """What is under the cursor matters to nobody else."""
        message.stop()

    def on_rows_view_turned(self, message: RowsView.Turned) -> None:
        """Pass on that a row was unfolded or folded."""
        message.stop()
        self.turned(message.key, message.way)
        self.show()

    def attempt(self, act: Callable[[], object]) -> None:
        """Do something; what goes wrong in it is said."""
        try:
            act()
        except HloTuiError as error:
            self.say_error(error)

    def say_error(self, error: HloTuiError) -> None:
        """Say what went wrong."""
        self.notice = visible(words_of(error))

    def show(self) -> None:
        """Show everything as it is now."""
        if not self.is_mounted:
            return
        self._title.show(rule(self.heading, True, self.size.width))
        self.rows.show(self.build)
        self.show_foot()

    def show_foot(self) -> None:
        """Show the keys and what goes on."""
        width = self.size.width
        words = self.notice or self.activity()
        spans = (Span(words, "notice"),) if words else ()
        self._foot.show(footer(self.owner.situation(), spans, width, on=self.PANEL) if width else Row())
