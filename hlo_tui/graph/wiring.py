"""Which instructions a graph has: those around one, or those between two; fusions closed or opened."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.numerals import number_of
from hlo_tui.hlo.visible import visible

# (computation, instruction)
Key = tuple[str, str]
MOST = 120
# More ways than these are not counted.
WAYS = 1_000_000
# Of one instruction's operands, and of its users: a loop's tuple or a zero would fill the picture alone.
EACH = 8
_DEEPEST = 8


@dataclass(frozen=True, slots=True)
class Node:
    """One instruction of a graph.

    Attributes:
        key: its computation and name.
        opcode: of the instruction.
        shape: without layouts.
        line: where it is in the text, from 0.
        is_root: whether it is its computation's root.
        called: computations that it calls.
        hidden_operands, hidden_users: how many of each are not in the graph.
    """

    key: Key
    opcode: str
    shape: str
    line: int
    is_root: bool = False
    called: tuple[str, ...] = ()
    hidden_operands: int = 0
    hidden_users: int = 0

    @property
    def name(self) -> str:
        """The instruction's name."""
        return self.key[1]

    @property
    def foldable(self) -> bool:
        """Whether it is a fusion that can be opened."""
        return self.opcode == "fusion" and len(self.called) == 1


@dataclass(frozen=True, slots=True)
class Graph:
    """Instructions and who uses whom.

    Attributes:
        nodes: by key, in the order of the text.
        edges: from an operand to its user, each pair once.
        focus: what the graph is about.
        cut: whether there would have been more than it may hold.
        paths: how many different ways lead from the focus to `end`, WAYS where there are more; 0 for a neighbourhood.
        end: the other instruction, None for a neighbourhood.
    """

    nodes: dict[Key, Node]
    edges: tuple[tuple[Key, Key], ...]
    focus: Key
    cut: bool = False
    paths: int = 0
    end: Key | None = None


