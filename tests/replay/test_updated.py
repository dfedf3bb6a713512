"""Arrays of which a block was replaced are what numpy makes of them, and are written out only when they are read."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.replay import updated as module
from hlo_tui.replay import xla
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.flags import Flags, flags_of
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.inputs import Inputs
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.stopspec import parse_spec
from hlo_tui.replay.updated import Updated, updated
from tests.replay.running import program_of

SHAPE = (40, 9, 32)
NUMBERS = st.sampled_from([1.0, 2.0, float("nan"), float("inf"), float("-inf")])


@st.composite
def blocks(draw: st.DrawFn) -> list[tuple[np.ndarray, tuple[slice, ...]]]:
    found = []
    for _ in range(draw(st.integers(1, 12))):
        sizes = [draw(st.integers(1, limit)) for limit in (3, 4, 32)]
        starts = [draw(st.integers(0, whole - size)) for whole, size in zip(SHAPE, sizes, strict=True)]
        part = np.ones(sizes, np.float32)
        part[tuple(draw(st.integers(0, size - 1)) for size in sizes)] = draw(NUMBERS)
        place = tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))
        found.append((part, place))
    return found


@given(blocks(), st.sets(st.integers(0, 11)), NUMBERS)
def test_a_chain_of_blocks_is_what_numpy_makes_of_it(
    chain: list[tuple[np.ndarray, tuple[slice, ...]]], read: set[int], first: float
) -> None:
    expected = np.zeros(SHAPE, np.float32)
    expected[7, 3, 5] = first
    begun, value = expected.copy(), expected.copy()
    held = []
    for number, (part, place) in enumerate(chain):
        value = updated(value, part, place)
        expected[place] = part
        held.append((value, expected.copy()))
        if number in read:
            assert np.array_equal(np.asarray(value), expected, equal_nan=True)
    for one, right in held:
        assert (one.shape, one.dtype) == (right.shape, right.dtype)
        assert flags_of(one) == Flags(bool(np.isnan(right).any()), bool(np.isinf(right).any()))
        assert np.array_equal(np.asarray(one), right, equal_nan=True)
    assert np.array_equal(begun[7, 3, 5], np.float32(first), equal_nan=True)


@given(blocks(), blocks(), st.integers(0, 12))
def test_a_part_is_read_of_the_blocks_that_have_it(
    chain: list[tuple[np.ndarray, tuple[slice, ...]]],
    reads: list[tuple[np.ndarray, tuple[slice, ...]]],
    written: int,
) -> None:
    value = expected = np.arange(np.prod(SHAPE), dtype=np.float32).reshape(SHAPE)
    for number, (part, place) in enumerate(chain):
        value, expected = updated(value, part, place), expected.copy()
        expected[place] = part
        if number == written:
            np.asarray(value)
    for _, place in reads:
        assert np.array_equal(value[place], expected[place], equal_nan=True)
    assert np.array_equal(np.asarray(value), expected, equal_nan=True)


def test_a_loop_that_reads_what_it_wrote_lately_writes_nothing_out() -> None:
    value = np.zeros(SHAPE, np.float32)
    for number in range(1, 9):
        part = np.full((1, 9, 32), number, np.float32)
        value = updated(value, part, (slice(number, number + 1), slice(0, 9), slice(0, 32)))
        for row in (number, max(0, number - 3), 30):
            read = value[slice(row, row + 1), slice(0, 9), slice(0, 32)]
            assert np.array_equal(read, np.full((1, 9, 32), row if row < 30 else 0))
    assert value.part is not None
    assert np.array_equal(value[slice(4, 6), slice(0, 9), slice(0, 1)][:, 0, 0], [4, 5])
    assert value.part is None


def test_nothing_is_written_out_to_be_looked_at_for_nans() -> None:
    value = np.zeros(SHAPE, np.float32)
    value[0, 0, 0] = np.nan
    for number in range(1, 9):
        part = np.full((1, 9, 32), np.inf if number == 5 else 1, np.float32)
        value = updated(value, part, (slice(number, number + 1), slice(0, 9), slice(0, 32)))
        assert flags_of(value) == Flags(True, number >= 5)
    assert isinstance(value, Updated)
    assert value.part is not None


@pytest.mark.parametrize("filler", [np.nan, -np.inf])
@pytest.mark.parametrize("rows", [range(40), range(39, -1, -1)], ids=["up", "down"])
def test_a_stack_that_begins_as_nans_is_seldom_written_out(
    filler: float, rows: range, monkeypatch: pytest.MonkeyPatch
) -> None:
    written: list[Updated] = []
    write = Updated.written
    monkeypatch.setattr(Updated, "written", lambda self: (written.append(self), write(self))[1])
    value = np.full(SHAPE, filler, np.float32)
    for number, row in enumerate(rows):
        place = (slice(row, row + 1), slice(0, 9), slice(0, 32))
        value = updated(value, np.ones((1, 9, 32), np.float32), place)
        assert flags_of(value).any() is (number < 39)
    # Half of what is left is gone each time.
    assert len(written) <= 2 * math.ceil(math.log2(40))


@given(st.lists(st.integers(0, 39), min_size=1, max_size=200))
def test_what_is_remembered_takes_no_more_than_the_array(rows: list[int]) -> None:
    value = np.zeros(SHAPE, np.float32)
    for row in rows:
        value = updated(
            value, np.ones((1, 9, 32), np.float32), (slice(row, row + 1), slice(0, 9), slice(0, 32))
        )
        buffers: dict[int, int] = {}
        if isinstance(value, Updated):
            value.count(buffers)
        assert sum(buffers.values()) <= np.zeros(SHAPE, np.float32).nbytes


def test_small_arrays_and_large_blocks_are_copied() -> None:
    small = updated(np.zeros((8, 8)), np.ones((1, 8)), (slice(2, 3), slice(0, 8)))
    large = updated(np.zeros(SHAPE), np.ones((20, 9, 32)), (slice(0, 20), slice(0, 9), slice(0, 32)))
    assert type(small) is type(large) is np.ndarray
    assert (small.sum(), large.sum()) == (8, 20 * 9 * 32)


# A scan that stacks a row in each of its 30 iterations, in a fusion as the optimiser leaves it.
STACKING = """
HloModule stacking

