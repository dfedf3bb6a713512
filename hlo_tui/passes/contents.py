"""What computations of two modules compute, as tokens that are equal where the contents are, whatever the names."""

from __future__ import annotations

from collections.abc import Hashable

from hlo_tui.passes.blocks import Block, Text

Token = Hashable
_ABSENT: Token = ("absent",)
_CIRCLE: Token = ("circle",)


class Interner:
    """Small numbers for values: equal values, equal numbers."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, value: Hashable) -> int:
        """The number of a value."""
        return self._numbers.setdefault(value, len(self._numbers))


def twins(a: Text, b: Text) -> frozenset[str]:
    """The computations that have the same name and text in both modules, and so has everything they call."""
    same = {
        name for name, block in a.blocks.items() if name in b.blocks and b.blocks[name].text == block.text
    }
    waiting = [name for name in (*a.blocks, *b.blocks) if name not in same]
    while waiting:
        changed = waiting.pop()
        for text in (a, b):
            for caller, _ in text.sites.get(changed, ()):
                if caller.name in same:
                    same.discard(caller.name)
                    waiting.append(caller.name)
    return frozenset(same)


class Contents:
    """Tokens of the computations of one module that is compared with another."""

    def __init__(
        self,
        text: Text,
        twins: frozenset[str],
        interner: Interner,
        known: tuple[Contents, frozenset[str]] | None = None,
    ) -> None:
        """Take a module.

        Args:
            text: the module.
            twins: computations whose name tells what they compute: those of its twins with the other module.
            interner: of both modules.
            known: the contents of the other module, and computations that compute the same there.
        """
        self._text = text
        self._twins = twins
        self._interner = interner
        self._known = known
        self._tokens: dict[str, Token] = {}

    def token(self, name: str) -> Token:
        """What the computation of this name computes."""
        waiting = [name]
        while waiting:
            name = waiting[-1]
            if name in self._tokens:
                waiting.pop()
                continue
            block = self._text.blocks.get(name)
            if block is None or name in self._twins:
                self._tokens[name] = _ABSENT if block is None else ("twin", name)
                continue
            if self._known is not None and name in self._known[1]:
                self._tokens[name] = self._known[0].token(name)
                continue
            callees = _callees(block)
            missing = [callee for callee in callees if callee not in self._tokens and callee not in waiting]
            if missing:
                waiting += missing
            else:
                self._tokens[name] = self._content(block)
        return self._tokens[name]

    def tokens(self, names: tuple[str, ...]) -> tuple[Token, ...]:
        """The tokens of several."""
        return tuple(map(self.token, names)) if names else ()

    def _content(self, block: Block) -> Token:
        """The value of the root, and everything else that is computed, in no order."""
        digests = self._digests(block)
        root = digests[block.index[block.root]] if digests else -1
        return ("content", self._interner.number((root, tuple(sorted(digests)))))

    def _digests(self, block: Block) -> list[int]:
        found: list[int] = []
        known: dict[str, int] = {}
        for place, name in enumerate(block.names):
            parsed = block.parsed(place)
            operands = parsed.operands if parsed is not None else ()
            for operand in operands:
                if operand not in known and operand in block.index:
                    return self._digests_in_any_order(block)
            found.append(self._computed(block, place, tuple([known.get(one, one) for one in operands])))
            known.setdefault(name, found[-1])
        return found

    def _computed(self, block: Block, place: int, sources: tuple[int | str, ...]) -> int:
        parsed = block.parsed(place)
        if parsed is None:
            return self._interner.number((block.rows[place], sources, ()))
        called = tuple([self._tokens.get(name, _CIRCLE) for name in parsed.called]) if parsed.called else ()
        return self._interner.number((parsed.label, sources, called))

    def _digests_in_any_order(self, block: Block) -> list[int]:
        index = block.index
        found: dict[int, int] = {}
        begun: set[int] = set()
        for first in range(len(block.rows)):
            stack = [first]
            while stack:
                place = stack[-1]
                parsed = block.parsed(place)
                operands = parsed.operands if parsed is not None else ()
                missing = [
                    index[name] for name in operands if index.get(name, place) not in found and name in index
                ]
                if place not in found and missing and place not in begun:
                    begun.add(place)
                    stack += missing
                    continue
                stack.pop()
                if place not in found:
                    sources = tuple([found.get(index.get(name, -1), name) for name in operands])
                    found[place] = self._computed(block, place, sources)
        return [found[place] for place in range(len(block.rows))]


def _callees(block: Block) -> set[str]:
    found: set[str] = set()
    for place in range(len(block.rows)):
        parsed = block.parsed(place)
        if parsed is not None and parsed.called:
            found.update(parsed.called)
    return found
