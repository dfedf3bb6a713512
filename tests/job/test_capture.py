"""Captured runs hold what the function was given and what came out, and replay to the same numbers."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import hlo_tui
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.loading import read_proto
from hlo_tui.replay import arrays

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def captured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("captured") / "dump"
    directory.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.job.capturing", str(directory), str(directory.parent)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return directory


def files(directory: Path, ending: str) -> list[Path]:
    return sorted(path for path in directory.iterdir() if path.name.endswith(ending))


def replay(path: Path) -> list[dict]:
    done = subprocess.run(
        [sys.executable, "-m", "hlo_tui", "replay", "--json", str(path)],
        capture_output=True,
        text=True,
        check=False,
    )
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    return events


def expected(path: Path) -> list[np.ndarray]:
    with np.load(path.parent.parent / f"{path.name.split('.')[0]}.npz", allow_pickle=False) as stored:
        return [stored[name] for name in stored.files]


def test_the_recorded_result_is_that_of_another_run(captured: Path) -> None:
    snapshots = files(captured, ".snapshot.0.pb")
    assert len(snapshots) == 6
    for path in snapshots:
        loaded = read_proto(path)
        assert loaded.result is not None
        result = arrays.literal_to_value(loaded.result)
        result = result if isinstance(result, tuple) else (result,)
        for found, wanted in zip(result, expected(path), strict=False):
            # numpy stores the types that it does not know as bytes.
            assert found.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("number", range(6))
def test_a_captured_run_replays_to_the_same_numbers(captured: Path, number: int) -> None:
    path = files(captured, ".snapshot.0.pb")[number]
    start, *_, end = replay(path)
    assert (start["inputs"], start["faithful"]) == ("snapshot", True)
    assert (end["recorded"], end["self_check"], end["status"]) == ("match", "match", "done")


def test_arguments_that_the_module_does_not_have_are_left_out(captured: Path) -> None:
    loaded = read_proto(files(captured, ".snapshot.0.pb")[0])
    (given_,) = loaded.arguments
    values = [arrays.literal_to_value(literal) for literal in given_]
    # Of x, y["a"], y["b"], unused, key: the constants are in the module, what is unused is nowhere.
    assert [value.shape for value in values] == [(4,), (3,), (), (2,)]
    np.testing.assert_array_equal(values[0], np.arange(4.0))
    assert values[2] == 2


def test_each_device_has_its_part_and_gives_its_part_of_the_result(captured: Path) -> None:
    parts = files(captured, ".hlo_unoptimized_snapshot.pb")
    assert len(parts) == 3
    loaded = read_proto(parts[0])
    whole = [
        arrays.literal_to_value(one) for one in read_proto(files(captured, ".snapshot.0.pb")[3]).arguments[0]
    ]
    assert len(loaded.arguments) == 8
    for partition, (x, w) in enumerate(loaded.arguments):
        row, column = divmod(partition, 2)
        np.testing.assert_array_equal(
            arrays.literal_to_value(x), whole[0][4 * row : 4 * row + 4, 16 * column : 16 * column + 16]
        )
        np.testing.assert_array_equal(arrays.literal_to_value(w), whole[1][16 * column : 16 * column + 16])
    events = replay(parts[0])
    stops = [event for event in events if event["event"] == "stop"]
    whole_result, total = expected(parts[0])
    assert [stop["partition"] for stop in stops] == list(range(8))
    for stop in stops:
        rows = whole_result[4 * (stop["partition"] // 2) :][:4]
        # Bit for bit what the job had there, and so is what it gave back.
        assert np.float32(stop["value"]["max"]) == rows.max()
        np.testing.assert_array_equal(np.float32(stop["value"]["first"]), rows.reshape(-1)[:8])
    first, second = events[-1]["outputs"]
    np.testing.assert_array_equal(np.float32(first["first"]), whole_result[:4, :32].reshape(-1)[:8])
    assert np.float32(second["first"][0]) == total
    assert events[-1]["self_check"] == "match"


def test_a_stage_of_the_dump_runs_on_the_captured_inputs(captured: Path) -> None:
    for path in files(captured, "_optimizations.txt"):
        events = replay(path)
        assert (events[0]["inputs"], events[-1]["status"]) == ("snapshot", "done"), path.name


def test_the_dump_is_whole(captured: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hlo_tui", "list", "--json", str(captured)],
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    assert len(told["modules"]) == 6
    for module in told["modules"]:
        assert [stage["kind"] for stage in module["stages"]] == ["before", "after"]
        assert all(stage["complete"] for stage in module["stages"])
        assert {one["kind"] for one in module["other"]} == {"stablehlo"}
        assert module["executions"]


@given(
    arrays_of.arrays(
        st.sampled_from(["bool", "int8", "uint16", "int64", "float16", "float32", "complex128"]),
        arrays_of.array_shapes(min_dims=0, max_dims=3, max_side=4),
    )
)
def test_a_literal_gives_the_array_back(array: np.ndarray) -> None:
    back = arrays.literal_to_value(arrays.value_to_literal((array, None, (array,))))
    assert back[1] is None
    for one in (back[0], back[2][0]):
        assert (one.dtype, one.shape, one.tobytes()) == (array.dtype, array.shape, array.tobytes())


def test_what_cannot_be_captured_is_told(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no type"):
        arrays.value_to_literal(np.array(["text"]))
    (tmp_path / "file").write_text("")
    with pytest.raises(HloTuiError, match="cannot be written"):
        hlo_tui.capture(lambda x: x, np.float32(1), dir=tmp_path / "file")


def inputs_and_result(path: Path) -> tuple[list[np.ndarray], object]:
    loaded = read_proto(path)
    result = None if loaded.result is None else arrays.literal_to_value(loaded.result)
    return [arrays.literal_to_value(literal) for literal in loaded.arguments[0]], result


def test_arguments_in_every_way_that_jax_takes_them(tmp_path: Path) -> None:
    import jax

    def scale(x, n):
        return x * n

    three = np.arange(3, dtype=np.float32)
    ways = [
        (jax.jit(scale, static_argnames="n"), (three, 3), {}),
        (jax.jit(scale, static_argnums=1), (three,), {"n": 3}),
        (jax.jit(scale, static_argnums=-1), (three, 3), {}),
        (jax.jit(functools.partial(scale, n=3)), (three,), {}),
        (functools.partial(scale, n=3), (three,), {}),
    ]
    for function, args, kwargs in ways:
        (x,), result = inputs_and_result(hlo_tui.capture(function, *args, dir=tmp_path, **kwargs))
        np.testing.assert_array_equal(x, three)
        np.testing.assert_array_equal(result, three * 3)
    # By keyword, and as numbers of Python and numpy, with the types that JAX gives them.
    found, result = inputs_and_result(hlo_tui.capture(jax.jit(scale), dir=tmp_path, n=2, x=np.arange(3.0)))
    # (In a process in which 64 bits are on they have 64.)
    types = {jax.numpy.asarray(2).dtype, jax.numpy.asarray(np.arange(3.0)).dtype}
    assert len(found) == 2
    assert {value.dtype for value in found} == types
    np.testing.assert_array_equal(result, [0, 2, 4])


def test_functions_without_inputs_or_outputs_and_with_keys(tmp_path: Path) -> None:
    import jax

    assert inputs_and_result(hlo_tui.capture(jax.jit(lambda: 3.0), dir=tmp_path)) == ([], np.float32(3))
    assert inputs_and_result(hlo_tui.capture(jax.jit(lambda x: None), 1.0, dir=tmp_path)) == ([], ())
    keys = jax.random.split(jax.random.key(0), 3)
    (given_,), split = inputs_and_result(
        hlo_tui.capture(jax.jit(jax.vmap(jax.random.split)), keys, dir=tmp_path)
    )
    np.testing.assert_array_equal(given_, jax.random.key_data(keys))
    np.testing.assert_array_equal(split, jax.random.key_data(jax.vmap(jax.random.split)(keys)))
    assert len(list(tmp_path.glob("*.snapshot.0.pb"))) == 3
