"""A file that is not HLO on the screen: a line in its colours, and what the inspector says about it."""

from __future__ import annotations

from collections.abc import Callable

from hlo_tui.dump.words import count_text, size_text
from hlo_tui.formats.locations import at_end
from hlo_tui.formats.page import Entry, Page
from hlo_tui.formats.report import counted
from hlo_tui.hlo.tokens import Role, Token
from hlo_tui.hlo.visible import decode, visible
from hlo_tui.ui.codeline import CodeLine, Name
from hlo_tui.ui.inforows import Jump
from hlo_tui.ui.inspection import LISTED, Inspection, Ref
from hlo_tui.ui.rows import Row, Span, row, wrap

_ROLES = tuple(role.name.lower() for role in Role)
_NAMES = frozenset((Role.NAME, Role.COMPUTATION, Role.DEFINITION, Role.METADATA))
_RAW = 1 << 12
_CUT = "loc("


def page_line(text: str, tokenize: Callable[[str], list[Token]], folded: bool, place: str = "") -> CodeLine:
    """A line of a page.

    Args:
        text: the line, safe for a terminal.
        tokenize: of its language.
        folded: leave the location at its end out.
        place: the file and line that it comes from.
    """
    ends = folded and text.endswith(")") and _CUT in text and not text.startswith("#")
    shown = at_end(text)[0] if ends else text
    spans, names = [], []
    for start, end, role in tokenize(shown):
        word = shown[start:end]
        spans.append(Span(word, _ROLES[role]))
        if role in _NAMES and not word.isspace():
            names.append(Name(start, end, word))
    return CodeLine(tuple(spans), tuple(names), place=place, width=len(shown))


def inspect_page(page: Page, line: int) -> Inspection:
    """What is known of a line of a scanned page: what it is inside of, and what there is to go to."""
    if page.lines is None or not 0 <= line < page.lines.count:
        return Inspection(line)
    around = page.entry_at(line)
    facts = [
        f"{count_text(page.lines.count, 'line')}, {size_text(page.source.size)}",
        *page.facts,
        *counted(page),
    ]
    if page.note:
        facts.insert(0, page.note)
    if page.sort.hint:
        facts.append(page.sort.hint)
    begin, end = page.lines.span(line)
    first = max(0, _place(page, around) - LISTED // 2)
    listed = page.entries[first : first + LISTED]
    places = tuple(page.origins.get(line, ()))
    return Inspection(
        line=line,
        kind="page",
        title=visible(page.sort.words),
        computation=f"{around.kind} {around.name}" if around is not None else "",
        role=f"lines {around.line + 1:,} to {around.last + 1:,}" if around is not None else "",
        called=tuple(Ref(f"{'  ' * entry.level}{entry.name}", entry.kind, entry.line) for entry in listed),
        more=len(page.entries) - len(listed) + page.more,
        facts=tuple(facts),
        source=places,
        raw=decode(page.raw(line, 0, _RAW)),
        size=end - begin,
        complete=True,
    )


def _place(page: Page, entry: Entry | None) -> int:
    return page.entries.index(entry) if entry is not None and len(page.entries) > LISTED else 0


def build(found: Inspection, width: int) -> list[Row]:
    """All rows for a line of a page."""
    rows = wrap(found.title, width, "title", " ")
    for fact in found.facts:
        rows += wrap(visible(fact), width, "text", " ")
    if found.computation:
        rows += [row(), row(Span(f" line {found.line + 1:,} is in", "heading"))]
        rows += wrap(visible(found.computation), width, "name", " ")
        rows.append(row(Span(f" {found.role}", "muted")))
    if found.source:
        rows += [row(), row(Span(" made by", "heading"))]
        for origin in found.source:
            rows += wrap(visible(origin), width, "text", " ")
    if found.called:
        rows += [
            row(),
            row(Span(" outline", "heading"), right=[Span(f"{len(found.called) + found.more:,}", "count")]),
        ]
        base = len(rows)
        for place, ref in enumerate(found.called):
            here = ref.line <= found.line and (
                place + 1 == len(found.called) or found.called[place + 1].line > found.line
            )
            role = "accent" if here else "name"
            number = [Span(f"{ref.line + 1:,}", "line_number")]
            key = Jump(ref.line, base + place)
            rows.append(row(" ", Span(ref.name, role), Span(f"  {ref.what}", "muted"), right=number, key=key))
        if found.more:
            rows.append(row(Span(f" and {found.more:,} more: V lists them", "muted")))
    rows += [
        row(),
        row(
            Span(" V", "key"),
            Span(" outline  ", "key_text"),
            Span("{ }", "key"),
            Span(" up and down the ladder  ", "key_text"),
            Span("U", "key"),
            Span(" lists it", "key_text"),
        ),
    ]
    rows += [row(), row(Span(" in the file", "heading"), right=[Span(size_text(found.size), "count")])]
    return rows + wrap(found.raw.strip(), width, "muted", " ")
