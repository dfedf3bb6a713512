"""What a file becomes before it runs: names as in the text, constants that the text leaves out, inputs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.opening import open_target, sibling_snapshots
from tests.replay.conftest import Open, forward, program_file

REPEATED = """
HloModule repeated

twice {
  x = f32[] parameter(0)
  y.1 = f32[] sine(x)
  y.2 = f32[] cosine(y.1)
  ROOT y = f32[] add(y.1, y.2)
}

ENTRY e {
  x = f32[] parameter(0)
  y = f32[] call(x), to_apply=twice
  y.1 = f32[] exponential(y)
  y.2 = f32[] negate(y.1)
  ROOT r = f32[] multiply(y.2, y.1)
}
"""


def test_names_that_computations_share_stay_as_in_the_text(debug: Open, tmp_path: Path) -> None:
    path = tmp_path / "repeated.txt"
    path.write_text(REPEATED)
    np.savez(tmp_path / "x.npz", x=np.float32(0.5))
    debugger = debug(
        path, inputs=str(tmp_path / "x.npz"), stops=("e/y.1", "e/y.2", "twice/y.2", "twice/y", "e/y")
    )
    *stops, _ = forward(debugger)
    sine = np.sin(np.float32(0.5))
    called = sine + np.cos(sine)
    expected = {
        ("twice", "y.2"): np.cos(sine),
        ("twice", "y"): called,
        ("e", "y"): called,
        ("e", "y.1"): np.exp(called),
        ("e", "y.2"): -np.exp(called),
    }
    found = {(s["computation"], s["instruction"]): s["value"]["first"][0] for s in stops}
    assert found == pytest.approx({name: float(value) for name, value in expected.items()}, rel=1e-6)


ELIDED = """
HloModule elided

ENTRY e {
  x = f32[12] parameter(0)
  c = f32[12] constant({...})
  ROOT r = f32[12] add(x, c)
}
"""


def test_a_constant_that_the_text_leaves_out_is_not_made_up_in_silence(tmp_path: Path) -> None:
    path = tmp_path / "module_0001.elided.before_optimizations.txt"
    path.write_text(ELIDED)
    (reason,) = open_target(path).reasons
    assert "1 constants are elided" in reason
    assert "c" in reason


def test_a_constant_that_the_text_leaves_out_comes_from_the_proto_beside_it(
    debug: Open, tmp_path: Path
) -> None:
    from hlo_tui.hlo.schema import hlo_pb2 as pb
    from hlo_tui.replay import xla

    values = np.linspace(1, 2, 12, dtype=np.float32)
    full = ELIDED.replace("{...}", "{" + ", ".join(map(repr, values.tolist())) + "}")
    module = pb.HloModuleProto.FromString(xla.parse_text(full.encode()))
    stem = tmp_path / "module_0001.elided.before_optimizations"
    stem.with_name(stem.name + ".txt").write_text(ELIDED)
    stem.with_name(stem.name + ".hlo.pb").write_bytes(pb.HloProto(hlo_module=module).SerializeToString())
    debugger = debug(stem.with_name(stem.name + ".txt"), inputs="zeros", stops=("r",))
    stop, _ = forward(debugger)
    assert stop["value"]["first"] == pytest.approx(values[:8].tolist())


def test_the_newest_snapshot_of_the_same_module_gives_the_inputs(debug: Open) -> None:
    path = program_file("scan")
    (snapshot,) = sibling_snapshots(path)
    assert "jit_scan.snapshot" in snapshot.name
    debugger = debug(path)
    assert debugger.inputs.kind == "snapshot"
    assert debugger.inputs.reasons == []


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"x": np.zeros(3, np.float32)}, "wants f32"),
        ({"a": np.zeros(1), "b": np.zeros(1)}, "nothing for"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(debug: Open, tmp_path: Path, arrays: dict, words: str) -> None:
    np.savez(tmp_path / "in.npz", **arrays)
    with pytest.raises(HloTuiError) as caught:
        debug(program_file("product"), inputs=str(tmp_path / "in.npz"))
    assert words in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04garbage", b"\x93NUMPY", b"not an archive"])
def test_damaged_inputs_are_refused(debug: Open, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "in.npz"
    path.write_bytes(content)
    with pytest.raises(HloTuiError, match="cannot be read"):
        debug(program_file("product"), inputs=str(path))


def test_a_pickle_is_not_read(debug: Open, tmp_path: Path) -> None:
    np.savez(tmp_path / "in.npz", x=np.array([{"a": 1}], dtype=object))
    with pytest.raises(HloTuiError, match="cannot be read"):
        debug(program_file("product"), inputs=str(tmp_path / "in.npz"))


def test_bytes_that_are_no_text_do_not_end_the_engine(debug: Open, tmp_path: Path) -> None:
    path = tmp_path / "bytes.txt"
    path.write_bytes(
        b'HloModule m\n\nENTRY e {\n  ROOT x = f32[] parameter(0), metadata={op_name="\xff\xfe"}\n}\n'
        + b"\0" * 9
    )
    (end,) = forward(debug(path, inputs="ones"))
    assert end["outputs"][0]["first"] == [1.0]
