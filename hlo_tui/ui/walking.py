"""What the commands do that walk through the code."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hlo_tui.dump.doctor import dump_command
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import decode
from hlo_tui.ui.handlers import answers, does
from hlo_tui.ui.inforows import Jump
from hlo_tui.ui.inspection import Inspection, Ref
from hlo_tui.ui.popups import Popup
from hlo_tui.ui.rows import Row, Span, row
from hlo_tui.ui.rowsview import RowsView
from hlo_tui.ui.trail import Spot

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp

_COPIED = 1 << 20
_SPECIAL = re.compile(r"[\\^$.|?*+()\[\]{}]")


@does("definition")
def _definition(app: BaseApp) -> None:
    opened, target = app.desk.opened, app.main.code.target
    if opened is not None and target is not None:
        app.reader.locate(opened, target.name, app.main.code.line)


@does("users")
def _users(app: BaseApp) -> None:
    found = app.desk.inspection
    if found is None or found.kind == "text":
        raise HloTuiError("This line is no instruction and no computation")
    refs = found.users if found.kind == "instruction" else found.callers
    words = "used by" if found.kind == "instruction" else "called by"
    if not refs:
        app.say(f"%{found.title}: {words} nothing" if found.complete else "still looking")
        return
    if len(refs) == 1 and not found.more:
        app.jump(refs[0].line)
        return
    rows = _ref_rows(found, refs)

    def chosen(key: object) -> None:
        if isinstance(key, Jump):
            app.jump(key.line)

    app.push_screen(Popup(app.paint, f"%{found.title}: {words}", lambda _: rows), chosen)


def _ref_rows(found: Inspection, refs: tuple[Ref, ...]) -> list[Row]:
    rows = [
        row(
            Span(f" {ref.line + 1:>9,}  ", "line_number"), Span(f"%{ref.name}", "definition"),
            Span(f"  {ref.what}", "shape"), key=Jump(ref.line, place),
        )
        for place, ref in enumerate(refs)
    ]  # fmt: skip
    return [*rows, row(Span(f" and {found.more:,} more", "muted"))] if found.more else rows


@does("back")
def _back(app: BaseApp) -> None:
    here = app.here()
    if here is not None:
        _go(app, app.desk.trail.back(here))


@does("forward")
def _forward(app: BaseApp) -> None:
    here = app.here()
    if here is not None:
        _go(app, app.desk.trail.forward(here))


def _go(app: BaseApp, spot: Spot | None) -> None:
    if spot is not None:
        app.visit(spot)


@does("search")
def _search(app: BaseApp) -> None:
    if app.main.pane == "modules":
        app.ask("filter", "show modules whose name has these words", app.desk.tree.filter)
    elif app.desk.opened is not None:
        app.ask("search", "find text, or a regular expression")


@answers("search")
def _search_answered(app: BaseApp, text: str) -> None:
    desk, code = app.desk, app.main.code
    if not text:
        desk.pattern = None
        code.set_pattern(None)
        return
    flags = 0 if text != text.lower() else re.IGNORECASE
    try:
        shown = re.compile(text, flags)
        desk.pattern = re.compile(text.encode(), flags)
    except re.error as error:
        if not _SPECIAL.search(text):
            raise HloTuiError("Not a regular expression", str(error)) from error
        shown = re.compile(re.escape(text), flags)
        desk.pattern = re.compile(re.escape(text.encode()), flags)
    code.set_pattern(shown)
    find(app, forward=True)


@does("match_next")
def _match_next(app: BaseApp) -> None:
    find(app, forward=True)


@does("match_previous")
def _match_previous(app: BaseApp) -> None:
    find(app, forward=False)


def find(app: BaseApp, forward: bool) -> None:
    """Go to the next match, or the one before."""
    desk = app.desk
    if desk.opened is not None and desk.opened.scanned and desk.pattern is not None:
        desk.task = "searching"
        app.reader.search(desk.opened, desk.pattern, app.main.code.line + (1 if forward else -1), forward)


@does("line")
def _line(app: BaseApp) -> None:
    app.ask("line", "line number, or the name of an instruction or a computation")


@answers("line")
def _line_answered(app: BaseApp, text: str) -> None:
    opened = app.desk.opened
    text = text.strip().replace(",", "")
    if opened is None or not text:
        return
    if text.isascii() and text.isdigit():
        app.jump(int(text) - 1)
    else:
        name = text.lstrip("%") if opened.hlo else text
        app.reader.locate(opened, name, app.main.code.line)


@does("top")
def _top(app: BaseApp) -> None:
    _edge(app, first=True)


@does("bottom")
def _bottom(app: BaseApp) -> None:
    _edge(app, first=False)


def _edge(app: BaseApp, first: bool) -> None:
    view = app.main.view
    if isinstance(view, RowsView):
        view.action_edge(-1 if first else 1)
    elif view.text is not None:
        app.jump(0 if first else view.text.count - 1)


@does("metadata")
def _metadata(app: BaseApp) -> None:
    code = app.main.code
    if code.text is not None:
        code.text.unfold()
        code.resized()
        code.go_to(code.line, center=True)
        app.say("metadata folded" if code.text.folded else "lines in full")


@does("fold")
def _fold(app: BaseApp) -> None:
    code = app.main.code
    if code.text is not None:
        head = code.text.toggle(code.line)
        code.resized()
        if head >= 0:
            code.go_to(head)


@does("fold_all")
def _fold_all(app: BaseApp) -> None:
    code = app.main.code
    if code.text is not None:
        around = code.text.computation(code.line)
        code.text.toggle_all()
        code.resized()
        code.go_to(around.line if around is not None else code.line, center=True)


@does("copy")
def _copy(app: BaseApp) -> None:
    code = app.main.code
    if code.text is None:
        app.copy_to_clipboard(dump_command(app.desk.root))
        app.say("copied the command")
        return
    data = code.text.raw(code.line)[:_COPIED]
    app.copy_to_clipboard(data.decode("utf-8", "replace"))
    app.say(f"copied {len(data):,} bytes of line {code.line + 1:,}: {decode(data[:30])}")
