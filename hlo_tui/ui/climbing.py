"""What the commands do that go through the outline of a file and along the ladder of stages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.climbing import Climber
from hlo_tui.passes.ladder import AFTER, JAXPR, KERNEL, ORDER, STABLEHLO, Rung
from hlo_tui.ui.glyphs import STANDING
from hlo_tui.ui.handlers import does
from hlo_tui.ui.inforows import Jump
from hlo_tui.ui.opened import Opened, Want
from hlo_tui.ui.popups import Popup
from hlo_tui.ui.rows import Row, Span, row
from hlo_tui.ui.treerows import Place, module_title

if TYPE_CHECKING:
    from hlo_tui.dump.modules import Module
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.messages import Climbed
    from hlo_tui.ui.shelf import Shelf

_LISTED = 20_000
# How to get a rung that is missing.
_MISSING = {
    JAXPR: "no jaxpr beside this: JAX_DUMP_IR_TO=DIR JAX_DUMP_IR_MODES=jaxpr writes it",
    STABLEHLO: "no StableHLO beside this: JAX_DUMP_IR_TO=DIR writes it",
    AFTER: "the module after the passes is not in the dump",
    KERNEL: "no code beside this: --xla_dump_emitter_re=.* writes it where the compiler can",
}


def rungs_at(climber: Climber, opened: Opened, line: int, way: int, stop: Callable[[], bool]) -> list[Rung]:
    """The rungs of what is on a line of a scanned file; none where nothing says them."""
    if opened.want.member is not None:
        return []
    if opened.page is not None:
        return climber.of_line(opened.want.path, opened.page, line, way, stop)
    instruction = opened.module.instruction_at(line)
    return [] if instruction is None else climber.of_instruction(opened.want.path, instruction, way, stop)


@does("outline")
def _outline(app: BaseApp) -> None:
    opened = app.desk.opened
    if opened is None:
        return
    rows = _page_rows(opened) if opened.page is not None else [*_member_rows(opened), *_module_rows(opened)]
    if not rows:
        raise HloTuiError("This file has no parts with names", visible(opened.kind))

    def chosen(key: object) -> None:
        if isinstance(key, Jump):
            app.jump(key.line)
            app.main.go("code")
        elif isinstance(key, str) and app.desk.wanted is not None:
            spot = app.here()
            if spot is not None:
                app.desk.trail.leave(spot)
            app.open(
                replace(app.desk.wanted, member=key, line=-1, computation="", instruction="", beside=None)
            )

    title = f"{visible(opened.want.title or opened.want.path.name)}: outline"
    app.push_screen(Popup(app.paint, title, lambda _: rows), chosen)


def _member_rows(opened: Opened) -> list[Row]:
    """The other modules of the file; none where it holds one."""
    if len(opened.members) < 2:
        return []
    rows = [row(Span("   ", "text"), Span(visible(name), "strong"), Span("  module of this file", "muted"), key=name)
            for name in opened.members[:_LISTED]]  # fmt: skip
    return [*rows, row()]


def _page_rows(opened: Opened) -> list[Row]:
    assert opened.page is not None
    entries = opened.page.entries
    rows = [
        row(
            Span(f" {entry.line + 1:>9,}  ", "line_number"), Span("  " * entry.level),
            Span(entry.name, "definition"), Span(f"  {entry.kind}", "muted"),
            right=[Span(count_text(entry.last - entry.line + 1, "line"), "count")], key=Jump(entry.line, place),
        )
        for place, entry in enumerate(entries[:_LISTED])
    ]  # fmt: skip
    return _more(rows, len(entries) + opened.page.more)


def _module_rows(opened: Opened) -> list[Row]:
    outline = opened.module.outline
    if outline is None:
        return []
    rows = [
        row(
            Span(f" {one.line + 1:>9,}  ", "line_number"), Span(visible(one.name) or "(no head)", "computation"),
            Span(f"  {outline.kind(one)}", "muted"), right=[Span(count_text(one.instructions, "instruction"), "count")],
            key=Jump(one.line, place),
        )
        for place, one in enumerate(outline.computations[:_LISTED])
    ]  # fmt: skip
    return _more(rows, len(outline.computations))


def _more(rows: list[Row], count: int) -> list[Row]:
    left = count - len(rows)
    return [*rows, row(Span(f" and {left:,} more", "muted"))] if left > 0 else rows


@does("ladder")
def _ladder(app: BaseApp) -> None:
    _climb(app, 0)


@does("ladder_up")
def _up(app: BaseApp) -> None:
    _climb(app, -1)


@does("ladder_down")
def _down(app: BaseApp) -> None:
    _climb(app, 1)


def _climb(app: BaseApp, way: int) -> None:
    if app.desk.opened is not None:
        app.desk.task = "looking for the rungs"
        app.reader.climb(app.desk.opened, app.main.code.line, way)


def climbed(app: BaseApp, message: Climbed) -> None:
    """Go to a rung, or list them."""
    opened = app.desk.opened
    app.desk.task = ""
    if opened is None or message.number != opened.number or message.line != app.main.code.line:
        app.say("")
        return
    if not message.rungs:
        words = "lines of a log" if opened.want.member is not None else "what is on this line"
        app.say(f"nothing in the dump is linked to {words}")
    elif message.way:
        _step(app, message.rungs, message.way)
    else:
        _list(app, message.rungs)


def _step(app: BaseApp, rungs: tuple[Rung, ...], way: int) -> None:
    here = next((ORDER.index(rung.kind) for rung in rungs if rung.here), 0)
    there = [rung for rung in rungs if (ORDER.index(rung.kind) - here) * way > 0]
    if not there:
        kinds = ORDER[:here] if way < 0 else ORDER[here + 1 :]
        missing = next(
            (_MISSING[kind] for kind in (kinds if way > 0 else kinds[::-1]) if kind in _MISSING), ""
        )
        app.say(missing or ("this is the topmost rung" if way < 0 else "this is the lowest rung"))
        return
    nearest = min(there, key=lambda rung: abs(ORDER.index(rung.kind) - here))
    several = sum(rung.kind == nearest.kind for rung in there)
    _go(app, nearest, f", one of {several}: U lists them" if several > 1 else "")


def _go(app: BaseApp, rung: Rung, more: str = "") -> None:
    spot = app.here()
    if spot is not None:
        app.desk.trail.leave(spot)
    app.open(_want(app, rung))
    app.main.go("code")
    sure = "" if rung.sure == "certain" else f", {rung.sure}"
    why = f" ({rung.why})" if rung.why else ""
    app.say(f"{rung.kind}{sure}{why}{more}")


def _want(app: BaseApp, rung: Rung) -> Want:
    """How to open a rung, as a place of the dump where it lies in it."""
    here = app.desk.wanted
    try:
        path = rung.path.relative_to(Path(app.desk.root)).as_posix()
    except ValueError:
        path = str(rung.path)
    found = _owner(app.desk.shelf, path) if app.desk.shelf is not None else None
    staged = found.stage(rung.label) if found is not None else None
    place = Place(path, found.key if found is not None else None, rung.label if staged is not None else "")
    if staged is not None and staged.main.path == path:
        want = app.desk.want(place)
        return Want(place, want.path, None, want.title, want.stage, line=rung.line)
    title = module_title(found) if found is not None else here.title if here is not None else ""
    return Want(place, rung.path, None, title, rung.path.name, line=rung.line)


def _owner(shelf: Shelf, path: str) -> Module | None:
    """The module that a file of the dump is of."""
    modules = (*(one for group in shelf.groups for one in group.modules), *shelf.small)
    for module in modules:
        files = (*(file for stage in module.stages for file in stage.files), *module.others)
        if any(file.path == path for file in files):
            return module
    return None


def _list(app: BaseApp, rungs: tuple[Rung, ...]) -> None:
    def build(width: int) -> list[Row]:
        rows: list[Row] = []
        for place, rung in enumerate(rungs):
            sure = "" if rung.sure == "certain" else f"  {rung.sure}"
            why = f" ({rung.why})" if rung.why else ""
            mark = Span(f" {STANDING if rung.here else ' '} ", "standing" if rung.here else "text")
            number = [Span(f"{rung.line + 1:,}", "line_number")]
            rows.append(
                row(mark, Span(f"{rung.kind:<10}", "heading"), Span(visible(rung.label), "text"),
                    Span(f"{sure}{why}", "notice"), right=number, key=place)
            )  # fmt: skip
            rows.append(row(Span(f"     {visible(rung.text)[: max(10, width - 6)]}", "muted")))
        shown = {rung.kind for rung in rungs}
        lacking = [words for kind, words in _MISSING.items() if kind not in shown]
        return rows + ([row(), *(row(Span(f" {words}", "muted")) for words in lacking)] if lacking else [])

    def chosen(key: object) -> None:
        if isinstance(key, int) and not rungs[key].here:
            _go(app, rungs[key])

    app.push_screen(Popup(app.paint, "what is under the cursor, from the program to the code", build), chosen)
