"""What a program says itself: dump_to before XLA is used, and dump at any time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hlo_tui
from hlo_tui.errors import HloTuiError
from hlo_tui.job.placing import new_place

PREFIX = "import os, sys, pathlib; D = pathlib.Path(sys.argv[1])\nimport hlo_tui\n"


def program(directory: Path, code: str, **environ: str) -> subprocess.CompletedProcess[str]:
    """Run lines of Python that have the directory as D."""
    variables = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    return subprocess.run(
        [sys.executable, "-c", PREFIX + code, str(directory)], capture_output=True, text=True, check=False,
        env={**variables, "JAX_PLATFORMS": "cpu", **environ}, timeout=120,
    )  # fmt: skip


def stages(directory: Path) -> dict[str, list[str]]:
    done = subprocess.run(
        [sys.executable, "-m", "hlo_tui", "list", "--json", str(directory)],
        capture_output=True,
        text=True,
        check=True,
    )
    told = json.loads(done.stdout)
    return {module["name"]: [stage["kind"] for stage in module["stages"]] for module in told["modules"]}


def test_a_program_that_is_told_first_dumps(tmp_path: Path) -> None:
    code = "import jax\nhlo_tui.dump_to(D, 'passes', 'jaxpr')\ndef double(x): return x * 2 + 0\njax.jit(double)(1.0)"
    done = program(tmp_path / "d", code)
    assert done.returncode == 0, done.stderr
    kinds = stages(tmp_path / "d")["jit_double"]
    assert (kinds[0], kinds[-1]) == ("before", "after")
    assert "pass" in kinds
    # The configuration of a JAX that is imported already is told too.
    assert list((tmp_path / "d").glob("jax_*.jaxpr.txt"))


def test_being_too_late_is_told_with_the_way_out(tmp_path: Path) -> None:
    code = (
        "import jax\njax.devices()\n"
        "try:\n    hlo_tui.dump_to(D)\nexcept Exception as error:\n    print(type(error).__name__, error)\n"
        "f = jax.jit(lambda x: x * 2 + 1)\nprint(hlo_tui.dump(f.lower(1.0), D, 'passes'))"
    )
    done = program(tmp_path / "d", code)
    assert done.returncode == 0, done.stderr
    assert "HloTuiError it is too late to dump everything" in done.stdout
    assert "hlo_tui.dump(jax.jit(f).lower(*args), DIR, 'passes') works at any time" in done.stdout
    # And so it does: XLA itself wrote the passes.
    assert stages(tmp_path / "d")["jit__lambda"].count("pass") > 3


def test_ones_own_flags_are_kept(tmp_path: Path) -> None:
    code = "hlo_tui.dump_to(D)\nimport jax\nprint(len(jax.devices()))\njax.jit(lambda x: x)(1.0)"
    done = program(tmp_path / "d", code, XLA_FLAGS="--xla_force_host_platform_device_count=3")
    assert (done.returncode, done.stdout) == (0, "3\n"), done.stderr
    assert stages(tmp_path / "d")


def test_lowered_and_compiled_functions_are_written(tmp_path: Path) -> None:
    code = (
        "import jax\nlowered = jax.jit(lambda x: x @ x.T).lower(jax.numpy.ones((2, 3)))\n"
        "hlo_tui.dump(lowered, D)\nhlo_tui.dump(lowered.compile(), D)\n"
    )
    done = program(tmp_path / "d", code)
    assert done.returncode == 0, done.stderr
    names = sorted(path.name for path in (tmp_path / "d").iterdir())
    assert names == [
        "module_0000.jit__lambda",
        "module_0000.jit__lambda.before_optimizations.hlo.pb",
        "module_0000.jit__lambda.before_optimizations.txt",
        "module_0001.jit__lambda.cpu_after_optimizations.hlo.pb",
        "module_0001.jit__lambda.cpu_after_optimizations.txt",
    ]
    assert "stablehlo.dot_general" in (tmp_path / "d" / names[0] / "module.mlir").read_text()
    text = (tmp_path / "d" / names[2]).read_text()
    # With what leads to the Python line.
    assert 'op_name="jit(<lambda>)/' in text
    assert "is_scheduled=true" in (tmp_path / "d" / names[4]).read_text()


def test_what_is_no_function_is_told(tmp_path: Path) -> None:
    with pytest.raises(HloTuiError, match="no lowered or compiled function") as caught:
        hlo_tui.dump(len, tmp_path)
    assert "hlo_tui.capture" in caught.value.hint
    with pytest.raises(HloTuiError, match="no lowered or compiled function"):
        hlo_tui.dump(len, tmp_path, "passes")


def test_what_is_set_in_the_environment_cannot_be_had_later(tmp_path: Path) -> None:
    code = "import jax\nhlo_tui.dump(jax.jit(lambda x: x).lower(1.0), D, 'jaxpr')"
    done = program(tmp_path / "d", code)
    assert "jaxpr cannot be had when the program runs already" in done.stderr


def test_the_package_loads_nothing_by_itself() -> None:
    code = (
        "heavy = {'textual', 'jax', 'jaxlib', 'numpy', 'google', 'rich'}; "
        "print(sorted({m.split('.')[0] for m in sys.modules} & heavy)); hlo_tui.dump_to(D); "
        "print(sorted({m.split('.')[0] for m in sys.modules} & heavy))"
    )
    done = program(Path("/tmp/d"), code)
    assert done.stdout.splitlines() == ["[]", "[]"], done.stderr
    with pytest.raises(AttributeError):
        _ = hlo_tui.nothing


def test_capturing_loads_no_screen(tmp_path: Path) -> None:
    code = "hlo_tui.capture(lambda x: x, 1.0, dir=D); print('textual' in sys.modules, 'rich' in sys.modules)"
    assert program(tmp_path, code).stdout == "False False\n"


def test_places_in_a_directory_are_numbered_on(tmp_path: Path) -> None:
    (tmp_path / "module_0007.f.before_optimizations.txt").write_text("")
    place = new_place(tmp_path, "jit_<a b>")
    assert place.stem == "module_0008.jit__a_b_"
    path = place.write(".before_optimizations.txt", "text")
    assert path.read_text() == "text"
    assert sorted(one.name for one in tmp_path.iterdir())[-1] == path.name
    long = new_place(tmp_path, "x" * 400).write(".execution_0000.hlo_unoptimized_snapshot.pb", b"1")
    assert len(long.name) < 255
