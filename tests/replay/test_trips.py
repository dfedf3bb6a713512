"""How often loops that count run, known before they are run: against the loop written out in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.replay.conftest import Open, forward

_LOOP = """\
HloModule counting

%body (p: (s32[], s32[], f32[])) -> (s32[], s32[], f32[]) {
  %p = (s32[], s32[], f32[]) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %n = s32[] get-tuple-element(%p), index=1
  %x = f32[] get-tuple-element(%p), index=2
  %step = s32[] constant(STEP)
  %next = s32[] add(%i, %step)
  %twice = f32[] add(%x, %x), frontend_attributes={breakpoint="true"}
  ROOT %t = (s32[], s32[], f32[]) tuple(%next, KEPT, %twice)
}

%cond (q: (s32[], s32[], f32[])) -> pred[] {
  %q = (s32[], s32[], f32[]) parameter(0)
  %j = s32[] get-tuple-element(%q), index=0
  %limit = s32[] get-tuple-element(%q), index=1
  ROOT %less = pred[] compare(%j, %limit), direction=WAY
}

ENTRY %main (a: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %start = s32[] constant(START)
  %end = s32[] constant(END)
  %init = (s32[], s32[], f32[]) tuple(%start, %end, %a)
  %loop = (s32[], s32[], f32[]) while(%init), condition=%cond, body=%body
  ROOT %out = f32[] get-tuple-element(%loop), index=2
}
"""


@pytest.mark.parametrize(
    ("start", "end", "step", "way"),
    [(0, 7, 1, "LT"), (2, 9, 3, "LT"), (2, 8, 3, "LE"), (-4, 1, 2, "LT"), (0, 1, 5, "LT")],
)
def test_a_limit_that_the_body_keeps_is_counted_to(
    debug: Open, tmp_path: Path, start: int, end: int, step: int, way: str
) -> None:
    counter, rounds = start, 0
    while counter < end or (way == "LE" and counter == end):
        counter, rounds = counter + step, rounds + 1
    first, *others, _ = forward(debug(written(tmp_path, start, end, step, way)))
    assert first["trips"] == rounds
    assert len(others) == rounds - 1


def test_a_limit_that_moves_is_not_guessed(debug: Open, tmp_path: Path) -> None:
    path = written(tmp_path, 0, 4, 2, "LT", kept="%next")
    assert debug(path).move("continue")["trips"] is None


@pytest.mark.parametrize(
    ("start", "end", "step", "way"),
    [(2**31 - 3, 2**31 - 1, 1, "LE"), (2**31 - 8, 2**31 - 1, 5, "LT")],
)
def test_a_counter_that_wraps_is_not_counted(
    debug: Open, tmp_path: Path, start: int, end: int, step: int, way: str
) -> None:
    debugger = debug(written(tmp_path, start, end, step, way))
    assert [debugger.move("continue")["trips"] for _ in range(6)] == [None] * 6


def written(directory: Path, start: int, end: int, step: int, way: str, kept: str = "%n") -> Path:
    text = _LOOP
    for word, value in (("START", start), ("END", end), ("STEP", step), ("WAY", way), ("KEPT", kept)):
        text = text.replace(word, str(value))
    path = directory / "module_0001.counting.before_optimizations.txt"
    path.write_text(text)
    return path
