"""Looks whether the files of the theme have changed, and reads them again when they have."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

from hlo_tui.errors import HloTuiError
from hlo_tui.theme.theme import Theme, load
from hlo_tui.ui.messages import Problem, ThemeChanged

_LOOK = 1.0

Stamps = tuple[tuple[int, int] | None, ...]


class ThemeWatch:
    """Watches one theme after the other from a thread of its own."""

    def __init__(self, theme: Theme, post: Callable[[ThemeChanged | Problem], object]) -> None:
        self._theme = theme
        self._post = post
        self._stopped = threading.Event()
        self._stamps = _stamps(theme)

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._run, name="hlo-tui-theme", daemon=True).start()

    def stop(self) -> None:
        """End."""
        self._stopped.set()

    def change(self, theme: Theme) -> None:
        """Watch the files of another theme."""
        self._theme, self._stamps = theme, _stamps(theme)

    def _run(self) -> None:
        while not self._stopped.wait(_LOOK):
            self.look()

    def look(self) -> None:
        """Look once."""
        theme, stamps = self._theme, _stamps(self._theme)
        if stamps == self._stamps:
            return
        self._stamps = stamps
        try:
            self._post(ThemeChanged(load(str(theme.files[0]))))
        except HloTuiError as error:
            self._post(Problem(error))


def _stamps(theme: Theme) -> Stamps:
    found: list[tuple[int, int] | None] = []
    for path in theme.files:
        try:
            status = os.stat(path)
            found.append((status.st_mtime_ns, status.st_size))
        except OSError:
            found.append(None)
    return tuple(found)
