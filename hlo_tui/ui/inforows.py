"""What the inspector says about a line: in words, with rows to jump from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hlo_tui.dump.words import count_text, size_text
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.glyphs import MORE, TAGGED
from hlo_tui.ui.inspection import Inspection, Ref
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.valuerows import Json, first_spans, summary_spans

_CODE_KEYS = frozenset(("metadata", "frontend_attributes"))


@dataclass(frozen=True, slots=True)
class Jump:
    """A row that leads to a line (from 0). `place` tells rows apart that lead to the same one."""

    line: int
    place: int


def build(found: Inspection, value: Json | None, valued: bool, width: int) -> list[Row]:
    """All rows for a line.

    Args:
        found: what is known of it.
        value: the summary of its value.
        valued: whether there is one to show.
        width: columns.
    """
    rows = [*_head(found, width), *(_value(value, width) if valued else ())]
    for title, refs in (("operands", found.operands), ("used by", found.users)):
        if refs or (title == "used by" and found.instruction is not None):
            rows += _refs(title, refs, found, len(rows))
    rows += _refs("calls" if found.kind != "module" else "begins with", found.called, found, len(rows))
    rows += _refs("called by", found.callers, found, len(rows))
    rows += _frames(found, width)
    rows += _tags(found, width)
    if found.instruction is not None:
        rows += _attributes(found.instruction, width)
    if found.raw:
        rows += [row(), row(Span("in the file", "heading"), right=[Span(size_text(found.size), "count")])]
        rows += wrap(
            found.raw.strip() + (f" {MORE}" if found.size > len(found.raw) else ""), width, "muted", " "
        )
    return rows


def _head(found: Inspection, width: int) -> Iterator[Row]:
    if found.kind == "text":
        yield row(Span(f"line {found.line + 1:,}", "title"))
        return
    yield row(Span(f"{'' if found.kind == 'module' else '%'}{found.title}", "title"))
    instruction = found.instruction
    if instruction is None:
        words = f"{found.role} computation" if found.kind == "computation" else "module"
        yield from wrap(words, width, "text")
    else:
        what = [Span(visible(instruction.opcode or "?"), "opcode"), Span(" gives ", "muted")]
        yield row(*what, Span(size_text(instruction.shape.byte_size), "count"))
        yield from wrap(visible(instruction.shape.text), width, "shape", " ")
        if instruction.damaged:
            yield from wrap(f"cannot be read in full: {visible(instruction.damaged)}", width, "problem")
        if instruction.elided:
            yield from wrap("its values are not in the text", width, "missing")
        where = f"{'root of ' if instruction.is_root else 'in '}{found.computation}"
        yield from wrap(f"{where}, {found.role}" if found.role else where, width, "muted")
    for fact in found.facts:
        yield from wrap(fact, width, "text")


def _value(value: Json | None, width: int) -> Iterator[Row]:
    yield row()
    yield row(Span("value", "heading"))
    parts = summary_spans(value)
    line: list[Span] = []
    used = 1
    for span in parts:
        if used + len(span.text) > width and line:
            yield row(" ", *line)
            line, used = [], 1
        line.append(span)
        used += len(span.text)
    yield row(" ", *line)
    first = first_spans(value)
    if first:
        yield from wrap("".join(span.text for span in first), width, "result", " ")


def _refs(title: str, refs: tuple[Ref, ...], found: Inspection, base: int) -> Iterator[Row]:
    if not refs and title != "used by":
        return
    yield row()
    count = [Span(str(len(refs) + found.more), "count")] if len(refs) + found.more > 1 else []
    yield row(Span(title, "heading"), right=count)
    if not refs:
        yield row(Span(" nothing" if found.complete else f" {MORE}", "muted"))
    for place, ref in enumerate(refs):
        number = [Span(f"{ref.line + 1:,}", "line_number")] if ref.line >= 0 else []
        key = Jump(ref.line, base + place) if ref.line >= 0 else None
        yield row(" ", Span(f"%{ref.name}", "name"), Span(f"  {ref.what}", "shape"), right=number, key=key)
    if found.more and title in ("used by", "called by"):
        yield row(Span(f" and {found.more:,} more", "muted"))


def _frames(found: Inspection, width: int) -> Iterator[Row]:
    if found.instruction is None:
        return
    op_name = found.instruction.op_name
    if not found.frames and not op_name:
        return
    yield row()
    yield row(Span("made by", "heading"))
    if op_name:
        yield from wrap(visible(op_name), width, "op_name", " ")
    for frame, source in zip(found.frames, found.source, strict=True):
        file = visible(frame.file.rsplit("/", 1)[-1])
        function = f"  {visible(frame.function)}" if frame.function else ""
        yield row(" ", Span(f"{file}:{frame.line}", "text"), Span(function, "muted"))
        if source:
            yield from wrap(source, width, "source", "   ")
    if found.frames and not any(found.source):
        yield from wrap(f"{visible(found.frames[0].file)} is not on this machine", width, "muted", " ")


def _tags(found: Inspection, width: int) -> Iterator[Row]:
    if not found.tags:
        return
    yield row()
    several = found.kind == "module"
    title = count_text(len(found.tags) + found.more, "tag") if several else "tags"
    yield row(Span(title, "heading"))
    for place, tag in enumerate(found.tags):
        words = f'{visible(tag.key)}="{visible(tag.value)}"'
        role = "tag" if tag.is_user_key else "muted"
        sign = f"{TAGGED} " if tag.key == "breakpoint" else "  "
        lines = wrap(words, width - 3, role)
        for at, line in enumerate(lines):
            yield row(Span(f" {sign if at == 0 else '  '}", "tagged"), *line.spans)
        if several:
            where = f"{tag.file.rsplit('/', 1)[-1]}:{tag.line}" if tag.file else ""
            key = TagJump(tag.computation, tag.instruction, place)
            yield row(
                Span(f"   %{visible(tag.instruction)}", "name"),
                right=[Span(visible(where), "place")],
                key=key,
            )


@dataclass(frozen=True, slots=True)
class TagJump:
    """A row that leads to a tagged instruction."""

    computation: str
    instruction: str
    place: int


def _attributes(instruction: Instruction, width: int) -> Iterator[Row]:
    others = {key: text for key, text in instruction.attributes.items() if key not in _CODE_KEYS}
    if not instruction.operands and instruction.operand_text:
        others = {"value": instruction.operand_text[:2000], **others}
    if not others:
        return
    yield row()
    yield row(Span("with", "heading"))
    for key, text in others.items():
        yield from wrap(visible(f"{key}={text[:2000]}"), width, "text", " ")


def brief(found: Inspection, width: int) -> Row:
    """A line in one row, for a screen without room for more."""
    instruction = found.instruction
    if instruction is None:
        return row(Span(f" {found.title}  {found.role}", "muted"))
    spans: list[Span] = [Span(" ")]
    if found.frames:
        frame = found.frames[0]
        spans.append(
            Span(visible(f"{frame.file.rsplit('/', 1)[-1]}:{frame.line} {frame.function}   "), "text")
        )
    if instruction.op_name:
        spans.append(Span(visible(instruction.op_name), "op_name"))
    tags = [Span(visible(f'{TAGGED} {t.key}="{t.value}"'), "tag") for t in found.tags if t.is_user_key]
    return Row(tuple(spans), tuple(tags[:1]) if width > 40 else ())
