"""What brings a fresh worker to where the last one was."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hlo_tui.replay.lessons import Lessons
from hlo_tui.replay.state import Options

Json = dict[str, Any]
Request = tuple[str, Json]


def open_request(options: Options, lessons: Lessons) -> Request:
    """The request that opens the module."""
    return "open", {
        "path": str(options.path),
        "member": options.member,
        "inputs": options.inputs,
        "seed": options.seed,
        "grain": options.grain,
        "platform": options.platform,
        "supplies": list(options.supplies),
        "standins": options.standins,
        "refused": lessons.refused,
        "threads": lessons.threads,
        "stored": lessons.stored,
        "allow_memory": options.allow_memory,
    }


def way_back(changes: Iterable[tuple[Json | None, Json]], position: Json | None) -> list[Request]:
    """The requests that follow once it is open and has its stops.

    Args:
        changes: values changed by hand, each with the position where that was done; None where the change says itself
            where it is.
        position: where the replay stands; None for the beginning.
    """
    requests: list[Request] = []
    for place, change in changes:
        requests += [*_goto(place), ("change_first" if "spec" in change else "change", change)]
    return requests + _goto(position)


def _goto(position: Json | None) -> list[Request]:
    return [] if position is None else [("goto", {"position": position})]
