"""A report of memory as one JSON document, and as lines for people."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.amounts import bytes_text
from hlo_tui.hlo.scopes import Scope, summed, walk
from hlo_tui.hlo.visible import visible
from hlo_tui.memory.assignment import Allocation
from hlo_tui.memory.report import Lost, Owner, Report
from hlo_tui.memory.timeline import Timeline

BARS = " ▁▂▃▄▅▆▇█"
_ROWS = 20
_SCOPES = 16
_WIDTH = 72
_CUT = 60
_STRETCHED = 4
_NARROW = 0.02


def to_json(report: Report, top: int | None = None) -> dict[str, Any]:
    """The report as plain data; lines are counted from 1, sizes are bytes.

    Args:
        report: what to tell.
        top: how many owners; all without it.
    """
    return {
        "module": report.title,
        "sources": list(report.sources),
        "estimated": report.estimated,
        "rounded": report.rounded,
        "peak": report.peak,
        "peak_at": None if report.peak_at < 0 else report.peak_at,
        "total": report.total,
        "limit": report.limit,
        "wanted": report.wanted,
        "parts": dict(report.parts),
        "owners": [_owner_json(owner) for owner in report.owners[:top]],
        "scopes": [
            {"depth": depth, "scope": name, "bytes": int(scope.total), "values": scope.count}
            for depth, name, scope in walk(by_scope(report), 1)
        ],
        "lost_donations": [_lost_json(lost) for lost in report.lost],
        "allocations": [_allocation_json(one) for one in report.allocations],
        "timeline": _timeline_json(report.timeline),
        "xla_live_range_peak": (
            {"at": report.listed_peak[0], "bytes": report.listed_peak[1]} if report.listed_peak else None
        ),
        "notes": list(report.notes),
    }


def moment_json(report: Report, place: int, top: int | None = None) -> dict[str, Any]:
    """What is in use at one place of the schedule, as plain data."""
    line = report.timeline
    owners = report.at(place, top if top is not None else sys.maxsize)
    return {
        "module": report.title,
        "at": place,
        "instruction": line.sequence[place] if line is not None else None,
        "bytes": line.live[place] if line is not None else report.peak,
        "owners": [_owner_json(owner) for owner in owners],
    }


def moment_text(report: Report, place: int, top: int = _ROWS) -> str:
    """The same for people."""
    line = report.timeline
    owners = report.at(place, top)
    whole = line.live[place] if line is not None else report.peak
    name = f" of {len(line.sequence):,} %{line.sequence[place]}" if line is not None else ""
    rows = [report.title, f"at {place:,}{name}   {_size(report, whole or 0)}", ""]
    rows += _table(owners, whole or 1)
    return "\n".join(visible(row.rstrip()) for row in rows)


def place_of(report: Report, wanted: str) -> int:
    """The place in the schedule that a person means by a number or an instruction's name.

    Raises:
        HloTuiError: there is none, or no schedule is known.
    """
    line = report.timeline
    if line is None:
        raise HloTuiError(
            "no schedule is known here", visible(report.title), "it takes live ranges, or the module"
        )
    name = wanted.lstrip("%")
    if name in line.sequence:
        return line.sequence.index(name)
    if name.isascii() and name.isdigit() and len(name) < 10 and int(name) < len(line.sequence):
        return int(name)
    last = len(line.sequence) - 1
    raise HloTuiError(
        f"no place {visible(wanted)!r}", visible(report.title), f"give an instruction, or 0 to {last:,}"
    )


def _owner_json(owner: Owner) -> dict[str, Any]:
    return {
        "bytes": owner.size,
        "value": owner.label,
        "instruction": owner.instruction or None,
        "computation": owner.computation or None,
        "opcode": owner.opcode or None,
        "shape": owner.shape,
        "op_name": owner.op_name,
        "file": owner.file or None,
        "line": owner.line or None,
        "function": owner.function or None,
        "kind": owner.kind,
        "why": owner.why,
        "hlo_line": owner.code_line + 1 or None,
        "unpadded": owner.unpadded,
    }


def _lost_json(lost: Lost) -> dict[str, Any]:
    return {
        "parameter": lost.parameter,
        "index": lost.index,
        "name": lost.name,
        "bytes": lost.size,
        "output": lost.output or None,
        "copies": list(lost.copies),
        "readers": list(lost.readers),
        "op_name": lost.op_name,
        "hlo_line": lost.code_line + 1 or None,
    }


def _allocation_json(one: Allocation) -> dict[str, Any]:
    return {
        "index": one.index,
        "bytes": one.size,
        "kind": one.kind,
        "parameter": one.parameter,
        "shape_index": one.shape_index or None,
        "live_out": one.live_out,
        "color": one.color,
        "values": [
            {
                "value": value.label.removesuffix("{}"),
                "offset": value.offset,
                "bytes": value.size,
                "shape": value.shape,
            }
            for value in one.values
        ],
    }


def _timeline_json(line: Timeline | None) -> dict[str, Any] | None:
    if line is None:
        return None
    return {"base": line.base, "instructions": list(line.sequence), "bytes": list(line.live)}


def by_scope(report: Report) -> Scope:
    """The owners' bytes, summed up by the scopes of their op_names; what has none by what it is for."""
    return summed((owner.op_name or f"({owner.kind or 'not named'})", owner.size) for owner in report.owners)


