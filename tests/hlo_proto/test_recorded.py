"""Whether recorded results are finite, against numpy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.recorded import recorded_health
from hlo_tui.hlo.schema import hlo_pb2 as pb
from tests.corpus import DATA

FIELDS = {
    np.dtype(np.float32): (pb.F32, "f32s"), np.dtype(np.float64): (pb.F64, "f64s"),
    np.dtype(np.float16): (pb.F16, "f16s"), np.dtype(ml_dtypes.bfloat16): (pb.BF16, "bf16s"),
    np.dtype(np.int32): (pb.S32, "s32s"),
}  # fmt: skip


def literal(values: np.ndarray) -> pb.LiteralProto:
    kind, name = FIELDS[values.dtype]
    found = pb.LiteralProto()
    found.shape.element_type = kind
    found.shape.dimensions.append(values.size)
    if name in ("f16s", "bf16s"):
        setattr(found, name, values.tobytes())
    else:
        getattr(found, name).extend(values.tolist())
    return found


def health(tmp_path_factory, *values: np.ndarray) -> str:
    (original,) = (DATA / "replay").glob("*jit_loop.snapshot.*.pb")
    snapshot = pb.HloSnapshot.FromString(original.read_bytes())
    snapshot.ClearField("result")
    for one in values:
        snapshot.result.tuple_literals.append(literal(one))
    path = tmp_path_factory.mktemp("recorded") / "module_0001.jit_f.snapshot.1.pb"
    path.write_bytes(snapshot.SerializeToString())
    return recorded_health(path)


NUMBERS = st.lists(
    st.floats(width=16, allow_nan=True, allow_infinity=True) | st.sampled_from([65504.0, -65504.0]),
    max_size=12,
)


@given(st.lists(st.tuples(st.sampled_from(list(FIELDS)[:4]), NUMBERS), max_size=3))
def test_it_is_what_numpy_says(tmp_path_factory, parts):
    arrays = [np.array(numbers, np.float32).astype(dtype) for dtype, numbers in parts]
    flat = np.concatenate([np.zeros(0, np.float32), *(array.astype(np.float32) for array in arrays)])
    wanted = "nan" if np.isnan(flat).any() else "inf" if np.isinf(flat).any() else "finite"
    found = health(tmp_path_factory, *arrays)
    assert found == wanted or (not flat.size and found == "")


def test_a_sum_that_overflows_is_no_infinity(tmp_path_factory):
    assert health(tmp_path_factory, np.full(4, 1.7e308)) == "finite"


def test_integers_and_nothing_say_nothing(tmp_path_factory):
    assert health(tmp_path_factory, np.arange(4, dtype=np.int32)) == ""
    assert health(tmp_path_factory) == ""


@pytest.mark.parametrize(("name", "found"), [("reaching", "nan"), ("masked", "finite"), ("blowup", "inf")])
def test_real_snapshots(name, found):
    (path,) = (DATA / "replay").glob(f"*jit_{name}.snapshot.*.pb")
    assert recorded_health(path) == found


def test_a_file_that_is_no_snapshot_is_refused(tmp_path):
    path = tmp_path / "x.snapshot.1.pb"
    path.write_bytes(b"\x00\xff" * 40)
    with pytest.raises(HloTuiError):
        recorded_health(path)
