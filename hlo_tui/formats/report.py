"""What `show` says about a file that is not HLO: as data, and as text for people."""

from __future__ import annotations

from typing import Any

from hlo_tui.dump.words import count_text, size_text
from hlo_tui.formats.page import Entry, Page
from hlo_tui.hlo.visible import visible

_ROWS = 24
_COLUMNS = 100
_COUNTED = 8
_LINES, _LINE = 400, 400


def page_report(page: Page) -> dict[str, Any]:
    """A scanned page as plain data; lines are counted from 1."""
    return {
        "kind": page.sort.id,
        "format": page.sort.words,
        "language": page.sort.language,
        "note": page.note,
        "facts": list(page.facts),
        "lines": page.lines.count if page.lines is not None else 0,
        "bytes": page.source.size,
        "outline": [
            {
                "kind": entry.kind,
                "name": entry.name,
                "line": entry.line + 1,
                "last": entry.last + 1,
                "level": entry.level,
            }
            for entry in page.entries
        ],
        "more": page.more,
        "counts": dict(page.counts.most_common()),
        "hint": page.sort.hint,
    }


def page_text(page: Page) -> str:
    """A scanned page for people: about a screenful, safe for a terminal."""
    lines = page.lines.count if page.lines is not None else 0
    rows = [page.sort.words, f"{count_text(lines, 'line')}, {size_text(page.source.size)}"]
    if page.note:
        rows[1] += f" ({page.note})"
    rows += page.facts
    rows += counted(page)
    if page.sort.hint:
        rows.append(page.sort.hint)
    if page.entries:
        rows += ["", f"outline {len(page.entries):,}"]
        width = max(len(entry.kind) for entry in page.entries[:_ROWS])
        rows += [_row(entry, width) for entry in page.entries[:_ROWS]]
        left = len(page.entries) - _ROWS + page.more
        if left > 0:
            rows.append(f"  ... {left:,} more: --json lists all")
    elif page.sort.language in ("", "json", "html", "shell", "proto"):
        rows += ["", *_beginning(page)]
    return "\n".join(visible(row.rstrip()) for row in rows)


def counted(page: Page) -> list[str]:
    """What was counted, the most first, in a row; none where nothing was."""
    if not page.counts:
        return []
    if page.sort.language == "dot":
        return [", ".join(f"{count:,} {name}" for name, count in sorted(page.counts.items(), reverse=True))]
    total = count_text(sum(page.counts.values()), page.language.what)
    most = ", ".join(
        f"{name} {count:,}" for name, count in page.counts.most_common(_COUNTED) if name.isprintable()
    )
    return [total if len(page.counts) < 2 else f"{total}: {most}"]


def entry_report(page: Page, entry: Entry) -> dict[str, Any]:
    """One entry of a page with its text, bounded; lines are counted from 1."""
    return {
        "kind": entry.kind,
        "name": entry.name,
        "line": entry.line + 1,
        "last": entry.last + 1,
        "text": _text(page, entry),
        "cut": entry.last - entry.line + 1 > _LINES,
    }


def entry_text(page: Page, entry: Entry) -> str:
    """The same for people."""
    head = f"{entry.kind} {entry.name}, lines {entry.line + 1:,} to {entry.last + 1:,}"
    rows = [head, "", *_text(page, entry)]
    left = entry.last - entry.line + 1 - _LINES
    return "\n".join(rows + ([f"... {left:,} more lines"] if left > 0 else []))


def _text(page: Page, entry: Entry) -> list[str]:
    last = min(entry.last, entry.line + _LINES - 1)
    return [page.text(line)[:_LINE] for line in range(entry.line, last + 1)]


def _beginning(page: Page) -> list[str]:
    lines = page.lines.count if page.lines is not None else 0
    rows = [f"  {page.text(line)[:_COLUMNS]}" for line in range(min(lines, _ROWS))]
    return rows + ([f"  ... {lines - _ROWS:,} more lines"] if lines > _ROWS else [])


def _row(entry: Entry, width: int) -> str:
    name = entry.name if len(entry.name) <= _COLUMNS else f"{entry.name[:_COLUMNS]}..."
    lines = entry.last - entry.line + 1
    size = f", {lines:,} lines" if lines > 1 else ""
    return f"  {'  ' * entry.level}{entry.kind:<{width}}  {name}  line {entry.line + 1:,}{size}"
