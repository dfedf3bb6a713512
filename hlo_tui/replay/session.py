"""A debug session: what a person does with a replay, whatever shows it. It survives the worker's death."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.replay.atwork import Doing
from hlo_tui.replay.client import INTERRUPT, Client, describe_exit, last_words
from hlo_tui.replay.lessons import OWN_FAULT, Lessons
from hlo_tui.replay.reopening import Request, open_request, way_back
from hlo_tui.replay.reproducer import Crash, export
from hlo_tui.replay.state import Options, State, Stop, met, read_error, stop_of
from hlo_tui.replay.stopspec import TAGS, StopSpec, from_json
from hlo_tui.replay.valuecommands import ValueCommands

__all__ = ["Options", "Session", "State", "Stop"]

Json = dict[str, Any]

_NO_ANSWER = 1.0
_STARTS_AGAIN = "the next command starts it again at the same place"
_WORDS = {
    "continue": "running to the next stop",
    "next": "to the next instruction",
    "step": "stepping in",
    "finish": "finishing this computation",
    "to": "running to {}",
}


class Session(ValueCommands):
    """Commands in, states out. All commands return at once; `on_change` is called on other threads with each
    new state.
    """

    def __init__(
        self, options: Options, on_change: Callable[[State], None], specs: tuple[StopSpec, ...] = (TAGS,)
    ) -> None:
        self.options = options
        self._on_change = on_change
        self._lock = threading.RLock()
        self._settled = threading.Condition(self._lock)
        self._state = State(specs=specs)
        self._client: Client | None = None
        self._pending: dict[int, Callable[[Json], None]] = {}
        self._lessons = Lessons()
        self._opened_with: Request = ("open", {})
        self._asked: Request | None = None
        self._crash: Crash | None = None
        self._why_stopped = ""
        self._timer = threading.Timer(0, lambda: None)
        self._closed = False
        self._position: Json | None = None
        self._changes: list[tuple[Json | None, Json]] = []

    @property
    def state(self) -> State:
        """The newest state."""
        return self._state

    @property
    def lessons(self) -> Lessons:
        """What is done otherwise, because XLA ended the process on it before."""
        return self._lessons

    @property
    def crash(self) -> Crash | None:
        """The last death of the worker by its own fault, where it is known what it died of."""
        return self._crash

    # Commands.

    def start(self) -> None:
        """Open the module and stand before its first instruction."""
        with self._lock:
            self._busy("starting the engine")
            self._open()

    def move(self, how: str, backward: bool = False, target: tuple[str, str] | None = None) -> None:
        """Continue, next, step, finish, or run to `target` ("to"); backwards as well.

        Raises:
            HloTuiError: something else is under way.
        """
        params = {"how": how, "backward": backward, "target": target}
        words = _WORDS[how].format((target or ("", ""))[1])
        self._command("move", params, words + (", backwards" if backward else ""), self._arrived)

    def run_until(self, spec: StopSpec, backward: bool = False, begin: bool = False) -> None:
        """Go to the next moment at which `spec` holds, past all other stops; backward: to the last one; with `begin`
        to the first one of all.

        Where there is none, the replay stays where it stands and the state's `said` says so.

        Raises:
            HloTuiError: something else is under way.
        """
        words = f"looking {'back' if backward else 'ahead'} for {spec.text()}"
        params = {"spec": spec.to_json(), "backward": backward, "begin": begin}
        self._command("until", params, words, self._arrived)

    def goto(self, stop: Stop) -> None:
        """Stand at a stop of the history again."""
        self._command(
            "goto", {"position": stop.event["position"]}, f"going to {stop.instruction}", self._arrived
        )

    def toggle(self, computation: str, instruction: str, anchor: tuple[str, str] = ("", "")) -> None:
        """Set a stop at an instruction, or take it away.

        Args:
            computation: of the instruction.
            instruction: its name.
            anchor: its opcode and op_name, to find it again in a module that is compiled anew.
        """
        spec = StopSpec("instruction", instruction, computation, anchor=anchor)
        left = tuple(one for one in self._state.specs if not one.same_place(spec))
        self.set_specs(left if len(left) < len(self._state.specs) else (*left, spec))

    def set_specs(self, specs: tuple[StopSpec, ...]) -> None:
        """Stop at these from now on."""
        self._set(lambda: self._update(status="standing", activity=""), specs=specs)

    def set_watches(self, watches: tuple[tuple[str, str], ...]) -> None:
        """Let each stop carry the values of these instructions, by computation and name, from now on."""

        def again() -> None:
            position = self._position
            if position is None:
                self._update(status="standing", activity="")
            else:
                self._request("goto", {"position": position}, self._arrived)

        self._set(again, watches=watches)

    def _set(self, then: Callable[[], None], **changes: Any) -> None:
        with self._lock:
            self._update(**changes)
            if self._client is None:
                return
            if self._state.status == "busy":
                # The worker takes it up after what it is doing now.
                self._send_stops(lambda: None)
                return
            self._busy("taking the stops")
            self._send_stops(then)

    def interrupt(self) -> None:
        """Stop what is under way; where XLA does not listen, the worker is ended and the place is kept."""
        self._stop("interrupted")

    def _stop(self, why: str) -> None:
        with self._lock:
            client = self._client
            if client is None or self._state.status != "busy":
                return
            self._why_stopped = why
            try:
                client.request(INTERRUPT, {})
            except EngineError:
                return
            self._later(_NO_ANSWER, lambda still: still.kill(f"{why}, and it did not listen"))

    def _later(self, seconds: float, act: Callable[[Client], None]) -> None:
        """Do something after a while, if the same thing is still under way; only the last one asked for is done."""
        began = self._state.since

        def now() -> None:
            with self._lock:
                client, state = self._client, self._state
            if client is not None and state.status == "busy" and state.since == began:
                act(client)

        self._timer.cancel()
        self._timer = threading.Timer(seconds, now)
        self._timer.daemon = True
        self._timer.start()

    def save_crash(self, target: Path, then: Callable[[Json], None]) -> None:
        """Write the last crash down as a reproducer, see `reproducer.export`; `then` gets what that gives.

        Raises:
            HloTuiError: something else is under way, or nothing crashed.
        """
        with self._lock:
            crash, before = self._crash, self._state
            if crash is None:
                raise HloTuiError("nothing to save", "XLA has not ended the engine")
            self._check_free()
            self._update(status="busy", activity="letting it happen again", since=time.monotonic())

        def save() -> None:
            problem = before.problem
            try:
                then(export(crash, target))
            except HloTuiError as error:
                problem = error
            self._update(status=before.status, activity="", problem=problem)

        threading.Thread(target=save, daemon=True).start()

    def close(self) -> None:
        """End the worker; the session is over."""
        with self._lock:
            self._closed = True
            self._timer.cancel()
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def wait(self) -> State:
        """Wait until nothing is under way."""
        with self._lock:
            self._settled.wait_for(lambda: self._state.status != "busy")
            return self._state

    # Requests.

    def _command(self, method: str, params: Json, words: str, then: Callable[[Json], None]) -> None:
        with self._lock:
            if self._closed:
                return
            self._check_free()
            self._busy(words)
            self._asked = (method, params)
            if self._client is None:
                self._open(lambda: self._request(method, params, then))
            else:
                self._request(method, params, then)

    def _check_free(self) -> None:
        if self._state.status == "busy":
            raise HloTuiError("busy", self._state.activity, "interrupt it first, or wait")

    def _open(self, then: Callable[[], None] | None = None) -> None:
        options = self.options
        self._opened_with = open_request(options, self._lessons)

        def opened(start: Json) -> None:
            self._update(start=start)
            self._send_stops(lambda: self._back_to_place(then))

        client: Client
        client = Client(self._message, lambda status: self._gone(client, status), options.memory_limit)
        self._client = client
        self._request(*self._opened_with, opened)

    def _back_to_place(self, then: Callable[[], None] | None) -> None:
        """Bring a fresh worker to where the last one was: the changed values, then the position."""
        steps = way_back(self._changes, self._position)

        def go_on(event: Json | None = None) -> None:
            if steps:
                self._request(*steps.pop(0), go_on)
                return
            if event is not None:
                self._arrived(event)
            if then is not None:
                self._update(status="busy")
                then()
            else:
                self._update(status="standing", activity="")

        go_on()

    def _send_stops(self, then: Callable[[], None]) -> None:
        def answered(result: Json) -> None:
            self._update(stops=tuple(result["stops"]))
            then()

        self._request(*self._stops_request(), answered)

    def _stops_request(self) -> Request:
        specs = [spec.to_json() for spec in self._state.specs]
        return "stops", {"specs": specs, "watches": self._state.watches}

    def _request(self, method: str, params: Json, then: Callable[[Json], None]) -> None:
        assert self._client is not None
        try:
            self._pending[self._client.request(method, params)] = then
        except EngineError:
            # It died in this moment: `_gone` follows and says so.
            return

    # Answers, on the client's threads.

    def _message(self, message: Json) -> None:
        with self._lock:
            if "note" in message:
                self._update(activity=message["note"])
            elif "log" in message:
                stop = stop_of(message["log"])
                if not self._state.log or stop > self._state.log[-1]:
                    self._update(log=(*self._state.log, stop))
            else:
                self._answer(message)

    def _answer(self, message: Json) -> None:
        then = self._pending.pop(message.get("id", 0), None)
        if then is None:
            return
        if "result" in message:
            then(message["result"])
        elif message.get("interrupted"):
            problem = EngineError(self._why_stopped, "the replay stands where it stood")
            self._update(status="standing", activity="", problem=problem)
        else:
            self._update(status=self._after_error(), activity="", problem=read_error(message["error"]))

    def _after_error(self) -> str:
        return "failed" if self._state.start is None else "standing"

    def _arrived(self, event: Json) -> None:
        if event["event"] == "none":
            self._update(status="standing", activity="", said=event["words"], problem=None)
            return
        self._position = event["position"]
        if event["event"] != "stop":
            end = event if event["event"] == "end" else self._state.end
            self._update(
                status="standing",
                activity="",
                at=event["event"],
                current=None,
                number=0,
                end=end,
                values=(),
                problem=None,
            )
            return
        if "once" in event:
            done = from_json(event["once"])
            self.set_specs(tuple(spec for spec in self._state.specs if spec != done))
        history, stop = met(self._state.history, stop_of(event))
        self._update(
            status="standing", activity="", at="stop", current=stop, number=stop.number, history=history, values=(),
            problem=None,
        )  # fmt: skip

    def _gone(self, client: Client, status: int) -> None:
        with self._lock:
            if client is not self._client:
                return
            self._client = None
            self._pending.clear()
            if self._closed:
                return
            problem = self._death(client, status)
            stderr = last_words(client.stderr_tail(), 20)
            self._update(status="dead", activity="", problem=problem, stderr=stderr)

    def _death(self, client: Client, status: int) -> EngineError:
        """Why the worker is gone; what can be learned from it is."""
        what = self._state.activity or "waiting"
        if client.ended:
            self._lessons = self._lessons.without_check(client.doing(), client.ended)
            return EngineError("the engine was ended", f"{client.ended}, while {what}", _STARTS_AGAIN)
        message = f"{describe_exit(status)} while {what}"
        if status in OWN_FAULT:
            doing = client.doing()
            if len(doing) == 1:
                self._crash = self._crash_of(client, doing[0], status)
            self._lessons, learned = self._lessons.learn(doing, status)
            message += f"; {learned}" if learned else ""
        return EngineError("the engine died", message, _STARTS_AGAIN)

    def _crash_of(self, client: Client, doing: Doing, status: int) -> Crash:
        asked = [self._asked] if self._asked is not None else []
        back = way_back(self._changes, self._position)
        requests = (self._opened_with, self._stops_request(), *back, *asked)
        return Crash(self.options, doing, status, tuple(client.stderr_tail()), requests)

    # States.

    def _busy(self, activity: str) -> None:
        self._update(
            status="busy", activity=activity, since=time.monotonic(), problem=None, stderr=(), said=""
        )
        limit = self.options.time_limit
        if limit is not None:
            self._later(limit, lambda _: self._stop(f"it took more than {limit:g} s"))

    def _update(self, **changes: Any) -> None:
        with self._lock:
            self._state = replace(self._state, **changes)
            self._settled.notify_all()
            state = self._state
        if not self._closed:
            self._on_change(state)
