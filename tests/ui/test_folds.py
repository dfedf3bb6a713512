"""Folds against the plain definition: the rows are the lines that are not hidden."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.ui.folds import Folds


@given(st.integers(1, 60), st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=5))
def test_rows_are_the_lines_that_are_not_hidden(lines, ranges):
    ranges = [(first, min(last, lines - 1)) for first, last in ranges if first < lines]
    hidden = {line for first, last in ranges for line in range(first, last + 1)}
    shown = [line for line in range(lines) if line not in hidden]
    folds = Folds(lines, ranges)
    assert folds.rows == len(shown)
    assert [folds.line_of(row) for row in range(folds.rows)] == shown
    for row, line in enumerate(shown):
        assert folds.row_of(line) == row
        assert not folds.hides(line)
    for line in hidden:
        assert folds.hides(line)
        before = [row for row, one in enumerate(shown) if one < line]
        assert folds.row_of(line) == (before[-1] if before else 0)
