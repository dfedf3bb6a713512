from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.source import BytesSource, FileSource, SpanSource


def test_a_file_is_read_anywhere_and_is_short_at_its_end(tmp_path: Path) -> None:
    path = tmp_path / "module.txt"
    path.write_bytes(b"0123456789")
    source = FileSource(path)
    assert (source.name, source.size) == (str(path), 10)
    assert source.read(2, 3) == b"234"
    assert source.read(8, 100) == b"89"
    assert source.read(10, 5) == b""
    assert source.read(1000, 5) == b""
    assert source.read(-1, 5) == b""
    assert source.read(3, 0) == b""
    source.close()
    assert source.read(0, 3) == b""


def test_a_file_that_is_cut_while_it_is_open_reads_short(tmp_path: Path) -> None:
    path = tmp_path / "module.txt"
    path.write_bytes(b"x" * 5000)
    source = FileSource(path)
    assert not source.changed()
    os.truncate(path, 10)
    assert source.read(0, 5000) == b"x" * 10
    assert source.read(4000, 10) == b""
    assert source.changed()


def test_a_replaced_file_is_noticed_and_the_old_bytes_stay(tmp_path: Path) -> None:
    path = tmp_path / "module.txt"
    path.write_bytes(b"old")
    source = FileSource(path)
    (tmp_path / "new").write_bytes(b"new")
    os.replace(tmp_path / "new", path)
    assert source.changed()
    assert source.read(0, 3) == b"old"
    path.unlink()
    assert source.changed()


@pytest.mark.parametrize("kind", ["missing", "directory", "fifo", "device", "nul"])
def test_what_is_no_regular_file_is_refused_in_words(tmp_path: Path, kind: str) -> None:
    path = {"directory": tmp_path, "device": Path("/dev/zero")}.get(kind, tmp_path / "it")
    if kind == "fifo":
        os.mkfifo(path)
    with pytest.raises(HloTuiError) as caught:
        FileSource(f"{path}\0" if kind == "nul" else path)
    assert str(tmp_path if kind != "device" else path) in caught.value.message


@given(
    st.binary(max_size=60), st.integers(-5, 70), st.integers(-5, 70), st.integers(-5, 70), st.integers(-5, 70)
)
def test_a_span_reads_like_a_slice(data: bytes, start: int, end: int, offset: int, length: int) -> None:
    span = SpanSource(BytesSource(data, "all"), start, end, "part")
    begin = min(max(start, 0), len(data))
    part = data[begin : max(begin, min(end, len(data)))]
    assert span.size == len(part)
    expected = part[offset : offset + length] if offset >= 0 and length > 0 else b""
    assert span.read(offset, length) == expected
    assert BytesSource(part, "same").read(offset, length) == expected
