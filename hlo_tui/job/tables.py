"""Tables as a notebook's cell and as lines of text."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hlo_tui.hlo.visible import visible

_CELL = "text-align:left;vertical-align:top;padding:2px 10px;white-space:pre-wrap"
_CODE = f"{_CELL};font-family:monospace"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings.

    Attributes:
        title: what they are.
        headings: of the columns.
        rows: cells as they come out of files; what is in them is made safe here.
        notes: what a person should know, below.
    """

    title: str
    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()

    def text(self) -> str:
        """The table for a terminal: safe lines."""
        lines = [self.title]
        if self.rows:
            cells = [self.headings, *([visible(cell) for cell in row] for row in self.rows)]
            widths = [max(len(row[column]) for row in cells) for column in range(len(self.headings))]
            lines += ["  " + _line(row, widths) for row in cells]
        return "\n".join([*lines, *(f"  {visible(note)}" for note in self.notes)])

    def html(self) -> str:
        """The table for a cell; no script and no style of anyone else's."""
        parts = [f"<div><b>{_safe(self.title)}</b></div>"]
        if self.rows:
            head = "".join(f'<th style="{_CELL}">{_safe(name)}</th>' for name in self.headings)
            body = "".join(
                f"<tr>{''.join(f'<td style={_quoted(_CODE)}>{_safe(cell)}</td>' for cell in row)}</tr>"
                for row in self.rows
            )
            parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
        parts += [f"<div><i>{_safe(note)}</i></div>" for note in self.notes]
        return "".join(parts)


def _line(cells: Sequence[str], widths: Iterable[int]) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)).rstrip()


def _safe(text: str) -> str:
    return html.escape(visible(text))


def _quoted(style: str) -> str:
    return f'"{style}"'
