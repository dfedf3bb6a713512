"""Drawing waits for the terminal, and goes on with the newest state."""

from __future__ import annotations

import contextlib
from queue import Queue
from types import SimpleNamespace

from hlo_tui.ui.pacing import Pacer, writer_queue


class FakeApp:
    """What the pacer uses of an app, with a queue that a test fills and empties."""

    def __init__(self) -> None:
        self.queue: Queue[str] = Queue()
        self._driver = SimpleNamespace(_writer_thread=SimpleNamespace(_queue=self.queue))
        self.batches = 0
        self.timers = []
        self.refreshed = self.checked = 0
        self.screen = SimpleNamespace(refresh=self._refresh, check_idle=self._check)

    @contextlib.contextmanager
    def batch_update(self):
        self.batches += 1
        yield
        self.batches -= 1

    def set_timer(self, _seconds, callback):
        self.timers.append(callback)

    def _refresh(self):
        self.refreshed += 1

    def _check(self):
        self.checked += 1

    def tick(self):
        self.timers.pop(0)()


def test_nothing_waits_while_the_terminal_keeps_up():
    app = FakeApp()
    Pacer(app).displayed()
    assert (app.batches, app.timers) == (0, [])


def test_drawing_waits_until_the_frame_is_out():
    app = FakeApp()
    pacer = Pacer(app)
    app.queue.put("frame")
    pacer.displayed()
    assert app.batches == 1
    app.tick()
    assert app.batches == 1
    app.queue.get()
    app.tick()
    assert (app.batches, app.timers, app.checked, app.refreshed) == (0, [], 1, 0)
    app.queue.put("another")
    pacer.displayed()
    assert app.batches == 1


def test_what_was_dropped_meanwhile_is_drawn_after():
    app = FakeApp()
    pacer = Pacer(app)
    app.queue.put("frame")
    pacer.displayed()
    pacer.displayed()
    app.queue.get()
    app.tick()
    assert (app.batches, app.refreshed) == (0, 1)


def test_where_there_is_no_such_queue_nothing_is_paced():
    app = FakeApp()
    app._driver = None
    assert writer_queue(app) is None
    Pacer(app).displayed()
    assert app.batches == 0
