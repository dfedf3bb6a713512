"""Requests to look closely at values: which value is meant, and what is to be seen of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.replay import looking
from hlo_tui.replay.arrays import Array
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.events import read_position
from hlo_tui.replay.provenance import STEPS, Place, Trace

Json = dict[str, Any]


def look(debugger: Debugger, params: Json) -> Json:
    """Carry out a request.

    Args:
        debugger: the replay.
        params: "value" says which value: computation, instruction, and position for another moment than this;
            "element" which part of a tuple and "partition" whose; "what" names one of the views, with what it
            needs.

    Raises:
        HloTuiError: there is no such value, part or view.
    """
    what = params["what"]
    if what == "compare":
        a, b = _value(debugger, params["value"]), _value(debugger, params["other"])
        return looking.difference(a, b, float(params.get("tolerance", 1e-3)))
    if what == "trace":
        return _trace(debugger, params)
    array = looking.part_of(
        _value(debugger, params["value"]), params.get("element", []), params.get("partition")
    )
    view = _VIEWS.get(what)
    if view is None:
        raise HloTuiError("an unknown view", str(what))
    return view(array, params, debugger)


def _trace(debugger: Debugger, params: Json) -> Json:
    """Where an element comes from: the places from it back to where it begins."""
    which = params["value"]
    position = which.get("position")
    frame, index = debugger.locate(
        which["computation"], which["instruction"], None if position is None else read_position(position)
    )
    trace = Trace(debugger.evaluator, params.get("partition") or 0)
    start = Place(frame, index, tuple(params.get("element", [])), tuple(params["index"]))
    chain = trace.back(start)
    places = [{**trace.describe(place), **debugger.where(place.frame, place.at)} for place in chain]
    return {"places": places, "complete": len(chain) < STEPS}


def _value(debugger: Debugger, which: Json) -> Any:
    position = which.get("position")
    frame, index = debugger.locate(
        which["computation"], which["instruction"], None if position is None else read_position(position)
    )
    return debugger.evaluator.value(frame, index)


def _overview(array: Array, params: Json, _debugger: Debugger) -> Json:
    """All that the value screen shows at once."""
    return {
        "table": looking.table(array, params.get("slice", "")),
        "histogram": looking.histogram(array),
        "heat": looking.heat(array, params.get("rows", 12), params.get("columns", 40)),
        "worst": looking.worst(array),
        "distinct": looking.distinct(array),
        "size": list(array.shape),
    }


def _save(array: Array, params: Json, debugger: Debugger) -> Json:
    return looking.save(array, Path(params["path"]).expanduser(), debugger.watched)


_VIEWS: dict[str, Callable[[Array, Json, Debugger], Json]] = {
    "overview": _overview,
    "table": lambda array, params, _: looking.table(array, params.get("slice", "")),
    "outside": lambda array, params, _: looking.outside(array, float(params["low"]), float(params["high"])),
    "save": _save,
}
