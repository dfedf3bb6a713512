"""Summaries of values in words: one line for what a value is, its first elements, a curve over time."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hlo_tui.hlo.visible import visible
from hlo_tui.ui.glyphs import BARS, MINUS
from hlo_tui.ui.rows import Span

Json = Mapping[str, Any]

_SHOWN = 4


def number(value: object) -> str:
    """A number in few characters; what is none as it is."""
    if value is None:
        return "none"
    if isinstance(value, bool | int):
        return f"{value:,}".replace("-", MINUS)
    if not isinstance(value, float):
        return visible(str(value)).replace("-inf", f"{MINUS}inf")
    if value == 0:
        return "0"
    text = f"{value:.3g}" if abs(value) < 1e-3 or abs(value) >= 1e5 else f"{value:.4g}"
    return text.replace("-", MINUS)


def summary_spans(summary: Json | None) -> list[Span]:
    """A value in one line: type, statistics, and counts of what is not a usual number."""
    if summary is None:
        return [Span("has not run yet", "muted")]
    if "unknown" in summary:
        return [Span("unknown: ", "missing"), Span(visible(str(summary["unknown"])))]
    if "tuple" in summary:
        parts = summary["tuple"]
        shapes = ", ".join(_short(part) for part in parts[:_SHOWN])
        more = f", and {len(parts) - _SHOWN} more" if len(parts) > _SHOWN else ""
        return [Span(f"({shapes}{more})", "shape")]
    spans = [Span(str(summary.get("shape", "")), "shape")]
    if "count" not in summary:
        return spans
    if summary["count"] == 1 and summary.get("first"):
        return [*spans, Span("  "), Span(number(summary["first"][0]), _scalar_role(summary))]
    bad = [key for key in ("nan", "inf") if summary.get(key)]
    for key in bad:
        spans += [Span(f"  {key} ", "muted"), Span(number(summary[key]), "nan")]
    for key in ("min", "max", "mean", "std"):
        if summary.get(key) is not None:
            spans += [Span(f"  {key} ", "muted"), Span(number(summary[key]), "result")]
    if not bad:
        spans.append(Span("  nan 0", "muted"))
    if summary.get("zero"):
        spans.append(Span(f"  zero {summary['zero']:,}", "muted"))
    spans.append(Span(f"  {summary['count']:,} values", "muted"))
    return spans


def _scalar_role(summary: Json) -> str:
    return "nan" if summary.get("nan") or summary.get("inf") else "result"


def _short(part: object) -> str:
    if isinstance(part, dict):
        if "tuple" in part:
            return "(...)"
        return "unknown" if "unknown" in part else str(part.get("shape", ""))
    return ""


def first_spans(summary: Json | None) -> list[Span]:
    """The first elements of a value, none for what has no elements."""
    if summary is None or not summary.get("first") or summary.get("count") == 1:
        return []
    spans = [Span(f"first {len(summary['first'])}  ", "muted")]
    for value in summary["first"]:
        bad = isinstance(value, str) and value in ("nan", "inf", "-inf")
        spans += [Span(number(value), "nan" if bad else "result"), Span(" ")]
    return spans


def spark(values: Sequence[float | None], width: int = 24) -> str:
    """A curve of the newest values in `width` columns: blank where there is none, the top for infinity."""
    shown = values[-width:]
    finite = [value for value in shown if value is not None and math.isfinite(value)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    span = (high - low) or 1.0
    signs = []
    for value in shown:
        if value is None or math.isnan(value):
            signs.append(" ")
        elif math.isinf(value):
            signs.append(BARS[-1] if value > 0 else BARS[0])
        else:
            signs.append(BARS[min(len(BARS) - 1, int((value - low) / span * len(BARS)))])
    return "".join(signs)


def largest(summary: Json | None) -> float | None:
    """The largest finite element of a value, None where there is none."""
    value = summary.get("max") if summary is not None else None
    return float(value) if isinstance(value, int | float) else None


def path_text(event: Json) -> str:
    """The way from the entry to where an event is; of outer loops with the iteration."""
    steps = event["path"]
    inner = max((at for at, step in enumerate(steps) if step.get("iteration") is not None), default=-1)
    parts = []
    for at, step in enumerate(steps):
        iteration = step.get("iteration")
        which = f" ({iteration:,})" if iteration is not None and at != inner else ""
        parts.append(visible(str(step["computation"])) + which)
    return " › ".join(parts)


def iteration_text(event: Json) -> str:
    """Which iteration of the innermost loop, of which range where that is known; empty outside of loops."""
    iterations = [step["iteration"] for step in event["path"] if step.get("iteration") is not None]
    if not iterations:
        return ""
    trips = event.get("trips")
    of = f" of 0–{trips - 1:,}" if trips else ""
    return f"iteration {iterations[-1]:,}{of}"
