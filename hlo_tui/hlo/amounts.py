"""Amounts of bytes and of operations, read and written the way XLA's own reports write them."""

from __future__ import annotations

import re

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_POWERS = {letter: 1 << 10 * power for power, letter in enumerate("KMGTP", 1)}
# `41.19G`, `2.77GiB`, `512B`, `6.0K`, `27036672000 bytes`; a decimal unit (`1.5 GB`) is taken as XLA means it.
AMOUNT = r"\d{1,18}(?:\.\d{1,9})?[ \t]?(?:[KMGTP]i?B?|B|bytes?)?(?![\w.])"
_AMOUNT = re.compile(r"(\d{1,18}(?:\.\d{1,9})?)[ \t]?(?:([KMGTP])i?B?|B|bytes?)?")
_COUNTS = ("", "K", "M", "G", "T", "P", "E")


def bytes_text(size: float) -> str:
    """Bytes in the binary units of XLA's reports: "812 B", "262 KiB", "6.67 MiB", "32.0 GiB"."""
    sign, value, unit = ("-" if size < 0 else ""), abs(float(size)), 0
    while value >= 1023.5 and unit < len(_UNITS) - 1:
        value /= 1024
        unit += 1
    return f"{sign}{_digits(value) if unit else f'{value:.0f}'} {_UNITS[unit]}"


def count_of(count: float, word: str = "") -> str:
    """A large count in decimal units, with a word behind the unit: "8.59 GFLOP", "812 FLOP"."""
    sign, value, unit = ("-" if count < 0 else ""), abs(float(count)), 0
    while value >= 999.5 and unit < len(_COUNTS) - 1:
        value /= 1000
        unit += 1
    number = _digits(value) if unit else f"{value:.0f}"
    return f"{sign}{number} {_COUNTS[unit]}{word}".rstrip()


def parse_bytes(text: str) -> int | None:
    """The bytes that a report's amount stands for, rounded as it is there; None where it is no amount."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        return None
    return round(float(found[1]) * _POWERS.get(found[2] or "", 1))


def _digits(value: float) -> str:
    return f"{value:.2f}" if value < 9.995 else f"{value:.1f}" if value < 99.95 else f"{value:.0f}"
