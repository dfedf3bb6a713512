"""Arrays of which one block was replaced, written out only when somebody reads them.

A scan stacks what its iterations give with a dynamic-update-slice each. A copy of the whole stack at every iteration
would cost more than everything else that the iteration does, and most of them are never read.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from hlo_tui.replay import arrays

Array = arrays.Array
Place = tuple[slice, ...]

# What is smaller is copied as quickly as it is remembered.
_SMALL = 32 << 10
# Bytes that remembering one block takes besides the block.
_NODE = 512
# A block of more than this share of the array saves little.
_SHARE = 4
# So many blocks are looked through for what is read of an array; a loop reads mostly what it wrote lately.
_LOOKED_THROUGH = 64


class Updated:
    """An array as another one with a block replaced; numpy reads it as an array.

    Attributes:
        shape: dimensions.
        dtype: element type.
        allocated: bytes that all of these took so far; some may be free again.
    """

    allocated: ClassVar[int] = 0
    __slots__ = ("__weakref__", "_base", "_owed", "_part", "_place", "_whole", "dtype", "shape")

    def __init__(self, base: Any, part: Array, place: Place) -> None:
        """Take what is to be remembered; use `updated`.

        Args:
            base: a numpy array, a device's, or another one of these; never changed.
            part: the block, of the same element type.
            place: where in `base` it goes.
        """
        self.shape: tuple[int, ...] = tuple(base.shape)
        self.dtype: np.dtype[Any] = part.dtype
        self._base = base
        self._part: Array | None = part
        self._place = place
        self._whole: Array | None = None
        self._owed: int = part.nbytes + _NODE
        Updated.allocated += self._owed
        if isinstance(base, Updated) and base._whole is None:
            self._owed += base._owed

    @property
    def nbytes(self) -> int:
        """Bytes when it is written out."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def before(self) -> Any:
        """The array whose block was replaced; None once this one is written out."""
        return self._base

    @property
    def place(self) -> Place:
        """Where in `before` the block is."""
        return self._place

    @property
    def part(self) -> Array | None:
        """The block; None once it is written out."""
        return self._part

    def written(self) -> Array:
        """The array itself; copied once."""
        if self._whole is None:
            owed: list[Updated] = []
            source: Any = self
            while isinstance(source, Updated):
                if source._whole is not None:
                    source = source._whole
                    break
                owed.append(source)
                source = source._base
            whole = arrays.owned(np.asarray(source))
            for one in reversed(owed):
                whole[one._place] = one._part
            self._whole = whole
            Updated.allocated += whole.nbytes
            self._base = self._part = None
        return self._whole

    def __getitem__(self, place: Place) -> Array:
        """A part of it: of the block that has all of it, or of what is below the blocks that have none of it."""
        source: Any = self
        for _ in range(_LOOKED_THROUGH):
            if not isinstance(source, Updated) or source._part is None:
                break
            if all(
                b.start <= p.start and p.stop <= b.stop for b, p in zip(source._place, place, strict=True)
            ):
                within = zip(source._place, place, strict=True)
                found: Array = source._part[
                    tuple(slice(p.start - b.start, p.stop - b.start) for b, p in within)
                ]
                return found
            if all(b.start < p.stop and p.start < b.stop for b, p in zip(source._place, place, strict=True)):
                break
            source = source._base
        if isinstance(source, Updated):
            # Written out where it is asked for: who asks again finds it there.
            source = self.written()
        read: Array = np.asarray(source)[place]
        return read

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        whole = self.written()
        if dtype is not None and whole.dtype != dtype:
            return whole.astype(dtype)
        return whole.copy() if copy else whole

    def count(self, buffers: dict[int, int]) -> Any:
        """Add what it keeps alive besides the array that it began with, which is returned: address -> bytes.

        Returns:
            An array, or None where everything is counted.
        """
        node: Any = self
        while isinstance(node, Updated):
            if id(node) in buffers:
                return None
            buffers[id(node)] = _NODE
            if node._whole is not None:
                return node._whole
            assert node._part is not None
            buffers[node._part.__array_interface__["data"][0]] = node._part.nbytes
            node = node._base
        return node


def updated(base: Any, part: Array, place: Place) -> Any:
    """An array with a block replaced: a copy where that costs little, else an `Updated`.

    Blocks that are remembered never take more memory than the array itself would.
    """
    node = Updated(base, part, place)
    whole = node.nbytes
    if whole <= _SMALL or part.nbytes > whole // _SHARE:
        return node.written()
    if node._owed > whole:
        node.written()
    return node
