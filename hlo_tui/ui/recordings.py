"""Looks, beside the screen, whether the results that a job recorded are finite."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from textual.message import Message

from hlo_tui.dump.modules import ModuleKey
from hlo_tui.errors import HloTuiError
from hlo_tui.ui.glyphs import BAD

if TYPE_CHECKING:
    from hlo_tui.ui.shelf import Shelf
    from hlo_tui.ui.tasks import Task

# Larger snapshots are not read unasked.
_LARGEST = 1 << 23


class HealthFound(Message):
    """The newest recorded result of a module holds a NaN or an infinity."""

    def __init__(self, module: ModuleKey, sign: str) -> None:
        super().__init__()
        self.module = module
        self.sign = sign


class Recordings:
    """What is known of recorded results already, by file and time."""

    def __init__(self) -> None:
        self._known: set[tuple[str, int]] = set()

    def wanted(self, shelf: Shelf) -> tuple[tuple[ModuleKey, str, int], ...]:
        """The newest recorded run of each module that has not been looked at: module, file and time."""
        modules = [*(module for group in shelf.groups for module in group.modules), *shelf.small]
        newest = ((module.key, module.executions[-1]) for module in modules if module.executions)
        return tuple(
            (key, file.path, file.mtime_ns)
            for key, file in newest
            if file.size <= _LARGEST and (file.path, file.mtime_ns) not in self._known
        )

    def look(
        self,
        wanted: tuple[tuple[ModuleKey, str, int], ...],
        path_of: Callable[[str], Path],
        post: Callable[[Message], object],
    ) -> Callable[[Task], None]:
        """The work that looks at some of them, one after the other."""
        from hlo_tui.hlo.recorded import recorded_health

        def job(task: Task) -> None:
            for key, path, mtime_ns in wanted:
                task.check()
                try:
                    found = recorded_health(path_of(path))
                except HloTuiError:
                    # Half written, or damaged: opening it says so.
                    found = ""
                self._known.add((path, mtime_ns))
                if found in ("nan", "inf"):
                    post(HealthFound(key, BAD))

        return job
