"""The graph around an instruction, drawn and walked through."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from hlo_tui.errors import HloTuiError
from hlo_tui.finding.places import Place as Found
from hlo_tui.finding.query import WORDS, parse_words
from hlo_tui.finding.search import search
from hlo_tui.graph.drawing import Drawing, draw
from hlo_tui.graph.pictures import FORMS, picture
from hlo_tui.graph.report import summary
from hlo_tui.graph.wiring import Graph, Key, Wiring, between, find_key, fusions, neighbourhood
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.glyphs import STANDING
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.passes.subject import leave_for
from hlo_tui.ui.popups import Popup
from hlo_tui.ui.rows import Row, Span, row
from hlo_tui.ui.rowsview import RowsView

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.opened import Want
    from hlo_tui.ui.paint import Paint
    from hlo_tui.ui.tasks import Task

KIND = "graph"
_WIDEST = 12
# Instructions in a list to choose from.
_LISTED = 300
# Characters of an instruction, on a narrow screen and on a wide one.
_SHORTEST, _LONGEST = 30, 60
# Columns that stay visible beside the instruction under the cursor.
_MARGIN = 2


@dataclass(frozen=True, slots=True)
class View:
    """What is drawn.

    Attributes:
        key: around which instruction.
        end: the other one, where all ways between two are drawn.
        width: how many uses away.
        opened: the fusions that are open.
    """

    key: Key
    end: Key | None = None
    width: int = 2
    opened: frozenset[Key] = frozenset()


class GraphView(RowsView):
    """Rows of a drawing: the arrow keys walk through the graph instead of from row to row."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "walk('up')", show=False),
        Binding("down,j", "walk('down')", show=False),
        Binding("left,h", "walk('left')", show=False),
        Binding("right,l", "walk('right')", show=False),
        Binding("enter", "walk('code')", show=False),
    ]

    class Walked(Message):
        """A step was taken: "up", "down", "left" or "right", or "code" for one into the code."""

        def __init__(self, way: str) -> None:
            super().__init__()
            self.way = way

    def __init__(self, paint: Paint) -> None:
        super().__init__(paint, id="graph-rows")

    def action_walk(self, way: str) -> None:
        """Take a step."""
        self.post_message(self.Walked(way))

    def reveal(self, place: int) -> None:
        """Scroll so that a row can be seen, with one beside it."""
        top, height = self.scroll_offset.y, max(1, self.size.height)
        if place <= top:
            self.scroll_to(y=max(0, place - 1), animate=False)
        elif place >= top + height - 1:
            self.scroll_to(y=place - height + 2, animate=False)


