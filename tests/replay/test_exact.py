"""Loops over integers alone run as a whole, and give what their instructions give one by one."""

from __future__ import annotations

import numpy as np
import pytest

from hlo_tui.replay import xla
from hlo_tui.replay.comparing import Watching
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.exact import exact_loops
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.inputs import Inputs
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.stopspec import parse_spec
from tests.replay.running import program_of

# Collatz steps of each element, ten times, in a call; the number of iterations can be counted, or is LIMIT.
TEXT = """
HloModule integers

%odd (a: u32[5]) -> u32[5] {
  %a = u32[5] parameter(0)
  %three = u32[] constant(3)
  %threes = u32[5] broadcast(%three), dimensions={}
  %one = u32[] constant(1)
  %ones = u32[5] broadcast(%one), dimensions={}
  %m = u32[5] multiply(%a, %threes)
  ROOT %r = u32[5] add(%m, %ones)
}

%body (c: (s32[], u32[5])) -> (s32[], u32[5]) {
  %c = (s32[], u32[5]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %x = u32[5] get-tuple-element(%c), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %bit = u32[] constant(1)
  %bits = u32[5] broadcast(%bit), dimensions={}
  %low = u32[5] and(%x, %bits)
  %is_odd = pred[5] compare(%low, %bits), direction=EQ
  %half = u32[5] shift-right-logical(%x, %bits)
  %up = u32[5] fusion(%x), kind=kLoop, calls=%odd
  %y = u32[5] select(%is_odd, %up, %half)
  ROOT %r = (s32[], u32[5]) tuple(%next, %y)
}

%cond (c: (s32[], u32[5])) -> pred[] {
  %c = (s32[], u32[5]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant(LIMIT)
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

%steps (x: u32[5]) -> u32[5] {
  %x = u32[5] parameter(0)
  %zero = s32[] constant(0)
  %init = (s32[], u32[5]) tuple(%zero, %x)
  %w = (s32[], u32[5]) while(%init), condition=%cond, body=%body
  ROOT %r = u32[5] get-tuple-element(%w), index=1
}

%scaled (x: u32[5]) -> f32[5] {
  %x = u32[5] parameter(0)
  ROOT %r = f32[5] convert(%x)
}

ENTRY %main (x: u32[5]) -> f32[5] {
  %x = u32[5] parameter(0)
  %stepped = u32[5] call(%x), to_apply=%steps
  ROOT %f = f32[5] call(%stepped), to_apply=%scaled
}
"""
START = np.array([1, 7, 27, 97, 4_000_000_000], np.uint32)


def text_of(limit: int = 10) -> str:
    return TEXT.replace("LIMIT", str(limit))


def collatz(values: np.ndarray, times: int) -> np.ndarray:
    for _ in range(times):
        values = np.where(values & 1, values * np.uint32(3) + np.uint32(1), values >> np.uint32(1))
    return values.astype(np.float32)


@pytest.mark.parametrize("grain", list(Grain))
def test_they_are_one_step(backend: xla.Backend, cache: SliceCache, grain: Grain) -> None:
    program = program_of(text_of())
    evaluator = Evaluator(program, backend, cache, grain=grain)
    apart = Watching(program, backend, cache, grain=grain)
    found, expected = (one.root(Frame(program.entry, [START])) for one in (evaluator, apart))
    assert np.array_equal(found, collatz(START, 10))
    assert np.array_equal(expected, found)
    # The call with the loop in it is one of a few steps; by itself each of the ten iterations has nine at least.
    assert evaluator.steps < 10
    assert grain is Grain.WHOLE or apart.steps > 90


def test_what_holds_a_float_or_no_loop_or_may_take_long_is_not_one_of_them() -> None:
    calls = {op.name for op in exact_loops(program_of(text_of()))}
    assert calls == {"w", "stepped"}
    assert not exact_loops(program_of(text_of(1_000_000)))


@pytest.mark.parametrize("grain", ["unit", "body"])
def test_what_must_not_be_run_is_in_none_of_them(backend: xla.Backend, cache: SliceCache, grain: str) -> None:
    program = program_of(text_of())
    refused = {("body", "half"): "it ended the process"}
    evaluator = Evaluator(program, backend, cache, grain=Grain(grain), refused=refused)
    evaluator.root(Frame(program.entry, [START]))
    assert evaluator.unknown["body", "half"] == "it ended the process"


def test_loops_within_loops_that_go_round_often_together_can_be_interrupted() -> None:
    within = """
%outer (c: (s32[], u32[5])) -> (s32[], u32[5]) {
  %c = (s32[], u32[5]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %x = u32[5] get-tuple-element(%c), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %stepped = u32[5] call(%x), to_apply=%steps
  ROOT %r = (s32[], u32[5]) tuple(%next, %stepped)
}

ENTRY %main (x: u32[5]) -> u32[5] {
  %x = u32[5] parameter(0)
  %zero = s32[] constant(0)
  %init = (s32[], u32[5]) tuple(%zero, %x)
  %all = (s32[], u32[5]) while(%init), condition=%cond, body=%outer
  ROOT %r = u32[5] get-tuple-element(%all), index=1
}
"""
    before = TEXT[: TEXT.index("%scaled")]
    few, many = (program_of((before + within).replace("LIMIT", str(limit))) for limit in (30, 32))
    assert {op.name for op in exact_loops(few)} == {"w", "stepped", "all"}
    assert {op.name for op in exact_loops(many)} == {"w", "stepped"}


@pytest.mark.parametrize("grain", ["unit", "body"])
def test_a_stop_inside_is_met_and_everything_can_be_stepped_into(
    backend: xla.Backend, cache: SliceCache, grain: str
) -> None:
    debugger = Debugger(program_of(text_of()), Inputs("npz", [START]), backend, cache, grain=Grain(grain))
    debugger.set_stops([parse_spec("body/y if iteration==3")])
    event = debugger.move("continue")
    assert event["path"][-1]["iteration"] == 3
    assert event["value"]["first"] == [int(n) for n in collatz(START, 4).astype(np.float64)][:8]
    debugger.set_stops([])
    assert debugger.move("continue")["self_check"] == "match"
    visited = set()
    while (event := debugger.move("step", backward=True))["event"] == "stop":
        visited.add((event["instruction"], event["path"][-1]["iteration"]))
    assert {("y", k) for k in range(10)} <= visited
