"""The replay as the worker holds it: a program, its inputs, where it stands, moves in both directions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.activestops import ActiveStops
from hlo_tui.replay.beside import Beside
from hlo_tui.replay.changes import NO_CHANGES, Changes, replacement
from hlo_tui.replay.checks import Checks
from hlo_tui.replay.collectives import ONE_DEVICE, Topology
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.events import Events, written
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.inputs import Inputs
from hlo_tui.replay.limits import Room
from hlo_tui.replay.program import Computation, Program
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.stops import is_logged, logged, source_of
from hlo_tui.replay.stopspec import INSIDE_FUSIONS, StopSpec, left_out_words
from hlo_tui.replay.supplies import Supplies
from hlo_tui.replay.values import summarize
from hlo_tui.replay.walk import Position, Spot, StopTable, Walker
from hlo_tui.replay.xla import Backend

Json = dict[str, Any]


_FIRST = {
    "nan": "no NaN begins", "inf": "no infinity begins", "nonfinite": "no NaN or infinity begins",
}  # fmt: skip


class Debugger:
    """One replay.

    `on_note` is told what is going on (a line of text), `on_log` gets an event for each logged value that is
    passed.
    """

    def __init__(
        self,
        program: Program,
        inputs: Inputs,
        backend: Backend,
        cache: SliceCache,
        topology: Topology = ONE_DEVICE,
        grain: Grain = Grain.UNIT,
        refused: dict[tuple[str, str], str] | None = None,
        watched: Path = Path(),
    ) -> None:
        self.program = program
        self.watched = watched
        self.inputs = inputs
        self.topology = topology
        self.evaluator = Evaluator(program, backend, cache, topology, grain, refused)
        self.on_log: Callable[[Json], None] = lambda _: None
        self.room = Room()
        self._entry = Frame(program.entry, inputs.values)
        self._stops = ActiveStops(self.evaluator, program)
        self._logged = logged(program)
        self._logged_until: tuple[int, ...] = (-2,)
        self._forward = True
        self._walker = Walker(self.evaluator, self._entry, StopTable(program, self._logged))
        self._walker.accept = self._accept
        self._walker.enters = lambda frame, index: self._stops.enters(frame, index)
        self.watches: list[tuple[str, str]] = []
        self.beside = Beside(self)
        self._events = Events(self)
        self.spot = self._walker.start()
        self.evaluator.keeper.standing = lambda: (self.spot.frame, self.spot.index)
        self._checks = Checks(self.evaluator, inputs, lambda: self.room)

    # Stops.

    def interrupt(self, now: bool) -> None:
        """Stop what is under way at the next instruction, or go on from now on."""
        self.evaluator.interrupted = now
        self.beside.interrupt(now)

    def set_stops(self, specs: list[StopSpec]) -> list[Json]:
        """Stop at these from now on; the instructions that they mean, but for those of "first", which mean
        all.

        Raises:
            HloTuiError: a condition cannot be read.
        """
        self._stops.ask(specs)
        self._retable({})
        return self._stops.listed()

    def _retable(self, extra: dict[int, set[int]]) -> None:
        self._walker.retable(StopTable(self.program, self._stops.positions(self._logged, extra)))
        self._extra = extra

    _extra: dict[int, set[int]]

    def _accept(self, spot: Spot) -> bool:
        computation = spot.frame.computation
        if self._forward and spot.index in self._logged.get(computation.id, ()):
            self._log(spot)
        if spot.index in self._extra.get(computation.id, ()):
            return True
        return self._stops.asked(spot) is not None

    def _log(self, spot: Spot) -> None:
        key = spot.position().key()
        if key > self._logged_until and is_logged(spot.frame.computation.ops[spot.index].attributes):
            self._logged_until = key
            self.on_log(self._events.at("log", spot, self._stops))

    # Moves.

    def move(self, how: str, backward: bool = False, target: tuple[str, str] | None = None) -> Json:
        """Go somewhere and say where that is.

        Args:
            how: "continue", "next", "step", "finish" or "to".
            backward: the same into the past.
            target: for "to": (computation, instruction) to run to.

        Raises:
            HloTuiError: there is no such instruction.
            evaluate.Interrupted: the person asked to stop; the replay stands where it stood.
        """
        self._forward = not backward
        self._stops.forget_passed()
        walker, spot = self._walker, self.spot
        if how == "to":
            found = self._run_to(target, backward)
        else:
            forward_moves = {
                "continue": walker.next_stop,
                "next": walker.next,
                "step": walker.step_in,
                "finish": walker.finish,
            }
            backward_moves = {
                "continue": walker.previous_stop,
                "next": walker.previous,
                "step": walker.step_back_in,
                "finish": walker.finish_back,
            }
            found = (backward_moves if backward else forward_moves)[how](spot)
        if found is None:
            found = walker.start() if backward else walker.end()
        passed = self._stops.passed()
        return self._stand_at(found) | passed

    def _stand_at(self, spot: Spot) -> Json:
        """Stand at a spot and say what is there; where that fails, the replay stands where it stood."""
        with self._or_as_before():
            self.spot = spot
            return self.here()

    @contextmanager
    def _or_as_before(self) -> Iterator[None]:
        """Leave the replay as it is, and where it stands, if what is done fails or the person stops it."""
        evaluator = self.evaluator
        spot, entry, checks, until = self.spot, self._entry, self._checks, self._logged_until
        grain, changes, supplies = evaluator.grain, evaluator.changes, evaluator.supplies
        unknown, done = dict(evaluator.unknown), False
        try:
            yield
            done = True
        finally:
            if not done:
                if evaluator.supplies is not supplies:
                    evaluator.supply(supplies)
                if evaluator.grain is not grain:
                    evaluator.regrain(grain)
                if entry is not self._entry:
                    self.beside.forget()
                    evaluator.unknown = unknown
                evaluator.changes = changes
                self.spot, self._checks, self._logged_until = spot, checks, until
                self._entry = self._walker.entry = entry

    def _run_to(self, target: tuple[str, str] | None, backward: bool) -> Spot | None:
        computation, index = self._locate(target)
        self._retable({computation.id: {index}})
        try:
            return self._walker.previous_stop(self.spot) if backward else self._walker.next_stop(self.spot)
        finally:
            self._retable({})

    def run_until(self, spec: StopSpec, backward: bool = False, begin: bool = False) -> Json:
        """Go to the next moment at which `spec` holds, past all other stops; backward: to the last one; with `begin`
        to the first one of all.

        Where there is none, the replay stays where it stood, and the event is "none", with `words` that say so.

        Raises:
            HloTuiError: the condition cannot be read.
            evaluate.Interrupted: the person asked to stop.
        """
        self._forward = not backward
        before, self._stops = self._stops, ActiveStops(self.evaluator, self.program)
        try:
            self._stops.ask([spec])
            self._retable({})
            start = self._walker.start() if begin else self.spot
            found = (self._walker.previous_stop if backward else self._walker.next_stop)(start)
            if found is None:
                where = "between the beginning and here" if backward else "between here and the end"
                passed = self._stops.passed()
                words = self._none_words(spec, "at all" if begin else where)
                left_out = left_out_words(passed)
                return {"event": "none", "words": f"{words}; {left_out}" if left_out else words, **passed}
            passed = self._stops.passed()
            return self._stand_at(found) | passed
        finally:
            self._stops = before
            self._retable({})

    def _none_words(self, spec: StopSpec, where: str) -> str:
        if spec.kind == "first":
            what = _FIRST[spec.value]
        else:
            what = f"{spec.text()}: not met"
        unknown = len(self.evaluator.unknown)
        words = f"{what} {where}" + (f"; {unknown} values are unknown" if unknown else "")
        return f"{words}; {INSIDE_FUSIONS}" if spec.kind == "first" and self._hides_some() else words

    def _hides_some(self) -> bool:
        """Whether there are fusions, and they are not entered."""
        if self.evaluator.grain is Grain.BODY:
            return False
        return any(op.opcode == "fusion" for c in self.program.reachable() for op in c.ops)

    def _locate(self, target: tuple[str, str] | None) -> tuple[Computation, int]:
        name, instruction = target or ("", "")
        computation = self.program.by_name(name)
        index = None if computation is None else computation.by_name.get(instruction)
        if computation is None or index is None:
            raise HloTuiError(
                "no such instruction", f"{instruction!r} in {name!r} is not in the module that runs"
            )
        return computation, index

    def goto(self, position: Position) -> Json:
        """Stand at a position that was written down.

        Raises:
            HloTuiError: the program does not come there.
        """
        found = self._walker.find(position)
        if found is None:
            raise HloTuiError(
                "the replay does not come there", "a loop or branch on the way goes another way now"
            )
        event = self._stand_at(found)
        self._logged_until = max(self._logged_until, position.key())
        return event

    def regrain(self, grain: Grain) -> Json:
        """Compute in another grain from now on; the replay stays where it is."""
        with self._or_as_before():
            self.evaluator.regrain(grain)
            self._fresh_frames()
            return self.here()

    def supply(self, supplies: Supplies) -> Json:
        """Take what the person gives in the place of what cannot be computed; the replay stays where it is."""
        with self._or_as_before():
            self.evaluator.supply(supplies)
            self._checks = Checks(self.evaluator, self.inputs, lambda: self.room)
            self._fresh_frames()
            return self.here()

    def restart(self) -> None:
        """Stand before the first instruction; what was computed stays."""
        self.spot = self._walker.start()

    def use_inputs(self, inputs: Inputs) -> None:
        """Replay on other inputs from now on, from the beginning; changed values are taken away."""
        self.inputs = inputs
        self.evaluator.changes = NO_CHANGES
        self.evaluator.unknown.clear()
        self.beside.forget()
        self._logged_until = (-2,)
        self._checks = Checks(self.evaluator, inputs, lambda: self.room)
        self._entry = self._walker.entry = Frame(self.program.entry, inputs.values)
        self.spot = self._walker.start()

    # What is seen.

    def here(self) -> Json:
        """The event of where the replay stands: "begin", "stop" or "end"."""
        frame, index = self.spot.frame, self.spot.index
        if frame.parent is None and index < 0:
            return {"event": "begin", "position": written(self.spot.position())}
        if frame.parent is None and index >= len(frame.computation):
            return self.end()
        return self._events.at("stop", self.spot, self._stops)

    def find(self, position: Position) -> Spot | None:
        """The spot of a position; None where the replay does not come there."""
        return self._walker.find(position)

    def locate(
        self, computation: str, instruction: str, position: Position | None = None
    ) -> tuple[Frame, int]:
        """The run of an instruction on the path to where the replay stands, or to another position.

        Raises:
            HloTuiError: no run of its computation is on the path.
        """
        spot = self.spot if position is None else self._walker.find(position)
        run = None if spot is None else spot.run_of(instruction, computation)
        if run is not None:
            return run[:2]
        message = f"{computation} is not being run where the replay stands"
        raise HloTuiError("no value here", message, "run to an instruction of that computation first")

    def value(self, computation: str, instruction: str) -> Json:
        """The summary of any instruction on the path to where the replay stands, computed now if need be.

        Raises:
            HloTuiError: no run of its computation is on the path.
        """
        frame, index = self.locate(computation, instruction)
        ahead = frame is self.spot.frame and index > self.spot.index
        summary = summarize(self.evaluator.value(frame, index))
        return {"computation": computation, "instruction": instruction, "value": summary, "ahead": ahead}

    def where(self, frame: Frame, index: int) -> Json:
        """The position and the Python line of an instruction in a run."""
        source = source_of(frame.computation.ops[index], self.program.proto.stack_frame_index)
        return {"position": written(Spot(frame, index).position()), "source": source}

    # What if.

    def change(self, computation: str, instruction: str, to: str) -> Json:
        """Put another value in the place of a computed one, in the run on the path, and go on from there.

        Args:
            computation: of the instruction.
            instruction: whose value to change.
            to: a number for all elements, "finite" (1 where it is not finite), or a .npy file.

        Raises:
            HloTuiError: no run of it is on the path, or the value does not fit.
        """
        frame, index = self.locate(computation, instruction)
        value = replacement(self.evaluator.value(frame, index), to)
        return self._with_changes(self.evaluator.changes.with_value(frame, index, value))

    def change_first(self, spec: StopSpec, to: str) -> Json:
        """Change the value at the first moment at which a stop holds, and stand at the beginning again.

        The event of the beginning, with the event of that moment as `set`; "none" where there is none.

        Raises:
            HloTuiError: the condition cannot be read, or the value does not fit.
            evaluate.Interrupted: the person asked to stop.
        """
        on_log, self.on_log = self.on_log, lambda _: None
        try:
            with self._or_as_before():
                found = self.run_until(spec, begin=True)
                if found["event"] == "none":
                    return found
                changed = self.change(found["computation"], found["instruction"], to)
        finally:
            # What was logged on the way is logged again with the changed value.
            self.on_log, self._logged_until = on_log, (-2,)
        self.restart()
        return self.here() | {"set": changed}

    def undo_changes(self) -> Json:
        """Take all changed values away."""
        return self._with_changes(NO_CHANGES)

    def _with_changes(self, changes: Changes) -> Json:
        with self._or_as_before():
            self.evaluator.changes = changes
            self._fresh_frames()
            return self.here()

    def _fresh_frames(self) -> None:
        """Forget what was computed; stand at the same position as before."""
        self.beside.forget()
        position = self.spot.position()
        self._entry = self._walker.entry = Frame(self.program.entry, self.inputs.values)
        found = self._walker.find(position)
        self.spot = self._walker.start() if found is None else found

    def end(self) -> Json:
        """The event of the end: outputs, checks, what was unknown."""
        checked = self._checks.report(self.evaluator.root(self._entry))
        return self._events.end(self._entry, self._walker.end().position(), checked)
