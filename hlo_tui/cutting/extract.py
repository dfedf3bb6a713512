"""An instruction with its operands, or a computation, as a module of its own that can be run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.attributes import split_top
from hlo_tui.hlo.body import Body
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.loading import is_proto, open_document, read_proto
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.numerals import number_of
from hlo_tui.hlo.outline import Computation
from hlo_tui.hlo.printing import print_module
from hlo_tui.hlo.shape import Shape
from hlo_tui.hlo.source import BytesSource
from hlo_tui.hlo.structure import log_prefix
from hlo_tui.hlo.visible import visible

ALL = -1
# What a header says of the entry that is not there any more.
_OF_THE_ENTRY = frozenset((
    "entry_computation_layout", "input_output_alias", "buffer_donor",
    "allow_spmd_sharding_propagation_to_parameters", "allow_spmd_sharding_propagation_to_output",
))  # fmt: skip
# They give the same wherever they stand, so that they are taken along rather than handed in.
_FREE = frozenset(("constant", "iota", "partition-id", "replica-id", "after-all", "create-token"))
_NAME = re.compile(r"[\w.\-]+")
_SAFE = re.compile(r"[^\w.\-]")
# Bytes of one computation's text.
_LONGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class LiveIn:
    """A value that comes in from outside of the part.

    Attributes:
        name: of the parameter in the new module.
        computation, instruction: whose value it is in the whole module.
        element: which part of it, where it is a tuple.
    """

    name: str
    computation: str
    instruction: str
    element: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a module, as a module.

    Attributes:
        text: HLO text.
        name: what the module is called.
        computation, instruction: what was cut out; no instruction where it is a computation.
        instructions: how many of the module's instructions are in its entry.
        parameters: the values that come in, in the order of the parameters.
        notes: what is otherwise than in the whole module, a sentence each.
    """

    text: bytes
    name: str
    computation: str
    instruction: str
    instructions: int
    parameters: tuple[LiveIn, ...]
    notes: tuple[str, ...] = ()


def open_whole(path: Path, member: str | None = None) -> Module:
    """A module to cut from, scanned; of a proto with the values of all its constants.

    Raises:
        HloTuiError: the file cannot be read, or holds no HLO.
    """
    document = open_document(path, member)
    source = document.source
    if is_proto(path):
        source = BytesSource(print_module(read_proto(path).module, large_constants=True).text, source.name)
    module = Module(source, document.kind)
    module.scan()
    return module


def find_part(module: Module, name: str, depth: int = 0) -> Part:
    """Cut out what a person names.

    Args:
        module: scanned.
        name: an instruction, COMPUTATION/INSTRUCTION, a computation, or COMPUTATION/ for what is also the name of
            an instruction.
        depth: how many operands deep, as `extract_instruction` takes it.

    Raises:
        HloTuiError: there is no such thing, or it cannot stand alone.
    """
    within, slash, rest = name.rpartition("/")
    outline = module.outline or module.scan()
    found = module.find(rest.lstrip("%"), within.lstrip("%") or None) if rest else None
    if found is not None:
        return extract_instruction(module, found, depth)
    computation = outline.by_name((within if slash else rest).lstrip("%")) if not slash or not rest else None
    if computation is None:
        hint = "hlo-tui grep finds names; hlo-tui show FILE lists the computations"
        raise HloTuiError("no such instruction or computation", visible(name), hint)
    return extract_computation(module, computation)


def extract_instruction(module: Module, target: Instruction, depth: int = 0) -> Part:
    """An instruction with its operands as a module whose result it is.

    Args:
        module: scanned.
        target: the instruction.
        depth: of the operands that are taken along: 0 for none, 1 for those of the instruction, and so on; ALL for
            everything up to the parameters of its computation. The values of the others become parameters.

    Raises:
        HloTuiError: an operand is not in the text, or its shape is not.
    """
    outline = module.outline or module.scan()
    around = next((c for c in outline.all_at_line(target.line) if c.name == target.computation), None)
    if around is None:
        raise HloTuiError("the instruction is in no computation", visible(target.name))
    return _Cut(module, module.body(around), target).part(depth)


def extract_computation(module: Module, computation: Computation) -> Part:
    """A computation with all that it calls, as a module whose entry it is.

    Raises:
        HloTuiError: it is written inside of an instruction, or has lost its head.
    """
    outline = module.outline or module.scan()
    if outline.is_nested(computation) or not computation.name:
        why = "it is written inside of an instruction" if computation.name else "its head is not in the text"
        raise HloTuiError("this computation cannot be cut out", f"{visible(computation.name)}: {why}")
    body = module.body(computation)
    text = _text_of(module, computation)
    entry = text if computation.is_entry else b"ENTRY " + text.lstrip()
    called = [name for one in body.instructions for name in one.called]
    parameters = [one for one in body.instructions if one.opcode == "parameter"]
    parameters.sort(key=_number)
    name = _module_name(module, computation.name)
    live = tuple(LiveIn(one.name, computation.name, one.name) for one in parameters)
    notes = (*_elided(body.instructions), *_inner_notes(module, called))
    return Part(
        _whole(module, name, called, entry), name, computation.name, "", len(body), live, notes
    )  # fmt: skip


