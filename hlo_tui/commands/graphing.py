"""The command that draws: graph."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from hlo_tui.commands.writing import check_out, write
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible

if TYPE_CHECKING:
    from hlo_tui.graph.wiring import Graph, Wiring
    from hlo_tui.hlo.module import Module

# In a file there is room for more than on a screen.
_MOST, _EACH = 2000, 1000


def width(text: str) -> int:
    """How many uses away from an instruction."""
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number")
    return int(text[:4])


def graph(parsed: argparse.Namespace) -> int:
    from hlo_tui.graph import pictures, report, wiring
    from hlo_tui.hlo import loading
    from hlo_tui.hlo.module import Module

    form = "" if parsed.out is None else parsed.out.suffix.lower().removeprefix(".")
    if parsed.out is not None and form not in pictures.FORMS:
        hint = f"the endings are .{', .'.join(pictures.FORMS)}"
        raise HloTuiError("what form is meant?", f"{visible(str(parsed.out))} does not say it", hint)
    if parsed.out is not None:
        check_out(parsed.out, parsed.path)
    document = loading.open_document(parsed.path, parsed.member)
    module = Module(document.source, document.kind)
    module.scan()
    room = (_MOST, _EACH) if form or parsed.json else (wiring.MOST, wiring.EACH)
    found = _found(module, parsed, *room)
    if parsed.out is not None:
        title = f"{module.name}: {parsed.name}" + (f" to {parsed.to}" if parsed.to else "")
        write(pictures.picture(found[0], found[1], title, form), parsed.out)
    encoding = (sys.stdout.encoding or "").lower()
    if parsed.json:
        print(json.dumps(report.to_json(found[0])))
    elif parsed.out is None:
        print(report.to_text(found[0], ascii_only=not encoding.startswith("utf")))
    else:
        print(f"{report.summary(found[0])}, in {visible(str(parsed.out))}")
    return 0


def _found(module: Module, parsed: argparse.Namespace, most: int, each: int) -> tuple[Graph, Wiring]:
    """The graph that is asked for; fusions are opened where they are in it when they are closed."""
    from hlo_tui.graph import wiring

    opened: frozenset[wiring.Key] = frozenset()
    while True:
        wires = wiring.Wiring(module, opened)
        key = wiring.find_key(module, parsed.name)
        if parsed.to:
            graph = wiring.between(wires, key, wiring.find_key(module, parsed.to), most)
        else:
            graph = wiring.neighbourhood(wires, key, parsed.width, most, each)
        more = wiring.fusions(graph) | ({key} if wires.instruction(key).opcode == "fusion" else set())
        if not parsed.open or more <= opened:
            return graph, wires
        opened |= more
