"""The cost of a module as one JSON document, and as lines for people."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hlo_tui.cost.cost import Cost
from hlo_tui.cost.totals import CostReport, Line
from hlo_tui.hlo.amounts import bytes_text, count_of
from hlo_tui.hlo.scopes import summed, walk
from hlo_tui.hlo.visible import visible

_ROWS = 20
_SCOPES = 16
_NARROW = 0.02
_PRECISION = 1e-4


def to_json(report: CostReport, top: int | None = None) -> dict[str, Any]:
    """The report as plain data; lines are counted from 1.

    Args:
        report: what to tell.
        top: how many instructions; all without it.
    """
    return {
        "module": report.title,
        "total": _cost_json(report.total),
        "xla": _cost_json(report.once),
        "instructions": [_line_json(line) for line in report.lines[:top]],
        "by_opcode": {name: _cost_json(cost) for name, cost in _most(report.by_opcode)},
        "scopes": [
            {"depth": depth, "scope": name, "flops": scope.total}
            for depth, name, scope in walk(summed((n, c.flops) for n, c in report.by_op_name.items()), 1)
        ],
        "collectives": [_collective_json(line) for line in report.collectives],
        "notes": report.notes,
    }


def _cost_json(cost: Cost) -> dict[str, float]:
    return {
        "flops": cost.flops,
        "transcendentals": cost.transcendentals,
        "bytes": cost.bytes,
        "unknown": cost.unknown,
    }


def _line_json(line: Line) -> dict[str, Any]:
    return {
        "instruction": line.name,
        "computation": line.computation,
        "opcode": line.opcode,
        "shape": line.shape,
        "op_name": line.op_name,
        "file": line.file or None,
        "line": line.line or None,
        "hlo_line": line.code_line + 1,
        "times": line.times,
        "once": _cost_json(line.once),
        "total": _cost_json(line.total),
    }


def _collective_json(line: Line) -> dict[str, Any]:
    sent = line.collective
    assert sent is not None
    return {
        "instruction": line.name,
        "kind": sent.kind,
        "bytes": sent.size,
        "times": line.times,
        "group": sent.group or None,
        "wire_bytes": sent.wire,
        "replica_groups": sent.groups,
        "channel": sent.channel or None,
        "op_name": line.op_name,
        "file": line.file or None,
        "line": line.line or None,
        "hlo_line": line.code_line + 1,
    }


def _most(costs: dict[str, Cost]) -> list[tuple[str, Cost]]:
    return sorted(costs.items(), key=lambda item: (-item[1].flops, -item[1].bytes, item[0]))


def cost_words(cost: Cost) -> str:
    """A cost in a few words: "8.59 GFLOP, 1.20 M transcendental, 262 KiB"."""
    parts = [count_of(cost.flops, "FLOP")] if cost.flops or not cost.transcendentals else []
    parts += [f"{count_of(cost.transcendentals)} transcendental"] if cost.transcendentals else []
    return ", ".join([*parts, bytes_text(cost.bytes)])


def to_text(report: CostReport, top: int = _ROWS, by: str = "operations") -> str:
    """The report for people, safe for a terminal; `by` is what its lines are ordered by."""
    rows = [report.title, f"total     {cost_words(report.total)}{_intensity(report.total)}"]
    if report.once != report.total:
        rows.append(f"XLA says  {cost_words(report.once)}, which is each loop for one iteration")
    rows += ["", f"the most {by} first", *_lines(report, top)]
    rows += ["", "by opcode", *_opcodes(report)]
    scopes = list(_scopes(report))
    rows += ["", "operations by scope of the op_name", *scopes] if len(scopes) > 1 else []
    sent = report.collectives
    if sent:
        rows += ["", f"collectives {len(sent):,}", *(collective_words(line) for line in sent[:top])]
        rows += [f"  ... {len(sent) - top:,} more; --top shows more"] if len(sent) > top else []
        rows += [_sent(sent)]
    rows += ["", *(f"! {note}" for note in report.notes)] if report.notes else []
    return "\n".join(visible(row.rstrip()) for row in rows)


def agree(cost: Cost, xla: dict[str, float]) -> bool:
    """Whether our count is XLA's, which adds up in single precision."""
    ours = (cost.flops, cost.transcendentals, cost.bytes)
    theirs = (xla["flops"], xla["transcendentals"], xla["bytes accessed"])
    return all(abs(a - b) <= _PRECISION * max(abs(b), 1) for a, b in zip(ours, theirs, strict=True))


