"""What the commands of the replay do."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hlo_tui.errors import HloTuiError
from hlo_tui.ui.handlers import HANDLERS, answers, does
from hlo_tui.ui.messages import Said
from hlo_tui.ui.opened import Want
from hlo_tui.ui.popups import Popup
from hlo_tui.ui.replayrows import information, off_words

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp


def _move(app: BaseApp, how: str, backward: bool = False) -> None:
    session = app.desk.replays.session
    if session is not None and session.state.status == "busy" and how != "to":
        # The screen has not heard of it yet.
        app.wait_with(f"{how}_back" if backward else how)
        return
    want = what_runs(app, fresh=not backward)
    if how == "continue" and not backward:
        opened = app.desk.opened
        if opened is not None and app.desk.marked != opened.number:
            # Whether there is anything to stop at is not known yet.
            app.desk.later = how
            return
        if _nothing_to_stop_at(app):
            return
    place = target(app) if how == "to" else None
    app.desk.asked = False
    if app.main.pane == "modules" and not app.main.narrow:
        # The keys that come next are meant for the code.
        app.main.go("code")
    app.desk.replays.move(want, how, backward, place)


for _how in ("continue", "next", "step", "finish", "to"):
    HANDLERS[_how] = partial(_move, how=_how)
    HANDLERS[f"{_how}_back"] = partial(_move, how=_how, backward=True)


def what_runs(app: BaseApp, fresh: bool) -> Want:
    """The module that is replayed; that which is open where nothing is, or where it is another one."""
    desk = app.desk
    if desk.replays.want is not None and (desk.opened is None or not fresh):
        return desk.replays.want
    if desk.opened is None:
        raise HloTuiError("Nothing is open")
    return desk.opened.want


def _nothing_to_stop_at(app: BaseApp) -> bool:
    """Whether to say first that a run would go to the end; asked again it goes there."""
    desk, opened = app.desk, app.desk.opened
    if opened is None or desk.asked or desk.replays.is_of(opened):
        return False
    others = any(spec.enabled and spec.kind != "tags" for spec in desk.replays.specs(opened.want))
    if others or desk.marks.tagged - desk.marks.disabled:
        return False
    desk.asked = True
    app.shown.replay()
    if app.desk.lost_tags:
        app.say(f"{app.desk.lost_tags}; c again runs to the end")
    elif desk.marks.tagged:
        app.say(f"{off_words(len(desk.marks.tagged))}, L lists them; c again runs to the end")
    elif app.main.narrow and app.main.pane != "replay":
        app.say("nothing is tagged here: c again runs to the end, 4 says more")
    return True


def target(app: BaseApp) -> tuple[str, str]:
    """The computation and the name of the instruction under the cursor.

    Raises:
        HloTuiError: it is on none.
    """
    found = app.desk.inspection
    if found is None or found.instruction is None:
        raise HloTuiError("The cursor is on no instruction")
    return found.instruction.computation, found.instruction.name


@does("up")
def _up(app: BaseApp) -> None:
    _frame(app, -1)


@does("down")
def _down(app: BaseApp) -> None:
    _frame(app, 1)


def _frame(app: BaseApp, way: int) -> None:
    marks, replays = app.desk.marks, app.desk.replays
    if replays.want is not None and not replays.is_of(app.desk.opened):
        app.open(replace(replays.want, line=-1, computation="", instruction="", beside=None))
        app.main.go("code")
        return
    if marks.standing is None:
        return
    lines = [*marks.frames, marks.standing]
    line = app.main.code.line
    at = lines.index(line) if line in lines else len(lines) - 1 if way < 0 else len(lines) - 2
    if not 0 <= at + way < len(lines):
        app.say("this is the entry" if way < 0 else "this is where the replay stands")
        return
    app.jump(lines[at + way])


@does("value")
def _value(app: BaseApp) -> None:
    from hlo_tui.ui.valuescreen import ValueScreen

    computation, instruction = target(app)
    app.push_screen(ValueScreen(app, computation, instruction))


@does("information")
def _information(app: BaseApp) -> None:
    state = app.desk.replays.state
    if state is not None:
        view = app.desk.replay_view(app.now())
        app.push_screen(Popup(app.paint, "Inputs and engine", lambda width: information(state, view, width)))


@does("whole")
def _whole(app: BaseApp) -> None:
    app.desk.replays.running.regrain("whole")


@does("unit")
def _unit(app: BaseApp) -> None:
    app.desk.replays.running.regrain("unit")


@does("body")
def _body(app: BaseApp) -> None:
    app.desk.replays.running.regrain("body")


@does("undo")
def _undo(app: BaseApp) -> None:
    app.desk.replays.running.undo_changes()


@does("restart")
def _restart(app: BaseApp) -> None:
    session = app.desk.replays.running
    session.use_inputs(session.options.inputs, session.options.seed)
    app.desk.replays.edited.clear()


@does("inputs")
def _inputs(app: BaseApp) -> None:
    from hlo_tui.ui.inputscreen import InputScreen

    if app.desk.opened is not None:
        app.push_screen(InputScreen(app, app.desk.opened))


@does("allow_memory")
def _allow_memory(app: BaseApp) -> None:
    app.desk.replays.allow_memory()
    app.shown.everything(app.situation())
    app.say("a replay may take more than half of the free memory now: c begins it")


@does("save_crash")
def _save_crash(app: BaseApp) -> None:
    app.ask("save_crash", "where to: a new directory, or a .zip", "hlo-tui-crash.zip")


@answers("save_crash")
def _save_crash_answered(app: BaseApp, text: str) -> None:
    if not text.strip():
        return

    def saved(found: dict[str, Any]) -> None:
        again = f"ended with {found['again']}" if found["again"] else "did not end that way"
        app.post_message(Said(f"saved in {found['path']}; its run.py {again} when it was tried"))

    app.desk.replays.running.save_crash(Path(text.strip()).expanduser(), saved)


@does("end_replay")
def _end_replay(app: BaseApp) -> None:
    app.desk.replays.end()
    app.desk.asked = False
    app.mark()
    app.shown.everything(app.situation())


@does("interrupt")
def _interrupt(app: BaseApp) -> None:
    desk = app.desk
    if desk.replays.state is not None and desk.replays.state.status == "busy":
        desk.replays.interrupt()
    elif desk.task:
        app.reader.interrupt()
        desk.task = ""
        app.say("stopped")
    elif desk.leaving:
        app.exit()
    else:
        desk.leaving = True
        app.say("ctrl+c again leaves")
