"""What `show` says about a module and about one instruction: as data, and as text for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from hlo_tui.hlo.frames import SourceFrame
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.outline import Computation, Outline
from hlo_tui.hlo.tags import is_user_key, stops
from hlo_tui.hlo.visible import visible

_T = TypeVar("_T")
_ROWS = 12
_COLUMNS = 100
_SHOWN = ("metadata", "frontend_attributes")
_WITH_VALUES = "the .hlo.pb has them, or a dump with --xla_dump_large_constants=true"


def module_report(module: Module) -> dict[str, Any]:
    """The outline of a scanned module as plain data; lines are counted from 1."""
    outline = _outline(module)
    return {
        "module": module.name,
        "format": module.format,
        "scheduled": outline.header.scheduled,
        "num_partitions": outline.header.num_partitions,
        "entry": outline.entry.name if outline.entry is not None else None,
        "computations": [
            {
                "name": computation.name,
                "kind": outline.kind(computation),
                "instructions": computation.instructions,
                "line": computation.line + 1,
            }
            for computation in outline.computations
        ],
        "instructions": outline.instructions,
        "tags": sum(tag.is_user_key for tag in module.tags()),
        "elided_constants": outline.elided_constants,
        "replica_count": outline.header.replica_count,
        "complete": outline.complete,
    }


def instruction_report(module: Module, instruction: Instruction) -> dict[str, Any]:
    """One instruction of a scanned module as plain data; its line is counted from 1."""
    return {
        "name": instruction.name,
        "computation": instruction.computation,
        "opcode": instruction.opcode,
        "shape": instruction.shape.text,
        "operands": list(instruction.operands),
        "users": [user.name for user in module.users(instruction)],
        "called": list(instruction.called),
        "metadata": dict(instruction.metadata),
        "frames": [
            {"file": frame.file, "line": frame.line, "function": frame.function}
            for frame in module.frames(instruction)
        ],
        "frontend_attributes": dict(instruction.frontend_attributes),
        "line": instruction.line + 1,
        "root": instruction.is_root,
        "bytes": instruction.shape.byte_size,
        "elided": instruction.elided,
        "attributes": dict(instruction.attributes),
        "damaged": instruction.damaged,
    }


def module_text(module: Module) -> str:
    """The outline of a scanned module for people: about a screenful, safe for a terminal."""
    outline = _outline(module)
    header = outline.header
    facts = [module.format, "scheduled" if header.scheduled else "not scheduled"]
    if header.num_partitions > 1:
        facts.append(f"{header.num_partitions} partitions")
    if header.replica_count > 1:
        facts.append(f"{header.replica_count} replicas")
    rows = [
        f"{_cut(module.name)}   {', '.join(facts)}",
        f"{_many(outline.instructions, 'instruction')} in {_many(len(outline.computations), 'computation')}",
    ]
    rows += [f"! {warning}" for warning in _warnings(outline)]
    rows += ["", *_tag_rows(module), "", *_computation_rows(outline)]
    return "\n".join(visible(row.rstrip()) for row in rows)


def instruction_text(module: Module, instruction: Instruction) -> str:
    """One instruction of a scanned module for people: about a screenful, safe for a terminal."""
    outline = _outline(module)
    around = outline.at_line(instruction.line)
    place = instruction.computation or "lines without a head"
    kind = f" ({outline.kind(around)})" if around is not None else ""
    rows = [
        f"{'ROOT ' if instruction.is_root else ''}{_cut(instruction.name)}",
        _row("is", f"{instruction.shape.text} {instruction.opcode}"),
        _row("size", f"{instruction.shape.byte_size:,} bytes"),
        _row("in", f"{place}{kind}, line {instruction.line + 1:,}"),
    ]
    if instruction.damaged:
        rows.append(_row("damaged", instruction.damaged))
    if instruction.elided:
        rows.append(_row("value", f"left out of the text; {_WITH_VALUES}"))
    elif instruction.operand_text and not instruction.operands:
        rows.append(_row("value", instruction.operand_text))
    rows += _list("operands", instruction.operands, lambda name: _named(module.find(name, around), name))
    rows += _list("used by", module.users(instruction), lambda user: _named(user, user.name), "nothing")
    rows += _list("calls", instruction.called)
    if instruction.op_name:
        rows.append(_row("op name", instruction.op_name))
    rows += _list("source", module.frames(instruction), _frame, _no_source(instruction))
    rows += _list("tags", [_tag(key, value) for key, value in instruction.frontend_attributes.items()])
    if stops(instruction.frontend_attributes):
        rows.append(_row("", "a replay stops here"))
    others = [f"{key}={text}" for key, text in instruction.attributes.items() if key not in _SHOWN]
    rows += _list("with", others)
    return "\n".join(visible(row.rstrip()) for row in rows)


def _warnings(outline: Outline) -> list[str]:
    warnings = []
    if not outline.complete:
        warnings.append("only a part was read")
    if outline.header.missing:
        warnings.append("no HloModule line: this is a part of a module, or not HLO text")
    if outline.elided_constants:
        warnings.append(f"{_many(outline.elided_constants, 'constant')} without values; {_WITH_VALUES}")
    return warnings


def _tag_rows(module: Module) -> list[str]:
    tags = [tag for tag in module.tags() if tag.is_user_key]
    if not tags:
        return [
            "No tags. To tag an operation, wrap its value in set_xla_metadata(value, breakpoint=True) of",
            "jax.experimental.xla_metadata; a stop can also be set by hand.",
        ]
    rows = [f"tags {len(tags):,}"]
    for tag in tags[:_ROWS]:
        where = f"   {tag.file}:{tag.line}" if tag.file else ""
        what = f"{tag.opcode} {tag.instruction} in {tag.computation}"
        rows.append(f"  {_cut(_tag(tag.key, tag.value)):<24} {_cut(what + where)}")
    return rows + _more(len(tags), ": hlo-tui tags FILE lists all")


def _computation_rows(outline: Outline) -> list[str]:
    if not outline.computations:
        return ["No computations were found."]
    order = sorted(
        outline.computations, key=lambda computation: (not computation.is_entry, -computation.instructions)
    )
    shown = order[:_ROWS]
    names = max(len(_name(computation)) for computation in shown)
    kinds = [outline.kind(computation) for computation in shown]
    width = max(map(len, kinds))
    rows = ["computations, the entry and then the biggest"]
    for computation, kind in zip(shown, kinds, strict=True):
        count = f"{computation.instructions:>9,} {_plural(computation.instructions, 'instruction'):<12}"
        rows.append(
            f"  {_name(computation):<{names}}  {kind:<{width}}  {count}  line {computation.line + 1:,}"
        )
    return rows + _more(len(order), ": --json lists all")


def _name(computation: Computation) -> str:
    return _cut(computation.name) or "(no head)"


def _more(count: int, how: str) -> list[str]:
    return [f"  ... {count - _ROWS:,} more{how}"] if count > _ROWS else []


def _list(title: str, values: Sequence[_T], text: Callable[[_T], str] = str, without: str = "") -> list[str]:
    if not values:
        return [_row(title, without)] if without else []
    rows = [_row("" if index else title, text(value)) for index, value in enumerate(values[:_ROWS])]
    return rows + ([_row("", f"... {len(values) - _ROWS:,} more")] if len(values) > _ROWS else [])


def _row(title: str, value: str) -> str:
    return f"{title:<10}{_cut(value)}"


def _cut(value: str) -> str:
    return value if len(value) <= _COLUMNS else f"{value[:_COLUMNS]}... ({len(value):,} characters)"


def _named(instruction: Instruction | None, name: str) -> str:
    if instruction is None:
        return f"{name}   not in this text"
    shape = instruction.shape.without_layout()
    return f"{name}   {shape} {instruction.opcode}, line {instruction.line + 1:,}"


def _frame(frame: SourceFrame) -> str:
    return f"{frame.file}:{frame.line}   {frame.function}"


def _tag(key: str, value: str) -> str:
    text = f'{key}="{value}"'
    return text if is_user_key(key) else f"{text} (the compiler's own)"


def _no_source(instruction: Instruction) -> str:
    if instruction.metadata:
        return "its metadata names no source line"
    return "no metadata: made by the compiler, or dumped with --xla_dump_disable_metadata"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {_plural(count, noun)}"


def _plural(count: int, noun: str) -> str:
    return noun if count == 1 else f"{noun}s"


def _outline(module: Module) -> Outline:
    return module.outline if module.outline is not None else module.scan()
