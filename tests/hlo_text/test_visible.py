"""What must not reach a terminal."""

from __future__ import annotations

import sys
import unicodedata

from hlo_tui.hlo.visible import decode, visible


def test_every_character_that_moves_hides_or_turns_text_is_marked() -> None:
    """Unicode's controls, formats, separators of lines and surrogates; the joiners and marks of letters stay."""
    harmless = {0xAD, *range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2}
    for code in range(sys.maxunicode + 1):
        category = unicodedata.category(chr(code))
        if category in ("Cc", "Zl", "Zp", "Cs") or (
            category == "Cf" and code < 0x11000 and code not in harmless
        ):
            assert visible(chr(code)) != chr(code), hex(code)
            assert len(visible(chr(code))) == 1


def test_letters_stay() -> None:
    text = "jit_f <lambda> π 名前 é ×…"
    assert visible(text) == text
    assert decode(b"a\x1b\xff\n") == "a\u241b\ufffd\u240a"
