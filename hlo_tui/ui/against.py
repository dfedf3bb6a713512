"""What a value can be compared with: another stop, partition, iteration or grain, a file, itself without changes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.wishes import other
from hlo_tui.ui.valuerows import iteration_text

if TYPE_CHECKING:
    from hlo_tui.replay.session import State, Stop

FORMS = "stop 3; last; iteration 5; FILE.npy; unchanged; partition 1; body, unit, whole"
_SHORT = {"p": "partition", "i": "iteration", "s": "stop", "g": "grain"}


@dataclass(frozen=True, slots=True)
class Against:
    """Another value.

    Attributes:
        which: what differs in how `replay.moments.value_of` is asked for it.
        words: what it is.
    """

    which: dict[str, Any]
    words: str


def against(text: str, instruction: str, state: State) -> Against:
    """What a person means.

    Args:
        text: one of FORMS; a word may be its first letter.
        instruction: whose value is looked at.
        state: the replay's.

    Raises:
        HloTuiError: it is none of them, or there is no such stop.
    """
    word, _, number = text.strip().partition(" ")
    if word.isdecimal():
        word, number = "stop", word
    word = _SHORT.get(word, word)
    if word == "last":
        return _stop(before(instruction, state), state)
    if word == "stop" and number.isdecimal():
        found = next((stop for stop in state.history if stop.number == int(number)), None)
        return _stop(found, state)
    which = other(f"{word} {number}".strip())
    return Against(which, _words(which))


def _words(which: dict[str, Any]) -> str:
    ((name, value),) = which.items()
    if name == "grain":
        return f"{value} grain"
    return "the value without the changes" if name == "unchanged" else f"{name} {visible(str(value))}"


def before(instruction: str, state: State) -> Stop | None:
    """The last stop at the same instruction before where the replay stands, else the first one after it."""
    others = [
        stop for stop in state.history if stop.instruction == instruction and stop.number != state.number
    ]
    now = state.current.key if state.current is not None else None
    earlier = [stop for stop in others if now is None or stop.key < now]
    return earlier[-1] if earlier else others[0] if others else None


def _stop(stop: Stop | None, state: State) -> Against:
    if stop is None:
        raise HloTuiError("There is no such stop", f"the history has {len(state.history)}")
    words = f"stop {stop.number}, {iteration_text(stop.event)}".rstrip(", ")
    return Against({"position": stop.event["position"]}, words)
