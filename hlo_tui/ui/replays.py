"""The one replay that runs beside the screen: which file it is of, and its newest state."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from hlo_tui.errors import HloTuiError
from hlo_tui.ui.opened import Opened, Want
from hlo_tui.ui.wantedstops import WantedStops

if TYPE_CHECKING:
    from hlo_tui.replay.executions import Execution
    from hlo_tui.replay.reproducer import Crash
    from hlo_tui.replay.session import Options, State, Stop
    from hlo_tui.replay.stopspec import StopSpec

Key = tuple[Path, str | None]
OnChange = Callable[["State"], None]


class AnySession(Protocol):
    """What is used of `replay.session.Session`."""

    options: Options

    @property
    def state(self) -> State: ...
    @property
    def crash(self) -> Crash | None: ...
    def save_crash(self, target: Path, then: Callable[[dict[str, Any]], None]) -> None: ...
    def start(self) -> None: ...
    def move(self, how: str, backward: bool = False, target: tuple[str, str] | None = None) -> None: ...
    def run_until(self, spec: StopSpec, backward: bool = False, begin: bool = False) -> None: ...
    def goto(self, stop: Stop) -> None: ...
    def set_specs(self, specs: tuple[StopSpec, ...]) -> None: ...
    def set_watches(self, watches: tuple[tuple[str, str], ...]) -> None: ...
    def look(self, computation: str, instruction: str) -> None: ...
    def inspect(self, params: dict[str, Any], then: Callable[[dict[str, Any]], None]) -> None: ...
    def change(self, computation: str, instruction: str, to: str) -> None: ...
    def undo_changes(self) -> None: ...
    def use_inputs(self, inputs: str, seed: int = 0) -> None: ...
    def supply(self, supplies: tuple[str, ...]) -> None: ...
    def save_inputs(self, path: str, then: Callable[[dict[str, Any]], None]) -> None: ...
    def regrain(self, grain: str) -> None: ...
    def interrupt(self) -> None: ...
    def close(self) -> None: ...


MakeSession = Callable[["Options", OnChange, "tuple[StopSpec, ...]"], AnySession]


@dataclass(frozen=True, slots=True)
class ReplayOptions:
    """How modules are to be run; see `replay.session.Options`."""

    inputs: str = "auto"
    seed: int = 0
    grain: str = "unit"
    platform: str = "cpu"
    allow_memory: bool = False


def key_of(want: Want) -> Key:
    """What tells one module from another."""
    return want.path, want.member


def make_session(options: Options, on_change: OnChange, specs: tuple[StopSpec, ...]) -> AnySession:
    """A session with a worker of its own."""
    from hlo_tui.replay.session import Session

    return Session(options, on_change, specs)


class Replays:
    """At most one session at a time.

    Attributes:
        stops: what to stop at in each module.
        session: the one that is under way.
        state: its newest state.
        want: what is replayed.
        partition: whose values are shown, of those that each device has its own of.
        edited: what the person put in the place of parameters, by name.
        runs: what is known of recorded runs, by what they were looked at with.
    """

    def __init__(
        self,
        options: ReplayOptions,
        tell: Callable[[AnySession, State], object],
        make: MakeSession = make_session,
        stops: WantedStops | None = None,
    ) -> None:
        self._options = options
        self._tell = tell
        self._make = make
        self.stops = stops or WantedStops()
        self.session: AnySession | None = None
        self.state: State | None = None
        self.want: Want | None = None
        self.partition = 0
        self.edited: dict[str, str] = {}
        self.runs: dict[Hashable, dict[Path, Execution]] = {}
        self._watches: dict[Key, tuple[tuple[str, str], ...]] = {}

    @property
    def devices(self) -> int:
        """On how many devices it runs."""
        start = self.state.start if self.state is not None else None
        return int(start.get("devices") or 1) if start is not None else 1

    @property
    def crashed(self) -> bool:
        """Whether XLA ended the engine, and what it died of can be saved."""
        return self.session is not None and self.session.crash is not None

    @property
    def grain(self) -> str:
        """In which the replay computes."""
        return self.session.options.grain if self.session is not None else self._options.grain

    def is_of(self, opened: Opened | None) -> bool:
        """Whether the replay is of this file."""
        return opened is not None and self.want is not None and key_of(self.want) == key_of(opened.want)

    def specs(self, want: Want) -> tuple[StopSpec, ...]:
        """What to stop at in a module."""
        return self.stops.of(want)

    def take(self, session: object, state: State) -> bool:
        """Take in a new state; False where it is of a session that is over."""
        if session is not self.session:
            return False
        self.state = state
        if self.session is not None and self.want is not None and state.status != "busy":
            # Not those of `state`: since it was made the person may have set another stop.
            self.stops.met(self.want, self.session.state.specs)
        return True

    def move(
        self, want: Want, how: str, backward: bool = False, target: tuple[str, str] | None = None
    ) -> None:
        """Go somewhere; begins a replay of `want` where none is under way or that of another module is.

        Raises:
            HloTuiError: the replay is busy.
        """
        self.of(want).move(how, backward, target)

    def of(self, want: Want) -> AnySession:
        """The session of `want`; a new one where none is under way or that of another module is."""
        if self.want is None or key_of(self.want) != key_of(want):
            self.end()
            self._begin(want)
        return self.running

    def set_specs(self, want: Want, specs: tuple[StopSpec, ...]) -> None:
        """Stop at these in a module from now on.

        Raises:
            HloTuiError: they cannot be kept for the next time; they hold all the same.
        """
        self.stops.put(want, specs)
        self._tell_stops()
        self.stops.save(want)

    def hunt(self, want: Want, spec: StopSpec | None) -> None:
        """Stop where this holds in every module, until it is taken back with None; what it leaves out it leaves out in
        `want` alone.
        """
        self.stops.hold_everywhere(want, spec)
        self._tell_stops()

    def _tell_stops(self) -> None:
        """Let the replay know what to stop at, where that is something else than before."""
        if self.session is not None and self.want is not None:
            specs = self.stops.of(self.want)
            if specs != self.session.state.specs:
                self.session.set_specs(specs)

    def watch(self, want: Want, computation: str, instruction: str) -> bool:
        """Let each stop carry the value of an instruction, or no more; whether it does now."""
        place, before = (computation, instruction), self._watches.get(key_of(want), ())
        now = tuple(one for one in before if one != place)
        now = now if place in before else (*now, place)
        self._watches[key_of(want)] = now
        if self.session is not None and self.want is not None and key_of(self.want) == key_of(want):
            self.session.set_watches(now)
        return place in now

    def goto(self, number: int) -> None:
        """Stand again at the stop of the history that has this number.

        Raises:
            HloTuiError: the replay is busy.
        """
        stop = self.stop(number)
        if stop is not None:
            self.running.goto(stop)

    def stop(self, number: int) -> Stop | None:
        """The stop of the history that has this number, None where there is none."""
        history = self.state.history if self.state is not None else ()
        return next((stop for stop in history if stop.number == number), None)

    @property
    def running(self) -> AnySession:
        """The session.

        Raises:
            HloTuiError: there is none.
        """
        if self.session is None:
            raise HloTuiError("Nothing is being replayed", "", "c begins.")
        return self.session

    def interrupt(self) -> None:
        """Stop what is under way."""
        if self.session is not None:
            self.session.interrupt()

    def allow_memory(self) -> None:
        """Let replays take more than half of the free memory; the one that was refused is over."""
        self._options = replace(self._options, allow_memory=True)
        self.end()

    def end(self) -> None:
        """End the worker and forget where the replay was; what to stop at stays."""
        session, self.session = self.session, None
        self.state = self.want = None
        if session is not None:
            session.close()

    def options_for(self, want: Want) -> Options:
        """How a module is run: as it is now, where it is the one that is replayed, else as was asked for at first."""
        from hlo_tui.replay.session import Options

        if self.session is not None and self.want is not None and key_of(self.want) == key_of(want):
            return self.session.options
        return Options(
            path=want.path,
            member=want.member,
            inputs=self._options.inputs,
            seed=self._options.seed,
            grain=self._options.grain,
            platform=self._options.platform,
            allow_memory=self._options.allow_memory,
        )

    def _begin(self, want: Want) -> None:
        options = self.options_for(want)
        made: list[AnySession] = []

        def changed(state: State) -> None:
            if made:
                self._tell(made[0], state)

        session = self._make(options, changed, self.specs(want))
        made.append(session)
        self.partition = 0
        self.edited = {}
        if watches := self._watches.get(key_of(want)):
            session.set_watches(watches)
        self.session, self.want, self.state = session, want, session.state
