"""Bounded dynamic shapes: what is past a size is never seen, stepped or whole, and values are numpy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays, looking, xla
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.inputs import Inputs
from hlo_tui.replay.slices import SliceCache
from tests.replay.conftest import Open, forward
from tests.replay.running import program_of

GRAINS = ("whole", "unit", "body")
HEAD = """
HloModule m

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

maximum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] maximum(a, b)
}

less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}

fused {
  a = f32[<=8] parameter(0)
  b = f32[<=8] exponential(a)
  ROOT c = f32[<=8] multiply(a, b)
}

body {
  s = (s32[], f32[<=8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  v = f32[<=8] get-tuple-element(s), index=1
  w = f32[<=8] add(v, v)
  ROOT t = (s32[], f32[<=8]) tuple(j, w)
}

cond {
  s = (s32[], f32[<=8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}

twice {
  x = f32[<=8] parameter(0)
  ROOT y = f32[<=8] add(x, x)
}

once {
  x = f32[<=8] parameter(0)
  ROOT y = f32[<=8] negate(x)
}
"""
ENTRY = """
ENTRY e {{
  x = f32[<=8] parameter(0)
  m = f32[3,<=4] parameter(1)
  n = s32[] parameter(2)
  zero = f32[] constant(0)
  izero = s32[] constant(0)
  low = f32[] constant(-inf)
  {line}
}}
"""
X = np.array([3, -1, 4, 1, 5], np.float32)
M = np.arange(9, dtype=np.float32).reshape(3, 3) - 2
N = np.array(2, np.int32)

# line -> numpy's value
CASES: dict[str, tuple[str, Any]] = {
    "itself": ("ROOT r = f32[<=8] copy(x)", X),
    "elementwise": ("ROOT r = f32[<=8] multiply(x, x)", X * X),
    "comparison": ("ROOT r = pred[<=8] compare(x, x), direction=EQ", X == X),
    "sum": ("ROOT r = f32[] reduce(x, zero), dimensions={0}, to_apply=add", X.sum()),
    "maximum": ("ROOT r = f32[] reduce(x, low), dimensions={0}, to_apply=maximum", X.max()),
    "sum of columns": ("ROOT r = f32[<=4] reduce(m, zero), dimensions={0}, to_apply=add", M.sum(0)),
    "sum of rows": ("ROOT r = f32[3] reduce(m, zero), dimensions={1}, to_apply=add", M.sum(1)),
    "dot": ("ROOT r = f32[] dot(x, x), lhs_contracting_dims={0}, rhs_contracting_dims={0}", X @ X),
    "gram": ("ROOT r = f32[3,3] dot(m, m), lhs_contracting_dims={1}, rhs_contracting_dims={1}", M @ M.T),
    "outer": ("ROOT r = f32[<=4,<=4] dot(m, m), lhs_contracting_dims={0}, rhs_contracting_dims={0}", M.T @ M),
    "transpose": ("ROOT r = f32[<=4,3] transpose(m), dimensions={1,0}", M.T),
    "reverse": ("ROOT r = f32[<=8] reverse(x), dimensions={0}", X[::-1]),
    "concatenate": ("ROOT r = f32[<=16] concatenate(x, x), dimensions={0}", np.concatenate([X, X])),
    "broadcast": (
        "ROOT r = f32[<=8,2] broadcast(x), dimensions={0}", np.broadcast_to(X[:, None], (5, 2)),
    ),
    "pad": ("ROOT r = f32[<=11] pad(x, zero), padding=1_2", np.pad(X, (1, 2))),
    "sort": ("ROOT r = f32[<=8] sort(x), dimensions={0}, to_apply=less", np.sort(X)),
    "convert": ("ROOT r = s32[<=8] convert(x)", X.astype(np.int32)),
    "bitcast convert": ("ROOT r = s32[<=8] bitcast-convert(x)", X.view(np.int32)),
    "size": ("ROOT r = s32[] get-dimension-size(x), dimensions={0}", np.int32(5)),
    "static size": ("ROOT r = s32[] get-dimension-size(m), dimensions={0}", np.int32(3)),
    "smaller": ("ROOT r = f32[<=8] set-dimension-size(x, n), dimensions={0}", X[:2]),
    "flat": ("ROOT r = f32[<=12] reshape(m)", M.reshape(-1)),
    "split": ("ROOT r = f32[<=4,2] reshape(s)", X[:4].reshape(2, 2)),
    "column": ("ROOT r = f32[<=8,1] reshape(x)", X[:, None]),
    "given shape": ("ROOT r = f32[<=12,1] dynamic-reshape(m, nine, one)", M.reshape(9, 1)),
    "given sizes": ("ROOT r = f32[<=4,<=3] dynamic-reshape(m, three, three)", M),
    "slice": ("ROOT r = f32[3] slice(x), slice={[1:4]}", X[1:4]),
    "slice at": ("ROOT r = f32[2] dynamic-slice(x, n), dynamic_slice_sizes={2}", X[2:4]),
    "gather": (
        "g = s32[2] constant({4, 0})\n  ROOT r = f32[2] gather(x, g), offset_dims={}, collapsed_slice_dims={0}, "
        "start_index_map={0}, index_vector_dim=1, slice_sizes={1}", X[[4, 0]],
    ),
    "one more": (
        "o = f32[1] constant({7})\n  ROOT r = f32[<=9] concatenate(x, o), dimensions={0}", np.append(X, 7),
    ),
    "window": ("ROOT r = f32[<=7] reduce-window(x, zero), window={size=2}, to_apply=add", X[:-1] + X[1:]),
    "fusion": ("ROOT r = f32[<=8] fusion(x), kind=kLoop, calls=fused", X * np.exp(X)),
    "call": ("ROOT r = f32[<=8] call(x), to_apply=twice", 2 * X),
    "select": (
        "c = pred[<=8] compare(x, x), direction=EQ\n  ROOT r = f32[<=8] select(c, x, x)", X,
    ),
    "element": (
        "t = (f32[<=8], s32[]) tuple(x, n)\n  ROOT r = f32[<=8] get-tuple-element(t), index=0", X,
    ),
}  # fmt: skip
EXTRA = {
    "split": "four = s32[] constant(4)\n  s = f32[<=8] set-dimension-size(x, four), dimensions={0}\n  ",
    "given shape": "one = s32[] constant(1)\n  nine = s32[] constant(9)\n  ",
    "given sizes": "three = s32[] constant(3)\n  ",
}


def module(line: str, extra: str = "") -> str:
    return HEAD + ENTRY.format(line=extra + line)


def debugger_of(text: str, backend: xla.Backend, cache: SliceCache, grain: str = "unit") -> Debugger:
    return Debugger(program_of(text), Inputs("npz", [X, M, N]), backend, cache, grain=Grain(grain))


def close(value: Any, expected: Any) -> None:
    assert np.shape(value) == np.shape(expected)
    np.testing.assert_allclose(np.asarray(value), expected, rtol=1e-6)


@pytest.mark.parametrize("grain", GRAINS)
@pytest.mark.parametrize("name", CASES)
def test_values_are_numpys(backend: xla.Backend, cache: SliceCache, name: str, grain: str) -> None:
    line, expected = CASES[name]
    debugger = debugger_of(module(line, EXTRA.get(name, "")), backend, cache, grain)
    (end,) = forward(debugger)
    assert end["reasons"] == []
    close(debugger.evaluator.root(debugger._entry), expected)
    assert end["self_check"] == "match", end


@pytest.mark.parametrize("grain", GRAINS)
def test_a_loop_carries_the_size(backend: xla.Backend, cache: SliceCache, grain: str) -> None:
    text = module(
        "t = (s32[], f32[<=8]) tuple(izero, x)\n"
        "  w = (s32[], f32[<=8]) while(t), condition=cond, body=body\n"
        "  ROOT r = f32[<=8] get-tuple-element(w), index=1"
    )
    debugger = debugger_of(text, backend, cache, grain)
    (end,) = forward(debugger)
    close(debugger.evaluator.root(debugger._entry), 8 * X)
    assert end["self_check"] == "match"


@pytest.mark.parametrize("grain", GRAINS)
def test_a_branch_takes_and_gives_the_size(backend: xla.Backend, cache: SliceCache, grain: str) -> None:
    text = module("ROOT r = f32[<=8] conditional(n, x, x), branch_computations={once, twice}")
    debugger = debugger_of(text, backend, cache, grain)
    (end,) = forward(debugger)
    close(debugger.evaluator.root(debugger._entry), 2 * X)
    assert end["self_check"] == "match"


@pytest.mark.parametrize("grain", GRAINS)
def test_to_the_static_form_and_back(backend: xla.Backend, cache: SliceCache, grain: str) -> None:
    text = module(
        'p = (f32[3,4], s32[], s32[]) custom-call(m), custom_call_target="PadToStatic"\n'
        "  a = f32[3,4] get-tuple-element(p), index=0\n"
        "  rows = s32[] get-tuple-element(p), index=1\n"
        "  columns = s32[] get-tuple-element(p), index=2\n"
        '  b = f32[3,<=4] custom-call(a, rows, columns), custom_call_target="SliceToDynamic"\n'
        "  ROOT r = (f32[3,4], s32[], s32[], f32[3,<=4]) tuple(a, rows, columns, b)"
    )
    debugger = debugger_of(text, backend, cache, grain)
    (end,) = forward(debugger)
    static, rows, columns, back = debugger.evaluator.root(debugger._entry)
    close(static, np.pad(M, ((0, 0), (0, 1))))
    assert (int(rows), int(columns)) == (3, 3)
    close(back, M)
    assert (end["reasons"], end["self_check"]) == ([], "match")


def test_a_summary_and_a_look_show_what_there_is(backend: xla.Backend, cache: SliceCache) -> None:
    debugger = debugger_of(module("ROOT r = f32[<=8] multiply(x, x)"), backend, cache)
    (end,) = forward(debugger)
    (summary,) = end["outputs"]
    assert (summary["shape"], summary["count"], summary["max"]) == ("f32[5]", 5, 25.0)
    value = looking.part_of(debugger.evaluator.root(debugger._entry), [], None)
    assert looking.table(value, "")["rows"] == [[9.0, 1.0, 16.0, 1.0, 25.0]]


def test_made_inputs_have_a_seeded_size_within_the_bound(debug: Open, tmp_path: Path) -> None:
    path = tmp_path / "m.hlo"
    path.write_text(module("ROOT r = f32[<=8] multiply(x, x)"))
    sizes = {debug(path, inputs="made", seed=seed).inputs.values[0].shape[0] for seed in range(20)}
    assert len(sizes) > 3
    assert sizes <= set(range(1, 9))
    again = [debug(path, inputs="made", seed=3).inputs.values[0].tolist() for _ in range(2)]
    assert again[0] == again[1]


def test_given_inputs_may_be_smaller_than_the_bound_but_no_larger(debug: Open, tmp_path: Path) -> None:
    path, inputs = tmp_path / "m.hlo", tmp_path / "x.npz"
    path.write_text(module("ROOT r = f32[<=8] multiply(x, x)"))
    np.savez(inputs, x=X, m=M, n=N)
    debugger = debug(path, inputs=str(inputs))
    (end,) = forward(debugger)
    assert (end["outputs"][0]["count"], end["self_check"]) == (5, "match")
    np.savez(inputs, x=np.zeros(9, np.float32), m=M, n=N)
    with pytest.raises(HloTuiError, match="do not fit"):
        debug(path, inputs=str(inputs))


def test_a_literal_with_sizes_is_stored_up_to_its_bounds() -> None:
    shape = pb.ShapeProto(element_type=pb.F32, dimensions=[2, 3], is_dynamic_dimension=[False, True])
    literal = pb.LiteralProto(shape=shape, f32s=[1, 2, 9, 3, 4, 9], dynamic_sizes=[2, 2])
    np.testing.assert_array_equal(arrays.literal_to_value(literal), [[1, 2], [3, 4]])


def test_a_reshape_whose_sizes_are_nowhere_is_unknown(backend: xla.Backend, cache: SliceCache) -> None:
    line = "o = f32[<=4,<=4] dot(m, m), lhs_contracting_dims={0}, rhs_contracting_dims={0}\n  "
    debugger = debugger_of(module(line + "ROOT r = f32[<=2,2,<=4] reshape(o)"), backend, cache)
    (end,) = forward(debugger)
    assert end["unknown"] == ["r"]
    assert "more than one dynamic dimension" in end["reasons"][0]