def agreement(cost: Cost, xla: dict[str, float]) -> str:
    """Our count against XLA's, in a line."""
    theirs = Cost(xla["flops"], xla["transcendentals"], xla["bytes accessed"])
    if agree(cost, xla):
        return "XLA's own analysis, run here, counts the same"
    why = ": of library calls it says minus one" if cost.unknown or xla["flops"] < cost.flops else ""
    return f"XLA's own analysis, run here, counts {cost_words(theirs)}, not {cost_words(cost)}{why}"


def _intensity(cost: Cost) -> str:
    return f", {cost.flops / cost.bytes:.3g} FLOP a byte" if cost.bytes else ""


def _lines(report: CostReport, top: int) -> Iterator[str]:
    shown = report.lines[:top]
    names = [_cut(f"%{line.name}", 36) for line in shown]
    places = [place_words(line) for line in shown]
    widths = max(map(len, names), default=0), max(map(len, places), default=0)
    whole = report.total.flops or 1
    for line, name, place in zip(shown, names, places, strict=True):
        total = line.total
        share = f"{100 * total.flops / whole:4.1f}%"
        times = f"x{line.times:,.0f}" if line.times != 1 else ""
        yield (
            f"{count_of(total.flops, 'FLOP'):>12} {share} {bytes_text(total.bytes):>10} {times:>6}  "
            f"{name:<{widths[0]}}  {place:<{widths[1]}}  {_cut(line.op_name, 60)}"
        )
    left = report.lines[top:]
    if left:
        rest = sum((line.total for line in left), Cost())
        amounts = f"{count_of(rest.flops, 'FLOP'):>12}       {bytes_text(rest.bytes):>10}"
        yield f"{amounts}         in {len(left):,} more; --top shows more"


def place_words(line: Line) -> str:
    """The program's line, "" where it is not known."""
    return f"{line.file.rsplit('/', 1)[-1]}:{line.line}" if line.file else ""


def _opcodes(report: CostReport) -> Iterator[str]:
    for name, cost in _most(report.by_opcode)[:_SCOPES]:
        transcendental = f"{count_of(cost.transcendentals)} transcendental" if cost.transcendentals else ""
        yield f"{count_of(cost.flops, 'FLOP'):>12} {bytes_text(cost.bytes):>10}  {name:<24} {transcendental}"


def _scopes(report: CostReport) -> Iterator[str]:
    root = summed((name, cost.flops) for name, cost in report.by_op_name.items())
    for number, (depth, name, scope) in enumerate(walk(root, max(1.0, root.total * _NARROW))):
        if number == _SCOPES:
            yield "  ... --json has all"
            return
        share = f"{100 * scope.total / root.total:4.1f}%"
        yield f"{count_of(scope.total, 'FLOP'):>12} {share}  {'  ' * depth}{_cut(name, 70)}"


def collective_words(line: Line) -> str:
    """A collective in one line."""
    sent = line.collective
    assert sent is not None
    group = (
        f" in groups of {sent.group}"
        if sent.group and sent.kind not in ("send", "recv", "collective-permute")
        else ""
    )
    times = f" x{line.times:,.0f}" if line.times != 1 else ""
    wire = f", {bytes_text(sent.wire * line.times)} sent by each" if sent.wire is not None else ""
    place = place_words(line) or line.op_name
    return f"{bytes_text(sent.size * line.times):>10}  {sent.kind} %{line.name}{times}{group}{wire}  {_cut(place, 50)}"


def _sent(lines: list[Line]) -> str:
    total = sum(line.collective.size * line.times for line in lines if line.collective is not None)
    return f"{bytes_text(total):>10}  in all"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
