"""Numbers on a command line: wrong ones are wrong use."""

from __future__ import annotations

import argparse
import math

from hlo_tui.hlo.numerals import number_of


def count(text: str) -> int:
    """A number that is not negative."""
    found = number_of(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no number from 0 on")
    return found


def tolerance(text: str) -> float:
    """A bound of errors: finite and not negative."""
    try:
        found = float(text)
    except ValueError:
        found = math.nan
    if not 0 <= found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is no tolerance, such as 1e-5")
    return found
