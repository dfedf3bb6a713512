"""Loops that go on for ever are told from those that may end, and long ones do not cost a step for each turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla
from hlo_tui.replay.evaluate import DRIVEN
from hlo_tui.replay.loops import holding, never_ends
from hlo_tui.replay.program import Program
from hlo_tui.replay.stopspec import parse_spec
from hlo_tui.replay.walk import Position
from tests.replay.conftest import Open, forward

MODULE = """
HloModule loop

add {{
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  ROOT r = s32[] add(a, b)
}}

body {{
  s = (s32[], s32[], s32[4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  k = s32[] get-tuple-element(s), index=1
  v = s32[4] get-tuple-element(s), index=2
  one = s32[] constant(1)
  more = s32[] add(n, one)
  same = s32[] copy(n)
  w = s32[4] negate(v)
  zero = s32[] constant(0)
  {result}
}}

cond {{
  s = (s32[], s32[], s32[4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  k = s32[] get-tuple-element(s), index=1
  v = s32[4] get-tuple-element(s), index=2
  zero = s32[] constant(0)
  sum = s32[] reduce(v, zero), dimensions={{0}}, to_apply=add
  ROOT c = pred[] {condition}
}}

ENTRY e {{
  s = (s32[], s32[], s32[4]) parameter(0)
  ROOT loop = (s32[], s32[], s32[4]) while(s), condition=cond, body=body
}}
"""
TUPLE = "ROOT t = (s32[], s32[], s32[4]) tuple({})"


def program(condition: str, result: str) -> Program:
    text = MODULE.format(condition=condition, result=result)
    return Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))


@pytest.mark.parametrize(
    ("condition", "result", "expected"),
    [
        # A counter that counts, and one that does not.
        ("compare(n, k), direction=LT", TUPLE.format("more, k, v"), False),
        ("compare(n, k), direction=LT", TUPLE.format("same, k, w"), True),
        ("compare(n, k), direction=LT", TUPLE.format("n, k, w"), True),
        # The two are changed for one another.
        ("compare(n, k), direction=LT", TUPLE.format("k, n, w"), False),
        # It looks at the vector, which changes or does not.
        ("compare(sum, k), direction=LT", TUPLE.format("n, k, w"), False),
        ("compare(sum, k), direction=LT", TUPLE.format("more, k, v"), True),
        # It looks at nothing.
        ("constant(true)", TUPLE.format("more, k, w"), True),
        # The body gives on all at once.
        ("compare(n, k), direction=LT", "ROOT t = (s32[], s32[], s32[4]) copy(s)", False),
        # What it looks at comes from outside of the program.
        (
            'custom-call(n), custom_call_target="look"',
            TUPLE.format("n, k, v"),
            False,
        ),
    ],
)
def test_what_the_condition_reads_and_the_body_changes(condition: str, result: str, expected: bool) -> None:
    module = program(condition, result)
    loop = module.entry.ops[module.entry.root]
    assert never_ends(loop) is expected
    assert (module.entry.id in holding(module)) is expected


def test_drawn_numbers_may_end_it() -> None:
    text = """
HloModule drawn

body { ROOT s = s32[] parameter(0) }

cond {
  s = s32[] parameter(0)
  low = s32[] constant(0)
  high = s32[] constant(9)
  drawn = s32[] rng(low, high), distribution=rng_uniform
  ROOT c = pred[] compare(s, drawn), direction=LT
}

ENTRY e {
  s = s32[] parameter(0)
  ROOT loop = s32[] while(s), condition=cond, body=body
}
"""
    module = Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))
    loop = module.entry.ops[module.entry.root]
    assert not never_ends(loop)
    alike = Program(pb.HloModuleProto.FromString(xla.parse_text(text.replace("drawn)", "high)").encode())))
    assert never_ends(alike.entry.ops[alike.entry.root])


COUNTED = """
HloModule counted

body {
  s = (s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  sum = s32[] get-tuple-element(s), index=1
  one = s32[] constant(1)
  more = s32[] add(n, one)
  larger = s32[] add(sum, n)
  ROOT t = (s32[], s32[]) tuple(more, larger)
}

cond {
  s = (s32[], s32[]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  limit = s32[] constant(1000000)
  ROOT c = pred[] compare(n, limit), direction=LT
}

ENTRY e {
  zero = s32[] constant(0)
  t = (s32[], s32[]) tuple(zero, zero)
  loop = (s32[], s32[]) while(t), condition=cond, body=body
  ROOT sum = s32[] get-tuple-element(loop), index=1
}
"""


def test_a_long_loop_without_a_stop_is_driven_only_for_a_while(debug: Open, tmp_path: Path) -> None:
    path = tmp_path / "counted.txt"
    path.write_text(COUNTED)
    debugger = debug(path, stops=("op:no-such-opcode",))
    (end,) = forward(debugger)
    assert end["outputs"][0]["first"] == [wrapped(sum(range(1_000_000)))]
    assert end["self_check"] == "match"
    assert DRIVEN <= debugger.evaluator.steps < DRIVEN + 100


def test_a_long_loop_is_gone_back_through(debug: Open, tmp_path: Path) -> None:
    """From its end, which was come to in a few pieces, to iterations near and far."""
    path = tmp_path / "counted.txt"
    path.write_text(COUNTED)
    debugger = debug(path, stops=("op:no-such-opcode",))
    forward(debugger)
    before = debugger.evaluator.steps
    debugger.set_stops([parse_spec("body/larger")])
    for k in (999_999, 999_998, 999_997):
        found = debugger.move("continue", backward=True)
        assert found["path"][-1]["iteration"] == k
        assert found["value"]["first"] == [wrapped(sum(range(k + 1)))]
    assert debugger.evaluator.steps - before < 2 * DRIVEN
    ((site, _),) = debugger.spot.position().path
    found = debugger.goto(Position(((site, 2 * 123_456 + 1),), debugger.spot.index))
    assert found["value"]["first"] == [wrapped(sum(range(123_457)))]
    later = debugger.move("continue")
    assert (later["path"][-1]["iteration"], later["value"]["first"]) == (
        123_457,
        [wrapped(sum(range(123_458)))],
    )


NESTED = """
HloModule nested

body {
  s = ((s32[], f32[3]), token[], s4[2], f32[<=4]) parameter(0)
  pair = (s32[], f32[3]) get-tuple-element(s), index=0
  k = token[] get-tuple-element(s), index=1
  small = s4[2] get-tuple-element(s), index=2
  some = f32[<=4] get-tuple-element(s), index=3
  n = s32[] get-tuple-element(pair), index=0
  v = f32[3] get-tuple-element(pair), index=1
  one = s32[] constant(1)
  more = s32[] add(n, one)
  w = f32[3] cosine(v)
  turned = s4[2] negate(small)
  halves = f32[<=4] logistic(some)
  next = (s32[], f32[3]) tuple(more, w)
  ROOT t = ((s32[], f32[3]), token[], s4[2], f32[<=4]) tuple(next, k, turned, halves)
}

cond {
  s = ((s32[], f32[3]), token[], s4[2], f32[<=4]) parameter(0)
  pair = (s32[], f32[3]) get-tuple-element(s), index=0
  n = s32[] get-tuple-element(pair), index=0
  limit = s32[] constant(1001)
  ROOT c = pred[] compare(n, limit), direction=LT
}

ENTRY e {
  zero = s32[] constant(0)
  v = f32[3] parameter(0)
  some = f32[<=4] parameter(1)
  small = s4[2] constant({3, -5})
  k = token[] after-all()
  pair = (s32[], f32[3]) tuple(zero, v)
  t = ((s32[], f32[3]), token[], s4[2], f32[<=4]) tuple(pair, k, small, some)
  ROOT loop = ((s32[], f32[3]), token[], s4[2], f32[<=4]) while(t), condition=cond, body=body
}
"""


@pytest.mark.parametrize("driven", [0, 100, 10**9])
def test_what_goes_round_a_loop_may_have_any_form(debug: Open, tmp_path: Path, driven: int) -> None:
    path = tmp_path / "nested.txt"
    path.write_text(NESTED)
    debugger = debug(path, stops=("op:no-such-opcode",))
    debugger.evaluator.driven = driven
    (end,) = forward(debugger)
    pair, _, small, some = end["outputs"]
    count, values = pair["tuple"]
    fixed = 0.7390851332151607
    assert (count["first"], small["first"]) == ([1001], [-3, 5])
    assert values["first"] == pytest.approx([fixed] * 3, rel=1e-6)
    assert some["first"] == pytest.approx([0.659046068407] * some["count"], rel=1e-6)
    assert end["self_check"] == "match"
    assert (debugger.evaluator.steps > 8_000) is (driven > 1000)


def wrapped(number: int) -> int:
    """A number as 32 bits with a sign hold it."""
    return (number + (1 << 31)) % (1 << 32) - (1 << 31)
