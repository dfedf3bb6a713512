"""The main screen: which panes there are, where each is at which width, and the keys."""

from __future__ import annotations

from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.geometry import Size
from textual.message import Message
from textual.screen import Screen

from hlo_tui.ui.bars import Bar, rule
from hlo_tui.ui.codeview import CodeView
from hlo_tui.ui.commands import COMMANDS
from hlo_tui.ui.paint import Paint
from hlo_tui.ui.rows import Row, Span
from hlo_tui.ui.rowsview import RowsView

# Columns from which on the panes stand side by side.
WIDE = 110
_ROOMY, _HUGE, _TALL = 140, 180, 40
PANES = ("modules", "code", "info", "replay")


class MainScreen(Screen[None], inherit_bindings=False):
    """Modules, code, info and replay: side by side, or one at a time where there is no room."""

    ALLOW_SELECT = False
    CSS = """
    MainScreen { background: $background; layers: base over; }
    #body { height: 1fr; }
    #modules { width: 25; }
    #code { width: 1fr; border-left: solid $rule; }
    #info { width: 30; border-left: solid $rule; }
    #replay { height: auto; display: none; }
    #replay-rows { height: 6; }
    #brief, #value { display: none; }
    MainScreen.-ascii #code, MainScreen.-ascii #info { border-left: ascii $rule; }
    MainScreen.-replaying #replay { display: block; }
    MainScreen.-tall #replay-rows { height: 9; }
    MainScreen.-roomy #modules { width: 32; }
    MainScreen.-roomy #info { width: 40; }
    MainScreen.-huge #modules { width: 38; }
    MainScreen.-huge #info { width: 52; }
    MainScreen.-narrow #body > Vertical { display: none; width: 1fr;
        border-left: none; }
    MainScreen.-narrow #replay { display: none; height: 1fr; }
    MainScreen.-narrow #replay-rows { height: 1fr; }
    MainScreen.-narrow.-modules #modules, MainScreen.-narrow.-code #code, MainScreen.-narrow.-info #info,
    MainScreen.-narrow.-replay #replay { display: block; }
    MainScreen.-narrow.-replay #body { display: none; }
    MainScreen.-narrow.-code #brief, MainScreen.-narrow.-code.-replaying #value { display: block; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(",".join(command.keys), f"app.command('{command.id}')", command.title, show=False)
        for command in COMMANDS
        if command.keys and command.on == "main" and command.id != "palette"
    ]

    class PaneChanged(Message):
        """The focus is in another pane."""

    def __init__(self, paint: Paint) -> None:
        super().__init__(classes="-modules -ascii" if paint.ascii_only else "-modules")
        self._paint = paint
        self.pane = "modules"
        self.narrow = False
        self.replayed = ""
        self.header = Bar(paint, id="header")
        self.tree_title = Bar(paint, id="tree-title")
        self.modules = RowsView(paint, id="tree")
        self.title_bar = Bar(paint, id="title")
        self.code = CodeView(paint, id="code-view")
        self.info_title = Bar(paint, id="info-title")
        self.info = RowsView(paint, id="info-rows")
        self.replay_title = Bar(paint, id="replay-title")
        self.replay = RowsView(paint, id="replay-rows")
        self.brief = Bar(paint, id="brief")
        self.value = Bar(paint, id="value")
        self.footer = Bar(paint, id="footer")

    def compose(self) -> ComposeResult:
        """The panes, from the top left to the bottom right."""
        # Before anything is drawn: the first frame is laid out as those that follow.
        self._fit(self.app.size)
        yield self.header
        with Horizontal(id="body"):
            with Vertical(id="modules"):
                yield self.tree_title
                yield self.modules
            with Vertical(id="code"):
                yield self.title_bar
                yield self.code
            with Vertical(id="info"):
                yield self.info_title
                yield self.info
        with Vertical(id="replay"):
            yield self.replay_title
            yield self.replay
        yield self.brief
        yield self.value
        yield self.footer

    @property
    def view(self) -> RowsView | CodeView:
        """The list or the code of the pane with the focus."""
        return self._views[self.pane]

    @property
    def _views(self) -> dict[str, RowsView | CodeView]:
        return {"modules": self.modules, "code": self.code, "info": self.info, "replay": self.replay}

    def on_mount(self) -> None:
        """Begin where the app wants to."""
        self.set_focus(self.view, scroll_visible=False)

    def on_resize(self, event: events.Resize) -> None:
        """Lay the panes out for the width there is."""
        self._fit(event.size)
        self.titles()
        self.post_message(self.PaneChanged())

    def _fit(self, size: Size) -> None:
        self.narrow = size.width < WIDE
        for name, on in (
            ("-narrow", self.narrow),
            ("-roomy", size.width >= _ROOMY),
            ("-huge", size.width >= _HUGE),
            ("-tall", size.height >= _TALL),
        ):
            self.set_class(on, name)

    def go(self, pane: str) -> None:
        """Put the focus into a pane; show it where panes are shown one at a time."""
        if pane == "replay":
            self.add_class("-replaying")
        for name in PANES:
            self.set_class(name == pane, f"-{name}")
        self.pane = pane
        if self.is_mounted:
            self.set_focus(self.view, scroll_visible=False)
        self.titles()
        self.post_message(self.PaneChanged())

    def next_pane(self, way: int) -> str:
        """The pane that comes next, or before, among those that can be seen."""
        panes = [p for p in PANES if self.narrow or p != "replay" or self.has_class("-replaying")]
        at = panes.index(self.pane) if self.pane in panes else 0
        return panes[(at + way) % len(panes)]

    def on_descendant_focus(self) -> None:
        """The mouse may have put the focus elsewhere."""
        for name, view in self._views.items():
            if view.has_focus and name != self.pane:
                self.pane = name
                for other in PANES:
                    self.set_class(other == name, f"-{other}")
                self.titles()
                self.post_message(self.PaneChanged())

    def titles(self) -> None:
        """Write the panes' titles; that of the pane with the focus looks different."""
        for name, bar, words in (("modules", self.tree_title, "Modules"), ("info", self.info_title, "Info")):
            bar.show(Row((Span(f" {words}", "title" if self.pane == name else "title_away"),)))
        words = f"Replay of {self.replayed}" if self.replayed else "Replay"
        self.replay_title.show(rule(words, self.pane == "replay", self.size.width))

    def repaint(self, paint: Paint) -> None:
        """Paint everything with another theme."""
        self._paint = paint
        for bar in self.query(Bar):
            bar.repaint(paint)
        for view in (self.modules, self.code, self.info, self.replay):
            view.repaint(paint)
