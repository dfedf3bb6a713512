"""Finds the lines that stops and a replay's state mean in a module; done on the reader's thread."""

from __future__ import annotations

from itertools import islice

from hlo_tui.hlo.module import Module
from hlo_tui.hlo.outline import Computation
from hlo_tui.hlo.tags import stops
from hlo_tui.replay.meaning import Meaning
from hlo_tui.replay.session import State, Stop
from hlo_tui.replay.stopspec import StopSpec
from hlo_tui.ui.glyphs import BAD, GIVEN
from hlo_tui.ui.inspection import line_of
from hlo_tui.ui.marks import Marks, Tagged, value_sign
from hlo_tui.ui.opened import Opened

# How many tagged operations are marked; more of them nobody stops at one by one.
MOST = 5000
NOTHING = Meaning()


def find_tagged(module: Module) -> tuple[Tagged, ...]:
    """The operations of a scanned module that are tagged to stop at, in the order of the text: the first `MOST`."""
    tagged = (one for one in module.tagged() if stops(one.frontend_attributes))
    return tuple(Tagged(one.computation, one.name, one.line) for one in islice(tagged, MOST))


def find_marks(opened: Opened, specs: tuple[StopSpec, ...], state: State | None) -> Marks:
    """Find the lines that stops and a replay's state mean in a scanned module; what stops mean is known already."""
    module, meant = opened.module, opened.meant
    on: set[int] = set()
    off: set[int] = set()
    for spec in specs:
        lines = {spot.line for spot in meant.get(spec, NOTHING).spots}
        if spec.kind != "tags":
            (on if spec.enabled else off).update(lines)
    tag_lines = frozenset(one.line for one in opened.tagged)
    tags_on = any(spec.kind == "tags" and spec.enabled for spec in specs)
    disabled = (tag_lines - on if not tags_on else tag_lines & off) | (frozenset(off) - on)
    if state is not None:
        places = ((str(stop["computation"]), str(stop["instruction"])) for stop in state.stops)
        found = {line for place in places if (line := line_of(module, *place)) is not None}
        if found and state.specs == specs and any(spec.kind == "tags" and spec.ends for spec in specs):
            disabled |= tag_lines - found
        on |= found
    stop_lines = frozenset(on) - tag_lines
    if state is None:
        return Marks(tag_lines, disabled, stop_lines)
    standing = None
    frames: tuple[int, ...] = ()
    ran: tuple[tuple[int, int], ...] = ()
    if state.current is not None:
        standing = line_of(module, state.current.computation, state.current.instruction)
        frames, ran = _path(module, state.current)
    elif state.at == "end":
        ran = _all_of_entry(module)
    values = _values(module, state)
    for one in (state.start or {}).get("supplied") or ():
        line = line_of(module, str(one["computation"]), str(one["instruction"]))
        if line is not None and (line == standing or any(first <= line <= last for first, last in ran)):
            values.setdefault(line, GIVEN)
    return Marks(tag_lines, disabled, stop_lines, standing, frames, ran, values)


def _path(module: Module, stop: Stop) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
    """The lines of the calls on the way to a stop, and what has been run in each computation."""
    outline = module.outline
    assert outline is not None
    position = stop.event["position"]
    places = [site for site, _ in position["path"]] + [position["index"]]
    calls, ran = [], []
    for step, place in zip(stop.event["path"], places, strict=False):
        computation = outline.by_name(str(step["computation"]))
        if computation is None:
            continue
        line = _line_at(module, computation, int(place))
        calls.append(line)
        if line > computation.line + 1:
            ran.append((computation.line + 1, line - 1))
    return tuple(calls[:-1]), tuple(ran)


def _line_at(module: Module, computation: Computation, place: int) -> int:
    body = module.body(computation)
    if place < 0:
        return computation.line
    instruction = body.at(place) if place < len(body) else None
    return computation.last if instruction is None else instruction.line


def _all_of_entry(module: Module) -> tuple[tuple[int, int], ...]:
    entry = module.outline.entry if module.outline is not None else None
    return () if entry is None else ((entry.line + 1, entry.last - 1),)


def _values(module: Module, state: State) -> dict[int, str]:
    known: dict[tuple[str, str], object] = {}
    found: dict[int, str] = {}
    event = state.current.event if state.current is not None else state.end if state.at == "end" else None
    for computation, instruction in (event or {}).get("carriers", ()):
        line = line_of(module, computation, instruction)
        if line is not None:
            found[line] = BAD
    for stop in state.history:
        known[stop.computation, stop.instruction] = stop.summary
    known.update(state.values)
    if state.current is not None:
        known[state.current.computation, state.current.instruction] = state.current.summary
    for (computation, instruction), summary in known.items():
        sign = value_sign(summary)
        line = line_of(module, computation, instruction) if sign else None
        if line is not None:
            found[line] = sign
    return found
