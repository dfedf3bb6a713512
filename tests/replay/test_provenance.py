"""From a bad element back to the one that began it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.looks import look
from tests.replay.conftest import STAGES, Open, program_file

MOVES = """
HloModule moves

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

fused {
  x = f32[3,4] parameter(0)
  t = f32[4,3] transpose(x), dimensions={1,0}
  ROOT n = f32[4,3] negate(t)
}

body {
  s = (s32[], f32[12]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  v = f32[12] get-tuple-element(s), index=1
  r = f32[12] reverse(v), dimensions={0}
  ROOT n = (s32[], f32[12]) tuple(j, r)
}

cond {
  s = (s32[], f32[12]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}

ENTRY e {
  x = f32[3,4] parameter(0)
  f = f32[4,3] fusion(x), kind=kLoop, calls=fused
  flat = f32[12] reshape(f)
  zero = s32[] constant(0)
  start = (s32[], f32[12]) tuple(zero, flat)
  w = (s32[], f32[12]) while(start), condition=cond, body=body
  v = f32[12] get-tuple-element(w), index=1
  two = f32[] constant(2)
  three = s32[] constant(3)
  cut = f32[5] dynamic-slice(v, three), dynamic_slice_sizes={5}
  padded = f32[9] pad(cut, two), padding=2_2
  both = f32[21] concatenate(v, padded), dimensions={0}
  wide = f32[21,2] broadcast(both), dimensions={0}
  y = f32[2,6] parameter(1)
  d = f32[21,6] dot(wide, y), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  nought = f32[] constant(0)
  total = f32[6] reduce(d, nought), dimensions={0}, to_apply=add
  ROOT all = (f32[21], f32[21,6], f32[6]) tuple(both, d, total)
}
"""


def trace(debugger: object, instruction: str, index: list[int]) -> list[dict]:
    value = {"computation": "e", "instruction": instruction}
    return look(debugger, {"what": "trace", "value": value, "index": index})["places"]  # type: ignore[arg-type]


def moved(x: np.ndarray) -> np.ndarray:
    flat = -x.T.reshape(-1)
    v = flat[::-1]
    return np.concatenate([v, np.pad(v[3:8], 2, constant_values=2)])


@pytest.mark.parametrize("where", [(0, 0), (1, 2), (2, 3)])
def test_an_element_is_followed_to_the_input_it_came_from(
    debug: Open, tmp_path: Path, where: tuple[int, int]
) -> None:
    (tmp_path / "moves.txt").write_text(MOVES)
    x = np.zeros((3, 4), np.float32)
    x[where] = np.nan
    np.savez(tmp_path / "in.npz", x=x, y=np.ones((2, 6), np.float32))
    debugger = debug(tmp_path / "moves.txt", inputs=str(tmp_path / "in.npz"), stops=("op:no-such-opcode",))
    debugger.move("continue")
    both = moved(x)
    for place in np.flatnonzero(np.isnan(both)):
        chain = trace(debugger, "both", [int(place)])
        assert (chain[-1]["instruction"], chain[-1]["index"]) == ("x", list(where))
        assert all(step["value"] == "nan" for step in chain)
    place = int(np.flatnonzero(np.isnan(both))[0])
    for instruction, index in (("d", [place, 4]), ("total", [5])):
        chain = trace(debugger, instruction, index)
        assert (chain[-1]["instruction"], chain[-1]["index"]) == ("x", list(where)), instruction
    iterations = [p["iteration"] for step in chain for p in step["path"] if p["iteration"] is not None]
    assert sorted(set(iterations)) == [0, 1, 2]


def test_it_ends_at_the_operation_that_made_it(debug: Open) -> None:
    debugger = debug(program_file("reaching", STAGES[0]))
    debugger.move("continue")
    entry = debugger.program.entry
    value = {"computation": entry.name, "instruction": entry.ops[entry.root].name}
    chain = look(debugger, {"what": "trace", "value": value, "index": [2]})["places"]
    assert (chain[0]["value"], chain[-1]["opcode"]) == ("nan", "exponential")
    assert chain[-1]["value"] == "inf"
    assert chain[-1]["source"].startswith("programs.py:")


def test_through_fusions_and_iterations(debug: Open) -> None:
    debugger = debug(program_file("blowup", STAGES[1]))
    debugger.move("continue")
    entry = debugger.program.entry
    value = {"computation": entry.name, "instruction": entry.ops[entry.root].name}
    chain = look(debugger, {"what": "trace", "value": value, "index": []})["places"]
    assert chain[-1]["opcode"] == "multiply"
    assert [p["iteration"] for p in chain[-1]["path"] if p["iteration"] is not None] == [8]


@pytest.mark.parametrize("index", [[9], [0, 0], []])
def test_what_is_no_element_is_refused(debug: Open, index: list[int]) -> None:
    debugger = debug(program_file("reaching"))
    debugger.move("continue")
    entry = debugger.program.entry
    value = {"computation": entry.name, "instruction": entry.ops[entry.root].name}
    with pytest.raises(HloTuiError, match="no such element"):
        look(debugger, {"what": "trace", "value": value, "index": index})


def test_which_branch_was_taken_is_known_where_both_are_the_same_computation(
    debug: Open, tmp_path: Path
) -> None:
    (tmp_path / "same.txt").write_text(
        """
HloModule same

both {
  a = f32[2] parameter(0)
  ROOT b = f32[2] negate(a)
}

ENTRY e {
  p = pred[] constant(false)
  x = f32[2] parameter(0)
  y = f32[2] parameter(1)
  ROOT c = f32[2] conditional(p, x, y), true_computation=both, false_computation=both
}
"""
    )
    np.savez(tmp_path / "in.npz", x=np.zeros(2, np.float32), y=np.array([1, np.nan], np.float32))
    debugger = debug(tmp_path / "same.txt", inputs=str(tmp_path / "in.npz"), stops=("op:no-such-opcode",))
    debugger.move("continue")
    chain = trace(debugger, "c", [1])
    assert (chain[-1]["instruction"], chain[-1]["value"]) == ("y", "nan")
