"""Whether a value that is asked for by name is there where the replay stands, and whether it can be there at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import looking
from hlo_tui.replay.arrays import shape_text
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.program import Op
from hlo_tui.replay.slicing import parse_slice
from hlo_tui.replay.values import Unknown, find_unknown, summarize
from hlo_tui.replay.walk import Spot

Json = dict[str, Any]


def check(debugger: Debugger, params: Json) -> Json:
    """Refuse what can be nowhere in the module: `value` as a name, `element` and `slice` of it; with `array` also what
    is none. Nothing may be written to `path`, where there is one, if that is in the watched directory.

    Raises:
        HloTuiError: no instruction has the name, it has no such part, or the path is no place to write to.
    """
    which = params["value"]
    if "path" in params:
        looking.outside_of(Path(params["path"]).expanduser(), debugger.watched)
    ops = _named(debugger, which)
    for op in ops:
        shape = _part(op, params.get("element", []))
        if shape.tuple_shapes and (params.get("array") or params.get("slice") is not None):
            hint = f"choose one of its elements: {op.name}{{0}}"
            raise HloTuiError(f"%{op.name} is a tuple", shape_text(shape), hint)
        if params.get("slice") is not None:
            parse_slice(params["slice"], tuple(shape.dimensions))
    return {"places": [[op.computation.name, op.name] for op in ops]}


def _named(debugger: Debugger, which: Json) -> list[Op]:
    computation, name = which["computation"], which["instruction"]
    ops = [
        one.ops[one.by_name[name]]
        for one in debugger.program.reachable()
        if name in one.by_name and computation in ("", one.name)
    ]
    if not ops:
        place = f"{computation}/{name}" if computation else name
        message = f"no instruction that can run is called {place}"
        raise HloTuiError(
            "no such instruction", message, "hlo-tui show FILE lists them; hlo-tui grep finds them"
        )
    return ops


def _part(op: Op, element: list[int]) -> pb.ShapeProto:
    shape = op.proto.shape
    for position in element:
        if not 0 <= position < len(shape.tuple_shapes):
            raise HloTuiError("no such element", f"%{op.name} is {shape_text(op.proto.shape)}")
        shape = shape.tuple_shapes[position]
    return shape


def there(debugger: Debugger, params: Json) -> Json:
    """Where a value is: `state` is "here", "later" (in this run of its computation), or "elsewhere".

    With it its `computation`, the `path` of that run, and the `position` and `key` of the moment.
    """
    found = _run_of(debugger, params["value"])
    if found is None:
        return {"state": "elsewhere"}
    frame, index, ran = found
    spot = Spot(frame, index)
    return {
        "state": "here" if ran else "later",
        "computation": frame.computation.name,
        "path": [{"computation": f.computation.name, "iteration": f.iteration} for f in frame.chain()],
        "key": list(spot.position().key()),
        **debugger.where(frame, index),
    }


def _run_of(debugger: Debugger, which: Json) -> tuple[Frame, int, bool] | None:
    return debugger.spot.run_of(which["instruction"], which["computation"])


def shown(debugger: Debugger, params: Json) -> Json:
    """What of a value that is there is shown: its summary, and of a slice the elements.

    Raises:
        HloTuiError: it is not there, or has no such part.
    """
    found = _run_of(debugger, params["value"])
    if found is None or not found[2]:
        raise HloTuiError(
            "no value here", f"{params['value']['instruction']} has not run where the replay stands"
        )
    frame, index, _ = found
    value = debugger.evaluator.value(frame, index)
    for position in params.get("element", []):
        if not isinstance(value, tuple):
            break
        value = value[position]
    partition = params.get("partition")
    answer: Json = {"value": summarize(value, partition)}
    if params.get("slice") is None or isinstance(value, Unknown) or find_unknown(value) is not None:
        return answer
    array = looking.part_of(value, [], partition)
    return {
        **answer,
        "table": looking.table(array, params["slice"]),
        "worst": looking.worst(array),
        "histogram": looking.histogram(array),
        "distinct": looking.distinct(array),
    }
