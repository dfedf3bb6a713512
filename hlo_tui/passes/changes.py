"""What differs between two modules, instruction by instruction: the values that a comparison gives."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

# Kinds of changes that have names of their own; any other kind is the key of an attribute.
OPCODE, SHAPE, VALUE, OPERANDS, CALLED, ROOT = "opcode", "shape", "value", "operands", "called", "root"
ATTRIBUTES = "attributes"


@dataclass(frozen=True, slots=True)
class Place:
    """One instruction of one of the modules."""

    computation: str
    name: str
    opcode: str = ""
    shape: str = ""


@dataclass(frozen=True, slots=True)
class Modified:
    """An instruction that is in both modules and not the same.

    Attributes:
        a, b: where it is in each.
        what: the kinds of the changes: those above, "layout", "sharding", "metadata", "frontend_attributes",
            "backend_config", "control-predecessors", "origin", or the key of an attribute.
        details: for each of them what it was and what it is, "" where only the fact is told.
        own: of `what`, those that are attributes the value depends on.
    """

    a: Place
    b: Place
    what: tuple[str, ...]
    details: tuple[str, ...] = ()
    own: tuple[str, ...] = ()

    def without(self, hidden: Collection[str]) -> Modified | None:
        """The same without some kinds; None where nothing is left."""
        kept = [
            (kind, detail)
            for kind, detail in zip(self.what, self.details, strict=True)
            if kind not in hidden and not (ATTRIBUTES in hidden and kind in self.own)
        ]
        if not kept:
            return None
        return replace(
            self, what=tuple(kind for kind, _ in kept), details=tuple(detail for _, detail in kept)
        )


@dataclass(frozen=True, slots=True)
class Swallowed:
    """A fusion or a call that only one of the modules has, and the instructions in it that both have.

    Attributes:
        caller: the fusion or call.
        computation: what it calls.
        pairs: the names of the instructions inside, in the first module and in the second.
        dissolved: whether it is the first module that has it.
    """

    caller: Place
    computation: str
    pairs: tuple[tuple[str, str], ...]
    dissolved: bool = False


@dataclass(frozen=True, slots=True)
class Replaced:
    """An instruction that is gone, and a new one with another name that stands in its place."""

    a: Place
    b: Place


@dataclass(frozen=True, slots=True)
class HeaderChange:
    """A part of the module's header that differs; "" where it is missing."""

    key: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Diff:
    """Everything that differs.

    Attributes:
        added: instructions of the second module alone.
        removed: instructions of the first module alone.
        modified: instructions of both that changed.
        replaced: of the removed ones those that an added one took the place of.
        swallowed: fusions and calls that took instructions in, or let them go.
        header: what changed in the header.
        renamed: how many instructions are the same under another name.
        names: whether a name meant the same in both modules, as in stages of one compilation.
    """

    added: tuple[Place, ...] = ()
    removed: tuple[Place, ...] = ()
    modified: tuple[Modified, ...] = ()
    replaced: tuple[Replaced, ...] = ()
    swallowed: tuple[Swallowed, ...] = ()
    header: tuple[HeaderChange, ...] = ()
    renamed: int = 0
    names: bool = True

    @property
    def equal(self) -> bool:
        """Whether nothing differs but names, numbers and order."""
        return not (self.added or self.removed or self.modified or self.header)

    def without(self, hidden: Collection[str]) -> Diff:
        """The same without some kinds of changes; "attributes" are all that values depend on."""
        if not hidden:
            return self
        kept = (change.without(hidden) for change in self.modified)
        header = tuple(
            change for change in self.header if not ("layout" in hidden and change.key.endswith("_layout"))
            and change.key not in hidden
        )  # fmt: skip
        return replace(self, modified=tuple(change for change in kept if change), header=header)


@dataclass(frozen=True, slots=True)
class Row:
    """Changes that are alike, one row for all of them.

    Attributes:
        sign: "+", "-" or "~".
        text: what changed, without names.
        places: where, in the second module, or in the first one for what it alone has.
    """

    sign: str
    text: str
    places: tuple[tuple[Place, Place | None], ...]


def fold(diff: Diff) -> list[Row]:
    """The changes as rows, alike ones as one; what is changed in most places first."""
    rows: dict[tuple[str, str], list[tuple[Place, Place | None]]] = {}

    def add(sign: str, text: str, place: Place, other: Place | None = None) -> None:
        rows.setdefault((sign, text), []).append((place, other))

    for place in diff.removed:
        add("-", f"{place.opcode} {place.shape}", place)
    for place in diff.added:
        add("+", f"{place.opcode} {place.shape}", place)
    for change in diff.modified:
        add("~", _change_text(change), change.b, change.a)
    found = [Row(sign, text, tuple(places)) for (sign, text), places in rows.items()]
    return sorted(found, key=lambda row: -len(row.places))


def _change_text(change: Modified) -> str:
    parts = [f"{kind} {detail}".strip() for kind, detail in zip(change.what, change.details, strict=True)]
    opcode = "" if OPCODE in change.what else f"{change.b.opcode} {change.b.shape}: "
    return opcode + "; ".join(parts)


def counts(changes: Sequence[Modified]) -> dict[str, int]:
    """How many of the changed instructions changed in each way, the most frequent first."""
    found: dict[str, int] = {}
    for change in changes:
        for kind in change.what:
            found[kind] = found.get(kind, 0) + 1
    return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))
