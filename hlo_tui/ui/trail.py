"""Where the cursor has been: places to go back to, and forward again."""

from __future__ import annotations

from dataclasses import dataclass

from hlo_tui.ui.opened import Want

_LONGEST = 200


@dataclass(frozen=True, slots=True)
class Spot:
    """A line (from 0) of a file."""

    want: Want
    line: int


class Trail:
    """A browser's history, of spots."""

    def __init__(self) -> None:
        self._back: list[Spot] = []
        self._forward: list[Spot] = []

    @property
    def has_back(self) -> bool:
        """Whether there is a spot to go back to."""
        return bool(self._back)

    @property
    def has_forward(self) -> bool:
        """Whether there is a spot to go forward to."""
        return bool(self._forward)

    def leave(self, spot: Spot) -> None:
        """A jump starts here; what was ahead is forgotten."""
        if not self._back or self._back[-1] != spot:
            self._back.append(spot)
            del self._back[:-_LONGEST]
        self._forward.clear()

    def back(self, here: Spot) -> Spot | None:
        """The spot before, None where there is none."""
        if not self._back:
            return None
        self._forward.append(here)
        return self._back.pop()

    def forward(self, here: Spot) -> Spot | None:
        """The spot that one came back from, None where there is none."""
        if not self._forward:
            return None
        self._back.append(here)
        return self._forward.pop()
