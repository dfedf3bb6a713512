"""The commands about passes as a script runs them: documents, messages, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

from tests.passes.dumped import PASSES, stage_file


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hlo_tui", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def document(*arguments: object) -> Any:
    done = run(*arguments, "--json")
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_passes_of_a_module() -> None:
    told = document("passes", PASSES, "jit_inverse")
    assert told["module"] == "jit_inverse"
    keys = {"step", "pipeline", "pass", "changed", "instructions", "added", "removed", "modified", "ms"}
    assert all(keys <= set(row) for row in told["passes"])
    assert [row["pass"] for row in told["passes"] if row["changed"] and row["removed"] == 2] == ["algsimp"]
    done = run("passes", PASSES, "jit_inverse", "--only", "algsimp")
    assert "simplification › algsimp" in done.stdout


def test_passes_without_a_module_tell_where_the_time_went() -> None:
    told = document("passes", PASSES)
    assert {"passes", "modules"} == set(told)
    assert {one["module"] for one in told["modules"]} == {
        "jit_inverse",
        "jit_scaled",
        "jit_tagged",
        "jit_again",
    }
    assert "slowest modules" in run("passes", PASSES).stdout


def test_passes_follow_an_instruction() -> None:
    told = document("passes", PASSES, "jit_tagged", "--follow", "tanh.1")
    assert (told["instruction"], told["stage"]) == ("tanh.1", "before_optimizations")
    assert told["fusion"] == "multiply_tanh_fusion"
    back = document(
        "passes", PASSES, "jit_tagged", "--follow", "tanh.0", "--stage", "cpu_after_optimizations"
    )
    assert back["stages"][0]["instructions"][0]["name"] == "tanh.1"
    missing = run("passes", PASSES, "jit_tagged", "--follow", "nothing")
    assert (missing.returncode, missing.stdout) == (2, "")
    assert run("passes", PASSES, "jit_tagged", "--follow", "tanh.1", "--stage", "9999").returncode == 2


def test_tags_of_a_file_of_a_module_and_of_a_dump() -> None:
    single = document("tags", stage_file("jit_tagged", "before"))
    assert {"key", "value", "instruction", "computation", "opcode", "op_name", "file", "line"} <= set(
        single["tags"][0]
    )
    dump, module = document("tags", PASSES), document("tags", PASSES, "jit_tagged")
    assert dump == module
    assert {"id", "key", "value", "where", "lost_after"} <= set(dump["tags"][0])
    assert "stop instead at" in run("tags", PASSES).stdout
    assert run("tags", PASSES / "programs.py").returncode == 2


def test_recompiles() -> None:
    told = document("recompiles", PASSES)
    again = next(one for one in told["functions"] if one["name"] == "jit_again")
    assert [len(one["changed"]) for one in again["compilations"]] == [0, 1, 1, 2]
    assert "jit_again   4 compilations" in run("recompiles", PASSES).stdout


def test_a_module_that_is_not_there_is_wrong_use() -> None:
    for command in ("passes", "tags", "bisect"):
        done = run(command, PASSES, "jit_nothing")
        assert (done.returncode, done.stdout) == (2, "")
        assert "jit_nothing" in done.stderr


def test_comparing_loads_neither_jax_nor_the_screen() -> None:
    code = (
        "import sys; from hlo_tui.cli import main; main(['passes', sys.argv[1], 'jit_inverse']); "
        "main(['tags', sys.argv[1]]); main(['diff', sys.argv[2], sys.argv[2]]); main(['recompiles', sys.argv[1]]); "
        "print(sorted({m.split('.')[0] for m in sys.modules} & {'textual', 'jax', 'jaxlib', 'numpy'}))"
    )
    arguments = [str(PASSES), str(stage_file("jit_inverse", "before"))]
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"
