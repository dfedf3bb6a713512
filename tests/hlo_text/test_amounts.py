"""Amounts as XLA's reports write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.amounts import bytes_text, count_of, parse_bytes


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("512B", 512), ("4.0K", 4096), ("29.82M", round(29.82 * 2**20)), ("32.00G", 32 << 30),
        ("2.77GiB", round(2.77 * 2**30)),
        ("27036672000 bytes", 27036672000), ("0B", 0), ("7", 7), ("", None),
        ("G", None), ("1.5X", None), ("unknown size", None),
    ],
)  # fmt: skip
def test_amounts_of_reports(text, size):
    assert parse_bytes(text) == size


def test_bytes_and_counts_are_short():
    assert [bytes_text(size) for size in (0, 812, 262144, 6998084, 32 << 30, -2048)] == [
        "0 B", "812 B", "256 KiB", "6.67 MiB", "32.0 GiB", "-2.00 KiB",
    ]  # fmt: skip
    assert [count_of(count, "FLOP") for count in (0, 812, 8.59e9)] == ["0 FLOP", "812 FLOP", "8.59 GFLOP"]
    assert count_of(1500) == "1.50 K"


@given(st.integers(0, 1 << 60))
def test_what_is_written_is_read_as_nearly_the_same(size):
    found = parse_bytes(bytes_text(size))
    assert found is not None
    assert abs(found - size) <= 0.006 * size
