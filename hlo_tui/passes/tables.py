"""Columns of text for people, without colour."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from hlo_tui.hlo.visible import visible


def table(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """Lines in which the cells of a column stand under one another, safe for a terminal.

    Args:
        rows: of one length each.
        right: the columns that end at one place rather than begin there.
    """
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = []
    for row in shown:
        cells = [
            cell.rjust(width) if number in right else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines
