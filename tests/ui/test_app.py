"""The real app on real directories: what is seen, and what the keys do."""

from __future__ import annotations

import os
import threading

import pytest

from hlo_tui.ui.popups import Prompt
from hlo_tui.ui.screen import MainScreen
from tests.corpus import DATA
from tests.ui import dumps
from tests.ui.driving import driving


@pytest.mark.parametrize("size", [(80, 24), (120, 34), (200, 60)])
async def test_the_first_screen(dump, size):
    async with driving(dump, size) as app:
        await app.opened()
        await app.sees("● 2")
        if size[0] < 110:
            await app.golden(f"modules-{size[0]}x{size[1]}", first_row=1)
            await app.press("enter")
        await app.golden(f"code-{size[0]}x{size[1]}", first_row=1)


async def test_the_tagged_module_is_on_top_and_stands_at_its_first_tag(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.sees("▾ jit_train_step", "▸ jit_eval", "▸ 5 small modules")
        assert app.app.desk.wanted.stage == "before"
        await app.until(lambda: app.app.desk.inspection.title == "mul.3", "at the tag")
        assert "●    %mul.3" in app.text
        await app.pilot.resize_terminal(200, 40)
        await app.sees('● breakpoint="true"', '· note="a "quoted" {brace} π"')


async def test_the_cursor_in_the_modules_opens_what_it_rests_on(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("down", "down", "down")
        await app.sees("after · cpu  scheduled")
        assert app.app.main.pane == "modules"
        await app.press("enter")
        assert app.app.main.pane == "code"


async def test_folding_in_the_modules(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("end", "enter")
        await app.sees("▾ 5 small modules", "▸ jit_helper_4")
        await app.press("left")
        await app.misses("jit_helper_4")


async def test_names_are_walked_and_followed_and_come_back(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2")
        tagged = app.line
        assert app.app.main.code.target.name == "dot.9"
        await app.press("right")
        assert app.app.main.code.target.name == "tanh.2"
        await app.press("enter")
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "at the definition")
        assert app.line == tagged - 1
        await app.press("backspace")
        assert app.line == tagged
        await app.press("alt+right")
        assert app.line == tagged - 1


async def test_a_computation_is_followed_through_its_caller(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "colon")
        await app.type("while.6")
        await app.press("enter")
        await app.until(lambda: app.app.desk.inspection.title == "while.6", "at the loop")
        while app.app.main.code.target.name != "region_0.4":
            await app.press("right")
        await app.press("enter")
        await app.until(lambda: app.app.desk.inspection.kind == "computation", "at the body")
        await app.sees("while body computation", "called by", "%while.6")
        await app.press("x")
        await app.until(lambda: app.line == 44, "at its only caller, without asking")


async def test_users_are_listed_and_gone_to(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "up", "up", "x")
        await app.sees("%dot.9: used by", "%tanh.2", "%mul.3")
        await app.press("down", "enter")
        await app.until(lambda: app.app.desk.inspection.title == "mul.3", "at the second user")


async def test_searching_finds_marks_and_goes_around(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "slash")
        await app.type("compare")
        await app.press("enter")
        await app.until(lambda: app.app.desk.inspection.title == "lt.1", "at the match")
        await app.sees("match 1/1")
        await app.press("full_stop")
        await app.sees("the search began anew")
        await app.press("slash")
        await app.type("nowhere")
        await app.press("enter")
        await app.sees("not found: nowhere")
        await app.press("slash")
        await app.type("tuple(")
        await app.press("enter")
        await app.until(lambda: app.app.desk.inspection.title == "init", "text that is no expression")
        total = dumps.TRAIN.count(" tuple(")
        await app.sees(f"/{total}")


async def test_a_line_that_was_typed_before_comes_back(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2")
        for name in ("tanh.2", "compare"):
            await app.press("slash")
            await app.type(name)
            await app.press("enter")
        await app.press("slash")
        await app.type("ab")
        prompt = app.app.main.query_one(Prompt)
        seen = []
        for key in ("up", "up", "up", "down", "down"):
            await app.press(key)
            seen.append(prompt.value)
        assert seen == ["compare", "tanh.2", "tanh.2", "compare", "ab"]


async def test_what_is_typed_first_takes_the_place_of_what_was_suggested(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("1", "slash")
        await app.type("one")
        await app.press("enter", "slash")
        await app.type("eval")
        assert app.app.main.query_one(Prompt).value == "eval"


async def test_a_name_that_is_defined_under_the_cursor_leads_nowhere_and_says_so(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "colon")
        await app.type("limit")
        await app.press("enter")
        await app.until(lambda: app.app.desk.inspection.title == "limit", "at the constant")
        line = app.line
        await app.press("enter")
        await app.sees("%limit is defined here; x shows who uses it")
        assert app.line == line


@pytest.mark.parametrize("away", ["tab", "shift+tab"])
async def test_a_line_to_type_in_is_left_by_its_own_keys_only(dump, away):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "slash")
        await app.type("ab")
        await app.press(away)
        await app.type("c")
        assert app.app.main.query_one(Prompt).value == "abc"


async def test_asking_again_takes_the_place_of_what_was_asked(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "slash")
        await app.pilot.click("#code-view")
        await app.press("colon")
        await app.until(lambda: len(app.app.main.query(Prompt)) == 1, "one line to type in")
        assert app.app.main.query_one(Prompt).purpose == "line"


async def test_stages_keep_the_place(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "up")
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "one line up")
        await app.press("right_square_bracket", "right_square_bracket")
        await app.sees("after · cpu")
        await app.opened()
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "the same instruction")
        await app.press("right_square_bracket")
        await app.sees("there is no stage after this one")


# What XLA made of the loop's instructions, read off the two texts: by their op_name and source line.
LOOP = (
    ("mul.1", "mul.0", "%mul.1 is %mul.0 here, most likely"),
    ("lt.1", "lt.0", "%lt.1 is %lt.0 here"),
    ("while.5", "while.0", "%while.5 is not here; %while.0 stands in its place"),
    ("x.1", "x.1", ""),
)


@pytest.mark.parametrize(("before", "after", "words"), LOOP)
async def test_the_same_place_after_optimisation_has_another_name(before, after, words):
    async with driving(DATA / "replay") as app:
        await app.opened()
        await app.press("1", "slash")
        await app.type("jit_loop")
        await app.press("enter", "enter")
        await app.until(lambda: app.app.desk.wanted.title == "jit_loop #34", "the loop")
        await app.opened()
        await app.press("2", "colon")
        await app.type(before)
        await app.press("enter")
        await app.until(lambda: app.app.desk.inspection.title == before, "at the instruction")
        line = app.line
        await app.press("right_square_bracket")
        await app.until(lambda: app.app.desk.wanted.stage.startswith("after"), "the other stage")
        await app.opened()
        await app.until(lambda: app.app.desk.inspection.title == after, "the same place")
        assert words in app.text
        await app.press("left_square_bracket")
        await app.until(lambda: app.app.desk.wanted.stage == "before", "the first stage")
        await app.until(lambda: app.app.desk.inspection and app.app.desk.inspection.title == before, "back")
        assert app.line == line
        await app.press("backspace")
        await app.until(
            lambda: app.app.desk.inspection and app.app.desk.inspection.title == after, "the way back"
        )


async def test_what_is_gone_in_another_stage_is_said(tmp_path):
    old = dumps.helper("jit_f")
    new = old.replace("negate(%x)", "negate(%sum.9)").replace(
        "  ROOT", "  %two.3 = f32[2]{0} constant({2, 2})\n  %sum.9 = f32[2]{0} multiply(%x, %two.3)\n  ROOT"
    )
    dumps.write(tmp_path, 1, "jit_f", "before_optimizations", new)
    dumps.write(tmp_path, 1, "jit_f", "cpu_after_optimizations", old)
    async with driving(tmp_path) as app:
        await app.opened()
        await app.press("2", "colon")
        await app.type("two.3")
        await app.press("enter")
        await app.until(lambda: app.app.desk.inspection.title == "two.3", "at the constant")
        await app.press("right_square_bracket")
        await app.sees("after · cpu", "%two.3 is not here; %x stands in its place")
        await app.press("left_square_bracket")
        await app.until(lambda: app.app.desk.inspection and app.app.desk.inspection.title == "two.3", "back")


async def test_stages_are_gone_through_faster_than_they_are_read(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "up")
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "one line up")
        for _ in range(5):
            await app.pilot.press(
                "right_square_bracket", "right_square_bracket", "left_square_bracket", "left_square_bracket"
            )
        await app.pilot.press("right_square_bracket")
        await app.until(lambda: "algsimp" in app.app.desk.wanted.stage, "the pass between")
        await app.opened()
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "the same instruction")


