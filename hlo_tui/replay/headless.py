"""A replay from beginning to end without a screen: events for a script, or lines for a person."""

from __future__ import annotations

import shlex
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.replay import wishwords
from hlo_tui.replay.fulfilling import Fulfilling
from hlo_tui.replay.originwords import begin_words, fate_words, given_words, operand_words
from hlo_tui.replay.reproducer import Crash, export
from hlo_tui.replay.session import Options, Session, State, Stop
from hlo_tui.replay.stopspec import INSIDE_FUSIONS, TAGS, StopSpec, left_out_words
from hlo_tui.replay.summarywords import difference_words, number_words, summary_words
from hlo_tui.replay.wishes import NO_WISHES, Wishes

Json = dict[str, Any]

HOW_TO_TAG = (
    "tag a value in the program: from jax.experimental.xla_metadata import set_xla_metadata; "
    "y = set_xla_metadata(y, breakpoint=True). A function's arguments cannot be tagged: tag the first "
    "operation on them. Or stop anywhere with --break NAME, --break op:dot, --break line:train.py:42"
)


class Replay:
    """One headless run.

    Attributes:
        warnings: what a person should know besides the events.
        exit_code: 0, or 1 where a check found a difference, once the events were all taken.
    """

    def __init__(
        self,
        options: Options,
        specs: tuple[StopSpec, ...],
        save_crash: Path | None = None,
        wishes: Wishes = NO_WISHES,
    ) -> None:
        """Take what to run and where to stop, where to save what XLA dies of, and what to do with single values."""
        self._save_crash = save_crash
        self._wishes = wishes
        self._saved: list[Crash] = []
        self.warnings: list[str] = []
        self.exit_code = 0
        self._options = options
        self._specs = specs
        self._logged = 0

    def events(self, on_activity: Callable[[str], None] = lambda _: None) -> Iterator[Json]:
        """Run and give the events in order: start, values that are set, stops and logged values, end.

        Raises:
            HloTuiError: the file, the inputs or a stop cannot be used.
            EngineError: XLA cannot run it, or the worker died.
        """
        last = threading.local()

        def changed(state: State) -> None:
            if state.activity and getattr(last, "activity", "") != state.activity:
                last.activity = state.activity
                on_activity(state.activity)

        session = Session(self._options, changed, self._specs)
        try:
            session.start()
            state = self._checked(session)
            assert state.start is not None
            yield _public(state.start)
            carry_out = partial(self._carry_out, session)
            fulfilling = Fulfilling(session, self._wishes, state.start["devices"], carry_out)
            yield from map(_public, fulfilling.settings())
            if not state.stops and all(spec.kind != "first" for spec in self._specs):
                self.warnings.append(self._nothing_to_stop_at())
            number = 0
            while True:
                state = carry_out(partial(session.move, "continue"))
                yield from self._new_logs(state)
                if state.at != "stop":
                    break
                assert state.current is not None
                number += 1
                if number == 1:
                    self.warnings += _in_the_inputs(state)
                yield from _lines(number, state.current, fulfilling.here(), self._wishes.partition)
            assert state.end is not None
            at_end = fulfilling.here(end=True)
            if not number and any(spec.kind == "first" for spec in self._specs):
                self.warnings.append(self._nothing_begins())
            if all(spec.kind != "first" for spec in self._specs) and _not_finite(state.end["outputs"]):
                self.warnings.append(
                    "an output is not finite: --break first:nonfinite stops where that begins"
                )
            if state.end["recorded"] == "differs":
                self.warnings.append(
                    "the outputs are not those that the job recorded: hlo-tui bisect DIR MODULE names the pass"
                )
            if fulfilling.differs or "differs" in (state.end["self_check"], state.end["recorded"]):
                self.exit_code = 1
            never = fulfilling.never()
            if never:
                self.warnings.append(
                    f"at no stop there: {visible(', '.join(never))}; --break NAME stops at it"
                )
            yield _public(state.end) | at_end
        finally:
            session.close()

    def _carry_out(self, session: Session, command: Callable[[], None]) -> State:
        """Give a command and wait; where XLA ends the process on an instruction, again without that instruction."""
        while True:
            lessons = session.lessons
            command()
            state = session.wait()
            if state.status != "dead" or session.lessons == lessons:
                return self._checked(session)
            self._keep(session.crash)

    def _checked(self, session: Session) -> State:
        state = session.wait()
        if state.problem is None:
            return state
        self._keep(session.crash)
        if state.status == "dead" and state.stderr:
            problem = state.problem
            last_words = "\n".join(state.stderr[-5:])
            raise EngineError(problem.title, f"{problem.message}\n{last_words}")
        raise state.problem

    def _keep(self, crash: Crash | None) -> None:
        """Save a crash, where that is wanted and it is a new one."""
        if crash is None or self._save_crash is None or crash in self._saved:
            return
        self._saved.append(crash)
        target, number = self._save_crash, len(self._saved)
        if number > 1:
            target = target.with_name(f"{target.stem}-{number}{target.suffix}")
        try:
            found = export(crash, target)
        except HloTuiError as error:
            self.warnings.append(f"{crash.words()}: {error}")
            return
        again = f"ended with {found['again']}" if found["again"] else "did not end that way"
        self.warnings.append(f"{crash.words()}; saved in {target}, where run.py {again} when it was tried")

    def _nothing_to_stop_at(self) -> str:
        if self._specs == (TAGS,):
            return f"no operation of this module carries a breakpoint tag; {HOW_TO_TAG}"
        asked = ", ".join(spec.text() for spec in self._specs)
        return f"nothing in this module is what --break asks for: {visible(asked)}"

    def _nothing_begins(self) -> str:
        words = "no NaN or infinity begins at an operation that was asked for"
        return words if self._options.grain == "body" else f"{words}; {INSIDE_FUSIONS}"

    def _new_logs(self, state: State) -> Iterator[Json]:
        for stop in state.log[self._logged :]:
            self._logged += 1
            yield from _lines(self._logged, stop)


