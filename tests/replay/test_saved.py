"""Stops are found again: in the next session, and in a module that was compiled anew."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.replay.saved import SavedStops
from hlo_tui.replay.stopspec import TAGS, StopSpec, from_json, parse_spec
from tests.replay.conftest import STAGES, Open, program_file

SPECS = (
    TAGS,
    StopSpec("instruction", "mul.3", "region_0.4", condition="max>3", anchor=("multiply", "jit(f)/mul")),
    StopSpec("opcode", "dot", enabled=False),
    StopSpec("source", "train.py", line=42, once=True),
)


def test_what_is_saved_is_loaded(tmp_path: Path) -> None:
    saved = SavedStops(tmp_path / "dump", tmp_path / "state")
    assert saved.load("jit_f") == (TAGS,)
    saved.save("jit_f", SPECS)
    assert SavedStops(tmp_path / "dump", tmp_path / "state").load("jit_f") == SPECS
    assert saved.load("jit_g") == (TAGS,)
    assert SavedStops(tmp_path / "other", tmp_path / "state").load("jit_f") == (TAGS,)
    saved.save("jit_f", (TAGS,))
    assert saved.load("jit_f") == (TAGS,)


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"modules": 3}', '{"modules": {"jit_f": [{"kind": 7}, 5]}}', "\0"]
)
def test_a_damaged_file_is_as_none(tmp_path: Path, content: str) -> None:
    saved = SavedStops(tmp_path / "dump", tmp_path / "state")
    saved.save("jit_f", SPECS)
    (file,) = (tmp_path / "state" / "stops").iterdir()
    file.write_text(content)
    assert saved.load("jit_f") == (TAGS,)
    saved.save("jit_f", SPECS)
    assert saved.load("jit_f") == SPECS


@given(
    st.dictionaries(
        st.text(max_size=12), st.one_of(st.none(), st.text(max_size=5), st.integers()), max_size=8
    )
)
def test_any_json_is_a_stop_or_refused(written: dict) -> None:
    from hlo_tui.errors import HloTuiError

    try:
        assert isinstance(from_json(written), StopSpec)
    except HloTuiError:
        return


def test_a_stop_is_found_again_in_another_stage(debug: Open) -> None:
    before = debug(program_file("product"))
    op = next(op for op in before.program.entry.ops if op.opcode == "cosine")
    spec = StopSpec(
        "instruction", op.name, before.program.entry.name, anchor=(op.opcode, op.proto.metadata.op_name)
    )
    after = debug(program_file("product", STAGES[1]))
    (found,) = after.set_stops([spec])
    assert (found["computation"], found["instruction"]) != (spec.computation, spec.value)
    assert after.move("continue")["value"]["first"] == pytest.approx([0.5403023])
    assert after.set_stops([StopSpec("instruction", "gone", "nowhere")]) == []


def test_a_stop_that_is_to_be_made_once(debug: Open) -> None:
    debugger = debug(program_file("scan"))
    once = StopSpec("tags", once=True)
    debugger.set_stops([once])
    assert from_json(debugger.move("continue")["once"]) == once
    debugger.set_stops([StopSpec("tags", enabled=False), parse_spec("op:while")])
    assert debugger.move("continue")["reason"] == "opcode while"


def test_a_disabled_stop_at_a_tagged_operation_switches_the_tag_off(debug: Open) -> None:
    debugger = debug(program_file("scan"))
    tagged = {(row["computation"], row["instruction"]) for row in debugger.set_stops([TAGS])}
    place, *others = sorted(tagged)
    off = StopSpec("instruction", place[1], place[0], enabled=False)
    rows = debugger.set_stops([TAGS, off])
    assert {(row["computation"], row["instruction"]) for row in rows} == set(others)


def test_another_operation_of_the_same_name_is_not_taken_for_the_one_that_was_meant(debug: Open) -> None:
    program = debug(program_file("scan")).program
    (one, other) = [op for c in program.reachable() for op in c.ops if op.proto.metadata.op_name][:2]
    anchor = (other.opcode, other.proto.metadata.op_name)
    spec = StopSpec("instruction", one.name, one.computation.name, anchor=anchor)
    rows = debug(program_file("scan")).set_stops([spec])
    assert other.name in {row["instruction"] for row in rows}
    assert one.name not in {row["instruction"] for row in rows} or anchor == (
        one.opcode, one.proto.metadata.op_name,
    )  # fmt: skip


def test_a_stop_that_goes_leaves_the_hits_of_the_others(debug: Open) -> None:
    debugger = debug(program_file("scan"))

    def iteration() -> int:
        (found,) = [
            step["iteration"] for step in debugger.move("continue")["path"] if step["iteration"] is not None
        ]
        return found

    counted = parse_spec("tags if hits>=3")
    debugger.set_stops([parse_spec("op:sine@once"), counted])
    assert from_json(debugger.move("continue")["once"]) == parse_spec("op:sine@once")
    debugger.set_stops([counted, parse_spec("tags if iteration==1")])
    assert iteration() == 1
    debugger.set_stops([counted])
    assert iteration() == 2


def test_what_was_saved_before_there_were_ends_is_read(tmp_path: Path) -> None:
    old = {"kind": "tags", "value": "", "condition": "nan", "enabled": True, "once": True, "anchor": ["", ""]}
    assert from_json(old) == StopSpec("tags", condition="nan", once=True)
    saved = SavedStops(tmp_path / "dump", tmp_path / "state")
    saved.save("jit_f", (StopSpec("tags", ends=True),))
    assert saved.load("jit_f") == (StopSpec("tags", ends=True),)
