"""What the replay panel says: where the replay stands, the value there, how it came there, what is wrong."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace

from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.originwords import given_words
from hlo_tui.replay.session import State, Stop
from hlo_tui.replay.stopspec import TAGS
from hlo_tui.replay.summarywords import difference_words
from hlo_tui.ui.foundrows import (
    AllowMemory,
    SaveCrash,
    change_rows,
    changes_in,
    left_out_rows,
    of_partition,
    origin_rows,
    origin_words,
    partition_rows,
    supplied_rows,
    watch_rows,
)
from hlo_tui.ui.glyphs import BAD, STANDING
from hlo_tui.ui.marks import value_sign
from hlo_tui.ui.rows import Row, Span, row, width_of, wrap
from hlo_tui.ui.valuerows import (
    Json,
    first_spans,
    iteration_text,
    largest,
    number,
    path_text,
    spark,
    summary_spans,
)

_STDERR = 4
# What the engine says in its hint where it refused a replay for its memory.
_MEMORY = "--allow-memory"
_LOGGED = _LISTED = 200
# How many given values the end names.
_NAMED = 3
_TAG = "To stop in each run, tag a value in the program (of an argument, the first operation on it):"
_TAGGING = (
    "from jax.experimental.xla_metadata import set_xla_metadata",
    "y = set_xla_metadata(y, breakpoint=True)",
)


@dataclass(frozen=True, slots=True)
class ReplayView:
    """How a replay is to be shown.

    Attributes:
        state: where it is, None where there is none.
        module: what is replayed.
        elsewhere: whether the code shows something else.
        tagged: how many tagged operations the open module has; None while that is not known.
        off: how many more it has that are switched off.
        stops: how many stops the person has set in it.
        asked: whether the person wanted to begin although there is nothing to stop at.
        grain: in which it computes.
        partition: whose values are shown.
        crashed: whether there is a crash that can be saved.
        now: time.monotonic().
    """

    state: State | None = None
    module: str = ""
    elsewhere: bool = False
    tagged: int | None = None
    off: int = 0
    stops: int = 0
    asked: bool = False
    grain: str = "unit"
    partition: int = 0
    crashed: bool = False
    now: float = 0.0


@dataclass(frozen=True, slots=True)
class Replayed:
    """A row that leads to where the replay stands, in another module."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A row of the history: the stop with this number, from 1."""

    number: int


def build(view: ReplayView, width: int) -> list[Row]:
    """All rows of the panel."""
    state = view.state
    if state is None:
        return list(_before(view, width))
    rows: list[Row] = []
    if view.elsewhere:
        away = (
            f"{visible(view.module)} is replayed; the code shows another module: d, or enter here, goes there"
        )
        rows += [replace(line, key=Replayed()) for line in wrap(away, width, "notice", " ")]
    if state.problem is not None:
        rows += _problem(state.problem, width)
        if _MEMORY in state.problem.hint:
            words = Span("   4, then enter here lets it run all the same", "notice")
            rows.append(row(words, key=AllowMemory()))
        if view.crashed and state.status != "busy":
            words = Span("   4, then enter here saves what XLA died of as a small program", "notice")
            rows.append(row(words, key=SaveCrash()))
        rows += [row(Span(f"   {line}", "muted")) for line in state.stderr[-_STDERR:]]
    if state.status == "busy":
        rows.append(_busy(state, view.now))
    if state.said:
        rows += wrap(visible(state.said), width, "notice", " ")
    rows += _where(state, view, width)
    if state.at == "end" and state.end is not None:
        rows += _end(state.end, width)
    rows += _history(state)
    rows += _log(state)
    return rows


def status(state: State, now: float) -> str:
    """A state in a few words, for the status line."""
    if state.status == "busy":
        return f"{max(0.0, now - state.since):.0f} s  {visible(state.activity)}"
    if state.status in ("dead", "failed"):
        return state.problem.title if state.problem is not None else state.status
    if state.said:
        return visible(state.said)
    if state.at == "stop" and state.current is not None:
        number = f"stop {state.number}" if state.number else "standing at"
        return f"{number} %{visible(state.current.instruction)}"
    return "replay at its end" if state.at == "end" else "replay at its beginning"


