"""The instructions of a module in the order in which they run, those of loops, calls and branches in their places."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.outline import Computation
from hlo_tui.hlo.shape import Shape
from hlo_tui.memory.tiling import padded_size

# What runs instructions of its own, each with memory of its own; everything else that is called is one operation.
CONTROL = frozenset(("while", "call", "conditional", "async-start"))


@dataclass(frozen=True, slots=True)
class Step:
    """One instruction at its place.

    Attributes:
        name, opcode, shape: as in the text.
        computation: the place of its computation among those that were flattened.
        operands: places of the operands in the flattened order, -1 for what is not there.
        called: the computations that it runs, by their places among those that were flattened; for what is one
            operation none.
        leaves, count: the number of its first array, and how many it has, in the order of its shape.
        number: of a parameter which one it is, of a get-tuple-element which part.
        is_root: whether it is its computation's result.
        aliasing: the attribute that lets results lie in operands, "" without one.
        inside: the computation of a fusion.
        kind: of a fusion.
    """

    name: str
    opcode: str
    shape: Shape
    computation: int
    operands: tuple[int, ...]
    called: tuple[int, ...]
    leaves: int
    count: int
    number: int = 0
    is_root: bool = False
    aliasing: str = ""
    inside: str = ""
    kind: str = ""


@dataclass(slots=True)
class Flat:
    """The flattened module.

    Attributes:
        steps: in order.
        begins, ends: for each computation that was flattened its first place and the one behind its last.
        roots, parameters: for each its result's place (-1 without one) and the places of its parameters.
        sizes: bytes of every array of every step, with the padding of its tiles, see `Step.leaves`.
        complete: whether all of it was read.
    """

    steps: list[Step] = field(default_factory=list)
    begins: list[int] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    roots: list[int] = field(default_factory=list)
    parameters: list[dict[int, int]] = field(default_factory=list)
    sizes: array[int] = field(default_factory=lambda: array("q"))
    complete: bool = True


def leaves(shape: Shape) -> Iterator[Shape]:
    """The arrays of a shape, in order."""
    waiting = [shape]
    while waiting:
        one = waiting.pop()
        if one.is_tuple:
            waiting.extend(reversed(one.elements))
        elif one.dtype:
            yield one


def leaf_count(shape: Shape) -> int:
    """How many arrays a shape has."""
    return sum(1 for _ in leaves(shape))


class _Visit:
    """A computation that is being flattened."""

    def __init__(self, flat: Flat, module: Module, computation: Computation) -> None:
        self.number = len(flat.begins)
        flat.begins.append(len(flat.steps))
        flat.ends.append(len(flat.steps))
        flat.roots.append(-1)
        flat.parameters.append({})
        self.body = module.body(computation)
        self.next = 0
        self.places: dict[str, int] = {}
        self.waiting: Instruction | None = None
        self.called: list[int] = []
        self.open: list[str] = []


def flatten(module: Module, stop: Callable[[], bool] = lambda: False) -> Flat:
    """Flatten a scanned module from its entry on; what is called a second time is in its first place only."""
    flat = Flat()
    outline = module.outline
    if outline is None or outline.entry is None:
        return flat
    known: dict[str, int] = {}
    visits = [_Visit(flat, module, outline.entry)]
    while visits:
        visit = visits[-1]
        if stop():
            flat.complete = False
            break
        if visit.waiting is None:
            if visit.next >= len(visit.body):
                flat.ends[visit.number] = len(flat.steps)
                visits.pop()
                continue
            visit.waiting = visit.body.at(visit.next)
            visit.next += 1
            visit.called = []
            visit.open = list(_run_order(visit.waiting))
        while visit.open:
            name = visit.open.pop(0)
            if name not in known and (inner := outline.by_name(name)) is not None:
                known[name] = len(flat.begins)
                visit.called.append(known[name])
                visits.append(_Visit(flat, module, inner))
                break
            if name in known:
                visit.called.append(known[name])
        else:
            _add(flat, visit)
    return flat


def _run_order(instruction: Instruction | None) -> tuple[str, ...]:
    """What an instruction runs, in order: of a loop the condition first."""
    if instruction is None or instruction.opcode not in CONTROL:
        return ()
    if instruction.opcode == "while":
        both = (instruction.attributes.get(key, "").lstrip("%") for key in ("condition", "body"))
        return tuple(name for name in both if name)
    return instruction.called


def _add(flat: Flat, visit: _Visit) -> None:
    instruction, visit.waiting = visit.waiting, None
    if instruction is None:
        return
    place = len(flat.steps)
    number = 0
    if instruction.opcode == "parameter":
        number = _number(instruction.operand_text)
        flat.parameters[visit.number].setdefault(number, place)
    elif instruction.opcode == "get-tuple-element":
        number = _number(instruction.attributes.get("index", ""))
    first = len(flat.sizes)
    flat.sizes.extend(min(padded_size(leaf), 1 << 60) for leaf in leaves(instruction.shape))
    visit.places[instruction.name] = place
    if instruction.is_root or visit.next >= len(visit.body):
        flat.roots[visit.number] = place
    flat.steps.append(
        Step(
            instruction.name,
            instruction.opcode,
            instruction.shape,
            visit.number,
            tuple(visit.places.get(name, -1) for name in instruction.operands),
            tuple(visit.called),
            first,
            len(flat.sizes) - first,
            number,
            instruction.is_root,
            instruction.attributes.get("output_to_operand_aliasing", ""),
            instruction.called[0] if instruction.opcode == "fusion" and instruction.called else "",
            instruction.attributes.get("kind", ""),
        )
    )


def _number(text: str) -> int:
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 10 else 0
