"""What is said at the end about the outputs, against what the job recorded."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hlo_tui.replay import xla
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.headless import words
from hlo_tui.replay.inputs import Inputs
from hlo_tui.replay.opening import open_target
from hlo_tui.replay.protocol import receive, send
from hlo_tui.replay.slices import SliceCache

CHOLESKY = """\
HloModule factors

ENTRY e {
  p = f32[2,2]{1,0} parameter(0)
  c = (f32[2,2]{0,1}, s32[]) custom-call(p), custom_call_target="lapack_spotrf_ffi",
    operand_layout_constraints={f32[2,2]{0,1}}, api_version=API_VERSION_TYPED_FFI, backend_config={uplo = 76 : ui8}
  ROOT r = f32[2,2]{1,0} get-tuple-element(c), index=0
}
"""
NEGATED = (
    "HloModule m\n\nENTRY e {\n  p = f32[2,2]{1,0} parameter(0)\n  ROOT n = f32[2,2]{1,0} negate(p)\n}\n"
)
MATRIX = np.array([[4, 2], [2, 2]], np.float32)
# LAPACK leaves the other triangle as it is.
FACTOR = np.tril(np.linalg.cholesky(MATRIX)) + np.triu(MATRIX, 1)


def end(backend: xla.Backend, cache: SliceCache, path: Path, text: str, recorded: Any) -> dict[str, Any]:
    path.write_text(text)
    target = open_target(path)
    inputs = Inputs("snapshot", [MATRIX], result=recorded)
    debugger = Debugger(target.program(), inputs, backend, cache, grain=Grain.UNIT)
    return debugger.move("continue")


@pytest.mark.parametrize("off", [1e-6, 1.0])
def test_where_lapack_rounds_otherwise_it_is_said_how_to_do_as_the_job_did(
    backend: xla.Backend, cache: SliceCache, tmp_path: Path, off: float
) -> None:
    found = end(backend, cache, tmp_path / "m.txt", CHOLESKY, FACTOR + np.float32(off))
    assert (found["recorded"], found["recorded_exact"]) == ("match" if off < 1e-3 else "differs", False)
    assert "OPENBLAS_CORETYPE" in found["recorded_reason"]
    assert "OPENBLAS_CORETYPE" in words(found)


@pytest.mark.parametrize(
    ("recorded", "said"),
    [
        (-MATRIX, "match"),
        (-MATRIX + np.float32(0.5), "differs by up to 0.5"),
        (
            np.array([[np.nan, np.nan], [-2, -1]], np.float32),
            "differs by up to 1, 2 elements NaN on one side alone",
        ),
        (np.array([[np.nan, -2], [-2, -2]], np.float32), "differs, 1 element NaN on one side alone"),
    ],
)
def test_by_how_much_it_differs_is_said(
    backend: xla.Backend, cache: SliceCache, tmp_path: Path, recorded: Any, said: str
) -> None:
    found = end(backend, cache, tmp_path / "n.txt", NEGATED, recorded)
    assert f"  against the recorded result: {said}" in words(found).splitlines()


def test_nothing_is_said_of_lapack_where_it_is_not_the_reason(
    backend: xla.Backend, cache: SliceCache, tmp_path: Path
) -> None:
    assert "recorded_reason" not in end(backend, cache, tmp_path / "m.txt", CHOLESKY, FACTOR)
    found = end(backend, cache, tmp_path / "n.txt", NEGATED, MATRIX)
    assert found["recorded"] == "differs"
    assert "recorded_reason" not in found


def test_where_one_side_is_zero_the_relative_error_is_said_to_be_infinite(
    backend: xla.Backend, cache: SliceCache, tmp_path: Path
) -> None:
    found = end(backend, cache, tmp_path / "z.txt", NEGATED, np.zeros((2, 2), np.float32))
    assert (found["recorded"], found["recorded_max_abs"], found["recorded_max_rel"]) == (
        "differs",
        4.0,
        "inf",
    )
    written = io.BytesIO()
    send(written, {"result": found})


def test_no_number_ends_the_worker() -> None:
    written = io.BytesIO()
    send(written, {"a": [1.5, {"b": float("nan"), "c": (float("-inf"), float("inf"), None, "x")}]})
    written.seek(0)
    assert receive(written) == {"a": [1.5, {"b": "nan", "c": ["-inf", "inf", None, "x"]}]}
