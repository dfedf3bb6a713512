"""The head of the screen, the head of the code, and what stands where there is no code."""

from __future__ import annotations

from collections.abc import Sequence

from hlo_tui.dump.words import count_text, size_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.codetext import CodeText
from hlo_tui.ui.glyphs import DOT, TAGGED
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.shelf import Shelf
from hlo_tui.ui.treerows import clock

_PANES = (
    ("1", "Modules", "modules"),
    ("2", "Code", "code"),
    ("3", "Info", "info"),
    ("4", "Replay", "replay"),
)


def header(root: str, shelf: Shelf | None, mode: str, follow: bool, pane: str, narrow: bool) -> Row:
    """The first line: what is watched, how, and how much there is."""
    left = [Span(" hlo-tui ", "title"), Span(f" {visible(root)}", "status")]
    facts: list[Span] = [Span(mode or "looking", "live" if mode else "busy")]
    if follow:
        facts.append(Span(" follows new modules", "notice"))
    if shelf is not None:
        words = [f"last file {clock(shelf.mtime_ns)}" if shelf.mtime_ns else "no file yet"]
        if not narrow:
            words.append(count_text(shelf.files, "file"))
        words.append(count_text(shelf.count, "module"))
        facts.append(Span("".join(f" {DOT} {word}" for word in words), "muted"))
    if narrow:
        facts.append(Span("   "))
        for key, name, of in _PANES:
            facts.append(Span(f"{key} {name} ", "title" if of == pane else "title_away"))
    return Row(tuple(left), (*facts, Span(" ")))


def code_title(text: CodeText | None, line: int, focused: bool, changed: bool) -> Row:
    """What is open, and where the cursor is in it."""
    if text is None:
        return row(Span(" Code", "title" if focused else "title_away"))
    opened = text.opened
    want = opened.want
    name = visible(want.title or opened.module.name.rsplit("/", 1)[-1])
    spans = [Span(f" {name}", "title" if focused else "title_away"), Span(f"  {visible(want.stage)}", "text")]
    outline = opened.module.outline
    if opened.hlo and opened.scanned and outline is not None:
        if outline.header.scheduled:
            spans.append(Span("  scheduled", "muted"))
        if outline.header.num_partitions > 1:
            spans.append(Span(f"  {outline.header.num_partitions} partitions", "muted"))
        if opened.tagged:
            spans.append(Span(f"  {TAGGED} {len(opened.tagged)}", "tagged"))
        if outline.elided_constants:
            spans.append(Span(f"  {outline.elided_constants} constants elided", "muted"))
    if opened.note:
        spans.append(Span(f"  {visible(opened.note)}", "muted"))
    if changed:
        spans.append(Span("  replaced on disk: r reads it again", "notice"))
    if opened.scanned:
        where = f"{line + 1:,} of {text.count:,} "
    else:
        where = f"{size_text(opened.module.source.size)}, being read "
    return Row(tuple(spans), (Span(where, "count"),))


def problem_rows(problem: HloTuiError, width: int) -> list[Row]:
    """An error where the code would be."""
    rows = [row(), row(Span(f"  {visible(problem.title)}", "problem"))]
    for text in (problem.message, problem.hint):
        if text:
            rows += wrap(visible(text), width, "text", "  ")
    return rows


def empty_rows(lines: Sequence[str], mode: str, width: int) -> list[Row]:
    """Why a dump is empty and what to do."""
    rows = [row()]
    for line in lines:
        head, colon, command = line.partition(": ")
        if colon and ("XLA_FLAGS" in command or command.startswith("hlo-tui ")):
            rows += [row(), *wrap(f"{head}:", width, "text", "  "), *wrap(command, width, "strong", "      ")]
        elif line.startswith("- "):
            rows += wrap(line, width, "muted", "  ")
        else:
            rows += [row(), *wrap(line, width, "text", "  ")]
    rows += [row(), row(Span(f"  {mode}: what comes is shown here at once.", "live"))]
    return rows
