"""The screens of what the compiler did, on real dumps: what is seen, and where the keys lead."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hlo_tui.ui.passes.screen import TaskPanel
from tests.passes.dumped import PASSES
from tests.ui.driving import Driver, driving


@pytest.fixture
def inverse(tmp_path):
    """log(exp(x)), which the simplifier turns into x."""
    return only(tmp_path, "jit_inverse")


@pytest.fixture
def tagged(tmp_path):
    """A tagged program."""
    return only(tmp_path, "jit_tagged")


def only(directory: Path, name: str) -> Path:
    """A directory with one module of the dump."""
    made = directory / "xladump"
    made.mkdir()
    for path in sorted(PASSES.glob(f"*.{name}.*")):
        shutil.copy2(path, made)
    return made


def panel(app: Driver) -> TaskPanel:
    screen = app.app.screen
    assert isinstance(screen, TaskPanel), screen
    return screen


async def done(app: Driver) -> None:
    """Wait until the screen's task has ended."""
    await app.until(lambda: panel(app).work is not None and panel(app).work.done, "the task has ended")


async def choose(app: Driver, words: str) -> None:
    """Put the cursor on the row with these words."""
    rows = panel(app).rows
    await app.until(lambda: any(words in text_of(line) for line in rows.rows), f"a row with {words!r}")
    rows.put_cursor(next(line.key for line in rows.rows if words in text_of(line) and line.key is not None))


def text_of(line) -> str:
    return "".join(span.text for span in (*line.spans, *line.right))


async def test_the_timeline_shows_what_each_pass_changed_and_folds_the_others(inverse):
    async with driving(inverse) as app:
        await app.opened()
        await app.press("p")
        await done(app)
        await app.sees(
            "Passes of jit_inverse #16", "0006 simplification › algsimp", "dumps without a change", "−2"
        )
        assert "0005 simplification" not in app.text
        await choose(app, "0000–0005")
        await app.press("enter")
        await app.sees("0005   simplification › pipeline-start")
        await app.press("left")
        await app.misses("0005   simplification")
        await app.press("right_square_bracket")
        assert panel(app).rows.key.startswith("0006.simplification")


async def test_the_timeline_is_filtered_while_one_types(inverse):
    async with driving(inverse) as app:
        await app.opened()
        await app.press("p")
        await done(app)
        await app.press("slash")
        await app.type("algsimp")
        await app.misses("copy-insertion")
        await app.sees("0006 simplification › algsimp")
        await app.press("enter")
        await app.press("slash", "ctrl+a", "ctrl+k")
        await app.type("nothing")
        await app.sees("no pass and no pipeline is called like that")


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_timeline_and_difference_as_they_were_looked_at(inverse, size):
    for path in inverse.iterdir():
        # The times of files differ from one copy to the next.
        os.utime(path, (1_700_000_000, 1_700_000_000))
    async with driving(inverse, size=size) as app:
        await app.opened()
        await app.press("p")
        await done(app)
        await app.golden(f"timeline-{size[0]}x{size[1]}")
        await choose(app, "algsimp")
        await app.press("d")
        await app.sees("log f32[3]")
        await app.golden(f"diff-{size[0]}x{size[1]}")


async def test_enter_in_the_timeline_opens_the_stage_at_the_same_instruction(tagged):
    async with driving(tagged) as app:
        await app.opened()
        await app.press("2")
        await app.until(lambda: app.app.desk.inspection.title == "tanh.1", "at the tag")
        await app.press("p")
        await done(app)
        await choose(app, "hlo_normalization")
        await app.press("enter")
        await app.until(lambda: app.app.desk.wanted.stage.startswith("0015"), "the stage is open")
        await app.opened()
        assert app.app.desk.inspection.tags
        await app.press("backspace")
        await app.until(lambda: app.app.desk.wanted.stage == "before", "back again")