class GraphScreen(TaskPanel):
    """One graph."""

    PANEL = "graph"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("graph")

    def __init__(self, app: BaseApp, module: Module, want: Want, key: Key) -> None:
        super().__init__(app, f"Graph around %{key[1]}")
        self.rows = self._view_rows = GraphView(app.paint)
        self._module = module
        self._want = want
        self._view = View(key)
        self._before: list[View] = []
        self._at: Key | None = None
        self._left = 0

    # What is drawn.

    def start(self) -> Task:
        """Find out what belongs into it, and lay it out."""
        view, module, ascii_only = self._view, self._module, self.owner.paint.ascii_only
        longest = max(_SHORTEST, min(_LONGEST, self.owner.size.width // 3))

        def job(task: Task) -> None:
            task.say("drawing")
            graph = graph_of(Wiring(module, view.opened, task.check), view)
            task.found.append(draw(graph, ascii_only=ascii_only, longest=longest))

        return self.owner.tasks.start(KIND, (self._want, view, longest), job)

    @property
    def drawing(self) -> Drawing | None:
        """The drawing, None while it is being made."""
        return self.work.found[0] if self.work is not None and self.work.found else None

    @property
    def at(self) -> Key | None:
        """The instruction under the cursor."""
        drawing = self.drawing
        if drawing is None:
            return None
        return self._at if self._at in drawing.places else drawing.graph.focus

    def change(self, view: View, keep: bool = True, at: Key | None = None) -> None:
        """Draw something else; the cursor goes to an instruction, or stays where it is as far as that is drawn."""
        self._at = at or self.at
        if keep and view != self._view:
            self._before.append(self._view)
        self._view = view
        words = f" to %{view.end[1]}" if view.end is not None else f", {view.width} away"
        self.heading = visible(f"Graph around %{view.key[1]}{words}")
        self.work = self.start()

    def lines(self, width: int) -> Sequence[Row]:
        """The drawing, moved so that the cursor can be seen."""
        drawing, at = self.drawing, self.at
        if drawing is None or at is None:
            if self.work is None or self.work.problem is not None:
                return []
            words = "stopped; b draws what was drawn before" if self.work.done else "drawing"
            return [row(Span(f" {words}", "busy"))]
        place = drawing.places[at]
        self._left = max(0, min(self._left, place.column - _MARGIN))
        if place.column + place.width + _MARGIN > self._left + width:
            self._left = max(0, min(place.column - _MARGIN, place.column + place.width + _MARGIN - width))
        rows = [_drawn(drawing, at, number, self._left, width) for number in range(len(drawing.rows))]
        return [*rows, row(), row(Span(f" {summary(drawing.graph)}", "muted"))]

    def columns(self, width: int) -> Row:  # noqa: ARG002
        """What the cursor is on."""
        drawing, at = self.drawing, self.at
        if drawing is None or at is None:
            return Row()
        node = drawing.graph.nodes[at]
        return row(
            Span(f" %{visible(node.name)}", "definition"), Span(f"  {visible(node.opcode)}", "opcode"),
            Span(f"  {visible(node.shape)}", "shape"),
            right=[Span(f"{visible(at[0])}  line {node.line + 1:,} ", "muted")],
        )  # fmt: skip

    def task_changed(self, task: Task) -> None:
        """The drawing is there."""
        super().task_changed(task)
        self._follow()

    # What the keys do.

    def on_graph_view_walked(self, message: GraphView.Walked) -> None:
        """Walk; where nothing is drawn in that direction, say what there is."""
        message.stop()
        drawing, at = self.drawing, self.at
        if drawing is None or at is None:
            return
        self.notice = ""
        if message.way == "code":
            self.action_panel("graph_code")
            return
        found = drawing.step(at, message.way)
        if found is not None:
            self._at = found
        elif message.way in ("up", "down"):
            node = drawing.graph.nodes[at]
            hidden = node.hidden_operands if message.way == "up" else node.hidden_users
            what = "operands" if message.way == "up" else "users"
            self.notice = (
                f"{hidden} {what} are not drawn: f draws around this one" if hidden else f"no {what}"
            )
        self.show()
        self._follow()

    def do(self, identity: str) -> None:
        """Carry out a command."""
        at, view = self.at, self._view
        if identity in ("graph_go", "graph_ways", "graph_save"):
            self._ask(identity)
        elif identity == "graph_earlier" and self._before:
            self.change(self._before.pop(), keep=False)
        elif identity == "graph_wider":
            self.change(replace(view, width=min(_WIDEST, view.width + 1), end=None))
        elif identity == "graph_narrower":
            self.change(replace(view, width=max(0, view.width - 1), end=None))
        elif at is not None and identity == "graph_center":
            self.change(replace(view, key=at, end=None))
        elif at is not None and identity == "graph_open":
            self._turn(at)
        elif identity == "graph_open_all":
            self._turn_all()
        elif at is not None and identity in ("graph_caller", "graph_called"):
            self._across(at, up=identity == "graph_caller")
        elif at is not None and identity == "graph_code":
            self._to_code(at)
        else:
            super().do(identity)

    def chosen(self, key: object) -> None:
        """Enter goes to the code wherever the cursor is."""

    def answered(self, purpose: str, text: str) -> None:
        """Take a name, a query or a path."""
        if not text:
            return
        if purpose != "graph_save":
            parse_words(text)
        if purpose == "graph_save":
            self._save(Path(text).expanduser())
        elif purpose == "graph_go":
            self._seek(text, lambda view, key: replace(view, key=key, end=None))
        elif purpose == "graph_ways":
            at = self.at or self._view.key
            self._seek(text, lambda view, key: replace(view, key=at, end=key))

    def _ask(self, identity: str) -> None:
        hints = {
            "graph_go": f"a name, or what to list: a regular expression, {WORDS}",
            "graph_ways": "the name of the instruction to come to, or what to list",
            "graph_save": f"where to: a file that ends in .{', .'.join(FORMS)}",
        }
        value = f"{self._view.key[1]}.svg" if identity == "graph_save" else ""
        self.ask(identity, hints[identity], value)

    def _seek(self, text: str, made: Callable[[View, Key], View]) -> None:
        """Draw what is made of an instruction: the one of this name, or one of those that a query finds."""
        module, here = self._module, Found("", None, "", self._want.path.name, self._want.path)

        def job(task: Task) -> None:
            try:
                key = find_key(module, text)
            except HloTuiError:
                # Then it is a query.
                query, _ = parse_words(text)
                instructions = (
                    hit.instruction for hit in search(module.source, here, query, lambda: task.stopping)
                )
                found = list(islice((one for one in instructions if one is not None), _LISTED))
                self.app.call_from_thread(self._choose, text, found, made)
                return
            self.app.call_from_thread(self._arrive, made(self._view, key))

        self.notice = "looking for it"
        self.owner.tasks.start("graph-list", object(), job, again=True)

    def _arrive(self, view: View) -> None:
        self.notice = ""
        self.change(view)
        self.show()

    def _choose(self, text: str, found: list[Instruction], made: Callable[[View, Key], View]) -> None:
        """Let one of several be chosen."""
        self.notice = "" if found else f"not found: {visible(text)}"
        self.show()
        rows = [
            row(
                Span(f" {one.line + 1:>9,}  ", "line_number"), Span(f"%{visible(one.name)}", "definition"),
                Span(f"  {visible(one.opcode)}", "opcode"), Span(f"  {visible(one.shape.without_layout())}", "shape"),
                right=[Span(visible(one.computation), "computation")], key=(one.computation, one.name),
            )
            for one in found
        ]  # fmt: skip

        def chosen(key: object) -> None:
            if isinstance(key, tuple):
                self._arrive(made(self._view, (str(key[0]), str(key[1]))))

        if found:
            more = f", the first {_LISTED}" if len(found) == _LISTED else ""
            self.app.push_screen(Popup(self.owner.paint, f"{visible(text)}{more}", lambda _: rows), chosen)

    def _turn(self, at: Key) -> None:
        """Open the fusion under the cursor, or close the one that it is in."""
        view = self._view
        around = {k for k in view.opened for c in Wiring(self._module).instruction(k).called if c == at[0]}
        drawing = self.drawing
        if around:
            closed = min(around)
            key = closed if view.key[0] == at[0] else view.key
            self.change(replace(view, key=key, opened=view.opened - around), at=closed)
        elif drawing is not None and drawing.graph.nodes[at].foldable:
            self.change(replace(view, opened=view.opened | {at}))
        else:
            raise HloTuiError("This is no fusion", "", "O opens all that are drawn.")

    def _turn_all(self) -> None:
        drawing = self.drawing
        closed = fusions(drawing.graph) if drawing is not None else frozenset()
        self.change(replace(self._view, opened=self._view.opened | closed if closed else frozenset()))

    def _across(self, at: Key, up: bool) -> None:
        """Go to who calls the computation, or to the root of the one that is called; of a loop the body."""
        if up:
            found = next(iter(self._module.callers(at[0])), None)
            nothing = f"nothing calls {at[0]}"
        else:
            called = self._module.find(at[1], at[0])
            root = called.called[-1] if called is not None and called.called else ""
            outline = self._module.outline
            inside = outline.by_name(root) if outline is not None and root else None
            found = self._module.body(inside).root if inside is not None else None
            nothing = f"%{at[1]} calls nothing"
        if found is None:
            raise HloTuiError(visible(nothing))
        self.change(replace(self._view, key=(found.computation, found.name), end=None))

    def _to_code(self, at: Key) -> None:
        want = replace(self._want, computation=at[0], instruction=at[1], line=-1, beside=None)
        leave_for(self.owner, want)

    def _save(self, path: Path) -> None:
        drawing = self.drawing
        if drawing is None:
            raise HloTuiError("Nothing is drawn yet")
        outside(self.owner, path)
        wiring = Wiring(self._module, self._view.opened)
        data = picture(
            drawing.graph, wiring, f"{self._module.name}: {self._view.key[1]}", path.suffix.lower()[1:]
        )
        try:
            path.write_bytes(data)
        except OSError as error:
            raise HloTuiError("Not written", f"{path}: {error.strerror}") from error
        self.notice = f"written: {visible(str(path))}, {len(data):,} bytes"

    def _follow(self) -> None:
        drawing, at = self.drawing, self.at
        if drawing is not None and at is not None:
            self._view_rows.reveal(drawing.places[at].row)


def graph_of(wiring: Wiring, view: View) -> Graph:
    """What belongs into a view.

    Raises:
        HloTuiError: an instruction of it is not there, or no way leads from one to the other.
    """
    if view.end is not None:
        return between(wiring, view.key, view.end)
    return neighbourhood(wiring, view.key, view.width)


def outside(app: BaseApp, path: Path) -> None:
    """Refuse to write into the directory that is watched.

    Raises:
        HloTuiError: the path is inside of it.
    """
    root = app.desk.watch.path_of("")
    watched = root if app.desk.watch.is_directory else root.parent
    if path.resolve().is_relative_to(watched.resolve()):
        raise HloTuiError("Not written", f"inside the watched directory: {path}")


def _drawn(drawing: Drawing, at: Key, number: int, left: int, width: int) -> Row:
    """A row of the drawing from column `left` on, its instructions in their roles; one column is free before it."""
    text = f" {drawing.rows[number][left : left + max(0, width - 1)]}"
    places = sorted(
        (p.column - left + 1, p.width, key) for key, p in drawing.places.items() if p.row == number
    )
    spans: list[Span] = []
    done = 0
    for column, size, key in places:
        begin, end = max(0, column), min(len(text), column + size)
        if begin >= end:
            continue
        between_them = text[done:begin]
        if key == at and between_them:
            spans += [Span(between_them[:-1], "muted"), Span(STANDING, "standing")]
        else:
            spans.append(Span(between_them, "muted"))
        named = key in (drawing.graph.focus, drawing.graph.end)
        spans.append(Span(text[begin:end], "cursor" if key == at else "accent" if named else "text"))
        done = end
    spans.append(Span(text[done:], "muted"))
    return Row(tuple(spans))
