"""The part of two modules that one computation and the fusions in it make, where something changed.

A fusion that the other module does not have is seen through: its instructions stand beside those of the
computation around it, and what only passes values in and out of it is set aside as its wrapping.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable

from hlo_tui.hlo.numerals import number_of
from hlo_tui.passes.blocks import Block, Text
from hlo_tui.passes.nodes import Parsed

_DEEPEST = 256
_SEEN_THROUGH = frozenset(("fusion", "call"))
_MAY_PASS = _SEEN_THROUGH | {"parameter", "get-tuple-element"}


class Node:
    """One instruction in a comparison.

    Attributes:
        name: of the instruction.
        parsed: its text taken apart.
        block: the computation that it is in.
        sources: where its operands come from, wrappings seen through: a node, or text for what is the same in
            both modules ("=NAME") or not there ("?NAME").
        given: where that is seen through from inside, its operands themselves.
        users: the nodes whose sources it is among, each as often as it is.
        places: its place among the sources of each of them.
        digest: a number that nodes of both modules share where they compute the same.
        partner: the node of the other module that it is matched with.
        instead: a node of the other module that is another one, and stands in its place.
        merged: the computation that it calls and that is seen through.
        caller: what calls the computation that it is in, where that is seen through.
        passes: for a wrapping, which only passes a value into or out of such a computation, the value's source.
        waiting: how many of its sources have no partner.
        plain: whether it cannot be a wrapping.
    """

    __slots__ = (
        "block", "caller", "digest", "given", "instead", "merged", "name", "parsed", "partner",
        "passes", "places", "plain", "sources", "users", "waiting",
    )  # fmt: skip

    def __init__(self, parsed: Parsed, block: Block) -> None:
        self.name = parsed.name
        self.parsed = parsed
        self.block = block
        self.sources: tuple[Node | str, ...] = ()
        self.given: tuple[Node | None, ...] = ()
        self.users: list[Node] = []
        self.places: list[int] = []
        self.digest = -1
        self.partner: Node | None = None
        self.instead: Node | None = None
        self.merged: Block | None = None
        self.caller: Node | None = None
        self.passes: Node | str | None = None
        self.waiting = 0
        self.plain = parsed.opcode not in _MAY_PASS

    @property
    def free(self) -> bool:
        """Whether it is no wrapping and has no partner."""
        return self.partner is None and self.passes is None


class Side:
    """One module's part of a region.

    Attributes:
        text: the module.
        main: the computation.
        nodes: its instructions that are not `common`, and those of what is seen through.
        named: the same by name; of those in several computations the first.
    """

    def __init__(
        self, text: Text, main: Block, common: frozenset[str], sees_through: Callable[[str], bool]
    ) -> None:
        """Take one side apart.

        Args:
            text: the module.
            main: the computation.
            common: names of instructions that are the same in both modules.
            sees_through: whether to see through the computation of a name that a fusion or a call calls.
        """
        self.text = text
        self.main = main
        self._common = common
        self._sees_through = sees_through
        self._inside: dict[str, dict[str, Node]] = {}
        self._callers: dict[str, Node] = {}
        self.nodes: list[Node] = []
        self._take(main)
        self.named: dict[str, Node] = {node.name: node for node in reversed(self.nodes)}
        for node in self.nodes:
            self._connect(node)

    @property
    def merged(self) -> list[Block]:
        """The computations that are seen through."""
        return [node.merged for node in self._callers.values() if node.merged is not None]

    def inside(self, block: Block) -> list[Node]:
        """The nodes of one computation."""
        return list(self._inside[block.name].values())

    @property
    def root(self) -> Node | str:
        """Where the value of the computation comes from."""
        return self.resolve(self.main, self.main.root)

    def release(self) -> None:
        """Untie the nodes, which hold one another."""
        for node in self.nodes:
            node.partner = node.instead = node.caller = node.passes = None
            node.sources = node.given = ()
            node.users = []

    def _take(self, main: Block) -> None:
        waiting = [main]
        while waiting:
            block = waiting.pop()
            inside = self._inside[block.name] = {}
            common = self._common if block is main else frozenset()
            names = block.names
            apart = map(operator.not_, map(common.__contains__, names))
            for place in itertools.compress(range(len(names)), apart):
                name = names[place]
                parsed = block.parsed(place)
                if parsed is None:
                    continue
                node = Node(parsed, block)
                inside.setdefault(name, node)
                self.nodes.append(node)
                callee = self._merges(node)
                if callee is not None:
                    node.merged = callee
                    self._callers[callee.name] = node
                    waiting.append(callee)

    def _merges(self, node: Node) -> Block | None:
        parsed = node.parsed
        if parsed.opcode not in _SEEN_THROUGH or len(parsed.called) != 1:
            return None
        name = parsed.called[0]
        block = self.text.blocks.get(name)
        once = len(self.text.sites.get(name, ())) == 1
        if block is None or not once or name in self._inside or name in self._callers:
            return None
        return block if self._sees_through(name) else None

    def _connect(self, node: Node) -> None:
        block = node.block
        inside = self._inside[block.name]
        operands = node.parsed.operands
        sources: list[Node | str] = []
        for place, name in enumerate(operands):
            given = inside.get(name)
            source = given if given is not None and given.plain else self.resolve(block, name)
            sources.append(source)
            if isinstance(source, Node):
                source.users.append(node)
                source.places.append(place)
        node.sources = tuple(sources)
        node.caller = self._callers.get(block.name)
        if node.caller is not None:
            node.given = tuple([inside.get(name) for name in operands])
        if not node.plain:
            value = self.resolve(block, node.name)
            node.passes = None if value is node else value

    def resolve(self, block: Block, name: str, depth: int = 0) -> Node | str:
        """Where the value called `name` in a computation comes from, wrappings seen through."""
        node: Node | None = None
        while depth < _DEEPEST:
            depth += 1
            node = self._inside[block.name].get(name)
            if node is None:
                return f"={name}" if block is self.main and name in self._common else f"?{name}"
            if node.plain:
                return node
            step = self._through(node, depth)
            if step is None:
                return node
            block, name = step
        return node if node is not None else f"?{name}"

    def _through(self, node: Node, depth: int) -> tuple[Block, str] | None:
        """The value that a wrapping passes on; None for what is none."""
        parsed = node.parsed
        if node.merged is not None:
            return node.merged, node.merged.root
        caller = self._callers.get(node.block.name)
        if caller is not None and parsed.opcode == "parameter":
            operands = caller.parsed.operands
            number = number_of(parsed.value)
            if number is None or number >= len(operands):
                return None
            return caller.block, operands[number]
        if parsed.opcode == "get-tuple-element" and parsed.operands:
            return self._element(node, depth)
        return None

    def _element(self, node: Node, depth: int) -> tuple[Block, str] | None:
        """The part of the tuple in which a computation that is seen through gives its values."""
        parsed = node.parsed
        whole = self._inside[node.block.name].get(parsed.operands[0])
        if whole is None or whole.merged is None:
            return None
        tuple_ = self.resolve(whole.block, whole.name, depth)
        number = number_of(parsed.attributes.get("index", ""))
        if isinstance(tuple_, str) or tuple_.parsed.opcode != "tuple" or number is None:
            return None
        operands = tuple_.parsed.operands
        return (tuple_.block, operands[number]) if number < len(operands) else None


def same_source(a: Node | str, b: Node | str) -> bool:
    """Whether two operands are one value: a pair, or values that are equal and both still there."""
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return a.partner is b or (a.digest == b.digest and a.partner is not None and b.partner is not None)