def value_row(state: State, partition: int = 0) -> Row:
    """Where a replay stands and the value there, for a screen without room for more."""
    stop = state.current
    if stop is None and state.at == "end" and state.end is not None:
        return _end_row(state.end)
    if stop is None:
        return row(Span(f" {status(state, state.since)}", "muted"))
    iteration = iteration_text(stop.event)
    words = f" stop {state.number}" if state.number else " at"
    spans = [Span(words, "strong"), Span(f"  {iteration}  " if iteration else "  ", "strong")]
    summary = of_partition(stop.event, partition)
    origin = origin_words(stop.event)
    if origin:
        spans.append(Span(f"{BAD} {origin}  ", "nan"))
        if made_of := given_words(stop.event["nonfinite"], number):
            spans.append(Span(f"{visible(made_of)}  ", "result"))
    if stop.event.get("supplied"):
        spans.append(Span("not computed  ", "notice"))
    return row(*spans, Span(f"%{visible(stop.instruction)}  ", "definition"), *summary_spans(summary))


def _end_row(end: Json) -> Row:
    """What came out, in one row."""
    spans = [Span(" end  ", "strong")]
    if end.get("changes"):
        spans.append(Span("changed by hand  ", "modified"))
    for key, words in (("recorded", "recorded run"), ("self_check", "whole")):
        if end.get(key) == "differs":
            spans.append(Span(f"differs from the {words}  ", "bad"))
    if end.get("recorded") == "match":
        spans.append(Span("as recorded  ", "good"))
    outputs = end.get("outputs") or []
    if len(outputs) > 1:
        spans.append(Span(f"{len(outputs)} outputs; 4 shows all  ", "muted"))
    if outputs:
        spans += [Span("output 0  ", "muted"), *summary_spans(outputs[0])]
    return row(*spans)


def _before(view: ReplayView, width: int) -> Iterator[Row]:
    if view.tagged is None:
        yield row(Span(" The replay begins with c, when a module is open.", "muted"))
        return
    if view.tagged or view.stops:
        count = count_text(view.tagged + view.stops, "operation")
        yield row(
            Span(f" {count} to stop at. ", "text"), Span("c", "key"), Span(" runs to the first.", "muted")
        )
        return
    if view.off:
        yield row(
            Span(f" {off_words(view.off)}: ", "notice"), Span("L", "key"), Span(" lists them, ", "muted"),
            Span("b", "key"), Span(" there switches one on.", "muted"),
        )  # fmt: skip
    else:
        yield row(Span(" No operation of this module is tagged, so there is nothing to stop at.", "notice"))
    yield row(
        Span(" On an operation ", "muted"), Span("b", "key"), Span(" sets a stop, ", "muted"),
        Span("t", "key"), Span(" runs to it; ", "muted"), Span("n", "key"), Span(" and ", "muted"),
        Span("s", "key"), Span(" step from the beginning.", "muted"),
    )  # fmt: skip
    yield row(
        Span(" "), Span("c", "key"), Span(f"{' again' if view.asked else ''} runs to the end. ", "muted"),
        Span("To find the first NaN or infinity: ", "muted"), Span("!", "key"), Span(" and enter.", "muted"),
    )  # fmt: skip
    if view.off:
        return
    yield from wrap(_TAG, width, "muted", " ")
    for line in _TAGGING:
        yield row(Span(f"   {line}", "source"))


def off_words(count: int) -> str:
    """That all tags of a module are switched off."""
    return f"{count_text(count, 'tagged operation')} {'is' if count == 1 else 'are'} switched off"


def _problem(problem: HloTuiError, width: int) -> Iterator[Row]:
    yield row(Span(f" ! {visible(problem.title)}", "problem"))
    for text in (problem.message, problem.hint):
        for line in text.splitlines():
            yield from wrap(visible(line), width, "text", "   ")


def _busy(state: State, now: float) -> Row:
    seconds = max(0.0, now - state.since)
    return row(
        Span(f" {seconds:.0f} s  ", "busy"),
        Span(visible(state.activity), "busy"),
        right=[Span("ctrl+c stops it ", "muted")],
    )


