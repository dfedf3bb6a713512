"""What is seen of a moment of a replay, as the messages carry it: where it is, why it stops there, the values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hlo_tui.replay.activestops import ActiveStops
from hlo_tui.replay.fate import follow
from hlo_tui.replay.finite import counts, counts_at, given
from hlo_tui.replay.flags import carriers, flags_of
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.program import APPLIED, trip_count
from hlo_tui.replay.stops import LOG, source_of
from hlo_tui.replay.trips import counted_trips
from hlo_tui.replay.values import compare, find_unknown, replaced, summarize
from hlo_tui.replay.walk import Phase, Position, Spot

if TYPE_CHECKING:
    from hlo_tui.replay.debugger import Debugger

Json = dict[str, Any]

# How many instructions a stop names that carry a NaN or an infinity: what a screen can mark.
MARKED = 2000


class Events:
    """Makes the events of one replay."""

    def __init__(self, debugger: Debugger) -> None:
        self._debugger = debugger

    def at(self, kind: str, spot: Spot, stops: ActiveStops) -> Json:
        """The event of a spot at an instruction: a "stop", where `stops` say why, or a "log"."""
        debugger, frame, index = self._debugger, spot.frame, spot.index
        op = frame.computation.ops[index]
        position = spot.position()
        not_run = spot.waits
        value = None if not_run else debugger.evaluator.value(frame, index)
        event: Json = {
            "event": kind,
            "instruction": op.name,
            "computation": frame.computation.name,
            "path": [{"computation": f.computation.name, "iteration": f.iteration} for f in frame.chain()],
            "trips": self._trips(frame),
            **self._why(kind, frame, index, stops),
            "changes": len(debugger.evaluator.changes.values),
            "application": any(f.parent is not None and f.op.opcode in APPLIED for f in frame.chain()),
            "source": source_of(op, debugger.program.proto.stack_frame_index),
            "partition": None,
            "value": None if not_run else summarize(value),
            "position": written(position),
            "key": list(position.key()),
        }
        if not not_run:
            event |= debugger.beside.consequence(frame, index, value)
            event["supplied"] = debugger.evaluator.supplies.source_of(op)
        if kind == "stop":
            event["watches"] = [self._watched(spot, *place) for place in debugger.watches]
            if stops.origin(spot):
                event["nonfinite"] = self._nonfinite(spot, value, stops)
            # The last: what was computed to be shown is there too.
            event["carriers"] = self._carriers(spot)
        if debugger.topology.devices > 1 and not not_run:
            event["partitions"] = [summarize(value, part) for part in range(debugger.topology.devices)]
        return event

    def end(self, entry: Frame, end: Position, checked: Json) -> Json:
        """The event of the end: outputs, checks, what was unknown."""
        debugger = self._debugger
        outputs = debugger.evaluator.root(entry)
        unknown = debugger.evaluator.unknown
        return {
            "event": "end",
            "outputs": [
                summarize(value) for value in (outputs if isinstance(outputs, tuple) else (outputs,))
            ],
            **debugger.beside.consequence(entry, entry.computation.root, outputs),
            "changes": len(debugger.evaluator.changes.values),
            **checked,
            "unknown": sorted({name for _, name in unknown}),
            "supplied": debugger.evaluator.supplies.listed_used(),
            "reasons": [f"{name}: {reason}" for (_, name), reason in sorted(unknown.items())],
            "carriers": self._carriers(Spot(entry, len(entry.computation))),
            "status": "done" if find_unknown(outputs) is None else "unknown outputs",
            "position": written(end),
            "key": list(end.key()),
        }

    def _watched(self, spot: Spot, computation: str, instruction: str) -> Json:
        """A watched instruction: its value, where it has run on the way to a spot.

        `state` is "here", "later" (it has not run yet in this run of its computation) or "elsewhere".
        """
        found: Json = {
            "computation": computation, "instruction": instruction, "state": "elsewhere", "value": None,
        }  # fmt: skip
        run = spot.run_of(instruction, computation)
        if run is not None:
            frame, index, done = run
            found["state"] = "here" if done else "later"
            if done:
                found["value"] = summarize(self._debugger.evaluator.value(frame, index))
        return found

    def _nonfinite(self, spot: Spot, value: Any, stops: ActiveStops) -> Json:
        """What is known of a value in which a NaN or an infinity begins: its cause and what becomes of it.

        `begins` counts the elements that begin here, `out_of_infinity` says whether a NaN among them is made of one,
        `operands` what those operands hold that are not finite, `given` what it is made of (see `finite.given`),
        `outputs` the elements of it that each output holds at the end; `masked_by` is the first instruction that has
        none of it (see `fate.follow`).
        """
        frame, index = spot.frame, spot.index
        op = frame.computation.ops[index]
        if op.opcode == "parameter":
            cause = "the inputs"
        else:
            cause = "made inputs" if self._debugger.inputs.kind in ("made", "zeros") else "computed"
        fresh = stops.origins.fresh(frame, index)
        operands = {
            frame.computation.ops[operand].name: self._debugger.evaluator.value(frame, operand)
            for operand in op.operands
        }
        held = {name: counts(operand) for name, operand in operands.items()}
        fate = follow(self._debugger.evaluator, frame, index, fresh)
        reaches = bool(fate and fate.outputs) or self._reaches_output(spot, value)
        outputs = fate.outputs if fate is not None else ()
        return {
            "cause": cause,
            "reaches_output": reaches,
            "begins": counts_at(value, fresh),
            "out_of_infinity": stops.origins.out_of_infinity(frame, index, fresh),
            "operands": [{"instruction": name, **of} for name, of in held.items() if any(of.values())],
            "given": given(op, operands, fresh),
            "outputs": [{"output": number, "nan": nan, "inf": inf} for number, nan, inf in outputs],
            "masked_by": (fate.masked_by or None) if fate is not None else None,
        }

    def _reaches_output(self, spot: Spot, value: Any) -> bool:
        """Whether an output that is not finite depends on the elements of a value that are not.

        The rest is run twice, with NaN and with 1 in their place: what does not depend on them comes out the same.
        """
        entry = spot.frame.chain()[0]
        if not flags_of(self._debugger.evaluator.root(entry)).any():
            return False
        with_nan = self._outputs_with(spot, replaced(value, float("nan")))
        with_one = self._outputs_with(spot, replaced(value, 1.0))
        return not compare(with_nan, with_one).exact

    def _outputs_with(self, spot: Spot, value: Any) -> Any:
        """The outputs with another value at a spot, on frames of their own."""
        debugger = self._debugger
        evaluator, before = debugger.evaluator, debugger.evaluator.changes
        evaluator.changes = before.with_value(spot.frame, spot.index, value)
        try:
            return evaluator.root(Frame(debugger.program.entry, debugger.inputs.values))
        finally:
            evaluator.changes = before

    @staticmethod
    def _carriers(spot: Spot) -> list[list[str]]:
        """The instructions (computation, name) on the way to a spot whose value is there and is not finite: `MARKED`
        at most.
        """
        found: list[list[str]] = []
        end = spot.index
        for frame in reversed(spot.frame.chain()):
            name, ops = frame.computation.name, frame.computation.ops
            found += [[name, ops[index].name] for index in carriers(frame, end)]
            end = frame.site
        return found[:MARKED]

    @staticmethod
    def _why(kind: str, frame: Frame, index: int, stops: ActiveStops) -> Json:
        """The reason of an event in words, what asked for it, and whether that was to be done only once."""
        if kind == "log":
            return {"reason": f'{LOG}="{frame.computation.ops[index].attributes[LOG]}"'}
        asked = stops.asked(Spot(frame, index))
        if asked is None:
            return {"reason": ""}
        once = {"once": asked.spec.to_json()} if asked.spec.once else {}
        return {"reason": asked.reason, "spec": asked.spec.text(), **once}

    def _trips(self, frame: Frame) -> int | None:
        """How often the innermost loop runs, where that is known."""
        while frame.iteration is None:
            if frame.parent is None:
                return None
            frame = frame.parent
        assert frame.parent is not None
        loop = self._debugger.evaluator.runs.loop(frame.parent, frame.site)
        if loop.length is not None:
            return loop.length
        written = trip_count(frame.op)
        return counted_trips(frame.op, loop.carries[0]) if written is None else written


def written(position: Position) -> Json:
    """A position as an event carries it."""
    return {
        "path": [list(step) for step in position.path],
        "index": position.index,
        "phase": int(position.phase),
    }


def read_position(written: Json) -> Position:
    """The position that an event carries."""
    path = tuple((int(site), int(ordinal)) for site, ordinal in written["path"])
    return Position(path, int(written["index"]), Phase(written["phase"]))