async def test_two_marked_stages_are_compared_and_a_change_leads_to_the_code(inverse):
    async with driving(inverse) as app:
        await app.opened()
        await app.press("p")
        await done(app)
        await choose(app, "0006")
        await app.press("m")
        await app.sees("d on another stage compares it with this one")
        await choose(app, "before_optimizations")
        await app.press("d")
        await app.sees("a  before", "b  0006")
        await choose(app, "%exp.1 = ")
        await app.press("y")
        await app.sees("bytes")
        await app.press("enter")
        await app.until(lambda: app.app.screen is app.app.main, "in the code")
        await app.opened()
        assert (app.app.desk.inspection.title, app.app.desk.wanted.stage) == ("exp.1", "before")


async def test_kinds_of_changes_are_hidden_and_shown_again(tagged):
    async with driving(tagged) as app:
        await app.opened()
        await app.press("p")
        await done(app)
        await choose(app, "propagate-call-metadata")
        await app.press("d")
        await app.sees("by kind: metadata")
        changes = len(panel(app).compared.changes)
        await app.press("h")
        await app.sees("Kinds of changes", "shown")
        await app.press("enter")
        await app.sees("hidden")
        await app.press("q")
        await app.sees("hidden")
        await app.until(lambda: len(panel(app).compared.changes) < changes, "fewer changes")


async def test_the_difference_goes_from_change_to_change(inverse):
    async with driving(inverse) as app:
        await app.opened()
        await app.press("p")
        await done(app)
        await choose(app, "0006")
        await app.press("d")
        await app.sees("b  0006 simplification › algsimp")
        await app.press("right_square_bracket")
        await app.until(
            lambda: "0006 simplification › algsimp" not in app.text.split("\n b ")[1], "the next change"
        )
        await app.press("left_square_bracket")
        await app.sees("b  0006 simplification › algsimp")
        await app.press("left_square_bracket")
        await app.sees("There is no change before that")


async def test_changes_since_the_stage_before_have_a_key_of_their_own(inverse):
    async with driving(inverse) as app:
        await app.opened()
        await app.press("D")
        assert app.app.screen is app.app.main
        await app.sees("there is no stage before this one")
        await app.press("2", "right_square_bracket")
        await app.opened()
        await app.press("D")
        await app.sees("a  before", "nothing differs")


async def test_the_values_of_two_stages_part_where_the_pass_changed_them(inverse):
    async with driving(inverse) as app:
        await app.opened()
        await app.press("p")
        await done(app)
        await choose(app, "0006")
        await app.press("d")
        await app.sees("b  0006")
        await app.press("v")
        await app.sees("1 instruction ran in both")


async def test_an_instruction_is_followed_from_its_line_to_its_fusion(tagged):
    async with driving(tagged) as app:
        await app.opened()
        await app.press("2")
        await app.until(lambda: app.app.desk.inspection.title == "tanh.1", "at the tag")
        await app.press("o")
        await done(app)
        await app.sees("The life of %tanh.1", "programs.py", "at the end in")
        await choose(app, "0019")
        await app.press("enter")
        await app.until(lambda: app.app.desk.wanted.stage.startswith("0019"), "the stage is open")


async def test_each_tag_is_shown_with_the_stages_it_lives_at(tagged):
    async with driving(tagged) as app:
        await app.opened()
        await app.press("K")
        await done(app)
        await app.sees('breakpoint="true"', "stages")
        await app.press("enter")
        await app.sees("▶ before")


async def test_a_lost_tag_is_offered_with_the_place_to_stop_instead(tmp_path):
    dump = only(tmp_path, "jit_tagged")
    for path in dump.glob("*.txt"):
        if ".before_opt" not in path.name:
            text = path.read_text()
            path.write_text(text.replace("frontend_attributes={breakpoint=", "frontend_attributes={other="))
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "right_square_bracket")
        await app.opened()
        await app.sees("K shows where to stop instead")
        await app.press("c")
        await app.sees("c again runs to the end")
        await app.press("K")
        await done(app)
        await app.sees("lost here; stop instead at %")
        await app.press("b")
        await app.sees("3 stops set")
        await app.press("q")
        await app.sees("◆")


