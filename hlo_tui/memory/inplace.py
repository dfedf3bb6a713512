"""What fusions do to the bytes of their operands: which they update in place, and which they read as they write."""

from __future__ import annotations

from hlo_tui.hlo.body import Body
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module

# Larger fusions are not looked through: an estimate may be a little too high.
_LARGEST = 2000
_READING = frozenset((
    "abs", "add", "and", "bitcast", "broadcast", "ceil", "clamp", "compare", "convert", "copy", "cosine", "divide",
    "erf", "exponential", "exponential-minus-one", "floor", "is-finite", "log", "log-plus-one", "logistic", "maximum",
    "minimum", "multiply", "negate", "not", "or", "power", "reduce-precision", "remainder", "round-nearest-afz",
    "round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic", "shift-right-logical", "sign",
    "sine", "sqrt", "subtract", "tan", "tanh", "xor",
))  # fmt: skip


class Fusions:
    """The fusions of a module; each is read once."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._updated: dict[str, tuple[tuple[int, int], ...]] = {}
        self._in_place: dict[str, frozenset[int]] = {}

    def updated(self, computation: str) -> tuple[tuple[int, int], ...]:
        """Pairs of a result's number and the operand's whose bytes it is written into, part by part."""
        if computation not in self._updated:
            body = self._body(computation)
            self._updated[computation] = tuple(_updates(body)) if body is not None else ()
        return self._updated[computation]

    def reads_in_place(self, computation: str, operand: int) -> bool:
        """Whether a fusion reads each element of an operand only for the element of its result at the same place."""
        if computation not in self._in_place:
            body = self._body(computation)
            self._in_place[computation] = _elementwise(body) if body is not None else frozenset()
        return operand in self._in_place[computation]

    def _body(self, computation: str) -> Body | None:
        try:
            body = self._module.body(computation)
        except KeyError:
            return None
        return body if len(body) <= _LARGEST else None


def _updates(body: Body) -> list[tuple[int, int]]:
    root = body.root
    if root is None:
        return []
    results = [root] if root.opcode != "tuple" else [body.by_name.get(name) for name in root.operands]
    found = []
    for number, result in enumerate(results):
        written = body.source_of(result)
        if written is not None and written.opcode in ("dynamic-update-slice", "scatter") and written.operands:
            source = body.source_of(body.by_name.get(written.operands[0]))
            if source is not None and source.opcode == "parameter":
                found.append((number, _parameter(source)))
    return found


def _elementwise(body: Body) -> frozenset[int]:
    """The parameters that are read place by place; none where the fusion does anything else to what it computes."""
    root = body.root
    if root is None or root.shape.is_tuple:
        return frozenset()
    found: set[str] = set()
    moved: set[str] = set()
    size = root.shape.element_count
    for one in body.instructions:
        if one.opcode == "parameter":
            found.add(one.name)
        elif one.opcode not in _READING or (one.opcode == "broadcast" and one.shape.element_count != 1):
            # What it reads, and what that was computed of, is needed at other places too.
            moved.update(one.operands)
    for one in reversed(body.instructions):
        if one.name in moved:
            moved.update(one.operands)
    kept = (body.by_name.get(name) for name in found - moved)
    return frozenset(_parameter(one) for one in kept if one is not None and one.shape.element_count == size)


def _parameter(one: Instruction) -> int:
    text = one.operand_text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else -1
