from __future__ import annotations

import pytest

from hlo_tui.hlo.frames import SourceFrame
from hlo_tui.hlo.tags import Tag, is_user_key, stops
from tests.hlo_text.samples import STEP, module_of


def test_frames_are_innermost_first_and_the_printed_parent_is_one_more() -> None:
    module = module_of(STEP)
    y = module.find("y", "body")
    assert y is not None
    assert module.frames(y) == (
        SourceFrame("/home/u/model.py", 88, 4, 89, 30, "block"),
        SourceFrame("/home/u/train.py", 12, 9, 12, 21, "loss"),
        SourceFrame("/home/u/train.py", 40, 2, 40, 19, "<module>"),
    )


def test_older_metadata_gives_one_frame() -> None:
    module = module_of(STEP)
    loop, parameter = module.find("while.6"), module.find("Arg_0")
    assert loop is not None
    assert parameter is not None
    assert module.frames(loop) == (SourceFrame("old.py", 7),)
    assert module.frames(parameter) == ()


@pytest.mark.parametrize(
    ("rows", "lines"),
    [
        # A frame that is its own parent, a ring, a parent that is not there, rows that make no sense.
        ("1 {file_location_id=1 parent_frame_id=2}", [5]),
        ("1 {file_location_id=1 parent_frame_id=3}\n2 {file_location_id=1 parent_frame_id=2}", [5, 5]),
        ("1 {file_location_id=1 parent_frame_id=99}", [5]),
        ("1 {file_location_id=9}", [0]),
        ("1 nonsense", [0]),
        ("one {", []),
        ("", []),
    ],
)
def test_damaged_tables_end(rows: str, lines: list[int]) -> None:
    text = (
        'HloModule m\n\nFileNames\n1 "a\\"b.py"\n\nFileLocations\n1 {file_name_id=1 line=5}\n\n'
        f"StackFrames\n{rows}\n\nENTRY e {{\n  a = f32[] parameter(0), metadata={{stack_frame_id=1}}\n}}\n"
    )
    module = module_of(text)
    instruction = module.find("a")
    assert instruction is not None
    frames = module.frames(instruction)
    assert [frame.line for frame in frames] == lines
    assert all(frame.file in ('a"b.py', "") for frame in frames)


def test_tags() -> None:
    place = ("/home/u/model.py", 88)
    assert module_of(STEP).tags() == [
        Tag("breakpoint", "true", "tanh.1", "fused_computation", "tanh", "", *place),
        Tag("breakpoint", "true", "y", "body", "fusion", "jit(step)/while/body/tanh", *place),
        Tag("note", 'a "b" {c}', "y", "body", "fusion", "jit(step)/while/body/tanh", *place),
    ]


def test_tags_on_a_later_line_of_an_instruction_and_not_in_strings() -> None:
    text = """\
ENTRY e {
  a = f32[] negate(b),
    metadata={op_name="x"},
    frontend_attributes={k="1",
      l="2"}
  c = f32[] negate(b), metadata={op_name="frontend_attributes={k=1}"}
  d = f32[] negate(b), frontend_attributes={}
}
"""
    assert [(tag.instruction, tag.key, tag.value) for tag in module_of(text).tags()] == [
        ("a", "k", "1"),
        ("a", "l", "2"),
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [("true", True), ("1", True), ("nan", True), ("yes", True), ("false", False), ("0", False), ("", False)],
)
def test_which_values_stop(value: str, expected: bool) -> None:
    assert stops({"breakpoint": value, "note": "x"}) is expected


def test_no_breakpoint_no_stop() -> None:
    assert not stops({"note": "true", "breakpoints": "true"})
    assert not stops({})


def test_keys_of_people_and_of_compilers() -> None:
    people = ("breakpoint", "_xla_log", "xla_log_for_comparison", "MUST_FUSE", "FUSE_LIMIT", "note", "k")
    compilers = ("xla.sdy.sharding", "xla_cpu_small_call", "inlineable", "fingerprint_before_lhs", "mhlo.x")
    assert all(map(is_user_key, people))
    assert not any(map(is_user_key, compilers))
