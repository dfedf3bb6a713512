"""Which instructions of a module's text a stop means: found without the engine, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.tags import stops
from hlo_tui.replay.communication import COMMUNICATING
from hlo_tui.replay.stopspec import StopSpec

# Places of one stop that are found at most; nobody goes through more of them one by one.
MOST = 1000

Stopped = Callable[[], bool]
Test = Callable[[Instruction], bool]


class Spot(NamedTuple):
    """One instruction, with the line (from 0) on which it is."""

    computation: str
    instruction: str
    line: int


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a stop means in one module.

    Attributes:
        spots: the instructions, in the order of the text; the first `MOST`.
        everywhere: whether any operation may be one: of the first NaN that is known only when it runs.
        complete: whether all of the module has been looked through.
    """

    spots: tuple[Spot, ...] = ()
    everywhere: bool = False
    complete: bool = True

    @property
    def nothing(self) -> bool:
        """Whether there is certainly nothing in the module that it could stop at."""
        return self.complete and not self.spots and not self.everywhere


def meaning(module: Module, spec: StopSpec, stopped: Stopped = lambda: False) -> Meaning:
    """Find the instructions of a scanned module that a stop means, whether it is enabled or not.

    Args:
        module: the module.
        spec: the stop.
        stopped: asked between steps; the answer is not complete where it says so.
    """
    if spec.kind == "first":
        return Meaning(everywhere=True)
    spots: list[Spot] = []
    for found in _candidates(module, spec, stopped):
        spots.append(Spot(found.computation, found.name, found.line))
        if len(spots) == MOST:
            return Meaning(tuple(spots), complete=False)
    return Meaning(tuple(spots), complete=not stopped())


def _candidates(module: Module, spec: StopSpec, stopped: Stopped) -> Iterator[Instruction]:
    if spec.kind == "instruction":
        yield from _named(module, spec, stopped)
    elif spec.kind in ("tags", "tag"):
        test: Test = _is_tagged if spec.kind == "tags" else _has_tag(spec)
        yield from (one for one in module.tagged() if not stopped() and test(one))
    elif spec.kind in ("opcode", "collectives"):
        opcodes = {spec.value} if spec.kind == "opcode" else COMMUNICATING
        words = b"|".join(re.escape(opcode.encode()) for opcode in sorted(opcodes))
        yield from _matching(module, rb"\b(?:%s)\s*\(" % words, lambda one: one.opcode in opcodes, stopped)
    elif spec.kind == "op_name":
        pattern = re.compile(spec.value)
        yield from _matching(
            module, b"op_name=", lambda one: bool(one.op_name and pattern.search(one.op_name)), stopped
        )
    elif spec.kind == "source":
        yield from _matching(module, rb"stack_frame_id=|source_file=", _from_line(module, spec), stopped)


def _named(module: Module, spec: StopSpec, stopped: Stopped) -> Iterable[Instruction]:
    """As the engine finds them: by name; where an operation of the same opcode and op_name has another, by these."""
    if spec.computation:
        found = module.find(spec.value, spec.computation)
        named = [] if found is None else [found]
    else:
        pattern = re.escape(spec.value.encode()) + rb"\s*="
        named = list(_matching(module, pattern, lambda one: one.name == spec.value, stopped))
    opcode, op_name = spec.anchor
    if not op_name:
        return named

    def same(one: Instruction) -> bool:
        return (one.opcode, one.op_name) == spec.anchor

    pattern = rb"\b%s\s*\(" % re.escape(opcode.encode())
    return [one for one in named if same(one)] or list(_matching(module, pattern, same, stopped)) or named


def _is_tagged(one: Instruction) -> bool:
    return stops(one.frontend_attributes)


def _has_tag(spec: StopSpec) -> Test:
    def test(one: Instruction) -> bool:
        given = one.frontend_attributes.get(spec.value)
        return given is not None and spec.detail in ("", given)

    return test


def _from_line(module: Module, spec: StopSpec) -> Test:
    known: dict[int, bool] = {}

    def hit(one: Instruction) -> bool:
        frames = module.frames(one)[:1]
        return any(
            frame.line == spec.line and (frame.file == spec.value or frame.file.endswith("/" + spec.value))
            for frame in frames
        )

    def test(one: Instruction) -> bool:
        frame = one.stack_frame_id
        if not frame:
            return hit(one)
        if frame not in known:
            known[frame] = hit(one)
        return known[frame]

    return test


def _matching(module: Module, pattern: bytes, test: Test, stopped: Stopped) -> Iterator[Instruction]:
    """The instructions that a test holds for, among those on lines with a pattern."""
    matcher = re.compile(pattern)
    seen: set[int] = set()
    line = module.search(matcher, 0, stop=stopped)
    while line is not None and not stopped():
        for one in _on_line(module, line):
            if one.start not in seen and test(one):
                seen.add(one.start)
                yield one
        line = module.search(matcher, line + 1, stop=stopped)


def _on_line(module: Module, line: int) -> Iterator[Instruction]:
    outline = module.outline
    if outline is not None:
        for around in outline.all_at_line(line):
            yield from module.body(around).on_line(line)


def all_meanings(
    module: Module,
    specs: Iterable[StopSpec],
    known: Mapping[StopSpec, Meaning],
    stopped: Stopped = lambda: False,
) -> dict[StopSpec, Meaning]:
    """The meanings of several stops; those that are known already, however a stop is conditioned, are taken over."""
    found: dict[StopSpec, Meaning] = {}
    before = {
        place(spec): meant for spec, meant in known.items() if meant.complete or len(meant.spots) == MOST
    }
    for spec in specs:
        meant = before.get(place(spec))
        found[spec] = meaning(module, spec, stopped) if meant is None else meant
    return found


def place(spec: StopSpec) -> tuple[object, ...]:
    """What of a stop says where it is."""
    return (spec.kind, spec.value, spec.computation, spec.line, spec.detail, spec.anchor)
