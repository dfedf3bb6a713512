"""What changed in one instruction, given the same one in both modules."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hlo_tui.hlo.attributes import parse_metadata
from hlo_tui.hlo.frames import SourceFrame
from hlo_tui.passes.changes import CALLED, OPCODE, OPERANDS, SHAPE, VALUE, Modified, Place
from hlo_tui.passes.nodes import FRAME, LAYOUT, METADATA, Parsed, layout_text
from hlo_tui.passes.regions import Node, same_source

_LONGEST = 60
Frames = Callable[[int], tuple[SourceFrame, ...]]
Called = Callable[[tuple[str, ...], tuple[str, ...]], bool]


class PairReader:
    """Tells what changed between the nodes of a pair."""

    def __init__(self, frames: tuple[Frames, Frames], frames_differ: bool, called: Called) -> None:
        """Take what depends on the modules.

        Args:
            frames: gives the source frames behind a number, of each module.
            frames_differ: whether one number can mean different frames.
            called: whether two instructions call the same computations.
        """
        self._frames = frames
        self._frames_differ = frames_differ
        self._called = called
        self._metadata: dict[tuple[str, str, int, int], str] = {}

    def modified(self, a: Node, b: Node) -> Modified | None:
        """The change, None where there is none."""
        changes = dict(self._changes(a, b))
        if not changes:
            return None
        kinds = tuple(changes)
        own = tuple(kind for kind in kinds if kind in a.parsed.attributes or kind in b.parsed.attributes)
        return Modified(place_of(a), place_of(b), kinds, tuple(changes.values()), own)

    def _changes(self, a: Node, b: Node) -> list[tuple[str, str]]:
        found: list[tuple[str, str]] = []
        old, new = a.parsed, b.parsed
        if old.label != new.label:
            found += _label_changes(old, new)
        if not _same_sources(a, b):
            found.append((OPERANDS, _operands_text(a, b)))
        if old.called != new.called and not self._called(old.called, new.called):
            found.append((CALLED, ""))
        if old.layout != new.layout:
            found += _layout_change(old, new)
        if old.notes is not new.notes or self._frames_differ:
            found += self._note_changes(old, new)
        return found

    def _note_changes(self, old: Parsed, new: Parsed) -> list[tuple[str, str]]:
        found = []
        for key in dict.fromkeys((*old.notes, *new.notes)):
            x, y = old.notes.get(key, ""), new.notes.get(key, "")
            if key == METADATA:
                text = self._metadata_text(old, new, x, y) if x != y or self._frames_differ else ""
                found += [(key, text)] if text else []
            elif x != y:
                found.append((key, _was_is(x, y)))
        return found

    def _metadata_text(self, old: Parsed, new: Parsed, x: str, y: str) -> str:
        # What came from one line of the program changes alike.
        key = (x, y, old.frame, new.frame)
        text = self._metadata.get(key)
        if text is None:
            text = self._metadata[key] = self._metadata_change(old, new, x, y)
        return text

    def _metadata_change(self, old: Parsed, new: Parsed, x: str, y: str) -> str:
        """What of the metadata differs, "" where nothing does: numbers of frames stand for what they mean."""
        before, now = parse_metadata(x), parse_metadata(y)
        before.pop(FRAME, None)
        now.pop(FRAME, None)
        moved = self._frames[0](old.frame) != self._frames[1](new.frame)
        if before == now and not moved:
            return ""
        if not x or not y:
            return "taken away" if x else "given"
        kinds = [key for key in dict.fromkeys((*before, *now)) if before.get(key) != now.get(key)]
        return ", ".join([*kinds, "source"] if moved or not kinds else kinds)


def place_of(node: Node) -> Place:
    """Where an instruction is."""
    return Place(node.block.name, node.name, node.parsed.opcode, node.parsed.shape)


def _same_sources(a: Node, b: Node) -> bool:
    if len(a.sources) != len(b.sources) or not all(map(same_source, a.sources, b.sources)):
        return False
    # In a fusion that both have, what stands in the text counts: two parameters may be given one value.
    return all(map(_same_inside, a.given, b.given)) if _in_pair(a, b) else True


def _in_pair(a: Node, b: Node) -> bool:
    return a.caller is not None and b.caller is not None and a.caller.partner is b.caller


def _same_inside(a: Node | None, b: Node | None) -> bool:
    if a is None or b is None or a.partner is None or b.partner is None or a.partner is b:
        return True
    # One that came in from outside, or left, has no counterpart inside: then only the value counts.
    outside = a.partner.block is not b.block or b.partner.block is not a.block
    return outside or (a.passes is None and b.passes is None)


def _label_changes(old: Parsed, new: Parsed) -> list[tuple[str, str]]:
    found = [
        (kind, _was_is(x, y))
        for kind, x, y in (
            (OPCODE, old.opcode, new.opcode), (SHAPE, old.shape, new.shape), (VALUE, old.value, new.value)
        )
        if x != y
    ]  # fmt: skip
    return found + _attribute_changes(old.attributes, new.attributes)


def _attribute_changes(old: Mapping[str, str], new: Mapping[str, str]) -> list[tuple[str, str]]:
    keys = dict.fromkeys((*old, *new))
    return [
        (key, _was_is(old.get(key, ""), new.get(key, ""))) for key in keys if old.get(key) != new.get(key)
    ]


def _layout_change(old: Parsed, new: Parsed) -> list[tuple[str, str]]:
    if old.shape != new.shape:
        return []
    x, y = layout_text(old.layout), layout_text(new.layout)
    return [(LAYOUT, _was_is(x, y))] if x != y else []


def _operands_text(a: Node, b: Node) -> str:
    if len(a.sources) != len(b.sources):
        return f"{len(a.sources)} → {len(b.sources)}"
    places = [
        str(place)
        for place, (x, y) in enumerate(zip(a.sources, b.sources, strict=True))
        if not same_source(x, y)
    ]
    return ", ".join(places)


def _was_is(old: str, new: str) -> str:
    return f"{_short(old)} → {_short(new)}"


def _short(text: str) -> str:
    if not text:
        return "none"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