class _Cut:
    """One instruction being cut out of its computation."""

    def __init__(self, module: Module, body: Body, target: Instruction) -> None:
        self._module = module
        self._body = body
        self._target = target
        self._notes: dict[str, None] = {}
        self._known: dict[str, Instruction] = {}
        self._names = set(body.by_name)
        self._live: list[LiveIn] = []
        self._lines: list[str] = []

    def part(self, depth: int) -> Part:
        """The part, see `extract_instruction`."""
        taken = self._taken(depth)
        order = sorted(taken.values(), key=lambda one: one.start)
        outside: dict[str, Instruction] = {}
        for one in order:
            for name in one.operands:
                if name not in taken:
                    outside.setdefault(name, self._operand(name, one))
        for one in sorted(outside.values(), key=lambda one: one.start):
            self._parameter(one)
        for one in order:
            if _comes_in(one):
                self._parameter(one)
        called: list[str] = []
        for one in order:
            if not _comes_in(one):
                self._lines.append(self._line(one, taken))
                called += one.called
        target = self._target
        name = _module_name(self._module, target.name)
        if _comes_in(target):
            self._lines = [line.replace("  ", "  ROOT ", 1) if _defines(line, target.name) else line
                           for line in self._lines]  # fmt: skip
        entry = "\n".join([f"ENTRY %{self._entry_name(called)} {{", *self._lines, "}"]).encode()
        notes = (*self._notes, *_inner_notes(self._module, called))
        return Part(
            _whole(self._module, name, called, entry), name, target.computation, target.name, len(order),
            tuple(self._live), tuple(dict.fromkeys(notes)),
        )  # fmt: skip

    def _taken(self, depth: int) -> dict[str, Instruction]:
        """The instructions to take along, by name."""
        taken = {self._target.name: self._target}
        border = [self._target]
        level = 0
        while border:
            inner = depth == ALL or level < depth
            following = []
            for one in border:
                for name in one.operands:
                    operand = self._operand(name, one)
                    if name in taken or operand.elided or not (inner or self._comes_along(operand, one)):
                        continue
                    taken[name] = operand
                    following.append(operand)
            border = following
            level += 1
        # An element whose tuple stays outside comes in by itself.
        for one in list(taken.values()):
            alone = one.opcode == "get-tuple-element" and one is not self._target
            if alone and not any(name in taken for name in one.operands):
                del taken[one.name]
        return taken

    @staticmethod
    def _comes_along(operand: Instruction, user: Instruction) -> bool:
        if operand.opcode in _FREE:
            return True
        # What was begun cannot be handed in: only its end is a value.
        return user.opcode.endswith(("-done", "-update")) and operand.opcode.endswith(("-start", "-update"))

    def _operand(self, name: str, user: Instruction) -> Instruction:
        found = self._known.get(name) or self._body.by_name.get(name)
        if found is not None:
            self._known[name] = found
        else:
            message = f"%{visible(name)}, which %{visible(user.name)} uses, is not in its computation"
            raise HloTuiError("an operand is not in the text", message)
        return found

    def _parameter(self, one: Instruction) -> None:
        """Hand a value in: an array as it is, a tuple put together of its arrays."""
        if not one.shape.dtype:
            message = f"the text does not say what shape %{visible(one.name)} has"
            raise HloTuiError("this cannot be cut out", message, "--depth takes more operands along")
        if one.elided:
            self._notes[f"%{one.name} has no values in the text: it comes in as a parameter"] = None
        self._leaf(one, one.shape, one.name, ())

    def _leaf(self, one: Instruction, shape: Shape, name: str, element: tuple[int, ...]) -> None:
        sharding = f", sharding={one.sharding}" if one.sharding and not element else ""
        if shape.is_tuple:
            parts = [
                self._fresh(f"{one.name}.{'.'.join(map(str, (*element, n)))}")
                for n in range(len(shape.elements))
            ]
            for number, part in enumerate(shape.elements):
                self._leaf(one, part, parts[number], (*element, number))
            operands = ", ".join(f"%{part}" for part in parts)
            self._lines.append(f"  %{name} = {shape.text} tuple({operands}){sharding}")
        elif shape.dtype == "token":
            self._lines.append(f"  %{name} = token[] after-all()")
        else:
            number = len(self._live)
            self._live.append(LiveIn(name, one.computation, one.name, element))
            self._lines.append(f"  %{name} = {shape.text} parameter({number}){sharding}")

    def _fresh(self, wanted: str) -> str:
        name = wanted
        number = 0
        while name in self._names:
            number += 1
            name = f"{wanted}.in{number}"
        self._names.add(name)
        return name

    def _line(self, one: Instruction, taken: dict[str, Instruction]) -> str:
        attributes = []
        for key, value in one.attributes.items():
            if key == "control-predecessors":
                kept = [
                    name
                    for name in _NAME.findall(value)
                    if name in taken and taken[name].opcode != "parameter"
                ]
                if len(kept) < len(_NAME.findall(value)):
                    self._notes["control dependencies on what is outside are left out"] = None
                if not kept:
                    continue
                value = "{" + ", ".join(f"%{name}" for name in kept) + "}"
            attributes.append(f", {key}={value}")
        root = "ROOT " if one is self._target else ""
        text = f"  {root}%{one.name} = {one.shape.text} {one.opcode}({one.operand_text}){''.join(attributes)}"
        return text.strip("\r\n")

    def _entry_name(self, called: list[str]) -> str:
        outline = self._module.outline
        # The partitioner's ending tells that each device runs the module as it is.
        partitioned = (
            outline is not None and outline.entry is not None and outline.entry.name.endswith("_spmd")
        )
        taken = set(_closure(self._module, called))
        name, number = "extracted", 0
        while name + ("_spmd" if partitioned else "") in taken:
            number += 1
            name = f"extracted.{number}"
        return name + ("_spmd" if partitioned else "")


