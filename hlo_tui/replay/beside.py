"""The same replay computed another way: in another grain, or as if the person had changed no value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.changes import NO_CHANGES
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.values import compare, summarize
from hlo_tui.replay.walk import Position, Spot, StopTable, Walker

if TYPE_CHECKING:
    from hlo_tui.replay.debugger import Debugger

Json = dict[str, Any]
_E = TypeVar("_E", bound=Evaluator)


class Beside:
    """Evaluators beside a replay's own, made when they are asked for; compiled slices are shared."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._walkers: dict[tuple[Grain, bool], Walker] = {}
        self._running: list[Evaluator] = []

    def forget(self) -> None:
        """Compute everything again: the inputs, the changes or the supplied values are others now."""
        self._walkers.clear()
        self._running.clear()

    def interrupt(self, now: bool) -> None:
        """Stop what is being computed, or go on computing from now on."""
        for evaluator in list(self._running):
            evaluator.interrupted = now

    def evaluator(self, kind: type[_E], grain: Grain, changed: bool = True) -> _E:
        """A fresh evaluator of the replay's program, with the person's changes or without."""
        debugger = self._debugger
        own = debugger.evaluator
        made = kind(debugger.program, own.backend, own.cache, own.topology, grain, own.refused)
        made.at_work(own.board, 1)
        made.supply(own.supplies)
        made.changes = own.changes if changed else NO_CHANGES
        made.drawn = own.drawn
        made.keeper.budget = own.keeper.budget // 4
        self._running.append(made)
        return made

    def entry(self) -> Frame:
        """A fresh frame of the entry, with the replay's inputs."""
        return Frame(self._debugger.program.entry, self._debugger.inputs.values)

    def find(self, position: Position, grain: Grain, changed: bool = True) -> tuple[Evaluator, Spot] | None:
        """A position in the replay that is computed that way; None where it does not come there."""
        walker = self._walkers.get((grain, changed))
        if walker is None:
            evaluator = self.evaluator(Evaluator, grain, changed)
            walker = Walker(evaluator, self.entry(), StopTable(self._debugger.program, {}))
            self._walkers[grain, changed] = walker
        spot = walker.find(position)
        return None if spot is None else (walker.evaluator, spot)

    def value(self, position: Position, grain: Grain, changed: bool = True) -> Any:
        """The value of the instruction at a position.

        Raises:
            HloTuiError: the replay does not come there that way.
            grain.Interrupted: the person asked to stop.
        """
        found = self.find(position, grain, changed)
        if found is None:
            way = f"in {grain} grain" if changed else "without the changes"
            raise HloTuiError("no such moment", f"the replay does not come there {way}")
        evaluator, spot = found
        return evaluator.value(spot.frame, spot.index)

    def consequence(self, frame: Frame, index: int, value: Any) -> Json:
        """Whether a value of the replay is another one because of the person's changes, and what it was before.

        Nothing where nothing was changed; else `changed`, and `before` where it is another.
        """
        own = self._debugger.evaluator
        if not own.changes.values:
            return {}
        found = self.find(Position(tuple(frame.path()), index), own.grain, changed=False)
        if found is None:
            return {"changed": True, "before": None}
        evaluator, spot = found
        before = evaluator.value(spot.frame, spot.index)
        if compare(before, value).exact:
            return {"changed": False}
        return {"changed": True, "before": summarize(before)}
