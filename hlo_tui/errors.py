"""The one kind of error that is shown to a person."""

from __future__ import annotations


class HloTuiError(Exception):
    """A fault that a person can act on.

    Attributes:
        title: what went wrong, a few words.
        message: where, and the details that are known.
        hint: what to do next; empty where there is nothing to do.
        exit_code: what a command exits with: 2 wrong use or unreadable input, 3 the engine could not run it.
    """

    exit_code = 2

    def __init__(self, title: str, message: str = "", hint: str = "") -> None:
        super().__init__(title)
        self.title = title
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """The title, the message and the hint, a line each where they are not empty."""
        return "\n".join(part for part in (self.title, self.message, self.hint) if part)


class EngineError(HloTuiError):
    """XLA or the replay engine could not run what was asked."""

    exit_code = 3
