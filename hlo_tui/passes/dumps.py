"""Two dumps compared: their modules paired by name and structure, and each pair stage by stage."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from hlo_tui.dump.listing import Listing, load
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.dump.names import canonical
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.blocks import Text
from hlo_tui.passes.contents import Contents, Interner, Token
from hlo_tui.passes.diff import Found, found_in
from hlo_tui.passes.stages import open_stage, readable_stages
from hlo_tui.passes.tables import table


@dataclass(frozen=True, slots=True)
class Pair:
    """A module that both dumps have."""

    a: Module
    b: Module


@dataclass(frozen=True, slots=True)
class Pairing:
    """The modules of two dumps: those of both, and those that only one has."""

    pairs: tuple[Pair, ...]
    only_a: tuple[Module, ...]
    only_b: tuple[Module, ...]


def pair_modules(a: Listing, b: Listing) -> Pairing:
    """Pair the modules of two dumps.

    Numbers mean nothing between two runs. Of modules of one name those are paired that begin as the same
    program, then those with the same arguments, and then one after the other.
    """
    interner = Interner()
    sides = [_by_name(listing) for listing in (a, b)]
    pairs: list[Pair] = []
    for name, some in sides[0].items():
        others = sides[1].get(name, [])
        if len(some) == len(others) == 1:
            pairs.append(Pair(some.pop(), others.pop()))
            continue
        known = [
            {id(m): _signs(listing, m, interner) for m in ms} for listing, ms in ((a, some), (b, others))
        ]
        for sign in (0, 1, 2):
            for module in list(some):
                wanted = known[0][id(module)][sign]
                other = next((one for one in others if known[1][id(one)][sign] == wanted), None)
                if other is not None:
                    pairs.append(Pair(module, other))
                    some.remove(module)
                    others.remove(other)
    left = [tuple(module for modules in side.values() for module in modules) for side in sides]
    return Pairing(tuple(pairs), left[0], left[1])


def _by_name(listing: Listing) -> dict[str, list[Module]]:
    found: dict[str, list[Module]] = defaultdict(list)
    for module in listing.catalog.modules:
        if readable_stages(module):
            found[canonical(module.name)].append(module)
    return found


def _signs(listing: Listing, module: Module, interner: Interner) -> tuple[Token, Token, Token]:
    """By what a module is known again: its first stage's contents, its arguments, and nothing."""
    try:
        text = Text(open_stage(listing, readable_stages(module)[0]))
    except HloTuiError:
        return ("unreadable",), ("unreadable",), None
    if text.entry is None:
        return ("empty",), ("empty",), None
    content = Contents(text, frozenset(), interner).token(text.entry.name)
    return content, text.outline.header.entry_layout, None


def compare_dumps(a: str, b: str, hidden: Collection[str] = ()) -> tuple[dict[str, Any], str]:
    """Compare two dumps.

    Args:
        a, b: the directories.
        hidden: kinds of changes to leave out.

    Returns:
        What `diff --json` gives, and the same as text.

    Raises:
        HloTuiError: one of them cannot be looked at.
    """
    sides = load(a), load(b)
    pairing = pair_modules(*sides)
    compared = list(compare_pairs(*sides, pairing.pairs, hidden))
    return to_json(pairing, compared), to_text(pairing, compared)


def compare_pairs(
    a: Listing, b: Listing, pairs: Collection[Pair], hidden: Collection[str] = ()
) -> Iterator[Compared]:
    """Compare each pair at the stages that both have: before the optimizations, and after them."""
    for pair in pairs:
        for x, y in _same_stages(pair):
            try:
                texts = Text(open_stage(a, x)), Text(open_stage(b, y))
            except HloTuiError as error:
                yield Compared(pair, x, y, None, error.title)
                continue
            yield Compared(pair, x, y, found_in(x.main.path, y.main.path, *texts, hidden))


@dataclass(frozen=True, slots=True)
class Compared:
    """One stage of one pair: what differs, or why it cannot be told."""

    pair: Pair
    a: Stage
    b: Stage
    found: Found | None
    problem: str = ""

    @property
    def words(self) -> str:
        """The difference in a few characters."""
        if self.found is None:
            return self.problem
        diff = self.found.diff
        if diff.equal:
            return "equal"
        numbers = f"+{len(diff.added)} -{len(diff.removed)} ~{len(diff.modified)}"
        return numbers + (" header" if diff.header else "")


def _same_stages(pair: Pair) -> Iterator[tuple[Stage, Stage]]:
    for kind in ("before", "after"):
        found = [
            next((s for s in readable_stages(m) if s.point.kind == kind), None) for m in (pair.a, pair.b)
        ]
        if found[0] is not None and found[1] is not None:
            yield found[0], found[1]


def to_json(pairing: Pairing, compared: list[Compared]) -> dict[str, Any]:
    """Two dumps as `diff --json` gives them: modules take the places of instructions."""
    differing: dict[int, list[Compared]] = defaultdict(list)
    for one in compared:
        if one.found is None or not one.found.diff.equal:
            differing[id(one.pair)].append(one)
    return {
        "equal": not (pairing.only_a or pairing.only_b or differing),
        "added": [name_of(module) for module in pairing.only_b],
        "removed": [name_of(module) for module in pairing.only_a],
        "modified": [
            {
                "a": name_of(found[0].pair.a),
                "b": name_of(found[0].pair.b),
                "what": [f"{one.a.point.kind}: {one.words}" for one in found],
            }
            for found in differing.values()
        ],
        "renamed": 0,
        "modules": [{"a": name_of(pair.a), "b": name_of(pair.b)} for pair in pairing.pairs],
    }


def name_of(module: Module) -> str:
    """A module's name and number."""
    return module.name if module.id is None else f"{module.name}#{module.id}"


def to_text(pairing: Pairing, compared: list[Compared]) -> str:
    """Two dumps for people, a line for each pair that differs."""
    by_pair: dict[int, list[Compared]] = defaultdict(list)
    for one in compared:
        by_pair[id(one.pair)].append(one)
    rows = []
    equal = 0
    for pair in pairing.pairs:
        found = by_pair[id(pair)]
        if all(one.words == "equal" for one in found):
            equal += 1
        else:
            rows.append(
                (
                    name_of(pair.a),
                    name_of(pair.b),
                    "   ".join(f"{one.a.point.kind} {one.words}" for one in found),
                )
            )
    lines = table([("a", "b", "differs"), *rows]) if rows else []
    lines += [f"{equal} of {len(pairing.pairs)} modules are equal at the stages that both dumps have"]
    for modules, which in ((pairing.only_a, "a"), (pairing.only_b, "b")):
        if modules:
            lines.append(f"only in {which}: {visible(', '.join(map(name_of, modules)))}")
    return "\n".join(lines)
