"""The cost of every computation and instruction of a module, one run of each computation at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from hlo_tui.cost.cost import NOTHING, Cost
from hlo_tui.cost.rules import leaf_bytes, operation, size_of
from hlo_tui.hlo.body import Body
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.shape import NO_SHAPE, Shape

# What runs computations; their cost is theirs.
CONTROL = frozenset(("while", "call", "conditional", "async-start"))
_DEEPEST = 400


class Analysis:
    """A scanned module; each computation is looked at once."""

    def __init__(self, module: Module, stop: Callable[[], bool] = lambda: False) -> None:
        self.module = module
        self._stop = stop
        self._known: dict[str, Cost] = {}
        self._open: list[str] = []

    def computation(self, name: str) -> Cost:
        """One run of a computation, as XLA counts it: of a loop one iteration, of branches the larger of each count."""
        if name not in self._known:
            # What calls itself has no cost of its own; what is nested deeper than anything real is left out.
            if name in self._open or len(self._open) >= _DEEPEST or self._stop():
                return NOTHING
            self._known[name] = sum((cost for _, cost in self.costs(name)), NOTHING)
        return self._known[name]

    def remember(self, name: str, cost: Cost) -> None:
        """Keep the cost of a computation that was added up elsewhere."""
        self._known[name] = cost

    def costs(self, name: str) -> Iterator[tuple[Instruction, Cost]]:
        """Each instruction of a computation, in the order of the text, and the cost of one run of it."""
        body = self.body(name)
        if body is None:
            return
        self._open.append(name)
        shapes: dict[str, Shape] = {}
        for instruction in body.instructions:
            shapes[instruction.name] = instruction.shape
            operands = [shapes.get(operand) for operand in instruction.operands]
            # Only damaged or unordered texts have an operand after its use.
            given = operand_shapes(body, instruction) if None in operands else operands
            yield instruction, self._cost(body, instruction, [shape for shape in given if shape is not None])
        self._open.pop()

    def body(self, name: str) -> Body | None:
        """The instructions of a computation, None where the text has none of that name."""
        try:
            return self.module.body(name)
        except KeyError:
            return None

    def instruction(self, body: Body, instruction: Instruction) -> Cost:
        """One run of an instruction of a body, with what it calls."""
        return self._cost(body, instruction, operand_shapes(body, instruction))

    def _cost(self, body: Body, instruction: Instruction, operands: Sequence[Shape]) -> Cost:
        if instruction.opcode == "fusion":
            return self._fusion(body, instruction)
        called = (
            [self.computation(name) for name in instruction.called] if instruction.opcode in CONTROL else []
        )
        if instruction.opcode == "conditional":
            total = called[0] if called else NOTHING
            for branch in called[1:]:
                total = total.largest(branch)
            return total
        if instruction.opcode == "while":
            return sum(called, NOTHING)
        if instruction.opcode in CONTROL:
            return called[0] if called else NOTHING
        return operation(instruction, operands, self.computation)

    def _fusion(self, body: Body, instruction: Instruction) -> Cost:
        inner = self.body(instruction.called[0]) if instruction.called else None
        if inner is None:
            whole = leaf_bytes(instruction.shape) + sum(map(size_of, operand_shapes(body, instruction)))
            return Cost(unknown=1, bytes=whole)
        inside = {one.name: one for one in inner.instructions}
        if instruction.attributes.get("kind") == "kCustom":
            for one in inside.values():
                if one.opcode in ("gather", "scatter"):
                    return operation(one, operand_shapes(inner, one), self.computation)
        total = self.computation(instruction.called[0])
        moved = _written(instruction.shape, inside) + _constants(inside)
        users = _users(inside)
        moved += sum(self._parameter(one, users) for one in inside.values() if one.opcode == "parameter")
        return Cost(total.flops, total.transcendentals, moved, total.unknown)

    def _parameter(self, one: Instruction, users: Mapping[str, list[Instruction]]) -> float:
        """Bytes that are read of a fusion's parameter; of a tuple those of its arrays."""
        if not one.shape.is_tuple:
            return self._read(one, users, 0)
        parts = {
            user.attributes.get("index", ""): user
            for user in users.get(one.name, ())
            if user.opcode == "get-tuple-element"
        }
        return sum(self._parameter(part, users) for part in parts.values())

    def _read(self, one: Instruction, users: Mapping[str, list[Instruction]], depth: int) -> float:
        total, shared = 0.0, False
        whole = size_of(one.shape)
        for user in users.get(one.name, ()):
            if user.opcode == "fusion" and depth < _DEEPEST:
                total += self._nested(one, user, depth)
            elif user.opcode == "slice" or (user.opcode == "dynamic-slice" and user.operands[0] == one.name):
                total += size_of(user.shape)
            elif user.opcode in ("broadcast", "reshape"):
                total += whole
            elif not shared and not (user.opcode == "dynamic-update-slice" and user.operands[0] == one.name):
                # The others share one reading.
                shared = True
                total += whole
        return total

    def _nested(self, one: Instruction, fusion: Instruction, depth: int) -> float:
        """Bytes that a fusion in a fusion reads of a value."""
        inner = self.body(fusion.called[0]) if fusion.called else None
        if inner is None:
            return float(size_of(one.shape))
        inside = {other.name: other for other in inner.instructions}
        users, total = _users(inside), 0.0
        for number, operand in enumerate(fusion.operands):
            if operand == one.name:
                parameter = next(
                    (
                        other
                        for other in inside.values()
                        if other.opcode == "parameter" and other.operand_text.strip() == str(number)
                    ),
                    None,
                )
                total += self._read(parameter, users, depth + 1) if parameter is not None else 0.0
        return total


def operand_shapes(body: Body, instruction: Instruction) -> Sequence[Shape]:
    """The shapes of an instruction's operands; `NO_SHAPE` for what is not there."""
    found = (body.by_name.get(name) for name in instruction.operands)
    return [operand.shape if operand is not None else NO_SHAPE for operand in found]


def _users(inside: Mapping[str, Instruction]) -> dict[str, list[Instruction]]:
    users: dict[str, list[Instruction]] = {}
    for one in inside.values():
        for name in dict.fromkeys(one.operands):
            users.setdefault(name, []).append(one)
    return users


def _written(shape: Shape, inside: Mapping[str, Instruction]) -> float:
    """Bytes that a fusion writes: where it updates a part, only that."""
    root = next((one for one in inside.values() if one.is_root), None)
    if root is None:
        return float(leaf_bytes(shape))
    if not shape.is_tuple:
        return _written_by(root, shape, inside)
    total = 0.0
    for at, element in enumerate(shape.elements):
        one = inside.get(root.operands[at]) if root.opcode == "tuple" and at < len(root.operands) else None
        total += _written_by(one, element, inside)
    return total


def _written_by(one: Instruction | None, shape: Shape, inside: Mapping[str, Instruction]) -> float:
    if one is not None and one.opcode == "dynamic-update-slice" and len(one.operands) > 1:
        update = inside.get(one.operands[1])
        if update is not None:
            return float(size_of(update.shape))
    return float(leaf_bytes(shape))


def _constants(inside: Mapping[str, Instruction]) -> float:
    """Bytes of constants of more than one element, which are read from memory."""
    return float(
        sum(
            size_of(one.shape)
            for one in inside.values()
            if one.opcode == "constant" and one.shape.element_count > 1
        )
    )