def _comes_in(one: Instruction) -> bool:
    """Whether an instruction's value can only come from outside."""
    return one.opcode == "parameter" or one.elided


def _defines(line: str, name: str) -> bool:
    return line.startswith(f"  %{name} = ")


def _number(parameter: Instruction) -> int:
    return number_of(parameter.operand_text) or 0


def _closure(module: Module, called: list[str]) -> dict[str, Computation]:
    """The computations that these call, and those, callees first.

    Raises:
        HloTuiError: one is not in the text.
    """
    assert module.outline is not None
    found: dict[str, Computation] = {}
    waiting = [(name, False) for name in reversed(called)]
    entered: set[str] = set()
    while waiting:
        name, done = waiting.pop()
        computation = module.outline.by_name(name)
        if computation is None:
            raise HloTuiError("a computation is not in the text", f"%{visible(name)} is called and not there")
        if done:
            # The text of a nested one is a part of the instruction's.
            if not module.outline.is_nested(computation):
                found[name] = computation
        elif name not in entered:
            entered.add(name)
            waiting.append((name, True))
            waiting += [
                (callee, False) for one in module.body(computation).instructions for callee in one.called
            ]
    return found


def _whole(module: Module, name: str, called: list[str], entry: bytes) -> bytes:
    """A module of what the entry calls and the entry, under a header and with the tables of the whole one."""
    kept = [
        part.strip()
        for part in split_top(module.header.attributes)
        if part.partition("=")[0].strip() not in _OF_THE_ENTRY
    ]
    header = ", ".join([f"HloModule {name}", *kept])
    parts = [header.encode("utf-8", "replace"), *_tables(module)]
    parts += [_text_of(module, computation) for computation in _closure(module, called).values()]
    return b"\n\n".join([*parts, entry]) + b"\n"


def _tables(module: Module) -> Iterator[bytes]:
    """The tables that metadata refers to, as they are."""
    outline, lines = module.outline, module.lines
    if outline is None or lines is None or not outline.tables:
        return
    first = min(outline.tables.values())
    behind = [computation.line for computation in outline.computations if computation.line > first]
    last = min(behind, default=lines.count) - 1
    begin, end = lines.start(first), lines.span(last)[1]
    yield module.source.read(begin, min(end - begin, _LONGEST)).strip()


def _text_of(module: Module, computation: Computation) -> bytes:
    """A computation's text, without what a log put before its lines."""
    assert module.outline is not None
    begin, end = module.outline.start(computation), module.outline.end(computation)
    data = module.source.read(begin, min(end - begin, _LONGEST)).rstrip()
    return b"\n".join(line[log_prefix(line) :] for line in data.split(b"\n"))


def _module_name(module: Module, name: str) -> str:
    return _SAFE.sub("_", f"{module.name.rpartition('/')[2]}.{name}")


def _elided(instructions: list[Instruction] | tuple[Instruction, ...]) -> list[str]:
    return [f"%{one.name} has no values in the text" for one in instructions if one.elided]


def _inner_notes(module: Module, called: list[str]) -> list[str]:
    inner = _closure(module, called).values()
    return [note for computation in inner for note in _elided(module.body(computation).instructions)]
