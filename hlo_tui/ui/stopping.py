"""What the commands do that are about where a replay stops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hlo_tui.replay.stopspec import parse_spec
from hlo_tui.ui.handlers import answers, does
from hlo_tui.ui.replaying import target

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp

_FORMS = "op:dot; name:mlp.*; line:model.py:88; tag:KEY=VALUE@ends; first:nan; op:add@once; NAME if max>1e4"


@does("break")
def _break(app: BaseApp) -> None:
    opened, found = app.desk.opened, app.desk.inspection
    computation, name = target(app)
    if opened is None or found is None or found.instruction is None:
        return
    replays = app.desk.replays
    anchor = (found.instruction.opcode, found.instruction.op_name)
    line = app.main.code.line
    inside = line in app.desk.marks.disabled and any(spec.ends for spec in replays.stops.own(opened.want))
    there = replays.stops.toggle(opened, computation, name, anchor, inside)
    app.say(f"{'stops' if there else 'does not stop'} at %{name}")
    app.mark()
    replays.set_specs(opened.want, replays.stops.own(opened.want))


@does("stops")
def _stops(app: BaseApp) -> None:
    app.ask("stops", _FORMS)


@answers("stops")
def _stops_answered(app: BaseApp, text: str) -> None:
    opened, replays = app.desk.opened, app.desk.replays
    new = tuple(parse_spec(part) for part in text.split(";") if part.strip())
    if opened is None or not new:
        return
    app.desk.doubtful = new
    app.say("stops in this module at " + ", ".join(spec.text() for spec in new))
    app.mark()
    own = replays.stops.own(opened.want)
    try:
        replays.set_specs(opened.want, (*own, *(spec for spec in new if spec not in own)))
    finally:
        app.mark()


def warn(app: BaseApp) -> None:
    """Say of stops that were typed that they mean nothing here, once that is known; and of those that are kept from
    the last session that they hold.
    """
    opened, doubtful = app.desk.opened, app.desk.doubtful
    if opened is not None and app.desk.replays.stops.from_before(opened.want):
        app.say("the stops of the last session hold here: L lists them")
    if opened is None or not doubtful or any(spec not in opened.meant for spec in doubtful):
        return
    app.desk.doubtful = ()
    empty = [spec.text() for spec in doubtful if opened.meant[spec].nothing]
    if empty:
        app.say(f"nothing in this module is {', '.join(empty)}: L lists the stops")


@does("stop_list")
def _stop_list(app: BaseApp) -> None:
    from hlo_tui.ui.stopscreen import StopScreen

    if app.desk.opened is not None:
        app.push_screen(StopScreen(app, app.desk.opened))
