"""The same replay computed another way: in another grain, or as if the person had changed no value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo_tui.replay.changes import NO_CHANGES
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.values import compare, summarize
from hlo_tui.replay.walk import Position, StopTable, Walker

if TYPE_CHECKING:
    from hlo_tui.replay.debugger import Debugger

Json = dict[str, Any]


class Beside:
    """Evaluators beside a replay's own, made when they are asked for; compiled slices are shared."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger
        self._walkers: dict[tuple[Grain, bool], Walker] = {}

    def forget(self) -> None:
        """Compute everything again: the inputs, the changes or the supplied values are others now."""
        self._walkers.clear()

    def interrupt(self, now: bool) -> None:
        """Stop what is being computed, or go on computing from now on."""
        for walker in self._walkers.values():
            walker.evaluator.interrupted = now

    def walker(self, grain: Grain, changed: bool) -> Walker:
        """A way through the replay in a grain, with the person's changes or without."""
        found = self._walkers.get((grain, changed))
        if found is None:
            found = self._walkers[grain, changed] = self._made(grain, changed)
        return found

    def _made(self, grain: Grain, changed: bool) -> Walker:
        debugger = self._debugger
        own = debugger.evaluator
        evaluator = Evaluator(
            debugger.program, own.backend, own.cache, own.topology, grain, own.refused
        )  # fmt: skip
        evaluator.at_work(own.board, 1)
        evaluator.supply(own.supplies)
        evaluator.changes = own.changes if changed else NO_CHANGES
        evaluator.drawn = own.drawn
        evaluator.keeper.budget = own.keeper.budget // 4
        entry = Frame(debugger.program.entry, debugger.inputs.values)
        return Walker(evaluator, entry, StopTable(debugger.program, {}))

    def value(self, position: Position, grain: Grain, changed: bool = True) -> Any:
        """The value of the instruction at a position; None where the replay does not come there that way.

        Raises:
            grain.Interrupted: the person asked to stop.
        """
        walker = self.walker(grain, changed)
        spot = walker.find(position)
        return None if spot is None else walker.evaluator.value(spot.frame, spot.index)

    def consequence(self, frame: Frame, index: int, value: Any) -> Json:
        """Whether a value of the replay is another one because of the person's changes, and what it was before.

        Nothing where nothing was changed; else `changed`, and `before` where it is another.
        """
        own = self._debugger.evaluator
        if not own.changes.values:
            return {}
        before = self.value(Position(tuple(frame.path()), index), own.grain, changed=False)
        if before is not None and compare(before, value).exact:
            return {"changed": False}
        return {"changed": True, "before": None if before is None else summarize(before)}
