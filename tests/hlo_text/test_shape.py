from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.shape import NO_SHAPE, Shape, parse_shape


def shape(text: str) -> Shape:
    result, end = parse_shape(text)
    assert (result.text, end) == (text, len(text))
    return result


# Columns: text, dtype, dimensions, elements, bytes, without layout.
ARRAYS = [
    ("f32[]", "f32", (), 1, 4, "f32[]"),
    ("bf16[8,128]{1,0:T(8,128)(2,1)S(1)}", "bf16", (8, 128), 1024, 2048, "bf16[8,128]"),
    ("s4[3]{0:E(4)}", "s4", (3,), 3, 2, "s4[3]"),
    ("u2[5]", "u2", (5,), 5, 2, "u2[5]"),
    ("pred[3]{0:T(512)(128)(4,1)}", "pred", (3,), 3, 3, "pred[3]"),
    ("c128[2,0]{1,0}", "c128", (2, 0), 0, 0, "c128[2,0]"),
    ("f8e4m3b11fnuz[7]", "f8e4m3b11fnuz", (7,), 7, 7, "f8e4m3b11fnuz[7]"),
    ("f4e2m1fn[7]", "f4e2m1fn", (7,), 7, 4, "f4e2m1fn[7]"),
    ("token[]", "token", (), 0, 0, "token[]"),
    ("q99[2]", "q99", (2,), 2, 0, "q99[2]"),
    ("f32[4]{0:T(8){nested}P(f32[2]{0})}", "f32", (4,), 4, 16, "f32[4]"),
]


@pytest.mark.parametrize(("text", "dtype", "dimensions", "count", "size", "plain"), ARRAYS)
def test_arrays(
    text: str, dtype: str, dimensions: tuple[int, ...], count: int, size: int, plain: str
) -> None:
    read = shape(text)
    assert (read.dtype, read.dimensions, read.rank) == (dtype, dimensions, len(dimensions))
    assert (read.element_count, read.byte_size) == (count, size)
    assert read.without_layout() == plain
    assert read.layout == text[text.index("]") + 1 :]
    assert not read.is_tuple


def test_dynamic_dimensions() -> None:
    bounded = shape("f32[8,<=128]{1,0}")
    assert (bounded.dimensions, bounded.dynamic) == ((8, 128), (False, True))
    assert bounded.byte_size == 4096
    assert bounded.without_layout() == "f32[8,<=128]"
    unbounded = shape("f32[?,8]")
    assert (unbounded.dimensions, unbounded.dynamic) == ((-1, 8), (True, False))
    assert unbounded.byte_size == 0
    assert unbounded.without_layout() == "f32[?,8]"


def test_tuples_sum_and_drop_comments() -> None:
    read = shape("(f32[2]{0}, /*index=1*/ (s32[], u8[0]{0}), token[],\n  // why\n s4[3])")
    assert read.is_tuple
    assert [element.dtype for element in read.elements] == ["f32", "tuple", "token", "s4"]
    assert read.byte_size == 8 + 4 + 0 + 2
    assert read.element_count == 2 + 1 + 0 + 3
    assert read.without_layout() == "(f32[2], (s32[], u8[0]), token[], s4[3])"
    assert shape("()") == Shape("tuple", text="()")


def test_buffers() -> None:
    read = shape("b(f32[4]{0})")
    assert (read.dtype, read.byte_size) == ("buffer", 16)
    assert read.without_layout() == "b(f32[4])"


@pytest.mark.parametrize(
    "text", ["", "add(a, b)", "(f32[2], ", "(f32[2] s32[])", "%a", "f32", "f32[2", "{1}"]
)
def test_what_is_no_shape_is_left(text: str) -> None:
    assert parse_shape(text) == (NO_SHAPE, 0)


def test_reading_ends_behind_the_shape() -> None:
    text = "  f32[2]{0} %a"
    assert parse_shape(text)[1] == text.index(" %a")
    assert parse_shape("x = f32[2] add(", 4) == (Shape("f32", (2,), (False,), "", (), "f32[2]"), 10)


def test_tuples_deeper_than_any_compiler_makes_them() -> None:
    assert parse_shape("(" * 100_000)[0] == NO_SHAPE
    deep, end = parse_shape("(" * 1000 + "f32[]" + ")" * 1000)
    assert deep.is_tuple
    assert end == 2005


dtypes = st.sampled_from(["f32", "s4", "pred", "f8e5m2", "next9"])
arrays = st.builds(
    lambda dtype, sizes, layout: f"{dtype}[{','.join(map(str, sizes))}]{layout}",
    dtypes,
    st.lists(st.integers(0, 10**9), max_size=4),
    st.sampled_from(["", "{0}", "{1,0:T(8,128)S(5)}", "{:T(256)}"]),
)
shapes = st.recursive(arrays, lambda inner: st.lists(inner, max_size=4).map(lambda e: f"({', '.join(e)})"))


@given(shapes)
def test_made_shapes_are_read_whole(text: str) -> None:
    assert shape(text).text == text


@given(st.text(alphabet="f32[]{}(),<=?b 0/*:", max_size=80), st.integers(0, 80))
def test_no_text_is_an_error(text: str, start: int) -> None:
    read, end = parse_shape(text, start)
    assert end >= start
    if read.dtype:
        assert text[start:end].endswith(read.text)
