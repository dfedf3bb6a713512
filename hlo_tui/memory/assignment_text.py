"""The reader of `-buffer-assignment.txt`, in every layout it has had: linear, and total on any text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from hlo_tui.memory.assignment import Allocation, Assignment, Value

_ALLOCATION = re.compile(r"\s*allocation (\d{1,18}): size (\d{1,18})(B)?(.*)")
_VALUE = re.compile(
    r"\s*value: <(\d{1,18}) ([^\s{<>]{1,4096})(\{[\d, ]*\})?( \(phi\))?(?: @\d{1,9})?>"
    r" \(size=(\d{1,18}),\s?offset=(\d{1,18})\)(?:: ?(.*))?"
)
_TOTAL = re.compile(r"\s*Total bytes used: (\d{1,18})\b")
_PARAMETER = re.compile(r", parameter (\d{1,18}), shape \|(.*?)\| at ShapeIndex (\{[\d, ]*\})")
_OUTPUT = re.compile(r", output shape is \|(.*?)\|")
_COLOR = re.compile(r", color (\d{1,9})\b")
# What follows in the same file in older layouts: the values' uses, and live ranges, which have readers of their own.
_END = ("Used values:", "HloLiveRange")


def read_assignment(lines: Iterable[str]) -> Assignment:
    """Read the lines of a buffer assignment.

    Lines that belong to nothing known are passed over. `cut` is set where the last line is not empty, as it is of a
    file that is still being written.
    """
    allocations: list[Allocation] = []
    values: list[Value] = []
    total: int | None = None
    cut = False
    for line in lines:
        cut = bool(line.strip())
        value = _VALUE.fullmatch(line)
        if value is not None:
            if allocations:
                values.append(_value(value))
            continue
        found = _ALLOCATION.fullmatch(line)
        if found is not None:
            _close(allocations, values)
            allocations.append(_allocation(found))
        elif line.startswith(_END):
            cut = False
            break
        else:
            stated = _TOTAL.match(line)
            total = int(stated[1]) if stated is not None else total
    _close(allocations, values)
    return Assignment(tuple(allocations), total, cut=cut)


def _close(allocations: list[Allocation], values: list[Value]) -> None:
    """Give the last allocation its values."""
    if allocations and values:
        allocations[-1] = replace(allocations[-1], values=tuple(values))
        values.clear()


def _value(found: re.Match[str]) -> Value:
    number, name, index, phi, size, offset, shape = found.groups()
    return Value(
        int(number), name, index or "", int(size), int(offset), (shape or "").strip(), phi is not None
    )


def _allocation(found: re.Match[str]) -> Allocation:
    rest = found[4]
    parameter, output, color = _PARAMETER.search(rest), _OUTPUT.search(rest), _COLOR.match(rest)
    shape = parameter[2] if parameter is not None else output[1] if output is not None else ""
    flags = rest.replace(parameter[0], "") if parameter is not None else rest
    flags = flags.replace(output[0], "") if output is not None else flags
    words = {word.strip() for word in flags.rstrip(" :").split(",")}
    return Allocation(
        index=int(found[1]),
        size=int(found[2]),
        parameter=int(parameter[1]) if parameter is not None else None,
        shape_index=parameter[3] if parameter is not None else "",
        shape=shape,
        live_out="maybe-live-out" in words or output is not None,
        constant="constant" in words,
        thread_local="thread-local" in words,
        temporary="preallocated-temp" in words,
        color=int(color[1]) if color is not None else 0,
    )