async def test_metadata_and_computations_fold(dump):
    async with driving(dump, (250, 60)) as app:
        await app.opened()
        await app.press("2")
        await app.sees("model.py:87", "▸ 15 lines of file names and stack frames")
        await app.press("m")
        await app.sees('metadata={op_name="jit(step)/while/body/mul"', "FunctionNames")
        await app.press("m")
        await app.misses("FunctionNames")
        await app.press("z")
        await app.sees("▸ %region_0.4  while body  10 instructions")
        await app.misses("%tanh.2 =")
        await app.press("Z", "Z")
        await app.sees("▸ %region_1.5  while condition  4 instructions", "▸ ENTRY %main.88  7 instructions")


async def test_copying_gives_the_bytes_of_the_file(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "y")
        line = next(line for line in dumps.TRAIN.splitlines() if "%mul.3 =" in line)
        assert app.app.clipboard == line
        await app.sees(f"copied {len(line)} bytes")


async def test_the_modules_are_filtered_while_one_types(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("slash")
        await app.type("helper 22")
        await app.sees("jit_helper_2")
        await app.misses("jit_eval")
        await app.press("enter")
        await app.until(lambda: app.app.desk.wanted.title == "jit_helper_2 #22", "the only one left is open")
        assert app.app.main.pane == "code"
        await app.press("1", "slash", "ctrl+u", "enter")
        await app.sees("jit_eval")


async def test_the_panes_at_eighty_columns(dump):
    async with driving(dump, (80, 24)) as app:
        await app.opened()
        assert "%mul.3 =" not in app.text
        await app.press("2")
        await app.sees("%mul.3 =", "model.py:87 block")
        await app.press("3")
        await app.sees("operands", "used by")
        await app.press("4")
        await app.sees("2 operations to stop at", "c runs to the first")
        await app.press("tab")
        await app.sees("▾ jit_train_step")


async def test_the_panes_follow_the_size(dump):
    async with driving(dump, (120, 34)) as app:
        await app.opened()
        await app.press("2")
        await app.sees("▾ jit_train_step", "operands")
        await app.pilot.resize_terminal(80, 24)
        await app.misses("▾ jit_train_step")
        assert "%mul.3 =" in app.text
        await app.pilot.resize_terminal(250, 70)
        await app.sees("▾ jit_train_step", "%mul.3 =", "operands")


async def test_help_says_what_can_be_done_and_what_not(dump):
    async with driving(dump, (120, 60)) as app:
        await app.opened()
        await app.press("question_mark")
        await app.sees("Run to the next stop")
        await app.press("end")
        await app.sees("Not now", "nothing is being replayed: c begins")
        await app.press("home")
        await app.press("q")
        await app.misses("Not now")


async def test_all_of_the_help_can_be_come_to(dump):
    async with driving(dump, (80, 24)) as app:
        await app.opened()
        await app.press("question_mark")
        await app.sees("Keys ───")
        await app.press("end")
        await app.sees("pane of the job")
        await app.press("pageup", "pageup")
        await app.sees("a NaN or an infinity in the value")


async def test_what_cannot_be_done_now_says_why(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("C")
        await app.sees("nothing is being replayed: c begins")
        await app.press("2", "up")
        await app.misses("nothing is being replayed")


async def test_the_palette_runs_commands_and_opens_modules(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("ctrl+p")
        await app.type("open jit_eval")
        await app.sees("open jit_eval #14")
        await app.press("enter")
        await app.until(lambda: app.app.desk.wanted.title == "jit_eval #14", "the module is open")
        assert app.app.main.pane == "code"
        assert app.app.main.modules.key.of == app.app.desk.wanted.place.module


async def test_a_module_of_the_palette_is_seen_on_a_small_screen(dump):
    async with driving(dump, (80, 24)) as app:
        await app.opened()
        await app.press("ctrl+p")
        await app.type("open jit_helper_3")
        await app.press("enter")
        await app.sees("%neg.1 =")


@pytest.mark.parametrize(
    ("typed", "title"),
    [
        ("extract", "cut this instruction out"),
        ("bisect", "which pass broke"),
        ("breakpoints", "list of stops"),
    ],
)
async def test_the_palette_knows_other_names_of_commands(dump, typed, title):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2")
        await app.press("ctrl+p")
        await app.type(typed)
        await app.sees(title)


async def test_the_palette_says_why_a_command_cannot_run_now(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "home", "g")
        await app.until(lambda: app.app.desk.inspected == 0, "the first line is looked at")
        await app.press("ctrl+p")
        await app.type("extract")
        await app.sees("cut this instruction out", "not now: the cursor is on no instruction")


async def test_an_operand_that_is_there_twice_is_listed_once(tmp_path):
    text = dumps.helper("jit_square").replace("negate(%x)", "multiply(%x, %x)")
    dumps.write(tmp_path, 1, "jit_square", "before_optimizations", text)
    async with driving(tmp_path) as app:
        await app.opened()
        await app.press("2", "colon")
        await app.type("neg.1")
        await app.press("enter")
        await app.sees("%x ×2  f32[2]")


async def test_a_bisect_that_runs_beside_the_screen_is_said_in_its_status(dump):
    end = threading.Event()

    def job(task):
        task.say("replay 2 of at most 7: before")
        end.wait(20)

    async with driving(dump) as app:
        await app.opened()
        app.app.tasks.start("bisect", "one", job)
        await app.sees("bisect: replay 2 of at most 7")
        end.set()
        await app.misses("bisect: replay")


async def test_an_empty_directory_says_what_to_do(tmp_path):
    (tmp_path / "none").mkdir()
    async with driving(tmp_path / "none") as app:
        await app.sees("is empty", "XLA_FLAGS=--xla_dump_to=", "no module yet")
        await app.press("y")
        await app.sees("copied the command")
        assert app.app.clipboard.startswith("XLA_FLAGS=--xla_dump_to=")


async def test_a_directory_that_is_not_there_yet_is_waited_for(tmp_path):
    async with driving(tmp_path / "later") as app:
        await app.sees("is not there")
        dumps.make(tmp_path / "later")
        await app.opened()
        await app.sees("▾ jit_train_step", "%mul.3")


async def test_a_new_module_appears_and_the_selection_stays(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("down", "down", "down")
        await app.sees("after · cpu  scheduled")
        await app.press("2")
        line, key = app.line, app.app.main.modules.key
        name = "jit_later"
        dumps.write(dump, 99, name, "before_optimizations", dumps.TRAIN.replace("jit_train_step", name) * 2)
        await app.sees("jit_later")
        assert (app.line, app.app.main.modules.key) == (line, key)
        assert app.app.desk.wanted.title == "jit_train_step #12"


async def test_following_opens_what_is_new(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("w")
        await app.sees("follows")
        dumps.write(
            dump, 99, "jit_later", "before_optimizations", dumps.TRAIN.replace("jit_train_step", "jit_later")
        )
        await app.until(lambda: app.app.desk.wanted.title == "jit_later #99", "the new module is open")
        await app.opened()
        anew = dumps.EVAL.replace("HloModule jit_eval", "HloModule jit_eval, is_scheduled=true")
        dumps.write(dump, 14, "jit_eval", "before_optimizations", anew, dumps.WHEN + 90)
        await app.until(lambda: app.app.desk.wanted.title == "jit_eval #14", "what was written anew is open")


async def test_a_recompilation_says_why(dump):
    async with driving(dump, (200, 60)) as app:
        await app.opened()
        other = dumps.TRAIN.replace("(f32[4,8]{1,0}, f32[8,8]{1,0})->", "(f32[2,8]{1,0}, f32[8,8]{1,0})->")
        dumps.write(dump, 44, "jit_train_step", "before_optimizations", other, dumps.WHEN + 60)
        await app.sees("×2")
        app.app.main.modules.focus()
        await app.press("home", "right")
        await app.sees("#44", "recompiled: argument 0 is", "f32[2,8], was f32[4,8]")


async def test_a_replaced_file_is_read_again_where_the_cursor_is(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("2", "up")
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "one line up")
        path = app.app.desk.wanted.path
        text = path.read_text().replace("  %x = ", "  %new = s32[] constant(7)\n  %x = ")
        (dump / "tmp").write_text(text)
        os.replace(dump / "tmp", path)
        await app.sees("%new = ")
        await app.opened()
        assert app.app.desk.inspection.title == "tanh.2"


async def test_a_file_that_is_no_hlo_is_shown_as_it_is(dump):
    report = dump / "module_0012.jit_train_step.cpu_after_optimizations-memory-usage-report.txt"
    report.write_text("Total bytes used: 12\n\n1. 12 bytes (%add.7)\n")
    async with driving(dump) as app:
        await app.opened()
        await app.sees("▸ 1 file")
        await app.press("home", "down", "down", "down", "down", "right", "down", "enter")
        await app.sees("Total bytes used: 12")
        await app.press("c")
        await app.sees("this file is no HLO")


async def test_a_file_that_cannot_be_read_says_so(dump):
    path = dump / "module_0014.jit_eval.before_optimizations.txt"
    path.write_bytes(b"\x7fELF\0\0\0")
    async with driving(dump) as app:
        await app.opened()
        await app.press("ctrl+p")
        await app.type("open jit_eval")
        await app.press("enter")
        await app.sees("The file cannot be read", "ELF header is cut off")


async def test_a_single_file_is_opened_at_once(dump, tmp_path):
    (tmp_path / "by_hand.hlo").write_text(dumps.EVAL)
    async with driving(tmp_path / "by_hand.hlo") as app:
        await app.opened()
        await app.sees("one file", "ENTRY %main.3")
        await app.misses("0 modules")
    async with driving(dump / "module_0014.jit_eval.before_optimizations.txt") as app:
        await app.opened()
        await app.sees("one file", "%sum.1", "ENTRY %main.3")
        assert app.app.main.pane == "code"


async def test_the_first_frame_is_laid_out_for_the_width_there_is(dump, monkeypatch):
    monkeypatch.setattr(MainScreen, "on_resize", lambda *_: None)
    async with driving(dump, (80, 24)) as app:
        await app.until(lambda: app.app.main.is_mounted, "the screen")
        assert app.app.main.has_class("-narrow")


async def test_a_log_with_dumps_shows_its_modules(tmp_path):
    log = tmp_path / "job.log"
    parts = [
        ("module_0001.jit_train_step.before_optimizations.txt", dumps.TRAIN),
        ("module_0002.jit_eval.before_optimizations.txt", dumps.EVAL),
    ]
    log.write_text(
        "".join(f"*** Begin {name} ***\n{text}\n*** End {name} ***\nstep 1\n" for name, text in parts)
    )
    async with driving(log) as app:
        await app.opened()
        await app.sees("a log", "jit_train_step", "jit_eval", "%mul.3")
        await app.press("ctrl+p")
        await app.type("open jit_eval")
        await app.press("enter")
        await app.sees("%sum.1 =")


async def test_a_theme_file_that_is_written_is_used_at_once(dump, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('extends = "dark"\n[styles]\nopcode = "#010203"\n')
    async with driving(dump, theme=str(path)) as app:
        await app.opened()
        assert app.app.paint.style("opcode").color.triplet.hex == "#010203"
        path.write_text('extends = "dark"\n[styles]\nopcode = "#040506"  # longer\n')
        await app.until(
            lambda: app.app.paint.style("opcode").color.triplet.hex == "#040506", "the new colour"
        )
        path.write_text('extends = "dark"\n[styles]\nopcod = "#070809"\n')
        await app.sees("opcod is no key of a theme")
        assert app.app.paint.style("opcode").color.triplet.hex == "#040506"


async def test_ctrl_c_leaves_only_when_it_is_meant(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("ctrl+c")
        await app.sees("ctrl+c again leaves")
        await app.press("2", "ctrl+c")
        assert app.app.is_running
        await app.press("ctrl+c")
        assert app.app.return_code == 0


async def test_a_command_that_comes_too_early_is_run_when_the_file_has_been_read(dump, monkeypatch):
    async with driving(dump) as app:
        await app.opened()
        app.app.desk.opened.scanned = False
        await app.press("2", "G")
        await app.sees("last line: the file is still being read")
        app.app.reload()
        await app.until(lambda: app.line == 47, "the last line")


async def test_until_somebody_touches_it_the_first_tagged_module_is_opened(tmp_path):
    root = tmp_path / "xladump"
    dumps.write(root, 1, "jit_eval", "before_optimizations", dumps.EVAL)
    async with driving(root) as app:
        await app.opened()
        assert app.app.desk.opened.want.title == "jit_eval #1"
        dumps.write(root, 2, "jit_train_step", "before_optimizations", dumps.TRAIN)
        await app.until(lambda: app.app.desk.wanted.title == "jit_train_step #2", "the tagged module")
        await app.opened()
        await app.press("down")
        dumps.write(root, 3, "jit_a_bigger_one", "before_optimizations", dumps.TRAIN * 2)
        await app.sees("jit_a_bigger")
        assert app.app.desk.wanted.title == "jit_train_step #2"


async def test_the_mouse_puts_the_cursor_on_a_name(dump):
    async with driving(dump) as app:
        await app.opened()
        row = next(at for at, line in enumerate(app.text.splitlines()) if "%tanh.2 =" in line)
        column = app.text.splitlines()[row].index("%dot.9)") + 2
        await app.pilot.click(offset=(column, row))
        await app.until(lambda: app.app.desk.inspection.title == "tanh.2", "on the line")
        assert app.app.main.pane == "code"
        assert app.app.main.code.target.name == "dot.9"
        row = next(at for at, line in enumerate(app.text.splitlines()) if "▸ jit_eval" in line)
        await app.pilot.click(offset=(4, row))
        await app.until(
            lambda: app.app.desk.wanted.title == "jit_eval #14", "the module rests under the cursor"
        )


async def test_a_file_that_was_empty_is_opened_when_it_is_written(tmp_path):
    root = tmp_path / "xladump"
    path = dumps.write(root, 1, "jit_train_step", "before_optimizations", "")
    async with driving(root) as app:
        await app.sees("The file is empty")
        path.write_text(dumps.TRAIN)
        await app.opened()
        await app.sees("%mul.3")
