"""Sizes, ages and counts as a person reads them, in few characters."""

from __future__ import annotations

_UNITS = ("B", "kB", "MB", "GB", "TB")
_AGES = ((60, 1, "s"), (3600, 60, "min"), (86400, 3600, "h"))


def size_text(size: int) -> str:
    """Bytes in decimal units: "812 B", "5.8 kB", "253 kB", "1.2 GB"."""
    value, unit = float(size), 0
    while value >= 999.5 and unit < len(_UNITS) - 1:
        value /= 1000
        unit += 1
    return f"{value:.1f} {_UNITS[unit]}" if unit and value < 9.95 else f"{value:.0f} {_UNITS[unit]}"


def age_text(seconds: float) -> str:
    """A span of time in its largest whole unit: "3 s", "12 min", "5 h", "4 d"; "now" below one second."""
    if seconds < 1:
        return "now"
    for limit, unit, word in _AGES:
        if seconds < limit:
            return f"{int(seconds // unit)} {word}"
    return f"{int(seconds // 86400):,} d"


def count_text(count: int, one: str, many: str = "") -> str:
    """A count with its word: "1 file", "1,204 files"; `many` where an s is not enough."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
