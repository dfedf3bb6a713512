"""The first and the last operation of a block that a context manager tags, before and after optimisation."""

from __future__ import annotations

import re

import numpy as np
import pytest

from hlo_tui.replay.stops import resolve
from hlo_tui.replay.stopspec import StopSpec, parse_spec
from tests.replay.conftest import STAGES, Open, backward, forward, program_file
from tests.replay.running import program_of

MATRIX = np.array([[0.0, 0.25, 0.5], [0.75, 1.0, -1.0], [2.0, 0.5, 0.125]], np.float32)

# What is between the tagged ones is no part of the block and does not end it, but for %other.
PLAIN = """
HloModule plain

ENTRY e {
  far = f32[2] constant({1, 2}), frontend_attributes={mark="a"}
  early = f32[2] exponential(far), metadata={op_name="outside" source_line=6}
  x = f32[2] parameter(0), frontend_attributes={mark="a"}
  one = f32[2] add(early, x), frontend_attributes={mark="a"}
  zero = f32[] constant(0), metadata={op_name="outside"}
  wide = f32[2] broadcast(zero), dimensions={}, metadata={op_name="outside"}
  t = (f32[2], f32[2]) tuple(one, wide)
  g = f32[2] get-tuple-element(t), index=0, frontend_attributes={mark="a"}
  turned = f32[2] reshape(g)
  counter = s32[] constant(1)
  counted = s32[] add(counter, counter), metadata={op_name="counting"}
  square = f32[2] multiply(g, turned), metadata={op_name="cube" source_line=7}
  cube = f32[2] multiply(square, g), frontend_attributes={mark="a"}, metadata={op_name="cube" source_line=7}
  end = f32[2] negate(cube), frontend_attributes={mark="a"}
  kept = (f32[2]) tuple(end), frontend_attributes={mark="a"}
  other = f32[2] cosine(end), metadata={op_name="outside" source_line=8}
  again = f32[2] tanh(other), frontend_attributes={mark="a"}
  else = f32[2] tanh(again), frontend_attributes={mark="b"}
  ROOT r = f32[2] exponential(else)
}
"""


def found(text: str, *specs: StopSpec) -> dict[str, str]:
    program = program_of(text)
    return {
        program.computation(identity).ops[index].name: asked[0].reason
        for identity, row in resolve(program, list(specs)).items()
        for index, asked in row.items()
    }


def test_what_a_block_is() -> None:
    assert found(PLAIN, parse_spec("tag:mark@ends")) == {
        "one": 'first of a block of 6, mark="a"',
        "end": 'last of a block of 6, mark="a"',
        "again": 'mark="a"',
        "else": 'mark="b"',
    }
    assert found(PLAIN, parse_spec("name:^o.*e$@ends if max>1")) == {
        "early": "op_name matches ^o.*e$ if max>1",
        "wide": "op_name matches ^o.*e$ if max>1",
        "other": "op_name matches ^o.*e$ if max>1",
    }
    assert found(PLAIN, parse_spec("op:tanh@ends")) == {
        "again": "first of a block of 2, opcode tanh",
        "else": "last of a block of 2, opcode tanh",
    }


def test_each_is_what_it_was() -> None:
    each = found(PLAIN, parse_spec("tag:mark"))
    assert list(each) == ["far", "x", "one", "g", "cube", "end", "kept", "again", "else"]
    assert set(each.values()) == {'mark="a"', 'mark="b"'}


def test_a_tag_that_is_switched_off_leaves_its_block_whole() -> None:
    text = PLAIN.replace("mark=", "breakpoint=")
    off = StopSpec("instruction", "cube", "e", enabled=False)
    assert found(text, parse_spec("tags@ends"), off)["end"] == 'last of a block of 5, breakpoint="a"'
    off = StopSpec("instruction", "end", "e", enabled=False)
    assert found(text, parse_spec("tags@ends"), off)["cube"] == 'last of a block of 5, breakpoint="a"'


def test_a_computation_with_two_callers_has_blocks_of_its_own() -> None:
    text = """
HloModule twice

f {
  p = f32[] parameter(0)
  a = f32[] sine(p), frontend_attributes={mark="a"}
  ROOT b = f32[] cosine(a), frontend_attributes={mark="a"}
}

ENTRY e {
  x = f32[] parameter(0)
  y = f32[] call(x), to_apply=f, frontend_attributes={mark="a"}
  ROOT z = f32[] CALLED, frontend_attributes={mark="a"}
}
"""
    once = found(text.replace("CALLED", "tanh(y)"), parse_spec("tag:mark@ends"))
    assert once == {"a": 'first of a block of 3, mark="a"', "z": 'last of a block of 3, mark="a"'}
    assert found(text.replace("CALLED", "call(y), to_apply=f"), parse_spec("tag:mark@ends")) == {
        "a": 'first of a block of 2, mark="a"',
        "b": 'last of a block of 2, mark="a"',
        "y": 'first of a block of 2, mark="a"',
        "z": 'last of a block of 2, mark="a"',
    }


def expected() -> list[tuple[str, np.ndarray]]:
    """The first and last values of each block of the program `blocks`, as numpy has them."""
    dot = MATRIX @ MATRIX
    power = np.exp(dot - dot.max(axis=1, keepdims=True))
    cubes = (power / power.sum(axis=1, keepdims=True)) ** 3
    values = [("layer", dot), ("layer", cubes - cubes.mean(axis=0))]
    y = np.sin(values[-1][1]) + 1
    for _ in range(2):
        values += [("body", y > 1), ("body", np.where(y > 1, y * 0.5, y))]
        y = values[-1][1] + 0.25
    total = np.sqrt(y).sum()
    return [*values, ("total", np.sqrt(y)), ("total", total), ("scaled", y / total)]


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("grain", ["unit", "body"])
def test_a_real_program(debug: Open, stage: str, grain: str) -> None:
    inputs = str(program_file("blocks", STAGES[2]))
    debugger = debug(program_file("blocks", stage), grain, inputs, ("tags@ends",))
    *events, end = forward(debugger)
    assert end["event"] == "end"
    words = [re.sub(r'(of a block of \d+, )?breakpoint="(.*)"', r"\2", event["reason"]) for event in events]
    which = [["first ", "last "][n % 2] for n in range(8)]
    assert words == [how + tag for how, (tag, _) in zip([*which, ""], expected(), strict=True)]
    for event, (_, value) in zip(events, expected(), strict=True):
        first = np.asarray(event["value"]["first"], float)
        assert first == pytest.approx(np.ravel(value)[: first.size].astype(float), rel=1e-5, abs=1e-6)
    assert [event["key"] for event in backward(debugger)[:-1]] == [event["key"] for event in events[::-1]]


def test_conditions_and_hits_are_of_the_ends(debug: Open) -> None:
    inputs = str(program_file("blocks", STAGES[2]))
    stops = ("tag:breakpoint=body@ends if hits>=2 and hits<=3", "tag:breakpoint=layer@ends if min<-0.5")
    events = forward(debug(program_file("blocks"), inputs=inputs, stops=stops))[:-1]
    ends = {word: [value for tag, value in expected() if tag == word] for word in ("layer", "body")}
    lower = [value for value in ends["layer"] if value.min() < -0.5]
    wanted = [*lower, *ends["body"][1:3]]
    assert lower
    assert len(lower) < 2
    for event, value in zip(events, wanted, strict=True):
        assert np.asarray(event["value"]["first"], float) == pytest.approx(
            np.ravel(value)[:8].astype(float), rel=1e-5
        )
