"""A graph as data and as text."""

from __future__ import annotations

from typing import Any

from hlo_tui.dump.words import count_text
from hlo_tui.graph.drawing import draw
from hlo_tui.graph.wiring import WAYS, Graph
from hlo_tui.hlo.visible import visible


def to_json(graph: Graph) -> dict[str, Any]:
    """The graph as plain data; edges lead from an operand to its user, by numbers of nodes."""
    numbers = {key: number for number, key in enumerate(graph.nodes)}
    return {
        "focus": numbers[graph.focus],
        "end": numbers.get(graph.end) if graph.end is not None else None,
        "paths": graph.paths if graph.end is not None else None,
        "cut": graph.cut,
        "nodes": [
            {
                "computation": node.key[0],
                "name": node.name,
                "opcode": node.opcode,
                "shape": node.shape,
                "line": node.line + 1,
                "hidden_operands": node.hidden_operands,
                "hidden_users": node.hidden_users,
            }
            for node in graph.nodes.values()
        ],
        "edges": [[numbers[a], numbers[b]] for a, b in graph.edges],
    }


def to_text(graph: Graph, ascii_only: bool = False) -> str:
    """The graph drawn, and under it what the drawing does not say."""
    rows = [row.rstrip() for row in draw(graph, ascii_only=ascii_only).rows]
    return "\n".join([*rows, "", summary(graph)])


def summary(graph: Graph) -> str:
    """How much there is, and how much is not shown."""
    words = [count_text(len(graph.nodes), "instruction")]
    if graph.end is not None:
        count = f"more than {WAYS:,} ways" if graph.paths >= WAYS else count_text(graph.paths, "way")
        words.append(f"{count} to %{visible(graph.end[1])}")
    if graph.cut:
        words.append("there are more: the nearest are shown")
    return ", ".join(words)
