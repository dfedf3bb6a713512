"""Which function carries out which command of the registry, and which takes the answer to which question."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp

Handler = Callable[["BaseApp"], None]
Answer = Callable[["BaseApp", str], None]

HANDLERS: dict[str, Handler] = {}
ANSWERS: dict[str, Answer] = {}


def handler(identity: str) -> Handler:
    """The function for a command."""
    _fill()
    return HANDLERS[identity]


def answer(purpose: str) -> Answer:
    """The function for what a person typed when asked for something."""
    _fill()
    return ANSWERS[purpose]


def _fill() -> None:
    """Import what registers functions here."""
    for name in (
        "arranging",
        "climbing",
        "costing",
        "finding",
        "hunting",
        "jobscreen",
        "passing",
        "replaying",
        "stopping",
        "walking",
    ):
        importlib.import_module(f"hlo_tui.ui.{name}")


def does(identity: str) -> Callable[[Handler], Handler]:
    """Register a function for a command. It may raise HloTuiError, which is shown."""

    def register(handler: Handler) -> Handler:
        HANDLERS[identity] = handler
        return handler

    return register


def answers(purpose: str) -> Callable[[Answer], Answer]:
    """Register a function for what a person types when asked for something; it may raise HloTuiError."""

    def register(handler: Answer) -> Answer:
        ANSWERS[purpose] = handler
        return handler

    return register