def to_text(report: Report, top: int = _ROWS, width: int = _WIDTH) -> str:
    """The report for people, the biggest owner first; safe for a terminal."""
    rows = [*_head(report), "", *_owners(report, top)]
    scopes = list(_scopes(report))
    rows += ["", "by scope of the op_name", *scopes] if len(scopes) > 1 else []
    if report.timeline is not None and len(report.timeline.live) > 1:
        rows += ["", *plot(report.timeline, width)]
    if report.lost:
        rows += ["", "donated, and copied or not used all the same", *map(lost_words, report.lost[:top])]
        rows += [f"  ... {len(report.lost) - top:,} more"] if len(report.lost) > top else []
    rows += _allocations(report, top)
    if report.notes:
        rows += ["", *(f"! {note}" for note in report.notes)]
    return "\n".join(visible(row.rstrip()) for row in rows)


def _head(report: Report) -> Iterator[str]:
    yield f"{report.title}   from {', '.join(report.sources)}"
    biggest = report.owners[0] if report.owners else None
    if biggest is not None:
        parts = [bytes_text(biggest.size), name_words(biggest), place_words(biggest)]
        parts += [biggest.op_name] if biggest.file else []
        yield "biggest   " + "  ".join(_cut(word, 100) for word in parts if word)
    if report.peak is not None:
        at = ""
        if report.timeline is not None and 0 <= report.peak_at < len(report.timeline.sequence):
            sequence = report.timeline.sequence
            at = f" at {report.peak_at:,} of {len(sequence):,} %{sequence[report.peak_at]}"
        words = "estimated " if report.estimated else "needed " if report.limit or report.rounded else ""
        limit = f" of {bytes_text(report.limit)} that there are" if report.limit is not None else ""
        yield f"peak      {words}{_size(report, report.peak)}{limit}{at}"
    elif report.limit is not None:
        yield f"limit     {bytes_text(report.limit)}"
    if report.listed_peak is not None and report.timeline is not None:
        place, size = report.listed_peak
        # To find the moment XLA weighs the whole tuple for each of its elements.
        yield f"listed    {_size(report, size)} at {place:,} in XLA's live ranges, which look for it more coarsely"
    if report.wanted is not None:
        yield f"failed    to allocate {bytes_text(report.wanted)}"
    if report.total is not None:
        yield f"total     {_size(report, report.total)}"
    if report.parts:
        yield "parts     " + ", ".join(f"{words} {bytes_text(size)}" for words, size in report.parts)


def _size(report: Report, size: int) -> str:
    return bytes_text(size) if report.rounded or size < 1024 else f"{bytes_text(size)} ({size:,} bytes)"


def name_words(owner: Owner) -> str:
    """What a value is called: with a percent sign where it is an instruction."""
    return f"%{owner.label}" if owner.instruction else owner.label


def place_words(owner: Owner) -> str:
    """The program's line of a value, else its op_name, else nothing."""
    if owner.file:
        name = owner.file.rsplit("/", 1)[-1]
        return f"{name}:{owner.line} {owner.function}".rstrip()
    return owner.op_name


def _owners(report: Report, top: int) -> Iterator[str]:
    if not report.owners:
        yield "no value is listed"
        return
    whole = report.peak or sum(owner.size for owner in report.owners) or 1
    yield "in use at the peak, the largest first" if report.peak is not None else "the largest first"
    yield from _table(report.owners[:top], whole)
    left = report.owners[top:]
    if left:
        yield f"{bytes_text(sum(owner.size for owner in left)):>10}        in {len(left):,} more; --top shows more"


def _table(shown: Sequence[Owner], whole: int) -> Iterator[str]:
    names = [_cut(name_words(owner), 36) for owner in shown]
    places = [_cut(place_words(owner) if owner.file else "", 30) for owner in shown]
    widths = max(map(len, names), default=0), max(map(len, places), default=0)
    for owner, name, place in zip(shown, names, places, strict=True):
        share = f"{100 * owner.size / whole:4.1f}%"
        shape = _cut(owner.shape.partition("{")[0] if not owner.shape.startswith("(") else owner.shape, 28)
        yield f"{bytes_text(owner.size):>10} {share}  {name:<{widths[0]}}  {place:<{widths[1]}}  {shape}"
        for words in (owner.op_name, owner.why):
            if words:
                yield f"{'':18}{_cut(words, 100)}"


