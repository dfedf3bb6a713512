"""What was done with single values at a stop, as lines for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hlo_tui.replay.summarywords import number_words, summary_words

Json = Mapping[str, Any]

_CELL = 12
_KINDS = {"nan": "first NaN", "inf": "first infinity", "largest": "largest"}


def lines(event: Json) -> Iterator[str]:
    """All that an event of a stop or of the end carries."""
    for one in event.get("shown", ()):
        if one["again"]:
            # Nothing of it is new, and a person reads all stops.
            continue
        yield f"  {_name(one)}  {summary_words(one['value'])}"
        yield from _table(one.get("table"))
        if one.get("table") and one.get("worst"):
            worst = one["worst"]
            kind, value = _KINDS.get(worst["kind"], worst["kind"]), number_words(worst["value"])
            yield f"    {kind} {_index(worst['index'])}: {value}"
    for one in event.get("origins", ()):
        yield from _origin(one)
    for one in event.get("compared", ()):
        yield from _compared(one)
    for one in event.get("saved", ()):
        yield f"  {_name(one)}  " + (
            f"saved in {one['file']}, {one['bytes']:,} bytes" if "file" in one else _unknown(one)
        )


def setting(event: Json) -> list[str]:
    """A value that was set."""
    where = " > ".join(map(_step, event["path"]))
    lines = [
        f"set  %{event['instruction']} = {event['to']}  {where}",
        f"  now {summary_words(event['value'])}",
    ]
    return [*lines, *before(event)]


def before(event: Json) -> list[str]:
    """What a value was before something was set; empty where it is the same."""
    if not event.get("changed"):
        return []
    was = event.get("before")
    return [
        "  without --set it does not come here" if was is None else f"  without --set {summary_words(was)}"
    ]


def _step(step: Json) -> str:
    iteration = "" if step["iteration"] is None else f" [iteration {step['iteration']}]"
    return f"{step['computation']}{iteration}"


def _name(one: Json) -> str:
    name = str(one["name"]).lstrip("%")
    partition = "" if one["partition"] is None else f"  partition {one['partition']}"
    return f"%{name}{partition}"


def _unknown(one: Json) -> str:
    return summary_words(one["value"])


def _index(index: Sequence[int]) -> str:
    return f"[{', '.join(map(str, index))}]"


def _table(found: Json | None) -> Iterator[str]:
    if not found or not found["rows"]:
        return
    origin, steps, row, column = (found[name] for name in ("origin", "steps", "row", "column"))
    fixed = [f"dimension {d} at {at}" for d, at in enumerate(origin) if d not in (row, column)]
    if fixed and len(found["shape"]) > 2:
        yield f"    {', '.join(fixed)}"
    if column is not None:
        heads = (origin[column] + steps[column] * at for at in range(len(found["rows"][0])))
        yield f"    {'':>6}" + "".join(f"{at:>{_CELL}}" for at in heads)
    for at, numbers in enumerate(found["rows"]):
        label = "" if row is None else origin[row] + steps[row] * at
        yield f"    {label:>6}" + "".join(f"{number_words(value):>{_CELL}}" for value in numbers)
    cut = [f"{n:,} more {name}" for n, name in zip(found["cut"], ("rows", "columns"), strict=True) if n]
    if cut:
        yield f"    {', '.join(cut)}"


def _origin(one: Json) -> Iterator[str]:
    if "places" not in one:
        yield f"  origin of {_name(one)}: {_unknown(one)}"
        return
    if not one["places"]:
        yield f"  origin of {_name(one)}: it has no element"
        return
    yield f"  origin of {_name(one)}"
    for number, step in enumerate(one["places"]):
        iterations = [part["iteration"] for part in step["path"] if part["iteration"] is not None]
        when = f"  iteration {iterations[-1]}" if iterations else ""
        source = f"  {step['source']}" if step.get("source") else ""
        part = f"{{{','.join(map(str, step['part']))}}}" if step["part"] else ""
        where = f"%{step['instruction']}{part}{_index(step['index'])} {number_words(step['value'])}"
        yield f"    {number:>3}  {where}  {step['opcode']}{when}{source}"
    if not one["complete"]:
        yield "    and further back"


def _compared(one: Json) -> Iterator[str]:
    name = f"{_name(one)}  against {one.get('with', '')}".rstrip()
    if "exact" not in one:
        yield f"  {name}: {_unknown(one)}"
    elif one["exact"] is None:
        yield f"  {name}: there was none before"
    elif one["exact"]:
        yield f"  {name}: equal, bit for bit"
    else:
        verdict = "within tolerance" if one["within"] else "differs"
        errors = f"error up to {number_words(one['max_abs'])}, relative {number_words(one['max_rel'])}"
        nan = f", NaN on one side only: {one['nan_mismatches']}" if one["nan_mismatches"] else ""
        beyond = f"beyond {number_words(one['tolerance'])}: {one['mismatches']} elements"
        yield f"  {name}: {verdict}, {errors}; {beyond}{nan}"
        for place in (one.get("worst") or ())[:_WORST]:
            yield f"    {_index(place['index'])} {number_words(place['a'])}, there {number_words(place['b'])}"


_WORST = 3
