"""Values are forgotten and computed again, so that what is kept stays in a budget; nothing else changes by it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla
from hlo_tui.replay.atwork import Board
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.frames import Loop
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.inputs import Inputs, made
from hlo_tui.replay.program import Program
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.stopspec import parse_spec
from tests.replay.conftest import backward, forward
from tests.replay.test_random import modules

KIB = 1 << 10


class Counting(Board):
    """Counts what is kept each time an instruction is about to be run."""

    def __init__(self, debugger: Debugger) -> None:
        super().__init__()
        self.keeper = debugger.evaluator.keeper
        self.most = 0
        self.every = 1
        self._marks = 0

    def mark(self, record: bytes) -> None:
        super().mark(record)
        self._marks += 1
        if self._marks % self.every == 0:
            self.most = max(self.most, self.keeper.kept())


def opened(
    backend: xla.Backend, cache: SliceCache, text: str, *values: np.ndarray, grain: Grain = Grain.UNIT
) -> tuple[Debugger, Counting]:
    program = Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))
    inputs = Inputs("npz", list(values)) if values else made(program, 0)
    debugger = Debugger(program, inputs, backend, cache, grain=grain)
    counting = Counting(debugger)
    debugger.evaluator.at_work(counting, 1)
    return debugger, counting


# A long step: 3,000 values of 4 KiB, each from the last two, and some from far back.

LENGTH = 3000


def long_step() -> str:
    lines = ["  v0 = s32[1024] parameter(0)", "  v1 = s32[1024] negate(v0)"]
    for n in range(2, LENGTH):
        other = n - 2 if n % 100 else n // 2
        lines.append(f"  v{n} = s32[1024] {('add', 'subtract')[n % 2]}(v{n - 1}, v{other})")
    last = LENGTH - 1
    return "HloModule step\n\nENTRY e {\n" + "\n".join(lines) + f"\n  ROOT r = s32[1024] not(v{last})\n}}\n"


def long_step_in_numpy(first: np.ndarray) -> list[np.ndarray]:
    values = [first, -first]
    for n in range(2, LENGTH):
        other = values[n - 2 if n % 100 else n // 2]
        values.append(values[-1] - other if n % 2 else values[-1] + other)
    return values


FIRST = np.arange(1024, dtype=np.int32)


def test_a_step_of_3000_instructions_stays_in_its_budget(backend: xla.Backend, cache: SliceCache) -> None:
    debugger, counting = opened(backend, cache, long_step(), FIRST)
    keeper, entry = debugger.evaluator.keeper, debugger.spot.frame
    keeper.budget = 1024 * KIB
    counting.every = 10
    debugger.set_stops([parse_spec("v2999")])
    event = debugger.move("continue")
    # What is used again later (a value for every hundredth) is 60 KiB at most, far less than the budget.
    assert 0 < counting.most <= keeper.budget
    assert keeper.kept() <= keeper.budget
    expected = long_step_in_numpy(FIRST)
    assert event["value"]["first"] == expected[2999][:8].tolist()
    for n in (2998, 1500, 77, 1):
        assert np.array_equal(np.asarray(debugger.evaluator.value(entry, n)), expected[n]), n
        assert keeper.kept() <= keeper.budget


def test_without_need_nothing_is_forgotten(backend: xla.Backend, cache: SliceCache) -> None:
    debugger, counting = opened(backend, cache, long_step(), FIRST)
    counting.every = LENGTH
    evaluator, entry = debugger.evaluator, debugger.spot.frame
    evaluator.root(entry)
    assert evaluator.keeper.kept() >= (LENGTH + 1) * FIRST.nbytes
    steps = evaluator.steps
    evaluator.value(entry, 77)
    assert evaluator.steps == steps


# A long loop: 10,000 iterations over 4 KiB, each in a few values of that size.

ITERATIONS = 10_000
LOOP = f"""
HloModule loop

