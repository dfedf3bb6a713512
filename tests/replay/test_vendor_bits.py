"""Custom calls that work on bits: random numbers, and integers in halves."""

from __future__ import annotations

import numpy as np
import pytest

from hlo_tui.replay import xla
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.threefry import TARGETS
from tests.replay.running import call_text, run_text

# The vectors that the authors of Threefry publish for 20 rounds: counter, key, result.
KNOWN = [
    ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
    ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
    ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
]


@pytest.mark.parametrize("target", TARGETS)
def test_threefry_gives_the_published_numbers(backend: xla.Backend, target: str) -> None:
    text = call_text(target, ["u32[3]"] * 4, "(u32[3], u32[3])")
    counters, keys, results = (np.array(column, np.uint32).T for column in zip(*KNOWN, strict=True))
    found = run_text(backend, text, *keys, *counters)
    np.testing.assert_array_equal(found, results)


def test_threefry_of_another_form_is_refused(backend: xla.Backend) -> None:
    with pytest.raises(Cannot, match="two words"):
        run_text(
            backend, call_text(TARGETS[0], ["u32[3]"] * 3, "(u32[3], u32[3])"), *[np.zeros(3, np.uint32)] * 3
        )


@pytest.mark.parametrize("kind", ["s64", "u64"])
def test_an_integer_and_its_halves(backend: xla.Backend, kind: str) -> None:
    numbers = np.array([0, 1, -1, 1 << 40, -(1 << 62) + 5], np.int64)
    whole = numbers if kind == "s64" else numbers.view(np.uint64)
    low = run_text(backend, call_text("X64SplitLow", [f"{kind}[5]"], "u32[5]"), whole)
    high = run_text(backend, call_text("X64SplitHigh", [f"{kind}[5]"], "u32[5]"), whole)
    np.testing.assert_array_equal([low, high], whole.view(np.uint32).reshape(5, 2).T)
    again = run_text(backend, call_text("X64Combine", ["u32[5]", "u32[5]"], f"{kind}[5]"), low, high)
    np.testing.assert_array_equal(again, whole)


def test_a_float_in_halves_is_not_taken_for_bits(backend: xla.Backend) -> None:
    with pytest.raises(Cannot, match="only integers"):
        run_text(backend, call_text("X64SplitLow", ["f64[2]"], "f32[2]"), np.zeros(2))
