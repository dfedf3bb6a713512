"""The head of the screen, the head of the code, and what stands where there is no code."""

from __future__ import annotations

from hlo_tui.dump.words import count_text, size_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.codetext import CodeText
from hlo_tui.ui.glyphs import DOT, MORE, TAGGED
from hlo_tui.ui.rows import Row, Span, row, width_of, wrap
from hlo_tui.ui.shelf import ONE_FILE, Shelf
from hlo_tui.ui.treerows import clock

_PANES = (
    ("1", "Modules", "modules"),
    ("2", "Code", "code"),
    ("3", "Info", "info"),
    ("4", "Replay", "replay"),
)


def header(
    root: str, shelf: Shelf | None, mode: str, follow: bool, pane: str, width: int, narrow: bool
) -> Row:
    """The first line: what is watched, how, and how much there is."""
    right: list[Span] = [Span(mode or "looking", "live" if mode else "busy")]
    if follow:
        right.append(Span(f" {DOT} follows", "notice"))
    if shelf is not None and (shelf.count or mode != ONE_FILE):
        right.append(Span("".join(f" {DOT} {word}" for word in _counts(shelf, narrow)), "muted"))
    if narrow:
        right.append(Span("  "))
        for key, words, of in _PANES:
            right += [Span(f" {key}", "key"), Span(f" {words}", "title" if of == pane else "title_away")]
    program = " hlo-tui "
    path = _tail(visible(root), width - width_of(right) - len(program) - 3)
    return Row((Span(program, "title"), Span(f" {path}", "status")), (*right, Span(" ")))


def _counts(shelf: Shelf, narrow: bool) -> list[str]:
    modules = count_text(shelf.count, "module")
    if narrow:
        return [modules]
    last = f"last file {clock(shelf.mtime_ns)}" if shelf.mtime_ns else "no file yet"
    return [last, count_text(shelf.files, "file"), modules]


def _tail(path: str, room: int) -> str:
    """The end of a path where there is no room for all of it."""
    return path if len(path) <= room else MORE + path[len(path) - max(8, room - 1) :]


def code_title(text: CodeText | None, line: int, focused: bool, changed: bool) -> Row:
    """What is open, and where the cursor is in it."""
    if text is None:
        return row(Span(" Code", "title" if focused else "title_away"))
    opened = text.opened
    want = opened.want
    name = visible(want.title or want.path.name)
    spans = [Span(f" {name}", "title" if focused else "title_away")]
    if want.stage != name:
        spans.append(Span(f"  {visible(want.stage)}", "text"))
    if changed:
        spans.append(Span("  replaced on disk", "notice"))
    outline = text.outline
    if opened.hlo and outline is not None:
        if outline.header.scheduled:
            spans.append(Span("  scheduled", "muted"))
        if outline.header.num_partitions > 1:
            spans.append(Span(f"  {outline.header.num_partitions} partitions", "muted"))
        if opened.tagged:
            spans.append(Span(f"  {TAGGED} {len(opened.tagged)}", "tagged"))
        if outline.elided_constants:
            spans.append(Span(f"  {count_text(outline.elided_constants, 'constant')} elided", "muted"))
    if opened.page is not None:
        spans.append(Span(f"  {visible(opened.kind)}", "muted"))
    if opened.note:
        spans.append(Span(f"  {visible(opened.note)}", "muted"))
    if outline is not None:
        where = f"{line + 1:,} of {text.count:,} "
    else:
        where = f"{size_text(opened.source.size)}, being read "
    return Row(tuple(spans), (Span(where, "count"),))


def problem_rows(problem: HloTuiError, width: int) -> list[Row]:
    """An error where the code would be."""
    rows = [row(), row(Span(f"  {visible(problem.title)}", "problem"))]
    for text in (problem.message, problem.hint):
        if text:
            rows += wrap(visible(text), width, "text", "  ")
    return rows


def choose_rows(width: int) -> list[Row]:
    """What to do where there are files and no module to begin with."""
    words = "No module here has a stage. Choose a file among the modules: the arrows unfold, enter opens."
    return [row(), *wrap(words, width - 2, "text", "  ")]


_WAITING = (
    "The job that was started with this screen dumps here: a module appears when the first one is compiled. Its "
    "output is below."
)


def empty_rows(shelf: Shelf, mode: str, width: int, waiting: bool = False, ended: int = 0) -> list[Row]:
    """Why there is no module, and what to do; `waiting` for a job that was started with the screen and runs, `ended`
    with the exit code of one that failed.
    """
    rows = [row()]
    if ended:
        words = f"The job ended with exit code {ended} before a module was dumped: 5 shows its output."
        rows += [*wrap(words, width - 2, "problem", "  "), row()]
    for line in (shelf.explanation[0], _WAITING) if waiting else shelf.explanation:
        head, colon, command = line.partition(": ")
        if colon and ("XLA_FLAGS=" in command or command.startswith("hlo-tui ")):
            rows += [
                row(),
                *wrap(f"{head}:", width - 2, "text", "  "),
                row(Span(f"      {command}", "strong")),
            ]
        elif line.startswith("- "):
            first, *rest = wrap(line[2:], width - 6, "muted", "    ")
            rows += [row(Span("  - ", "muted"), *first.spans[1:]), *rest]
        else:
            rows += [row(), *wrap(line, width - 2, "text", "  ")]
    return [
        *rows,
        row(),
        row(Span(f"  {mode}: ", "live"), Span("what comes is shown here at once.", "muted")),
    ]
