"""Random modules as values, printed as HLO text under any names, in any order that the operands allow."""

from __future__ import annotations

import random
from dataclasses import dataclass, field, replace

SHAPES = ("f32[4]", "f32[4,8]", "s32[]", "bf16[2,2]")
UNARY = ("negate", "exponential", "tanh", "abs")
BINARY = ("add", "multiply", "subtract", "divide")
FRAMES = 4


@dataclass(frozen=True)
class Made:
    """One instruction; operands are places in its computation, `calls` names computations."""

    name: str
    opcode: str
    shape: str
    operands: tuple[int, ...] = ()
    value: str = ""
    attributes: tuple[tuple[str, str], ...] = ()
    calls: tuple[tuple[str, str], ...] = ()
    layout: str = ""
    sharding: str = ""
    frame: int = 1


@dataclass(frozen=True)
class MadeComputation:
    """Instructions in the order of their dependence; the root is the place of one of them."""

    name: str
    instructions: tuple[Made, ...]
    root: int


@dataclass(frozen=True)
class MadeModule:
    """Computations, callees first; the last one is the entry."""

    computations: tuple[MadeComputation, ...] = field(default=())

    def names(self) -> list[str]:
        """Every name of an instruction or computation."""
        return [
            name
            for one in self.computations
            for name in (one.name, *(made.name for made in one.instructions))
        ]

    def edited(self, computation: int, place: int, **changes: object) -> MadeModule:
        """The same with one instruction changed."""
        found = self.computations[computation]
        instructions = list(found.instructions)
        instructions[place] = replace(instructions[place], **changes)
        return self.with_computation(computation, replace(found, instructions=tuple(instructions)))

    def with_computation(self, at: int, computation: MadeComputation) -> MadeModule:
        """The same with another computation in one place."""
        return MadeModule((*self.computations[:at], computation, *self.computations[at + 1 :]))


def make_module(random_: random.Random, size: int) -> MadeModule:
    """A module with reducers, fusions, a loop and an entry of about `size` instructions."""
    numbers = iter(range(100_000))
    made: list[MadeComputation] = []
    callees: list[tuple[str, str]] = []
    for kind in random_.choices(("reducer", "fusion", "body"), k=random_.randint(0, 4)):
        computation = _computation(random_, numbers, f"{kind}.{next(numbers)}", random_.randint(2, 6), [])
        made.append(computation)
        callees.append((kind, computation.name))
    entry = _computation(random_, numbers, f"main.{next(numbers)}", size, callees)
    return MadeModule((*made, entry))


def _computation(
    random_: random.Random, numbers, name: str, size: int, callees: list[tuple[str, str]]
) -> MadeComputation:
    made = [
        Made(f"p.{next(numbers)}", "parameter", random_.choice(SHAPES), value=str(number), frame=0)
        for number in range(random_.randint(1, 3))
    ]
    callees = list(callees)
    for _ in range(size):
        made.append(_instruction(random_, next(numbers), len(made), callees))
    # Every callee is called once at least, so that nothing of the module is out of reach.
    for kind, callee in callees:
        made.append(_call(random_, next(numbers), len(made), kind, callee))
    root = len(made)
    used = {operand for one in made for operand in one.operands}
    loose = tuple(place for place in range(len(made)) if place not in used) or (0,)
    made.append(Made(f"tuple.{next(numbers)}", "tuple", "(f32[4])", loose))
    return MadeComputation(name, tuple(made), root)


def _instruction(random_: random.Random, number: int, before: int, callees: list[tuple[str, str]]) -> Made:
    shape, frame = random_.choice(SHAPES), random_.randint(1, FRAMES)
    kind = random_.random()
    if kind < 0.15:
        return Made(f"c.{number}", "constant", shape, value=str(random_.randint(0, 3)), frame=frame)
    if kind < 0.25:
        return Made(
            f"t.{number}", "transpose", shape, (random_.randrange(before),), layout="{0,1}", frame=frame,
            attributes=(("dimensions", random_.choice(("{0,1}", "{1,0}"))),),
        )  # fmt: skip
    if kind < 0.6:
        return Made(f"u.{number}", random_.choice(UNARY), shape, (random_.randrange(before),), frame=frame)
    operands = (random_.randrange(before), random_.randrange(before))
    return Made(f"b.{number}", random_.choice(BINARY), shape, operands, frame=frame)


def _call(random_: random.Random, number: int, before: int, kind: str, callee: str) -> Made:
    operands = (random_.randrange(before), random_.randrange(before))
    opcode, key = {
        "reducer": ("reduce", "to_apply"),
        "fusion": ("fusion", "calls"),
        "body": ("call", "to_apply"),
    }[kind]
    attributes = (("kind", "kLoop"),) if opcode == "fusion" else ()
    return Made(f"k.{number}", opcode, "f32[4]", operands, attributes=attributes, calls=((key, callee),))


def render(
    module: MadeModule,
    names: dict[str, str] | None = None,
    shuffle: random.Random | None = None,
    frames: list[int] | None = None,
) -> bytes:
    """The module's text.

    Args:
        names: new names for old ones.
        shuffle: gives another order of the instructions in which operands still come first.
        frames: the number under which each stack frame stands in the tables, from 1.
    """
    names = names or {}
    frames = frames or list(range(1, FRAMES + 1))
    rows = ["HloModule made, entry_computation_layout={(f32[4])->f32[4]}", "", "FileNames", '1 "a.py"', ""]
    rows += ["FunctionNames", '1 "f"', "", "FileLocations"]
    by_number = {number: frame for frame, number in enumerate(frames, 1)}
    rows += [f"{n} {{file_name_id=1 function_name_id=1 line={10 * by_number[n]}}}" for n in sorted(by_number)]
    rows += ["", "StackFrames"]
    rows += [f"{n} {{file_location_id={n} parent_frame_id=1}}" for n in sorted(by_number)] + [""]
    for number, computation in enumerate(module.computations):
        head = f"%{names.get(computation.name, computation.name)} (p: f32[4]) -> f32[4] {{"
        rows.append(("ENTRY " if number == len(module.computations) - 1 else "") + head)
        for place in _order(computation, shuffle):
            rows.append(_row(computation, place, names, frames))
        rows += ["}", ""]
    return "\n".join(rows).encode()


def _order(computation: MadeComputation, shuffle: random.Random | None) -> list[int]:
    if shuffle is None:
        return list(range(len(computation.instructions)))
    left = set(range(len(computation.instructions)))
    order: list[int] = []
    while left:
        ready = [p for p in sorted(left) if left.isdisjoint(computation.instructions[p].operands)]
        order.append(shuffle.choice(ready))
        left.remove(order[-1])
    return order


def _row(computation: MadeComputation, place: int, names: dict[str, str], frames: list[int]) -> str:
    made = computation.instructions[place]

    def name(at: int) -> str:
        old = computation.instructions[at].name
        return f"%{names.get(old, old)}"

    inside = made.value if made.value else ", ".join(map(name, made.operands))
    attributes = [f"{key}=%{names.get(callee, callee)}" for key, callee in made.calls]
    attributes += [f"{key}={value}" for key, value in made.attributes]
    attributes += [f"sharding={made.sharding}"] if made.sharding else []
    if made.frame:
        attributes.append(f'metadata={{op_name="jit(f)/op" stack_frame_id={frames[made.frame - 1]}}}')
    root = "ROOT " if place == computation.root else ""
    return "".join([
        f"  {root}{name(place)} = {made.shape}{made.layout} {made.opcode}({inside})",
        *(f", {attribute}" for attribute in attributes),
    ])  # fmt: skip
