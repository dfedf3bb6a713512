"""The list of stops over the main screen: switch, edit, delete, go to them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.conditions import parse_condition
from hlo_tui.replay.stopspec import StopSpec, parse_spec
from hlo_tui.ui.opened import Opened
from hlo_tui.ui.panel import Panel, keys_of
from hlo_tui.ui.rows import Row
from hlo_tui.ui.stoprows import AtSpot, OfStop, build, stops_view

if TYPE_CHECKING:
    from hlo_tui.replay.session import State
    from hlo_tui.ui.base import BaseApp

_HITS = " and hits>="


class StopScreen(Panel):
    """Shows the stops of the open module; each change holds at once."""

    PANEL = "stop_list"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("stop_list")

    def __init__(self, app: BaseApp, opened: Opened) -> None:
        super().__init__(app, "Stops")
        self._opened = opened
        self._unfolded: frozenset[StopSpec] = frozenset()
        self._chosen: StopSpec | None = None

    def build(self, _: int) -> list[Row]:
        """All stops."""
        replays, opened = self.owner.desk.replays, self._opened
        state = replays.state if replays.is_of(opened) else None
        view = stops_view(
            replays.specs(opened.want),
            opened.meant,
            state.history if state is not None else (),
            replays.stops.everywhere(opened.want),
            self._unfolded,
            f"{opened.want.title or opened.want.path.name} {opened.want.stage}",
            state.stops if state is not None and state.status != "busy" else None,
        )
        return build(view)

    def begin(self) -> None:
        """Look up what the stops mean, where that is not known."""
        self.owner.mark()

    def marked(self) -> None:
        """What the stops mean is known now."""
        self.show()

    def replay_changed(self, state: State) -> None:
        """A stop may have been met."""

    def chosen(self, key: object) -> None:
        """Go to the instruction; of several list them."""
        if isinstance(key, AtSpot):
            self._go(key.spot.line)
        elif isinstance(key, OfStop):
            meant = self._opened.meant.get(key.spec)
            if meant is None or not meant.spots:
                raise HloTuiError("It is at no one place", key.spec.text())
            if len(meant.spots) == 1:
                self._go(meant.spots[0].line)
            else:
                self.turned(key, -1 if key.spec in self._unfolded else 1)

    def turned(self, key: object, way: int) -> None:
        """List the instructions of a stop, or do not."""
        if isinstance(key, AtSpot | OfStop):
            self._unfolded = self._unfolded | {key.spec} if way > 0 else self._unfolded - {key.spec}

    def do(self, identity: str) -> None:
        """Change the stop under the cursor."""
        if identity == "stop_list_add":
            self.ask(identity, "op:dot, name:mlp.*, line:model.py:88, tag:KEY, %NAME if max>1e4 ...")
            return
        spec = self._under()
        if identity == "stop_list_switch":
            self._switch(spec)
        elif identity == "stop_list_once":
            self._put(spec, replace(spec, once=not spec.once))
        elif identity == "stop_list_ends":
            self._ends(spec)
        elif identity == "stop_list_delete":
            self._delete(spec)
        elif spec.kind == "first" and identity in ("stop_list_condition", "stop_list_hits"):
            raise HloTuiError(
                "It has no condition", "it is one by itself", "e changes the names it leaves out"
            )
        else:
            self._chosen = spec
            condition, _, hits = spec.condition.partition(_HITS)
            if identity == "stop_list_edit":
                self.ask(identity, "the stop, such as op:dot if max>1e4", spec.text(), select=False)
            elif identity == "stop_list_condition":
                self.ask(identity, "nan, inf, abs>1e4, iteration==7 ...; nothing for always", spec.condition)
            else:
                self.ask(identity, "stop from this time on, from 1", hits if condition else "")

    def answered(self, purpose: str, text: str) -> None:
        """Take the stop, the condition or the number that was typed."""
        if purpose == "stop_list_add":
            self._set((*self._own(), *(parse_spec(part) for part in text.split(";") if part.strip())))
            return
        spec = self._chosen
        if spec is None:
            return
        if purpose == "stop_list_edit" and text:
            self._put(spec, replace(parse_spec(text), enabled=spec.enabled))
        elif purpose == "stop_list_condition":
            self._put(spec, replace(spec, condition=parse_condition(text).text if text else ""))
        elif purpose == "stop_list_hits":
            self._put(spec, replace(spec, condition=_with_hits(spec.condition, text)))

    # What is done to the stops.

    def _own(self) -> tuple[StopSpec, ...]:
        return self.owner.desk.replays.stops.own(self._opened.want)

    def _everywhere(self) -> StopSpec | None:
        return self.owner.desk.replays.stops.everywhere(self._opened.want)

    def _under(self) -> StopSpec:
        key = self.rows.key
        if not isinstance(key, AtSpot | OfStop):
            raise HloTuiError("There is no stop under the cursor")
        return key.spec

    def _switch(self, spec: StopSpec) -> None:
        key = self.rows.key
        if isinstance(key, AtSpot) and spec.kind == "tags" and spec.enabled:
            spot = key.spot
            found = self._opened.module.find(spot.instruction, spot.computation)
            anchor = (found.opcode, found.op_name) if found is not None else ("", "")
            stops = self.owner.desk.replays.stops
            stops.toggle(self._opened, spot.computation, spot.instruction, anchor)
            self._set(self._own())
        elif spec == self._everywhere():
            raise HloTuiError("It holds until it is deleted", "d does")
        else:
            self._put(spec, replace(spec, enabled=not spec.enabled))

    def _ends(self, spec: StopSpec) -> None:
        if not spec.has_blocks:
            raise HloTuiError("It has no first and last", "it does not mean operations that come in blocks")
        self._put(spec, replace(spec, ends=not spec.ends))

    def _delete(self, spec: StopSpec) -> None:
        if spec.kind == "tags":
            raise HloTuiError("The tags are the program's", "b switches them off")
        replays = self.owner.desk.replays
        if spec == self._everywhere():
            replays.hunt(self._opened.want, None)
            self.owner.mark()
        else:
            self._set(tuple(one for one in self._own() if one != spec))

    def _put(self, old: StopSpec, new: StopSpec) -> None:
        replays = self.owner.desk.replays
        if old == self._everywhere():
            replays.hunt(self._opened.want, new)
            self.owner.mark()
        else:
            self._unfolded = self._unfolded - {old} | ({new} if old in self._unfolded else set())
            self._set(tuple(new if one == old else one for one in self._own()))
        self.rows.put_cursor(OfStop(new))

    def _set(self, specs: tuple[StopSpec, ...]) -> None:
        try:
            self.owner.desk.replays.set_specs(self._opened.want, specs)
        finally:
            self.owner.mark()
            self.show()

    def _go(self, line: int) -> None:
        self.dismiss(None)
        self.owner.main.go("code")
        self.owner.jump(line)


def _with_hits(condition: str, text: str) -> str:
    """A condition that holds only from a hit on.

    Raises:
        HloTuiError: that is no number.
    """
    if text and not text.isdecimal():
        raise HloTuiError("That is no number", text)
    before, joined, _ = condition.partition(_HITS)
    plain = before.removeprefix("(").removesuffix(")") if joined else condition
    if plain.startswith("hits>="):
        plain = ""
    if not text:
        return plain
    return f"({plain}){_HITS}{text}" if plain else f"hits>={text}"
