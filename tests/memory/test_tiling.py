"""Padding of tiled layouts, against the sizes in messages of TPUs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.shape import parse_shape
from hlo_tui.memory.pasted import read_pasted
from hlo_tui.memory.tiling import padded_size
from tests.corpus import corpus_dir


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("s32[8388608,8,4]{2,1,0:T(8,128)}", 32 << 30),
        ("bf16[128,4096,352]{2,1,0:T(16,128)(2,1)}", 384 << 20),
        ("f32[29184,1,2560]{2,1,0:T(2,128)}", 570 << 20),
        ("f32[1024,245,64]{1,2,0:T(8,128)}", 64 << 20),
        ("f32[1000]{0:T(1024)}", 4096),
        ("f32[]{:T(256)}", 1024),
        ("f32[3,5]{1,0}", 60),
        ("f32[3,5]{1,0:S(1)}", 60),
        ("s4[3,200]{1,0:T(8,128)E(4)}", 8 * 256 // 2),
        ("f32[0,5]{1,0:T(8,128)}", 0),
        ("f32[3,5]{7,0:T(8,128)}", 60),
    ],
)
def test_bytes_of_tiled_arrays(text, size):
    assert padded_size(parse_shape(text)[0]) == size


@pytest.mark.parametrize("snippet", ["01_", "02_", "03_", "04_", "05_"])
def test_every_size_of_a_pasted_message_follows_from_its_shape(snippet):
    (path,) = (corpus_dir() / "snippets").glob(f"{snippet}*")
    for buffer in read_pasted(path.read_text("utf-8", "replace").split("\n")).buffers:
        # The message rounds to two digits behind the point.
        assert padded_size(parse_shape(buffer.shape)[0]) == pytest.approx(buffer.size, rel=0.005)


sizes = st.lists(st.integers(0, 300), max_size=4)


@given(sizes, st.lists(st.integers(0, 128), min_size=1, max_size=3))
def test_padding_only_adds(dimensions, tile):
    order = ",".join(str(at) for at in reversed(range(len(dimensions))))
    text = f"f32[{','.join(map(str, dimensions))}]{{{order}:T({','.join(map(str, tile))})}}"
    shape = parse_shape(text)[0]
    assert padded_size(shape) >= shape.byte_size
