"""Which instruction of one module is which of another, kept small: only what a name does not tell by itself."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from hlo_tui.passes.changes import Modified, Place
from hlo_tui.passes.regions import Node, Side, same_source

# How an instruction was found again.
SAME, RENAMED, MOVED, FUSED = "same", "renamed", "moved", "fused"
REPLACED, MERGED, ABSORBED = "replaced", "merged", "absorbed"
# How sure that is.
CERTAIN, LIKELY, GUESS = "certain", "likely", "guess"
_SURE = {
    SAME: CERTAIN, RENAMED: CERTAIN, MOVED: CERTAIN, FUSED: CERTAIN, MERGED: LIKELY, REPLACED: LIKELY, ABSORBED: GUESS,
}  # fmt: skip
_DEEPEST = 4

Name = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Link:
    """An instruction in the other module.

    Attributes:
        place: where it is; opcode and shape are "" where they are those it had.
        how: SAME, RENAMED, MOVED (into another computation), FUSED (a fusion or call, and the instruction whose
            value it gives), REPLACED (another stands in its place), MERGED (one that was there already does) or
            ABSORBED (what used it was replaced).
        change: what changed in it, None where nothing did.
    """

    place: Place
    how: str
    change: Modified | None = None

    @property
    def sure(self) -> str:
        """CERTAIN, LIKELY or GUESS."""
        if self.how in (RENAMED, MOVED) and self.change is not None:
            return LIKELY
        return _SURE[self.how]


class Links:
    """The instructions of two modules, from each to the other.

    Attributes:
        computations: the partner of each computation of the first module that has one.
    """

    def __init__(self) -> None:
        self.computations: dict[str, str] = {}
        self._origins: dict[str, str] = {}
        self._after: dict[Name, Place | None] = {}
        self._before: dict[Name, Place | None] = {}
        self._wraps: tuple[dict[Name, Place], dict[Name, Place]] = ({}, {})
        self._stand_ins: dict[Name, tuple[Place, str]] = {}
        self._stood_for: dict[Name, list[tuple[Name, str]]] = defaultdict(list)
        self._changes: dict[Name, Modified] = {}

    def finish(self, computations: dict[str, str], modified: list[Modified]) -> None:
        """Take the pairs of computations and what changed in pairs of instructions."""
        self.computations = computations
        self._origins = {b: a for a, b in computations.items()}
        self._changes = {(change.b.computation, change.b.name): change for change in modified}
        for name, (place, how) in self._stand_ins.items():
            self._stood_for[place.computation, place.name].append((name, how))

    def take(self, a: Side, b: Side) -> None:
        """Take what was found out in one region."""
        for side, found in ((a, self._after), (b, self._before)):
            for node in side.nodes:
                partner = node.partner
                if partner is None:
                    found[node.block.name, node.name] = None
                elif partner.name != node.name or node.block is not side.main:
                    place = Place(
                        partner.block.name, partner.name, partner.parsed.opcode, partner.parsed.shape
                    )
                    found[node.block.name, node.name] = place
        for side, other, wraps in ((a, b, self._wraps[0]), (b, a, self._wraps[1])):
            for node in side.nodes:
                inner = node.passes
                if inner is not None and node.partner is None:
                    if isinstance(inner, str):
                        wraps[node.block.name, node.name] = Place(other.main.name, inner[1:])
                    elif inner.partner is not None:
                        wraps[node.block.name, node.name] = _place(inner.partner)
        self._stand_in(a, b)

    def _stand_in(self, a: Side, b: Side) -> None:
        """What is used now in the places of what is gone."""
        left = []
        for node in a.nodes:
            if node.partner is None and node.passes is None:
                found = _successor(node, a, b)
                if found is None:
                    left.append(node)
                else:
                    self._stand_ins[node.block.name, node.name] = found
        for node in reversed(left):
            for user in node.users:
                known = self._stand_ins.get((user.block.name, user.name))
                if known is not None:
                    self._stand_ins[node.block.name, node.name] = (known[0], ABSORBED)
                    break

    def after(self, computation: str, name: str) -> list[Link]:
        """What an instruction of the first module became; nothing where it is gone without a trace."""
        place = self._other(self._after, self.computations, computation, name)
        if place is not None:
            return [self._link(Place(computation, name), place, place)]
        if (computation, name) in self._wraps[0]:
            return [Link(self._wraps[0][computation, name], FUSED)]
        found = self._stand_ins.get((computation, name))
        return [] if found is None else [Link(*found)]

    def before(self, computation: str, name: str) -> list[Link]:
        """What an instruction of the second module was, with those that it replaced or that were merged into it."""
        place = self._other(self._before, self._origins, computation, name)
        found = [] if place is None else [self._link(place, Place(computation, name), place)]
        if (computation, name) in self._wraps[1]:
            found = [Link(self._wraps[1][computation, name], FUSED)]
        gone = self._stood_for.get((computation, name), ())
        return found + [Link(Place(*one), how) for one, how in gone if how != ABSORBED]

    def _link(self, a: Place, b: Place, place: Place) -> Link:
        change = self._changes.get((b.computation, b.name))
        if self.computations.get(a.computation) != b.computation:
            return Link(place, MOVED, change)
        return Link(place, SAME if a.name == b.name else RENAMED, change)

    @staticmethod
    def _other(
        known: dict[Name, Place | None], computations: dict[str, str], computation: str, name: str
    ) -> Place | None:
        if (computation, name) in known:
            return known[computation, name]
        partner = computations.get(computation)
        return None if partner is None else Place(partner, name)


def _successor(node: Node, a: Side, b: Side) -> tuple[Place, str] | None:
    """What the users of a node that is gone use in its place."""
    if node.instead is not None:
        return _place(node.instead), REPLACED
    for user, place in zip(node.users, node.places, strict=True):
        other = user.partner
        if other is not None and len(other.sources) == len(user.sources):
            if _took_over(node, user, other, place):
                return _place(other), MERGED
            return _stands(other.sources[place], b)
    if a.root is node:
        return _stands(b.root, b)
    return None


def _took_over(node: Node, user: Node, other: Node, place: int) -> bool:
    """Whether a user that passes a node by changed in other ways too: then it does the node's work."""
    passed_by = any(same_source(source, other.sources[place]) for source in node.sources)
    if not passed_by:
        return False
    rest = [at for at in range(len(user.sources)) if user.sources[at] is not node]
    changed = any(_differ(user.sources[at], other.sources[at], _DEEPEST) for at in rest)
    return changed or user.parsed.label != other.parsed.label


def _differ(a: Node | str, b: Node | str, depth: int) -> bool:
    """Whether two values are computed differently, as far as a look at a few steps tells."""
    if isinstance(a, str) or isinstance(b, str) or depth == 0:
        return a != b and depth > 0
    if not same_source(a, b) or a.parsed.label != b.parsed.label or len(a.sources) != len(b.sources):
        return True
    return any(_differ(x, y, depth - 1) for x, y in zip(a.sources[:8], b.sources[:8], strict=True))


def _stands(source: Node | str, b: Side) -> tuple[Place, str] | None:
    if isinstance(source, str):
        return (Place(b.main.name, source[1:]), MERGED) if source.startswith("=") else None
    return _place(source), REPLACED if source.partner is None else MERGED


def _place(node: Node) -> Place:
    return Place(node.block.name, node.name, node.parsed.opcode, node.parsed.shape)
