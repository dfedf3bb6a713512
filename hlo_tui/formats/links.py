"""What is which between a module of StableHLO and the HLO that was made of it: by names, types and places."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from hlo_tui.formats.stablehlo import Operation, Program
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module

CERTAIN, LIKELY, GUESS = "certain", "likely", "guess"
# Bytes of a module up to which all its instructions are looked at, for the way from StableHLO to HLO.
MOST_BYTES = 64 << 20
_NUMBER = re.compile(r"\.(\d+)$")
_SUFFIX = re.compile(r"\.\d+$")
_SHARED = frozenset(("broadcast", "reshape", "transpose", "convert", "iota"))
_PARTS = frozenset(("tuple", "get-tuple-element"))


@dataclass(frozen=True, slots=True)
class Link:
    """One of a pair.

    Attributes:
        operation: of StableHLO.
        sure: CERTAIN, LIKELY or GUESS.
        alike: how many operations could not be told apart by name, opcode, type and place.
    """

    operation: Operation
    sure: str
    alike: int = 1


class Links:
    """The pairs of a module, found computation by computation as they are asked for."""

    def __init__(self, program: Program, module: Module, first: bool) -> None:
        """Take a program and a scanned module of HLO.

        Args:
            first: whether the module is as it was made of the program, with its functions as computations;
                else they have been put into one another and names are full ones.
        """
        self._program = program
        self._module = module
        self._first = first
        self._functions = {one.function for one in program.operations}
        self._known: dict[str, dict[str, Link]] = {}
        self._back: dict[int, list[tuple[Instruction, Link]]] | None = None

    def of(self, instruction: Instruction) -> Link | None:
        """The operation that an instruction was made of, None where nothing says it."""
        return self._of_computation(instruction.computation).get(instruction.name)

    def back(
        self, operation: Operation, stop: Callable[[], bool] = lambda: False
    ) -> list[tuple[Instruction, Link]]:
        """The instructions that were made of an operation, the likeliest first; none of a module that is too large."""
        if self._back is None:
            found: dict[int, list[tuple[Instruction, Link]]] = defaultdict(list)
            outline = self._module.outline
            small = outline is not None and self._module.source.size <= MOST_BYTES
            for computation in outline.computations if outline is not None and small else ():
                if stop():
                    return []
                pairs = self._of_computation(computation.name)
                for one in self._module.body(computation).instructions:
                    link = pairs.get(one.name)
                    if link is not None:
                        found[link.operation.line].append((one, link))
            self._back = found
        order = (CERTAIN, LIKELY, GUESS)
        return sorted(
            self._back.get(operation.line, ()),
            key=lambda pair: (order.index(pair[1].sure), pair[0].opcode not in operation.opcodes),
        )

    def _of_computation(self, name: str) -> dict[str, Link]:
        if name not in self._known:
            try:
                instructions = self._module.body(name).instructions
            except KeyError:
                instructions = ()
            self._known[name] = self._pair(name, instructions)
        return self._known[name]

    def _pair(self, computation: str, instructions: Iterable[Instruction]) -> dict[str, Link]:
        function = _SUFFIX.sub("", computation)
        scope = function if self._first and function in self._functions else ""
        alike: dict[tuple[object, ...], list[Instruction]] = defaultdict(list)
        candidates: dict[tuple[object, ...], tuple[list[Operation], str]] = {}
        for one in instructions:
            found, sure = self._candidates(one, scope)
            if found:
                lines = tuple(operation.line for operation in found)
                key: tuple[object, ...] = (lines, one.opcode, one.shape.without_layout())
                candidates[key] = (found, sure)
                alike[key].append(one)
        pairs = {}
        for alike_as, group in alike.items():
            operations, sure = candidates[alike_as]
            # The numbers in names are given in the order in which instructions were made.
            group.sort(key=lambda one: (_number(one.name), one.start))
            even = len(group) == len(operations)
            for place, one in enumerate(group):
                operation = operations[min(place, len(operations) - 1)]
                told = sure if len(operations) == 1 or sure == GUESS else LIKELY if even else GUESS
                pairs[one.name] = Link(operation, told, len(operations))
        return pairs

    def _candidates(self, instruction: Instruction, scope: str) -> tuple[list[Operation], str]:
        """The operations that an instruction may have been made of, and how sure the best of them is."""
        name = instruction.op_name
        found = self._program.named(name) if self._first else self._program.fully_named(name)
        # What a function or a region gives back is a tuple without a name.
        found = [one for one in found if one.opcode != "return"]
        if not found or instruction.opcode == "parameter":
            return [], GUESS
        if scope:
            found = _best(found, lambda one: one.function == scope)
        if len(found) > 1:
            places = [
                (frame.file, frame.line, frame.column) for frame in self._module.frames(instruction)[:1]
            ]
            found = _best(
                found, lambda one: [(f.file, f.line, f.column) for f in one.location.frames[:1]] == places
            )
        same = [one for one in found if instruction.opcode in one.opcodes]
        # One operation of StableHLO becomes several of these, and several do one of them.
        sure = CERTAIN if same and instruction.opcode not in _SHARED else LIKELY
        found = same or _best(found, lambda one: one.opcode != "constant")
        if instruction.opcode in _PARTS:
            found = _best(found, lambda one: one.several)
        shape = instruction.shape.without_layout()
        found = _best(found, lambda one: one.shape == shape)
        if not same and all(one.shape != shape for one in found) and instruction.opcode not in _PARTS:
            sure = GUESS
        return found, sure


def _best(found: list[Operation], fits: Callable[[Operation], bool]) -> list[Operation]:
    return [one for one in found if fits(one)] or found


def _number(name: str) -> int:
    match = _NUMBER.search(name)
    return int(match[1][:18]) if match is not None else 0
