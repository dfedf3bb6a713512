"""A graph as a file: Graphviz's language, SVG, and a page of its own that needs nothing else."""

from __future__ import annotations

import html
import shutil
import subprocess
from collections.abc import Hashable, Iterator

from hlo_tui.errors import HloTuiError
from hlo_tui.graph.drawing import label
from hlo_tui.graph.layout import lay_out
from hlo_tui.graph.routing import Routed, route
from hlo_tui.graph.wiring import Graph, Key, Node, Wiring
from hlo_tui.hlo.visible import visible

FORMS = ("dot", "svg", "html")
_LONGEST = 60
_TEXT = 2000
# Pixels of a character and of a row.
_ACROSS, _DOWN, _EDGE = 7.3, 18, 10
# Seconds that Graphviz may take before our own layout is used.
_PATIENCE = 20
_STYLE = """
svg { font: 12px monospace; background: #fff; }
.node rect { fill: #eef3fa; stroke: #6b7f99; rx: 3; }
.node.focus rect { fill: #ffe9b8; stroke: #a06a00; stroke-width: 2; }
.node text { fill: #111; }
.edge { fill: none; stroke: #8a94a3; }
"""
_PAGE = """
body { font: 13px sans-serif; margin: 1em; color: #111; background: #fff; }
pre { font: 12px monospace; }
pre span:target { background: #ffe9b8; }
.graph { overflow: auto; max-height: 75vh; border: 1px solid #ccd; }
"""


def picture(graph: Graph, wiring: Wiring, title: str, form: str) -> bytes:
    """Make a file of a graph.

    Args:
        graph: what to draw.
        wiring: the module's, for the text of its instructions.
        title: what stands over it.
        form: "dot", "svg" or "html"; the last two are laid out by Graphviz where it is installed.

    Raises:
        HloTuiError: the form is none of these, or there is too much to lay out.
    """
    if form not in FORMS:
        raise HloTuiError("no such picture", visible(form), f"there are: {', '.join(FORMS)}")
    if form == "dot":
        return dot(graph, title).encode()
    drawn = _by_graphviz(graph, title) or svg(graph, title)
    return drawn.encode() if form == "svg" else _page(graph, wiring, title, drawn).encode()


def dot(graph: Graph, title: str) -> str:
    """A graph in Graphviz's language."""
    numbers = {key: number for number, key in enumerate(graph.nodes)}
    lines = [
        "digraph G {",
        f"  label={_quoted(title)}; labelloc=t; rankdir=TB;",
        '  node [shape=box, style="rounded,filled", fillcolor="#eef3fa", fontname="monospace", fontsize=11];',
    ]
    for key, node in graph.nodes.items():
        focus = ', fillcolor="#ffe9b8", penwidth=2' if key in (graph.focus, graph.end) else ""
        words = _quoted(label(node, _LONGEST))
        lines.append(f"  n{numbers[key]} [label={words}, tooltip={_quoted('/'.join(key))}{focus}];")
    lines += [f"  n{numbers[a]} -> n{numbers[b]};" for a, b in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def svg(graph: Graph, title: str) -> str:
    """A graph as SVG, by our own layout."""
    labels: dict[Hashable, str] = {key: label(node, _LONGEST) for key, node in graph.nodes.items()}
    routed = route(lay_out({key: len(text) + 2 for key, text in labels.items()}, graph.edges))
    width, height = routed.layout.width * _ACROSS + 2 * _EDGE, routed.height * _DOWN + 2 * _EDGE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}">',
        f"<title>{_escaped(title)}</title>",
        f"<style>{_STYLE}</style>",
        *_paths(routed),
    ]
    by_key: dict[Hashable, Node] = dict(graph.nodes.items())
    for layer, row in zip(routed.layout.layers, routed.rows, strict=True):
        for box in layer:
            if box.key in by_key:
                node = by_key[box.key]
                focus = " focus" if node.key in (graph.focus, graph.end) else ""
                whole = _escaped("/".join(node.key))
                parts.append(
                    f'<a href="#{_anchor(node.key)}"><g class="node{focus}"><title>{whole}</title>'
                    f'<rect x="{_x(box.left):.1f}" y="{_y(row):.1f}" width="{box.width * _ACROSS:.1f}" '
                    f'height="{_DOWN}"/><text x="{_x(box.left + 1):.1f}" y="{_y(row) + 13:.1f}">'
                    f"{_escaped(labels[box.key])}</text></g></a>"
                )
    return "\n".join([*parts, "</svg>"]) + "\n"


def _paths(routed: Routed) -> Iterator[str]:
    for layer, row in zip(routed.layout.layers, routed.rows, strict=True):
        for box in layer:
            if box.key is None:
                x = _x(box.left) + _ACROSS / 2
                yield f'<path class="edge" d="M{x:.1f} {_y(row):.1f}V{_y(row + 1):.1f}"/>'
    for number, lines in enumerate(routed.lines):
        top, bottom = _y(routed.rows[number] + 1), _y(routed.rows[number + 1])
        for line in lines:
            start, end = _x(line.start) + _ACROSS / 2, _x(line.end) + _ACROSS / 2
            across = top + (line.track + 0.5) * _DOWN
            yield f'<path class="edge" d="M{start:.1f} {top:.1f}V{across:.1f}H{end:.1f}V{bottom:.1f}"/>'


def _x(column: int) -> float:
    return column * _ACROSS + _EDGE


def _y(row: int) -> float:
    return row * _DOWN + _EDGE


def _page(graph: Graph, wiring: Wiring, title: str, drawn: str) -> str:
    rows = []
    for key, node in graph.nodes.items():
        text = wiring.module.text(node.line)[:_TEXT]
        rows.append(f'<span id="{_anchor(key)}">{node.line + 1:>8}  {_escaped(text.strip())}</span>')
    code = "\n".join(rows)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{_escaped(title)}</title>'
        f"<style>{_PAGE}</style></head>\n<body><h1>{_escaped(title)}</h1>\n"
        f'<div class="graph">{drawn}</div>\n<pre>{code}</pre></body></html>\n'
    )


def _by_graphviz(graph: Graph, title: str) -> str | None:
    """The SVG that Graphviz makes; None where it is not installed or does not do it."""
    tool = shutil.which("dot")
    if tool is None:
        return None
    try:
        done = subprocess.run(
            [tool, "-Tsvg"],
            input=dot(graph, title).encode(),
            capture_output=True,
            timeout=_PATIENCE,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = done.stdout.decode("utf-8", "replace")
    begin = text.find("<svg")
    return text[begin:] if done.returncode == 0 and begin >= 0 else None


def _anchor(key: Key) -> str:
    return _escaped(".".join(key))


def _quoted(text: str) -> str:
    shown = visible(text).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{shown}"'


def _escaped(text: str) -> str:
    return html.escape(visible(text))
