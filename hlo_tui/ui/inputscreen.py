"""The inputs of a replay: looked at, changed, chosen, loaded, saved; and values for what is unknown."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType

from hlo_tui.errors import HloTuiError
from hlo_tui.ui.inputrows import InputsView, Parameter, Preset, Unknown, build
from hlo_tui.ui.messages import Seen
from hlo_tui.ui.opened import Opened
from hlo_tui.ui.panel import Panel, keys_of, words_of
from hlo_tui.ui.rows import Row

if TYPE_CHECKING:
    from hlo_tui.replay.session import State
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.replays import AnySession

_FORMS = "zeros, made, a .npy file, or operand:0 to pass an operand through"


class InputScreen(Panel):
    """Begins a replay where there is none, and stands at its beginning."""

    PANEL = "input_list"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("input_list")

    def __init__(self, app: BaseApp, opened: Opened) -> None:
        super().__init__(app, "Inputs")
        self._opened = opened
        self._unknown: list[dict[str, Any]] | None = None
        self._asked = False
        self._about: Parameter | Unknown | None = None

    @property
    def session(self) -> AnySession:
        """The replay of the open module."""
        return self.owner.desk.replays.of(self._opened.want)

    def build(self, width: int) -> list[Row]:
        """All rows."""
        from hlo_tui.replay.standins import default_path

        replays = self.owner.desk.replays
        state = replays.state
        options = replays.session.options if replays.session is not None else None
        given = options.standins if options is not None else None
        path = Path(given).expanduser() if given else default_path()
        view = InputsView(
            start=state.start if state is not None else None,
            wanted=options.inputs if options is not None else "auto",
            supplies=options.supplies if options is not None else (),
            unknown=self._unknown,
            edited=replays.edited,
            standins=(path, path.is_file()),
            problem=words_of(state.problem) if state is not None and state.problem is not None else "",
        )
        return build(view, width)

    def begin(self) -> None:
        """Start the engine, where it does not run yet."""
        session = self.session
        if session.state.start is None and session.state.status != "busy":
            session.start()
        else:
            self.replay_changed(session.state)

    def replay_changed(self, state: State) -> None:
        """Ask what is unknown, once for each time that something may be."""
        if state.status == "standing" and state.start is not None and not self._asked:
            self._asked = True
            self.session.inspect({"what": "unknown"}, lambda result: self._tell("unknown", result))

    def on_seen(self, message: Seen) -> None:
        """Show what came back."""
        if message.what == "unknown":
            self._unknown = message.result["unknown"]
        elif message.what == "saved":
            self.notice = f"saved {message.result['bytes']:,} bytes in {message.result['path']}"
        self.show()

    def do(self, identity: str) -> None:
        """Run one of the commands."""
        key = self.rows.key
        if identity == "input_list_seed":
            self.ask(identity, "a number", str(self.session.options.seed))
        elif identity == "input_list_load":
            self.ask(identity, "a .npz, .npy or snapshot file to take the inputs from")
        elif identity == "input_list_save":
            self.ask(identity, "where to: a path that ends in .npz", "inputs.npz")
        elif identity == "input_list_edit":
            if not isinstance(key, Parameter):
                raise HloTuiError("Put the cursor on a parameter")
            self._about = key
            self.ask(identity, f"%{key.name}: a number for all elements, finite, or a .npy file")
        elif identity == "input_list_undo":
            self.session.undo_changes()
            self.owner.desk.replays.edited.clear()
        elif identity == "input_list_drop":
            if not isinstance(key, Unknown) or not key.supplied:
                raise HloTuiError("Put the cursor on a supplied value")
            self._supply(key, "")

    def answered(self, purpose: str, text: str) -> None:
        """Do what was asked for."""
        if not text:
            return
        about, options = self._about, self.session.options
        if purpose == "input_list_seed":
            if not text.isdecimal():
                raise HloTuiError("That is no number", text)
            made = options.inputs if options.inputs in _MADE else "made"
            self._begin_on(made, int(text))
        elif purpose == "input_list_load":
            self._begin_on(str(Path(text).expanduser()), options.seed)
        elif purpose == "input_list_save":
            path = text if text.endswith(".npz") else f"{text}.npz"
            self.session.save_inputs(path, lambda result: self._tell("saved", result))
        elif purpose == "input_list_edit" and isinstance(about, Parameter):
            entry = self._opened.module.outline.entry if self._opened.module.outline is not None else None
            self.session.change(entry.name if entry is not None else "", about.name, text)
            self.owner.desk.replays.edited[about.name] = text
        elif purpose == "input_list_supply" and isinstance(about, Unknown):
            self._supply(about, text)

    def chosen(self, key: object) -> None:
        """Begin again on others, look at a parameter, or supply a value."""
        if isinstance(key, Preset):
            self._begin_on(key.name, self.session.options.seed)
        elif isinstance(key, Parameter):
            from hlo_tui.ui.valuescreen import ValueScreen

            outline = self._opened.module.outline
            if outline is not None and outline.entry is not None:
                self.app.push_screen(ValueScreen(self.owner, outline.entry.name, key.name))
        elif isinstance(key, Unknown):
            self._about = key
            self.ask("input_list_supply", f"%{key.instruction}: {_FORMS}", key.supplied)

    def _tell(self, what: str, result: dict[str, Any]) -> None:
        self.post_message(Seen(what, result))

    def _begin_on(self, inputs: str, seed: int) -> None:
        self._asked, self._unknown = False, None
        self.session.use_inputs(inputs, seed)
        self.owner.desk.replays.edited.clear()
        self.notice = "begins again: q goes back to the code, c runs there"

    def _supply(self, about: Unknown, what: str) -> None:
        """Supply a value, in the place of what was supplied before for it; with nothing take it away."""
        name = f"{about.computation}/{about.instruction}"
        others = [one for one in self.session.options.supplies if one.partition("=")[0] != name]
        self._asked, self._unknown = False, None
        self.session.supply((*others, f"{name}={what}") if what else tuple(others))


_MADE = ("made", "ones", "normal", "large", "boundary")
