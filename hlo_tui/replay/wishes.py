"""What a replay without a screen is to do with single values, as a person writes it on the command line."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.stopspec import StopSpec, parse_spec

Json = dict[str, Any]

KINDS = ("show", "origin", "save", "compare")
PLACE = "[COMPUTATION/]NAME, an element of its tuple behind it as {1}, a slice as [0:3, ::2]"
OTHERS = "last; iteration 5; partition 1; grain body, unit or whole; unchanged; FILE.npy"

_PLACE = re.compile(
    r"(?:%?(?P<computation>[^\s%/{}\[\]=]+)/)?%?(?P<name>[^\s%/{}\[\]=]+)"
    r"(?:\{(?P<element>\s*\d+\s*(?:,\s*\d+\s*)*)\})?(?:\[(?P<slice>[^\]]*)\])?"
)
_GRAINS = frozenset(str(grain) for grain in Grain)
_LARGEST = 10**9


@dataclass(frozen=True, slots=True)
class Place:
    """A value that is meant.

    Attributes:
        text: as it was written.
        instruction: its name.
        computation: of the instruction; empty for any.
        element: positions in nested tuples.
        slice: which elements, as `slicing.parse_slice` takes it; None where none was written.
    """

    text: str
    instruction: str
    computation: str = ""
    element: tuple[int, ...] = ()
    slice: str | None = None

    def which(self) -> Json:
        """The value, as a request says it."""
        return {"computation": self.computation, "instruction": self.instruction}


@dataclass(frozen=True, slots=True)
class Wish:
    """One thing to do with a value.

    Attributes:
        kind: "show", "origin", "save" or "compare".
        place: the value.
        to: of "save" the file; of "compare" the other value, in one of OTHERS.
    """

    kind: str
    place: Place
    to: str = ""


@dataclass(frozen=True, slots=True)
class Setting:
    """A value to be put in the place of a computed one: the first time that a stop holds."""

    spec: StopSpec
    to: str


@dataclass(frozen=True, slots=True)
class Wishes:
    """All that was asked for besides the stops.

    Attributes:
        settings: values to change before the replay begins.
        wishes: what to do at each stop.
        partition: whose values are looked at.
        tolerance: of comparisons.
    """

    settings: tuple[Setting, ...] = ()
    wishes: tuple[Wish, ...] = ()
    partition: int = 0
    tolerance: float = 1e-3


NO_WISHES = Wishes()


def parse_place(text: str) -> Place:
    """Read which value is meant.

    Raises:
        HloTuiError: it says none.
    """
    found = _PLACE.fullmatch(text.strip())
    if found is None:
        raise HloTuiError(f"{text!r} names no value", "it has not the form of one", f"form: {PLACE}")
    element = tuple(min(int(number), _LARGEST) for number in (found["element"] or "").split(",") if number)
    return Place(text.strip(), found["name"], found["computation"] or "", element, found["slice"])


def parse_wish(kind: str, text: str) -> Wish:
    """Read one option of `hlo-tui replay`.

    Args:
        kind: "show", "origin", "save" or "compare".
        text: PLACE; of "save" PLACE=FILE.npy, of "compare" PLACE=OTHER.

    Raises:
        HloTuiError: it has not that form.
    """
    if kind in ("show", "origin"):
        place = parse_place(text)
        if kind == "origin" and place.slice is not None:
            index_of(place)
        return Wish(kind, place)
    named, equals, to = text.partition("=")
    to = to.strip()
    if not equals or not to:
        form = f"NAME=FILE.npy; NAME: {PLACE}" if kind == "save" else f"NAME=OTHER; OTHER: {OTHERS}"
        raise HloTuiError(
            f"--{kind} {text!r} lacks a part", "it has no = with something behind it", f"form: {form}"
        )
    place = parse_place(named)
    if kind == "save":
        to = to if to.endswith(".npy") else f"{to}.npy"
        if not Path(to).expanduser().parent.is_dir():
            raise HloTuiError("no such directory", str(Path(to).parent), "make it first")
    elif place.slice is not None:
        raise HloTuiError(f"{named!r} is a slice", "values are compared whole", "leave [...] out")
    else:
        other(to)
    return Wish(kind, place, to)


def parse_setting(text: str) -> Setting:
    """Read SPEC=VALUE, with `if CONDITION` behind it where there is one.

    Raises:
        HloTuiError: it has not that form.
    """
    before, has_condition, condition = text.partition(" if ")
    spec, equals, to = before.rpartition("=")
    if not equals or not to.strip():
        form = (
            "NAME=VALUE, first:nonfinite=VALUE; ` if CONDITION` behind it; VALUE: a number, finite, FILE.npy"
        )
        raise HloTuiError(
            f"--set {text!r} says no value", "it has no = with something behind it", f"form: {form}"
        )
    stop = parse_spec(f"{spec} if {condition}" if has_condition else spec)
    _look_for(to.strip())
    return Setting(replace(stop, once=False), to.strip())


def _look_for(file: str) -> None:
    """Say now that a file is not there, not after an hour of replay."""
    if file.endswith(".npy") and not Path(file).expanduser().is_file():
        raise HloTuiError("no such file", file, "give the path of a .npy file")


def index_of(place: Place) -> list[int] | None:
    """The index of the one element that is meant; None where none was written.

    Raises:
        HloTuiError: it is no index.
    """
    if place.slice is None:
        return None
    parts = [part.strip() for part in place.slice.split(",") if part.strip()]
    if not all(part.isdecimal() and part.isascii() for part in parts):
        raise HloTuiError(f"[{place.slice}] is not one element", "its origin is of one", "form: NAME[3, 17]")
    return [min(int(part), _LARGEST) for part in parts]


def other(text: str) -> Json:
    """What differs in how `moments.value_of` is asked for the other value of a comparison; for "last" nothing does.

    Raises:
        HloTuiError: it is none of OTHERS.
    """
    word, _, number = text.strip().partition(" ")
    number = number.strip()
    if word == "last" and not number:
        return {}
    if word in ("partition", "iteration") and number.isdecimal() and number.isascii():
        return {word: min(int(number), _LARGEST)}
    grain = number if word == "grain" else text.strip()
    if grain in _GRAINS:
        return {"grain": grain}
    if text.strip() == "unchanged":
        return {"unchanged": True}
    if text.strip().endswith(".npy"):
        _look_for(text.strip())
        return {"file": text.strip()}
    raise HloTuiError("This is nothing to compare with", text, f"Give {OTHERS}.")
