"""Made inputs fit what the module does with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hlo_tui.replay.inputs import made
from hlo_tui.replay.opening import open_target
from hlo_tui.replay.program import Program
from tests.replay.conftest import Open, forward

HEAD = """HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

product {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] multiply(a, b)
}

less {
  a = s32[] parameter(0)
  b = s32[] parameter(1)
  c = f32[] parameter(2)
  d = f32[] parameter(3)
  ROOT e = pred[] compare(a, b), direction=LT
}

inner {
  x = f32[16] parameter(0)
  i = s32[] parameter(1)
  ROOT y = f32[4] dynamic-slice(x, i), dynamic_slice_sizes={4}
}

"""
CASES = {
    "a dynamic-slice through a fusion": (
        "p = s32[] parameter(0)\n  x = f32[16] parameter(1)\n  ROOT r = f32[4] fusion(x, p), kind=kLoop, calls=inner",
        lambda p: 0 <= p <= 12,
    ),
    "a dynamic-update-slice, converted": (
        "p = s64[] parameter(0)\n  i = s32[] convert(p)\n  x = f32[16] parameter(1)\n  u = f32[5] parameter(2)\n"
        "  ROOT r = f32[16] dynamic-update-slice(x, u, i)",
        lambda p: 0 <= p <= 11,
    ),
    "a gather": (
        "p = s32[20,1] parameter(0)\n  x = f32[5] parameter(1)\n"
        "  ROOT r = f32[20] gather(x, p), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
        "index_vector_dim=1, slice_sizes={1}, indices_are_sorted=true",
        lambda p: (p >= 0).all() and (p <= 4).all() and (np.diff(p[:, 0]) >= 0).all(),
    ),
    "a scatter": (
        "x = f32[5] constant({0, 0, 0, 0, 0})\n  p = s32[20,1] parameter(0)\n  u = f32[20] parameter(1)\n"
        "  ROOT r = f32[5] scatter(x, p, u), update_window_dims={}, inserted_window_dims={0}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
        lambda p: (p >= 0).all() and (p <= 4).all(),
    ),
    "the start of a sum": (
        "p = f32[] parameter(0)\n  x = f32[8] parameter(1)\n"
        "  ROOT r = f32[] reduce(x, p), dimensions={0}, to_apply=add",
        lambda p: p == 0,
    ),
    "the start of a product": (
        "p = f32[] parameter(0)\n  x = f32[8] parameter(1)\n"
        "  ROOT r = f32[] reduce(x, p), dimensions={0}, to_apply=product",
        lambda p: p == 1,
    ),
    "sort keys": (
        "p = s32[40] parameter(0)\n  v = f32[40] parameter(1)\n"
        "  ROOT r = (s32[40], f32[40]) sort(p, v), dimensions={0}, to_apply=less",
        lambda p: len(set(p.tolist())) == 40,
    ),
    "a logarithm": ("p = f32[99] parameter(0)\n  ROOT r = f32[99] log(p)", lambda p: (p > 0).all()),
    "a square root": ("p = f32[99] parameter(0)\n  ROOT r = f32[99] sqrt(p)", lambda p: (p >= 0).all()),
    "a divisor": (
        "p = f32[99] parameter(0)\n  x = f32[99] parameter(1)\n  ROOT r = f32[99] divide(x, p)",
        lambda p: (p != 0).all(),
    ),
    "nothing special": (
        "p = f32[999] parameter(0)\n  ROOT r = f32[999] negate(p)",
        lambda p: p.min() >= -0.1 and p.max() < 0.2 and p.min() < 0,
    ),
}


def program(tmp_path: Path, body: str) -> Program:
    path = tmp_path / "m.txt"
    path.write_text(f"{HEAD}ENTRY e {{\n  {body}\n}}\n")
    return open_target(path).program()


@pytest.mark.parametrize("case", CASES)
def test_a_parameter_fits_its_use(tmp_path: Path, case: str) -> None:
    body, fits = CASES[case]
    for seed in range(5):
        assert fits(made(program(tmp_path, body), seed).values[0]), seed


@pytest.mark.parametrize("case", CASES)
def test_no_nan_comes_of_made_data(debug: Open, tmp_path: Path, case: str) -> None:
    program(tmp_path, CASES[case][0])
    end = forward(debug(tmp_path / "m.txt", stops=("first:nonfinite",)))
    assert [event["event"] for event in end] == ["end"]


def test_presets(tmp_path: Path) -> None:
    plain = program(tmp_path, "p = f32[4000] parameter(0)\n  ROOT r = f32[4000] negate(p)")
    values = {
        preset: made(plain, 0, preset=preset).values[0]
        for preset in ("zeros", "ones", "normal", "large", "boundary")
    }
    assert not values["zeros"].any()
    assert (values["ones"] == 1).all()
    assert abs(float(values["normal"].std()) - 1) < 0.1
    finite = values["large"][np.isfinite(values["large"])]
    assert np.abs(finite).max() > 1e30
    assert np.abs(finite).min() < 1e-30
    assert np.finfo(np.float32).max in values["boundary"]
    assert all(inputs.dtype == np.float32 for inputs in values.values())