async def test_the_guilty_pass_is_found_with_the_keyboard_alone(inverse):
    async with driving(inverse) as app:
        await app.opened()
        await app.press("P")
        await app.sees("start", "at most", "inputs")
        await app.press("s")
        await app.sees("replay 1 of at most")
        await app.until(lambda: panel(app).work.done, "a verdict")
        await app.sees("the pass algsimp of simplification (step 0006)", "inf", "what that pass changed")
        await app.press("q")
        await app.press("P")
        await app.sees("the pass algsimp of simplification (step 0006)")
        await app.press("d")
        await app.sees("Difference", "b  0006 simplification › algsimp")


async def test_a_search_is_stopped_and_says_how_far_it_came(inverse):
    async with driving(inverse) as app:
        await app.opened()
        await app.press("P", "s")
        await app.sees("replay 1")
        await app.press("ctrl+c")
        await app.until(lambda: panel(app).work.done, "the end")
        await app.sees("stopped")
        assert app.app.screen is not app.app.main
        await app.press("ctrl+c")
        assert app.app.screen is app.app.main


async def test_settings_of_a_search_are_typed_and_checked(inverse):
    async with driving(inverse) as app:
        await app.opened()
        await app.press("P")
        await choose(app, "output")
        await app.press("enter")
        await app.type("x")
        await app.press("enter")
        await app.sees("Not an output")
        await choose(app, "inputs")
        await app.press("enter", "ctrl+a", "ctrl+k")
        await app.type("made 7")
        await app.press("enter")
        await app.sees("made, seed 7")
        await app.press("s")
        await app.until(lambda: panel(app).work.done, "a verdict")
        await app.sees("no pass changed what it computes", "large")
        await choose(app, "all kinds with several seeds")
        await app.press("enter")
        await app.sees("the pass algsimp")
        await app.press("d")
        await app.sees("b  0006")
        await app.press("v")
        await app.sees("inputs: large", "1 differ", "element")
        await app.press("i", "ctrl+a", "ctrl+k")
        await app.type("zeros")
        await app.press("enter")
        await app.sees("inputs: zeros", "all that ran agrees")


async def test_recompiles_and_costs_of_the_whole_dump(tmp_path):
    dump = only(tmp_path, "jit_again")
    async with driving(dump) as app:
        await app.opened()
        app.app.action_command("recompiles")
        await done(app)
        await app.sees("jit_again", "×4", "#24")
        await choose(app, "#24")
        await app.press("d")
        await app.sees("a  jit_again #22", "b  jit_again #24", "changed")
        await app.press("q")
        await app.press("enter")
        await app.until(lambda: app.app.desk.wanted.place.module.id == 24, "the module is open")
        app.app.action_command("costs")
        await done(app)
        await app.sees("slowest modules", "jit_again #22")


async def test_another_dump_is_compared_module_by_module(inverse, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(inverse, other)
    (after,) = other.glob("*cpu_after_optimizations.txt")
    after.write_text(after.read_text().replace("f32[3]", "f32[5]"))
    async with driving(inverse) as app:
        await app.opened()
        app.app.action_command("other")
        await app.type(str(other))
        await app.press("enter")
        await done(app)
        await app.sees("jit_inverse#16  after", "1 of 2 stages of 1 pair are equal")
        await app.press("enter")
        await app.sees("by kind: shape")


async def test_lines_that_a_pass_changed_are_marked_in_the_gutter(tagged):
    async with driving(tagged) as app:
        await app.opened()
        app.app.action_command("timeline")
        await done(app)
        await choose(app, "fusion-wrapper")
        await app.press("up", "enter")
        await app.until(lambda: app.app.main.code.changes, "the changes are known")
        (new,) = [line for line, sign in app.app.main.code.changes.items() if sign == "+"][:1]
        app.app.jump(new)
        await app.sees("+")
        text = app.app.desk.text
        assert "fusion" in text.raw(new).decode() or "fused" in text.computation(new).name
        assert all(b" = " in text.raw(line) for line in app.app.main.code.changes)


async def test_a_search_goes_on_while_one_reads_and_says_when_it_has_ended(inverse):
    async with driving(inverse) as app:
        await app.opened()
        await app.press("P", "s")
        await app.sees("replay 1")
        await app.press("q", "2", "down")
        assert app.app.screen is app.app.main
        await app.sees("has ended: P shows what it found")
        await app.press("P")
        await app.sees("the pass algsimp")
