"""Two reports of memory beside one another: what grew, what shrank, what is new."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hlo_tui.hlo.amounts import bytes_text
from hlo_tui.hlo.visible import visible
from hlo_tui.memory.report import Owner, Report

_ROWS = 20
_CUT = 90


@dataclass(frozen=True, slots=True)
class Change:
    """Bytes of one thing in both reports; `a` and `b` are 0 where it is not there.

    `values` tells how many values these are, in each.
    """

    name: str
    a: int
    b: int
    values: tuple[int, int] = (0, 0)

    @property
    def change(self) -> int:
        """How much more there is in the second."""
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class Comparison:
    """What differs between two reports.

    Attributes:
        a, b: the reports.
        sums: peak and total, where both have them.
        parts: what takes how much of the total.
        owners: what is in use at the peak, by what makes it: the largest change first.
    """

    a: Report
    b: Report
    sums: tuple[Change, ...]
    parts: tuple[Change, ...]
    owners: tuple[Change, ...]

    @property
    def equal(self) -> bool:
        """Whether nothing changed."""
        return not any(one.change for one in (*self.sums, *self.parts, *self.owners))


def compare(a: Report, b: Report) -> Comparison:
    """Compare two reports; values are the same where op_name and shape are, whatever XLA calls them."""
    sums = [
        Change(name, before, after)
        for name, before, after in (("peak", a.peak, b.peak), ("total", a.total, b.total))
        if before is not None and after is not None
    ]
    parts_a, parts_b = dict(a.parts), dict(b.parts)
    names = dict.fromkeys((*parts_a, *parts_b))
    parts = [Change(name, parts_a.get(name, 0), parts_b.get(name, 0)) for name in names]
    return Comparison(a, b, tuple(sums), tuple(parts), tuple(_owners(a.owners, b.owners)))


def _owners(a: Iterable[Owner], b: Iterable[Owner]) -> list[Change]:
    found: dict[str, list[list[int]]] = defaultdict(lambda: [[], []])
    for side, owners in enumerate((a, b)):
        for owner in owners:
            found[_key(owner)][side].append(owner.size)
    changes = [
        Change(name, sum(sizes[0]), sum(sizes[1]), (len(sizes[0]), len(sizes[1])))
        for name, sizes in found.items()
    ]
    return sorted(changes, key=lambda one: (-abs(one.change), -one.b, one.name))


def _key(owner: Owner) -> str:
    shape = owner.shape.partition("{")[0] if not owner.shape.startswith("(") else owner.shape
    return f"{owner.op_name or owner.opcode or owner.label}  {shape}".strip()


def to_json(found: Comparison) -> dict[str, Any]:
    """The comparison as plain data."""
    return {
        "a": found.a.title,
        "b": found.b.title,
        "equal": found.equal,
        "sums": [_change_json(one) for one in found.sums],
        "parts": [_change_json(one) for one in found.parts],
        "owners": [{**_change_json(one), "values": list(one.values)} for one in found.owners],
        "notes": [*found.a.notes, *found.b.notes],
    }


def _change_json(one: Change) -> dict[str, Any]:
    return {"name": one.name, "a": one.a, "b": one.b, "change": one.change}


def to_text(found: Comparison, top: int = _ROWS) -> str:
    """The comparison for people, safe for a terminal."""
    rows = [f"a  {found.a.title}", f"b  {found.b.title}", "", f"{'':10}{'a':>12}{'b':>12}{'change':>12}"]
    rows += [_row(one.name, one) for one in found.sums]
    rows += ["", *(_row(one.name, one) for one in found.parts)] if found.parts else []
    changed = [one for one in found.owners if one.change]
    rows += ["", "in use at the peak, the largest change first" if changed else "at the peak nothing differs"]
    for one in changed[:top]:
        new = " (new)" if not one.values[0] else " (gone)" if not one.values[1] else ""
        rows.append(
            f"{_signed(one.change):>12}  {bytes_text(one.a)} -> {bytes_text(one.b)}  {one.name[:_CUT]}{new}"
        )
    if len(changed) > top:
        rows.append(f"  ... {len(changed) - top:,} more; --top shows more")
    for side, report in (("a", found.a), ("b", found.b)):
        rows += [f"! {side}: {note}" for note in report.notes]
    return "\n".join(visible(row.rstrip()) for row in rows)


def _row(name: str, one: Change) -> str:
    return f"{name:<10}{bytes_text(one.a):>12}{bytes_text(one.b):>12}{_signed(one.change):>12}"


def _signed(change: int) -> str:
    return f"+{bytes_text(change)}" if change > 0 else bytes_text(change)
