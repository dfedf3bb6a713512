"""The screens about memory and operations, on real dumps: what is seen, and where the keys lead."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path

import pytest

from hlo_tui.memory.timeline import timeline
from hlo_tui.ui.memoryrows import column_of, plot_columns, plot_rows, step_of
from tests.memory.reports import OWN
from tests.memory.test_pasted import GPU, TPU
from tests.ui.driving import Driver, driving
from tests.ui.test_passes import choose, done, panel, text_of


def only(directory: Path, name: str) -> Path:
    """A directory with one module of the dump."""
    made = directory / "xladump"
    made.mkdir()
    for path in sorted(OWN.glob(f"*.jit_{name}.*")):
        shutil.copy2(path, made)
    return made


@pytest.fixture
def train(tmp_path):
    """A training step: a loop forward, one backward, and donated weights."""
    return only(tmp_path, "train")


async def memory(app: Driver) -> None:
    """Open the memory screen and wait until all of it is there."""
    await app.opened()
    await app.press("M")
    await done(app)
    await app.sees("in use at this moment")
    await app.misses("being looked up")


async def test_the_biggest_owner_is_there_with_one_key(train):
    async with driving(train) as app:
        await memory(app)
        await app.golden("memory-120x34", 0)


async def test_a_small_screen_has_room_for_it_too(train):
    async with driving(train, (80, 24)) as app:
        await memory(app)
        await app.golden("memory-80x24", 0)


async def test_another_moment_shows_what_is_in_use_then(train):
    async with driving(train) as app:
        await memory(app)
        await app.sees("the peak")
        peak = app.text
        await app.press("less_than_sign")
        await app.misses("the peak")
        await app.press("right", "right", "left", "comma", "full_stop", "p")
        await app.until(lambda: app.text == peak, "the peak again")


async def test_enter_shows_the_instruction_in_the_code_and_h_the_moment_of_the_code(train):
    async with driving(train) as app:
        await memory(app)
        await choose(app, "%while.13{2}")
        await app.press("enter")
        await app.opened()
        assert app.app.desk.wanted.place.label == "cpu_after_optimizations"
        await app.until(lambda: app.app.desk.inspection.title == "while.13", "the cursor is there")
        await app.press("M")
        await done(app)
        await app.press("h")
        await app.sees("%while.13  ")
        await app.press("c")
        await app.until(lambda: app.app.screen is app.app.main, "the code")
        assert app.app.desk.inspection.title == "while.13"


async def test_scopes_donations_and_allocations(tmp_path):
    async with driving(only(tmp_path, "exchanged")) as app:
        await memory(app)
        await app.press("s")
        await app.sees("by scope of the op_name", "jit(exchanged)/add")
        await app.press("d")
        await app.sees("argument 0 %state.1 (state): result {0} lies in it, and %copy copies it")
        await choose(app, "argument 1")
        await app.press("a")
        await choose(app, "temporary")
        await app.press("enter")
        await app.sees("16,384")
        await app.press("left")
        await app.misses("16,384")
        await app.press("d")
        await choose(app, "argument 1")
        await app.press("enter")
        await app.opened()
        await app.until(lambda: app.app.desk.inspection.title == "copy.1", "the copy is shown")


async def test_two_reports_are_compared(train, tmp_path):
    beside = tmp_path / "beside"
    beside.mkdir()
    other = only(beside, "exchanged")
    async with driving(train) as app:
        await memory(app)
        await app.press("equals_sign")
        await app.type("nowhere")
        await app.press("enter")
        await app.sees("Cannot open the file")
        await app.press("equals_sign")
        app.app.screen.query_one("Prompt").value = str(other)
        await app.press("enter")
        await app.sees("there  jit_exchanged", "change", "gone ")
        await app.press("o")
        await app.sees("in use at this moment")


@pytest.mark.parametrize("text", [TPU, GPU])
async def test_a_message_that_was_pasted_into_a_file(tmp_path, text):
    path = tmp_path / "oom.txt"
    path.write_text(text)
    async with driving(path) as app:
        await app.until(lambda: app.app.desk.opened is not None and app.app.desk.opened.scanned, "it is open")
        await app.press("M")
        await done(app)
        await app.sees("the largest first", "GiB")
        await app.press("less_than_sign")
        await app.sees("no schedule is known here")
        await choose(app, "8.00 GiB" if text is TPU else "3.00 GiB")
        await app.press("enter")
        await app.until(lambda: app.app.screen is app.app.main, "the message")
        await app.until(
            lambda: "ize: " in text.split("\n")[app.line - 1] or "Buffer" in text.split("\n")[app.line - 1]
        )


async def test_what_has_no_memory_says_why(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("hello\n")
    async with driving(path) as app:
        await app.until(lambda: app.app.desk.opened is not None, "it is open")
        await app.press("M")
        await done(app)
        await app.sees("nothing about memory is in this")


async def test_a_stage_that_nothing_was_dumped_about_is_estimated(tmp_path):
    path = tmp_path / "train.txt"
    shutil.copy(next(OWN.glob("*train.cpu_after_optimizations.txt")), path)
    async with driving(path) as app:
        await memory(app)
        await app.sees("estimated")
        panel(app).rows.action_edge(1)
        await app.sees("an estimate: no buffer assignment")


async def test_operations(train):
    async with driving(train) as app:
        await app.opened()
        await app.press("O")
        await done(app)
        await app.golden("operations-120x34", 0)
        await app.press("b")
        await app.press("o")
        await app.sees("multiply")
        await app.press("s")
        await app.sees("jit(train)")
        await app.press("d")
        await app.sees("No device sends anything")
        await app.press("i")
        await app.press("enter")
        await app.until(lambda: app.app.screen is app.app.main, "the code")


async def test_collectives(tmp_path):
    async with driving(only(tmp_path, "reduced")) as app:
        await app.opened()
        await app.press("right_square_bracket", "O")
        await done(app)
        await app.press("d")
        await app.sees("all-gather %all-gather in groups of 2")
        await choose(app, "all-reduce")
        await app.press("enter")
        await app.opened()
        await app.until(lambda: app.app.desk.inspection.title == "all-reduce", "it is shown")


async def test_closing_comes_back(train):
    async with driving(train) as app:
        for key, close in (("M", "M"), ("M", "q"), ("O", "O"), ("O", "backspace"), ("M", "ctrl+c")):
            await app.opened()
            await app.press(key)
            await done(app)
            await app.press(close)
            await app.until(lambda: app.app.screen is app.app.main, "the main screen")


@pytest.mark.parametrize("count", [1, 2, 7, 60, 61, 1000, 12345])
@pytest.mark.parametrize("width", [40, 80, 200])
def test_the_plot_fits_and_its_sign_is_where_the_moment_is(count, width):
    line = timeline([f"i{n}" for n in range(count)], 5, [])
    columns = plot_columns(line, width)
    assert len(columns) <= width - 12
    places = [column_of(line, at, width) for at in range(count)]
    assert places == sorted(places)
    assert places[-1] < len(columns)
    rows = plot_rows(line, columns, count // 2, width, 4)
    assert len(rows) == 5
    assert step_of(line, width) * (width - 12) >= count
    assert f"{count // 2:,} of {count:,}" in text_of(rows[-1])


@pytest.mark.parametrize("key", ["M", "O"])
async def test_what_was_stopped_says_so_and_begins_again(train, key, monkeypatch):
    async with driving(train) as app:
        await app.opened()
        wait = threading.Event()
        for module in ("memoryscreen.gathering.of_module", "operationscreen.cost_of"):
            monkeypatch.setattr(f"hlo_tui.ui.{module}", lambda *_: wait.wait() and None)
        await app.press(key)
        await app.until(lambda: panel(app).work is not None, "it has begun")
        await app.press("ctrl+c")
        wait.set()
        await done(app)
        await app.sees("stopped before anything was known")
        monkeypatch.undo()
        await app.press("q", key)
        await done(app)
        await app.sees("in use at this moment" if key == "M" else "FLOP")
