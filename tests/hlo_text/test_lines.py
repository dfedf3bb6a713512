from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo import outline
from hlo_tui.hlo.lines import LineIndex
from hlo_tui.hlo.source import BytesSource


def index_of(data: bytes) -> LineIndex:
    return outline.scan(BytesSource(data, "data"))[0]


def lines_of(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


def test_starts_spans_and_lookups() -> None:
    index = index_of(b"ab\n\ncdef\n")
    assert index.count == 3
    assert [index.start(line) for line in range(3)] == [0, 3, 4]
    assert [index.span(line) for line in range(3)] == [(0, 2), (3, 3), (4, 8)]
    assert [index.line_at(offset) for offset in (-1, 0, 2, 3, 4, 8, 99)] == [0, 0, 0, 1, 2, 2, 2]
    assert index.longest == 4
    for line in (-1, 3):
        with pytest.raises(IndexError):
            index.start(line)
    assert index_of(b"").count == 0
    assert index_of(b"").line_at(0) == -1
    assert index_of(b"abc").span(0) == (0, 3)


@given(st.lists(st.sampled_from([b"\n", b"a", b"\r\n", b"\0", b"  %a = f32[] add(b)\n", b"x" * 40])))
def test_every_line_is_where_splitting_finds_it(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    index = index_of(data)
    spans = [index.span(line) for line in range(index.count)]
    assert [data[start:end] for start, end in spans] == lines_of(data)
    assert index.longest == max(map(len, lines_of(data)), default=0)


@pytest.mark.parametrize("block", [1, 7, 64])
def test_the_size_of_a_block_changes_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = b"HloModule m\n\nENTRY e {\n  a = f32[] parameter(0)\n" + b"x" * 300 + b"\n\n}\nlast"
    monkeypatch.setattr(outline, "_BLOCK", block)
    index = index_of(data)
    assert [data[slice(*index.span(line))] for line in range(index.count)] == lines_of(data)
    assert index.longest == 300


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 40), st.data())
def test_blocks_cover_the_lines_once(lengths: list[int], size: int, data: st.DataObject) -> None:
    index = index_of(b"".join(b"x" * length + b"\n" for length in lengths))
    first = data.draw(st.integers(0, max(0, index.count - 1)))
    forward = list(index.blocks(first, index.count - 1, size))
    assert [line for low, high in forward for line in range(low, high + 1)] == list(range(first, index.count))
    back = list(index.blocks_back(first, size))
    seen = [line for low, high in back for line in range(high, low - 1, -1)]
    assert seen == (list(range(first, -1, -1)) if index.count else [])
    for low, high in forward + back:
        assert low == high or index.span(high)[1] - index.start(low) <= size
