"""Values of partitioned programs compared: tiles against the whole, in order and out of order, right and wrong."""

from __future__ import annotations

import numpy as np
import pytest

from hlo_tui.replay.differences import Errors, errors
from hlo_tui.replay.xla import Replicated

WHOLE = np.random.RandomState(0).randn(8, 6).astype(np.float32)
TILES = tuple(WHOLE[i : i + 2, j : j + 3] for i in range(0, 8, 2) for j in (0, 3))


def found(a: object, b: object) -> Errors | None:
    result = Errors()
    return result if errors(a, b, 1e-3, result) else None


@pytest.mark.parametrize("whole", [WHOLE, Replicated((WHOLE,) * 8)])
def test_tiles_are_the_array_that_they_are_of(whole: object) -> None:
    for pair in ((Replicated(TILES), whole), (whole, Replicated(TILES))):
        result = found(*pair)
        assert result is not None
        assert (result.exact, result.out, result.count) == (True, 0, WHOLE.size)


@pytest.mark.parametrize("whole", [WHOLE, Replicated((WHOLE,) * 8)])
def test_a_wrong_tile_among_right_ones_is_a_difference(whole: object) -> None:
    wrong = (*TILES[:3], np.full_like(TILES[3], np.inf), *TILES[4:])
    result = found(Replicated(wrong), whole)
    assert result is not None
    assert (result.out, result.max_abs) == (TILES[3].size, float("inf"))


def test_tiles_in_an_order_that_is_not_known_are_not_compared() -> None:
    assert found(Replicated(TILES[::-1]), WHOLE) is None
    assert found(Replicated(TILES), Replicated(tuple(WHOLE + n for n in range(8)))) is None


def test_what_each_device_has_is_compared_with_what_it_had() -> None:
    result = found(Replicated(TILES), Replicated((*TILES[:7], TILES[7] + 1)))
    assert result is not None
    assert result.out == TILES[7].size


def test_an_array_of_one_number_tells_no_order() -> None:
    flat = np.zeros((8, 6), np.float32)
    tiles = tuple(np.zeros((2, 3), np.float32) for _ in range(7))
    assert found(Replicated((*tiles, np.ones((2, 3), np.float32))), flat) is None
