"""What stops mean in a text, found without the engine: the same as the engine finds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo import loading
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource
from hlo_tui.replay.meaning import Meaning, all_meanings, meaning
from hlo_tui.replay.opening import open_target
from hlo_tui.replay.stops import resolve
from hlo_tui.replay.stopspec import TAGS, StopSpec, parse_spec
from tests.corpus import DATA

FILES = sorted((DATA / "replay").glob("*.txt"))
FORMS = (
    "tags", "collectives", "op:add", "op:multiply", "op:while", "op:fusion", "op:dot", "name:mul", "name:while/body",
    "name:^jit", "tag:breakpoint", "tag:breakpoint=true", "line:programs.py:20", "line:programs.py:45", "nothing.7",
)  # fmt: skip


def module(text: bytes) -> Module:
    found = Module(BytesSource(text, "test"))
    found.scan()
    return found


def of_engine(path, spec: StopSpec) -> set[tuple[str, str]]:
    program = open_target(path, None).program()
    found = resolve(program, [spec])
    return {
        (program.computation(c).name, program.computation(c).ops[i].name)
        for c, row in found.items()
        for i in row
    }


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name.split(".")[1] + path.name[-9:-4])
def test_it_is_what_the_engine_finds(path):
    program = open_target(path, None).program()
    reachable = {one.name for one in program.reachable()}
    found = module(loading.open_document(path).source.read(0, 1 << 30))
    for form in FORMS:
        spec = parse_spec(form)
        spots = {spot[:2] for spot in meaning(found, spec).spots if spot.computation in reachable}
        engine = of_engine(path, spec)
        # A tag on a fusion and on its root is one stop for the engine, and two operations that carry it.
        assert spots >= engine if spec == TAGS else spots == engine, form


def test_lines_are_those_of_the_text():
    text = next(data for path in FILES if b" multiply(" in (data := path.read_bytes()))
    found = module(text)
    lines = text.decode().splitlines()
    spots = meaning(found, parse_spec("op:multiply")).spots
    assert spots
    assert all(f"%{spot.instruction} = " in lines[spot.line] for spot in spots)


def test_an_operation_that_got_another_name_is_found_by_what_it_computes():
    text = b"""\
HloModule m

ENTRY %main (x: f32[2]) -> f32[2] {
  %x = f32[2]{0} parameter(0)
  %mul.9 = f32[2]{0} multiply(%x, %x), metadata={op_name="jit(f)/mul"}
  ROOT %mul.3 = f32[2]{0} add(%mul.9, %x), metadata={op_name="jit(f)/add"}
}
"""
    spec = StopSpec("instruction", "mul.3", "main", anchor=("multiply", "jit(f)/mul"))
    assert [spot.instruction for spot in meaning(module(text), spec).spots] == ["mul.9"]
    assert [spot.instruction for spot in meaning(module(text), StopSpec("instruction", "mul.3")).spots] == [
        "mul.3"
    ]


def test_the_first_nan_may_be_anywhere_and_nothing_is_said_to_be_nothing():
    found = module(b"HloModule m\n\nENTRY %e (x: f32[]) -> f32[] {\n  ROOT %x = f32[] parameter(0)\n}\n")
    assert not meaning(found, parse_spec("first:nan")).nothing
    assert meaning(found, parse_spec("op:dot")).nothing
    assert not meaning(found, parse_spec("op:dot"), lambda: True).nothing


def test_conditions_do_not_change_what_is_meant():
    found = module(FILES[0].read_bytes())
    plain, often = parse_spec("op:multiply"), parse_spec("op:multiply if max>1")
    known = {plain: Meaning((), complete=True)}
    assert all_meanings(found, [often], known)[often] is known[plain]


@given(st.binary(max_size=400), st.sampled_from(FORMS))
def test_any_bytes_may_come(data, form):
    head = b"HloModule m\nENTRY %e (x: f32[]) -> f32[] {\n  %x = f32[] parameter(0)\n"
    meaning(module(head + data), parse_spec(form))
    meaning(module(data), parse_spec(form))
