"""The palette: the registry's commands, and the modules to open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from hlo_tui.hlo.visible import visible
from hlo_tui.ui.commands import COMMANDS, shown_keys
from hlo_tui.ui.treerows import Node, place_of

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp

_MODULES = 2000


class Commands(Provider):
    """Commands that can run now, then modules."""

    async def discover(self) -> Hits:
        """What is there before anything is typed."""
        for title, words, run in self._commands():
            yield DiscoveryHit(title, run, help=words)

    async def search(self, query: str) -> Hits:
        """What fits what was typed."""
        matcher = self.matcher(query)
        for title, words, run in (*self._commands(), *self._modules()):
            score = matcher.match(title)
            if score > 0:
                yield Hit(score, matcher.highlight(title), run, help=words)

    @property
    def _app(self) -> BaseApp:
        return cast("BaseApp", self.app)

    def _commands(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        now = self._app.situation()
        for command in COMMANDS:
            if command.on == "main" and command.id != "palette" and command.check(now) is None:
                keys = f"  ({shown_keys(command)})" if command.keys else ""
                yield f"{command.title}{keys}", command.help, partial(self._app.action_command, command.id)

    def _modules(self) -> Iterator[tuple[str, str, Callable[[], None]]]:
        shelf = self._app.desk.shelf
        if shelf is None:
            return
        modules = [*(m for group in shelf.groups for m in group.modules), *shelf.small]
        for module in modules[:_MODULES]:
            place = place_of(shelf, Node("module", module.key))
            if place is not None:
                number = f" #{module.id}" if module.id is not None else ""
                run = partial(self._app.open, self._app.desk.want(place))
                yield f"open {visible(module.name)}{number}", "Show this module.", run
