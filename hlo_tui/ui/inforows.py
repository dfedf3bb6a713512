"""What the inspector says about a line: in words, with rows to jump from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from hlo_tui.dump.words import count_text, size_text
from hlo_tui.hlo.frames import SourceFrame
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.tags import stops
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.glyphs import DOT, MORE, TAGGED, TIMES
from hlo_tui.ui.inspection import Inspection, Ref
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.valuerows import Json, first_spans, summary_spans

_CODE_KEYS = frozenset(("metadata", "frontend_attributes"))


@dataclass(frozen=True, slots=True)
class Jump:
    """A row that leads to a line (from 0). `place` tells rows apart that lead to the same one."""

    line: int
    place: int


def build(
    found: Inspection, value: Json | None, valued: bool, width: int, given: Json | None = None
) -> list[Row]:
    """All rows for a line.

    Args:
        found: what is known of it.
        value: the summary of its value.
        valued: whether there is one to show.
        width: columns.
        given: what is given for it, where the replay does not compute it.
    """
    if found.kind == "page":
        from hlo_tui.ui import pagerows

        return pagerows.build(found, width)
    rows = list(_head(found, width))
    if given is not None:
        words = f"not computed but given: {visible(str(given['value']))}; I supplies another"
        rows += [row(), *wrap(words, width, "notice", " ")]
    rows += _value(value, width) if valued else ()
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
        rows += [row(), row(Span(" in the file", "heading"), right=[Span(size_text(found.size), "count")])]
        rows += wrap(
            found.raw.strip() + (f" {MORE}" if found.size > len(found.raw) else ""), width, "muted", " "
        )
    return rows


def _head(found: Inspection, width: int) -> Iterator[Row]:
    if found.kind == "text":
        yield row(Span(f" line {found.line + 1:,}", "title"))
        return
    instruction = found.instruction
    if instruction is None:
        sign = "" if found.kind == "module" else "%"
        yield from wrap(f"{sign}{found.title}", width, "title", " ")
        yield row(Span(f" {found.role} computation" if found.kind == "computation" else " module"))
    else:
        yield from wrap(f"%{found.title}", width, "title", " ")
        yield from _what(instruction, width)
        yield from _where(found, width)
    for fact in found.facts:
        yield from wrap(fact, width, "text", " ")


def _what(instruction: Instruction, width: int) -> Iterator[Row]:
    opcode, shape = visible(instruction.opcode or "?"), visible(instruction.shape.text)
    size = [Span(size_text(instruction.shape.byte_size), "count")]
    if len(opcode) + len(shape) + len(size[0].text) + 3 <= width:
        yield row(" ", Span(shape, "shape"), Span(f" {opcode}", "opcode"), right=size)
    else:
        yield row(" ", Span(opcode, "opcode"), right=size)
        yield from wrap(shape, width, "shape", " ")
    if instruction.damaged:
        yield from wrap(f"cannot be read in full: {visible(instruction.damaged)}", width, "problem", " ")
    if instruction.elided:
        yield from wrap("its values are not in the text", width, "missing", " ")


def _where(found: Inspection, width: int) -> Iterator[Row]:
    if found.frames:
        frame = found.frames[0]
        yield from wrap(visible(f"{_file(frame)} {frame.function}"), width, "text", " ")
        if found.source[0]:
            yield from wrap(found.source[0], width, "source", "   ")
    for tag in found.tags:
        if tag.is_user_key:
            sign = TAGGED if stops({tag.key: tag.value}) else DOT
            yield from wrap(visible(f'{sign} {tag.key}="{tag.value}"'), width, "tag", " ")
    where = "root of" if found.instruction is not None and found.instruction.is_root else "in"
    role = f", {found.role}" if found.role else ""
    yield from wrap(f"{where} %{found.computation}{role}", width, "muted", " ")


def _file(frame: SourceFrame) -> str:
    return f"{frame.file.rsplit('/', 1)[-1]}:{frame.line}"


def _value(value: Json | None, width: int) -> Iterator[Row]:
    yield row()
    yield row(Span(" value", "heading"))
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
    yield row(Span(f" {title}", "heading"), right=count)
    if not refs:
        yield row(Span(" nothing" if found.complete else f" {MORE}", "muted"))
    times = Counter(refs)
    # The same operand twice is one thing to go to.
    for place, ref in enumerate(times):
        number = [Span(f"{ref.line + 1:,}", "line_number")] if ref.line >= 0 else []
        key = Jump(ref.line, base + place) if ref.line >= 0 else None
        again = [Span(f" {TIMES}{times[ref]}", "count")] if times[ref] > 1 else []
        name = Span(f"%{ref.name}", "name")
        yield row(" ", name, *again, Span(f"  {ref.what}", "shape"), right=number, key=key)
    if found.more and title in ("used by", "called by"):
        yield row(Span(f" and {found.more:,} more", "muted"))


def _frames(found: Inspection, width: int) -> Iterator[Row]:
    if found.instruction is None:
        return
    op_name = found.instruction.op_name
    if not found.frames and not op_name:
        return
    yield row()
    yield row(Span(" made by", "heading"))
    if op_name:
        yield from wrap(visible(op_name), width, "op_name", " ")
    for frame, source in zip(found.frames, found.source, strict=True):
        yield row(" ", Span(visible(_file(frame))), Span(f"  {visible(frame.function)}", "muted"))
        if source:
            yield from wrap(source, width, "source", "   ")
    if found.frames and not any(found.source):
        yield row(Span(" the source is not on this machine", "muted"))


def _tags(found: Inspection, width: int) -> Iterator[Row]:
    """The tags of a whole module, to jump to; those that only compilers read come last for an instruction."""
    tags = found.tags if found.kind == "module" else [tag for tag in found.tags if not tag.is_user_key]
    if not tags:
        return
    yield row()
    if found.kind != "module":
        yield row(Span(" for the compiler", "heading"))
        for tag in tags:
            yield from wrap(visible(f'{tag.key}="{tag.value}"'), width, "muted", " ")
        return
    yield row(Span(f" {count_text(len(found.tags) + found.more, 'tag')}", "heading"))
    for place, tag in enumerate(tags):
        where = f"{tag.file.rsplit('/', 1)[-1]}:{tag.line}" if tag.file else ""
        key = TagJump(tag.computation, tag.instruction, place)
        yield row(
            f" {TAGGED} ",
            Span(f"%{visible(tag.instruction)}"),
            right=[Span(visible(where), "place")],
            key=key,
        )
        yield from wrap(visible(f'{tag.key}="{tag.value}"'), width, "tag", "   ")


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
    yield row(Span(" with", "heading"))
    for key, text in others.items():
        yield from wrap(visible(f"{key}={text[:2000]}"), width, "text", " ")


def brief(found: Inspection, width: int) -> Row:
    """A line in one row, for a screen without room for more."""
    instruction = found.instruction
    if instruction is None:
        role = found.computation if found.kind == "page" else found.role
        return row(Span(f" {found.title}  {role}", "muted"))
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