@dataclass
class Wiring:
    """Who uses whom in a module, as it looks with some fusions opened.

    Attributes:
        module: scanned.
        opened: the fusions that are replaced by what is in them.
        check: asked often; what it raises ends the work.
    """

    module: Module
    opened: frozenset[Key] = frozenset()
    check: Callable[[], None] = lambda: None
    _outer: dict[str, Instruction] = field(default_factory=dict, init=False, repr=False)
    _known: dict[Key, Instruction | None] = field(default_factory=dict, init=False, repr=False)
    _known_users: dict[Key, list[Key]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        """Find where the opened computations belong."""
        for computation, name in sorted(self.opened):
            fusion = self.module.find(name, computation)
            if fusion is not None and fusion.opcode == "fusion":
                for called in fusion.called:
                    self._outer[called] = fusion

    def instruction(self, key: Key) -> Instruction:
        """The instruction under a key.

        Raises:
            HloTuiError: there is none.
        """
        found = self._find(key)
        if found is None:
            raise HloTuiError("no such instruction", visible("/".join(key)), "hlo-tui grep finds names")
        return found

    def _find(self, key: Key) -> Instruction | None:
        if key not in self._known:
            self._known[key] = self.module.find(key[1], key[0])
        return self._known[key]

    def shown(self, key: Key) -> Key:
        """What stands for an instruction in the graph: itself, or of an opened fusion its root."""
        for _ in range(_DEEPEST):
            if key not in self.opened:
                return key
            fusion = self.instruction(key)
            root = self._root(fusion.called[0]) if fusion.called else None
            if root is None:
                return key
            key = (root.computation, root.name)
        return key

    def operands(self, key: Key) -> list[Key]:
        """The instructions whose values it uses, each once."""
        self.check()
        one = self.instruction(key)
        return list(
            dict.fromkeys(found for name in one.operands for found in self._source(one.computation, name))
        )

    def users(self, key: Key) -> list[Key]:
        """The instructions that use its value, each once."""
        found = self._known_users.get(key)
        if found is None:
            found = self._known_users[key] = list(dict.fromkeys(self._users(self.instruction(key), 0)))
        return found

    def _source(self, computation: str, name: str, depth: int = 0) -> Iterator[Key]:
        found = self._find((computation, name))
        if found is None:
            return
        outer = self._outer.get(computation)
        if found.opcode == "parameter" and outer is not None and depth < _DEEPEST:
            number = number_of(found.operand_text)
            if number is not None and number < len(outer.operands):
                yield from self._source(outer.computation, outer.operands[number], depth + 1)
            return
        yield self.shown((computation, name))

    def _users(self, one: Instruction, depth: int) -> Iterator[Key]:
        for user in self.module.users(one):
            key = (user.computation, user.name)
            if key in self.opened and user.called and depth < _DEEPEST:
                for number, name in enumerate(user.operands):
                    if name == one.name:
                        yield from self._through(user.called[0], number, depth)
            else:
                yield key
        outer = self._outer.get(one.computation)
        if one.is_root and outer is not None and depth < _DEEPEST:
            yield from self._users(outer, depth + 1)

    def _through(self, computation: str, number: int, depth: int) -> Iterator[Key]:
        """Who uses a parameter of an opened computation."""
        for one in self._inside(computation):
            if one.opcode == "parameter" and one.operand_text.strip() == str(number):
                yield from self._users(one, depth + 1)

    def _root(self, computation: str) -> Instruction | None:
        return next((one for one in self._inside(computation) if one.is_root), None)

    def _inside(self, computation: str) -> tuple[Instruction, ...]:
        """The instructions of a computation; none where it is not in the text."""
        outline = self.module.outline
        found = outline.by_name(computation) if outline is not None else None
        return self.module.body(found).instructions if found is not None else ()


def neighbourhood(wiring: Wiring, key: Key, width: int, most: int = MOST, each: int = EACH) -> Graph:
    """An instruction with those that are at most `width` uses away from it.

    Args:
        wiring: of the module.
        key: the instruction; of an opened fusion its root stands for it.
        width: how far; 0 for the instruction alone.
        most: instructions in the graph; the nearest are taken.
        each: operands, and users, of one instruction that are taken for its sake.

    Raises:
        HloTuiError: there is no such instruction.
    """
    focus = wiring.shown(key)
    wiring.instruction(focus)
    distance = {focus: 0}
    waiting = deque([focus])
    cut = False
    while waiting:
        at = waiting.popleft()
        if distance[at] == width:
            continue
        for near in (*wiring.operands(at)[:each], *wiring.users(at)[:each]):
            if near in distance:
                continue
            if len(distance) >= most:
                cut = True
                break
            distance[near] = distance[at] + 1
            waiting.append(near)
    return _graph(wiring, set(distance), focus, cut)


def between(wiring: Wiring, key: Key, end: Key, most: int = MOST) -> Graph:
    """All ways from one instruction to another, by operands and users, in whichever direction there are any.

    Args:
        wiring: of the module.
        key: one of them; the graph is about it.
        end: the other one.
        most: instructions in the graph; those of the shortest ways are taken.

    Raises:
        HloTuiError: one is not there, or no way leads from the one to the other.
    """
    focus, goal = wiring.shown(key), wiring.shown(end)
    for first, last in ((focus, goal), (goal, focus)):
        before, following = _sources(wiring, last)
        if first not in before:
            continue
        after = _reach(following, first)
        order = sorted(after, key=lambda one: (after[one] + before[one], after[one]))
        graph = _graph(wiring, {first, last, *order[:most]}, focus, len(order) > most)
        return Graph(graph.nodes, graph.edges, focus, graph.cut, _count(after, following, first, last), goal)
    message = f"%{visible(key[1])} and %{visible(end[1])}"
    hint = "a while loop's body is joined to the loop by its parameter and root: look at these"
    raise HloTuiError("no way leads from one to the other", message, "" if key[0] == end[0] else hint)


def whole(wiring: Wiring, computation: str, most: int = 400) -> Graph:
    """All of a computation; its root is what the graph is about.

    Raises:
        HloTuiError: there is no such computation, it is empty, or it has more than `most` instructions.
    """
    outline = wiring.module.outline
    found = outline.by_name(computation) if outline is not None else None
    if found is None or not found.instructions:
        raise HloTuiError("nothing to draw", f"no computation {visible(computation)} with anything in it")
    if found.instructions > most:
        message = f"{visible(computation)} has {found.instructions:,} instructions, more than {most:,}"
        raise HloTuiError("too many instructions to draw", message, "hlo-tui graph FILE NAME draws a part")
    instructions = wiring.module.body(found).instructions
    root = next((one for one in instructions if one.is_root), instructions[-1])
    members = {(one.computation, one.name) for one in instructions}
    return _graph(wiring, members, (root.computation, root.name), False)


def _sources(wiring: Wiring, start: Key) -> tuple[dict[Key, int], dict[Key, list[Key]]]:
    """How many uses away everything is that a value is made of, and who of these uses whom."""
    distance = {start: 0}
    following: dict[Key, list[Key]] = {}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for near in wiring.operands(at):
            following.setdefault(near, []).append(at)
            if near not in distance:
                distance[near] = distance[at] + 1
                waiting.append(near)
    return distance, following


def _reach(following: dict[Key, list[Key]], start: Key) -> dict[Key, int]:
    distance = {start: 0}
    waiting = deque([start])
    while waiting:
        at = waiting.popleft()
        for near in following.get(at, ()):
            if near not in distance:
                distance[near] = distance[at] + 1
                waiting.append(near)
    return distance


def _count(members: Iterable[Key], following: dict[Key, list[Key]], first: Key, last: Key) -> int:
    """How many different ways lead from one node to another through these."""
    entering: dict[Key, int] = dict.fromkeys(members, 0)
    for key in entering:
        for target in following.get(key, ()):
            entering[target] += 1
    ways = dict.fromkeys(entering, 0)
    ways[first] = 1
    ready = [key for key, count in entering.items() if not count]
    while ready:
        at = ready.pop()
        for target in following.get(at, ()):
            ways[target] = min(WAYS, ways[target] + ways[at])
            entering[target] -= 1
            if not entering[target]:
                ready.append(target)
    return ways[last]


def _graph(wiring: Wiring, members: set[Key], focus: Key, cut: bool) -> Graph:
    nodes: list[Node] = []
    edges: list[tuple[Key, Key]] = []
    for key in members:
        one = wiring.instruction(key)
        operands, users = wiring.operands(key), wiring.users(key)
        edges += [(operand, key) for operand in operands if operand in members and operand != key]
        nodes.append(
            Node(
                key=key,
                opcode=one.opcode,
                shape=one.shape.without_layout(),
                line=one.line,
                is_root=one.is_root,
                called=one.called,
                hidden_operands=sum(operand not in members for operand in operands),
                hidden_users=sum(user not in members for user in users),
            )
        )
    nodes.sort(key=lambda node: (node.line, node.key))
    place = {node.key: number for number, node in enumerate(nodes)}
    edges.sort(key=lambda edge: (place[edge[1]], place[edge[0]]))
    return Graph({node.key: node for node in nodes}, tuple(edges), focus, cut)


def find_key(module: Module, name: str) -> Key:
    """The instruction that a person names: NAME or COMPUTATION/NAME.

    Raises:
        HloTuiError: there is none.
    """
    computation, _, rest = name.rpartition("/")
    found = module.find(rest.lstrip("%"), computation.lstrip("%") or None)
    if found is None:
        raise HloTuiError(
            "no such instruction", visible(name), "hlo-tui grep finds names, opcodes and op_names"
        )
    return found.computation, found.name


def fusions(graph: Graph) -> frozenset[Key]:
    """The fusions in a graph, all of which can be opened."""
    return frozenset(key for key, node in graph.nodes.items() if node.foldable)
