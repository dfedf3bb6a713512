"""Two modules, or all modules of two dumps, compared for people and scripts."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.loading import open_document
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.blocks import Reader, Text
from hlo_tui.passes.changes import Diff, Place, Row, Swallowed, fold
from hlo_tui.passes.compare import Comparison

_ROWS = 60
_NAMES = 4


@dataclass(frozen=True, slots=True)
class Found:
    """A comparison of two modules, with what is needed to tell of it.

    Attributes:
        a, b: what was compared.
        diff: what differs.
        shared_names: names that several instructions of the first module have, and of the second.
    """

    a: str
    b: str
    diff: Diff
    shared_names: tuple[frozenset[str], frozenset[str]] = field(default=(frozenset(), frozenset()))

    def name(self, place: Place, side: int) -> str:
        """An instruction's name; with its computation's where the module has several of that name."""
        return f"{place.computation}/{place.name}" if place.name in self.shared_names[side] else place.name


def diff_files(a: Path, b: Path, hidden: Collection[str] = ()) -> Found:
    """Compare the modules in two files.

    Raises:
        HloTuiError: one of them cannot be read as HLO.
    """
    reader = Reader()
    texts = [Text(open_document(path).source, reader) for path in (a, b)]
    for path, text in zip((a, b), texts, strict=True):
        if text.entry is None:
            raise HloTuiError("no computation in the file", visible(os.fspath(path)))
    return found_in(str(a), str(b), texts[0], texts[1], hidden)


def found_in(a: str, b: str, x: Text, y: Text, hidden: Collection[str] = ()) -> Found:
    """Compare two modules that are read already."""
    diff = Comparison(x, y).run().without(hidden)
    return Found(a, b, diff, (_shared_names(x), _shared_names(y)))


def _shared_names(text: Text) -> frozenset[str]:
    names = Counter(name for block in text.blocks.values() for name in block.names)
    return frozenset(name for name, count in names.items() if count > 1)


def to_json(found: Found) -> dict[str, Any]:
    """The difference as `diff --json` gives it."""
    diff = found.diff
    return {
        "equal": diff.equal,
        "added": [found.name(place, 1) for place in diff.added],
        "removed": [found.name(place, 0) for place in diff.removed],
        "modified": [
            {
                "a": found.name(change.a, 0),
                "b": found.name(change.b, 1),
                "what": list(change.what),
                "details": dict(zip(change.what, change.details, strict=True)),
            }
            for change in diff.modified
        ],
        "renamed": diff.renamed,
        "replaced": [{"a": found.name(one.a, 0), "b": found.name(one.b, 1)} for one in diff.replaced],
        "fusions": [_swallowed_json(found, one) for one in diff.swallowed if not one.dissolved],
        "inlined": [_swallowed_json(found, one) for one in diff.swallowed if one.dissolved],
        "header": [{"key": one.key, "a": one.a, "b": one.b} for one in diff.header],
        "rows": [
            {"sign": row.sign, "text": row.text, "count": len(row.places), "names": list(_names(found, row))}
            for row in fold(diff)
        ],
        "names_stay": diff.names,
    }


def _swallowed_json(found: Found, one: Swallowed) -> dict[str, Any]:
    return {
        "name": found.name(one.caller, 0 if one.dissolved else 1),
        "computation": one.computation,
        "instructions": [b if one.dissolved else a for a, b in one.pairs],
    }


def to_text(found: Found) -> str:
    """The difference for people: alike changes in one line, what is in most places first."""
    diff = found.diff
    lines = [f"a  {visible(found.a)}", f"b  {visible(found.b)}", ""]
    if diff.equal:
        renamed = f", {count_text(diff.renamed, 'instruction')} under other names" if diff.renamed else ""
        return "\n".join([*lines, f"no difference{renamed}"])
    numbers = (
        f"+ {len(diff.added):,} added",
        f"- {len(diff.removed):,} removed",
        f"~ {len(diff.modified):,} modified",
        f"{diff.renamed:,} under other names",
    )
    lines += ["   ".join(numbers), ""]
    lines += [f"header  {one.key}: {one.a[:80] or 'none'} → {one.b[:80] or 'none'}" for one in diff.header]
    rows = fold(diff)
    for row in rows[:_ROWS]:
        names = list(_names(found, row))
        more = f" and {len(names) - _NAMES} more" if len(names) > _NAMES else ""
        lines.append(f"{row.sign} {len(row.places):>5,} × {row.text}   {', '.join(names[:_NAMES])}{more}")
    if len(rows) > _ROWS:
        lines.append(f"... {len(rows) - _ROWS:,} more lines: --json has all")
    lines += _swallowed_lines(found)
    return "\n".join(visible(line) for line in lines)


def _names(found: Found, row: Row) -> Iterator[str]:
    for place, other in row.places:
        name = found.name(place, 0 if row.sign == "-" else 1)
        was = "" if other is None else found.name(other, 0)
        yield f"{was} → {name}" if was and was != name else name


def _swallowed_lines(found: Found) -> list[str]:
    lines = []
    for one in found.diff.swallowed[:_ROWS]:
        inside = [b if one.dissolved else a for a, b in one.pairs]
        more = f" and {len(inside) - _NAMES} more" if len(inside) > _NAMES else ""
        verb = "let go" if one.dissolved else "took in"
        lines.append(f"{one.caller.name} {verb}: {', '.join(inside[:_NAMES]) or 'nothing'}{more}")
    hidden = len(found.diff.swallowed) - _ROWS
    lines += [f"... {hidden:,} more fusions and calls: --json has all"] if hidden > 0 else []
    return ["", *lines] if lines else []
