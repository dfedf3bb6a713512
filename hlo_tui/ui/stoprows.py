"""The rows of the list of stops: what each one means in the module that is open, and how often it was met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hlo_tui.dump.words import count_text
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.meaning import MOST, Meaning, Spot
from hlo_tui.replay.stopspec import StopSpec
from hlo_tui.ui.glyphs import BAD, DISABLED, FOLDED, OPEN, STOP, TAGGED
from hlo_tui.ui.rows import Row, Span, row

if TYPE_CHECKING:
    from hlo_tui.replay.session import Stop


@dataclass(frozen=True, slots=True)
class OfStop:
    """A row about a stop."""

    spec: StopSpec


@dataclass(frozen=True, slots=True)
class AtSpot:
    """A row about one instruction that a stop means."""

    spec: StopSpec
    spot: Spot


@dataclass(frozen=True, slots=True)
class StopsView:
    """How the list is to be shown.

    Attributes:
        specs: the stops, but for those that only switch a tag off.
        off: the places of tags that are switched off, by computation and instruction.
        meant: what the stops mean in the open module.
        met: the stops of the replay so far; none where another module is replayed.
        everywhere: the stop that holds in every module, if there is one.
        unfolded: the stops whose instructions are listed.
        module: the module's name.
        ends: the places at which stops for the ends of blocks stop; None while that is not known.
    """

    specs: tuple[StopSpec, ...]
    off: frozenset[tuple[str, str]]
    meant: Mapping[StopSpec, Meaning]
    met: tuple[Stop, ...] = ()
    everywhere: StopSpec | None = None
    unfolded: frozenset[StopSpec] = frozenset()
    module: str = ""
    ends: frozenset[tuple[str, str]] | None = None


def stops_view(
    specs: tuple[StopSpec, ...],
    meant: Mapping[StopSpec, Meaning],
    met: tuple[Stop, ...],
    everywhere: StopSpec | None,
    unfolded: frozenset[StopSpec],
    module: str,
    found: Iterable[Mapping[str, object]] | None = None,
) -> StopsView:
    """The view of some stops; `found` is what a replay found them to mean, see `State.stops`."""
    off, shown = [], []
    tags = {spot for spec in specs if spec.kind == "tags" for spot in meant.get(spec, Meaning()).spots}
    for spec in specs:
        spots = meant.get(spec, Meaning()).spots
        if spec.kind == "instruction" and not spec.enabled and spots and tags.issuperset(spots):
            off += [spot[:2] for spot in spots]
        else:
            shown.append(spec)
    places = None
    if found is not None:
        places = frozenset((str(one["computation"]), str(one["instruction"])) for one in found)
    return StopsView(tuple(shown), frozenset(off), meant, met, everywhere, unfolded, module, places)


def build(view: StopsView) -> list[Row]:
    """All rows of the list."""
    rows = [row(Span(f" what a replay of {visible(view.module)} stops at", "heading"))]
    by_spec = Counter(str(stop.event.get("spec", "")) for stop in view.met)
    by_place = Counter((stop.computation, stop.instruction) for stop in view.met)
    for spec in view.specs:
        rows += _stop(view, spec, by_spec[spec.text()], by_place)
    if not view.specs:
        rows.append(row(Span(" nothing: a adds a stop, b in the code sets one at the cursor", "muted")))
    rows += [
        row(),
        row(Span(" A stop is one of these; with `if CONDITION` behind it it holds only then:", "muted")),
    ]  # fmt: skip
    for form, words in FORMS:
        rows.append(row(Span(f"   {form:<24}", "strong"), Span(words, "muted")))
    return rows


FORMS = (
    ("%mul.3  region_0/mul.3", "an instruction, alone or with its computation"),
    ("op:dot", "all of an opcode"),
    ("name:mlp.*mul", "op_name matches a regular expression"),
    ("line:model.py:88", "what a Python line made"),
    ("tag:KEY  tag:KEY=VALUE", "operations with a tag of your own"),
    ("collectives", "what devices talk to each other with"),
    ("first:nonfinite!mask", "where a NaN or infinity begins; !REGEX leaves names out"),
    ("...@ends  ...@once", "only the first and last of a block; only one time"),
    ("... if abs>1e4", "conditions: nan, inf, abs, min, max, mean, std, zero, iteration, hits"),
)


def _stop(
    view: StopsView, spec: StopSpec, hits: int, by_place: Mapping[tuple[str, str], int]
) -> Iterator[Row]:
    meant = view.meant.get(spec)
    many = meant is not None and (len(meant.spots) > 1 or spec.kind == "tags")
    unfolded = many and (spec in view.unfolded or spec.kind == "tags")
    fold = (OPEN if unfolded else FOLDED) if many and spec.kind != "tags" else " "
    sign, role = _sign(spec, view.everywhere)
    title = "tagged operations" if spec.kind == "tags" else spec.place_text()
    title += f" if {spec.condition}" if spec.condition else ""
    spans = [
        Span(f" {fold} ", "fold"),
        Span(f"{sign} ", role),
        Span(visible(title), "strong" if spec.enabled else "muted"),
    ]
    if spec.ends:
        spans.append(Span("  first and last", "tag"))
    if spec.once:
        spans.append(Span("  once", "tag"))
    if not spec.enabled:
        spans.append(Span("  off", "notice"))
    spans += _everywhere(spec) if spec == view.everywhere else _meaning(meant)
    yield row(*spans, right=_hits(hits), key=OfStop(spec))
    if unfolded and meant is not None:
        for spot in meant.spots:
            yield _spot(view, spec, spot, by_place.get(spot[:2], 0))
        if len(meant.spots) == MOST:
            yield row(Span("       and more", "muted"))


def _sign(spec: StopSpec, everywhere: StopSpec | None) -> tuple[str, str]:
    if not spec.enabled:
        return DISABLED, "disabled"
    if spec == everywhere or spec.kind == "first":
        return BAD, "nan"
    return (TAGGED, "tagged") if spec.kind == "tags" else (STOP, "stop")


def _everywhere(spec: StopSpec) -> Iterable[Span]:
    yield Span("  in every module, until it is deleted", "muted")
    if spec.detail:
        yield Span(f"; leaves {visible(spec.detail)} out in this one alone", "notice")


def _meaning(meant: Meaning | None) -> Iterable[Span]:
    if meant is None:
        return [Span("  being looked for", "busy")]
    if meant.everywhere:
        return [Span("  wherever one begins", "muted")]
    if meant.nothing:
        return [Span("  nothing in this module is that", "notice")]
    if len(meant.spots) == 1 and meant.complete:
        return [Span(f"  %{visible(meant.spots[0].instruction)}", "definition"), _line(meant.spots[0])]
    more = " and more" if not meant.complete else ""
    return [Span(f"  {count_text(len(meant.spots), 'operation')}{more}", "muted")]


def _spot(view: StopsView, spec: StopSpec, spot: Spot, hits: int) -> Row:
    off = spec.kind == "tags" and (spot[:2] in view.off or not spec.enabled)
    sign = Span(f"     {DISABLED if off else TAGGED} ", "disabled" if off else "tagged")
    inside = spec.ends and view.ends is not None and spot[:2] not in view.ends
    return row(
        sign if spec.kind == "tags" and (off or not inside) else Span("       "),
        Span(f"%{visible(spot.instruction)}", "muted" if off or inside else "definition"),
        Span(f"  in {visible(spot.computation)}", "computation"),
        _line(spot),
        Span("  off" if off else "", "notice"),
        right=_hits(hits),
        key=AtSpot(spec, spot),
    )


def _line(spot: Spot) -> Span:
    return Span(f"  line {spot.line + 1:,}", "line_number")


def _hits(count: int) -> list[Span]:
    return [Span(f"met {count:,} × ", "count")] if count else []
