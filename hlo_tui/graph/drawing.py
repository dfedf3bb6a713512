"""A graph drawn with characters, and where each instruction stands in the drawing."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from hlo_tui.graph.layout import lay_out
from hlo_tui.graph.routing import Routed, route
from hlo_tui.graph.wiring import Graph, Key, Node
from hlo_tui.hlo.visible import visible

_UP, _RIGHT, _DOWN, _LEFT = 1, 2, 4, 8
# By which of the four sides a line goes on.
_LINES = " ╵╶└╷│┌├╴┘─┴┐┤┬┼"
_PLAIN = " |-+||++-+-+++++"
_LONGEST = 34


@dataclass(frozen=True, slots=True)
class Place:
    """Where an instruction stands: the row, the first column, and how many columns."""

    row: int
    column: int
    width: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """A graph as rows of characters, all equally long.

    Attributes:
        rows: the drawing.
        places: where each instruction is.
        graph: what is drawn.
    """

    rows: tuple[str, ...]
    places: dict[Key, Place]
    graph: Graph

    @property
    def width(self) -> int:
        """Columns of it."""
        return len(self.rows[0]) if self.rows else 0

    def step(self, at: Key, way: str) -> Key | None:
        """The instruction next to one: "up" to an operand, "down" to a user, "left" and "right" in its row."""
        here = self.places[at]
        middle = here.column + here.width / 2
        if way in ("left", "right"):
            others = [k for k, p in self.places.items() if p.row == here.row and k != at]
            there = [k for k in others if (self.places[k].column > here.column) == (way == "right")]
        else:
            there = [
                b if way == "down" else a for a, b in self.graph.edges if (a if way == "down" else b) == at
            ]
        return min(there, key=lambda key: self._distance(key, here.row, middle), default=None)

    def _distance(self, key: Key, row: int, middle: float) -> tuple[int, float]:
        place = self.places[key]
        return abs(place.row - row), abs(place.column + place.width / 2 - middle)


def label(node: Node, longest: int = _LONGEST) -> str:
    """An instruction in few characters: name, opcode where the name does not say it, shape, what is hidden."""
    name = visible(node.name)
    opcode = "" if node.opcode.replace("-", "_") in name.replace("-", "_") else f" {visible(node.opcode)}"
    words = f"{name}{opcode} {visible(node.shape)}"
    if len(words) > longest:
        words = f"{words[: longest - 1]}…"
    above = f"↑{node.hidden_operands} " if node.hidden_operands else ""
    below = f" ↓{node.hidden_users}" if node.hidden_users else ""
    return f"{above}{words}{below}"


def draw(graph: Graph, *, ascii_only: bool = False, longest: int = _LONGEST) -> Drawing:
    """Draw a graph: operands above, users below.

    Args:
        graph: what to draw.
        ascii_only: use no other characters.
        longest: characters of one instruction.
    """
    labels = {key: _signed(node, graph, ascii_only, longest) for key, node in graph.nodes.items()}
    routed = route(lay_out({key: len(text) for key, text in labels.items()}, graph.edges))
    width = routed.layout.width
    grid = [[0] * width for _ in range(routed.height)]
    _draw_lines(routed, grid)
    signs = _PLAIN if ascii_only else _LINES
    rows = [[signs[cell] for cell in line] for line in grid]
    places: dict[Key, Place] = {}
    by_key: dict[Hashable, Key] = {key: key for key in labels}
    for layer, row in zip(routed.layout.layers, routed.rows, strict=True):
        for box in layer:
            if box.key in by_key:
                key = by_key[box.key]
                rows[row][box.left : box.left + box.width] = list(labels[key])
                places[key] = Place(row, box.left, box.width)
    return Drawing(tuple("".join(line) for line in rows), places, graph)


def _signed(node: Node, graph: Graph, ascii_only: bool, longest: int) -> str:
    left, right = ("[", "]") if node.key in (graph.focus, graph.end) else ("", "")
    text = f"{left}{label(node, longest)}{right}"
    if ascii_only:
        text = text.replace("↑", "^").replace("↓", "v").replace("…", "~")
        text = text.encode("ascii", "replace").decode()
    return text


def _draw_lines(routed: Routed, grid: list[list[int]]) -> None:
    for layer, row in zip(routed.layout.layers, routed.rows, strict=True):
        for box in layer:
            if box.key is None:
                grid[row][box.left] |= _UP | _DOWN
    for number, lines in enumerate(routed.lines):
        top, bottom = routed.rows[number] + 1, routed.rows[number + 1] - 1
        for line in lines:
            across = min(top + line.track, bottom)
            _down(grid, line.start, top, across, line.start != line.end)
            if line.start != line.end:
                _across(grid, across, line.start, line.end)
                _down(grid, line.end, across, bottom, False, bend=True)
            else:
                _down(grid, line.start, across, bottom, False)


def _down(grid: list[list[int]], column: int, first: int, last: int, turns: bool, bend: bool = False) -> None:
    for row in range(first, last + 1):
        if not (bend and row == first):
            grid[row][column] |= _UP
        if not (turns and row == last):
            grid[row][column] |= _DOWN


def _across(grid: list[list[int]], row: int, start: int, end: int) -> None:
    low, high = min(start, end), max(start, end)
    for column in range(low, high + 1):
        if column > low:
            grid[row][column] |= _LEFT
        if column < high:
            grid[row][column] |= _RIGHT
