"""How a module uses its parameters, as far as it limits which made values make sense.

A parameter is followed through operations that only pass it on, into fusions, calls and loops, to the
operations that
use it: as an index, as the start of a reduction, as a sort key, as the argument of a logarithm.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from hlo_tui.replay.program import Computation, Op, Program

_TRANSPARENT = frozenset(
    {
        "convert", "reduce-precision", "copy", "bitcast", "reshape", "transpose", "broadcast", "slice", "reverse",
        "opt-barrier", "concatenate", "pad", "dynamic-slice", "gather", "copy-start", "copy-done", "recv-done",
    }
)  # fmt: skip
_IDENTITY = {"add": 0, "or": 0, "xor": 0, "multiply": 1, "and": 1}
_POSITIVE, _NOT_NEGATIVE, _NOT_ZERO, _UNIT = "positive", "not negative", "not zero", "between -1 and 1"
_DOMAINS = {
    ("log", 0): _POSITIVE,
    ("rsqrt", 0): _POSITIVE,
    ("power", 0): _POSITIVE,
    ("log-plus-one", 0): _NOT_NEGATIVE,
    ("sqrt", 0): _NOT_NEGATIVE,
    ("divide", 1): _NOT_ZERO,
    ("remainder", 1): _NOT_ZERO,
    ("acos", 0): _UNIT,
    ("asin", 0): _UNIT,
    ("atanh", 0): _UNIT,
}


@dataclass
class Use:
    """What the uses of one parameter, or one part of a tuple parameter, ask of its values.

    Attributes:
        highest: the greatest index that is in range everywhere; None where it is no index.
        in_order: whether indices have to rise.
        start: the value that a reduction has to begin with; None where it begins none.
        unique: whether sort keys have to be all different.
        domain: the strictest domain of a function it goes into; empty where there is none.
    """

    highest: int | None = None
    in_order: bool = False
    start: float | None = None
    unique: bool = False
    domain: str = ""

    def words(self) -> str:
        """The same in a few words; empty where anything will do."""
        found = []
        if self.highest is not None:
            found.append(f"indices up to {self.highest:,}" + (", in order" if self.in_order else ""))
        if self.unique:
            found.append("sort keys, all different")
        if self.start is not None:
            found.append(f"begins a reduction: {self.start:g}")
        if self.domain:
            found.append(self.domain)
        return "; ".join(found)

    def limit(self, highest: int) -> None:
        """It is an index of at most this."""
        self.highest = highest if self.highest is None else min(self.highest, highest)


Path = tuple[int, ...]


@dataclass
class Uses:
    """The uses of every parameter, by number and path in its tuple."""

    found: dict[tuple[int, Path], Use] = field(default_factory=dict)

    def of(self, number: int, path: Path) -> Use:
        """What is known of one array."""
        return self.found.get((number, path), Use())


def find_uses(program: Program) -> Uses:
    """Follow every parameter of the entry."""
    uses = Uses()
    for index in program.entry.parameters:
        proto = program.entry.ops[index].proto
        for path in _arrays(proto.shape):
            use = Use()
            _follow(program, program.entry, index, path, use)
            uses.found[proto.parameter_number, path] = use
    return uses


def use_of(op: Op, path: Path) -> Use:
    """What the uses of one array of an instruction's value ask for; `path` is where it is in its tuple."""
    use = Use()
    _follow(op.computation.program, op.computation, op.index, path, use)
    return use


def _arrays(shape: object) -> Iterator[Path]:
    parts = getattr(shape, "tuple_shapes", ())
    if not parts:
        yield ()
    for position, part in enumerate(parts):
        for rest in _arrays(part):
            yield (position, *rest)


def _follow(program: Program, computation: Computation, index: int, path: Path, use: Use) -> None:
    seen: set[tuple[int, int, Path]] = set()
    stack = [(computation, index, path)]
    while stack:
        where, at, inside = stack.pop()
        if (where.id, at, inside) in seen:
            continue
        seen.add((where.id, at, inside))
        for user in where.users[at]:
            op = where.ops[user]
            for place in [n for n, operand in enumerate(op.operands) if operand == at]:
                stack += _passed_on(program, where, op, place, inside)
                if not inside:
                    _note(program, op, place, use)


def _passed_on(
    program: Program, where: Computation, op: Op, place: int, path: Path
) -> list[tuple[Computation, int, Path]]:
    """Where a value goes on to, from one operand of an instruction."""
    if op.opcode == "tuple":
        return [(where, op.index, (place, *path))]
    if op.opcode == "get-tuple-element":
        return [(where, op.index, path[1:])] if path[:1] == (op.proto.tuple_index,) else []
    if op.opcode in ("fusion", "call", "async-start"):
        callee = program.computation(op.called[0])
        return [(callee, callee.parameters[place], path)] if place < len(callee.parameters) else []
    if op.opcode == "while":
        callees = [program.computation(called) for called in op.called]
        return [(callee, callee.parameters[0], path) for callee in callees]
    if op.opcode == "conditional":
        if place == 0:
            return []
        branch = program.computation(op.called[place - 1])
        return [(branch, branch.parameters[0], path)]
    if op.opcode in ("recv", "recv-done") and place:
        # What a send gives it.
        return [(where, op.index, (0, *path))]
    return [(where, op.index, path)] if op.opcode in _TRANSPARENT and place == 0 else []


def _note(program: Program, op: Op, place: int, use: Use) -> None:
    """Take over what one operand of an instruction asks for."""
    shapes = [op.computation.ops[o].proto.shape for o in op.operands]
    proto = op.proto
    if op.opcode == "dynamic-slice" and place >= 1:
        use.limit(shapes[0].dimensions[place - 1] - proto.dynamic_slice_sizes[place - 1])
    elif op.opcode == "dynamic-update-slice" and place >= 2:
        use.limit(shapes[0].dimensions[place - 2] - shapes[1].dimensions[place - 2])
    elif op.opcode == "gather" and place == 1:
        numbers = proto.gather_dimension_numbers
        for dimension in numbers.start_index_map:
            use.limit(shapes[0].dimensions[dimension] - proto.gather_slice_sizes[dimension])
        use.in_order |= proto.indices_are_sorted
    elif op.opcode == "scatter" and place == len(op.operands) // 2:
        for dimension in proto.scatter_dimension_numbers.scatter_dims_to_operand_dims:
            use.limit(shapes[0].dimensions[dimension] - 1)
        use.in_order |= proto.indices_are_sorted
    elif op.opcode == "conditional" and place == 0 and len(op.called) > 2:
        use.limit(len(op.called) - 1)
    elif op.opcode == "sort" and place == 0:
        use.unique |= proto.is_stable or len(op.operands) > 1
    elif op.opcode in ("reduce", "reduce-window") and place >= len(op.operands) // 2:
        use.start = _identity(program, op)
    elif op.opcode == "select-and-scatter" and place == 2:
        use.start = 0.0
    else:
        use.domain = _stricter(use.domain, _DOMAINS.get((op.opcode, place), ""))


def _identity(program: Program, op: Op) -> float | None:
    reducer = program.computation(op.called[0])
    return _IDENTITY.get(reducer.ops[reducer.root].opcode)


def _stricter(a: str, b: str) -> str:
    order = ["", _NOT_ZERO, _NOT_NEGATIVE, _UNIT, _POSITIVE]
    return max(a, b, key=order.index)
