"""The rows of the screen about operations and bytes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlo_tui.cost.cost import Cost
from hlo_tui.cost.telling import collective_words, cost_words, place_words
from hlo_tui.cost.totals import CostReport, Line
from hlo_tui.hlo.amounts import bytes_text, count_of
from hlo_tui.hlo.scopes import summed, walk
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.glyphs import BARS, MORE, TIMES
from hlo_tui.ui.rows import Row, Span, row, wrap

_WIDE = 100
_LISTED = 1000
_SCOPES = 200
_NARROW_SHARE = 0.005
_BAR = 8


@dataclass(frozen=True, slots=True)
class LineKey:
    """A row about an instruction; `place` tells rows apart."""

    computation: str
    name: str
    line: int
    place: int


def head_rows(report: CostReport, width: int) -> list[Row]:
    """The sums."""
    total = report.total
    intensity = f", {total.flops / total.bytes:.3g} FLOP a byte" if total.bytes else ""
    rows = [row(Span(f" {cost_words(total)}", "strong"), Span(intensity, "muted"))]
    if report.once != total:
        words = f"XLA's own count takes each loop once: {cost_words(report.once)}"
        rows += wrap(words, width - 2, "muted", " ")
    return rows


def columns(width: int) -> Row:
    """What stands above the instructions."""
    bar = f"{'':{_BAR}} " if width >= _WIDE else ""
    return row(Span(f" {'operations':>12} {'':5} {bar}{'bytes':>10} {'times':>8}  instruction", "heading"))


def line_rows(report: CostReport, by_bytes: bool, width: int) -> Iterator[Row]:
    """Instructions; the share is that of what they are ordered by."""
    lines = sorted(report.lines, key=lambda line: -line.total.bytes) if by_bytes else report.lines
    whole = (report.total.bytes if by_bytes else report.total.flops) or 1
    most = (_amount(lines[0], by_bytes) if lines else 1) or 1
    for place, line in enumerate(lines[:_LISTED]):
        total = line.total
        amount = _amount(line, by_bytes)
        bar = f"{BARS[-1] * round(_BAR * amount / most):<{_BAR}} " if width >= _WIDE else ""
        times = f"{TIMES}{line.times:,.0f}" if line.times != 1 else ""
        op_name = (
            f"  {visible(_tail(line.op_name, max(12, width - 85)))}"
            if width >= _WIDE and line.op_name
            else ""
        )
        yield row(
            Span(f" {count_of(total.flops, 'FLOP'):>12} {100 * amount / whole:4.1f}% ", "count"), Span(bar, "spark"),
            Span(f"{bytes_text(total.bytes):>10} {times:>8}  ", "count"),
            Span(visible(f"%{line.name}"), "definition"), Span(op_name, "muted"),
            right=[Span(visible(place_words(line)), "place")],
            key=LineKey(line.computation, line.name, line.code_line, place),
        )  # fmt: skip
    if len(lines) > _LISTED:
        yield row(Span(f"   and {len(lines) - _LISTED:,} more; hlo-tui cost --json has all", "muted"))


def _amount(line: Line, by_bytes: bool) -> float:
    return line.total.bytes if by_bytes else line.total.flops


def opcode_rows(costs: dict[str, Cost], width: int) -> Iterator[Row]:
    """Sums by opcode."""
    most = max((cost.flops for cost in costs.values()), default=1) or 1
    for name, cost in sorted(costs.items(), key=lambda item: (-item[1].flops, -item[1].bytes, item[0])):
        bar = f"{BARS[-1] * round(_BAR * cost.flops / most):<{_BAR}} " if width >= _WIDE else ""
        transcendental = f"  {count_of(cost.transcendentals)} transcendental" if cost.transcendentals else ""
        yield row(
            Span(f" {count_of(cost.flops, 'FLOP'):>12} ", "count"), Span(bar, "spark"),
            Span(f"{bytes_text(cost.bytes):>10}  ", "count"), Span(visible(name), "opcode"),
            Span(transcendental, "muted"), key=("opcode", name),
        )  # fmt: skip


def scope_rows(costs: dict[str, Cost], width: int) -> Iterator[Row]:
    """Operations by scope of the op_name."""
    root = summed((name, cost.flops) for name, cost in costs.items())
    for number, (depth, name, scope) in enumerate(walk(root, max(1.0, root.total * _NARROW_SHARE))):
        if number == _SCOPES:
            yield row(Span(f"   {MORE} hlo-tui cost --json has all", "muted"))
            return
        bar = f"{BARS[-1] * round(_BAR * scope.total / root.total):<{_BAR}} " if width >= _WIDE else ""
        yield row(
            Span(f" {count_of(scope.total, 'FLOP'):>12} {100 * scope.total / root.total:4.1f}% ", "count"),
            Span(bar, "spark"), Span(f"{'  ' * min(depth, 12)}{visible(name)}"), key=("scope", number),
        )  # fmt: skip


def sent_rows(lines: Sequence[Line], width: int) -> Iterator[Row]:
    """Collectives."""
    if not lines:
        yield from wrap("No device sends anything to another in this stage.", width - 2, "muted", " ")
    for place, line in enumerate(lines):
        yield row(
            Span(f" {visible(collective_words(line))}"),
            key=LineKey(line.computation, line.name, line.code_line, place),
        )


def note_rows(report: CostReport, width: int) -> Iterator[Row]:
    """What was left out."""
    for note in report.notes:
        yield from wrap(visible(note), width - 2, "warning", " ")


def _tail(text: str, room: int) -> str:
    return text if len(text) <= room else f"{MORE}{text[len(text) - room + 1 :]}"
