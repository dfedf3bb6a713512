"""What a debug session shows: where it stands, what it met, what went wrong. Each change makes a new state."""

from __future__ import annotations

from dataclasses import dataclass, field
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
    """

    key: tuple[int, ...]
    event: Json = field(compare=False)

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
        number: the number of `current` in the history, from 1; 0 where it is a step and no stop.
        history: the stops so far, in order of time.
        log: logged values, in order of time.
        start: the event of the start: inputs, seed, faithful, reasons, devices.
        end: the event of the end, once it was reached.
        specs: what to stop at.
        stops: the instructions that this means: computation, instruction, reason.
        values: summaries of other instructions, looked at from where the replay stands.
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
    values: tuple[tuple[tuple[str, str], Json], ...] = ()
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


def stop_of(event: Json) -> Stop:
    """A worker's event of a stop or a logged value."""
    return Stop(tuple(event["key"]), event)


def read_error(written: Json) -> HloTuiError:
    """The error that a worker sent."""
    kind = EngineError if written.get("exit_code") == EngineError.exit_code else HloTuiError
    return kind(written["title"], written["message"], written["hint"])
