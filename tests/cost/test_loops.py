"""How often loops run, read off their counters and checked by counting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.cost.analysis import Analysis
from hlo_tui.cost.loops import trip_count
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource

LOOP = """HloModule a

%body (s: (s32[], s32[])) -> (s32[], s32[]) {{
  %s = (s32[], s32[]) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %n = s32[] get-tuple-element(%s), index=1
  %step = s32[] constant({step})
  %next = s32[] {opcode}(%i, %step)
  ROOT %t = (s32[], s32[]) tuple(%next, %n)
}}

%condition (s.1: (s32[], s32[])) -> pred[] {{
  %s.1 = (s32[], s32[]) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=0
  %n.1 = s32[] {limit}
  ROOT %go = pred[] compare({operands}), direction={direction}
}}

ENTRY %main () -> (s32[], s32[]) {{
  %first = s32[] constant({first})
  %last = s32[] constant({last})
  %t.1 = (s32[], s32[]) tuple(%first, %last)
  ROOT %w = (s32[], s32[]) while(%t.1), condition=%condition, body=%body
}}
"""
TESTS = {
    "LT": lambda a, b: a < b, "LE": lambda a, b: a <= b, "GT": lambda a, b: a > b, "GE": lambda a, b: a >= b,
    "NE": lambda a, b: a != b,
}  # fmt: skip


def counted(text: str) -> int | None:
    module = Module(BytesSource(text.encode(), "a"))
    module.scan()
    analysis = Analysis(module)
    return trip_count(analysis.body("main").by_name["w"], analysis.body)


def loop(first: int, last: int, step: int, direction: str, turned: bool = False, kept: bool = False) -> str:
    return LOOP.format(
        first=first, last=last, step=step, direction=direction, opcode="add",
        limit="get-tuple-element(%s.1), index=1" if kept else f"constant({last})",
        operands="%n.1, %i.1" if turned else "%i.1, %n.1",
    )  # fmt: skip


small = st.integers(-12, 12)


@given(small, small, small, st.sampled_from(sorted(TESTS)), st.booleans(), st.booleans())
def test_a_count_is_what_counting_gives(first, last, step, direction, turned, kept):
    # With the sides turned the limit is compared with the counter.
    goes_on = (lambda at: TESTS[direction](last, at)) if turned else (lambda at: TESTS[direction](at, last))
    at, count = first, 0
    while goes_on(at) and count < 1000:
        at, count = at + step, count + 1
    found = counted(loop(first, last, step, direction, turned, kept))
    assert found is None or found == count


def test_the_usual_loop_is_read():
    assert counted(loop(0, 24, 1, "LT")) == 24
    assert counted(loop(0, 24, 1, "LT", kept=True)) == 24
    assert counted(loop(23, 0, -1, "GE")) == 24
    assert counted(loop(0, 24, 1, "LT").replace("add(%i, %step)", "add(%step, %i)")) == 24
    assert counted(loop(24, 0, 1, "GT").replace("add(", "subtract(")) == 24


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("constant(0)", "parameter(0)"),
        ("add(%i, %step)", "multiply(%i, %step)"),
        ("direction=LT", "direction=EQ"),
        ("tuple(%next, %n)", "tuple(%n, %n)"),
        ("compare(%i.1, %n.1)", "compare(%n.1, %n.1)"),
        ("body=%body", "body=%nothing"),
    ],
)
def test_a_loop_without_a_plain_counter_is_not_guessed_at(before, after):
    text = loop(0, 24, 1, "LT")
    assert before in text
    assert counted(text.replace(before, after)) is None


def test_what_the_compiler_noted_comes_first():
    text = loop(0, 24, 1, "LT").replace(
        "body=%body", 'body=%body, backend_config={"known_trip_count":{"n":"7"},"x":1}'
    )
    assert counted(text) == 7
