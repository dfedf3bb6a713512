"""Constants that a text leaves out, against the arrays that the program was made with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from hlo_tui.replay import arrays
from hlo_tui.replay.limits import Room
from hlo_tui.replay.opening import open_target

TABLE = np.random.RandomState(0).randn(5, 4).astype(np.float32)
OTHER = np.random.RandomState(1).randn(5, 4).astype(np.float32)
FLAGS = np.arange(33) % 3 == 0


def dumped(directory: Path, stage: str = "before_optimizations") -> Path:
    """A program with constants as jaxlib dumps it: text without them, StableHLO with them."""

    def tables(x: Any) -> Any:
        # The second changes its sign when the module is made: it is nowhere in the StableHLO.
        return x * TABLE, x * jnp.negative(jnp.asarray(OTHER)), jnp.where(FLAGS, x[0, 0], 0)

    lowered = jax.jit(tables).lower(np.zeros((5, 4), np.float32))
    path = directory / f"module_0007.jit_tables.{stage}.txt"
    path.write_text(lowered.compiler_ir("hlo").as_hlo_text())
    folder = directory / "module_0007.jit_tables"
    folder.mkdir()
    (folder / "module.mlir").write_text(lowered.as_text(debug_info=True))
    return path


def constants(path: Path) -> list[Any]:
    module = open_target(path, None, Room()).module
    return [
        arrays.literal_to_value(instruction.literal)
        for computation in module.computations
        for instruction in computation.instructions
        if instruction.opcode == "constant" and instruction.shape.dimensions
    ]


def test_left_out_constants_come_from_the_program_beside_the_text(tmp_path: Path) -> None:
    path = dumped(tmp_path)
    assert path.read_text().count("{...}") == 3
    target = open_target(path, None, Room())
    assert (target.made_up, target.reasons) == ([], [])
    found = constants(path)
    for wanted in (TABLE, -OTHER, FLAGS):
        assert any(one.shape == wanted.shape and np.array_equal(one, wanted) for one in found)


@pytest.mark.parametrize("spoiled", ["gone", "garbage", "another program", "a later stage"])
def test_where_it_cannot_be_told_what_they_are_they_are_called_made_up(tmp_path: Path, spoiled: str) -> None:
    path = dumped(
        tmp_path, "cpu_after_optimizations" if spoiled == "a later stage" else "before_optimizations"
    )
    source = tmp_path / "module_0007.jit_tables" / "module.mlir"
    if spoiled == "gone":
        source.unlink()
    elif spoiled == "garbage":
        source.write_bytes(b"\xff module { %0 = ")
    elif spoiled == "another program":
        source.write_text(jax.jit(lambda x: x + TABLE).lower(np.zeros((5, 4), np.float32)).as_text())
    assert len(open_target(path, None, Room()).made_up) == 3
