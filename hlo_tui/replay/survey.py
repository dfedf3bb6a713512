"""One run from beginning to end, summed up for each stop: the health of an execution."""

from __future__ import annotations

from typing import Any

from hlo_tui.replay.debugger import Debugger

Json = dict[str, Any]


def survey(debugger: Debugger) -> Json:
    """Run from the beginning to the end and sum up what the stops show.

    Gives for each stop, by computation and instruction: how often it was met, elements that were NaN or infinite in
    all, the extremes, and the last summary; the same for the outputs; and `health`, "nan", "inf" or "finite", over
    all of it. The replay stands at the end afterwards.
    """
    debugger.restart()
    rows: dict[tuple[str, str], Json] = {}
    while (event := debugger.move("continue"))["event"] == "stop":
        key = (event["computation"], event["instruction"])
        row = rows.setdefault(key, _row(*key))
        row["met"] += 1
        row["last"] = event["value"]
        for summary in event.get("partitions") or [event["value"]]:
            _add(row, summary)
    outputs = _row("", "outputs")
    for summary in event["outputs"]:
        _add(outputs, summary)
    found = [*rows.values(), outputs]
    return {
        "stops": list(rows.values()),
        "outputs": outputs,
        "recorded": event["recorded"],
        "health": "nan"
        if any(r["nan"] for r in found)
        else "inf"
        if any(r["inf"] for r in found)
        else "finite",
    }


def _row(computation: str, instruction: str) -> Json:
    return {
        "computation": computation, "instruction": instruction, "met": 0, "nan": 0, "inf": 0,
        "min": None, "max": None, "last": None,
    }  # fmt: skip


def _add(row: Json, summary: Json | None) -> None:
    """Add a summary's counts and extremes; of a tuple those of all its parts."""
    if summary is None:
        return
    for part in summary.get("tuple", ()):
        _add(row, part)
    if "count" not in summary:
        return
    row["nan"] += summary["nan"]
    row["inf"] += summary["inf"]
    for name, choose in (("min", min), ("max", max)):
        value = summary[name]
        if isinstance(value, int | float):
            row[name] = value if row[name] is None else choose(row[name], value)
