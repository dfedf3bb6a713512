"""The rows of a difference between two modules: alike changes as one, opened into the two texts of each place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from hlo_tui.dump.words import count_text
from hlo_tui.hlo.visible import decode, visible
from hlo_tui.passes.blocks import Text
from hlo_tui.passes.changes import Diff, Place, Swallowed, counts, fold
from hlo_tui.passes.changes import Row as Change
from hlo_tui.passes.links import Links
from hlo_tui.ui.glyphs import FOLDED, MINUS, MORE, OPEN, TIMES
from hlo_tui.ui.rows import Row, Span, row, wrap

# From so many columns on the two texts stand side by side.
WIDE = 140
_SIGNS = {"+": ("+", "added"), "-": (MINUS, "removed"), "~": ("~", "modified")}
# Changes that are opened at first where there are no more, and places of one that are shown at a time.
_FEW, PLACES = 12, 40
_LONGEST = 4000
# What does not matter to what an instruction computes, and fills the row.
_METADATA = re.compile(r', metadata=\{[^{}"]*+(?:"(?:[^"\\]|\\.)*+"[^{}"]*+)*+\}')
_WORD = re.compile(r"[\w.\-]+|\s+|.", re.S)


@dataclass(frozen=True, slots=True)
class Compared:
    """Two modules with what differs.

    Attributes:
        a, b: their names, for the head.
        texts: what they are.
        diff: all that differs.
        links: which instruction is which.
        hidden: kinds of changes that are left out of `shown` and `changes`.
        shown: what differs without those.
        changes: that, alike changes as one.
        kinds: how many instructions changed in each way, hidden ones too.
        replaced: what took the place of an instruction that is gone, by computation and name.
    """

    a: str
    b: str
    texts: tuple[Text, Text]
    diff: Diff
    links: Links
    hidden: frozenset[str] = frozenset()
    shown: Diff = field(default_factory=Diff)
    changes: tuple[Change, ...] = ()
    kinds: Mapping[str, int] = field(default_factory=dict)
    replaced: Mapping[tuple[str, str], Place] = field(default_factory=dict)

    def hide(self, hidden: frozenset[str]) -> Compared:
        """The same with other kinds of changes left out; takes time where there are very many."""
        shown = self.diff.without(hidden)
        replaced = {(one.a.computation, one.a.name): one.b for one in shown.replaced}
        kinds = counts(self.diff.modified)
        return replace(
            self, hidden=hidden, shown=shown, changes=tuple(fold(shown)), kinds=kinds, replaced=replaced
        )


@dataclass(frozen=True, slots=True)
class DiffView:
    """How a difference is shown.

    Attributes:
        turned: the changes that are not as they are at first: opened, or folded.
        beside: whether the texts stand side by side; None for what the width allows.
        more: how many places are shown of a change, where that is not `PLACES`.
    """

    turned: frozenset[Fold] = frozenset()
    beside: bool | None = None
    more: tuple[tuple[Fold, int], ...] = ()

    def places(self, fold: Fold) -> int:
        """How many places of a change are shown."""
        return dict(self.more).get(fold, PLACES)


@dataclass(frozen=True, slots=True)
class Fold:
    """A row that opens into places: a change, by sign and text; a fusion, by its name."""

    sign: str
    text: str


@dataclass(frozen=True, slots=True)
class More:
    """A row that shows more places of a change."""

    fold: Fold


@dataclass(frozen=True, slots=True)
class Spot:
    """A row about an instruction: of the first module (0) or the second (1). `row` tells rows apart."""

    side: int
    computation: str
    name: str
    row: int


def build(found: Compared, view: DiffView, width: int) -> list[Row]:
    """All rows of a difference."""
    rows = list(_head(found, width))
    diff = found.shown
    if diff.equal:
        words = "nothing else differs" if found.hidden and not found.diff.equal else "nothing differs"
        more = (
            f" but names: {count_text(diff.renamed, 'instruction')} under other names" if diff.renamed else ""
        )
        return [*rows, row(), row(Span(f"  {words}{more}", "good"))]
    beside = width >= WIDE if view.beside is None else view.beside
    opened = _is_short(found)
    for change in found.changes:
        key = Fold(change.sign, change.text)
        unfolded = opened != (key in view.turned)
        rows.append(_change(change, key, unfolded, width))
        if unfolded:
            rows += _places(found, change, found.replaced, view.places(key), beside, width)
            hidden = len(change.places) - view.places(key)
            if hidden > 0:
                rows.append(
                    row(Span(f"       {MORE} {hidden:,} more: enter shows them", "fold"), key=More(key))
                )
    rows += _swallowed(found, view, opened, width)
    return rows


def is_open(found: Compared, view: DiffView, key: Fold) -> bool:
    """Whether a change shows its places."""
    return _is_short(found) != (key in view.turned)


def _is_short(found: Compared) -> bool:
    return sum(min(len(change.places), PLACES) for change in found.changes) <= _FEW


def _head(found: Compared, width: int) -> Iterator[Row]:
    yield from wrap(f"a  {visible(found.a)}", width, "removed", " ")
    yield from wrap(f"b  {visible(found.b)}", width, "added", " ")
    diff = found.diff
    parts = [
        Span(f" +{len(diff.added):,} added", "added"),
        Span(f"   {MINUS}{len(diff.removed):,} removed", "removed"),
        Span(f"   ~{len(diff.modified):,} changed", "modified"),
        Span(f"   {diff.renamed:,} under other names" if diff.renamed else "", "muted"),
    ]
    yield row(*parts)
    kinds = [
        f"{kind} {count:,}{' hidden' if kind in found.hidden else ''}" for kind, count in found.kinds.items()
    ]
    if kinds:
        yield from wrap(f"by kind: {', '.join(kinds)}", width, "muted", " ")
    if not diff.names and not diff.equal:
        yield row(Span(" names mean nothing between the two: matched by what is computed alone", "muted"))
    yield row()
    for one in found.shown.header:
        yield from wrap(f"header {one.key}", width, "heading", " ")
        if one.a:
            yield from wrap(visible(one.a[:_LONGEST]), width, "removed", f"   {MINUS} ")
        if one.b:
            yield from wrap(visible(one.b[:_LONGEST]), width, "added", "   + ")


def _change(change: Change, key: Fold, unfolded: bool, width: int) -> Row:
    sign, role = _SIGNS[change.sign]
    times = f"{len(change.places):,} {TIMES}" if len(change.places) > 1 else ""
    place, other = change.places[0]
    was = f"%{visible(other.name)} → " if other is not None and other.name != place.name else ""
    name = f"{was}%{visible(place.name)}"
    if len(change.places) > 1:
        name += f" {MORE}"
    text = visible(change.text)
    room = width - 14 - min(len(name), width // 3)
    if len(text) > room:
        text = text[: max(8, room - 1)] + MORE
    return row(
        Span(f" {OPEN if unfolded else FOLDED} ", "fold"), Span(f"{sign} ", role),
        Span(f"{times:>7} ", "count"), Span(text), right=[Span(name, "name")], key=key,
    )  # fmt: skip


def _places(
    found: Compared,
    change: Change,
    replaced: Mapping[tuple[str, str], Place],
    most: int,
    beside: bool,
    width: int,
) -> Iterator[Row]:
    for number, (place, other) in enumerate(change.places[:most]):
        if change.sign == "~" and other is not None:
            yield from _both(found, other, place, number, beside, width, "metadata" in change.text)
        elif change.sign == "-":
            instead = replaced.get((place.computation, place.name))
            if instead is not None:
                yield from _both(found, place, instead, number, beside, width, False)
            else:
                yield _one(found, 0, place, number, width)
        else:
            yield _one(found, 1, place, number, width)


def _one(found: Compared, side: int, place: Place, number: int, width: int) -> Row:
    sign, role = _SIGNS["-+"[side]]
    text = _METADATA.sub("", _text(found.texts[side], place))
    after = found.links.after(place.computation, place.name) if side == 0 else []
    where = f"→ %{visible(after[0].place.name)}, {after[0].how}" if after else visible(place.computation)
    room = width - 9 - len(where)
    shown = text if len(text) <= room else text[: max(8, room - 1)] + MORE
    return row(
        Span(f"     {sign} ", role), Span(shown, role), right=[Span(where, "name" if after else "computation")],
        key=Spot(side, place.computation, place.name, number),
    )  # fmt: skip


def _both(
    found: Compared, a: Place, b: Place, number: int, beside: bool, width: int, in_full: bool
) -> Iterator[Row]:
    old, new = _text(found.texts[0], a), _text(found.texts[1], b)
    if not in_full:
        old, new = _METADATA.sub("", old), _METADATA.sub("", new)
    room = (width - 10) // 2 if beside else width - 8
    left, right = differing(old, new, room)
    if beside:
        line = [*left, Span(" " * max(0, room - sum(len(span.text) for span in left))), Span(" │ ", "rule")]
        yield row("    ", *line, *right, key=Spot(1, b.computation, b.name, number))
        return
    yield row(Span(f"     {MINUS} ", "removed"), *left, key=Spot(0, a.computation, a.name, number))
    yield row(Span("     + ", "added"), *right, key=Spot(1, b.computation, b.name, number))


def differing(old: str, new: str, room: int) -> tuple[list[Span], list[Span]]:
    """Two texts in at most `room` columns each, what differs in the roles of removed and added.

    Where that would be out of sight, what is alike is left out at the beginning.
    """
    a, b = _WORD.findall(old), _WORD.findall(new)
    most = min(len(a), len(b))
    begin = next((at for at in range(most) if a[at] != b[at]), most)
    end = next((at for at in range(most - begin) if a[-1 - at] != b[-1 - at]), most - begin)
    return _cut(a, begin, len(a) - end, room, "removed"), _cut(b, begin, len(b) - end, room, "added")


def _cut(words: Sequence[str], begin: int, end: int, room: int, role: str) -> list[Span]:
    head, middle, tail = "".join(words[:begin]), "".join(words[begin:end]), "".join(words[end:])
    if len(head) + len(middle) > room and len(head) > room // 3:
        # The name stays, so that one knows what it is about.
        keep = room // 3
        drop = min(len(head) - keep, len(head) + len(middle) - room + 1)
        head = head[: max(0, keep - 1)] + MORE + head[keep + drop :] if drop > 0 else head
    spans = []
    for text, in_role in ((head, "muted"), (middle, role), (tail, "muted")):
        if len(text) > room:
            spans.append(Span(text[: max(0, room - 1)] + (MORE if room > 0 else ""), in_role))
            break
        spans.append(Span(text, in_role))
        room -= len(text)
    return [span for span in spans if span.text]


def _text(text: Text, place: Place) -> str:
    """The text of an instruction, as far as it can be shown."""
    data = raw(text, place)
    return decode(data[:_LONGEST]).strip().removeprefix("ROOT ") if data else f"%{visible(place.name)}"


def raw(text: Text, place: Place) -> bytes:
    """The bytes of an instruction's line, empty where it is not there."""
    block = text.blocks.get(place.computation)
    at = None if block is None else block.index.get(place.name)
    return b"" if block is None or at is None else block.rows[at]


