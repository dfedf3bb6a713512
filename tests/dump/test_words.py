"""Numbers in words."""

from __future__ import annotations

import pytest

from hlo_tui.dump.words import age_text, count_text, size_text


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1.0 kB"),
        (5_840, "5.8 kB"),
        (9_960, "10 kB"),
        (252_996, "253 kB"),
        (999_600, "1.0 MB"),
        (1_234_567_890, "1.2 GB"),
        (5 * 10**15, "5000 TB"),
    ],
)
def test_size(size: int, text: str) -> None:
    assert size_text(size) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "now"),
        (0.4, "now"),
        (1, "1 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (7200, "2 h"),
        (1e6, "11 d"),
    ],
)
def test_age(seconds: float, text: str) -> None:
    assert age_text(seconds) == text


def test_count() -> None:
    assert count_text(1, "file") == "1 file"
    assert count_text(1204, "file") == "1,204 files"
    assert count_text(2, "pass", "passes") == "2 passes"
