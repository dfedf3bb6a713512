"""What the commands do that look for a moment: where a NaN begins, when something holds, an iteration, a stop."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.conditions import parse_condition
from hlo_tui.replay.stopspec import StopSpec, parse_spec
from hlo_tui.ui.foundrows import Partition, chooser_rows
from hlo_tui.ui.handlers import answers, does
from hlo_tui.ui.popups import Popup
from hlo_tui.ui.replaying import target, what_runs
from hlo_tui.ui.replays import key_of

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp

_FINITE = re.compile(r"\bfinite\b")
# As it is shown at a stop, and as a condition has it: whichever way it lies.
_ITERATION = re.compile(r"(?:i(?:teration)?\s*(?:==?)?\s*)?([0-9]{1,18})")


@does("hunt")
def _hunt(app: BaseApp) -> None:
    opened = app.desk.opened
    spec = app.desk.replays.stops.everywhere(opened.want) if opened is not None else None
    hint = "enter runs; or names to leave out here first, as mask|dropout; off: no more"
    app.ask("hunt", hint, spec.detail if spec is not None else "")


@answers("hunt")
def _hunt_answered(app: BaseApp, text: str) -> None:
    replays, text = app.desk.replays, text.strip()
    want = what_runs(app, fresh=True)
    if text == "off":
        replays.hunt(want, None)
        app.mark()
        app.say("NaN and infinity are not stopped at any more")
        return
    spec = parse_spec("first:nonfinite" + (f"!{text}" if text else ""))
    fresh = spec != replays.stops.everywhere(want)
    replays.stops.hold_everywhere(want, spec)
    state = replays.state
    begin = state is not None and (state.at == "end" or fresh) and replays.is_of(app.desk.opened)
    app.desk.asked = False
    replays.of(want).run_until(spec, begin=begin)
    # Only now: the way there is not to wait for it.
    replays.hunt(want, spec)
    app.mark()


@does("moment")
def _moment(app: BaseApp) -> None:
    _ask(app, "moment", "nonfinite")


@does("moment_back")
def _moment_back(app: BaseApp) -> None:
    _ask(app, "moment_back", "finite")


def _ask(app: BaseApp, purpose: str, value: str) -> None:
    _, name = target(app)
    ahead = "next" if purpose == "moment" else "last"
    hint = f"{ahead} time %{name} is nan, finite, max>1e4 ...; or an iteration: 7"
    app.ask(purpose, hint, value)


@answers("moment")
def _moment_answered(app: BaseApp, text: str) -> None:
    _go(app, text.strip(), backward=False)


@answers("moment_back")
def _moment_back_answered(app: BaseApp, text: str) -> None:
    _go(app, text.strip(), backward=True)


def _go(app: BaseApp, text: str, backward: bool) -> None:
    if not text:
        return
    computation, name = target(app)
    state = app.desk.replays.state
    iteration = _ITERATION.fullmatch(text)
    if iteration:
        number = int(iteration[1])
        condition = f"iteration=={number}"
        now = _iteration(app)
        if now is not None:
            backward = number < now or (number == now and backward)
        elif state is not None and state.at == "end":
            backward = True
    elif ":" in text or " if " in text:
        app.desk.replays.of(what_runs(app, fresh=True)).run_until(parse_spec(text), backward)
        return
    else:
        condition = parse_condition(_FINITE.sub("not nonfinite", text)).text
    spec = StopSpec("instruction", name, computation, condition=condition)
    app.desk.replays.of(what_runs(app, fresh=True)).run_until(spec, backward)


def _iteration(app: BaseApp) -> int | None:
    """The iteration of the innermost loop around where the replay stands."""
    state = app.desk.replays.state
    if state is None or state.current is None:
        return None
    found = [step["iteration"] for step in state.current.event["path"] if step.get("iteration") is not None]
    return int(found[-1]) if found else None


@does("partition")
def _partition(app: BaseApp) -> None:
    replays = app.desk.replays
    state = replays.state
    if state is None or state.current is None or not state.current.event.get("partitions"):
        raise HloTuiError("The replay stands at no value", "", "run to a stop first")
    event = state.current.event

    def chosen(key: object) -> None:
        if isinstance(key, Partition):
            replays.partition = key.number
            app.say(f"values are those of partition {key.number} now")
            app.shown.everything(app.situation())

    app.push_screen(Popup(app.paint, "Partitions", lambda _: chooser_rows(event, replays.partition)), chosen)


@does("history")
def _history(app: BaseApp) -> None:
    from hlo_tui.ui.historyscreen import HistoryScreen

    app.push_screen(HistoryScreen(app))


@does("runs")
def _runs(app: BaseApp) -> None:
    from hlo_tui.ui.runscreen import RunScreen

    opened, replays = app.desk.opened, app.desk.replays
    if opened is not None:
        about = (key_of(opened.want), replays.specs(opened.want), replays.grain)
        app.push_screen(RunScreen(app, opened, replays.runs.setdefault(about, {})))


@does("grains")
def _grains(app: BaseApp) -> None:
    from hlo_tui.ui.grainscreen import compare

    compare(app)


@does("watch")
def _watch(app: BaseApp) -> None:
    opened = app.desk.opened
    computation, name = target(app)
    if opened is not None:
        there = app.desk.replays.watch(opened.want, computation, name)
        app.say(f"%{name} is {'shown at each stop' if there else 'no longer shown at each stop'}")
