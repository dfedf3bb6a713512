"""The text of an open file as rows: heads with their kinds, folded tables, very long lines by windows."""

from __future__ import annotations

from pathlib import Path

from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource
from hlo_tui.ui.codetext import CodeText
from hlo_tui.ui.marking import find_tagged
from hlo_tui.ui.opened import Opened, Want
from hlo_tui.ui.treerows import Place
from tests.ui import dumps


class Counting(BytesSource):
    """A source that counts what is read of it."""

    read_bytes = 0

    def read(self, offset: int, length: int) -> bytes:
        data = super().read(offset, length)
        self.read_bytes += len(data)
        return data


def opened(text: str, hlo: bool = True) -> tuple[CodeText, Counting]:
    source = Counting(text.encode(), "m")
    found = Opened(1, Want(Place("m"), Path("m")), source, "text", hlo=hlo)
    found.module = Module(source)
    found.module.scan()
    found.tagged = find_tagged(found.module)
    found.scanned = True
    source.read_bytes = 0
    shown = CodeText(found)
    shown.set_width(200)
    return shown, source


def shown_rows(text: CodeText) -> list[str]:
    return [
        "".join(s.text for s in text.line(text.folds.line_of(row)).spans) for row in range(text.folds.rows)
    ]


def test_heads_say_what_a_computation_is_for():
    rows = shown_rows(opened(dumps.TRAIN)[0])
    assert "▾ %region_0.4  while body" in rows
    assert "▾ %region_1.5  while condition" in rows
    assert "▾ ENTRY %main.88" in rows


def test_the_tables_before_the_code_are_one_row():
    text, _ = opened(dumps.TRAIN)
    rows = shown_rows(text)
    assert rows[2] == "▸ 15 lines of file names and stack frames"
    assert rows[4] == "▾ %region_0.4  while body"
    text.unfold()
    assert [row for row in shown_rows(text) if row == "StackFrames"] == ["StackFrames"]
    assert shown_rows(text) == dumps.TRAIN.splitlines()


def test_what_hides_a_line_opens_for_it():
    text, _ = opened(dumps.TRAIN)
    line = next(at for at, one in enumerate(dumps.TRAIN.splitlines()) if "%tanh.2 =" in one)
    text.toggle(line)
    assert text.folds.hides(line)
    assert text.reveal(line)
    assert not text.folds.hides(line)
    assert text.reveal(5)
    assert not text.folds.hides(5)


def test_before_the_scan_only_the_beginning_is_there():
    source = BytesSource(dumps.TRAIN.encode(), "m")
    early = Opened(
        1, Want(Place("m"), Path("m")), source, "text", hlo=True, head=tuple(dumps.TRAIN.splitlines()[:20])
    )
    text = CodeText(early)
    rows = shown_rows(text)
    assert rows[0].startswith("HloModule jit_train_step, is_scheduled=true")
    assert rows[2] == "▸ 15 lines of file names and stack frames"
    assert text.computation(3) is None


def test_places_come_from_the_stack_frames():
    text, _ = opened(dumps.TRAIN)
    line = next(at for at, one in enumerate(dumps.TRAIN.splitlines()) if "%add.7 =" in one)
    assert text.place(text.line(line)) == "model.py:41"


def test_a_very_long_line_is_read_by_windows():
    values = ", ".join(str(n % 97) for n in range(1_000_000))
    text, source = opened(
        f"HloModule m\n\nENTRY %m () -> s32[] {{\n  %c = s32[1000000]{{0}} constant({{{values}}})\n}}\n"
    )
    assert text.is_long(3)
    length = text.length(3)
    source.read_bytes = 0
    for column in (0, length // 2, length - 50):
        window = text.window(3, column, 100)
        assert window.width == min(100, length - column)
    assert source.read_bytes < 1000


def test_other_text_is_shown_as_it_is():
    text, _ = opened("Total bytes used: 12\n\tmetadata={x}\n", hlo=False)
    assert shown_rows(text) == ["Total bytes used: 12", " metadata={x}"]
