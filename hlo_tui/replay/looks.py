"""Requests to look closely at values: which value is meant, and what is to be seen of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.replay import looking
from hlo_tui.replay.arrayfiles import comparable
from hlo_tui.replay.arrays import Array, shape_text
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.grains import module_in_grains, value_in_grains
from hlo_tui.replay.livein import save_parts
from hlo_tui.replay.moments import in_iteration, located, value_of
from hlo_tui.replay.provenance import STEPS, Place, Trace
from hlo_tui.replay.slicing import parse_slice
from hlo_tui.replay.there import check, shown, there
from hlo_tui.replay.values import leaves, summarize

Json = dict[str, Any]

# How many iterations of a loop are shown at most.
_ITERATIONS = 240


def look(debugger: Debugger, params: Json) -> Json:
    """Carry out a request.

    Args:
        debugger: the replay.
        params: "what" names one of the views, with what it needs; "value" says which value, as `moments.value_of`
            takes it; "element" which part of a tuple and "partition" whose.

    Raises:
        HloTuiError: there is no such value, part or view.
    """
    what = params["what"]
    wide = _WIDE.get(what)
    if wide is not None:
        return wide(debugger, params)
    array = looking.part_of(
        value_of(debugger, params["value"]), params.get("element", []), params.get("partition")
    )
    view = _VIEWS.get(what)
    if view is None:
        raise HloTuiError("an unknown view", str(what))
    return view(array, params, debugger)


def _trace(debugger: Debugger, params: Json) -> Json:
    """Where an element comes from: the places from it back to where it begins."""
    frame, index = located(debugger, params["value"])
    trace = Trace(debugger.evaluator, params.get("partition") or 0)
    start = Place(frame, index, tuple(params.get("element", [])), tuple(params["index"]))
    chain = trace.back(start)
    places = [{**trace.describe(place), **debugger.where(place.frame, place.at)} for place in chain]
    return {"places": places, "complete": len(chain) < STEPS}


def _compare(debugger: Debugger, params: Json) -> Json:
    a, b = value_of(debugger, params["value"]), value_of(debugger, params["other"])
    if params["other"].get("file"):
        b = comparable(b, next((one.dtype for one in leaves(a)), b.dtype), params["other"]["file"])
    return looking.difference(a, b, float(params.get("tolerance", 1e-3)))


def _iterations(debugger: Debugger, params: Json) -> Json:
    """A value in the iterations of the innermost loop around it: all, or as many as can be shown, evenly."""
    which = params["value"]
    frame, index = located(debugger, which)
    in_iteration(frame, index, 0)
    loop = next(one for one in reversed(frame.chain()) if one.iteration is not None)
    assert loop.parent is not None
    length = debugger.evaluator.runs.loop_length(loop.parent, loop.site)
    rows = []
    for iteration in range(0, length, max(1, math.ceil(length / _ITERATIONS))):
        value = value_of(debugger, {**which, "iteration": iteration})
        rows.append({"iteration": iteration, "value": summarize(value)})
    return {"rows": rows, "length": length}


def _unknown(debugger: Debugger, _: Json) -> Json:
    """The instructions whose values could not be computed so far, and why, in the program's order."""
    unknown = debugger.evaluator.unknown
    return {
        "unknown": [
            {
                "computation": computation.name,
                "instruction": op.name,
                "opcode": op.opcode,
                "target": op.proto.custom_call_target,
                "shape": shape_text(op.proto.shape),
                "operands": len(op.operands),
                "reason": unknown[computation.name, op.name],
            }
            for computation in reversed(list(debugger.program.reachable()))
            for op in computation.ops
            if (computation.name, op.name) in unknown
        ]
    }


def _overview(array: Array, params: Json, _debugger: Debugger) -> Json:
    """All that the value screen shows at once."""
    return {
        "table": looking.table(array, params.get("slice", ""), tuple(params.get("start", (0, 0)))),
        "histogram": looking.histogram(array),
        "heat": looking.heat(array, params.get("rows", 12), params.get("columns", 40)),
        "worst": looking.worst(array),
        "distinct": looking.distinct(array),
        "size": list(array.shape),
        "summary": summarize(array),
    }


def _save(array: Array, params: Json, debugger: Debugger) -> Json:
    array = array[parse_slice(params.get("slice", ""), array.shape)]
    return looking.save(array, Path(params["path"]).expanduser(), debugger.watched)


# What is about other things than one array.
_WIDE: dict[str, Callable[[Debugger, Json], Json]] = {
    "compare": _compare,
    "trace": _trace,
    "iterations": _iterations,
    "grains": lambda debugger, params: value_in_grains(debugger, params["value"]),
    "module": lambda debugger, _: module_in_grains(debugger),
    "unknown": _unknown,
    "parts": save_parts,
    "check": check,
    "there": there,
    "shown": shown,
}

_VIEWS: dict[str, Callable[[Array, Json, Debugger], Json]] = {
    "overview": _overview,
    "table": lambda array, params, _: looking.table(array, params.get("slice", "")),
    "outside": lambda array, params, _: looking.outside(array, float(params["low"]), float(params["high"])),
    "save": _save,
    "worst": lambda array, _params, _debugger: {"worst": looking.worst(array)},
}
