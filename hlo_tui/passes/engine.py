"""The replay's worker, asked one thing at a time; where it dies, the next question starts another one."""

from __future__ import annotations

import queue
from collections.abc import Callable
from typing import Any

from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.replay.client import INTERRUPT, Client, describe_exit

Json = dict[str, Any]
_LAST_WORDS = 3


class Interrupted(HloTuiError):
    """The person asked to stop."""


class WorkerDied(EngineError):
    """XLA ended the worker process, or it was ended; what it had kept is lost."""


class Engine:
    """One worker, or one after the other."""

    def __init__(self, on_note: Callable[[str], None] = lambda _: None) -> None:
        """Start nothing yet; `on_note` is told in words what the worker is doing, on another thread."""
        self._on_note = on_note
        self._client: Client | None = None
        self._interrupted = False
        self._answers: queue.SimpleQueue[Json] = queue.SimpleQueue()

    def ask(self, method: str, params: Json) -> Json:
        """Ask and wait for the answer.

        Raises:
            HloTuiError: what was asked cannot be done; an EngineError where it is XLA that cannot.
            WorkerDied: the process ended over it.
            Interrupted: it was asked to stop.
        """
        if self._interrupted:
            raise Interrupted("interrupted")
        if self._client is None:
            answers: queue.SimpleQueue[Json] = queue.SimpleQueue()
            self._answers = answers
            self._client = Client(
                lambda message: self._message(answers, message), lambda status: _gone(answers, status)
            )
        client = self._client
        identity = client.request(method, params)
        while True:
            answer = self._answers.get()
            if "exit" in answer:
                self._client = None
                doing = ", ".join(dict.fromkeys(f"{d.phase} {d.instruction}".strip() for d in client.doing()))
                what = f"{describe_exit(answer['exit'])}{f' at {doing}' if doing else ''}"
                words = [client.ended or what, *client.stderr_tail()[-_LAST_WORDS:]]
                raise WorkerDied("the engine died", "\n".join(words))
            if answer.get("id") == identity:
                return _result(answer)

    def interrupt(self) -> None:
        """Ask what is under way to stop; `ask` raises Interrupted then, and from then on."""
        self._interrupted = True
        if self._client is not None:
            self._client.request(INTERRUPT, {})

    def close(self) -> None:
        """End the worker."""
        if self._client is not None:
            self._client.close()
            self._client = None

    def _message(self, answers: queue.SimpleQueue[Json], message: Json) -> None:
        if "note" in message:
            self._on_note(str(message["note"]))
        elif "id" in message:
            answers.put(message)


def _gone(answers: queue.SimpleQueue[Json], status: int) -> None:
    answers.put({"exit": status})


def _result(answer: Json) -> Json:
    if answer.get("interrupted"):
        raise Interrupted("interrupted")
    error = answer.get("error")
    if error is None:
        result: Json = answer["result"]
        return result
    kind = EngineError if error.get("exit_code") == EngineError.exit_code else HloTuiError
    raise kind(error["title"], error["message"], error["hint"])
