"""What the commands do that are about the modules, the panes and the screen."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import TYPE_CHECKING

from hlo_tui.theme.theme import load, names
from hlo_tui.ui.foundrows import AllowMemory, SaveCrash
from hlo_tui.ui.handlers import answers, does
from hlo_tui.ui.inforows import Jump, TagJump
from hlo_tui.ui.popups import Popup, help_rows
from hlo_tui.ui.replayrows import Replayed, Visit
from hlo_tui.ui.treerows import Node, Place, parents_of, place_of

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp


@does("pane_modules")
def _pane_modules(app: BaseApp) -> None:
    app.main.go("modules")


@does("pane_code")
def _pane_code(app: BaseApp) -> None:
    app.main.go("code")


@does("pane_info")
def _pane_info(app: BaseApp) -> None:
    app.main.go("info")


@does("pane_replay")
def _pane_replay(app: BaseApp) -> None:
    app.desk.asked = app.desk.asked or app.desk.replays.state is None
    app.shown.replay()
    app.main.go("replay")


@does("pane_next")
def _pane_next(app: BaseApp) -> None:
    app.main.go(app.main.next_pane(1))


@does("pane_previous")
def _pane_previous(app: BaseApp) -> None:
    app.main.go(app.main.next_pane(-1))


@does("stage_previous")
def _stage_previous(app: BaseApp) -> None:
    _stage(app, -1)


@does("stage_next")
def _stage_next(app: BaseApp) -> None:
    _stage(app, 1)


def _stage(app: BaseApp, way: int) -> None:
    place = app.desk.stage_beside(way)
    here = app.here()
    if place is None:
        from hlo_tui.ui.pagesteps import go_beside

        go_beside(app, way)
        return
    if here is not None and app.desk.opened is not None and app.desk.opened.scanned:
        app.desk.trail.leave(here)
    app.open(app.desk.same_place(place, app.main.code.line))
    reveal(app, place)


def reveal(app: BaseApp, place: Place) -> None:
    """Put the cursor of the modules on a place, where it can be seen."""
    app.main.modules.put_cursor(Node("stage" if place.label else "file", place))


@does("follow")
def _follow(app: BaseApp) -> None:
    app.desk.follow = not app.desk.follow
    app.say("new modules are opened as they come" if app.desk.follow else "new modules are only listed")


@does("reload")
def _reload(app: BaseApp) -> None:
    if app.desk.replays.is_of(app.desk.opened):
        app.desk.replays.end()
    app.reload()


@does("redraw")
def _redraw(app: BaseApp) -> None:
    app.redraw()


@does("theme")
def _theme(app: BaseApp) -> None:
    there = names()
    current = app.paint.theme.name
    after = there[(there.index(current) + 1) % len(there)] if current in there else there[0]
    app.use_theme(load(after))
    app.say(f"theme {after}")


@does("help")
def _help(app: BaseApp) -> None:
    now = app.situation()

    def chosen(key: Hashable) -> None:
        if isinstance(key, str):
            app.action_command(key)

    app.push_screen(Popup(app.paint, "Keys", lambda width: help_rows(now, width)), chosen)


@does("palette")
def _palette(app: BaseApp) -> None:
    app.action_command_palette()


@does("quit")
def _quit(app: BaseApp) -> None:
    app.exit()


@answers("filter")
def _filter(app: BaseApp, text: str) -> None:
    app.desk.tree = replace(app.desk.tree, filter=text.strip())
    app.shown.tree()


def open_only(app: BaseApp) -> None:
    """Open what the filter has left, where that is one module or one file."""
    nodes = [key for key in app.main.modules.keys if isinstance(key, Node) and key.kind in ("module", "file")]
    if len(nodes) == 1:
        app.main.modules.put_cursor(nodes[0])
        choose(app, nodes[0])


def choose(app: BaseApp, key: Hashable) -> None:
    """What Enter does in a list: open, unfold, jump, or stand at a stop again."""
    if isinstance(key, Jump):
        app.jump(key.line)
        app.main.go("code")
    elif isinstance(key, TagJump) and app.desk.opened is not None:
        app.reader.locate(app.desk.opened, key.instruction, 0, key.computation)
        app.main.go("code")
    elif isinstance(key, AllowMemory):
        app.action_command("allow_memory")
    elif isinstance(key, SaveCrash):
        app.action_command("save_crash")
    elif isinstance(key, Replayed):
        app.action_command("down")
    elif isinstance(key, Visit):
        app.desk.replays.goto(key.number)
    elif isinstance(key, Node) and app.desk.shelf is not None:
        place = place_of(app.desk.shelf, key)
        if key.kind in ("group", "module"):
            fold_node(app, key, True)
        if place is None:
            fold_node(app, key, key not in app.desk.tree.unfolded)
            return
        if app.desk.wanted is None or app.desk.wanted.place != place:
            app.open(app.desk.want(place))
        app.main.go("code")


def open_module(app: BaseApp, place: Place) -> None:
    """Open a place with the focus on its code; the list of the modules stands there too."""
    desk = app.desk
    parents = parents_of(desk.shelf, place) if desk.shelf is not None else []
    desk.tree = replace(desk.tree, unfolded=desk.tree.unfolded | set(parents))
    app.open(desk.want(place))
    app.main.modules.put_cursor(Node("module", place.module))
    app.main.go("code")


def fold_node(app: BaseApp, node: Node, unfold: bool) -> None:
    """Show or hide what is below a node of the modules; what has nothing below it folds what it is in."""
    desk = app.desk
    if isinstance(node.of, Place) and desk.shelf is not None:
        parents = parents_of(desk.shelf, node.of)
        if unfold or not parents:
            return
        node = parents[-1]
    changed = desk.tree.unfolded | {node} if unfold else desk.tree.unfolded - {node}
    desk.tree = replace(desk.tree, unfolded=frozenset(changed))
    app.shown.tree()
    if not unfold:
        app.main.modules.put_cursor(node)
