"""The screen that looks at one value closely."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType

from hlo_tui.errors import HloTuiError
from hlo_tui.ui.closely import Closely, Origin, Part, build
from hlo_tui.ui.messages import Seen
from hlo_tui.ui.panel import Panel, keys_of
from hlo_tui.ui.rows import Row
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


class ValueScreen(Panel):
    """Asks for the value, then for what is to be seen of it, and shows both."""

    PANEL = "value"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("value")

    def __init__(self, app: BaseApp, computation: str, instruction: str) -> None:
        super().__init__(app, "Value")
        self.look = Closely(computation, instruction)

    def build(self, width: int) -> list[Row]:
        """The value as far as it is known."""
        return build(self.look, width)

    def begin(self) -> None:
        """Ask for the value, unless it is known already."""
        state = self.owner.desk.replays.state
        if state is not None:
            self._begin(state)

    def _begin(self, state: State) -> None:
        summary = state.value_of(self.look.computation, self.look.instruction)
        self.look = replace(self.look, where=_where(state), summary=summary)
        if summary is None:
            self.owner.desk.replays.running.look(self.look.computation, self.look.instruction)
        else:
            self._ask_overview()

    def replay_changed(self, state: State) -> None:
        """Take in what the replay knows now."""
        summary = state.value_of(self.look.computation, self.look.instruction)
        if summary is not None and summary is not self.look.summary:
            self.look = replace(self.look, summary=summary, overview=None, where=_where(state))
            self._ask_overview()

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
            self.notice = f"saved {result['bytes']:,} bytes in {result['path']}"
        self.show()

    def do(self, identity: str) -> None:
        """Run one of the value screen's commands."""
        if identity == "value_worst":
            self._worst()
        else:
            self.ask(identity, _QUESTIONS[identity], self._suggestion(identity))

    def chosen(self, key: object) -> None:
        """Look at a part, or go to where an element comes from."""
        if isinstance(key, Part):
            self.look = replace(self.look, element=key.element, overview=None)
            self._ask_overview()
        elif isinstance(key, Origin):
            opened = self.owner.desk.opened
            self.dismiss(None)
            if opened is not None:
                self.owner.reader.locate(opened, key.instruction, 0, key.computation)

    def answered(self, purpose: str, text: str) -> None:
        """Do what was asked for."""
        if purpose == "value_slice":
            self.look = replace(self.look, slice=text)
            self._ask_overview()
        elif purpose == "value_origin" and text:
            index = _numbers(text)
            self._ask(
                {
                    "what": "trace",
                    "value": self.look.value,
                    "element": list(self.look.element),
                    "index": index,
                }
            )
        elif purpose == "value_compare" and text:
            self._compare(int(text) if text.isdecimal() else 0)
        elif purpose == "value_change" and text:
            self.owner.desk.replays.running.change(self.look.computation, self.look.instruction, text)
        elif purpose == "value_save" and text:
            path = text if text.endswith(".npy") else f"{text}.npy"
            self._ask(
                {"what": "save", "value": self.look.value, "element": list(self.look.element), "path": path}
            )

    def _compare(self, number: int) -> None:
        state = self.owner.desk.replays.state
        stop = self.owner.desk.replays.stop(number)
        if state is None or stop is None:
            raise HloTuiError(
                "There is no such stop", f"the history has {len(state.history) if state else 0}"
            )
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
        state = self.owner.desk.replays.state
        if state is None:
            return ""
        others = [
            stop.number
            for stop in state.history
            if stop.instruction == self.look.instruction and stop.number != state.number
        ]
        return str(others[-1]) if others else ""

    def _ask_overview(self) -> None:
        request = self.look.request(self.size.width or 80)
        if request is not None:
            self._ask(request)

    def _ask(self, params: dict[str, Any]) -> None:
        what = str(params["what"])
        self.owner.desk.replays.running.inspect(params, lambda result: self._tell(what, result))

    def _tell(self, what: str, result: dict[str, Any]) -> None:
        self.post_message(Seen(what, result))


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
