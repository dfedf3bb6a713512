"""The values that a replay of the whole module hands to a part of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from hlo_tui.cutting.extract import Part
from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.session import Options, Session, State

Json = dict[str, Any]


def save_values(
    part: Part, options: Options, path: Path, on_activity: Callable[[str], None] = lambda _: None
) -> Json:
    """Replay the whole module up to the first run of a part and write down what comes into it.

    Args:
        part: cut out of the module.
        options: how the module is run.
        path: of the .npz.
        on_activity: is told what is being done, on another thread.

    Returns:
        "path", "arrays" and "result": a summary of the value that the instruction has there; None for a computation.

    Raises:
        HloTuiError: the replay never comes there, or the file cannot be written.
        EngineError: XLA cannot run the module, or a value is not known.
    """

    def changed(state: State) -> None:
        if state.activity:
            on_activity(state.activity)

    session = Session(options, changed, ())
    try:
        session.start()
        _checked(session)
        name = part.instruction or part.parameters[0].instruction if part.parameters else part.instruction
        if name:
            session.move("to", target=(part.computation, name))
            state = _checked(session)
            if state.at != "stop":
                where = visible(f"{part.computation}/{name}")
                message = f"a replay of the whole module never comes to {where}"
                raise HloTuiError("no values", message, "leave --values out: the replay makes inputs up")
        answers: list[Json] = []
        params = {
            "what": "parts",
            "path": str(path),
            "parts": [list(asdict(one).values()) for one in part.parameters],
            "result": [part.computation, part.instruction] if part.instruction else None,
        }
        session.ask("look", params, "writing the values", answers.append)
        _checked(session)
        return answers[0]
    finally:
        session.close()


def _checked(session: Session) -> State:
    state = session.wait()
    if state.problem is None:
        return state
    if state.status == "dead" and state.stderr:
        last_words = "\n".join(state.stderr[-3:])
        raise EngineError(state.problem.title, f"{state.problem.message}\n{last_words}")
    raise state.problem
