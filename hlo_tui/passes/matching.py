"""Which instruction of one side of a region is which of the other: by what they compute, then by their names
where names have proved to stay, then by what is around them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable

from hlo_tui.passes.contents import Contents, Interner
from hlo_tui.passes.nodes import FRAME
from hlo_tui.passes.regions import Node, Side, same_source

_ROUNDS = 3
# So large a part must have one name before a name counts as evidence.
_TRUSTED_SHARE = 0.5

_Key = Callable[[Node], Hashable]


class Matching:
    """Gives the nodes of two sides their partners."""

    def __init__(
        self, sides: tuple[Side, Side], contents: tuple[Contents, Contents], interner: Interner
    ) -> None:
        self._a, self._b = sides
        self._left = (self._a.nodes, self._b.nodes)
        self._contents = contents
        self._interner = interner
        self._ready: tuple[dict[Hashable, list[Node]], dict[Hashable, list[Node]]] = ({}, {})
        self._touched: list[Hashable] = []
        self._noted: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._joined = 0
        self.trusted = True

    def run(self, trusted: bool | None = None) -> None:
        """Match as much as can be.

        Args:
            trusted: whether a name means the same in both modules; found out where it is not told.
        """
        for side, contents in zip((self._a, self._b), self._contents, strict=True):
            self._digest(side, contents)
        self._equal_ones(trusted)
        self._begin_waiting()
        for _ in range(_ROUNDS):
            before = self._joined
            if self.trusted:
                self._by_name(lambda a, b: a.parsed.label == b.parsed.label)
                self._by_name(lambda a, b: a.parsed.opcode == b.parsed.opcode)
            self._roots()
            self._by_sources(lambda node: node.parsed.opcode)
            self._by_sources(lambda node: node.parsed.shape)
            self._below_pairs()
            self._near(_from_sources)
            self._near(_from_users)
            if self._joined == before:
                break
        if self.trusted:
            self._by_name(lambda _a, _b: True)
            for _ in range(_ROUNDS):
                if not self._part():
                    break
        self._wrappings()

    def _free(self, side: int) -> list[Node]:
        """What has no partner yet."""
        left = [node for node in self._left[side] if node.partner is None and node.passes is None]
        self._left = (left, self._left[1]) if side == 0 else (self._left[0], left)
        return left

    # What computes the same.

    def _digest(self, side: Side, contents: Contents) -> None:
        for node in side.nodes:
            if node.digest >= 0:
                continue
            sources = _where_from(node)
            # Most stand behind what they use.
            if -1 in sources:
                self._digest_below(node, contents)
            else:
                node.digest = self._computed(node, sources, contents)

    def _digest_below(self, first: Node, contents: Contents) -> None:
        begun: set[int] = set()
        stack = [first]
        while stack:
            node = stack[-1]
            missing = [s for s in node.sources if isinstance(s, Node) and s.digest < 0]
            if node.digest < 0 and missing and id(node) not in begun:
                begun.add(id(node))
                stack += missing
                continue
            stack.pop()
            if node.digest < 0:
                node.digest = self._computed(node, _where_from(node), contents)

    def _computed(self, node: Node, sources: tuple[Hashable, ...], contents: Contents) -> int:
        parsed = node.parsed
        called = contents.tokens(parsed.called) if parsed.called and node.merged is None else ()
        return self._interner.number((parsed.label, sources, called))

    def _equal_ones(self, trusted: bool | None) -> None:
        """Match what computes the same; on the way it turns out whether names stay."""
        left: dict[int, list[Node]] = defaultdict(list)
        for node in self._free(1):
            left[node.digest].append(node)
        wanted: dict[int, list[Node]] = defaultdict(list)
        for node in self._free(0):
            if node.digest in left:
                wanted[node.digest].append(node)
        single = [digest for digest, nodes in wanted.items() if len(nodes) == len(left[digest]) == 1]
        same = sum(wanted[digest][0].name == left[digest][0].name for digest in single)
        self.trusted = self._names_stay(same, len(single)) if trusted is None else trusted
        for digest, nodes in wanted.items():
            for a, b in self._pair_up(nodes, left[digest]):
                a.partner, b.partner = b, a

    def _names_stay(self, same: int, single: int) -> bool:
        """Whether a name means the same in both: of `single` pairs that can only be one another, `same` have one
        name, and most instructions are such pairs or have a name that is on both sides."""
        a, b = self._a.named, self._b.named
        fewer = min(len(a), len(b))
        told = max(single, len(a.keys() & b.keys()))
        return same >= _TRUSTED_SHARE * single and told >= _TRUSTED_SHARE * fewer

    def _pair_up(self, some: list[Node], others: list[Node]) -> list[tuple[Node, Node]]:
        """Pairs of nodes of which each could be each: by name, or by what uses them, by notes, then in order."""
        if len(some) == len(others) == 1:
            return [(some[0], others[0])]
        pairs: list[tuple[Node, Node]] = []
        for key in self._tells_apart():
            waiting: dict[Hashable, list[Node]] = defaultdict(list)
            for node in reversed(others):
                waiting[key(self._b, node)].append(node)
            rest = []
            for node in some:
                like = waiting.get(key(self._a, node))
                if like:
                    pairs.append((node, like.pop()))
                else:
                    rest.append(node)
            taken = {id(b) for _, b in pairs}
            some, others = rest, [node for node in others if id(node) not in taken]
            if not some or not others:
                break
        return pairs

    def _tells_apart(self) -> tuple[Callable[[Side, Node], Hashable], ...]:
        """What tells apart nodes that compute the same, the surest first."""
        if self.trusted:
            return _name, self._notes, _nothing
        return (
            lambda side, node: (_users(side, node), self._notes(side, node)),
            lambda side, node: (_uses(side, node), self._notes(side, node)),
            _users, _uses, self._notes, _nothing,
        )  # fmt: skip

    def _notes(self, side: Side, node: Node) -> Hashable:
        parsed = node.parsed
        known = self._noted[side is self._b]
        # Lines that end alike share their notes; with the source frames behind them they are long.
        number = known.get(id(parsed.notes))
        if number is None:
            notes = tuple(
                (key, text.replace(f"{FRAME}={parsed.frame}", ""))
                for key, text in sorted(parsed.notes.items())
            )
            number = self._interner.number((notes, side.text.frames(parsed.frame)))
            known[id(parsed.notes)] = number
        return parsed.layout, number

    # What is around.

    def _begin_waiting(self) -> None:
        for room in (0, 1):
            for node in self._free(room):
                node.waiting = sum(isinstance(s, Node) and s.partner is None for s in node.sources)
                if not node.waiting and node.sources:
                    self._is_ready(node, room)
        self._drain([])

    def _is_ready(self, node: Node, room: int) -> None:
        key = (node.parsed.label, _where_from(node))
        self._ready[room].setdefault(key, []).append(node)
        self._touched.append(key)

    def _join(self, a: Node, b: Node) -> None:
        """Match two nodes, and with them what can then only be one another."""
        self._drain([(a, b)])

    def _drain(self, pairs: list[tuple[Node, Node]]) -> None:
        while pairs or self._touched:
            while pairs:
                a, b = pairs.pop()
                if a.free and b.free:
                    self._settle(a, b)
                    pairs += self._below(a, b)
            keys, self._touched = self._touched, []
            for key in dict.fromkeys(keys):
                if key not in self._ready[0] or key not in self._ready[1]:
                    continue
                rooms = [[node for node in ready[key] if node.free] for ready in self._ready]
                for ready, room in zip(self._ready, rooms, strict=True):
                    ready[key] = room
                    if not room:
                        del ready[key]
                pairs += self._pair_up(*rooms)

    def _settle(self, a: Node, b: Node) -> None:
        a.partner, b.partner = b, a
        self._joined += 1
        if a.digest != b.digest:
            a.digest = b.digest = self._interner.number(("joined", id(a), id(b)))
        for node, room in ((a, 0), (b, 1)):
            for user in node.users:
                user.waiting -= 1
                if user.waiting == 0 and user.free:
                    self._is_ready(user, room)

    def _below(self, a: Node, b: Node) -> list[tuple[Node, Node]]:
        """Operands in the same places that can be the same."""
        if len(a.sources) != len(b.sources):
            return []
        return [
            (x, y) for x, y in zip(a.sources, b.sources, strict=True)
            if isinstance(x, Node) and isinstance(y, Node) and x.parsed.label == y.parsed.label
            and self._may(x, y)
        ]  # fmt: skip

    def _may(self, a: Node, b: Node) -> bool:
        """Whether nothing stands against a pair: both are free, and neither's name is one that is left."""
        if not (a.free and b.free):
            return False
        if not self.trusted or a.name == b.name:
            return True
        for name, side in ((a.name, self._b), (b.name, self._a)):
            other = side.named.get(name)
            if other is not None and other.free:
                return False
        return True

    def _by_name(self, alike: Callable[[Node, Node], bool]) -> None:
        for a in self._free(0):
            b = self._b.named.get(a.name)
            if b is not None and a.free and b.free and alike(a, b):
                self._join(a, b)

    def _roots(self) -> None:
        a, b = self._a.root, self._b.root
        if (
            isinstance(a, Node)
            and isinstance(b, Node)
            and self._may(a, b)
            and a.parsed.label == b.parsed.label
        ):
            self._join(a, b)

    def _by_sources(self, kind: _Key) -> None:
        """What has the same operands is the same where there is one such on each side."""
        found: tuple[dict[Hashable, list[Node]], dict[Hashable, list[Node]]] = ({}, {})
        for side, by_key in enumerate(found):
            for node in self._free(side):
                if node.sources and not node.waiting:
                    by_key.setdefault((kind(node), _where_from(node)), []).append(node)
        for key, nodes in found[0].items():
            others = found[1].get(key, ())
            if len(nodes) == len(others) == 1 and self._may(nodes[0], others[0]):
                self._join(nodes[0], others[0])

    def _below_pairs(self) -> None:
        """What is used in the same place by a pair, and is alike."""
        for a in self._free(0):
            for user, place in zip(a.users, a.places, strict=True):
                other = user.partner
                if other is None or user.passes is not None or len(user.sources) != len(other.sources):
                    continue
                b = other.sources[place]
                if isinstance(b, Node) and self._may(a, b) and _alike(a, b):
                    self._join(a, b)

    def _near(self, neighbours: Callable[[Node], Iterable[Hashable]]) -> None:
        """What has the same opcode and shape, and a neighbour in common."""
        waiting: dict[Hashable, list[Node]] = defaultdict(list)
        for node in reversed(self._free(1)):
            for neighbour in neighbours(node):
                waiting[node.parsed.opcode, node.parsed.shape, neighbour].append(node)
        for node in self._free(0):
            for neighbour in neighbours(node):
                others = waiting.get((node.parsed.opcode, node.parsed.shape, neighbour), [])
                while others and not others[-1].free:
                    others.pop()
                if others and self._may(node, others[-1]):
                    self._join(node, others[-1])

    def _part(self) -> bool:
        """Part pairs of other names that do not do the same: where names stay, the new name is a new instruction.

        Gives whether any was: then what uses it may not do the same any more.
        """
        parted = False
        for a in self._a.nodes:
            b = a.partner
            if b is None or a.passes is not None or a.name == b.name:
                continue
            alike = a.parsed.label == b.parsed.label and len(a.sources) == len(b.sources)
            if not alike or not all(map(same_source, a.sources, b.sources)):
                a.partner = b.partner = None
                a.instead, b.instead = b, a
                parted = True
        return parted

    # Wrappings.

    def _wrappings(self) -> None:
        """Match the fusions that were seen through, and then what passes values in and out of them."""
        keys = (*((_same_name,) if self.trusted else ()), _passed_in_place, _passed)
        wrappings = [[node for node in side.nodes if node.passes is not None] for side in (self._a, self._b)]
        for outer in (True, False):
            some, others = (
                [node for node in nodes if outer is (node.merged is not None)] for nodes in wrappings
            )
            for key in keys:
                left: dict[Hashable, list[Node]] = defaultdict(list)
                for node in reversed(others):
                    if node.partner is None:
                        left[key(node)].append(node)
                for node in some:
                    if node.partner is None and left.get(key(node)):
                        other = left[key(node)].pop()
                        node.partner, other.partner = other, node
                        node.digest = other.digest