def _where(state: State, view: ReplayView, width: int) -> Iterator[Row]:
    if state.at == "begin" or state.current is None:
        words = "before the first instruction" if state.at == "begin" else "at the end"
        if state.start is not None or state.status != "busy":
            head = (Span(f" {words}", "strong"),)
            yield Row(head, _inputs(state, view, width - width_of(head)))
        return
    stop = state.current
    name = f" stop {state.number} of {len(state.history)}" if state.number else " standing"
    spans = [Span(name, "strong"), Span(f"  {path_text(stop.event)}", "computation")]
    iteration = iteration_text(stop.event)
    if iteration:
        spans.append(Span(f"  {iteration}", "strong"))
    reason = visible(str(stop.event.get("reason", "")))
    if reason and not reason.startswith("breakpoint="):
        spans.append(Span(f"  {reason}", "tag"))
    yield Row(tuple(spans), _inputs(state, view, width - width_of(spans)))
    summary = of_partition(stop.event, view.partition)
    first = first_spans(summary)
    curve = tuple(_curve(state, stop, view.partition))
    value = (Span(f" %{visible(stop.instruction)}  ", "strong"), *summary_spans(summary))
    yield Row(value, () if first else curve)
    yield from supplied_rows(stop.event)
    yield from change_rows(stop.event)
    yield from origin_rows(stop.event, str((state.start or {}).get("inputs", "")), width)
    yield from left_out_rows(stop.event, width)
    yield from partition_rows(stop.event, view.partition, int((state.start or {}).get("devices") or 1))
    if first:
        beside = width_of((*first, *curve)) + 3 <= width
        yield Row((Span(" "), *first), curve if beside else ())
        if curve and not beside:
            yield row(Span(" "), *curve)
    yield from watch_rows(state)


def _inputs(state: State, view: ReplayView, room: int) -> tuple[Span, ...]:
    """What it runs on, in as many words as there is room for."""
    start = state.start
    if start is None:
        return ()
    changes = changes_in(state)
    faithful = bool(start.get("faithful")) and not changes
    seed = (
        f", seed {start['seed']}" if start.get("inputs") == "made" and start.get("seed") is not None else ""
    )
    words = Span(f"{view.grain} grain, inputs {start.get('inputs', '?')}{seed}, ", "muted")
    verdict = (
        (Span("faithful", "good"),)
        if faithful
        else (Span("not faithful: ", "notice"), Span("i", "key"), Span(" says why", "notice"))
    )
    for shown in ((words, *verdict), verdict, verdict[:2]):
        if width_of(shown) + 2 <= room:
            return shown
    return ()


def _curve(state: State, stop: Stop, partition: int) -> list[Span]:
    """The largest element at each stop at the same instruction."""
    same = [
        one
        for one in state.history
        if (one.computation, one.instruction) == (stop.computation, stop.instruction)
    ]
    values = [largest(of_partition(one.event, partition)) for one in same]
    known = [value for value in values if value is not None]
    if len(known) < 2:
        return []
    return [
        Span("max over stops  ", "muted"),
        Span(spark(values), "spark"),
        Span(f"  {number(known[0])} → {number(known[-1])}", "result"),
    ]


def _end(end: Json, width: int) -> Iterator[Row]:
    unknown = end.get("unknown") or []
    checks = [
        ("stepped against whole", end.get("self_check")),
        ("against the recorded run", _recorded(end)),
    ]
    spans = [Span(" end", "strong")]
    for words, verdict in checks:
        role = {"match": "good", "differs": "bad"}.get(str(verdict), "muted")
        spans += [Span(f"   {words}: ", "muted"), Span(str(verdict), role)]
    yield row(*spans)
    skipped = [key for key in ("self_check", "recorded") if end.get(key) == "skipped"]
    for reason in dict.fromkeys(end.get(f"{key}_reason") for key in skipped):
        yield from wrap(f"skipped: {visible(str(reason))}", width, "muted", " ")
    yield from change_rows(end, "the outputs are")
    yield from left_out_rows(end, width)
    for key, words in (("self_check", "whole"), ("recorded", "recorded run")):
        if end.get(key) == "differs":
            by = difference_words(end, key, number)
            hint = [Span("; ", "muted"), Span("P", "key"), Span(" names the pass", "muted")]
            yield row(Span(f" differs from the {words}{by}", "bad"), *(hint if key == "recorded" else ()))
    if end.get("recorded") == "differs" and "recorded_reason" in end:
        yield from wrap(str(end["recorded_reason"]), width, "muted", " ")
    outputs = end.get("outputs") or []
    for at, output in enumerate(outputs):
        yield row(Span(f" output {at}  ", "muted"), *summary_spans(output))
    if any(value_sign(output) == BAD for output in outputs):
        yield row(
            Span(" To go to where it begins: ", "notice"), Span("!", "key"), Span(" and enter", "notice")
        )
    supplied = end.get("supplied") or []
    if supplied:
        named = [f"%{visible(one['instruction'])} ({visible(one['value'])})" for one in supplied[:_NAMED]]
        more = f" and {len(supplied) - _NAMED} more" if len(supplied) > _NAMED else ""
        given = f"{count_text(len(supplied), 'value')} not computed but given: {', '.join(named)}{more}"
        yield from wrap(given, width, "notice", " ")
    if unknown:
        count = Span(f" {count_text(len(unknown), 'value')} unknown", "missing")
        yield row(count, Span("; ", "muted"), Span("I", "key"), Span(" supplies one", "muted"))
        for reason in (end.get("reasons") or [])[:20]:
            yield from wrap(visible(str(reason)), width, "text", "   ")


