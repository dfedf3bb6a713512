"""The screen that looks at one value closely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from hlo_tui.errors import HloTuiError
from hlo_tui.ui.bars import Bar, footer, rule
from hlo_tui.ui.closely import Closely, Origin, Part, build
from hlo_tui.ui.commands import COMMANDS
from hlo_tui.ui.messages import Seen
from hlo_tui.ui.popups import Prompt
from hlo_tui.ui.replayrows import status
from hlo_tui.ui.rows import Row, Span
from hlo_tui.ui.rowsview import RowsView
from hlo_tui.ui.valuerows import iteration_text

if TYPE_CHECKING:
    from hlo_tui.replay.session import State
    from hlo_tui.ui.base import BaseApp

_AROUND = 8
_QUESTIONS = {
    "value_slice": "which elements, such as  3, 10:20, :  or  ..., 0",
    "value_origin": "which element, such as  3, 17",
    "value_compare": "the number of the stop to compare with",
    "value_change": "a number for all elements, finite (1 where it is not), or a .npy file",
    "value_save": "where to: a path that ends in .npy",
}


class ValueScreen(ModalScreen[None]):
    """Asks for the value, then for what is to be seen of it, and shows both."""

    CSS = "ValueScreen { background: $background; } ValueScreen RowsView { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(command.keys), f"value('{command.id}')", show=False)
        for command in COMMANDS
        if command.on == "value"
    ]

    def __init__(self, app: BaseApp, computation: str, instruction: str) -> None:
        super().__init__()
        self._owner = app
        self.look = Closely(computation, instruction)
        self._notice = ""
        self._title = Bar(app.paint)
        self._rows = RowsView(app.paint, id="value-rows")
        self._foot = Bar(app.paint)

    def compose(self) -> ComposeResult:
        """A title, the rows, and the keys."""
        yield self._title
        yield self._rows
        yield self._foot

    def on_mount(self) -> None:
        """Ask for the value, unless it is known already."""
        self._rows.focus()
        state = self._owner.desk.replays.state
        self._attempt(lambda: self._begin(state) if state is not None else None)

    def _begin(self, state: State) -> None:
        summary = state.value_of(self.look.computation, self.look.instruction)
        self.look = replace(self.look, where=_where(state), summary=summary)
        if summary is None:
            self._owner.desk.replays.running.look(self.look.computation, self.look.instruction)
        else:
            self._ask_overview()

    def on_resize(self, _: events.Resize) -> None:
        """The rows depend on the width."""
        self._show()

    def replay_changed(self, state: State) -> None:
        """Take in what the replay knows now."""
        if state.status == "standing" and state.problem is not None:
            problem = state.problem
            self._notice = "; ".join(part for part in (problem.title, problem.message, problem.hint) if part)
        summary = state.value_of(self.look.computation, self.look.instruction)
        if summary is not None and summary is not self.look.summary:
            self.look = replace(self.look, summary=summary, overview=None, where=_where(state))
            self._attempt(self._ask_overview)
        self._show()

    def on_seen(self, message: Seen) -> None:
        """Show what came back."""
        what, result = message.what, message.result
        if what == "overview":
            self.look = replace(self.look, overview=result)
        elif what == "trace":
            self.look = replace(self.look, trace=result)
        elif what == "compare":
            self.look = replace(self.look, compared=result)
        elif what == "save":
            self._notice = f"saved {result['bytes']:,} bytes in {result['path']}"
        self._show()

    def action_value(self, identity: str) -> None:
        """Run one of the value screen's commands."""
        self._notice = ""
        if identity == "value_close":
            self.dismiss(None)
        elif identity == "value_worst":
            self._attempt(self._worst)
        else:
            self.query(Prompt).remove()
            given = self._suggestion(identity)
            prompt = Prompt(identity, _QUESTIONS[identity], given)
            self.mount(prompt, before=self._foot)
            self.set_focus(prompt)
        self._show()

    def on_prompt_answered(self, message: Prompt.Answered) -> None:
        """Do what was asked for."""
        message.stop()
        for prompt in self.query(Prompt):
            prompt.remove()
        self.set_focus(self._rows)
        text = (message.text or "").strip()
        if message.text is not None:
            self._attempt(lambda: self._do(message.purpose, text))
        self._show()

    def on_prompt_typed(self, message: Prompt.Typed) -> None:
        """Nothing changes while the person types."""
        message.stop()

    def on_rows_view_chosen(self, message: RowsView.Chosen) -> None:
        """Look at a part, or go to where an element comes from."""
        message.stop()
        key = message.key
        if isinstance(key, Part):
            self.look = replace(self.look, element=key.element, overview=None)
            self._attempt(self._ask_overview)
            self._show()
        elif isinstance(key, Origin):
            opened = self._owner.desk.opened
            self.dismiss(None)
            if opened is not None:
                self._owner.reader.locate(opened, key.instruction, 0, key.computation)

    def on_rows_view_moved(self, message: RowsView.Moved) -> None:
        """What is under the cursor matters to nobody else."""
        message.stop()

    def _do(self, identity: str, text: str) -> None:
        if identity == "value_slice":
            self.look = replace(self.look, slice=text)
            self._ask_overview()
        elif identity == "value_origin" and text:
            index = _numbers(text)
            self._ask(
                {
                    "what": "trace",
                    "value": self.look.value,
                    "element": list(self.look.element),
                    "index": index,
                }
            )
        elif identity == "value_compare" and text:
            self._compare(int(text) if text.isdecimal() else 0)
        elif identity == "value_change" and text:
            self._owner.desk.replays.running.change(self.look.computation, self.look.instruction, text)
        elif identity == "value_save" and text:
            path = text if text.endswith(".npy") else f"{text}.npy"
            self._ask(
                {"what": "save", "value": self.look.value, "element": list(self.look.element), "path": path}
            )

    def _compare(self, number: int) -> None:
        state = self._owner.desk.replays.state
        if state is None or not 0 < number <= len(state.history):
            raise HloTuiError(
                "There is no such stop", f"the history has {len(state.history) if state else 0}"
            )
        stop = state.history[number - 1]
        other = {**self.look.value, "position": stop.event["position"]}
        self.look = replace(self.look, against=f"stop {number}, {iteration_text(stop.event)}".rstrip(", "))
        self._ask({"what": "compare", "value": self.look.value, "other": other})

    def _worst(self) -> None:
        worst = (self.look.overview or {}).get("worst")
        if not worst:
            raise HloTuiError("There is nothing to show")
        index = worst["index"]
        around = [f"{max(0, at - _AROUND)}:{at + _AROUND}" for at in index[-2:]]
        self.look = replace(self.look, slice=", ".join([*map(str, index[:-2]), *around]))
        self._ask_overview()

    def _suggestion(self, identity: str) -> str:
        if identity == "value_slice":
            return self.look.slice
        if identity == "value_save":
            return f"{self.look.instruction}.npy"
        if identity == "value_origin":
            worst = (self.look.overview or {}).get("worst")
            return ", ".join(map(str, worst["index"])) if worst else ""
        if identity == "value_compare":
            return self._stop_before()
        return ""

    def _stop_before(self) -> str:
        state = self._owner.desk.replays.state
        if state is None:
            return ""
        others = [
            at
            for at, stop in enumerate(state.history, 1)
            if stop.instruction == self.look.instruction and at != state.number
        ]
        return str(others[-1]) if others else ""

    def _ask_overview(self) -> None:
        request = self.look.request(self.size.width or 80)
        if request is not None:
            self._ask(request)

    def _ask(self, params: dict[str, Any]) -> None:
        what = str(params["what"])
        self._owner.desk.replays.running.inspect(params, lambda result: self._tell(what, result))

    def _tell(self, what: str, result: dict[str, Any]) -> None:
        self.post_message(Seen(what, result))

    def _attempt(self, act: Callable[[], object]) -> None:
        try:
            act()
        except HloTuiError as error:
            self._notice = "; ".join(part for part in (error.title, error.message, error.hint) if part)

    def _show(self) -> None:
        look, state = self.look, self._owner.desk.replays.state
        width = self.size.width
        self._title.show(rule("Value", True, width))
        self._rows.show(lambda columns: build(look, columns))
        words = self._notice
        if not words and state is not None and state.status == "busy":
            words = status(state, self._owner.now())
        spans = (Span(words, "notice"),) if words else ()
        self._foot.show(footer(self._owner.situation(), spans, width, on="value") if width else Row())


def _where(state: State) -> str:
    if state.current is None:
        return "at the end" if state.at == "end" else ""
    iteration = iteration_text(state.current.event)
    number = f"stop {state.number}" if state.number else "here"
    return f"{number}, {iteration}" if iteration else number


def _numbers(text: str) -> list[int]:
    parts = [part.strip() for part in text.strip("[] ").split(",") if part.strip()]
    if not all(part.isdecimal() for part in parts):
        raise HloTuiError("Not an element", text, "Give its index, such as 3, 17.")
    return [int(part) for part in parts]
