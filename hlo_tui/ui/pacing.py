"""Not more frames than the terminal takes: on a slow link the newest is drawn, not every one on the way.

Textual's writer holds up to thirty frames and then blocks the screen's thread. This looks at that queue,
which is not public: where it is not as expected, nothing is paced.
"""

from __future__ import annotations

from contextlib import ExitStack
from queue import Queue
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from textual.app import App

# Seconds between two looks at a queue that is not empty.
_LOOK = 0.01


def writer_queue(app: App[Any]) -> Queue[Any] | None:
    """The frames that wait for the terminal; None where this Textual keeps them elsewhere."""
    writer = getattr(getattr(app, "_driver", None), "_writer_thread", None)
    found = getattr(writer, "_queue", None)
    return found if isinstance(found, Queue) else None


class Pacer:
    """Holds an app's drawing back while its last frame is still under way."""

    def __init__(self, app: App[Any]) -> None:
        self._app = app
        self._batch = ExitStack()
        self._holding = False
        self._missed = False

    def displayed(self) -> None:
        """A frame was given to the writer: hold the next ones until it is out."""
        if self._holding:
            # A batch drops what is drawn in it by a new layout.
            self._missed = True
            return
        queue = writer_queue(self._app)
        if queue is not None and not queue.empty():
            self._holding = True
            self._batch.enter_context(self._app.batch_update())
            self._app.set_timer(_LOOK, self._look)

    def _look(self) -> None:
        queue = writer_queue(self._app)
        if queue is not None and not queue.empty():
            self._app.set_timer(_LOOK, self._look)
            return
        self._holding = False
        self._batch.close()
        if self._missed:
            self._missed = False
            self._app.screen.refresh()
        self._app.screen.check_idle()
