"""The values that come into a part of a module, written down as inputs of that part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.replay.arrays import Array, write_npz
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.moments import located
from hlo_tui.replay.values import Unknown, find_unknown, summarize
from hlo_tui.replay.xla import Replicated

Json = dict[str, Any]


def save_parts(debugger: Debugger, params: Json) -> Json:
    """Write values of the run on the path to where the replay stands as a .npz that a replay takes.

    What every device has its own of is written with a leading axis over the devices.

    Args:
        debugger: the replay.
        params: "parts" are `cutting.extract.LiveIn`s: name, computation, instruction, element; "path" the file;
            "result" the computation and instruction whose value is told as well, or None.

    Returns:
        "path", "arrays", and "result": a summary of that value, None where none was asked for.

    Raises:
        HloTuiError: no run of a computation is on the path, or the file cannot be written.
        EngineError: a value is not known.
    """
    path = Path(params["path"]).expanduser()
    stored = {name: _array(debugger, *rest) for name, *rest in params["parts"]}
    result = None
    if params["result"] is not None:
        result = summarize(_value(debugger, *params["result"]))
    try:
        write_npz(path, stored)
    except OSError as error:
        raise HloTuiError("the values were not saved", f"{path}: {error.strerror}") from error
    return {"path": str(path), "arrays": len(stored), "result": result}


def _value(debugger: Debugger, computation: str, instruction: str) -> Any:
    frame, index = located(debugger, {"computation": computation, "instruction": instruction})
    return debugger.evaluator.value(frame, index)


def _array(debugger: Debugger, computation: str, instruction: str, element: list[int]) -> Array:
    value = _value(debugger, computation, instruction)
    for position in element:
        if isinstance(value, Unknown):
            break
        value = value[position]
    unknown = find_unknown(value)
    if unknown is not None:
        raise EngineError("a value is unknown", f"%{instruction}: {unknown.reason}")
    if isinstance(value, Replicated):
        return np.stack([np.asarray(part) for part in value.parts])
    return np.asarray(value)
