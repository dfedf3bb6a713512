"""Rows: exactly as wide as they have to be, cut with a mark, wrapped without losing a word."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from hlo_tui.ui.glyphs import BARS, TAGGED, to_ascii
from hlo_tui.ui.rows import Row, Span, fit, row, width_of, wrap

texts = st.text(st.sampled_from("abc 漢é●"), max_size=30)


def text_of(spans: list[Span]) -> str:
    return "".join(span.text for span in spans)


@given(st.lists(texts, max_size=4), st.lists(texts, max_size=2), st.integers(1, 60))
def test_a_row_takes_exactly_its_width(left, right, width):
    line = Row(tuple(map(Span, left)), tuple(map(Span, right)))
    assert width_of(fit(line, width)) == width


def test_what_does_not_fit_is_cut_with_a_mark():
    assert text_of(fit(row("abcdefgh"), 5)) == "abcd…"
    assert text_of(fit(row("abc", Span("defgh", "tag")), 8)) == "abcdefgh"
    assert fit(row("abc", Span("defgh", "tag")), 6) == [Span("abc"), Span("de…", "tag")]


def test_the_right_part_stays_at_the_edge_while_there_is_room():
    line = row("name", right=[Span("12")])
    assert text_of(fit(line, 10)) == "name    12"
    assert text_of(fit(row("a longer name", right=[Span("123456789")]), 12)) == "a longer na…"


@given(
    st.lists(st.text(st.sampled_from("abcdefgh"), min_size=1, max_size=12), min_size=1), st.integers(12, 40)
)
def test_wrapping_keeps_every_word_and_the_width(words, width):
    rows = wrap(" ".join(words), width)
    lines = ["".join(span.text for span in line.spans) for line in rows]
    assert " ".join(lines).split() == words
    assert all(cell_len(line) <= width for line in lines)


def test_a_word_that_is_too_long_is_broken():
    lines = ["".join(span.text for span in line.spans) for line in wrap("x" * 25, 10, indent="  ")]
    assert lines == ["  xxxxxxxx", "  xxxxxxxx", "  xxxxxxxx", "  x"]


def test_signs_have_one_ascii_character_each():
    for sign in (TAGGED, *BARS, "◆", "○", "▶", "✓", "▸", "▾", "…", "×", "−", "─", "→"):
        assert len(to_ascii(sign)) == 1
        assert to_ascii(sign) != "?"
    assert to_ascii("π") == "?"
