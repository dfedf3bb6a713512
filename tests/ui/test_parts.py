"""Smaller parts: stops, the trail, styles, themes under watch, and what is found out about a line."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from rich.color import ColorType

from hlo_tui.dump.modules import ModuleKey
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource
from hlo_tui.replay.meaning import all_meanings
from hlo_tui.replay.session import State
from hlo_tui.replay.stopspec import TAGS, StopSpec
from hlo_tui.theme.theme import load
from hlo_tui.ui.counting import count
from hlo_tui.ui.inspection import inspect, source_line
from hlo_tui.ui.marking import find_marks, find_tagged
from hlo_tui.ui.marks import Marks, health, value_sign
from hlo_tui.ui.opened import Opened, Want
from hlo_tui.ui.paint import Paint, textual_theme
from hlo_tui.ui.replayrows import value_row
from hlo_tui.ui.rows import Span
from hlo_tui.ui.themewatch import ThemeWatch
from hlo_tui.ui.trail import Spot, Trail
from hlo_tui.ui.treerows import Place
from hlo_tui.ui.wantedstops import WantedStops
from tests.ui import dumps
from tests.ui.fakes import END, STOPS

MULTIPLY, ADD = ("region_0.4", "mul.3"), ("main.88", "add.7")


def opened(specs: tuple[StopSpec, ...] = (TAGS,)) -> Opened:
    found = module()
    one = Opened(1, Want(Place("f"), Path("f")), found.source, "text", hlo=True, tagged=find_tagged(found))
    one.module = found
    one.meant = all_meanings(found, specs, {})
    return one


def toggle(stops: WantedStops, place: tuple[str, str]) -> bool:
    return stops.toggle(opened(), *place, ("multiply", "a/b"))


def test_a_stop_is_set_and_taken_away():
    stops, want = WantedStops(), opened().want
    own = StopSpec("instruction", "tanh.2", "region_0.4", anchor=("multiply", "a/b"))
    assert toggle(stops, ("region_0.4", "tanh.2"))
    assert stops.own(want) == (TAGS, own)
    assert not toggle(stops, ("region_0.4", "tanh.2"))
    assert stops.own(want) == (TAGS,)


def test_one_of_several_tags_is_switched_off_and_on_again():
    stops, want = WantedStops(), opened().want
    assert not toggle(stops, MULTIPLY)
    off = StopSpec("instruction", "mul.3", "region_0.4", anchor=("multiply", "a/b"), enabled=False)
    assert stops.own(want) == (TAGS, off)
    marks = find_marks(opened(stops.own(want)), stops.own(want), None)
    assert (marks.stop_sign(line_with("%mul.3 =")), marks.stop_sign(line_with("%add.7 ="))) == (
        ("○", "disabled"),
        ("●", "tagged"),
    )
    assert toggle(stops, MULTIPLY)
    assert stops.own(want) == (TAGS,)


def test_where_all_tags_are_off_one_of_them_is_a_stop_of_its_own():
    stops, want = WantedStops(), opened().want
    stops.put(want, (replace(TAGS, enabled=False),))
    assert toggle(stops, ADD)
    marks = find_marks(opened(stops.own(want)), stops.own(want), None)
    assert marks.stop_sign(line_with("%mul.3 ="))[0] == "○"
    assert marks.stop_sign(line_with("%add.7 ="))[0] == "●"
    assert not toggle(stops, ADD)


def test_inside_a_block_of_which_the_ends_are_stops_one_can_be_set():
    stops, want = WantedStops(), opened().want
    ends = replace(TAGS, ends=True)
    stops.put(want, (ends,))
    assert stops.toggle(opened(), *ADD, ("add", "a/b"), inside=True)
    own = StopSpec("instruction", "add.7", "main.88", anchor=("add", "a/b"))
    assert stops.own(want) == (ends, own)
    assert not stops.toggle(opened(), *ADD, ("add", "a/b"), inside=True)
    assert stops.own(want) == (ends,)


def test_stops_are_kept_by_the_name_of_the_module(tmp_path):
    stops, one = WantedStops(tmp_path / "dump"), opened()
    want = replace(one.want, place=Place("f", ModuleKey("", 12, "jit_step"), "before"))
    stops.put(want, (TAGS, StopSpec("opcode", "dot")))
    stops.save(want)
    again = WantedStops(tmp_path / "dump")
    other = replace(want, place=Place("g", ModuleKey("", 44, "jit_step"), "after"))
    assert again.of(other) == (TAGS, StopSpec("opcode", "dot"))
    assert WantedStops(tmp_path / "elsewhere").of(other) == (TAGS,)
    again.hold_everywhere(other, StopSpec("first", "nan", detail="mask"))
    assert again.of(other)[-1] == StopSpec("first", "nan", detail="mask")
    elsewhere = replace(want, place=Place("h", ModuleKey("", 7, "jit_eval"), "before"))
    assert again.of(elsewhere) == (TAGS, StopSpec("first", "nan"))
    again.met(other, (TAGS,))
    assert again.own(other) == (TAGS, StopSpec("opcode", "dot"))


def test_what_was_to_stop_once_is_gone_when_it_has():
    stops, want = WantedStops(), opened().want
    stops.put(
        want,
        (TAGS, StopSpec("opcode", "dot", once=True), StopSpec("opcode", "add", once=True, enabled=False)),
    )
    stops.met(want, (TAGS,))
    assert stops.own(want) == (TAGS, StopSpec("opcode", "add", once=True, enabled=False))


def test_a_trail_goes_back_and_forward_like_a_browser():
    spots = [Spot(Want(Place("f"), Path("f")), line) for line in range(4)]
    trail = Trail()
    assert trail.back(spots[0]) is None
    trail.leave(spots[0])
    trail.leave(spots[1])
    assert trail.back(spots[2]) == spots[1]
    assert trail.back(spots[1]) == spots[0]
    assert trail.forward(spots[0]) == spots[1]
    trail.leave(spots[3])
    assert not trail.has_forward


def module() -> Module:
    found = Module(BytesSource(dumps.TRAIN.encode(), "train"))
    found.scan()
    return found


def line_with(text: str) -> int:
    return next(at for at, line in enumerate(dumps.TRAIN.splitlines()) if text in line)


def test_tagged_operations_are_found():
    tagged = find_tagged(module())
    assert [(one.computation, one.instruction, one.line) for one in tagged] == [
        ("region_0.4", "mul.3", line_with("%mul.3 =")),
        ("main.88", "add.7", line_with("%add.7 =")),
    ]


def test_marks_say_where_a_replay_stands_what_it_ran_and_what_is_bad():
    state = State(status="standing", at="stop", current=STOPS[2], history=tuple(STOPS))
    marks = find_marks(opened(), (TAGS,), state)
    assert marks.standing == line_with("%mul.3 =")
    assert marks.frames == (line_with("%while.6 ="),)
    assert marks.ran == (
        (line_with("%a.1 ="), line_with("%init =")),
        (line_with("%p = "), line_with("%tanh.2 =")),
    )
    assert marks.run_sign(line_with("%mul.3 ="))[0] == "!"
    assert marks.run_sign(line_with("%x = "))[0] == "✓"
    assert marks.run_sign(line_with("%one ="))[0] == " "
    assert marks.stop_sign(line_with("%mul.3 ="))[0] == "●"


def test_switched_off_tags_and_own_stops_have_their_signs():
    off = StopSpec("instruction", "tanh.2", "region_0.4", enabled=False)
    specs = (StopSpec("instruction", "add.7", "main.88"), StopSpec("opcode", "dot"), off)
    marks = find_marks(opened(specs), specs, None)
    assert marks.stop_sign(line_with("%mul.3 ="))[0] == "○"
    assert marks.stop_sign(line_with("%add.7 ="))[0] == "●"
    assert marks.stop_sign(line_with("%dot.9 ="))[0] == "◆"
    assert marks.stop_sign(line_with("%tanh.2 ="))[0] == "○"
    assert Marks().stop_sign(3)[0] == " "


def test_inside_a_block_of_which_the_ends_are_stops_no_stop_is_shown():
    specs = (replace(TAGS, ends=True),)
    first = {"computation": "region_0.4", "instruction": "mul.3"}
    state = State(status="standing", at="begin", specs=specs, stops=(first,))
    marks = find_marks(opened(specs), specs, state)
    assert (marks.stop_sign(line_with("%mul.3 ="))[0], marks.stop_sign(line_with("%add.7 ="))[0]) == (
        "●",
        "○",
    )
    # What the stops before meant says nothing of these.
    marks = find_marks(opened(specs), specs, replace(state, specs=(TAGS,)))
    assert marks.stop_sign(line_with("%add.7 ="))[0] == "●"


def test_the_end_is_said_in_one_row():
    def text(end):
        return "".join(span.text for span in value_row(State(at="end", end=end)).spans)

    assert text(END).startswith(" end  output 0  f32[4,8]  min −1.5  max 41.2")
    two = {**END, "outputs": END["outputs"] * 2, "recorded": "differs", "changes": 1}
    assert text(two).startswith(
        " end  changed by hand  differs from the recorded run  2 outputs; 4 shows all  output 0"
    )
    assert text({**END, "recorded": "match", "outputs": []}) == " end  as recorded  "


def test_signs_of_values():
    assert value_sign({"nan": 1}) == "!"
    assert value_sign({"nan": 0, "inf": 0}) == ""
    assert value_sign({"unknown": "x"}) == "?"
    assert value_sign({"tuple": [{"nan": 0}, {"unknown": "x"}]}) == "?"
    assert value_sign(None) == ""


def test_a_line_is_inspected():
    found = inspect(module(), line_with("%mul.3 ="), lambda: False, deep=True)
    assert (found.kind, found.title, found.role) == ("instruction", "mul.3", "while body")
    assert [ref.name for ref in found.operands] == ["dot.9", "tanh.2"]
    assert [ref.name for ref in found.users] == ["tuple.4"]
    assert [(frame.file, frame.line, frame.function) for frame in found.frames] == [
        ("/home/me/model.py", 87, "block"), ("/home/me/model.py", 41, "step"),
    ]  # fmt: skip
    assert [(tag.key, tag.value) for tag in found.tags] == [
        ("breakpoint", "true"),
        ("note", 'a "quoted" {brace} π'),
    ]
    head = inspect(module(), line_with("%region_1.5 (arg"), lambda: False, deep=True)
    assert (head.kind, head.role, [ref.name for ref in head.callers]) == (
        "computation",
        "while condition",
        ["while.6"],
    )
    top = inspect(module(), 0, lambda: False, deep=True)
    assert top.kind == "module"
    assert [tag.key for tag in top.tags] == ["breakpoint", "note", "breakpoint"]


def test_a_source_line_is_read_only_from_plain_files(tmp_path):
    path = tmp_path / "model.py"
    path.write_bytes(b"one\n  two\x1b[2J\n")
    assert source_line(str(path), 2) == "two␛[2J"
    assert source_line(str(path), 9) == ""
    assert source_line("model.py", 1) == ""
    assert source_line(str(tmp_path), 1) == ""
    assert source_line("/dev/zero", 1) == ""


def test_every_role_can_be_painted_in_every_theme():
    for name in ("dark", "light", "ansi16"):
        theme = load(name)
        paint = Paint(theme)
        for role in theme.styles:
            for over in ("", "cursor", "cursor_away", "target", "match"):
                paint.style(role, over)
        assert textual_theme(theme, name).ansi == (name == "ansi16")


def test_the_terminals_own_ground_is_left_alone():
    style = Paint(load("ansi16")).style("opcode")
    assert style.bgcolor is None
    assert style.color.type == ColorType.STANDARD


def test_a_cursor_in_reverse_has_one_ground():
    paint = Paint(load("ansi16"))
    assert paint.style("opcode", "cursor").color is None
    assert paint.style("opcode", "cursor").reverse


def test_neighbours_that_look_alike_become_one():
    paint = Paint(load("dark"))
    strip = paint.strip([Span("a", "name"), Span("b", "punctuation"), Span("c", "opcode")])
    assert [segment.text for segment in strip] == ["ab", "c"]


def test_a_theme_is_read_again_when_a_file_of_it_changes(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('extends = "dark"\n')
    told = []
    watch = ThemeWatch(load(str(path)), told.append)
    watch.look()
    assert told == []
    path.write_text('extends = "light"\n')
    watch.look()
    assert told[0].theme.kind == "light"
    path.unlink()
    watch.look()
    assert "Cannot read the theme" in str(told[1].error)
    watch.look()
    assert len(told) == 2


def test_the_health_of_a_replay_is_what_it_has_met():
    assert health(State()) == ""
    assert health(State(history=tuple(STOPS[:2]))) == ""
    assert health(State(history=tuple(STOPS))) == "!"
    assert health(State(end={"outputs": [{"nan": 0, "inf": 0}]})) == "✓"
    assert health(State(end={"outputs": [{"unknown": "a callback"}]})) == "?"
    assert health(State(end={"outputs": [{"tuple": [{"nan": 0, "inf": 2}]}]})) == "!"


def test_matches_are_counted_by_line_as_many_as_there_are():
    found = module()
    matches = count(found, re.compile(rb"tuple"), 1, lambda: False)
    lines = [at for at, line in enumerate(dumps.TRAIN.splitlines()) if "tuple" in line]
    assert list(matches.lines) == lines
    assert matches.words(lines[2]) == f"3/{len(lines)}"
    assert matches.words(0) == ""
    assert not count(found, re.compile(rb"tuple"), 1, lambda: True).complete


@given(st.binary(max_size=2000), st.sampled_from([rb"a", rb"^", rb"\n", rb".*", rb"$"]))
def test_counting_takes_any_bytes(data, pattern):
    found = Module(BytesSource(data, "any"))
    found.scan()
    lines = list(count(found, re.compile(pattern), 1, lambda: False).lines)
    assert lines == sorted(set(lines))
