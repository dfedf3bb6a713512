"""How often a loop runs: as the compiler noted it, else read off its counter where that is a plain one."""

from __future__ import annotations

import re
from collections.abc import Callable

from hlo_tui.hlo.body import Body
from hlo_tui.hlo.instruction import Instruction

_TRIPS = re.compile(r'known_trip_count\\?"?\s*:\s*\{\s*\\?"n\\?"\s*:\s*\\?"?(\d{1,15})')
_INTEGER = re.compile(r"-?\d{1,15}")
_TURNED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "NE": "NE"}

Find = Callable[[str], Body | None]


def trip_count(loop: Instruction, find: Find) -> int | None:
    """How often a loop's body runs, None where that is not known.

    Args:
        loop: the instruction.
        find: gives the instructions of a computation by its name.
    """
    found = _TRIPS.search(loop.attributes.get("backend_config", ""))
    return int(found[1]) if found is not None else _counted(loop, find)


def _counted(loop: Instruction, find: Find) -> int | None:
    """The count of a loop with a counter that goes from one constant to another by steps of a third."""
    condition, body = (find(loop.attributes.get(key, "").lstrip("%")) for key in ("condition", "body"))
    around = find(loop.computation)
    if condition is None or body is None or around is None or not loop.operands:
        return None
    begun = around.by_name.get(loop.operands[0])
    test = condition.root
    if test is None or test.opcode != "compare" or len(test.operands) != 2:
        return None
    sides = [condition.source_of(condition.by_name.get(name)) for name in test.operands]
    direction = test.attributes.get("direction", "")
    if _element(sides[0]) is None or (
        _constant(sides[0]) is None and _limit(around, begun, sides[1]) is None
    ):
        sides.reverse()
        direction = _TURNED.get(direction, "")
    counter, limit = _element(sides[0]), _limit(around, begun, sides[1])
    if counter is None or limit is None or begun is None:
        return None
    first = _given(around, begun, counter)
    step = _step(body, counter)
    if first is None or not step:
        return None
    return _count(first, limit, step, direction)


def _count(first: int, limit: int, step: int, direction: str) -> int | None:
    distance = limit - first
    if direction in ("LE", "GE"):
        distance += 1 if direction == "LE" else -1
    if direction == "NE":
        return distance // step if distance % step == 0 and distance // step >= 0 else None
    if direction not in _TURNED or (direction in ("LT", "LE")) != (step > 0):
        return None
    return max(0, -(-distance // step))


def _constant(at: Instruction | None) -> int | None:
    text = at.operand_text.strip() if at is not None and at.opcode == "constant" else ""
    return int(text) if _INTEGER.fullmatch(text) else None


def _element(at: Instruction | None) -> int | None:
    """Which element of the parameter an instruction takes out."""
    text = at.attributes.get("index", "") if at is not None and at.opcode == "get-tuple-element" else ""
    return int(text) if _INTEGER.fullmatch(text) else None


def _given(around: Body, begun: Instruction | None, element: int) -> int | None:
    """The constant with which an element of what a loop carries begins."""
    if begun is None or begun.opcode != "tuple" or not 0 <= element < len(begun.operands):
        return None
    return _constant(around.source_of(around.by_name.get(begun.operands[element])))


def _limit(around: Body, begun: Instruction | None, at: Instruction | None) -> int | None:
    """What the counter is compared with: a constant, or an element that is one from the beginning on."""
    element = _element(at)
    return _constant(at) if element is None else _given(around, begun, element)


def _step(body: Body, counter: int) -> int | None:
    """What is added to the counter each time."""
    root = body.root
    if root is None or root.opcode != "tuple" or counter >= len(root.operands):
        return None
    added = body.source_of(body.by_name.get(root.operands[counter]))
    if added is None or added.opcode not in ("add", "subtract") or len(added.operands) != 2:
        return None
    a, b = (body.source_of(body.by_name.get(name)) for name in added.operands)
    if _element(a) == counter and (step := _constant(b)) is not None:
        return step if added.opcode == "add" else -step
    if added.opcode == "add" and _element(b) == counter:
        return _constant(a)
    return None
