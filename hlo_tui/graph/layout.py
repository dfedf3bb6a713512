"""A layered layout: operands above users, each layer in an order with few crossings, edges led around."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from hlo_tui.errors import HloTuiError

GAP = 3
_SWEEPS = 6
# A long chain that uses one value all along has as many bends as half the square of its length.
_MOST_BENDS = 60_000


@dataclass(slots=True, eq=False)
class Box:
    """A place in a layer: a node, or a bend of an edge that passes the layer.

    Attributes:
        key: the node's key, None for a bend.
        width: columns.
        layer: from 0 at the top.
        left: the first column.
        above, below: the boxes that edges lead to.
    """

    key: Hashable
    width: int
    layer: int = 0
    left: int = 0
    above: list[Box] = field(default_factory=list)
    below: list[Box] = field(default_factory=list)

    @property
    def middle(self) -> int:
        """The column in the middle."""
        return self.left + self.width // 2


@dataclass(frozen=True, slots=True)
class Layout:
    """Boxes in layers, each from the left.

    Attributes:
        layers: the boxes.
        width: columns of all of it.
    """

    layers: tuple[tuple[Box, ...], ...]
    width: int


def lay_out(widths: Mapping[Hashable, int], edges: Iterable[tuple[Hashable, Hashable]]) -> Layout:
    """Lay a graph out.

    Args:
        widths: columns of each node, in an order that decides where nothing else does.
        edges: from above to below; those that would close a circle are turned around.

    Raises:
        HloTuiError: the lines are too long, all of them together.
    """
    boxes = {key: Box(key, max(1, width)) for key, width in widths.items()}
    following: dict[Hashable, list[Hashable]] = {key: [] for key in boxes}
    for source, target in dict.fromkeys(edges):
        if source != target and source in boxes and target in boxes:
            following[source].append(target)
    order = _sorted(following)
    place = {key: number for number, key in enumerate(order)}
    pairs = [
        (source, target) if place[source] < place[target] else (target, source)
        for source in boxes
        for target in following[source]
    ]
    _assign_layers(boxes, order, pairs)
    bends = sum(boxes[target].layer - boxes[source].layer - 1 for source, target in set(pairs))
    if bends > _MOST_BENDS:
        message = f"{len(boxes):,} instructions, with lines past {bends:,} places"
        raise HloTuiError(
            "too much to draw", message, "a smaller width draws less; .dot is written at any size"
        )
    layers: list[list[Box]] = [[] for _ in range(1 + max((box.layer for box in boxes.values()), default=-1))]
    for box in boxes.values():
        layers[box.layer].append(box)
    for source, target in dict.fromkeys(pairs):
        _join(boxes[source], boxes[target], layers)
    _reorder(layers)
    _place(layers)
    width = max((box.left + box.width for layer in layers for box in layer), default=0)
    return Layout(tuple(map(tuple, layers)), width)


def _sorted(following: Mapping[Hashable, Sequence[Hashable]]) -> list[Hashable]:
    """Every node behind those that lead to it, as far as there are no circles."""
    entering = dict.fromkeys(following, 0)
    for targets in following.values():
        for target in targets:
            entering[target] += 1
    order: list[Hashable] = []
    left = dict.fromkeys(following)
    ready = [key for key, count in entering.items() if not count]
    while left:
        if not ready:
            # A circle: it is broken at the first node of it that is left.
            ready.append(next(iter(left)))
        key = ready.pop(0)
        if key not in left:
            continue
        del left[key]
        order.append(key)
        for target in following[key]:
            entering[target] -= 1
            if not entering[target]:
                ready.append(target)
    return order


def _assign_layers(
    boxes: Mapping[Hashable, Box], order: Sequence[Hashable], pairs: Sequence[tuple[Hashable, Hashable]]
) -> None:
    """As far down as what leads to a node asks for; what nothing leads to stands right above its users."""
    targets: dict[Hashable, list[Hashable]] = {}
    has_sources = set()
    for source, target in pairs:
        targets.setdefault(source, []).append(target)
        has_sources.add(target)
    for key in order:
        for target in targets.get(key, ()):
            boxes[target].layer = max(boxes[target].layer, boxes[key].layer + 1)
    for key in reversed(order):
        if key not in has_sources and targets.get(key):
            boxes[key].layer = min(boxes[target].layer for target in targets[key]) - 1


def _join(source: Box, target: Box, layers: list[list[Box]]) -> None:
    """An edge, with a bend in each layer that it passes."""
    above = source
    for layer in range(source.layer + 1, target.layer):
        bend = Box(None, 1, layer)
        layers[layer].append(bend)
        _link(above, bend)
        above = bend
    _link(above, target)


def _link(above: Box, below: Box) -> None:
    above.below.append(below)
    below.above.append(above)


def _reorder(layers: list[list[Box]]) -> None:
    """Go down and up, putting each box in the middle of its neighbours, and keep the order with fewest crossings."""
    best, crossings = [list(layer) for layer in layers], _crossings(layers)
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for at in range(len(layers)) if down else reversed(range(len(layers))):
            layer, near = layers[at], layers[max(0, at - 1) : at + 2]
            place = {id(box): number for row in near for number, box in enumerate(row)}
            layer.sort(key=lambda box, p=place, d=down: _mean(box, p, d))  # type: ignore[misc]
        found = _crossings(layers)
        if found < crossings:
            best, crossings = [list(layer) for layer in layers], found
    for layer, order in zip(layers, best, strict=True):
        layer[:] = order


def _mean(box: Box, place: Mapping[int, int], down: bool) -> float:
    near = box.above if down else box.below
    if not near:
        return place[id(box)]
    return sum(place[id(one)] for one in near) / len(near)


def _crossings(layers: Sequence[Sequence[Box]]) -> int:
    count = 0
    for layer, below in pairwise(layers):
        place = {id(box): number for number, box in enumerate(below)}
        ends = [
            place[id(target)] for box in layer for target in sorted(box.below, key=lambda b: place[id(b)])
        ]
        count += inversions(ends, len(below))
    return count


def inversions(numbers: Sequence[int], bound: int) -> int:
    """How many pairs of numbers below `bound` stand the wrong way round; a Fenwick tree counts what came before."""
    tree, count = [0] * (bound + 1), 0
    for seen, number in enumerate(numbers):
        at, no_larger = number + 1, 0
        while at:
            no_larger += tree[at]
            at &= at - 1
        count += seen - no_larger
        at = number + 1
        while at <= bound:
            tree[at] += 1
            at += at & -at
    return count


def _place(layers: Sequence[Sequence[Box]]) -> None:
    """Give each box its columns: near its neighbours, in order, with gaps."""
    for layer in layers:
        left = 0
        for box in layer:
            box.left = left
            left += box.width + GAP
    for sweep in range(_SWEEPS):
        down = sweep % 2 == 0
        for layer in layers if down else tuple(reversed(layers)):
            wanted = [_wanted(box, down) for box in layer]
            _pack(layer, wanted)
    for above, layer in pairwise(layers):
        _step_aside(above, layer)
    least = min((box.left for layer in layers for box in layer), default=0)
    for layer in layers:
        for box in layer:
            box.left -= least


def _step_aside(above: Sequence[Box], layer: Sequence[Box]) -> None:
    """Move bends by a column that stand right below where another box's lines begin: the two would look like one."""
    begun = {one.middle: one for one in above if one.below}
    for box in layer:
        if box.key is None:
            own = (None, box.above[0])
            free = (column for column in (box.left, box.left + 1, box.left - 1) if begun.get(column) in own)
            box.left = next(free, box.left)


def _wanted(box: Box, down: bool) -> int:
    near = (box.above if down else box.below) or (box.below if down else box.above)
    if not near:
        return box.left
    middles = sorted(one.middle for one in near)
    half = len(middles) // 2
    middle = middles[half] if len(middles) % 2 else (middles[half - 1] + middles[half]) // 2
    return middle - box.width // 2


def _pack(layer: Sequence[Box], wanted: Sequence[int]) -> None:
    """The places nearest to those that are wanted at which nothing overlaps: groups that touch move as one."""
    groups: list[tuple[list[int], int]] = []
    offsets = [0]
    for box in layer:
        offsets.append(offsets[-1] + box.width + GAP)
    for number in range(len(layer)):
        members = [number]
        middle = wanted[number] - offsets[number]
        while groups and groups[-1][1] > middle:
            before, _ = groups.pop()
            members = before + members
            ideals = sorted(wanted[m] - offsets[m] for m in members)
            middle = ideals[len(ideals) // 2]
        groups.append((members, middle))
    for members, middle in groups:
        for member in members:
            layer[member].left = middle + offsets[member]
