"""Real programs over eight devices, each partition's values against numpy's."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.corpus import corpus_dir

VERSIONS = ("jax0102", "jax012")
STAGES = ("before_optimizations", "cpu_after_optimizations")
Array = np.ndarray[Any, np.dtype[np.float32]]
Event = dict[str, Any]


def replayed(name: str, version: str, stage: str, grain: str, inputs: Path, *arrays: Array) -> list[Event]:
    """The events of the last stop of a replay on these inputs, given by their order."""
    directory = corpus_dir() / "dumps" / f"{version}-p01_metadata-default"
    (path,) = directory.glob(f"*.jit_{name}.{stage}.txt")
    np.savez(inputs, *arrays)
    options = ["--json", "--grain", grain, "--inputs", str(inputs)]
    command = [sys.executable, "-m", "hlo_tui", "replay", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *events, end = map(json.loads, done.stdout.splitlines())
    assert (end["self_check"], end["unknown"]) == ("match", [])
    return [event for event in events if event.get("n") == events[-1]["n"]]


def whole_numbers(*dims: int) -> Array:
    return np.random.default_rng(0).integers(-4, 5, dims).astype(np.float32)


def holds(event: Event, expected: Array) -> None:
    found = event["value"]
    assert found["first"] == expected.ravel()[: len(found["first"])].tolist()
    assert (found["min"], found["max"]) == (expected.min(), expected.max())
    assert found["mean"] == pytest.approx(expected.mean(), rel=1e-6)


@pytest.mark.parametrize("grain", ["whole", "unit", "body"])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_mapped_function_on_a_mesh(tmp_path: Path, version: str, stage: str, grain: str) -> None:
    x, w = whole_numbers(8, 16), whole_numbers(16, 8)
    given = (x, w)
    if stage == "cpu_after_optimizations":
        # Newer versions no longer write how the parameters were cut: each device is given its own.
        rows, columns = x.reshape(4, 2, 16), w.reshape(16, 2, 4).swapaxes(0, 1)
        given = (np.repeat(rows, 2, axis=0), np.tile(columns, (4, 1, 1)))
    events = replayed("smapped", version, stage, grain, tmp_path / "in.npz", *given)
    products = [x[2 * data :][:2] @ w[:, 4 * model :][:, :4] for data in range(4) for model in range(2)]
    total = sum(product.sum() for product in products)
    assert [event["partition"] for event in events] == list(range(8))
    for device, event in enumerate(events):
        data, model = divmod(device, 2)
        came = products[(data - 1) % 4 * 2 + model]
        holds(event, products[device] + came + total + products[2 * data])


@pytest.mark.parametrize("grain", ["whole", "unit", "body"])
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("version", VERSIONS)
def test_a_partitioned_function(tmp_path: Path, version: str, stage: str, grain: str) -> None:
    """Before it is cut for its devices it is one program; afterwards each device has its tile."""
    x, w = whole_numbers(16, 32), whole_numbers(32, 64)
    given = (x, w)
    if stage == "cpu_after_optimizations":
        rows = w.reshape(2, 16, 64)
        given = (x.reshape(4, 4, 2, 16).swapaxes(1, 2).reshape(8, 4, 16), np.tile(rows, (4, 1, 1)))
    events = replayed("spmd", version, stage, grain, tmp_path / "in.npz", *given)
    expected = np.maximum(x @ w, 0)
    if stage == "before_optimizations":
        (event,) = events
        holds(event, expected)
        return
    assert [event["partition"] for event in events] == list(range(8))
    for device, event in enumerate(events):
        data, model = divmod(device, 2)
        holds(event, expected[4 * data :, 32 * model :][:4, :32])


@pytest.mark.parametrize("grain", ["whole", "unit", "body"])
@pytest.mark.parametrize("stage", STAGES)
def test_a_mean_over_all_devices(tmp_path: Path, stage: str, grain: str) -> None:
    events = replayed("_fun", "jax0102", stage, grain, tmp_path / "in.npz", np.arange(8, dtype=np.float32))
    assert [event["partition"] for event in events] == list(range(8))
    assert {event["value"]["first"][0] for event in events} == {7.0}
