"""Whether a value holds a NaN or an infinity; each large array is looked at once."""

from __future__ import annotations

from bisect import bisect_left
from typing import Any, NamedTuple
from weakref import ref

import numpy as np

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays
from hlo_tui.replay.frames import MISSING, Frame
from hlo_tui.replay.program import Computation
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


def flags_in(frame: Frame, index: int, value: Any) -> Flags:
    """The flags of an instruction's value in a frame, which remembers them and which of its values are not finite."""
    found: Flags | None = frame.flags.get(index)
    if found is None:
        found = frame.flags[index] = flags_of(value)
        if found.any():
            frame.carriers.append(index)
    return found


def carriers(frame: Frame, end: int) -> list[int]:
    """The positions before `end` of the values in a frame that are there and are not finite."""
    env, known, floats = frame.env, frame.flags, _with_floats(frame.computation)
    passed = floats[: bisect_left(floats, end)]
    for index in [one for one in passed if one not in known and env[one] is not MISSING]:
        flags_in(frame, index, env[index])
    return sorted(index for index in frame.carriers if index < end)


def holds_floats(shape: pb.ShapeProto) -> bool:
    """Whether a value of this shape can be other than finite."""
    if shape.element_type == arrays.TUPLE:
        return any(holds_floats(part) for part in shape.tuple_shapes)
    return shape.element_type not in (*arrays.INTEGERS, arrays.TOKEN, arrays.OPAQUE)


def _with_floats(computation: Computation) -> list[int]:
    if computation.with_floats is None:
        computation.with_floats = [op.index for op in computation.ops if holds_floats(op.proto.shape)]
    return computation.with_floats


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
    return _Seen(_amid(np.isnan(array)), _amid(np.isinf(array)))


def _amid(mask: arrays.Array) -> Index | None:
    """Where one of the elements of a mask is: about in the middle of them.

    A loop that writes over a stack of them row by row, from either end, comes to it late, and each time that it does
    half of them are gone.
    """
    flat = mask.reshape(-1)
    first = int(flat.argmax())
    if not flat[first]:
        return None
    last = flat.size - 1 - int(flat[::-1].argmax())
    half = (first + last) // 2
    place = half + int(flat[half:].argmax())
    return tuple(int(i) for i in np.unravel_index(place, mask.shape))


def _covers(place: Place, index: Index | None) -> bool:
    return index is not None and all(cut.start <= i < cut.stop for cut, i in zip(place, index, strict=True))


def _moved(place: Place, index: Index) -> Index:
    return tuple(cut.start + i for cut, i in zip(place, index, strict=True))
