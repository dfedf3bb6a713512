"""Loops that go on for ever are told from those that may end, and long ones do not cost a step for each turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla
from hlo_tui.replay.evaluate import DRIVEN
from hlo_tui.replay.loops import holding, never_ends
from hlo_tui.replay.program import Program
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
    expected = sum(range(1_000_000)) & 0xFFFFFFFF
    assert end["outputs"][0]["first"] == [expected - (1 << 32) if expected >> 31 else expected]
    assert end["self_check"] == "match"
    assert DRIVEN <= debugger.evaluator.steps < DRIVEN + 100