def _recorded(end: Json) -> str:
    return "none" if end.get("recorded") == "absent" else str(end.get("recorded"))


def _history(state: State) -> Iterator[Row]:
    if not state.history:
        return
    shown = _around(state)
    more = "; H lists all of them" if len(shown) < len(state.history) else ""
    words = f" history, {count_text(len(state.history), 'stop')}; enter goes there{more}"
    yield row(Span(words, "heading"))
    for stop in reversed(shown):
        here = stop.number == state.number
        sign = STANDING if here else " "
        spans = [
            Span(f" {sign} {stop.number:>3}  ", "standing" if here else "count"),
            Span(f"%{visible(stop.instruction)}", "definition" if here else "text"),
            Span(f"  {iteration_text(stop.event)}  ", "muted"),
            *summary_spans(stop.summary),
        ]
        yield row(*spans, key=Visit(stop.number))


def _around(state: State) -> tuple[Stop, ...]:
    """The stops around where the replay stands, the newest where it stands at none: a panel is no place for all."""
    history = state.history
    end = len(history) if state.current is None else bisect_right(history, state.current) + _LISTED // 2
    end = min(len(history), max(end, _LISTED))
    return history[max(0, end - _LISTED) : end]


def _log(state: State) -> Iterator[Row]:
    if not state.log:
        return
    yield row(Span(f" log, {count_text(len(state.log), 'value')}", "heading"))
    for stop in state.log[-_LOGGED:]:
        iteration = iteration_text(stop.event)
        yield row(
            Span(f"   %{visible(stop.instruction)}", "text"),
            Span(f"  {iteration}  " if iteration else "  ", "muted"),
            *summary_spans(stop.summary),
        )


def information(state: State, view: ReplayView, width: int) -> list[Row]:
    """What a replay runs on, and what keeps it from being faithful to the job."""
    start = state.start
    rows = [row(Span("what is replayed", "heading")), *wrap(view.module, width, "text", " ")]
    if start is None:
        return [*rows, row(), row(Span(" the engine has not begun yet", "muted"))]
    source = f", from {start['inputs_file']}" if start.get("inputs_file") else ""
    seed = f", seed {start['seed']}" if start.get("seed") is not None else ""
    rows += [row(), row(Span("inputs", "heading"))]
    rows += wrap(visible(f"{start.get('inputs')}{source}{seed}"), width, "text", " ")
    rows += [row(), row(Span("engine", "heading"))]
    engine = start.get("engine")
    versions = (
        ", ".join(f"{k} {v}" for k, v in engine.items()) if isinstance(engine, dict) else str(engine or "")
    )
    devices = count_text(int(start.get("devices") or 1), "device")
    rows += wrap(visible(f"{versions}; {devices}; {view.grain} grain"), width, "text", " ")
    rows += [row(), row(Span("faithful to the job", "heading"))]
    changes = changes_in(state)
    faithful = start.get("faithful") and not changes
    rows += wrap("yes" if faithful else "no", width, "good" if faithful else "bad", " ")
    reasons = list(start.get("reasons") or [])
    if start.get("supplied"):
        reasons.append("here I, then enter on one, gives it another value")
    if changes:
        reasons.append(f"{count_text(changes, 'value')} changed by hand; I, then u there undoes that")
    for reason in reasons:
        rows += wrap(visible(str(reason)), width, "text", " ")
    rows += [row(), row(Span("stops", "heading"))]
    rows += wrap(
        ", ".join("tagged operations" if s == TAGS else s.text() for s in state.specs), width, "text", " "
    )
    rows += wrap(f"{count_text(len(state.stops), 'instruction')} in this module", width, "muted", " ")
    return rows
