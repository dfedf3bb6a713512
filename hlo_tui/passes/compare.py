"""Compares two modules by structure: names, numbers, the order of the text and layouts tell nothing apart."""

from __future__ import annotations

import gc
import itertools
import re
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property

from hlo_tui.passes.blocks import Block, Text
from hlo_tui.passes.changes import ROOT, Diff, Modified, Place, Replaced, Swallowed
from hlo_tui.passes.contents import Contents, Interner, Token, twins
from hlo_tui.passes.headers import FRAME_NUMBER, differing_frames, header_changes
from hlo_tui.passes.links import Links
from hlo_tui.passes.matching import Matching
from hlo_tui.passes.pairs import PairReader, place_of
from hlo_tui.passes.regions import Node, Side, same_source

# Fewer instructions with the same text do not show that names mean the same.
_LEAST = 32
_REDOS = 3
# Turns everything into blanks that is in no name: splitting is several times as fast as a pattern.
_WORDS = bytes(byte if re.match(rb"[\w.\-]", bytes([byte])) else ord(" ") for byte in range(256))

Pairs = list[tuple[Block, Block]]


class Comparison:
    """One comparison of two modules; `run` it before anything else is asked.

    Attributes:
        diff: what differs.
        links: which instruction is which.
    """

    def __init__(self, a: Text, b: Text) -> None:
        self._a, self._b = a, b
        self._interner = Interner()
        self._twins = twins(a, b)
        self._contents = (
            Contents(a, self._twins, self._interner),
            Contents(b, self._twins, self._interner),
        )
        # Without twins: a copy of a computation has another name, and copies of what it calls.
        plain = Contents(a, frozenset(), self._interner)
        self._plain = (plain, Contents(b, frozenset(), self._interner, (plain, self._twins)))
        self._partners: dict[str, str] = {name: name for name in self._twins}
        self._taken: tuple[set[str], set[str]] = (set(self._twins), set(self._twins))
        self._waiting: deque[tuple[Block, Block]] = deque()
        self._trusted = self._names_stay = True
        self._frames = differing_frames(a, b)
        self._added: list[Place] = []
        self._removed: list[Place] = []
        self._modified: list[Modified] = []
        self._replaced: list[Replaced] = []
        self._swallowed: list[Swallowed] = []
        self._renamed = 0
        self.links = Links()
        self.diff = Diff()

    def run(self) -> Diff:
        """Compare; gives what differs."""
        with _uncollected():
            self._run()
        return self.diff

    def _run(self) -> None:
        for name in self._twins if self._frames else ():
            self._twin_frames(self._a.blocks[name], self._b.blocks[name])
        if self._a.entry is not None and self._b.entry is not None:
            self._reserve(self._a.entry, self._b.entry)
        self._work()
        self._leftovers()
        self.links.finish(self._partners, self._modified)
        self.diff = Diff(
            tuple(self._added),
            tuple(self._removed),
            tuple(self._modified),
            tuple(self._replaced),
            tuple(self._swallowed),
            header_changes(self._a.outline.header, self._b.outline.header),
            self._renamed,
            self._trusted,
        )

    # Computations.

    def _reserve(self, a: Block, b: Block) -> None:
        """Pair two computations, to be looked at later."""
        if a.name not in self._taken[0] and b.name not in self._taken[1]:
            self._taken[0].add(a.name)
            self._taken[1].add(b.name)
            self._partners[a.name] = b.name
            self._waiting.append((a, b))

    def _work(self) -> None:
        while self._waiting:
            self._region(*self._waiting.popleft())

    def _leftovers(self) -> None:
        """Computations that no pair of instructions calls."""
        for find in (self._by_content, self._by_name) if self._trusted else (self._by_content,):
            for a, b in find():
                self._reserve(a, b)
                self._work()
        for side, text, into in ((0, self._a, self._removed), (1, self._b, self._added)):
            for block in text.blocks.values():
                if block.name not in self._taken[side]:
                    parsed = (block.parsed(place) for place in range(len(block.rows)))
                    into += [Place(block.name, one.name, one.opcode, one.shape) for one in parsed if one]

    def _by_content(self) -> Pairs:
        waiting: dict[Token, list[Block]] = {}
        for block in reversed(self._b.blocks.values()):
            if block.name not in self._taken[1]:
                waiting.setdefault(self._contents[1].token(block.name), []).append(block)
        found = []
        for block in self._a.blocks.values():
            others = [] if block.name in self._taken[0] else waiting.get(self._contents[0].token(block.name))
            if others:
                found.append((block, others.pop()))
        return found

    def _by_name(self) -> Pairs:
        # Callers stand after what they call: from them, more is known.
        names = [name for name in reversed(self._a.blocks) if name in self._b.blocks]
        return [(self._a.blocks[name], self._b.blocks[name]) for name in names]

    def _same_called(self, old: tuple[str, ...], new: tuple[str, ...]) -> bool:
        return len(old) == len(new) and all(map(self._same_computation, old, new))

    def _same_computation(self, a: str, b: str) -> bool:
        if a in self._partners or (a in self._a.blocks and b in self._b.blocks):
            if self._partners.get(a) == b:
                return True
            # A copy under a new name is another computation, where names stay; one of the old ones is not.
            known = not self._names_stay or b in self._a.blocks or b in self._taken[1]
            return known and self._plain[0].token(a) == self._plain[1].token(b)
        return a == b

    # One region.

    def _region(self, x: Block, y: Block) -> None:
        common = self._common(x, y)
        for _ in range(_REDOS):
            sides = (self._side(0, x, common), self._side(1, y, common))
            matching = Matching(sides, self._contents, self._interner)
            matching.run(True if common else None)
            crossed = self._crossed(sides, common)
            if not crossed:
                break
            common -= crossed
        self._names_stay = matching.trusted
        self._trusted = self._trusted and matching.trusted
        for side, taken in zip(sides, self._taken, strict=True):
            taken.update(block.name for block in side.merged)
        pairs = [(node, node.partner) for node in sides[0].nodes if node.partner is not None]
        for a, b in pairs:
            self._pair_called(a, b)
        self._pair_common_called(x, y)
        self._collect(sides, pairs)
        self._root(*sides)
        for side in sides:
            side.release()

    def _side(self, side: int, block: Block, common: frozenset[str]) -> Side:
        return Side((self._a, self._b)[side], block, common, lambda name: self._sees_through(side, name))

    def _sees_through(self, side: int, name: str) -> bool:
        """Whether the other module has nothing like a computation that a fusion or a call calls."""
        if name in self._taken[side]:
            return False
        size = (self._a, self._b)[side].blocks[name].size
        return size not in self._sizes or self._plain[side].token(name) not in self._tokens[1 - side]

    @cached_property
    def _cloned(self) -> tuple[list[Block], list[Block]]:
        """The computations of each module that the other may have under another name: those without a twin, and
        those that are called several times, of which the other may have copies."""
        found = []
        for text, other in ((self._a, self._b), (self._b, self._a)):
            shared = {name for one in (text, other) for name, sites in one.sites.items() if len(sites) > 1}
            found.append(
                [
                    block
                    for name, block in text.blocks.items()
                    if block is not text.entry and (name not in self._twins or name in shared)
                ]
            )
        return found[0], found[1]

    @cached_property
    def _sizes(self) -> frozenset[int]:
        """The sizes that such computations have in both modules: others need not be read to be told apart."""
        a, b = ({block.size for block in blocks} for blocks in self._cloned)
        return frozenset(a & b)

    @cached_property
    def _tokens(self) -> tuple[frozenset[Token], frozenset[Token]]:
        """What such computations compute that have one of these sizes."""
        a, b = (
            frozenset(contents.token(block.name) for block in blocks if block.size in self._sizes)
            for contents, blocks in zip(self._plain, self._cloned, strict=True)
        )
        return a, b

    def _common(self, x: Block, y: Block) -> frozenset[str]:
        """Names of the instructions that have the same text, where that shows that they are the same."""
        rows = set(y.rows)
        shared = list(map(rows.__contains__, x.rows))
        same = sum(shared)
        # Where there is the same text on both sides and no other, there is nothing to find out.
        alike = same == len(x.rows) == len(rows) or (same >= _LEAST and 2 * same >= max(x.size, y.size))
        if not alike:
            return frozenset()
        if not self._frames:
            return frozenset(itertools.compress(x.names, shared))
        pairs = zip(x.names, x.rows, shared, strict=True)
        return frozenset([name for name, row, kept in pairs if kept and not self._differs(row)])

    def _differs(self, row: bytes) -> bool:
        """Whether a line's stack frame is another one in the other module, though its number is the same; of
        several lines, whether one's is."""
        return bool(self._frames) and not self._frames.isdisjoint(map(int, FRAME_NUMBER.findall(row)))

    def _crossed(self, sides: tuple[Side, Side], common: frozenset[str]) -> frozenset[str]:
        """What was taken as common by its text, though a name in that text means another instruction."""
        if not common:
            return common
        names = set()
        for node in sides[0].nodes:
            other = sides[1].named.get(node.name)
            if node.partner is not other and other is not None and node.block is sides[0].main:
                names.add(node.name.encode())
        if not names:
            return frozenset()
        main = sides[0].main
        return frozenset(
            name for name, row in zip(main.names, main.rows, strict=True)
            if name in common and not names.isdisjoint(row.translate(_WORDS).split())
        )  # fmt: skip

    def _pair_called(self, a: Node, b: Node) -> None:
        if a.merged is not None and b.merged is not None:
            self._partners.setdefault(a.merged.name, b.merged.name)
            return
        for old, new in zip(a.parsed.called, b.parsed.called, strict=False):
            if old in self._a.blocks and new in self._b.blocks:
                self._reserve(self._a.blocks[old], self._b.blocks[old if self._is_copy(old, new) else new])

    def _is_copy(self, old: str, new: str) -> bool:
        """Whether the computation that was called is still there under its name, so that the new one is a copy."""
        if not self._names_stay or old == new or old not in self._b.blocks:
            return False
        content = self._plain[0].token(old)
        return content != self._plain[1].token(new) or content == self._plain[1].token(old)

    def _pair_common_called(self, x: Block, y: Block) -> None:
        """Computations that the same text calls in both, by their names."""
        called = self._called_by[1].get(y.name, {})
        for name in self._called_by[0].get(x.name, ()):
            if name in called:
                self._reserve(self._a.blocks[name], self._b.blocks[name])

    @cached_property
    def _called_by(self) -> tuple[dict[str, dict[str, None]], dict[str, dict[str, None]]]:
        found: tuple[dict[str, dict[str, None]], dict[str, dict[str, None]]] = ({}, {})
        for text, by in zip((self._a, self._b), found, strict=True):
            for name, sites in text.sites.items():
                for caller, _ in sites:
                    by.setdefault(caller.name, {})[name] = None
        return found

    # What comes of it.

    def _reader(self) -> PairReader:
        # Not kept: the two would hold one another, and the texts, until the collector comes by.
        return PairReader((self._a.frames, self._b.frames), bool(self._frames), self._same_called)

    def _collect(self, sides: tuple[Side, Side], pairs: list[tuple[Node, Node]]) -> None:
        reader = self._reader()
        for a, b in pairs:
            self._renamed += a.name != b.name
            change = reader.modified(a, b)
            if change is not None:
                self._modified.append(change)
        self._replaced += [
            Replaced(place_of(node), place_of(node.instead))
            for node in sides[0].nodes
            if node.instead is not None
        ]
        self._removed += [place_of(node) for node in sides[0].nodes if node.partner is None]
        self._added += [place_of(node) for node in sides[1].nodes if node.partner is None]
        self.links.take(*sides)
        for number, side in enumerate(sides):
            for node in side.nodes:
                if node.merged is not None and node.partner is None:
                    self._swallowed.append(_swallowed(node, side, dissolved=number == 0))

    def _root(self, a: Side, b: Side) -> None:
        """The value that a computation gives, where both the old and the new one are still there."""
        x, y = a.root, b.root
        gone = any(isinstance(node, Node) and node.partner is None for node in (x, y))
        if not gone and not same_source(x, y):
            old, new = (self._root_place(node, side) for node, side in ((x, a), (y, b)))
            self._modified.append(Modified(old, new, (ROOT,), ("",)))

    @staticmethod
    def _root_place(root: Node | str, side: Side) -> Place:
        return place_of(root) if isinstance(root, Node) else Place(side.main.name, root[1:])

    def _twin_frames(self, x: Block, y: Block) -> None:
        """Instructions whose text is the same while their source is not."""
        if not self._differs(x.text):
            return
        reader = self._reader()
        for place, row in enumerate(x.rows):
            if not self._differs(row):
                continue
            a, b = x.parsed(place), y.parsed(place)
            if a is not None and b is not None:
                change = reader.modified(Node(a, x), Node(b, y))
                if change is not None:
                    self._modified.append(change)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the cycle collector away while very many objects are made that all stay: it takes a third of the time."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _swallowed(node: Node, side: Side, dissolved: bool) -> Swallowed:
    assert node.merged is not None
    inside = side.inside(node.merged)
    pairs = [(one, one.partner) if dissolved else (one.partner, one) for one in inside if one.partner]
    names = tuple((a.name, b.name) for a, b in pairs)
    return Swallowed(place_of(node), node.merged.name, names, dissolved)
