"""Constants keep their values whatever layout they are stored in, and odd forms of operations are taken."""

from __future__ import annotations

import numpy as np
import pytest

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays, xla
from tests.replay.running import run_text

TYPES = {
    "pred": "{{true,false,true},{true,true,false}}",
    "s4": "{{1,-2,3},{4,5,-6}}",
    "u2": "{{1,2,3},{0,1,2}}",
    "s8": "{{1,-2,3},{4,5,-6}}",
    "u16": "{{1,2,3},{4,5,6}}",
    "s64": "{{1,-2,3},{4,5,-6}}",
    "bf16": "{{1,-2,3},{4,5,-6}}",
    "f8e4m3fn": "{{1,-2,3},{4,5,-6}}",
    "f16": "{{1,-2,3},{4,5,-6}}",
    "f32": "{{1,-2,nan},{4,5,-inf}}",
    "f64": "{{1,-2,3},{4,5,-6}}",
    "c64": "{{(1,2),(3,4),(5,6)},{(7,8),(9,10),(11,12)}}",
}


@pytest.mark.parametrize("layout", ["{1,0}", "{0,1}", "{0,1:T(2,128)}"])
@pytest.mark.parametrize("name", TYPES)
def test_a_constant_of_any_layout(backend: xla.Backend, name: str, layout: str) -> None:
    written = TYPES[name]
    text = f"HloModule m\n\nENTRY e {{\n  c = {name}[2,3]{layout} constant({written})\n"
    text += f"  ROOT r = {name}[2,3]{layout} copy(c)\n}}\n"
    value = run_text(backend, text)
    read = eval_elements(written)
    np.testing.assert_array_equal(value.astype(np.complex128), np.array(read).reshape(2, 3))


def eval_elements(written: str) -> list[complex]:
    """The elements as they stand, row by row."""
    if "(" in written:
        pairs = [
            pair.split(",") for pair in written.replace("{", "").replace("}", "").strip("()").split("),(")
        ]
        return [complex(float(real), float(imaginary)) for real, imaginary in pairs]
    words = written.replace("{", "").replace("}", "").split(",")
    return [complex({"true": "1", "false": "0"}.get(word, word)) for word in words]


def test_a_tuple_of_constants(backend: xla.Backend) -> None:
    literal = pb.LiteralProto(f32s=[1, 4, 2, 5, 3, 6])
    literal.shape.element_type = pb.F32
    literal.shape.dimensions.extend([2, 3])
    literal.shape.layout.minor_to_major.extend([0, 1])
    arrays.store_row_major(literal)
    assert list(literal.f32s) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("shape", ["f32[4]", "(f32[4], f32[4])"])
def test_the_start_of_an_all_reduce_may_name_its_operand_too(backend: xla.Backend, shape: str) -> None:
    text = f"""
HloModule m

add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT s = f32[] add(a, b)
}}

ENTRY e {{
  p = f32[4] parameter(0)
  begun = {shape} all-reduce-start(p), replica_groups={{}}, to_apply=add
  ROOT done = f32[4] all-reduce-done(begun)
}}
"""
    given = np.arange(4, dtype=np.float32)
    np.testing.assert_array_equal(run_text(backend, text, given), given)
