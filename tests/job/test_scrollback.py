"""What a program writes on its terminal, as lines; against a terminal that others wrote (pyte)."""

from __future__ import annotations

import pyte
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hlo_tui.job.scrollback import LINES, WIDTH, Scrollback


def lines(*pieces: bytes) -> list[str]:
    screen = Scrollback()
    for piece in pieces:
        screen.feed(piece)
    return screen.lines


def test_lines_bars_and_colours() -> None:
    assert lines(b"a\r\nb\r\n") == ["a", "b", ""]
    assert lines(b"10%\r20%\r 3") == [" 3%"]
    assert lines(b"\x1b[32mgreen\x1b[0m and \x1b]8;;http://x\x07link\x1b]8;;\x07") == ["green and link"]
    assert lines(b"long line\r\x1b[Kshort") == ["short"]
    assert lines(b"one\r\ntwo\x1b[1A\rONE\x1b[1B\rTWO") == ["ONE", "TWO"]
    assert lines(b"a\tb\x08c") == ["a" + " " * 7 + "c"]


def test_pieces_may_end_anywhere() -> None:
    text = "π \x1b[1;31mred\x1b[0m\r\n\x1b]0;title\x1b\\end".encode()
    whole = lines(text)
    assert whole == ["π red", "end"]
    for at in range(len(text)):
        assert lines(text[:at], text[at:]) == whole


def test_a_great_deal_is_kept_to_the_last_of_it() -> None:
    kept = lines(*(f"{n}\r\n".encode() for n in range(LINES + 100)))
    assert len(kept) == LINES
    assert kept[-2:] == [str(LINES + 99), ""]
    (long,) = lines(b"x" * (WIDTH * 3))
    assert long == "x" * WIDTH


def test_the_tail_is_what_a_person_would_see() -> None:
    screen = Scrollback()
    assert screen.tail(3) == []
    screen.feed(b"a\r\nb\r\nc\r\nd\r\n")
    assert (screen.tail(2), screen.tail(9), screen.tail(0)) == (["c", "d"], ["a", "b", "c", "d"], [])
    screen.feed(b"e")
    assert screen.tail(2) == ["d", "e"]


@given(st.lists(st.binary(max_size=40), max_size=8))
def test_any_bytes_give_lines_without_control_characters(pieces: list[bytes]) -> None:
    for line in lines(*pieces):
        assert not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in line)


_WORDS = st.sampled_from(
    ["step", " 12", "loss ", "\r\n", "\r", "\x08", "\t", "\x1b[K", "\x1b[1K", "\x1b[2K", "\x1b[31m", "\x1b[A",
     "\x1b[2B", "\x1b[3C", "\x1b[2D", "\x1b[5G", "\x1b[E", "\x1b[F", "\x1b[J"]
)  # fmt: skip


@settings(deadline=None, max_examples=60)
@given(st.lists(_WORDS, max_size=25))
@example(["step", "\x1b[2D", "\x1b[1K"])
def test_it_is_what_another_terminal_shows(words: list[str]) -> None:
    text = "".join(words)
    terminal = pyte.Screen(200, 60)
    pyte.Stream(terminal).feed(text)
    shown = [line.rstrip() for line in terminal.display]
    mine = [line.rstrip() for line in lines(text.encode())]
    assert mine == shown[: len(mine)]
    assert not any(shown[len(mine) :])


@pytest.mark.parametrize(
    "junk", [b"\x1b[" + b"1" * 5000, b"\x1b]" + b"t" * 5000, b"\x1b[99999999999A", b"\x1b[;;;m"]
)
def test_sequences_without_an_end_are_let_go(junk: bytes) -> None:
    assert lines(junk, b"\r\n", b"x" * 600, b"\r\nafter")[-1] == "after"