def _scopes(report: Report) -> Iterator[str]:
    root = by_scope(report)
    least = max(1.0, root.total * _NARROW)
    for number, (depth, name, scope) in enumerate(walk(root, least)):
        if number == _SCOPES:
            yield "  ... --json has all"
            return
        yield f"{bytes_text(scope.total):>10} {100 * scope.total / root.total:4.1f}%  {'  ' * depth}{_cut(name, _CUT)}"


def plot(line: Timeline, width: int, height: int = 6) -> list[str]:
    """Memory over the schedule as bars: each column is the most of its stretch, rows count from the top."""
    columns = columns_of(line, width)
    most = max(max(columns), 1)
    rows = []
    for row in range(height, 0, -1):
        signs = []
        for amount in columns:
            filled = amount / most * height - (row - 1)
            signs.append(BARS[max(0, min(8, round(filled * 8)))])
        label = bytes_text(most * row / height) if row in (height, (height + 1) // 2) else ""
        rows.append(f"{label:>10} {''.join(signs)}")
    return [
        f"live bytes over the schedule; {bytes_text(line.base)} are there all the time",
        *rows,
        f"{'':11}instructions 0 to {len(line.sequence) - 1:,}, the peak at {line.peak_at:,}",
    ]


def columns_of(line: Timeline, width: int) -> list[int]:
    """The timeline in at most `width` columns, each with the most of its stretch; few places take several each."""
    count = len(line.live)
    if not count:
        return []
    width = max(1, min(width, count * max(1, min(width // count, _STRETCHED))))
    return [
        max(line.live[count * at // width : max(count * (at + 1) // width, count * at // width + 1)])
        for at in range(width)
    ]


def lost_words(lost: Lost) -> str:
    """A lost donation in one line."""
    part = "" if lost.index == "{}" else lost.index
    name = f"argument {lost.parameter}{part} %{lost.name}"
    called = f" ({lost.op_name})" if lost.op_name and lost.op_name != lost.name else ""
    if not lost.output:
        return f"{bytes_text(lost.size):>10}  {name}{called}: no result lies in it"
    copies = ", ".join(f"%{copy}" for copy in lost.copies)
    result = f"result {lost.output}" if lost.output != "{}" else "the result"
    readers = f"; also read by {', '.join(f'%{reader}' for reader in lost.readers)}" if lost.readers else ""
    return (
        f"{bytes_text(lost.size):>10}  {name}{called}: {result} lies in it, and {copies} copies it{readers}"
    )


def _allocations(report: Report, top: int) -> Iterator[str]:
    if len(report.allocations) < 2:
        return
    counts: dict[str, list[Allocation]] = defaultdict(list)
    for one in report.allocations:
        counts[one.kind].append(one)
    yield ""
    yield f"allocations {len(report.allocations):,}"
    for kind, same in sorted(counts.items(), key=lambda item: -sum(one.size for one in item[1])):
        size = bytes_text(sum(one.size for one in same))
        donated = sum(one.parameter is not None and one.live_out for one in same)
        words = f", {donated:,} also hold a result" if donated else ""
        yield f"{size:>10}  {len(same):,} {kind}{words}"
    temporary = max(report.allocations, key=lambda one: (one.kind == "temporary", one.size))
    if temporary.kind == "temporary" and len(temporary.values) > 1:
        yield f"in allocation {temporary.index}, by offset"
        for begin, end, held in _stretches(temporary)[: top // 2]:
            yield f"{begin:>14,} to {end:,}  {bytes_text(end - begin)}  {_cut(held, _CUT)}"


def _stretches(allocation: Allocation) -> list[tuple[int, int, str]]:
    """Offsets (begin, end) at which values lie, with the values that take turns there; the largest first."""
    places: dict[tuple[int, int], list[str]] = defaultdict(list)
    for value in allocation.values:
        places[value.offset, value.offset + value.size].append(value.label.removesuffix("{}"))
    rows = [
        (
            begin,
            end,
            ", ".join(f"%{name}" for name in names[:3])
            + (f" and {len(names) - 3} more" if len(names) > 3 else ""),
        )
        for (begin, end), names in places.items()
    ]
    return sorted(rows, key=lambda row: (row[0] - row[1], row[0]))


def modules_text(rows: Sequence[tuple[int, str]], most: int = 10) -> str:
    """What each module of a dump allocates, the most first."""
    lines = ["modules by what they allocate"]
    lines += [f"{bytes_text(size) if size else '?':>10}  {name}" for size, name in rows[:most]]
    if len(rows) > most:
        lines.append(f"{'':12}... {len(rows) - most:,} more; --json lists all")
    return "\n".join(map(visible, lines))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
