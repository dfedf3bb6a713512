"""Before against after, operation by operation, on the same inputs."""

from __future__ import annotations

import json
import subprocess
import sys

import numpy as np

from hlo_tui.hlo import loading
from hlo_tui.passes import compare_values
from tests.passes.dumped import PASSES, stage_file


def test_what_both_stages_compute_is_the_same_in_a_healthy_module() -> None:
    rows = compare_values.compare_values(
        stage_file("jit_tagged", "before"), stage_file("jit_tagged", "cpu_after")
    )
    opcodes = {row["a"][1].partition(".")[0] for row in rows}
    assert "tanh" in opcodes
    assert {row["state"] for row in rows if not row["what"] and row["how"] == "moved"} == {"equal"}
    # The values are those of the program: tanh of half of what 0 + 3, 1 + 3, 2 + 3, 3 + 3 are.
    first = next(row for row in rows if row["a"][1].startswith("tanh"))
    np.testing.assert_allclose(first["value_a"]["first"], np.tanh((np.arange(4) + 3) * 0.5), rtol=1e-6)


def test_the_first_divergence_comes_first() -> None:
    (snapshot,) = PASSES.glob("module_*.jit_inverse.snapshot.*")
    a, b = stage_file("jit_inverse", "0005"), stage_file("jit_inverse", "0006")
    done = subprocess.run(
        [sys.executable, "-m", "hlo_tui", "diff", a, b, "--values", "--inputs", snapshot, "--json"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    rows = json.loads(done.stdout)["rows"]
    # The parameter stands where the logarithm was.
    assert [(row["a"][1], row["how"], row["state"]) for row in rows] == [("log.1", "merged", "differs")]
    given = loading.read_proto(snapshot).arguments[0][0].f32s
    assert rows[0]["value_b"]["first"] == list(given)
    assert "2 of 3 out of tolerance" in compare_values.to_text(rows)
