"""Protos in text form are read as protobuf reads them, long arrays included."""

from __future__ import annotations

import pytest
from google.protobuf import text_format
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo import text_protos
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.text_protos import parse_text

MANY = 200
LONG = pb.HloInputs(
    arguments=[
        pb.LiteralProto(f32s=[0.1, float("inf"), -0.0, 1e-40] * MANY),
        pb.LiteralProto(f64s=[0.1, float("-inf"), 1e300] * MANY),
        pb.LiteralProto(s32s=[-(2**31), 7] * MANY),
        pb.LiteralProto(s64s=[-(2**63), 2**63 - 1] * MANY),
        pb.LiteralProto(u32s=[2**32 - 1] * MANY),
        pb.LiteralProto(u64s=[2**64 - 1, 0] * MANY),
        pb.LiteralProto(preds=[True, False] * MANY),
        pb.LiteralProto(c64s=[1, -2] * MANY),
        pb.LiteralProto(c128s=[1, -2] * MANY),
        pb.LiteralProto(tuple_literals=[pb.LiteralProto(s32s=[1] * MANY), pb.LiteralProto(s32s=[2] * MANY)]),
        pb.LiteralProto(bf16s=b"\x80\x3f" * MANY),
        pb.LiteralProto(s32s=[1, 2, 3]),
    ]
)


@pytest.mark.parametrize("indent", [0, 6])
def test_long_arrays_are_read_as_protobuf_wrote_them(indent: int) -> None:
    text = text_format.MessageToString(LONG, indent=indent)
    assert parse_text(text.encode(), pb.HloInputs()) == LONG


def test_protobuf_does_not_see_the_elements_of_long_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = 0
    original = text_format.Parse

    def counted(text: str, message: pb.HloInputs, **options: bool) -> object:
        nonlocal seen
        seen += text.count("\n")
        return original(text, message, **options)

    monkeypatch.setattr(text_protos.text_format, "Parse", counted)
    text = text_format.MessageToString(LONG)
    parse_text(text.encode(), pb.HloInputs())
    assert text.count("\n") > 20 * MANY
    assert seen < 60


def test_the_field_that_marks_long_arrays_may_be_in_use() -> None:
    message = pb.HloInputs(arguments=[pb.LiteralProto(sparse_indices=[5], s32s=range(MANY))])
    assert parse_text(text_format.MessageToString(message).encode(), pb.HloInputs()) == message


@pytest.mark.parametrize(
    "text",
    [
        b"arguments {\n" + b"  s32s: 1\n" * MANY,
        b"arguments {\n" + b"  s32s: 1\n" * MANY + b"  s32s: 1",
        b"arguments {\n" + b"  s32s: 1\n" * MANY + b"  s32s: x\n}\n",
        b"arguments {\n" + b"  s32s: 1\n" * MANY + b"  s32s: 2147483648\n}\n",
        b"arguments {\n" + b"  preds: true\n" * MANY + b"  preds: maybe\n}\n",
        b"arguments {\n  \xff\n}\n",
        b"arguments {" * 5_000,
    ],
)
def test_damage_is_one_kind_of_error(text: bytes) -> None:
    with pytest.raises(ValueError):
        parse_text(text, pb.HloInputs())


@given(st.lists(st.sampled_from(["s32s: 1", "f32s: 2", "}", "arguments {", "x: {", "", "  "]), max_size=200))
def test_text_is_read_as_protobuf_reads_it(lines: list[str]) -> None:
    text = "\n".join(lines)
    try:
        expected = text_format.Parse(text, pb.HloInputs(), allow_unknown_field=True)
    except text_format.ParseError:
        with pytest.raises(ValueError):
            parse_text(text.encode(), pb.HloInputs())
    else:
        assert parse_text(text.encode(), pb.HloInputs()) == expected