def _canonical(source: Node | str) -> Hashable:
    return source if isinstance(source, str) else source.digest


def _where_from(node: Node) -> tuple[Hashable, ...]:
    return tuple([source if isinstance(source, str) else source.digest for source in node.sources])


def _alike(a: Node, b: Node) -> bool:
    return a.parsed.opcode == b.parsed.opcode or a.parsed.shape == b.parsed.shape


def _from_sources(node: Node) -> Iterable[Hashable]:
    # In the order of the text, not of a set: which of several is taken must not change from run to run.
    return dict.fromkeys(
        [
            source if isinstance(source, str) else source.digest
            for source in node.sources
            if isinstance(source, str) or source.partner is not None
        ]
    )


def _from_users(node: Node) -> Iterable[Hashable]:
    return dict.fromkeys(
        [user.digest for user in node.users if user.partner is not None and user.passes is None]
    )


def _name(_side: Side, node: Node) -> Hashable:
    return node.name


def _users(_side: Side, node: Node) -> Hashable:
    return tuple(sorted(user.digest for user in node.users if user.passes is None))


def _uses(_side: Side, node: Node) -> Hashable:
    """The places in which it is used, of what kind the users are: that stays where their values change."""
    return tuple(sorted((u.parsed.label, p) for u, p in zip(node.users, node.places, strict=True)))


def _nothing(_side: Side, _node: Node) -> Hashable:
    return None


def _same_name(node: Node) -> Hashable:
    return node.name, node.parsed.opcode


def _passed_in_place(node: Node) -> Hashable:
    return _passed(node), node.parsed.value


def _passed(node: Node) -> Hashable:
    """What a wrapping passes on, and in which fusion, in the words of both modules."""
    value = "" if node.passes is None else _canonical(node.passes)
    return node.parsed.opcode, value, None if node.caller is None else node.caller.digest