body {{
  s = (s32[], f32[1024]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = f32[1024] get-tuple-element(s), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  c = f32[1024] negate(v)
  w = f32[1024] subtract(v, c)
  half = f32[] constant(0.5)
  halves = f32[1024] broadcast(half), dimensions={{}}
  x = f32[1024] multiply(w, halves)
  f = f32[] convert(n)
  fs = f32[1024] broadcast(f), dimensions={{}}
  y = f32[1024] maximum(x, fs)
  ROOT t = (s32[], f32[1024]) tuple(m, y)
}}

cond {{
  s = (s32[], f32[1024]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  z = s32[] constant({ITERATIONS})
  ROOT c = pred[] compare(n, z), direction=LT
}}

ENTRY e {{
  n = s32[] constant(0)
  v = f32[1024] parameter(0)
  t = (s32[], f32[1024]) tuple(n, v)
  loop = (s32[], f32[1024]) while(t), condition=cond, body=body
  ROOT r = f32[1024] get-tuple-element(loop), index=1
}}
"""


def test_a_loop_of_10000_iterations_stays_in_its_budget(backend: xla.Backend, cache: SliceCache) -> None:
    first = np.arange(1024, dtype=np.float32) * 10
    debugger, counting = opened(backend, cache, LOOP, first)
    keeper = debugger.evaluator.keeper
    keeper.budget = 256 * KIB
    counting.every = 50
    debugger.set_stops([parse_spec("body/y if iteration==9990")])
    event = debugger.move("continue")
    assert event["path"][-1]["iteration"] == 9990
    assert event["value"]["first"] == [9990.0] * 8
    assert 0 < counting.most <= keeper.budget
    debugger.set_stops([parse_spec("body/y")])
    back = [debugger.move("continue", backward=True) for _ in range(20)]
    assert [one["path"][-1]["iteration"] for one in back] == list(range(9989, 9969, -1))
    assert [one["value"]["min"] for one in back] == [float(k) for k in range(9989, 9969, -1)]
    assert [one["value"]["max"] for one in back] == [10230.0] * 20
    assert counting.most <= keeper.budget
    debugger.set_stops([])
    end = debugger.move("continue")
    assert end["self_check"] == "match"
    assert end["outputs"][0]["min"] == 9999.0


@pytest.mark.parametrize("length", [64, 65, 1000, 10_000])
def test_a_loop_keeps_few_values_and_never_one_far_from_the_next(length: int) -> None:
    loop = Loop(0)
    for iteration in range(1, length + 1):
        loop.keep(iteration, iteration)
        assert len(loop.carries) <= Loop.KEPT
        assert all(key == value for key, value in loop.carries.items())
    kept = sorted(loop.carries)
    assert (kept[0], kept[-1]) == (0, length)
    # Half as many values, at the least, in even steps.
    assert max(b - a for a, b in itertools.pairwise(kept)) <= max(1, length * 4 // Loop.KEPT)


# What is drawn is drawn once.

DRAWN = """
HloModule drawn

body {
  s = (s32[], f32[512]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = f32[512] get-tuple-element(s), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  low = f32[] constant(0)
  high = f32[] constant(1)
  drawn = f32[512] rng(low, high), distribution=rng_uniform
  w = f32[512] add(v, drawn)
  ROOT t = (s32[], f32[512]) tuple(m, w)
}

cond {
  s = (s32[], f32[512]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  z = s32[] constant(20)
  ROOT c = pred[] compare(n, z), direction=LT
}

ENTRY e {
  n = s32[] constant(0)
  v = f32[512] parameter(0)
  t = (s32[], f32[512]) tuple(n, v)
  loop = (s32[], f32[512]) while(t), condition=cond, body=body
  ROOT r = f32[512] get-tuple-element(loop), index=1
}
"""


@pytest.mark.parametrize("grain", list(Grain))
def test_what_is_drawn_stays_the_same(backend: xla.Backend, cache: SliceCache, grain: Grain) -> None:
    debugger, _ = opened(backend, cache, DRAWN, np.zeros(512, np.float32), grain=grain)
    debugger.evaluator.keeper.budget = 8 * KIB
    debugger.set_stops([parse_spec("body/drawn"), parse_spec("body/w")])
    *stops, end = forward(debugger)
    assert len(stops) == 40
    drawn = [stop["value"]["first"] for stop in stops[::2]]
    assert len({tuple(values) for values in drawn}) == 20
    total = np.sum(np.array(drawn), axis=0)
    assert end["outputs"][0]["first"] == pytest.approx(total.tolist(), rel=1e-5)
    back = backward(debugger)[:-1]
    assert [one["value"] for one in back[::-1]] == [one["value"] for one in stops]
    assert forward(debugger)[-1]["outputs"] == end["outputs"]


@pytest.mark.parametrize("grain", list(Grain))
def test_a_budget_of_nothing_changes_no_value(backend: xla.Backend, cache: SliceCache, grain: Grain) -> None:
    @settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
    @given(modules())
    def same(text: str) -> None:
        program = Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))
        seen = []
        for budget in (1 << 30, 0):
            debugger = Debugger(program, made(program, 0), backend, cache, grain=grain)
            debugger.evaluator.keeper.budget = budget
            debugger.set_stops([parse_spec("op:add"), parse_spec("op:call")])
            events = [*forward(debugger), *backward(debugger)]
            moves = [debugger.move(how) for how in ("step", "step", "next", "step", "finish", "next")]
            seen.append(
                [(e["event"], e.get("key"), e.get("value"), e.get("outputs")) for e in (*events, *moves)]
            )
        assert seen[0] == seen[1], text

    same()


def test_what_a_compiled_loop_keeps_of_its_iterations_counts(backend: xla.Backend, cache: SliceCache) -> None:
    text = """
HloModule long

%body (c: (s32[], f32[64,1024])) -> (s32[], f32[64,1024]) {
  %c = (s32[], f32[64,1024]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %x = f32[64,1024] get-tuple-element(%c), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %ones = f32[] constant(1)
  %step = f32[64,1024] broadcast(%ones), dimensions={}
  %y = f32[64,1024] add(%x, %step)
  ROOT %r = (s32[], f32[64,1024]) tuple(%next, %y)
}

%cond (c: (s32[], f32[64,1024])) -> pred[] {
  %c = (s32[], f32[64,1024]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant(20000)
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

ENTRY %main (x: f32[64,1024]) -> f32[64,1024] {
  %x = f32[64,1024] parameter(0)
  %i = s32[] constant(0)
  %init = (s32[], f32[64,1024]) tuple(%i, %x)
  %w = (s32[], f32[64,1024]) while(%init), condition=%cond, body=%body
  ROOT %y = f32[64,1024] get-tuple-element(%w), index=1
}
"""
    debugger, counting = opened(backend, cache, text, np.zeros((64, 1024), np.float32))
    debugger.evaluator.driven = 100
    debugger.evaluator.keeper.budget = 1024 * KIB
    event = debugger.move("continue")
    assert event["outputs"][0]["max"] == 20000
    assert counting.most <= 2048 * KIB


def test_a_long_computation_keeps_no_list_for_each_place_where_one_stands(
    backend: xla.Backend, cache: SliceCache
) -> None:
    debugger, _ = opened(backend, cache, long_step(), FIRST)
    entry = debugger.spot.frame
    for n in range(1, LENGTH, 50):
        debugger.evaluator.value(entry, n)
    debugger.evaluator.root(entry)
    assert sum(map(len, entry.computation._cones.values())) <= len(entry.computation)