def _lines(number: int, stop: Stop, more: Json | None = None, partition: int = 0) -> Iterator[Json]:
    """The event of a stop; where every partition has a value of its own, one for each of them.

    `more` is what the event gains, or that of `partition`.
    """
    event = _public(stop.event)
    event["n"] = number
    parts = event.pop("partitions", None)
    if parts is None:
        yield event | (more or {})
        return
    for one, summary in enumerate(parts):
        yield {**event, "partition": one, "value": summary, **((more or {}) if one == partition else {})}


def _in_the_inputs(state: State) -> list[str]:
    """Where to look for what the recorded inputs of a run hold already."""
    found = state.current.event.get("nonfinite") if state.current is not None else None
    start = state.start or {}
    if not found or found["cause"] != "the inputs" or start.get("inputs") != "snapshot":
        return []
    where = f"{shlex.quote(str(Path(start['inputs_file']).parent))} {shlex.quote(start['module'])}"
    return [
        f"it came with the inputs of this run: hlo-tui executions --halve {where} finds the first bad run, and "
        "--inputs FILE replays that"
    ]


def _not_finite(summaries: Iterable[Json]) -> bool:
    """Whether one of several values has a NaN or an infinity."""
    return any(
        _not_finite(one["tuple"]) if "tuple" in one else bool(one.get("nan") or one.get("inf"))
        for one in summaries
    )


def _public(event: Json) -> Json:
    return {name: value for name, value in event.items() if name not in ("position", "key", "carriers")}


def words(event: Json) -> str:
    """An event as lines for a person, safe to print."""
    return visible_lines(_WRITERS[event["event"]](event))


def visible_lines(lines: list[str]) -> str:
    """Lines joined, each made safe for a terminal."""
    return "\n".join(visible(line) for line in lines)


