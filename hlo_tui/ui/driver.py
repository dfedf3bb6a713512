"""Textual's driver for terminals, with less to send: frames go through a canvas that knows what is shown."""

from __future__ import annotations

from typing import Any

from textual.drivers.linux_driver import LinuxDriver

from hlo_tui.ui.canvas import Canvas

_OTHER_SCREEN = "\x1b[?1049"


class CanvasDriver(LinuxDriver):
    """Sends what differs."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._canvas = Canvas()

    def forget(self) -> None:
        """Send the next frame whole: the terminal may show something else than what was sent."""
        self._canvas.forget(*self._get_terminal_size())

    def write(self, data: str) -> None:
        """Send data, or of a frame what differs."""
        if _OTHER_SCREEN in data:
            self.forget()
        if data.startswith("\x1b[") and "?" not in data[:3]:
            size = self._get_terminal_size()
            if not self._canvas.fits(*size):
                self._canvas.forget(*size)
            shorter = self._canvas.draw(data)
            if shorter is not None:
                data = shorter
        if data:
            super().write(data)
