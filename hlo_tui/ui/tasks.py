"""Long work beside the screen: one task of a kind at a time, each on a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any

from textual.message import Message

from hlo_tui.errors import HloTuiError
from hlo_tui.ui.reading import guarded


class Stopped(Exception):
    """The person asked for the end of it."""


class Task:
    """One piece of work. Its thread fills it, the screen reads it.

    Attributes:
        kind: what sort of work it is.
        key: what it is about; equal for the same question about the same files.
        words: what it is doing.
        found: what came of it so far.
        done: whether it has ended, whatever the end was.
        stopping: whether it was asked to end early.
        problem: why it failed, None where it did not.
        on_stop: ends what the thread waits for.
    """

    def __init__(self, kind: str, key: Hashable, post: Callable[[Message], object]) -> None:
        self.kind = kind
        self.key = key
        self.words = ""
        self.found: list[Any] = []
        self.done = False
        self.stopping = False
        self.problem: HloTuiError | None = None
        self.on_stop: Callable[[], None] = lambda: None
        self._post = post

    def say(self, words: str) -> None:
        """Tell what is being done; from any thread."""
        if not self.stopping:
            self.words = words
        self._post(TaskChanged(self))

    def go_on(self, words: str) -> None:
        """Tell what comes next.

        Raises:
            Stopped: it is to end.
        """
        self.check()
        self.say(words)

    def add(self, found: object) -> None:
        """Tell a part of what was asked for.

        Raises:
            Stopped: it is to end.
        """
        self.check()
        self.found.append(found)
        self._post(TaskChanged(self))

    def check(self) -> None:
        """See whether to go on.

        Raises:
            Stopped: it is to end.
        """
        if self.stopping:
            raise Stopped

    def stop(self) -> None:
        """Ask for the end."""
        if not self.done and not self.stopping:
            self.stopping = True
            self.words = "stopping"
            self.on_stop()

    def run(self, job: Callable[[Task], None]) -> None:
        """Do all of it, on this thread."""

        def act() -> None:
            try:
                job(self)
            except Stopped:
                self.words = "stopped"

        _, problem = guarded(act)
        self.problem = None if self.stopping else problem
        self.done = True
        self._post(TaskChanged(self))


class TaskChanged(Message):
    """A task goes on, or has ended."""

    def __init__(self, task: Task) -> None:
        super().__init__()
        self.task = task

    def can_replace(self, message: Message) -> bool:
        """The task itself holds everything."""
        return isinstance(message, TaskChanged) and message.task is self.task


class Tasks:
    """The newest task of each kind."""

    def __init__(self, post: Callable[[Message], object]) -> None:
        self._post = post
        self._tasks: dict[str, Task] = {}

    def get(self, kind: str) -> Task | None:
        """The newest of a kind, None where there was none."""
        return self._tasks.get(kind)

    def start(self, kind: str, key: Hashable, job: Callable[[Task], None], again: bool = False) -> Task:
        """Begin, and end the one before of this kind; what is known or under way already is not done again.

        Args:
            kind: what sort of work it is.
            key: what it is about.
            job: does it, on a thread; it may raise HloTuiError.
            again: whether to begin anew even so.
        """
        before = self._tasks.get(kind)
        if before is not None:
            known = before.key == key and not before.stopping and before.problem is None
            if known and not again:
                return before
            before.stop()
        task = self._tasks[kind] = Task(kind, key, self._post)
        threading.Thread(target=task.run, args=(job,), name=f"hlo-tui-{kind}", daemon=True).start()
        return task

    def close(self) -> None:
        """End them all."""
        for task in self._tasks.values():
            task.stop()
