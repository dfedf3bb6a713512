"""Where grains differ: one value in each of them, a fusion against its own instructions, a module's outputs."""

from __future__ import annotations

from typing import Any

from hlo_tui.errors import EngineError
from hlo_tui.replay.checks import Checks
from hlo_tui.replay.comparing import Watching, state_of
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.differences import coarseness
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.events import written
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.moments import located
from hlo_tui.replay.program import Op
from hlo_tui.replay.values import find_unknown, summarize, to_numpy
from hlo_tui.replay.walk import Position

Json = dict[str, Any]

# A fusion inside a loop is looked at so many times.
_LOOKS = 2


def value_in_grains(debugger: Debugger, which: Json) -> Json:
    """One value in each grain, against body grain: the reference, in which no optimisation crosses an instruction.

    Gives `rows`, by grain with what `comparing.state_of` says, and for a fusion `alone`: compiled as one against its
    instructions one by one, on the same operands.
    """
    frame, index = located(debugger, which)
    op = frame.computation.ops[index]
    position, beside = Position(tuple(frame.path()), index), debugger.beside
    tolerance = coarseness(debugger.program)
    reference = to_numpy(beside.value(position, Grain.BODY))
    rows = []
    for grain in (Grain.UNIT, Grain.WHOLE):
        value = to_numpy(beside.value(position, grain))
        rows.append({"grain": str(grain), **state_of(reference, value, tolerance), "value": summarize(value)})
    found: Json = {
        "reference": summarize(reference),
        "rows": rows,
        "tolerance": tolerance,
        "opcode": op.opcode,
    }
    if op.opcode == "fusion":
        at = beside.find(position, Grain.UNIT)
        assert at is not None
        unit, spot = at
        body = beside.evaluator(Watching, Grain.BODY)
        value = unit.value(spot.frame, index)
        found["alone"] = state_of(to_numpy(_stepped(body, spot.frame, op)), to_numpy(value), tolerance)
    return found


def _stepped(body: Evaluator, frame: Frame, op: Op) -> Any:
    """A fusion's value from its instructions one by one, on the operands that it has in a frame."""
    called = body.program.computation(op.called[0])
    return body.root(Frame(called, [frame.env[operand] for operand in op.operands]))


def module_in_grains(debugger: Debugger) -> Json:
    """The module's outputs in each grain against body grain, and the fusions that differ from their instructions.

    Gives `rows`, by grain the worst of the outputs; `fusions`, those out of tolerance on the same operands, in order
    of time, each with its position; `looked_at`, how many there were.
    """
    beside, tolerance = debugger.beside, coarseness(debugger.program)
    body = beside.evaluator(Watching, Grain.BODY)
    reference = body.root(beside.entry())
    unit = beside.evaluator(Watching, Grain.UNIT)
    looks: dict[tuple[str, str], int] = {}
    found: dict[tuple[str, str], Json] = {}

    def look(frame: Frame, op: Op, value: Any) -> None:
        key = (frame.computation.name, op.name)
        if op.opcode != "fusion" or looks.get(key, 0) >= _LOOKS or find_unknown(value) is not None:
            return
        looks[key] = looks.get(key, 0) + 1
        state = state_of(to_numpy(_stepped(body, frame, op)), to_numpy(value), tolerance)
        if state["state"] == "differs" and key not in found:
            iterations = [one.iteration for one in frame.chain() if one.iteration is not None]
            found[key] = {
                "computation": key[0],
                "instruction": key[1],
                "position": written(Position(tuple(frame.path()), op.index)),
                "iteration": iterations[-1] if iterations else None,
                **state,
            }

    unit.watch = look
    rows = [
        {"grain": "unit", **state_of(to_numpy(reference), to_numpy(unit.root(beside.entry())), tolerance)}
    ]
    rows.append({"grain": "whole", **_whole(debugger, reference, tolerance)})
    return {"rows": rows, "fusions": list(found.values()), "looked_at": len(looks), "tolerance": tolerance}


def _whole(debugger: Debugger, reference: Any, tolerance: float) -> Json:
    evaluator = debugger.evaluator
    if evaluator.changes.values or evaluator.supplies.used:
        return {
            "state": "unknown",
            "why": "values were changed or supplied: the whole module does not take them",
        }
    try:
        whole = Checks(evaluator, debugger.inputs).run_whole()
    except (Cannot, EngineError) as error:
        return {"state": "unknown", "why": " ".join(str(error).splitlines())}
    return state_of(to_numpy(reference), to_numpy(whole), tolerance)