def _start_words(event: Json) -> list[str]:
    inputs = event["inputs"]
    if inputs == "made":
        inputs = f"made, seed {event['seed']}"
    elif event["inputs_file"]:
        inputs = f"{inputs} {event['inputs_file']}"
    devices = f", {event['devices']} devices" if event["devices"] > 1 else ""
    lines = [f"replay of {event['module']}, {event['grain']} grain{devices}, inputs: {inputs}"]
    return lines + [f"  not faithful: {reason}" for reason in event["reasons"]]


def _stop_words(event: Json) -> list[str]:
    steps, trips = event["path"], event.get("trips")
    inner = max((at for at, part in enumerate(steps) if part["iteration"] is not None), default=-1)
    path = " > ".join(
        part["computation"]
        + (
            ""
            if part["iteration"] is None
            else f" [iteration {part['iteration']}{_range(trips, at == inner)}]"
        )
        for at, part in enumerate(steps)
    )
    partition = "" if event["partition"] is None else f"  partition {event['partition']}"
    head = f"{event['event']} {event['n']}  %{event['instruction']}  {event['reason']}{partition}"
    lines = [head, f"  {path}", f"  {summary_words(event['value'])}"]
    if event.get("source"):
        lines.insert(1, f"  {event['source']}")
    lines += wishwords.before(event)
    if event.get("supplied"):
        lines.append(f"  supplied: {event['supplied']['instruction']} ({event['supplied']['value']})")
    if "nonfinite" in event:
        found = event["nonfinite"]
        where = "begins here" if found["cause"] == "computed" else f"begins here, from {found['cause']}"
        lines.append(f"  {begin_words(found) or 'it'} {where}; it {fate_words(found)}")
        if found["cause"] != "the inputs":
            lines.append(f"  {operand_words(found)}")
            made_of = given_words(found)
            lines += [f"  {made_of}"] if made_of else []
    return [*lines, *wishwords.lines(event), *_left_out(event)]


def _range(trips: int | None, inner: bool) -> str:
    """Of how many iterations, where that is known: it is of the innermost loop."""
    return f" of 0\N{EN DASH}{trips - 1}" if trips and inner else ""


def _left_out(event: Json) -> list[str]:
    words = left_out_words(event)
    return [f"  {words}"] if words else []


def _end_words(event: Json) -> list[str]:
    lines = [f"end  {event['status']}", *_left_out(event)]
    lines += [f"  output {n}: {summary_words(value)}" for n, value in enumerate(event["outputs"])]
    lines += wishwords.before(event)
    lines += wishwords.lines(event)
    lines.append(f"  against one run of the whole module: {event['self_check']}")
    lines[-1] += difference_words(event, "self_check", number_words)
    if "self_check_reason" in event:
        lines[-1] += f" ({event['self_check_reason']})"
    lines.append(f"  against the recorded result: {event['recorded']}")
    lines[-1] += difference_words(event, "recorded", number_words)
    if "recorded_reason" in event:
        skipped = event["recorded"] == "skipped"
        lines[-1] += f"{'' if skipped else ', not bit for bit'} ({event['recorded_reason']})"
    lines += [f"  supplied: {one['instruction']} ({one['value']})" for one in event["supplied"]]
    lines += [f"  unknown: {reason}" for reason in event["reasons"]]
    if event["reasons"]:
        lines.append("  a value can be supplied: --supply NAME=zeros|made|FILE.npy|operand:N")
    return lines


_WRITERS = {
    "start": _start_words,
    "stop": _stop_words,
    "log": _stop_words,
    "end": _end_words,
    "set": wishwords.setting,
}


def check_options(options: Options) -> None:
    """Refuse what cannot work before a process is started for it.

    Raises:
        HloTuiError: the file is not there, or the inputs are not.
    """
    if not options.path.exists():
        raise HloTuiError("no such file", visible(str(options.path)), "hlo-tui list DIR shows what there is")
    if options.path.is_dir():
        raise HloTuiError(
            "this is a directory",
            visible(str(options.path)),
            "hlo-tui replay DIR MODULE runs one of the modules that hlo-tui list DIR shows",
        )
