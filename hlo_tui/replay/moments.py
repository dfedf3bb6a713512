"""Which value is meant: of which instruction, at which moment, computed which way, and which part of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.replay import looking
from hlo_tui.replay.arrayfiles import load
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.events import read_position
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.walk import Position

Json = dict[str, Any]


def located(debugger: Debugger, which: Json) -> tuple[Frame, int]:
    """The run of the instruction that is meant.

    Args:
        debugger: the replay.
        which: "computation" and "instruction" on the path to where the replay stands, or to "position"; with
            "iteration" in that one of the innermost loop around it.

    Raises:
        HloTuiError: there is no such run.
    """
    position = which.get("position")
    frame, index = debugger.locate(
        which["computation"], which["instruction"], None if position is None else read_position(position)
    )
    if which.get("iteration") is None:
        return frame, index
    spot = debugger.find(in_iteration(frame, index, int(which["iteration"])))
    if spot is None:
        raise HloTuiError("no such iteration", f"the loop does not come to iteration {which['iteration']}")
    return spot.frame, spot.index


def in_iteration(frame: Frame, index: int, iteration: int) -> Position:
    """The same place in another iteration of the innermost loop around it.

    Raises:
        HloTuiError: there is no loop around it, or it is no iteration.
    """
    if iteration < 0:
        raise HloTuiError("no such iteration", f"{iteration}: they are counted from 0")
    path = frame.path()
    for depth, one in reversed(list(enumerate(frame.chain()[1:]))):
        if one.iteration is not None:
            # Even runs of a loop are its condition's, odd ones its body's.
            path[depth] = (one.site, 2 * iteration + one.ordinal % 2)
            return Position(tuple(path), index)
    raise HloTuiError("no iterations", f"{frame.computation.name} is in no loop")


def value_of(debugger: Debugger, which: Json) -> Any:
    """The value that is meant.

    Args:
        debugger: the replay.
        which: as `located` takes it; with "grain" computed in that one, with "unchanged" as if the person had
            changed nothing; "element" and "partition" choose one array of it. Or a "file".

    Raises:
        HloTuiError: there is no such value.
    """
    if which.get("file"):
        return load(Path(which["file"]).expanduser())
    frame, index = located(debugger, which)
    if which.get("grain") is not None or which.get("unchanged"):
        grain = Grain(which["grain"]) if which.get("grain") is not None else debugger.evaluator.grain
        position = Position(tuple(frame.path()), index)
        value = debugger.beside.value(position, grain, changed=not which.get("unchanged"))
    else:
        value = debugger.evaluator.value(frame, index)
    if which.get("element") or which.get("partition") is not None:
        return looking.part_of(value, which.get("element") or [], which.get("partition"))
    return value
