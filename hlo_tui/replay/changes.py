"""Values that the person put in the place of computed ones: "what if this were finite"."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from hlo_tui.replay.frames import Frame

Place = tuple[tuple[tuple[int, int], ...], int]


class Changes:
    """Values by place: (path of the frame, position in it).

    Attributes:
        computations: ids of the computations whose runs have a changed value in or below them.
    """

    def __init__(self, values: dict[Place, Any], computations: Iterable[int]) -> None:
        self.values = values
        self.computations = frozenset(computations)

    def with_value(self, frame: Frame, index: int, value: Any) -> Changes:
        """These changes and one more: the value of an instruction in one run."""
        chain = {one.computation.id for one in frame.chain()}
        return Changes({**self.values, (tuple(frame.path()), index): value}, self.computations | chain)

    def apply(self, frame: Frame, needed: Iterable[int]) -> None:
        """Put the changed values in a frame, where it is one of theirs."""
        path = tuple(frame.path())
        for index in needed:
            value = self.values.get((path, index))
            if value is not None:
                frame.env[index] = value


NO_CHANGES = Changes({}, ())
