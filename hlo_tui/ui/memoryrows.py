"""The rows of the memory screen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlo_tui.hlo.amounts import bytes_text
from hlo_tui.hlo.scopes import summed, walk
from hlo_tui.hlo.visible import visible
from hlo_tui.memory.assignment import Allocation
from hlo_tui.memory.comparing import Comparison
from hlo_tui.memory.report import Lost, Owner, Report
from hlo_tui.memory.telling import lost_words, name_words
from hlo_tui.memory.timeline import Timeline
from hlo_tui.ui.glyphs import BARS, MORE
from hlo_tui.ui.rows import Row, Span, row, wrap

_WIDE, _TALL = 100, 30
_NARROW_SHARE = 0.01
_SCOPES = 200
_OWNERS, _ALLOCATIONS = 300, 1000
_NAMED = 24
_LABEL = 11
_BAR = 8


@dataclass(frozen=True, slots=True)
class OwnerKey:
    """A row about a value; `place` tells rows apart."""

    owner: Owner
    place: int


@dataclass(frozen=True, slots=True)
class LostKey:
    """A row about a donation."""

    lost: Lost


@dataclass(frozen=True, slots=True)
class AllocationKey:
    """A row about an allocation."""

    index: int


def head_rows(report: Report, width: int) -> list[Row]:
    """The sums in the first row; what takes how much below."""
    parts = []
    if report.peak is not None:
        words = "peak, estimated " if report.estimated else "needed " if report.rounded else "peak "
        parts += [Span(f" {words}", "muted"), Span(bytes_text(report.peak), "strong")]
    if report.limit is not None:
        parts += [
            Span(" of ", "muted"),
            Span(bytes_text(report.limit), "bad"),
            Span(" that there are", "muted"),
        ]
    if report.wanted is not None:
        parts += [Span("   failed to allocate ", "muted"), Span(bytes_text(report.wanted), "bad")]
    if report.total is not None:
        parts += [Span("   allocated ", "muted"), Span(bytes_text(report.total), "strong")]
    if report.timeline is not None:
        parts += [Span("   all the time ", "muted"), Span(bytes_text(report.timeline.base), "strong")]
    rows = [row(*parts)]
    kinds = ", ".join(f"{words} {bytes_text(size)}" for words, size in report.parts)
    return rows + (wrap(visible(kinds), width - 1, "muted", " ")[:2] if kinds else [])


def plot_rows(line: Timeline, columns: Sequence[int], at: int, width: int, height: int) -> list[Row]:
    """Memory over the schedule as bars, with a sign at the moment that is looked at.

    `columns` is what `plot_columns` gave for this width.
    """
    most = max(max(columns), 1)
    here = column_of(line, at, width)
    rows = []
    for number in range(height, 0, -1):
        label = bytes_text(most * number / height) if number in (height, (height + 1) // 2) else ""
        spans = [Span(f"{label:>{_LABEL - 1}} ", "count")]
        signs = "".join(_bar(amount / most * height - (number - 1)) for amount in columns)
        spans += [
            Span(signs[:here], "spark"),
            Span(signs[here : here + 1], "standing"),
            Span(signs[here + 1 :], "spark"),
        ]
        rows.append(row(*spans))
    name = visible(line.sequence[at]) if at < len(line.sequence) else ""
    words = f"{at:,} of {len(line.sequence):,}  %{name}  {bytes_text(line.live[at]) if at < len(line.live) else ''}"
    words += "  the peak" if at == line.peak_at else ""
    pointer = f"{'':{_LABEL + here}}↑"
    if _LABEL + here + 2 + len(words) <= width:
        rows.append(row(Span(f"{pointer} ", "standing"), Span(words, "strong")))
    else:
        left = max(0, _LABEL + here - len(words) - 1)
        rows.append(row(Span(f"{'':{left}}{words} ", "strong"), Span("↑", "standing")))
    return rows


def _bar(filled: float) -> str:
    eighths = max(0, min(8, round(filled * 8)))
    return BARS[eighths - 1] if eighths else " "


def plot_columns(line: Timeline, width: int) -> list[int]:
    """The most bytes of each column's stretch."""
    count, room = len(line.live), max(1, width - _LABEL - 1)
    if not count:
        return [line.base]
    columns = min(room, count)
    found = [
        max(line.live[count * at // columns : max(count * (at + 1) // columns, count * at // columns + 1)])
        for at in range(columns)
    ]
    # A few places get several columns each.
    times = max(1, min(room // count, 6))
    return [amount for amount in found for _ in range(times)]


def column_of(line: Timeline, at: int, width: int) -> int:
    """The column in which a place is."""
    count, room = max(1, len(line.live)), max(1, width - _LABEL - 1)
    columns = min(room, count)
    times = max(1, min(room // count, 6))
    column = at * columns // count
    # The stretches are rounded down: the place may be the first of the next.
    while column + 1 < columns and count * (column + 1) // columns <= at:
        column += 1
    return column * times


def step_of(line: Timeline, width: int) -> int:
    """How many places one column stands for."""
    return max(1, -(-len(line.live) // max(1, width - _LABEL - 1)))


def owner_rows(owners: Sequence[Owner], whole: int, width: int) -> Iterator[Row]:
    """Values, two rows each: how much, what and where; and why. `whole` is what all there are take together."""
    for place, owner in enumerate(owners[:_OWNERS]):
        share = f"{100 * owner.size / whole:4.1f}%" if whole else ""
        shape = owner.shape.partition("{")[0] if not owner.shape.startswith("(") else owner.shape
        where = _where(owner)
        yield row(
            Span(f" {bytes_text(owner.size):>9} {share} ", "count"),
            Span(f"{_bars(owner.size, owners[0].size)} ", "spark") if width >= _WIDE else Span(""),
            Span(visible(name_words(owner)), "definition" if owner.instruction else "text"),
            Span(f"  {visible(shape)}", "shape"),
            right=[Span(visible(where), "place")] if where else (),
            key=OwnerKey(owner, place),
        )
        why = "  ".join(
            part for part in (owner.why, _tail(owner.op_name, max(20, width - len(owner.why) - 22))) if part
        )
        if why:
            yield row(Span(f"{'':18}{visible(why)}", "muted"))
    left = whole - sum(owner.size for owner in owners)
    if left > 0:
        yield row(
            Span(f" {bytes_text(left):>9} {'':5} ", "count"), Span("in smaller ones, or not listed", "muted")
        )


def _bars(size: int, most: int) -> str:
    return f"{BARS[-1] * max(1, round(_BAR * size / most)) if most else '':<{_BAR}}"


def _where(owner: Owner) -> str:
    if not owner.file:
        return ""
    return f"{owner.file.rsplit('/', 1)[-1]}:{owner.line}"


def _tail(text: str, room: int) -> str:
    """The end of a text, which tells more of an op_name than its beginning."""
    return text if len(text) <= room else f"{MORE}{text[len(text) - room + 1 :]}"


def scope_rows(owners: Sequence[Owner], whole: int, width: int) -> Iterator[Row]:
    """Bytes by scope; `whole` is what all there are take together."""
    amounts = [(owner.op_name or f"({owner.kind or 'not named'})", owner.size) for owner in owners]
    left = whole - sum(owner.size for owner in owners)
    root = summed([*amounts, ("(smaller ones, or not listed)", left)] if left > 0 else amounts)
    least = max(1.0, root.total * _NARROW_SHARE)
    for number, (depth, name, scope) in enumerate(walk(root, least)):
        if number == _SCOPES:
            yield row(Span(f"{'':18}{MORE}", "muted"))
            return
        share = f"{100 * scope.total / root.total:4.1f}%"
        bar = f"{_bars(int(scope.total), int(root.total))} " if width >= _WIDE else ""
        yield row(
            Span(f" {bytes_text(scope.total):>9} {share} ", "count"), Span(bar, "spark"),
            Span(f"{'  ' * min(depth, 12)}{visible(name)}"), key=("scope", number),
            right=[Span(f"{scope.count:,}", "count")],
        )  # fmt: skip


def lost_rows(found: Sequence[Lost], width: int) -> Iterator[Row]:
    """Donations that are lost."""
    if not found:
        yield from wrap(
            "No donated argument of this stage is copied, and none is left over; what the program never donated "
            "is not listed.", width - 2, "muted", " ",
        )  # fmt: skip
    for one in found:
        words = lost_words(one)
        yield row(Span(f" {words[:10]}", "count"), Span(visible(words[10:])), key=LostKey(one))


def map_rows(allocations: Sequence[Allocation], opened: frozenset[int], width: int) -> Iterator[Row]:
    """Allocations, the largest first; an unfolded one with what lies in it, by offset."""
    if not allocations:
        yield from wrap(
            "Only a buffer assignment says what XLA allocates; none is here.", width - 2, "muted", " "
        )
    for one in sorted(allocations, key=lambda one: (-one.size, one.index))[:_ALLOCATIONS]:
        words = one.kind
        if one.parameter is not None:
            words += f" {one.parameter}{one.shape_index if one.shape_index != '{}' else ''}"
            words += ", and a result" if one.live_out else ""
        words += f", memory space {one.color}" if one.color else ""
        held = f"{len(one.values):,} values" if len(one.values) != 1 else visible(f"%{one.values[0].name}")
        yield row(
            Span(f" {bytes_text(one.size):>9} ", "count"), Span(f"{one.index:>5} ", "line_number"), Span(words),
            Span(f"  {held}", "muted"), key=AllocationKey(one.index),
        )  # fmt: skip
        if one.index in opened:
            yield from _held(one, width)
    if len(allocations) > _ALLOCATIONS:
        yield row(Span(f"{'':11}and {len(allocations) - _ALLOCATIONS:,} smaller ones", "muted"))


def _held(one: Allocation, width: int) -> Iterator[Row]:
    room = max(8, width - 60)
    values = sorted(one.values, key=lambda value: (value.offset, -value.size))
    for value in values[:400]:
        begin = value.offset * room // max(1, one.size)
        end = max(begin + 1, (value.offset + value.size) * room // max(1, one.size))
        name = visible(value.label.removesuffix("{}"))
        yield row(
            Span(f"{'':12}{value.offset:>14,} {bytes_text(value.size):>9} ", "count"),
            Span(f"%{name[:_NAMED]:<{_NAMED}} "),
            Span(" " * begin + BARS[3] * (end - begin), "spark"),
            key=OwnerKey(Owner(value.size, name, value.name), value.id),
        )  # fmt: skip
    if len(values) > 400:
        yield row(Span(f"{'':27}{MORE} and {len(values) - 400:,} more", "muted"))


def note_rows(report: Report, width: int) -> Iterator[Row]:
    """What else is to be said."""
    for note in report.notes:
        yield from wrap(visible(note), width - 2, "warning", " ")
    if report.sources:
        yield from wrap(visible(f"from {', '.join(report.sources)}"), width - 2, "muted", " ")


def comparison_rows(found: Comparison, width: int) -> Iterator[Row]:
    """What differs from another report."""
    yield row(Span(" here   ", "muted"), Span(visible(found.a.title)))
    yield row(Span(" there  ", "muted"), Span(visible(found.b.title)))
    yield row(Span(f"{'':20}{'here':>12}{'there':>12}{'change':>12}", "heading"))
    for one in (*found.sums, *found.parts):
        role = "added" if one.change > 0 else "removed" if one.change < 0 else "text"
        yield row(
            Span(f" {visible(one.name)[:18]:<19}{bytes_text(one.a):>12}{bytes_text(one.b):>12}"),
            Span(f"{_signed(one.change):>12}", role),
        )
    yield row()
    changed = [one for one in found.owners if one.change]
    if not changed:
        yield row(Span(" what is in use at the peak is the same", "good"))
    for number, one in enumerate(changed[:_SCOPES]):
        role = "added" if one.change > 0 else "removed"
        new = "new " if not one.values[0] else "gone " if not one.values[1] else ""
        yield row(
            Span(f"{_signed(one.change):>12} ", role), Span(new, "strong"),
            Span(visible(_tail(one.name, max(20, width - 48)))), key=("change", number),
            right=[Span(f"{bytes_text(one.a)} → {bytes_text(one.b)}", "count")],
        )  # fmt: skip


def _signed(change: int) -> str:
    return f"+{bytes_text(change)}" if change > 0 else bytes_text(change)


def plot_height(height: int) -> int:
    """How many rows the plot gets of a screen."""
    return 7 if height >= _TALL else 4
