"""Whether a value holds a NaN or an infinity; each large array is looked at once."""

from __future__ import annotations

from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from hlo_tui.replay import arrays
from hlo_tui.replay.updated import Place, Updated
from hlo_tui.replay.values import floats_of, leaves

Index = tuple[int, ...]


class Flags(NamedTuple):
    """What a value holds besides finite numbers."""

    nan: bool = False
    inf: bool = False

    def any(self) -> bool:
        """Whether it holds either."""
        return self.nan or self.inf


FINITE = Flags()


def flags_of(value: Any) -> Flags:
    """The flags of a value; integers are finite, and what is unknown counts as finite."""
    nan = inf = False
    for leaf in leaves(value):
        seen = _LOOKED_AT.seen(leaf)
        nan, inf = nan or seen.nan is not None, inf or seen.inf is not None
    return Flags(nan, inf)


class _Seen(NamedTuple):
    """Where in an array one NaN and one infinity are; None where there is none."""

    nan: Index | None = None
    inf: Index | None = None


_NOTHING = _Seen()


class _LookedAt:
    """What was seen in large arrays, as long as they live: what a loop hands on is met again in every iteration."""

    LARGE = 4 << 10

    def __init__(self) -> None:
        self._known: dict[int, tuple[ref[Any], _Seen]] = {}

    def seen(self, leaf: Any) -> _Seen:
        """What is in one array; arrays never change."""
        known = self._known.get(id(leaf))
        if known is not None:
            return known[1]
        if isinstance(leaf, Updated) and leaf.part is not None:
            found = self._in_blocks(leaf)
        else:
            array = np.asarray(leaf)
            found = _look(array)
            if array.nbytes < self.LARGE:
                return found
        key = id(leaf)
        self._known[key] = ref(leaf, lambda _: self._known.pop(key, None)), found
        return found

    def _in_blocks(self, leaf: Updated) -> _Seen:
        """What is in an array that is not written out, and need not be unless a block goes where something was."""
        blocks: list[tuple[arrays.Array, Place]] = []
        before: Any = leaf
        while isinstance(before, Updated) and before.part is not None and id(before) not in self._known:
            blocks.append((before.part, before.place))
            before = before.before
        nan, inf = self.seen(before)
        for part, place in reversed(blocks):
            if _covers(place, nan) or _covers(place, inf):
                return _look(leaf.written())
            new = _look(part)
            nan = nan if new.nan is None else _moved(place, new.nan)
            inf = inf if new.inf is None else _moved(place, new.inf)
        return _Seen(nan, inf)


_LOOKED_AT = _LookedAt()


def _look(leaf: arrays.Array) -> _Seen:
    array = floats_of(leaf)
    if array is None or np.logical_and.reduce(np.isfinite(array), axis=None):
        return _NOTHING
    return _Seen(_first(np.isnan(array)), _first(np.isinf(array)))


def _first(mask: arrays.Array) -> Index | None:
    place = int(mask.argmax())
    index = tuple(int(i) for i in np.unravel_index(place, mask.shape))
    return index if mask[index] else None


def _covers(place: Place, index: Index | None) -> bool:
    return index is not None and all(cut.start <= i < cut.stop for cut, i in zip(place, index, strict=True))


def _moved(place: Place, index: Index) -> Index:
    return tuple(cut.start + i for cut, i in zip(place, index, strict=True))
