"""The summary of a value, and a number, in few words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Json = dict[str, Any]


def summary_words(summary: Json | None) -> str:
    """A summary on one line."""
    if summary is None:
        return "not run yet"
    if "unknown" in summary:
        return f"unknown: {summary['unknown']}"
    if "tuple" in summary:
        return "(" + "; ".join(summary_words(part) for part in summary["tuple"]) + ")"
    if "count" not in summary:
        return str(summary["shape"])
    first = " ".join(number_words(value) for value in summary["first"])
    dots = " ..." if summary["count"] > len(summary["first"]) else ""
    if summary["count"] == 1:
        return f"{summary['shape']}  {first}"
    statistics = "  ".join(f"{name} {number_words(summary[name])}" for name in ("min", "max", "mean", "std"))
    counts = "  ".join(f"{name} {summary[name]}" for name in ("nan", "inf", "zero"))
    return f"{summary['shape']}  {statistics}  {counts}  [{first}{dots}]"


def difference_words(event: Mapping[str, Any], check: str, text: Callable[[Any], str]) -> str:
    """By how much the outputs of the end differ, to stand behind "differs": " by up to 0.5, 3 elements NaN on one
    side alone", with numbers as `text` writes them; empty where they do not.
    """
    if event.get(check) != "differs":
        return ""
    largest, nan = event.get(f"{check}_max_abs"), int(event.get(f"{check}_nan") or 0)
    by = f" by up to {text(largest)}" if largest else ""
    return by + (f", {nan:,} element{'s' if nan > 1 else ''} NaN on one side alone" if nan else "")


def number_words(value: float | int | str | None) -> str:
    """A number in few characters."""
    if value is None:
        return "-"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
