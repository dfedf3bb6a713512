"""Bytes of an array as it lies in memory: a tiled layout fills its last dimensions up to whole tiles."""

from __future__ import annotations

import re

from hlo_tui.hlo.numerals import product
from hlo_tui.hlo.shape import Shape

_ORDER = re.compile(r"\{([\d,]*)")
_TILE = re.compile(r":[^T]{0,40}?T\(([\d,]{1,100})\)")
_BITS = re.compile(r"E\((\d{1,3})\)")


def padded_size(shape: Shape) -> int:
    """Bytes of an array with the padding of its tiles; without tiles, or where they cannot be read, those of its
    elements alone. Only the first tile fills up; those behind it (`(2,1)`) change the order inside of it."""
    tile = _TILE.search(shape.layout)
    order = _ORDER.match(shape.layout)
    if tile is None or order is None or not shape.element_count:
        return shape.byte_size
    sizes = [int(size) for size in tile[1].split(",") if size]
    minor = [int(at) for at in order[1].split(",") if at]
    if not sizes or sorted(minor) != list(range(shape.rank)):
        return shape.byte_size
    # From the most minor dimension on, as tiles are counted too; a tile may have more dimensions than the array.
    lengths = [shape.dimensions[at] for at in minor] + [1] * (len(sizes) - shape.rank)
    filled = [
        -(-length // size) * size if size else length
        for length, size in zip(lengths, reversed(sizes), strict=False)
    ]
    elements = product(filled) * product(lengths[len(sizes) :])
    bits = _BITS.search(shape.layout)
    each = int(bits[1]) if bits is not None else 8 * shape.byte_size // shape.element_count
    return (elements * each + 7) // 8
