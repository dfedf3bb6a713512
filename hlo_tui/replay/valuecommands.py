"""The commands of a session that are about values: looked at, changed, supplied, computed from other inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hlo_tui.replay.state import Options, State
from hlo_tui.replay.stopspec import StopSpec

Json = dict[str, Any]


class ValueCommands(ABC):
    """What `session.Session` can be asked for besides moving about; all return at once."""

    options: Options
    _state: State
    _position: Json | None
    _changes: list[tuple[Json | None, Json]]

    @abstractmethod
    def _command(self, method: str, params: Json, words: str, then: Callable[[Json], None]) -> None:
        """Send a request, unless something else is under way."""

    @abstractmethod
    def _arrived(self, event: Json) -> None:
        """Take in where the replay stands."""

    @abstractmethod
    def _update(self, **changes: Any) -> None:
        """Make a new state."""

    def ask(self, method: str, params: Json, words: str, then: Callable[[Json], None]) -> None:
        """Ask the worker for something that leaves the replay where it stands.

        Args:
            method: what the worker calls it.
            params: what it needs.
            words: what is being done, while it is.
            then: takes the result, on another thread; it is not called where that fails, which the state's problem
                says.

        Raises:
            HloTuiError: something else is under way.
        """

        def answered(result: Json) -> None:
            self._update(status="standing", activity="", problem=None)
            then(result)

        self._command(method, params, words, answered)

    def look(self, computation: str, instruction: str) -> None:
        """Ask for the value of an instruction on the path to where the replay stands."""
        params = {"computation": computation, "instruction": instruction}
        self._command("value", params, f"computing {instruction}", self._looked)

    def inspect(self, params: Json, then: Callable[[Json], None]) -> None:
        """Look closely at a value; `then` is called with what is seen, on another thread.

        Args:
            params: as `looks.look` takes them: value, what, element, partition, and what the view needs.
            then: takes the result; it is not called where the look fails, which the state's problem says.

        Raises:
            HloTuiError: something else is under way.
        """
        what = params["value"]["instruction"] if "value" in params else "the module"
        self.ask("look", params, f"looking at {what}", then)

    def change(self, computation: str, instruction: str, to: str) -> None:
        """Put another value in the place of a computed one, and go on from there; see `Debugger.change`."""
        params = {"computation": computation, "instruction": instruction, "to": to}
        place = self._position

        def changed(event: Json) -> None:
            self._changes.append((place, params))
            # What comes later has another value now.
            kept = tuple(stop for stop in self._state.history if stop.key < tuple(event["key"]))
            self._update(history=kept, log=(), end=None)
            self._arrived(event)

        self._command("change", params, f"changing {instruction}", changed)

    def change_first(self, spec: StopSpec, to: str, then: Callable[[Json], None]) -> None:
        """Change a value the first time that `spec` holds and begin again; see `Debugger.change_first`.

        `then` gets the event of that moment; it is not called where there is none, which the state's `said` says.

        Raises:
            HloTuiError: something else is under way.
        """
        params = {"spec": spec.to_json(), "to": to}

        def changed(event: Json) -> None:
            if "set" in event:
                self._changes.append((None, params))
                self._update(history=(), log=(), end=None)
            self._arrived(event)
            if "set" in event:
                then(event["set"])

        self._command("change_first", params, f"looking for {spec.text()} to change it", changed)

    def undo_changes(self) -> None:
        """Take all changed values away."""

        def undone(event: Json) -> None:
            self._changes.clear()
            self._update(history=(), log=(), end=None)
            self._arrived(event)

        self._command("undo", {}, "taking the changes away", undone)

    def use_inputs(self, inputs: str, seed: int = 0) -> None:
        """Replay on other inputs from the beginning: "auto", a preset or a file; see `opening.choose_inputs`."""

        def taken(start: Json) -> None:
            self.options = replace(self.options, inputs=inputs, seed=seed)
            self._position = None
            self._changes.clear()
            self._update(
                status="standing", activity="", start=start, at="begin", current=None, number=0, history=(), log=(),
                end=None, values=(), problem=None,
            )  # fmt: skip

        self._command("inputs", {"inputs": inputs, "seed": seed}, f"taking the inputs: {inputs}", taken)

    def supply(self, supplies: tuple[str, ...]) -> None:
        """Give values for what cannot be computed, in the place of those given before.

        Args:
            supplies: in the forms of `supplies.FORMS`.
        """

        def taken(result: Json) -> None:
            self.options = replace(self.options, supplies=supplies)
            self._update(start=result["start"], history=(), log=(), end=None)
            self._arrived(result["at"])

        self._command("supply", {"supplies": list(supplies)}, "taking the supplied values", taken)

    def save_inputs(self, path: str, then: Callable[[Json], None]) -> None:
        """Write the inputs, with the changed values among them, as a .npz; `then` gets its path and size.

        Raises:
            HloTuiError: something else is under way.
        """
        self.ask("save_inputs", {"path": path}, "saving the inputs", then)

    def survey(self, then: Callable[[Json], None]) -> None:
        """Run from the beginning to the end and sum it up; `then` gets what `survey.survey` gives.

        Raises:
            HloTuiError: something else is under way.
        """

        self.ask("survey", {}, "running to the end", then)

    def regrain(self, grain: str) -> None:
        """Compute in another grain from now on, at the same place.

        Raises:
            HloTuiError: something else is under way.
        """

        def arrived(event: Json) -> None:
            self.options = replace(self.options, grain=grain)
            self._arrived(event)

        if self._state.status == "dead":
            # A worker that died of its grain is not to come back in it.
            self.options = replace(self.options, grain=grain)
        self._command("grain", {"grain": grain}, f"computing in {grain} grain", arrived)

    def _looked(self, result: Json) -> None:
        key = (result["computation"], result["instruction"])
        values = tuple(item for item in self._state.values if item[0] != key)
        self._update(status="standing", activity="", values=(*values, (key, result["value"])), problem=None)
