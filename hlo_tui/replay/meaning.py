"""Which instructions of a module's text a stop means: found without the engine, before anything runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from hlo_tui.hlo.attributes import unescape
from hlo_tui.hlo.frames import SourceFrame
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.matching import matches, matching_lines
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.tags import stops
from hlo_tui.replay.communication import COMMUNICATING
from hlo_tui.replay.stopspec import StopSpec

# Places of one stop that are found at most; nobody goes through more of them one by one.
MOST = 1000

_OP_NAME = re.compile(rb'\bop_name="((?:[^"\\\n]|\\.)*+)"')

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
        yield from _of_name(module, re.compile(spec.value), stopped)
    elif spec.kind == "source":
        yield from _of_line(module, spec, stopped)


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


def _of_name(module: Module, pattern: re.Pattern[str], stopped: Stopped) -> Iterator[Instruction]:
    last = -1
    for line, match in matches(module, _OP_NAME, stopped):
        # Most names do not match: only of those that do the instruction is taken apart.
        if line != last and pattern.search(unescape(match[1].decode("utf-8", "replace"))):
            last = line
            yield from (one for one in _on_line(module, line) if one.op_name and pattern.search(one.op_name))


def _of_line(module: Module, spec: StopSpec, stopped: Stopped) -> Iterator[Instruction]:
    def wanted(frame: SourceFrame) -> bool:
        return frame.line == spec.line and (frame.file == spec.value or frame.file.endswith("/" + spec.value))

    ids = b"|".join(str(number).encode() for number in module.frame_ids(wanted))
    near = rb"source_line=%d\b" % spec.line + (rb"|stack_frame_id=(?:%s)\b" % ids if ids else b"")
    yield from _matching(module, near, lambda one: any(map(wanted, module.frames(one)[:1])), stopped)


def _matching(module: Module, pattern: bytes, test: Test, stopped: Stopped) -> Iterator[Instruction]:
    """The instructions that a test holds for, among those on lines with a pattern."""
    seen: set[int] = set()
    for line in matching_lines(module, re.compile(pattern), stopped):
        if stopped():
            return
        for one in _on_line(module, line):
            if one.start not in seen and test(one):
                seen.add(one.start)
                yield one


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
