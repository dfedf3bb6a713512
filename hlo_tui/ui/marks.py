"""What stands in the gutter: signs of stops, of where a replay stands, and of what it has passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hlo_tui.ui import glyphs

if TYPE_CHECKING:
    from hlo_tui.replay.session import State

Json = dict[str, object]

_ROLES = {glyphs.BAD: "nan", glyphs.GIVEN: "modified"}


@dataclass(frozen=True, slots=True)
class Tagged:
    """An operation that the program tagged to stop at."""

    computation: str
    instruction: str
    line: int


@dataclass(frozen=True, slots=True)
class Marks:
    """Lines (from 0) by what is to be said of them.

    Attributes:
        tagged: where the program asked for a stop.
        disabled: those among them that are switched off.
        stops: where the person asked for one.
        standing: where the replay stands, None where it stands nowhere in this text.
        frames: the calls on the way there, outermost first.
        ran: first and last lines of what has been run on the way there.
        values: a sign for lines whose value is bad, not known, or not computed but given.
    """

    tagged: frozenset[int] = frozenset()
    disabled: frozenset[int] = frozenset()
    stops: frozenset[int] = frozenset()
    standing: int | None = None
    frames: tuple[int, ...] = ()
    ran: tuple[tuple[int, int], ...] = ()
    values: Mapping[int, str] = field(default_factory=dict)

    @property
    def place(self) -> int | None:
        """The line to look at: where the replay stands, or the last that it has run."""
        return self.ran[-1][1] if self.standing is None and self.ran else self.standing

    def stop_sign(self, line: int) -> tuple[str, str]:
        """The sign of a stop on a line and its role; a blank where there is none."""
        if line in self.stops:
            return glyphs.STOP, "stop"
        if line in self.disabled:
            return glyphs.DISABLED, "disabled"
        if line in self.tagged:
            return glyphs.TAGGED, "tagged"
        return " ", "text"

    def run_sign(self, line: int) -> tuple[str, str]:
        """The sign of what the replay knows of a line."""
        sign = self.values.get(line, "")
        if sign:
            return sign, _ROLES.get(sign, "missing")
        if any(first <= line <= last for first, last in self.ran):
            return glyphs.RAN, "ran"
        return " ", "text"


def value_sign(summary: object) -> str:
    """The sign of a summary with NaN or infinity in it, of one that is not known; empty for a healthy one."""
    if not isinstance(summary, dict):
        return ""
    if "unknown" in summary:
        return glyphs.UNKNOWN
    if "tuple" in summary:
        signs = {value_sign(part) for part in _parts(summary)}
        return next((sign for sign in (glyphs.BAD, glyphs.UNKNOWN) if sign in signs), "")
    return glyphs.BAD if summary.get("nan") or summary.get("inf") else ""


def _parts(summary: Json) -> Iterable[object]:
    parts = summary["tuple"]
    return parts if isinstance(parts, list) else ()


def health(state: State) -> str:
    """The sign of what a replay has met so far: a NaN or infinity; nothing of the kind up to the end; not known."""
    # What was met before has been looked at when the replay stood there; at the end all of it is, once more.
    met = (*state.history, *state.log) if state.end is not None else (*state.history[-1:], *state.log[-1:])
    here = (state.current,) if state.current is not None else ()
    seen = [stop.summary for stop in (*met, *here)]
    outputs = (state.end or {}).get("outputs") or []
    signs = {value_sign(summary) for summary in (*seen, *outputs)}
    if glyphs.BAD in signs:
        return glyphs.BAD
    if state.end is None:
        return ""
    return glyphs.UNKNOWN if glyphs.UNKNOWN in signs else glyphs.RAN
