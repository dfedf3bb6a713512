"""Arrays of .npy and .npz files, in element types that XLA has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from hlo_tui.errors import HloTuiError
from hlo_tui.replay import arrays

_NUMBERS = frozenset("biufc")


def load(path: Path) -> arrays.Array:
    """An array of a .npy file, as it is there.

    Raises:
        HloTuiError: it cannot be read, or holds no array.
    """
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise HloTuiError("the value cannot be read", f"{path}: {error}") from error
    if not isinstance(found, np.ndarray):
        raise HloTuiError("the value cannot be read", f"{path} holds more than one array", "give a .npy file")
    return found


def typed(array: arrays.Array, dtype: np.dtype[Any], path: Path | str) -> arrays.Array:
    """An array of a file in an element type; raw bytes of its width are what numpy stores of bfloat16 and the like.

    Raises:
        HloTuiError: it holds no numbers, or raw bytes of another width.
    """
    stored = array.dtype
    if stored.kind in _NUMBERS:
        return array.astype(dtype)
    if stored.kind == "V" and stored.names is None and stored.itemsize == dtype.itemsize:
        return array.view(dtype)
    message = f"{path} holds {stored.name}, which is no {arrays.NAMES[arrays.NUMBERS[dtype]]}"
    raise HloTuiError("the value cannot be read", message, "give an array of numbers")


def comparable(array: arrays.Array, dtype: np.dtype[Any], path: Path | str) -> arrays.Array:
    """An array of a file beside one of an element type: numbers stay what they are.

    Raises:
        HloTuiError: it holds no numbers, or raw bytes of another width.
    """
    if array.dtype.kind not in _NUMBERS:
        return typed(array, dtype, path)
    native = array.dtype.newbyteorder("=")
    wide = np.dtype(np.complex128 if native.kind == "c" else np.float64)
    return array.astype(native if native in arrays.NUMBERS else wide)
