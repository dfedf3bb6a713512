"""Literals become the arrays that XLA had when it wrote them."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np
import pytest

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays

# Constants whose literals XLA's own parser makes, and their elements written down.
CONSTANTS = {
    "f32[3]": ("{1, -0.5, nan}", [1, -0.5, float("nan")]),
    "f64[2]": ("{1e300, -inf}", [1e300, float("-inf")]),
    "f16[2]": ("{0.5, 65504}", [0.5, 65504]),
    "bf16[2]": ("{1.5, -2}", [1.5, -2]),
    "f8e4m3fn[3]": ("{0.5, 448, -1}", [0.5, 448, -1]),
    "f8e5m2[2]": ("{0.25, -8}", [0.25, -8]),
    "f4e2m1fn[3]": ("{0.5, 6, -1.5}", [0.5, 6, -1.5]),
    "pred[3]": ("{true, false, true}", [1, 0, 1]),
    "s4[5]": ("{-8, 7, 0, -1, 3}", [-8, 7, 0, -1, 3]),
    "u4[3]": ("{15, 0, 9}", [15, 0, 9]),
    "s2[3]": ("{-2, 1, -1}", [-2, 1, -1]),
    "u2[5]": ("{3, 0, 2, 1, 3}", [3, 0, 2, 1, 3]),
    "s8[2]": ("{-128, 127}", [-128, 127]),
    "u8[2]": ("{255, 1}", [255, 1]),
    "s16[2]": ("{-32768, 5}", [-32768, 5]),
    "u16[2]": ("{65535, 5}", [65535, 5]),
    "s32[2]": ("{-2147483648, 5}", [-2147483648, 5]),
    "s64[2]": ("{-9223372036854775808, 5}", [-9223372036854775808, 5]),
    "u64[2]": ("{18446744073709551615, 5}", [18446744073709551615, 5]),
    "c64[2]": ("{(1, -2), (0.5, 0)}", [1 - 2j, 0.5]),
    "c128[1]": ("{(1, -2)}", [1 - 2j]),
    "f32[2,3]{0,1}": ("{ {1, 2, 3}, {4, 5, 6} }", [[1, 2, 3], [4, 5, 6]]),
    "f32[]": ("2.5", 2.5),
    "s4[2,3]{0,1}": ("{ {1, 2, 3}, {4, 5, 6} }", [[1, 2, 3], [4, 5, 6]]),
}

IN_CHILD = """
import json, sys
from jaxlib import _hlo
out = {}
for shape, text in json.load(sys.stdin).items():
    hlo = f"HloModule m\\n\\nENTRY e {{\\n  ROOT c = {shape} constant({text})\\n}}\\n"
    module = _hlo.hlo_module_from_text(hlo)
    out[shape] = bytes(module.as_serialized_hlo_module_proto()).hex()
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def by_xla() -> dict[str, str]:
    asked = json.dumps({shape: text for shape, (text, _) in CONSTANTS.items()})
    done = subprocess.run(
        [sys.executable, "-c", IN_CHILD], input=asked, capture_output=True, text=True, check=True
    )
    return dict(json.loads(done.stdout))


@pytest.mark.parametrize("shape", CONSTANTS)
def test_a_literal_is_read(by_xla: dict[str, str], shape: str) -> None:
    module = pb.HloModuleProto.FromString(bytes.fromhex(by_xla[shape]))
    value = arrays.literal_to_value(module.computations[0].instructions[0].literal)
    expected = np.array(CONSTANTS[shape][1])
    wide = value.astype(expected.dtype)
    assert value.shape == expected.shape
    np.testing.assert_array_equal(wide, expected)
    assert arrays.dtype_name(value) == shape.split("[")[0]


def test_packed_small_elements_are_read_too() -> None:
    shape = pb.ShapeProto(element_type=pb.S4, dimensions=[5])
    literal = pb.LiteralProto(shape=shape, s4s=bytes([0x78, 0xF0, 0x03]))
    assert arrays.literal_to_value(literal).astype(int).tolist() == [-8, 7, 0, -1, 3]


def test_a_literal_that_is_too_short_is_refused() -> None:
    literal = pb.LiteralProto(shape=pb.ShapeProto(element_type=pb.F32, dimensions=[3]), f32s=[1.0])
    with pytest.raises(ValueError, match="holds 1 elements"):
        arrays.literal_to_value(literal)


def test_sizes_and_names_of_shapes() -> None:
    part = pb.ShapeProto(element_type=pb.S4, dimensions=[3])
    token = pb.ShapeProto(element_type=pb.TOKEN)
    bounded = pb.ShapeProto(element_type=pb.F32, dimensions=[8, 2], is_dynamic_dimension=[True, False])
    both = pb.ShapeProto(element_type=pb.TUPLE, tuple_shapes=[part, token, bounded])
    assert arrays.byte_size(both) == 2 + 0 + 64
    assert arrays.shape_text(both) == "(s4[3], token[], f32[<=8,2])"