def _swallowed(found: Compared, view: DiffView, opened: bool, width: int) -> Iterator[Row]:
    fusions = found.shown.swallowed
    if not fusions:
        return
    yield row()
    yield row(Span(" fusions and calls", "heading"))
    for one in fusions[:PLACES]:
        key = Fold("fusion", one.caller.name)
        unfolded = opened != (key in view.turned)
        yield _fusion(one, key, unfolded, width)
        side = 0 if one.dissolved else 1
        for number, (a, b) in enumerate(one.pairs if unfolded else ()):
            name, other = (a, f"   is %{visible(b)} now") if one.dissolved else (b, f"   was %{visible(a)}")
            yield row(
                Span(f"        %{visible(name)}", "name"), Span(other if a != b else "", "muted"),
                key=Spot(side, one.computation, name, number),
            )  # fmt: skip
    if len(fusions) > PLACES:
        yield row(Span(f"   {MORE} {len(fusions) - PLACES:,} more", "muted"))


def _fusion(one: Swallowed, key: Fold, unfolded: bool, width: int) -> Row:
    verb = "let go" if one.dissolved else "took in"
    names = ", ".join(f"%{visible(b if one.dissolved else a)}" for a, b in one.pairs) or "nothing"
    text = f"{verb} {len(one.pairs)}: {names}"
    room = width - 8 - len(one.caller.name)
    return row(
        Span(f" {OPEN if unfolded else FOLDED} ", "fold"), Span(f"%{visible(one.caller.name)} ", "name"),
        Span(text if len(text) <= room else text[: max(8, room - 1)] + MORE, "muted"), key=key,
    )  # fmt: skip
