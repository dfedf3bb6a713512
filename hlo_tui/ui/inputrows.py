"""The rows of the inputs screen: what each parameter is, what else it could be, and what cannot be computed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hlo_tui.dump.words import count_text
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.valuerows import Json, summary_spans

PRESETS = (
    ("auto", "those that the job recorded in a snapshot beside the module; made ones where it recorded none"),
    (
        "made",
        "small numbers within what each use allows (logarithms get positive ones): a NaN then means something",
    ),
    ("zeros", "zeros"),
    ("ones", "ones"),
    ("normal", "normally distributed, mean 0 and deviation 1"),
    ("large", "the whole range of the type, both signs"),
    ("boundary", "zeros, ones, the least and the greatest of the type, both signs"),
)
_UNKNOWN_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Parameter:
    """A row about a parameter."""

    number: int
    name: str


@dataclass(frozen=True, slots=True)
class Preset:
    """A row that begins again on other inputs."""

    name: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """A row about a value that could not be computed, is made, or is supplied; `supplied` is what with."""

    computation: str
    instruction: str
    supplied: str = ""


@dataclass(frozen=True, slots=True)
class InputsView:
    """What is to be shown.

    Attributes:
        start: the event of the start; None until it has begun.
        wanted: which inputs were asked for.
        supplies: what the person gives for values that cannot be computed, in the forms of `supplies.FORMS`.
        unknown: the values that could not be computed so far, as `looks` gives them; None while that is asked.
        edited: what the person put in the place of parameters, by name.
        standins: the file of the person's stand-ins, and whether it is there.
        problem: why the engine did not start.
    """

    start: Json | None
    wanted: str
    supplies: tuple[str, ...]
    unknown: Sequence[Json] | None
    edited: Mapping[str, str]
    standins: tuple[Path, bool]
    problem: str = ""


def build(view: InputsView, width: int) -> list[Row]:
    """All rows."""
    if view.start is None and view.problem:
        return wrap(visible(view.problem), width, "problem", " ")
    if view.start is None:
        return [row(Span(" the engine is being started", "busy"))]
    return [
        *_parameters(view, view.start, width),
        *_presets(view),
        *_unknown(view, view.start, width),
        *_standins(view, width),
    ]


def _parameters(view: InputsView, start: Json, width: int) -> Iterator[Row]:
    kind, file, seed = start.get("inputs"), start.get("inputs_file"), start.get("seed")
    words = f" the inputs are {visible(str(kind))}"
    if kind == "made" and view.wanted not in ("auto", "made"):
        words += f" ({visible(view.wanted)})"
    if seed is not None:
        words += f", seed {seed}"
    yield row(
        Span(words, "strong"), Span(f"; {len(view.edited)} changed by hand" if view.edited else "", "notice")
    )
    if file:
        yield from wrap(f"from {visible(str(file))}", width, "muted", "   ")
    parameters = start.get("parameters") or []
    yield row(
        Span(f" {count_text(len(parameters), 'parameter')}; enter looks at one, e changes it", "heading")
    )
    wide = min(max((len(str(one["name"])) for one in parameters), default=0), width // 3)
    for at, one in enumerate(parameters):
        name = visible(str(one["name"]))
        to = view.edited.get(str(one["name"]))
        use = [Span(visible(str(one["use"])), "notice")] if one.get("use") else []
        yield row(
            Span(f" {at:>4}  ", "count"), Span(f"%{name:<{wide}}  ", "definition"), *summary_spans(one["value"]),
            right=use if to is None else [Span(f"changed to {visible(to)}", "modified")],
            key=Parameter(at, str(one["name"])),
        )  # fmt: skip


def _presets(view: InputsView) -> Iterator[Row]:
    yield row()
    yield row(
        Span(" begin again on other ones: enter; s another seed, l from a file, w writes these", "heading")
    )
    for name, words in PRESETS:
        here = view.wanted == name
        yield row(
            Span(" → " if here else "   ", "accent"), Span(f"{name:<10}", "accent" if here else "strong"),
            Span(words, "muted"), key=Preset(name),
        )  # fmt: skip
    if view.wanted not in {name for name, _ in PRESETS}:
        yield row(Span(" → ", "accent"), Span(visible(view.wanted), "accent"))


def _supplied(start: Json) -> Iterator[Row]:
    """What the person supplies, and what is made by itself because an infeed or a recv waits for it."""
    given: Sequence[Json] = start.get("supplied") or []
    asked = [one for one in given if not one.get("by_itself")]
    made = [one for one in given if one.get("by_itself")]
    if asked:
        yield row(Span(f" {count_text(len(asked), 'value')} supplied; d takes one away", "heading"))
        for one in asked:
            yield _given(one, Unknown(one["computation"], one["instruction"], one["value"]), "strong")
    if made:
        count = count_text(len(made), "value")
        yield row(
            Span(f" {count} made for what waits for the host or a sender; enter supplies one", "heading")
        )
        for one in made:
            yield _given(one, Unknown(one["computation"], one["instruction"]), "muted")


def _given(one: Json, key: Unknown, role: str) -> Row:
    return row(
        Span("   "), Span(f"%{visible(one['instruction'])}", "definition"),
        Span(f"  {visible(one['value'])}", role), Span(f"  in {visible(one['computation'])}", "muted"), key=key,
    )  # fmt: skip


def _unknown(view: InputsView, start: Json, width: int) -> Iterator[Row]:
    yield row()
    yield from _supplied(start)
    if view.unknown is None:
        yield row(Span(" looking for values that could not be computed", "busy"))
        return
    if not view.unknown:
        yield row(Span(" no value has been unknown so far", "muted"))
        return
    count = count_text(len(view.unknown), "value")
    yield row(Span(f" {count} could not be computed so far; enter supplies one", "heading"))
    for one in view.unknown[:_UNKNOWN_SHOWN]:
        target = f" {visible(one['target'])}" if one.get("target") else ""
        yield row(
            Span(" ? ", "missing"), Span(f"%{visible(one['instruction'])}", "definition"),
            Span(f"  {visible(one['shape'])}", "shape"), Span(f"  {visible(one['opcode'])}{target}", "opcode"),
            key=Unknown(one["computation"], one["instruction"]),
        )  # fmt: skip
        yield from wrap(visible(str(one["reason"])), width, "muted", "     ")
    if len(view.unknown) > _UNKNOWN_SHOWN:
        yield row(Span(f"   and {len(view.unknown) - _UNKNOWN_SHOWN:,} more", "muted"))


def _standins(view: InputsView, width: int) -> Iterator[Row]:
    path, there = view.standins
    yield row()
    words = (
        "functions of your own for custom calls, infeed and recv:"
        if there
        else "functions of your own for custom calls, infeed and recv go into"
    )
    yield row(Span(f" {words} ", "muted"), Span(visible(str(path)), "strong"))
    if not there:
        yield from wrap(
            "from hlo_tui.replay.standins import stand_in; @stand_in('target') def f(x, *, backend_config): ... "
            "or @stand_in('infeed') def f(*, backend_config, iteration): ...",
            width, "source", "   ",
        )  # fmt: skip
