"""What a debug session shows: where it stands, what it met, what went wrong. Each change makes a new state."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.replay.stopspec import TAGS, StopSpec

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """How a module is to be run.

    Attributes:
        path: the file.
        member: which module, where the file holds several.
        inputs: "auto", "made", "zeros" or a file.
        seed: for made inputs.
        grain: "whole", "unit" or "body".
        platform: a PJRT platform; the CPU unless asked for in words.
        supplies: values for what cannot be computed, in the forms of `supplies.FORMS`.
        standins: the person's file of stand-ins; None for the one in their configuration.
        allow_memory: whether to run what needs more than half of the free memory.
        memory_limit: bytes that the worker may hold; None for as much as is free.
        time_limit: seconds that one command may take; None for any time.
    """

    path: Path
    member: str | None = None
    inputs: str = "auto"
    seed: int = 0
    grain: str = "unit"
    platform: str = "cpu"
    supplies: tuple[str, ...] = ()
    standins: str | None = None
    allow_memory: bool = False
    memory_limit: int | None = None
    time_limit: float | None = None


@dataclass(frozen=True, slots=True, order=True)
class Stop:
    """A place where the replay stood; sorts by time.

    Attributes:
        key: the moment, comparable with others of the same replay.
        event: the worker's event: instruction, computation, path, trips, reason, value, position, partitions.
        number: what a person calls it by: the how manieth it was to be met, from 1; 0 for a step that is no stop.
    """

    key: tuple[int, ...]
    event: Json = field(compare=False)
    number: int = field(default=0, compare=False)

    @property
    def instruction(self) -> str:
        """The instruction's name."""
        return str(self.event["instruction"])

    @property
    def computation(self) -> str:
        """The name of its computation."""
        return str(self.event["computation"])

    @property
    def summary(self) -> Json | None:
        """The value's summary; None where it has not run yet."""
        value: Json | None = self.event["value"]
        return value


@dataclass(frozen=True, slots=True)
class State:
    """Everything about a session that can be shown; each change makes a new one.

    Attributes:
        status: "off", "busy", "standing", "dead" (the worker died; the next command starts it again) or
            "failed".
        activity: what is being done, in words; empty when nothing is.
        since: when the activity began, by time.monotonic().
        at: "begin", "stop" or "end": where the replay stands.
        current: the stop or step it stands on, for "stop".
        number: the number of `current`; 0 where it is a step and no stop.
        history: the stops so far, in order of time.
        log: logged values, in order of time.
        start: the event of the start: inputs, seed, faithful, reasons, devices.
        end: the event of the end, once it was reached.
        specs: what to stop at.
        stops: the instructions that this means: computation, instruction, reason.
        watches: the instructions, by computation and name, whose values each stop carries.
        values: summaries of other instructions, looked at from where the replay stands.
        said: what the last command found, where it led nowhere and nothing went wrong.
        problem: what went wrong last.
        stderr: the worker's last lines, after its death.
    """

    status: str = "off"
    activity: str = ""
    since: float = 0.0
    at: str = "begin"
    current: Stop | None = None
    number: int = 0
    history: tuple[Stop, ...] = ()
    log: tuple[Stop, ...] = ()
    start: Json | None = None
    end: Json | None = None
    specs: tuple[StopSpec, ...] = (TAGS,)
    stops: tuple[Json, ...] = ()
    watches: tuple[tuple[str, str], ...] = ()
    values: tuple[tuple[tuple[str, str], Json], ...] = ()
    said: str = ""
    problem: HloTuiError | None = None
    stderr: tuple[str, ...] = ()

    def value_of(self, computation: str, instruction: str) -> Json | None:
        """The summary of an instruction where it is known: of the current one, or one that was asked for."""
        if self.current is not None and (self.current.computation, self.current.instruction) == (
            computation,
            instruction,
        ):
            return self.current.summary
        return dict(self.values).get((computation, instruction))

    def given_for(self, computation: str, instruction: str) -> Json | None:
        """What is given for an instruction that is not computed; see `Supplies.listed`."""
        given = (self.start or {}).get("supplied") or ()
        place = (computation, instruction)
        return next((one for one in given if (one["computation"], one["instruction"]) == place), None)


def stop_of(event: Json) -> Stop:
    """A worker's event of a stop or a logged value."""
    return Stop(tuple(event["key"]), event)


def met(history: tuple[Stop, ...], stop: Stop) -> tuple[tuple[Stop, ...], Stop]:
    """Take in where the replay stands: the history with it, in order of time, and the stop with its number.

    A stop that was met before keeps its number, and why it was one. A step to an instruction that is no stop leaves
    the history as it is.
    """
    place = bisect_left(history, stop)
    known = history[place] if place < len(history) and history[place].key == stop.key else None
    if known is None and not stop.event["reason"]:
        return history, stop
    if known is None:
        stop = replace(stop, number=1 + max((one.number for one in history), default=0))
        return (*history[:place], _light(stop), *history[place:]), stop
    kept = _WHY if not stop.event["reason"] else ()
    event = {**stop.event, **{name: known.event[name] for name in kept if name in known.event}}
    stop = Stop(stop.key, event, known.number)
    return (*history[:place], _light(stop), *history[place + 1 :]), stop


def _light(stop: Stop) -> Stop:
    """A stop as a history keeps it: what is marked while the replay stands there comes anew with it."""
    return replace(stop, event={name: held for name, held in stop.event.items() if name != "carriers"})


_WHY = ("reason", "spec", "nonfinite")


def read_error(written: Json) -> HloTuiError:
    """The error that a worker sent."""
    kind = EngineError if written.get("exit_code") == EngineError.exit_code else HloTuiError
    return kind(written["title"], written["message"], written["hint"])
