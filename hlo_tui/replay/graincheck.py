"""A module in all grains without a screen: where XLA computes something else when it compiles more at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hlo_tui.errors import EngineError
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.session import Options, Session, State
from hlo_tui.replay.summarywords import number_words

Json = dict[str, Any]


def compare_grains(options: Options, on_activity: Callable[[str], None] = lambda _: None) -> Json:
    """Run a module in each grain and compare its outputs, and each fusion with its instructions.

    Gives `event` "grains", `rows`: by grain the worst of the outputs against body grain, as `comparing.state_of` says
    it; `fusions`: those that differ on the same operands, in order of time; `looked_at`; `tolerance`.

    Raises:
        HloTuiError: the file or the inputs cannot be used.
        EngineError: XLA cannot run it, or the worker died.
    """
    found: list[Json] = []
    last = ""

    def changed(state: State) -> None:
        nonlocal last
        if state.activity not in ("", last):
            last = state.activity
            on_activity(state.activity)

    session = Session(options, changed, ())
    try:
        session.start()
        _checked(session.wait())
        session.inspect({"what": "module"}, found.append)
        _checked(session.wait())
    finally:
        session.close()
    if not found:
        raise EngineError("the grains were not compared", "the engine gave no answer")
    fusions = [{k: v for k, v in one.items() if k != "position"} for one in found[0]["fusions"]]
    return {"event": "grains", **found[0], "fusions": fusions}


def _checked(state: State) -> None:
    if state.problem is not None:
        raise state.problem


def differs(found: Json) -> bool:
    """Whether a grain or a fusion is out of tolerance."""
    return bool(found["fusions"]) or any(row["state"] == "differs" for row in found["rows"])


def words(found: Json) -> str:
    """The result as lines for a person."""
    lines = [f"outputs against body grain, tolerance {number_words(found['tolerance'])}"]
    lines += [f"  {row['grain']:<6} {_state(row)}" for row in found["rows"]]
    count = f"{len(found['fusions'])} of {found['looked_at']}"
    lines.append(f"fusions that compute something else than their instructions: {count}")
    for one in found["fusions"]:
        iteration = "" if one["iteration"] is None else f", iteration {one['iteration']}"
        lines.append(f"  %{one['instruction']} in {one['computation']}{iteration}: {_state(one)}")
    return "\n".join(map(visible, lines))


def _state(row: Json) -> str:
    if "count" not in row:
        return f"{row['state']}: {row.get('why', '')}".rstrip(": ")
    if row["state"] == "equal":
        return "equal, bit for bit"
    error = "NaN on one side" if row["nan_only"] else f"error up to {number_words(row['max_abs'])}"
    return f"{row['state']}, {error}, {row['out']} of {row['count']} elements out"
