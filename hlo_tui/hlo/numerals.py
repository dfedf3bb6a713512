"""Numbers out of texts that may hold anything, no larger than XLA's own, which have 64 bits."""

from __future__ import annotations

from collections.abc import Iterable

LARGEST = 2**63 - 1
_DIGITS = 18


def number_of(text: str) -> int | None:
    """The number that a text is, with blanks around it; None where it is none, or has more than 18 digits."""
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _DIGITS else None


def product(sizes: Iterable[int]) -> int:
    """The product of sizes, 1 of none; what has no room in 64 bits is the largest that has."""
    found = 1
    for size in sizes:
        found = max(-LARGEST, min(found * size, LARGEST))
    return found
