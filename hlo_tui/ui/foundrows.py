"""What the replay panel says besides where it stands: where a NaN begins, partitions, pinned values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo_tui.dump.words import count_text
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.originwords import begin_words, fate_words, given_words, operand_words
from hlo_tui.replay.stopspec import left_out_words
from hlo_tui.ui.glyphs import BAD
from hlo_tui.ui.rows import Row, Span, row, width_of, wrap
from hlo_tui.ui.valuerows import Json, largest, number, spark, summary_spans

if TYPE_CHECKING:
    from hlo_tui.replay.session import State, Stop

_NUMBERED = 16


@dataclass(frozen=True, slots=True)
class SaveCrash:
    """A row that offers to keep what XLA died of."""


@dataclass(frozen=True, slots=True)
class AllowMemory:
    """A row that offers to run what needs more memory than it should."""


def origin_words(event: Json) -> str:
    """The same as `origin_rows` in a few words, for a screen without room for more; empty where none begins."""
    found = event.get("nonfinite")
    if found is None:
        return ""
    begins = begin_words(found)
    outputs = [str(one["output"]) for one in found.get("outputs") or ()]
    reached = f"reaches output {', '.join(outputs[:2])}" if outputs else "reaches an output"
    words = f"{begins} begins here, ".lstrip() + (reached if found.get("reaches_output") else "masked")
    left_out = event.get("left_out") or {}
    return words + (f"; {left_out['count']} left out" if left_out else "")


def origin_rows(event: Json, inputs: str, width: int) -> Iterator[Row]:
    """What is known of a value in which a NaN or an infinity begins: cause, consequence, Python line."""
    found = event.get("nonfinite")
    if found is None:
        return
    source = visible(str(event.get("source") or ""))
    fate = Span(visible(fate_words(found)), "bad" if found.get("reaches_output") else "good")
    right = (Span(source.rsplit("/", 1)[-1], "place"),) if source else ()
    begins = begin_words(found) or _kind(event)
    head = Span(f" {BAD} {begins} begin{'' if ' and ' in begins else 's'} here; ", "nan")
    said = Span(f"it {fate.text}", fate.role)
    if width_of((head, said, *right)) + 2 <= width:
        yield Row((head, said), right)
    else:
        yield Row((head,), right)
        yield from wrap(said.text, width, said.role, "   ")
    yield from wrap(visible(_cause(found, inputs)), width, "text", "   ")
    if words := given_words(found, number):
        yield from wrap(visible(words), width, "result", "   ")


def left_out_rows(event: Json, width: int) -> Iterator[Row]:
    """What the way to here passed over because the person leaves it out."""
    words = left_out_words(event)
    if words:
        yield from wrap(visible(words), width, "notice", " ")


def _kind(event: Json) -> str:
    summary = event.get("value") or {}
    parts = list(_leaves(summary))
    nan, inf = (any(part.get(key) for part in parts) for key in ("nan", "inf"))
    return "NaN and infinity" if nan and inf else "NaN" if nan else "infinity" if inf else "it"


def _cause(found: Json, inputs: str) -> str:
    cause = found.get("cause")
    if cause == "the inputs":
        already = {"snapshot": " already: X finds the recorded run in which it began", "npz": " already"}
        return "it is in the inputs" + already.get(inputs, ", and these are made up: I chooses others")
    words = operand_words(found)
    if cause == "made inputs":
        return (
            f"{words}, but the inputs are made up: it may be their doing. "
            "I chooses others: of a domain, recorded, from a file"
        )
    return f"{words}, and the inputs are real ({inputs}): the operation makes it"


def changes_in(state: State) -> int:
    """How many values are changed by hand where a replay stands; 0 where it stands at none."""
    event = state.end if state.at == "end" else state.current.event if state.current is not None else None
    return int((event or {}).get("changes") or 0)


def change_rows(event: Json, subject: str = "this one is") -> Iterator[Row]:
    """Whether a value is another one because values were changed by hand, and what it was without that."""
    count = int(event.get("changes") or 0)
    if not count:
        return
    words = Span(f" {count_text(count, 'value')} changed by hand: ", "modified")
    if not event.get("changed"):
        here = f"{subject} the same without them" if "changed" in event else "this one has not run yet"
        yield row(words, Span(here, "muted"))
    elif event.get("before") is None:
        yield row(words, Span("the replay would not come here without them", "strong"))
    else:
        yield row(words, Span("without them it is ", "muted"), *summary_spans(event["before"]))


def supplied_rows(event: Json) -> Iterator[Row]:
    """Where a value comes from that is not computed but given: by the person, or made for what waits for it."""
    given = event.get("supplied")
    if given is not None:
        words = f"%{visible(given['instruction'])} ({visible(given['value'])})"
        yield row(
            Span(" not computed but given: ", "muted"), Span(words, "notice"), Span("; ", "muted"),
            Span("I", "key"), Span(" supplies another", "muted"),
        )  # fmt: skip


def partition_words(summary: Json | None, devices: int) -> str:
    """Which partitions have another value than the first one; empty where there is one alone."""
    if devices < 2 or summary is None:
        return ""
    parts = [part for part in _leaves(summary) if "partitions" in part]
    if not parts:
        return f"one value for all {devices} partitions"
    differ = sorted({number for part in parts for number in part.get("partitions_differ", ())})
    if not differ:
        return f"all {devices} partitions equal"
    named = ", ".join(map(str, differ[:_NUMBERED])) + (", ..." if len(differ) > _NUMBERED else "")
    return f"other than partition 0: {named}"


def _leaves(summary: Any) -> Iterator[Json]:
    if isinstance(summary, dict):
        if "tuple" in summary:
            for part in summary["tuple"]:
                yield from _leaves(part)
        else:
            yield summary


def of_partition(event: Json, partition: int) -> Json | None:
    """The value of a stop in one partition."""
    parts = event.get("partitions") or []
    value: Json | None = parts[partition] if 0 < partition < len(parts) else event.get("value")
    return value


def partition_rows(event: Json, partition: int, devices: int) -> Iterator[Row]:
    """One line about the partitions of a stop."""
    words = partition_words(event.get("value"), devices)
    if words:
        yield row(
            Span(f" partition {partition} of {devices}; ", "muted"), Span(words, "text"),
            Span("  #", "key"), Span(" chooses", "muted"),
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Partition:
    """A row about one partition."""

    number: int


def chooser_rows(event: Json, chosen: int) -> list[Row]:
    """The value of a stop in each partition."""
    parts = event.get("partitions") or []
    differ = {number for part in _leaves(event.get("value")) for number in part.get("partitions_differ", ())}
    words = partition_words(event.get("value"), len(parts))
    rows = [row(Span(f" %{visible(str(event['instruction']))}  {words}", "heading"))]
    for place, part in enumerate(parts):
        same = Span(" other than 0 " if place in differ else "", "modified")
        rows.append(
            row(
                Span(f" {'→' if place == chosen else ' '} {place:>3}  ", "accent" if place == chosen else "count"),
                *summary_spans(part), right=[same] if place in differ else (), key=Partition(place),
            )
        )  # fmt: skip
    return rows


def watch_rows(state: State) -> Iterator[Row]:
    """The pinned values at the stop where the replay stands, with how they went so far."""
    watches: Sequence[Json] = state.current.event.get("watches", ()) if state.current is not None else ()
    if not watches:
        return
    yield row(Span(f" {count_text(len(watches), 'pinned value')}; W takes one away", "heading"))
    for watch in watches:
        name = Span(f"   %{visible(str(watch['instruction']))}  ", "definition")
        if watch["value"] is None:
            words = "has not run yet" if watch["state"] == "later" else "not on the way here"
            yield row(name, Span(words, "muted"))
            continue
        curve = list(_curve(watch, state.history))
        yield row(name, *summary_spans(watch["value"]), right=curve)


def _curve(watch: Json, history: Iterable[Stop]) -> Iterator[Span]:
    values = []
    for stop in history:
        for one in stop.event.get("watches", ()):
            same = (one["computation"], one["instruction"]) == (watch["computation"], watch["instruction"])
            if same and one["value"] is not None:
                values.append(largest(one["value"]))
    known = [value for value in values if value is not None]
    if len(known) > 1:
        yield Span("max ", "muted")
        yield Span(spark(values, 16), "spark")
        yield Span(f" {number(known[-1])}", "result")
