"""What is known of the line under the cursor, gathered on the reader's thread into one plain value."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from dataclasses import dataclass

from hlo_tui.cost.analysis import CONTROL, Analysis
from hlo_tui.cost.telling import cost_words
from hlo_tui.dump.words import count_text
from hlo_tui.hlo.frames import SourceFrame
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.outline import Computation
from hlo_tui.hlo.tags import Tag
from hlo_tui.hlo.visible import decode, visible

# How many users, callers or tags are listed.
LISTED = 200
_RAW = 1 << 12
# Bytes of a computation that are searched in an instant.
_QUICK = 1 << 19
_SOURCE = 1 << 22
_SOURCE_LINE = 400


@dataclass(frozen=True, slots=True)
class Ref:
    """Something to jump to: its name, what it is, and its line; -1 where it is not in the text."""

    name: str
    what: str
    line: int


@dataclass(frozen=True, slots=True)
class Inspection:
    """What a line is.

    Attributes:
        line: from 0.
        kind: "instruction", "computation", "module", "page" for what is not HLO, or "text".
        title: its name.
        computation: the name of the computation around it or that it is.
        role: what that is for, in XLA's words.
        instruction: as its text says it, None for other lines.
        operands, users, called, callers: where to go from here.
        more: how many users or callers are not listed.
        frames: the places in the program, innermost first.
        source: the text of the frames' lines, as far as the files are there; "" where not.
        tags: frontend attributes: the instruction's, or the module's.
        facts: other things worth saying.
        raw: the line as it is in the file, bounded, safe for a terminal.
        size: bytes of the line.
        complete: whether users and callers have been looked for.
    """

    line: int
    kind: str = "text"
    title: str = ""
    computation: str = ""
    role: str = ""
    instruction: Instruction | None = None
    operands: tuple[Ref, ...] = ()
    users: tuple[Ref, ...] = ()
    called: tuple[Ref, ...] = ()
    callers: tuple[Ref, ...] = ()
    more: int = 0
    frames: tuple[SourceFrame, ...] = ()
    source: tuple[str, ...] = ()
    tags: tuple[Tag, ...] = ()
    facts: tuple[str, ...] = ()
    raw: str = ""
    size: int = 0
    complete: bool = False


Stop = Callable[[], bool]


def inspect(module: Module, line: int, stop: Stop, deep: bool) -> Inspection:
    """Find out what a line of a scanned module is.

    Args:
        module: the module.
        line: from 0.
        stop: asked between steps; the answer is not complete then.
        deep: look for users and callers too, which reads the whole computation.
    """
    outline, lines = module.outline, module.lines
    if outline is None or lines is None or not 0 <= line < lines.count:
        return Inspection(line)
    begin, end = lines.span(line)
    raw = decode(module.raw(line, 0, _RAW))
    around = outline.at_line(line)
    if around is not None and around.line == line and around.name:
        return _computation(module, around, raw, end - begin, deep)
    instruction = module.instruction_at(line)
    if instruction is not None:
        return _instruction(module, instruction, around, (raw, end - begin), stop, deep)
    if around is None and line == 0:
        return _module(module, raw, end - begin, deep)
    return Inspection(line, raw=raw, size=end - begin, complete=True)


def is_quick(module: Module, line: int) -> bool:
    """Whether everything about a line of a scanned module is found in an instant."""
    outline, lines = module.outline, module.lines
    around = outline.at_line(line) if outline is not None else None
    if outline is None or lines is None or around is None:
        return False
    return around.line != line and lines.start(around.last) - lines.start(around.line) < _QUICK


def _instruction(
    module: Module,
    instruction: Instruction,
    around: Computation | None,
    raw: tuple[str, int],
    stop: Stop,
    deep: bool,
) -> Inspection:
    outline = module.outline
    assert outline is not None
    frames = module.frames(instruction)
    there = {operand.name: operand for operand in module.operands(instruction)}
    operands = tuple(
        _ref(there[name]) if name in there else Ref(visible(name), "not in the text", -1)
        for name in instruction.operands
    )
    called = tuple(_called(module, name) for name in instruction.called)
    users: tuple[Instruction, ...] = ()
    if deep and not stop():
        users = module.users(instruction)
    return Inspection(
        line=instruction.line,
        kind="instruction",
        title=visible(instruction.name),
        computation=visible(instruction.computation),
        role=outline.kind(around) if around is not None else "",
        instruction=instruction,
        operands=operands,
        users=tuple(map(_ref, users[:LISTED])),
        called=called,
        more=max(0, len(users) - LISTED),
        frames=frames,
        source=tuple(source_line(frame.file, frame.line) for frame in frames),
        tags=tuple(module.tags_of(instruction)),
        facts=_cost(module, instruction, around),
        raw=raw[0],
        size=raw[1],
        complete=deep,
    )


def _cost(module: Module, instruction: Instruction, around: Computation | None) -> tuple[str, ...]:
    """What one run of an instruction costs; nothing for what runs others, is free, or takes long to count."""
    outline, lines = module.outline, module.lines
    called = [outline.by_name(name) for name in instruction.called] if outline is not None else []
    if around is None or lines is None or instruction.opcode in CONTROL:
        return ()
    if any(one is not None and lines.start(one.last) - lines.start(one.line) > _QUICK for one in called):
        return ()
    cost = Analysis(module).instruction(module.body(around), instruction)
    return (cost_words(cost),) if cost.flops or cost.transcendentals else ()


def _computation(module: Module, computation: Computation, raw: str, size: int, deep: bool) -> Inspection:
    outline = module.outline
    assert outline is not None
    callers = module.callers(computation) if deep else ()
    span = f"lines {computation.line + 1:,} to {computation.last + 1:,}"
    facts = [f"{count_text(computation.instructions, 'instruction')}, {span}"]
    if computation.execution_thread:
        facts.append(f"on thread {visible(computation.execution_thread)}")
    return Inspection(
        line=computation.line,
        kind="computation",
        title=visible(computation.name),
        computation=visible(computation.name),
        role=outline.kind(computation),
        callers=tuple(map(_ref, callers[:LISTED])),
        more=max(0, len(callers) - LISTED),
        facts=tuple(facts),
        raw=raw,
        size=size,
        complete=deep,
    )


def _module(module: Module, raw: str, size: int, deep: bool) -> Inspection:
    outline = module.outline
    assert outline is not None
    header = outline.header
    facts = [
        f"{count_text(outline.instructions, 'instruction')} in {count_text(len(outline.computations), 'computation')}",
        "scheduled: the order is that of the run" if header.scheduled else "not scheduled",
    ]
    if header.num_partitions > 1:
        facts.append(f"{header.num_partitions} partitions")
    if header.replica_count > 1:
        facts.append(f"{header.replica_count} replicas")
    if outline.elided_constants:
        facts.append(f"{outline.elided_constants:,} constants without values: the text leaves them out")
    tags = [tag for tag in module.tags() if tag.is_user_key] if deep else []
    entry = outline.entry
    return Inspection(
        line=0,
        kind="module" if not header.missing or outline.computations else "text",
        title=visible(module.name),
        called=(Ref(visible(entry.name), "entry", entry.line),) if entry is not None else (),
        tags=tuple(tags[:LISTED]),
        more=max(0, len(tags) - LISTED),
        facts=tuple(facts),
        raw=raw,
        size=size,
        complete=deep,
    )


def _ref(instruction: Instruction) -> Ref:
    what = f"{instruction.shape.without_layout()} {instruction.opcode}"
    return Ref(visible(instruction.name), visible(what), instruction.line)


def _called(module: Module, name: str) -> Ref:
    assert module.outline is not None
    computation = module.outline.by_name(name)
    if computation is None:
        return Ref(visible(name), "not in the text", -1)
    return Ref(visible(name), count_text(computation.instructions, "instruction"), computation.line)


def source_line(path: str, number: int) -> str:
    """A line (from 1) of a program's file, safe for a terminal; empty where it cannot be had."""
    if not path or number <= 0 or not os.path.isabs(path):
        return ""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return ""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return ""
        lines = os.pread(descriptor, _SOURCE, 0).split(b"\n", number)
    except OSError:
        return ""
    finally:
        os.close(descriptor)
    if len(lines) < number:
        return ""
    return decode(lines[number - 1].strip().replace(b"\t", b" ")[:_SOURCE_LINE])


def line_of(module: Module, computation: str, instruction: str) -> int | None:
    """The line of an instruction, None where it is not in the text."""
    found = module.find(instruction, computation) or module.find(instruction)
    return None if found is None else found.line
