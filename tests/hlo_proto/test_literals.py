"""Constants are written as XLA writes them."""

from __future__ import annotations

import struct

import pytest

from hlo_tui.hlo.literal_floats import SMALL_FLOATS
from hlo_tui.hlo.literals import literal_text, literal_with_shape_text
from hlo_tui.hlo.schema import hlo_pb2 as pb
from tests.hlo_proto.xla_child import ask


def literal(
    kind: int, dimensions: list[int], order: list[int] | None = None, **values: object
) -> pb.LiteralProto:
    layout = list(reversed(range(len(dimensions)))) if order is None else order
    shape = pb.ShapeProto(
        element_type=kind,
        dimensions=dimensions,
        layout=pb.LayoutProto(minor_to_major=layout),
        is_dynamic_dimension=[False] * len(dimensions),
    )
    return pb.LiteralProto(shape=shape, **values)


CASES = [
    (literal(pb.PRED, [], preds=[True]), "true"),
    (literal(pb.PRED, [2], preds=[True, False]), "{1, 0}"),
    (literal(pb.S32, [2, 3], s32s=range(6)), "{ { 0, 1, 2 }, { 3, 4, 5 } }"),
    (literal(pb.S32, [2, 3], [0, 1], s32s=range(6)), "{ { 0, 2, 4 }, { 1, 3, 5 } }"),
    (literal(pb.S32, [1, 1], s32s=[7]), "{ {7} }"),
    (literal(pb.S32, [2, 0]), "{ {}, {} }"),
    (literal(pb.S32, [0, 2]), "{  }"),
    (literal(pb.S32, [0]), "{}"),
    (
        literal(pb.U8, [1, 1, 2, 2], u8s=b"\x01\x02\x03\xff"),
        "{ { /*i0=0*/ { /*i1=0*/ { 1, 2 }, { 3, 255 } } } }",
    ),
    (literal(pb.S8, [2], s8s=b"\xff\x7f"), "{-1, 127}"),
    (literal(pb.S16, [2], s16s=b"\xfe\xff\x01\x00"), "{-2, 1}"),
    (literal(pb.U16, [1], u16s=b"\xfe\xff"), "{65534}"),
    (literal(pb.S4, [3], s4s=b"\x01\x0e\x08"), "{1, -2, -8}"),
    (literal(pb.U4, [3], u4s=b"\x01\x0e\x0f"), "{1, 14, 15}"),
    (literal(pb.S2, [3], s2s=b"\x01\x02\x03"), "{1, -2, -1}"),
    (literal(pb.S64, [1], s64s=[-(2**63)]), "{-9223372036854775808}"),
    (literal(pb.U64, [1], u64s=[2**64 - 1]), "{18446744073709551615}"),
    (literal(pb.F32, [4], f32s=[0.1, -0.0, 3.14159274, 1e10]), "{0.1, -0, 3.14159274, 1e+10}"),
    (literal(pb.F32, [2], f32s=[float("inf"), float("-inf")]), "{inf, -inf}"),
    (literal(pb.F64, [2], f64s=[0.1, 1 / 3]), "{0.1, 0.33333333333333331}"),
    (literal(pb.F16, [2], f16s=struct.pack("<ee", -0.3, 65504)), "{-0.30005, 65504}"),
    (literal(pb.BF16, [3], bf16s=b"\x80\x3f\x80\xff\xc0\x7f"), "{1, -inf, nan}"),
    (literal(pb.C64, [2], c64s=[1, -2, 0.5, float("inf")]), "{(1, -2), (0.5, inf)}"),
    (literal(pb.C128, [], c128s=[1, 2]), "(1, 2)"),
]


@pytest.mark.parametrize(("value", "text"), CASES, ids=[text for _, text in CASES])
def test_a_literal_is_written_as_xla_writes_it(value: pb.LiteralProto, text: str) -> None:
    assert literal_text(value) == text


def test_more_than_ten_elements_are_left_out_unless_asked_for() -> None:
    value = literal(pb.S32, [11], s32s=range(11))
    assert literal_text(value) == "{...}"
    assert literal_text(value, large_constants=True) == "{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}"


def test_the_payload_and_the_sign_of_a_nan_are_kept() -> None:
    """A quiet NaN, the same with its sign, and a signalling one that a Python float cannot hold."""
    stored = struct.pack("<III", 0x7FC00000, 0xFFC00000, 0x7F80007F)
    value = literal(pb.F32, [3])
    value.MergeFromString(b"\x42\x0c" + stored)
    assert literal_text(value) == "{nan, -nan, nan(0x7f)}"
    half = literal(pb.BF16, [2], bf16s=b"\x81\x7f\xc0\xff")
    assert literal_text(half) == "{nan(0x1), -nan}"


def test_a_tuple_is_written_with_shapes_where_they_are_asked_for() -> None:
    value = pb.LiteralProto(shape=pb.ShapeProto(element_type=pb.TUPLE))
    value.tuple_literals.extend([literal(pb.S32, [], s32s=[1]), literal(pb.F32, [2], f32s=[2, 3])])
    assert literal_text(value) == "{...}"
    assert literal_text(value, large_constants=True) == "( 1, {2, 3} )"
    assert literal_with_shape_text(value) == "( s32[] 1, f32[2]{0} {2, 3} )"


