"""Graphs: which instructions they have, how they are laid out, that lines can be told apart, and the pictures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections import defaultdict
from collections.abc import Hashable
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo_tui.cli import main
from hlo_tui.errors import HloTuiError
from hlo_tui.graph.drawing import draw
from hlo_tui.graph.layout import inversions, lay_out
from hlo_tui.graph.pictures import dot, picture, svg
from hlo_tui.graph.routing import route
from hlo_tui.graph.wiring import Graph, Wiring, between, find_key, fusions, neighbourhood, whole
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource, FileSource
from tests.corpus import DATA

(TAGGED,) = (DATA / "passes").glob("*jit_tagged.cpu_after_optimizations.txt")
BODY = "region_0.1"


def module_of(text: str) -> Module:
    module = Module(BytesSource(text.encode(), "m"))
    module.scan()
    return module


@pytest.fixture
def tagged() -> Module:
    module = Module(FileSource(TAGGED))
    module.scan()
    return module


def names(graph: Graph) -> set[str]:
    return {key[1] for key in graph.nodes}


def chain(edges: list[tuple[int, int]], count: int) -> Module:
    """A module whose instructions use each other like this; numbers only go up."""
    operands = defaultdict(list)
    for a, b in edges:
        operands[b].append(a)
    lines = [
        f"  %n{number} = f32[] {'custom-call' if operands[number] else 'parameter'}"
        f"({', '.join(f'%n{a}' for a in operands[number]) or number})"
        for number in range(count)
    ]
    return module_of("ENTRY e {\n" + "\n".join(lines) + "\n}\n")


@st.composite
def graphs(draw, most: int = 9) -> tuple[int, list[tuple[int, int]]]:
    count = draw(st.integers(1, most))
    pairs = list(combinations(range(count), 2))
    return count, sorted(draw(st.sets(st.sampled_from(pairs), max_size=14))) if pairs else []


def distances(count: int, edges: list[tuple[int, int]], start: int) -> dict[int, int]:
    """By Floyd and Warshall, whichever way an edge goes."""
    far = count + 1
    table = [[0 if a == b else far for b in range(count)] for a in range(count)]
    for a, b in edges:
        table[a][b] = table[b][a] = 1
    for middle in range(count):
        for a in range(count):
            for b in range(count):
                table[a][b] = min(table[a][b], table[a][middle] + table[middle][b])
    return {b: table[start][b] for b in range(count) if table[start][b] < far}


@given(graphs(), st.data(), st.integers(0, 4))
@settings(max_examples=80, deadline=None)
def test_a_neighbourhood_is_what_is_that_many_uses_away(drawn, data, width: int):
    count, edges = drawn
    start = data.draw(st.integers(0, count - 1))
    graph = neighbourhood(Wiring(chain(edges, count)), ("e", f"n{start}"), width, each=99)
    near = {number for number, distance in distances(count, edges, start).items() if distance <= width}
    assert names(graph) == {f"n{number}" for number in near}
    assert {(a[1], b[1]) for a, b in graph.edges} == {
        (f"n{a}", f"n{b}") for a, b in edges if a in near and b in near
    }
    for key, node in graph.nodes.items():
        number = int(key[1][1:])
        assert node.hidden_operands == sum(b == number and a not in near for a, b in edges)
        assert node.hidden_users == sum(a == number and b not in near for a, b in edges)


def ways(edges: list[tuple[int, int]], start: int, end: int) -> list[list[int]]:
    """Every way, one after the other."""
    if start == end:
        return [[end]]
    return [[start, *rest] for a, b in edges if a == start for rest in ways(edges, b, end)]


@given(graphs(), st.data())
@settings(max_examples=80, deadline=None)
def test_all_ways_between_two_are_found_and_counted(drawn, data):
    count, edges = drawn
    start, end = (data.draw(st.integers(0, count - 1)) for _ in range(2))
    expected = ways(edges, min(start, end), max(start, end))
    wiring = Wiring(chain(edges, count))
    if not expected:
        with pytest.raises(HloTuiError):
            between(wiring, ("e", f"n{start}"), ("e", f"n{end}"))
        return
    graph = between(wiring, ("e", f"n{start}"), ("e", f"n{end}"))
    assert graph.paths == len(expected)
    assert names(graph) == {f"n{number}" for way in expected for number in way}


@given(graphs(most=12), st.lists(st.integers(1, 12), min_size=12, max_size=12))
@settings(max_examples=150, deadline=None)
def test_boxes_do_not_touch_and_lines_can_be_told_apart(drawn, widths: list[int]):
    count, edges = drawn
    # A box must have a column for each line that comes in, and those of others left free.
    sizes = {number: widths[number] + 4 * sum(b == number for _, b in edges) for number in range(count)}
    routed = route(lay_out(sizes, edges))
    placed = {box.key: box for layer in routed.layout.layers for box in layer if box.key is not None}
    assert set(placed) == set(sizes)
    assert all(placed[a].layer < placed[b].layer for a, b in edges)
    for layer in routed.layout.layers:
        for left, right in pairwise(layer):
            assert left.left + left.width < right.left
    followed = set()
    for layer in routed.layout.layers:
        for box in layer:
            for below in box.below if box.key is not None else ():
                while below.key is None:
                    (below,) = below.below
                followed.add((box.key, below.key))
    assert followed == set(edges)
    for lines in routed.lines:
        height = 1 + max((line.track for line in lines), default=0)
        uprights: dict[tuple[int, int], int] = {}
        across: dict[tuple[int, int], int] = {}
        for line in lines:
            assert line.source.left <= line.start < line.source.left + line.source.width
            assert line.target.left <= line.end < line.target.left + line.target.width
            turn = line.track if line.start != line.end else height
            cells = [(line.start, row) for row in range(turn)]
            cells += [(line.end, row) for row in range(turn + 1, height)]
            for cell in cells:
                assert uprights.setdefault(cell, id(line.source)) == id(line.source)
            if line.start != line.end:
                for column in range(min(line.start, line.end), max(line.start, line.end) + 1):
                    assert across.setdefault((column, line.track), id(line.source)) == id(line.source)


def passed(length: int) -> tuple[dict[Hashable, int], list[tuple[Hashable, Hashable]]]:
    """A chain that uses one value all along."""
    widths: dict[Hashable, int] = dict.fromkeys(("p", *range(length)), 9)
    edges: list[tuple[Hashable, Hashable]] = [("p", at) for at in range(length)]
    return widths, edges + [(at, at + 1) for at in range(length - 1)]


def test_a_chain_has_a_line_that_passes_it_and_one_too_long_is_refused():
    layout = lay_out(*passed(80))
    assert [sum(box.key is not None for box in layer) for layer in layout.layers] == [1] * 81
    assert sum(box.key is None for layer in layout.layers for box in layer) == 79 * 80 // 2
    with pytest.raises(HloTuiError, match="too much to draw"):
        lay_out(*passed(2000))


@given(st.lists(st.integers(0, 20), max_size=40))
def test_pairs_that_stand_the_wrong_way_round_are_counted(numbers: list[int]):
    wrong = sum(a > b for at, a in enumerate(numbers) for b in numbers[at + 1 :])
    assert inversions(numbers, 21) == wrong


def test_circles_are_laid_out_too():
    routed = route(lay_out({1: 3, 2: 3, 3: 3}, [(1, 2), (2, 3), (3, 1), (2, 2)]))
    assert sum(box.key is not None for layer in routed.layout.layers for box in layer) == 3
    assert route(lay_out({}, [])).height == 1


def test_a_drawing_is_what_was_looked_at(tagged: Module):
    graph = neighbourhood(Wiring(tagged), (BODY, "multiply_tanh_fusion"), 2)
    assert [row.rstrip() for row in draw(graph).rows] == [
        "          arg_tuple.1 parameter (s32[], f32… ↓1",
        "             ┌──────────────┴──────────────┐",
        "get-tuple-element.14 s32[]   get-tuple-element.7 f32[2,2]",
        "             │                             │",
        "             │   [multiply_tanh_fusion f32[2,2]]   ↑2 wrapped_add fusion s32[]",
        "             └───────┐          │         ┌─────────────────────┘",
        "                tuple.3 (s32[], f32[2,2], s32[])",
    ]
    plain = draw(graph, ascii_only=True)
    assert all(row.isascii() for row in plain.rows)
    assert plain.rows[1].strip() == "+--------------+--------------+"


def test_one_walks_along_operands_and_users(tagged: Module):
    drawing = draw(neighbourhood(Wiring(tagged), (BODY, "multiply_tanh_fusion"), 2))
    at = (BODY, "multiply_tanh_fusion")
    assert drawing.step(at, "up") == (BODY, "get-tuple-element.7")
    assert drawing.step(at, "down") == (BODY, "tuple.3")
    assert drawing.step(at, "right") == (BODY, "wrapped_add")
    assert drawing.step(at, "left") is None
    assert drawing.step((BODY, "tuple.3"), "down") is None
    for key, place in drawing.places.items():
        assert key[1][:5] in drawing.rows[place.row][place.column : place.column + place.width]


def test_an_opened_fusion_is_what_is_in_it(tagged: Module):
    key = (BODY, "multiply_tanh_fusion")
    closed = neighbourhood(Wiring(tagged), key, 1)
    assert fusions(closed) == {key}
    wiring = Wiring(tagged, frozenset({key}))
    graph = neighbourhood(wiring, key, 1)
    assert graph.focus == ("fused_computation", "tanh.0")
    assert names(graph) == {"tanh.0", "mul.0", "tuple.3"}
    wide = neighbourhood(wiring, key, 2)
    assert (("fused_computation", "mul.0"), ("fused_computation", "tanh.0")) in wide.edges
    assert ((BODY, "get-tuple-element.7"), ("fused_computation", "mul.0")) in wide.edges
    assert (("fused_computation", "tanh.0"), (BODY, "tuple.3")) in wide.edges
    assert "multiply_tanh_fusion" not in names(wide)
    path = between(wiring, (BODY, "arg_tuple.1"), (BODY, "tuple.3"))
    assert path.paths == 3


def test_what_is_not_there_is_an_error(tagged: Module):
    wiring = Wiring(tagged)
    for name in ("nothing", "main.4/nothing", "", "/"):
        with pytest.raises(HloTuiError):
            find_key(tagged, name)
    with pytest.raises(HloTuiError, match="no way"):
        between(wiring, find_key(tagged, "x.1"), find_key(tagged, "n.1"))
    with pytest.raises(HloTuiError, match="no way"):
        between(wiring, find_key(tagged, "x.1"), find_key(tagged, "tuple.3"))


def test_a_fusion_whose_computation_is_missing_stays_closed():
    module = module_of("ENTRY e {\n  %a = f32[] parameter(0)\n  ROOT %f = f32[] fusion(%a), calls=%gone\n}\n")
    for name in ("a", "f"):
        graph = neighbourhood(Wiring(module, frozenset({("e", "f")})), ("e", name), 2)
        assert ("e", name) in graph.nodes


def test_a_graph_holds_no_more_than_it_may():
    count = 300
    module = chain([(0, number) for number in range(1, count)], count)
    graph = neighbourhood(Wiring(module), ("e", "n0"), 1, most=20, each=999)
    assert graph.cut
    assert len(graph.nodes) == 20
    graph = neighbourhood(Wiring(module), ("e", "n0"), 1)
    assert len(graph.nodes) < 20
    assert graph.nodes["e", "n0"].hidden_users == count - 1 - (len(graph.nodes) - 1)


@pytest.mark.parametrize(("start", "end"), [("n0", "n299"), ("n299", "n0")])
def test_both_ends_of_a_very_long_way_are_there(start: str, end: str):
    module = chain([(number, number + 1) for number in range(299)], 300)
    graph = between(Wiring(module), ("e", start), ("e", end))
    assert graph.cut
    assert graph.paths == 1
    assert graph.focus in graph.nodes
    assert graph.end in graph.nodes
    assert set(draw(graph).places) == set(graph.nodes)


@given(st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_any_text_is_drawn_or_refused(text: str):
    module = module_of(f"ENTRY e {{\n  %a = f32[] parameter(0)\n{text}\n  ROOT %b = f32[] add(%a, %a)\n}}\n")
    for name in ("a", "b"):
        try:
            graph = neighbourhood(Wiring(module), find_key(module, name), 3)
        except HloTuiError:
            continue
        assert all(row.isprintable() for row in draw(graph, ascii_only=True).rows)


def test_pictures_hold_every_instruction_and_edge(tagged: Module):
    wiring = Wiring(tagged)
    graph = neighbourhood(wiring, find_key(tagged, "call"), 3)
    language = dot(graph, 'a "title" \\')
    assert language.count(" -> ") == len(graph.edges)
    assert r'"a \"title\" \\"' in language
    drawn = ElementTree.fromstring(svg(graph, "a < b & c"))
    space = "{http://www.w3.org/2000/svg}"
    assert len(drawn.findall(f".//{space}rect")) == len(graph.nodes)
    assert drawn.findtext(f"{space}title") == "a < b & c"
    page = picture(graph, wiring, "page", "html").decode()
    assert page.count("<span id=") == len(graph.nodes)
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")
    with pytest.raises(HloTuiError):
        picture(graph, wiring, "page", "png")


def test_a_whole_computation_is_drawn_where_it_is_not_too_large(tagged: Module):
    entry = tagged.outline.entry
    graph = whole(Wiring(tagged), entry.name)
    assert len(graph.nodes) == entry.instructions
    assert graph.focus == ("main.4", "wrapped_reduce")
    with pytest.raises(HloTuiError, match="too many"):
        whole(Wiring(tagged), entry.name, most=3)
    with pytest.raises(HloTuiError):
        whole(Wiring(tagged), "nothing")


def test_nothing_of_a_file_becomes_markup():
    module = module_of('ENTRY e {\n  ROOT %a = f32[] custom-call(), x="</pre><script>"\n}\n')
    wiring = Wiring(module)
    page = picture(neighbourhood(wiring, ("e", "a"), 1), wiring, "<b>", "html").decode()
    assert "<script>" not in page
    assert "<b>" not in page


def test_graphviz_lays_out_where_it_is_installed(tagged: Module, tmp_path: Path, monkeypatch):
    tool = tmp_path / "dot"
    tool.write_text(
        f"#!{sys.executable}\nimport sys\nsys.stdin.read()\nprint('<?xml?><svg>by graphviz</svg>')\n"
    )
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    wiring = Wiring(tagged)
    graph = neighbourhood(wiring, find_key(tagged, "call"), 1)
    assert picture(graph, wiring, "x", "svg").startswith(b"<svg>by graphviz")
    tool.write_text("#!/bin/sh\nexit 1\n")
    assert picture(graph, wiring, "x", "svg").startswith(b"<svg xmlns")


def test_the_command_draws_and_writes(tmp_path: Path, capsys):
    assert main(["graph", str(TAGGED), "call", "--width", "1"]) == 0
    assert "call" in capsys.readouterr().out
    assert main(["graph", str(TAGGED), "x.1", "--to", "wrapped_reduce", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["paths"] == 1
    assert [node["name"] for node in told["nodes"]][told["focus"]] == "x.1"
    assert main(["graph", str(TAGGED), "call", "--open", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert not any(node["opcode"] == "fusion" for node in told["nodes"])
    for ending in ("dot", "svg", "html"):
        out = tmp_path / f"a.{ending}"
        assert main(["graph", str(TAGGED), "call", "-o", str(out)]) == 0
        assert out.stat().st_size > 500
    assert main(["graph", str(TAGGED), "call", "-o", str(tmp_path / "a.png")]) == 2
    assert main(["graph", str(TAGGED), "nothing"]) == 2


def test_a_terminal_that_has_no_such_signs_gets_others():
    done = subprocess.run(
        [sys.executable, "-m", "hlo_tui", "graph", str(TAGGED), "call"],
        env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True, check=True,
    )  # fmt: skip
    assert done.stdout.isascii()
    assert b"?" not in done.stdout
