"""Names of modules that a terminal must not be sent as they are."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from hlo_tui.theme.theme import load
from hlo_tui.ui.bars import rule
from hlo_tui.ui.paint import Paint
from tests.corpus import DATA
from tests.ui.driving import driving

UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
NAME = b"module_0002.\xffx\x1b[31m\n."


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    dump = tmp_path / "odd"
    dump.mkdir()
    (text,) = (DATA / "replay").glob("*jit_product.before_optimizations.txt")
    for stage in (b"before_optimizations.txt", b"cpu_after_optimizations.txt"):
        (Path(os.fsdecode(os.path.join(os.fsencode(dump), NAME + stage)))).write_bytes(text.read_bytes())
    return dump


@pytest.mark.parametrize(
    ("key", "words"), [("M", " Memory  "), ("O", " Operations  "), ("n", " Replay of "), ("p", " Passes")]
)
async def test_a_title_has_marks_where_a_name_has_escapes(odd: Path, key: str, words: str):
    async with driving(odd) as app:
        await app.opened()
        await app.press("enter", key)
        await app.sees(words)
        assert UNSAFE.search(app.text) is None


def test_whatever_is_painted_is_safe():
    paint = Paint(load("dark"))
    assert paint.segment("a\x1b[31m\udcff\n", "text").text == "a␛[31m\ufffd␊"
    assert UNSAFE.search("".join(span.text for span in rule("a\x1b\n", True, 40).spans)) is None
