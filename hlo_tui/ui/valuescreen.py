"""The screen that looks at one value closely."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.stopspec import StopSpec
from hlo_tui.ui.against import FORMS, against, before
from hlo_tui.ui.closely import Closely, Iteration, Origin, Part, build, columns_in
from hlo_tui.ui.messages import Seen
from hlo_tui.ui.panel import Panel, keys_of, words_of
from hlo_tui.ui.rows import Row
from hlo_tui.ui.valuerows import iteration_text

if TYPE_CHECKING:
    from hlo_tui.replay.session import State
    from hlo_tui.ui.base import BaseApp

_AROUND = 8
_QUESTIONS = {
    "value_slice": "which elements, such as  3, 10:20, :  or  ..., 0",
    "value_origin": "which element, such as  3, 17",
    "value_compare": FORMS,
    "value_range": "from and to, such as  -1, 1; what is out of it is marked; nothing for no range",
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
        self._shown: Closely | None = None

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
        replays = self.owner.desk.replays
        partition = replays.partition if replays.devices > 1 else None
        given = state.given_for(self.look.computation, self.look.instruction)
        self.look = replace(
            self.look, where=_where(state), summary=summary, partition=partition, devices=replays.devices,
            given=given,
        )  # fmt: skip
        if summary is None:
            replays.running.look(self.look.computation, self.look.instruction)
        else:
            self._ask_overview()

    def replay_changed(self, state: State) -> None:
        """Take in what the replay knows now; what could not be shown is no longer asked for."""
        if state.status != "busy" and state.problem is not None:
            self.look = replace(self.look, problem=words_of(state.problem))
            if self._shown is not None:
                self.look = replace(self.look, slice=self._shown.slice, start=self._shown.start)
        summary = state.value_of(self.look.computation, self.look.instruction)
        if summary is not None and summary is not self.look.summary:
            self.look = replace(self.look, summary=summary, overview=None, where=_where(state))
            self._ask_overview()

    def on_seen(self, message: Seen) -> None:
        """Show what came back."""
        what, result = message.what, message.result
        if what == "overview":
            self.look = self._shown = replace(self.look, overview=result)
        elif what == "trace":
            self.look = replace(self.look, trace=result)
        elif what == "compare":
            self.look = replace(self.look, compared=result)
        elif what == "outside":
            self.look = replace(self.look, outside=result)
        elif what == "iterations":
            self.look = replace(self.look, iterations=result)
        elif what == "save":
            self.notice = f"saved {result['bytes']:,} bytes in {result['path']}"
        self.show()

    def do(self, identity: str) -> None:
        """Run one of the value screen's commands."""
        if identity == "value_worst":
            self._worst()
        elif identity == "value_iterations":
            self._ask({"what": "iterations", "value": self._which()})
        elif identity == "value_copy":
            self._copy()
        elif identity == "value_partition":
            self._next_partition()
        elif identity in ("value_left", "value_right"):
            self._scroll(-1 if identity == "value_left" else 1)
        else:
            self.ask(identity, _QUESTIONS[identity], self._suggestion(identity))

    def turned(self, key: object, way: int) -> None:  # noqa: ARG002
        """Left and right show other columns."""
        self.attempt(lambda: self._scroll(way))

    def chosen(self, key: object) -> None:
        """Look at a part, or go to where an element comes from."""
        if isinstance(key, Part):
            self.look = replace(self.look, element=key.element, overview=None)
            self._ask_overview()
        elif isinstance(key, Iteration):
            self._go_to(key.number)
        elif isinstance(key, Origin):
            opened = self.owner.desk.opened
            self.dismiss(None)
            if opened is not None:
                self.owner.reader.locate(opened, key.instruction, 0, key.computation)

    def answered(self, purpose: str, text: str) -> None:
        """Do what was asked for."""
        if purpose == "value_slice":
            self.look = replace(self.look, slice=text, start=(0, 0))
            self._ask_overview()
        elif purpose == "value_origin" and text:
            self._ask({"what": "trace", "value": self.look.value, **self._part(), "index": _numbers(text)})
        elif purpose == "value_range":
            self._mark(text)
        elif purpose == "value_compare" and text:
            self._compare(text)
        elif purpose == "value_change" and text:
            self.owner.desk.replays.running.change(self.look.computation, self.look.instruction, text)
        elif purpose == "value_save" and text:
            path = text if text.endswith(".npy") else f"{text}.npy"
            self._ask({"what": "save", "value": self.look.value, **self._part(), "path": path})

    def _part(self) -> dict[str, Any]:
        """Which part of the value is looked at."""
        return {"element": list(self.look.element), "partition": self.look.partition}

    def _which(self) -> dict[str, Any]:
        """The value that is looked at, as it is compared with others."""
        look = self.look
        some = {"element": list(look.element)} if look.element else {}
        return {**look.value, **some, **({} if look.partition is None else {"partition": look.partition})}

    def _compare(self, text: str) -> None:
        state = self.owner.desk.replays.state
        if state is None:
            return
        other = against(text, self.look.instruction, state)
        which = self._which()
        self.look = replace(self.look, against=other.words, compared=None)
        self._ask({"what": "compare", "value": which, "other": {**which, **other.which}})

    def _mark(self, text: str) -> None:
        """Mark what is out of a range."""
        if not text:
            self.look = replace(self.look, limits=None, outside=None)
            return
        try:
            low, high = (float(part) for part in text.split(","))
        except ValueError as error:
            raise HloTuiError("This is no range", text, "Give two numbers, such as -1, 1.") from error
        self.look = replace(self.look, limits=(low, high), outside=None)
        self._ask({"what": "outside", "value": self.look.value, **self._part(), "low": low, "high": high})

    def _copy(self) -> None:
        rows = ((self.look.overview or {}).get("table") or {}).get("rows") or []
        if not rows:
            raise HloTuiError("There is nothing to copy")
        self.app.copy_to_clipboard("".join("\t".join(map(str, line)) + "\n" for line in rows))
        self.notice = f"copied {len(rows):,} × {len(rows[0]):,} elements"

    def _next_partition(self) -> None:
        devices = self.owner.desk.replays.devices
        if self.look.partition is None:
            raise HloTuiError("The module runs on one device")
        self.look = replace(self.look, partition=(self.look.partition + 1) % devices, compared=None)
        self._ask_overview()

    def _scroll(self, way: int) -> None:
        found = (self.look.overview or {}).get("table") or {}
        shape, (row, column) = found.get("shape") or [0], self.look.start
        room = columns_in(self.size.width)
        other = min(max(0, column + way * room), max(0, shape[-1] - room) if shape else 0)
        if other != column:
            self.look = replace(self.look, start=(row, other))
            self._ask_overview()

    def _go_to(self, iteration: int) -> None:
        state, look = self.owner.desk.replays.state, self.look
        now = state.current.event if state is not None and state.current is not None else {"path": []}
        before = [step["iteration"] for step in now["path"] if step.get("iteration") is not None]
        backward = not before or iteration < before[-1]
        spec = StopSpec(
            "instruction", look.instruction, look.computation, condition=f"iteration=={iteration}"
        )
        self.owner.desk.replays.running.run_until(spec, backward)
        self.dismiss(None)

    def _worst(self) -> None:
        worst = (self.look.overview or {}).get("worst")
        if not worst:
            raise HloTuiError("There is nothing to show")
        index = worst["index"]
        around = [f"{max(0, at - _AROUND)}:{at + _AROUND}" for at in index[-2:]]
        self.look = replace(self.look, slice=", ".join([*map(str, index[:-2]), *around]), start=(0, 0))
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
            state = self.owner.desk.replays.state
            stop = before(self.look.instruction, state) if state is not None else None
            return str(stop.number) if stop is not None else ""
        return ""

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
