"""Values that the person put in the place of computed ones: "what if this were finite"."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.arrayfiles import load, typed
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.values import Unknown, replaced
from hlo_tui.replay.xla import Replicated

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


def replacement(value: Any, to: str) -> Any:
    """The value that a person asks for in the place of another, of the same shape and type.

    Args:
        value: what is there.
        to: a number, "finite" or a .npy file.

    Raises:
        HloTuiError: it is none of these, or does not fit.
    """
    if isinstance(value, tuple) or value is None or isinstance(value, Unknown):
        hint = "change what makes one of its elements"
        raise HloTuiError("this value cannot be changed", "only arrays can be", hint)
    if to == "finite":
        return replaced(value, 1.0)
    if isinstance(value, Replicated):
        return Replicated(tuple(replacement(part, to) for part in value.parts))
    array = np.asarray(value)
    if to.endswith(".npy"):
        return _from_file(array, to)
    try:
        return np.full(array.shape, complex(to) if array.dtype.kind == "c" else float(to)).astype(array.dtype)
    except ValueError as error:
        raise HloTuiError(f"{to!r} is no value", "give a number, `finite` or a .npy file") from error


def _from_file(array: Any, path: str) -> Any:
    given = load(Path(path))
    if given.shape != array.shape:
        message = f"{path} has shape {list(given.shape)}, the value {list(array.shape)}"
        raise HloTuiError("the value does not fit", message)
    return typed(given, array.dtype, path)