def test_a_dynamic_dimension_shows_what_is_used_of_it() -> None:
    value = literal(pb.S32, [4], s32s=[1, 2, 3, 4], dynamic_sizes=[2])
    value.shape.is_dynamic_dimension[0] = True
    assert literal_text(value) == "{1, 2}"
    assert literal_with_shape_text(value) == "s32[<=4]{0}(2) {1, 2}"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (literal(pb.S32, [3], s32s=[1, 2]), "{...} /* 2 of 3 elements */"),
        (literal(pb.F8E5M2, [2], f8e5m2s=b"\x01\x02\x03"), "{...} /* 3 of 2 elements */"),
        (literal(pb.S32, [-2, -1], s32s=[1, 2]), "{...}"),
        (literal(99, [2]), "{...} /* 0 of 2 elements */"),
    ],
)
def test_a_literal_that_contradicts_its_shape_is_marked(value: pb.LiteralProto, text: str) -> None:
    assert literal_text(value) == text


def test_damage_cannot_make_the_text_large() -> None:
    assert literal_text(literal(pb.S32, [10**9, 0])) == "{...}"
    assert literal_text(literal(pb.S32, [1] * 5000, s32s=[1])) == "{...}"


# Code of one, least number above zero, largest number and its code, a special one: from the descriptions.
SMALL = [
    (pb.F8E5M2, 0x3C, "1.5e-05", 0x7B, "5.7e+04", 0x7C, "inf"),
    (pb.F8E4M3, 0x38, "0.00195", 0x77, "240", 0x78, "inf"),
    (pb.F8E3M4, 0x30, "0.0156", 0x6F, "15.5", 0x70, "inf"),
    (pb.F8E4M3FN, 0x38, "0.00195", 0x7E, "448", 0x7F, "nan"),
    (pb.F8E4M3B11FNUZ, 0x58, "0.000122", 0x7F, "30", 0x80, "-nan"),
    (pb.F8E5M2FNUZ, 0x40, "7.6e-06", 0x7F, "5.7e+04", 0x80, "-nan"),
    (pb.F8E4M3FNUZ, 0x40, "0.000977", 0x7F, "240", 0x80, "-nan"),
    (pb.F6E3M2FN, 0x0C, "0.062", 0x1F, "28", 0x3F, "-28"),
    (pb.F6E2M3FN, 0x08, "0.125", 0x1F, "7.5", 0x3F, "-7.5"),
    (pb.F4E2M1FN, 0x02, "0.5", 0x07, "6", 0x0F, "-6"),
]


@pytest.mark.parametrize(("kind", "one", "least", "most", "largest", "special", "name"), SMALL)
def test_small_floats_follow_their_descriptions(
    kind: int, one: int, least: str, most: int, largest: str, special: int, name: str
) -> None:
    small = SMALL_FLOATS[kind]
    assert [small.text(code) for code in (0, one, 1, most, special)] == ["0", "1", least, largest, name]


def test_a_scale_is_a_power_of_two() -> None:
    small = SMALL_FLOATS[pb.F8E8M0FNU]
    assert [small.text(code) for code in (127, 126, 137, 255)] == ["1", "0.5", "1e+03", "nan"]


def test_every_code_of_every_small_float_is_written_as_xla_writes_it() -> None:
    kinds = [kind for kind in SMALL_FLOATS if kind not in (pb.F6E3M2FN, pb.F6E2M3FN)]
    instructions = []
    for kind in kinds:
        codes = bytes(range(1 << SMALL_FLOATS[kind].bits))
        name = pb.PrimitiveType.Name(kind).lower()
        value = literal(kind, [len(codes)], **{f"{name}s": codes})
        instructions.append(
            pb.HloInstructionProto(
                name=f"all_{name}", opcode="constant", id=kind, shape=value.shape, literal=value
            )
        )
    for kind, field in ((pb.F16, "f16s"), (pb.BF16, "bf16s")):
        value = literal(kind, [1 << 16], **{field: struct.pack("<65536H", *range(1 << 16))})
        instructions.append(
            pb.HloInstructionProto(
                name=f"all_{field}", opcode="constant", id=kind, shape=value.shape, literal=value
            )
        )
    last = instructions[-1]
    result = pb.ProgramShapeProto(result=last.shape)
    module = pb.HloModuleProto(
        name="codes",
        entry_computation_name="main",
        entry_computation_id=1,
        host_program_shape=result,
        computations=[
            pb.HloComputationProto(
                name="main", id=1, root_id=last.id, program_shape=result, instructions=instructions
            )
        ],
    )
    ((text, _),) = ask(("proto", module.SerializeToString()))
    lines = [line for line in text.split("\n") if " constant(" in line]
    ours = {one.name: literal_text(one.literal, large_constants=True) for one in instructions}
    theirs = {line.split("%")[1].split(" ")[0]: line.split(" constant(")[1][:-1] for line in lines}
    assert theirs == ours
    assert len(theirs) == len(kinds) + 2
