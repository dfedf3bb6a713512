"""The palette: the registry's commands, and the modules to open."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider

from hlo_tui.hlo.visible import visible
from hlo_tui.ui.arranging import open_module
from hlo_tui.ui.commands import COMMANDS, shown_keys
from hlo_tui.ui.treerows import Node, place_of

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp

_MODULES = 2000
# What is shown, what it does in words, what does it, what else it is looked for by.
_Row = tuple[str, str, Callable[[], None], str]


# What else commands are looked for by, by id: the words of `hlo-tui COMMAND`, of other debuggers, of JAX's people.
_OTHER_NAMES = {
    "extract": "extract slice reproducer minimize",
    "extract_copy": "extract yank clipboard",
    "bundle": "archive zip issue",
    "hunt": "hunt debug_nans inf overflow non-finite first",
    "runs": "executions snapshots health",
    "recompiles": "recompiles recompilation cache miss",
    "bisect": "bisect wrong results culprit",
    "timeline": "timeline pipeline",
    "changes": "diff compare delta",
    "other": "diff",
    "life": "follow lineage history",
    "survival": "survival breakpoint lost",
    "costs": "slow compile duration profile",
    "find_all": "grep search",
    "search": "search grep",
    "picture": "svg dot graphviz html",
    "graph": "operands users draw dot",
    "memory": "oom peak buffer assignment allocation hbm",
    "operations": "cost flops roofline",
    "continue": "replay run start begin",
    "next": "step over",
    "step": "step into",
    "restart": "restart rerun reset beginning",
    "finish": "step out return",
    "to": "until cursor",
    "break": "breakpoint toggle",
    "stops": "breakpoint condition",
    "stop_list": "breakpoints",
    "value": "print inspect array tensor",
    "watch": "watch display",
    "inputs": "arguments parameters npz supply seed",
    "pane_job": "log stdout terminal",
    "outline": "show functions symbols",
    "pane_modules": "list",
    "theme": "colours colors dark light",
    "end_replay": "stop kill reset",
    "interrupt": "stop cancel",
    "quit": "exit leave",
}
# A command that is called so comes before one that is also called so.
_LESS = 0.8
# What cannot run now comes after all that can.
_LEAST = 0.01


class Commands(Provider):
    """Commands that can run now, modules, and commands that cannot run, with the reason."""

    async def discover(self) -> Hits:
        """What is there before anything is typed."""
        for title, words, run, _ in self._commands():
            yield DiscoveryHit(title, run, help=words)

    async def search(self, query: str) -> Hits:
        """What fits what was typed."""
        matcher = self.matcher(query)
        for title, words, run, others in (*self._commands(), *self._modules()):
            named, also = matcher.match(title), matcher.match(others)
            if max(named, also) > 0:
                shown = matcher.highlight(title) if named > 0 else title
                yield Hit(max(named, also * _LESS), shown, run, help=words)
        for title, words, run, others in self._commands(now=False):
            score = max(matcher.match(title), matcher.match(others) * _LESS)
            if score > 0:
                yield Hit(score * _LEAST, title, run, help=f"not now: {words}")

    @property
    def _app(self) -> BaseApp:
        return cast("BaseApp", self.app)

    def _commands(self, now: bool = True) -> Iterator[_Row]:
        """The commands that can run now, or those that cannot, with the reason for their words."""
        situation = self._app.situation()
        for command in COMMANDS:
            reason = command.check(situation)
            if command.on == "main" and command.id != "palette" and (reason is None) == now:
                keys = f"  ({shown_keys(command)})" if command.keys else ""
                run = partial(self._app.action_command, command.id)
                yield f"{command.title}{keys}", reason or command.help, run, _OTHER_NAMES.get(command.id, "")

    def _modules(self) -> Iterator[_Row]:
        shelf = self._app.desk.shelf
        if shelf is None:
            return
        modules = [*(m for group in shelf.groups for m in group.modules), *shelf.small]
        for module in modules[:_MODULES]:
            place = place_of(shelf, Node("module", module.key))
            if place is not None:
                number = f" #{module.id}" if module.id is not None else ""
                run = partial(open_module, self._app, place)
                yield f"open {visible(module.name)}{number}", "Show this module.", run, ""
