"""The canvas: what it sends has the effect of the frame, on a terminal that looks at both, in fewer bytes."""

from __future__ import annotations

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from hlo_tui.ui.canvas import PLAIN, Canvas, Sgr, change, parse

WIDTH, HEIGHT = 24, 6


def cells(screen: pyte.Screen) -> list[list[tuple[object, ...]]]:
    """What can be seen: a blank shows its ground and lines on it only."""
    rows = []
    for y in range(HEIGHT):
        row = []
        for x in range(WIDTH):
            cell = screen.buffer[y][x]
            color = None if cell.data == " " and not (cell.underscore or cell.reverse) else cell.fg
            bold = cell.bold and cell.data != " "
            row.append((cell.data, color, cell.bg, bold, cell.underscore, cell.reverse))
        rows.append(row)
    return rows


class Pair:
    """A terminal that gets the frames, and one that gets what the canvas makes of them."""

    def __init__(self) -> None:
        self.plain, self.short = pyte.Screen(WIDTH, HEIGHT), pyte.Screen(WIDTH, HEIGHT)
        for screen in (self.plain, self.short):
            screen.reset_mode(pyte.modes.DECAWM)
        self.canvas = Canvas()
        self.canvas.forget(WIDTH, HEIGHT)

    def draw(self, frame: str) -> str:
        sent = self.canvas.draw(frame)
        assert sent is not None
        pyte.Stream(self.plain).feed(frame.replace("\n", ""))
        pyte.Stream(self.short).feed(sent)
        assert cells(self.plain) == cells(self.short)
        return sent


STYLES = [
    "",
    "0",
    "1",
    "4",
    "7",
    "1;4",
    "31",
    "38;5;110",
    "48;5;234",
    "38;5;110;48;5;234",
    "1;38;2;1;2;3",
    "91;100",
]
texts = st.text(st.sampled_from("ab %=(),1 ▶●…"), min_size=1, max_size=WIDTH)
pieces = st.tuples(
    st.integers(0, HEIGHT - 1),
    st.integers(0, WIDTH - 1),
    st.lists(st.tuples(st.sampled_from(STYLES), texts), max_size=4),
)


def frame_of(parts: list[tuple[int, int, list[tuple[str, str]]]]) -> str:
    out = []
    for y, x, runs in parts:
        room = WIDTH - x
        out.append(f"\x1b[{y + 1};{x + 1}H")
        for style, text in runs:
            text, room = text[:room], room - len(text[:room])
            if text:
                out.append(f"\x1b[{style}m{text}\x1b[0m" if style else text)
        out.append("\n")
    return "".join(out) + "\x1b[1;1H"


@settings(max_examples=300, deadline=None)
@given(st.lists(st.lists(pieces, max_size=6), min_size=1, max_size=6))
def test_the_terminal_shows_the_same(frames):
    pair = Pair()
    pair.draw(frame_of([(y, 0, [("38;5;110;48;5;234", " " * WIDTH)]) for y in range(HEIGHT)]))
    for frame in frames:
        pair.draw(frame_of(frame))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.text(st.sampled_from("ab 漢字é"), max_size=10)), max_size=8))
def test_wide_characters_do_not_shift_what_follows(rows):
    pair = Pair()
    pair.draw(frame_of([(y, 0, [("", " " * WIDTH)]) for y in range(HEIGHT)]))
    for y, text in rows:
        width = sum(cell_len(character) for character in text)
        frame = f"\x1b[{y + 1};1H\x1b[31m{text}\x1b[0m{' ' * (WIDTH - width)}\x1b[1;1H"
        pyte.Stream(pair.plain).feed(frame)
        pyte.Stream(pair.short).feed(pair.canvas.draw(frame))
        assert pair.plain.display == pair.short.display


def test_the_same_frame_again_costs_nothing():
    pair = Pair()
    frame = frame_of([(1, 2, [("1;31", "text"), ("", " more")])])
    assert pair.draw(frame)
    assert pair.draw(frame) == ""


def test_only_what_differs_is_sent():
    pair = Pair()
    pair.draw(frame_of([(y, 0, [("31", "abcdefghijklmnop")]) for y in range(HEIGHT)]))
    sent = pair.draw(
        frame_of(
            [(y, 0, [("31", "abcdefgh#jklmnop" if y == 3 else "abcdefghijklmnop")]) for y in range(HEIGHT)]
        )
    )
    assert sent == "\x1b[4;9H\x1b[31m#\x1b[m\x1b[1;1H"


def test_after_forgetting_everything_is_sent():
    pair = Pair()
    frame = frame_of([(0, 0, [("", "abc")])])
    pair.draw(frame)
    pair.canvas.forget(WIDTH, HEIGHT)
    assert "abc" in pair.canvas.draw(frame)


@pytest.mark.parametrize(
    "data", ["\x1b[?25l", "\x1b]52;c;YQ==\x07", "\x1b[2J", "text\x1b", "\x1b[1;1Hx\x1b[?2004h"]
)
def test_what_is_no_frame_is_left_alone(data):
    canvas = Canvas()
    canvas.forget(WIDTH, HEIGHT)
    assert canvas.draw(data) is None


@pytest.mark.parametrize(
    ("codes", "style"),
    [
        ("", PLAIN),
        ("1;31", Sgr(frozenset(("1",)), "31")),
        ("38;2;1;2;3;48;5;9;4", Sgr(frozenset(("4",)), "38;2;1;2;3", "48;5;9")),
        ("1;0;95;107", Sgr(frozenset(), "95", "107")),
        ("39;49", PLAIN),
    ],
)
def test_styles_are_read(codes, style):
    assert parse(codes) == style


def test_a_style_changes_in_as_few_codes_as_it_takes():
    dark = Sgr(frozenset(), "31", "48;5;234")
    assert change(dark, Sgr(frozenset(), "32", "48;5;234")) == "\x1b[32m"
    assert change(dark, Sgr(frozenset(("1",)), "31", "48;5;234")) == "\x1b[1m"
    assert change(Sgr(frozenset(("1",)), "31"), Sgr(frozenset(), "31")) == "\x1b[0;31m"
    assert change(dark, PLAIN) == "\x1b[m"
    assert change(dark, Sgr(frozenset(), "31")) == "\x1b[49m"