%fused (p0: f32[30,64,32], p1: s32[], p2: f32[64,32]) -> f32[30,64,32] {
  %p0 = f32[30,64,32] parameter(0)
  %p1 = s32[] parameter(1)
  %p2 = f32[64,32] parameter(2)
  %sq = f32[64,32] multiply(%p2, %p2)
  %row = f32[1,64,32] bitcast(%sq)
  %zero = s32[] constant(0)
  ROOT %stack = f32[30,64,32] dynamic-update-slice(%p0, %row, %p1, %zero, %zero)
}

%body (c: (s32[], f32[64,32], f32[30,64,32], f32[30,64,32])) -> (s32[], f32[64,32], f32[30,64,32], f32[30,64,32]) {
  %c = (s32[], f32[64,32], f32[30,64,32], f32[30,64,32]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %x = f32[64,32] get-tuple-element(%c), index=1
  %s = f32[30,64,32] get-tuple-element(%c), index=2
  %t = f32[30,64,32] get-tuple-element(%c), index=3
  %one = s32[] constant(1)
  %zero = s32[] constant(0)
  %next = s32[] add(%i, %one)
  %half = f32[] constant(0.5)
  %halves = f32[64,32] broadcast(%half), dimensions={}
  %y = f32[64,32] add(%x, %halves), frontend_attributes={breakpoint="true"}
  %squares = f32[30,64,32] fusion(%s, %i, %y), kind=kLoop, calls=%fused
  %row = f32[1,64,32] reshape(%y)
  %plain = f32[30,64,32] dynamic-update-slice(%t, %row, %i, %zero, %zero)
  ROOT %r = (s32[], f32[64,32], f32[30,64,32], f32[30,64,32]) tuple(%next, %y, %squares, %plain)
}

%cond (c: (s32[], f32[64,32], f32[30,64,32], f32[30,64,32])) -> pred[] {
  %c = (s32[], f32[64,32], f32[30,64,32], f32[30,64,32]) parameter(0)
  %i = s32[] get-tuple-element(%c), index=0
  %n = s32[] constant(30)
  ROOT %less = pred[] compare(%i, %n), direction=LT
}

ENTRY %main (x: f32[64,32]) -> (f32[64,32], f32[30,64,32], f32[30,64,32]) {
  %x = f32[64,32] parameter(0)
  %i = s32[] constant(0)
  %z = f32[] constant(0)
  %zs = f32[30,64,32] broadcast(%z), dimensions={}
  %init = (s32[], f32[64,32], f32[30,64,32], f32[30,64,32]) tuple(%i, %x, %zs, %zs)
  %w = (s32[], f32[64,32], f32[30,64,32], f32[30,64,32]) while(%init), condition=%cond, body=%body
  %y = f32[64,32] get-tuple-element(%w), index=1
  %s = f32[30,64,32] get-tuple-element(%w), index=2
  %t = f32[30,64,32] get-tuple-element(%w), index=3
  ROOT %r = (f32[64,32], f32[30,64,32], f32[30,64,32]) tuple(%y, %s, %t)
}
"""


def stacking(backend: xla.Backend, cache: SliceCache, grain: str) -> tuple[Debugger, np.ndarray]:
    x = np.linspace(0.25, 1, 64 * 32, dtype=np.float32).reshape(64, 32)
    debugger = Debugger(program_of(STACKING), Inputs("npz", [x]), backend, cache, grain=Grain(grain))
    debugger.set_stops([parse_spec("tags")])
    return debugger, x


@pytest.mark.parametrize("grain", ["whole", "unit", "body"])
def test_a_stop_in_a_loop_copies_no_stack(
    backend: xla.Backend, cache: SliceCache, grain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    debugger, x = stacking(backend, cache, grain)
    copied: list[int] = []
    owned = module.arrays.owned

    def counted(array: np.ndarray) -> np.ndarray:
        copied.append(array.nbytes)
        return owned(array)

    call = xla.Executable.__call__

    def run(self: xla.Executable, leaves: list[object]) -> list[object]:
        results = call(self, leaves)
        copied.extend(result.nbytes for result in results)
        return results

    monkeypatch.setattr(module.arrays, "owned", counted)
    monkeypatch.setattr(xla.Executable, "__call__", run)
    for number in range(30):
        event = debugger.move("continue")
        assert event["path"][-1]["iteration"] == number
        assert event["value"]["max"] == pytest.approx(1 + 0.5 * (number + 1))
    # Each stack is written out when what was remembered of it is as large as it is, and not at every stop.
    assert len([size for size in copied if size == 30 * 64 * 32 * 4]) <= 4
    end = debugger.move("continue")
    steps = x + np.float32(0.5) * np.arange(1, 31, dtype=np.float32)[:, None, None]
    outputs = [np.asarray(one) for one in debugger.evaluator.root(debugger._entry)]
    assert np.allclose(outputs[0], steps[-1])
    assert np.allclose(outputs[1], steps**2)
    assert np.allclose(outputs[2], steps)
    assert end["self_check"] == "match"


@pytest.mark.parametrize("grain", ["unit", "body"])
def test_a_stack_can_be_looked_at_on_the_way_and_on_the_way_back(
    backend: xla.Backend, cache: SliceCache, grain: str
) -> None:
    debugger, _ = stacking(backend, cache, grain)
    sums = []
    for _ in range(12):
        debugger.move("continue")
        sums.append(debugger.value("body", "t")["value"])
    for number in range(11, 0, -1):
        assert sums[number]["zero"] == (30 - number) * 64 * 32
        assert sums[number] == debugger.value("body", "t")["value"]
        debugger.move("continue", backward=True)
