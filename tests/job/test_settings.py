"""What a job is given so that it dumps: quoting, joining, and never a flag that its XLA lacks."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.errors import HloTuiError
from hlo_tui.job import probing
from hlo_tui.job.recipes import RECIPES, chosen, recipe_table
from hlo_tui.job.settings import own_flags, quoted, settings
from hlo_tui.job.versions import Table, as_numbers, read_table

JAXLIB = version("jaxlib")


def environment(
    *names: str, environ: dict[str, str] | None = None, jaxlib: str | None = "0.10.2"
) -> dict[str, str]:
    return dict(settings(chosen(names), "/tmp/d", environ or {}, jaxlib=jaxlib).environment)


def test_the_default_recipe_dumps_text_and_proto() -> None:
    assert environment() == {
        "XLA_FLAGS": "--xla_dump_to=/tmp/d --xla_dump_hlo_as_text=true --xla_dump_hlo_as_proto=true"
    }


def test_ones_own_flags_stay_and_what_gives_way_is_told() -> None:
    own = {"XLA_FLAGS": "--xla_force_host_platform_device_count=8  --xla_dump_to=/other"}
    found = settings(chosen(["passes"]), "/tmp/d", own, jaxlib="0.10.2")
    flags = found.environment["XLA_FLAGS"].split()
    assert flags[:2] == own["XLA_FLAGS"].split()
    # XLA takes the last of two.
    assert [flag for flag in flags if flag.startswith("--xla_dump_to")][-1] == "--xla_dump_to=/tmp/d"
    assert [line for line in found.warnings if "--xla_dump_to=/other gives way" in line]


def test_flags_that_are_there_already_are_not_given_twice() -> None:
    once = environment("snapshots")
    assert environment("snapshots", environ=once) == once


def test_flags_out_of_a_file_are_kept(tmp_path: Path) -> None:
    (tmp_path / "flags").write_text("--xla_a=1\n--xla_b=2\n")
    found = environment(environ={"XLA_FLAGS": str(tmp_path / "flags")})
    assert found["XLA_FLAGS"].startswith("--xla_a=1 --xla_b=2 --xla_dump_to=/tmp/d")
    with pytest.raises(HloTuiError, match="cannot be read"):
        environment(environ={"XLA_FLAGS": str(tmp_path / "nothing")})


def test_two_patterns_are_joined_and_everything_wins() -> None:
    assert "--xla_dump_hlo_pass_re=.*" in environment("spmd", "passes")["XLA_FLAGS"].split()
    assert "--xla_dump_hlo_pass_re=spmd|propagation|shardy" in environment("spmd")["XLA_FLAGS"].split()


def test_other_variables_keep_what_they_hold() -> None:
    found = environment(
        "mosaic", "jaxpr", environ={"LIBTPU_INIT_ARGS": "--xla_tpu_x=1", "JAX_DUMP_IR_TO": "/old"}
    )
    assert found["LIBTPU_INIT_ARGS"] == "--xla_tpu_x=1 --xla_mosaic_dump_to=/tmp/d"
    assert found["JAX_DUMP_IR_TO"] == "/tmp/d"
    # A shell gives the job just these values.
    lines = settings(chosen(["mosaic"]), "/tmp/a b", {}, jaxlib="0.10.2").shell().splitlines()
    assert lines[0] == "mkdir -p '/tmp/a b'"
    assert shlex.split(lines[-1]) == ["export", "MOSAIC_GPU_DUMP_TO=/tmp/a b"]


def test_a_recipe_that_a_version_cannot_follow_is_refused() -> None:
    for old in ("0.4.30", "0.6.2", "", "0.5.0"):
        with pytest.raises(HloTuiError, match="has no unoptimized-snapshots"):
            environment("unoptimized-snapshots", jaxlib=old)
    # Where XLA itself will be asked, the table has no say.
    assert environment("unoptimized-snapshots", jaxlib=None)
    assert environment("unoptimized-snapshots", jaxlib="0.12.0.1")
    with pytest.raises(HloTuiError, match="no recipe 'pases'"):
        chosen(["pases"])


def test_known_faults_are_told() -> None:
    def told(*names: str, **environ: str) -> str:
        return "\n".join(settings(chosen(names), "/d", environ, jaxlib="0.10.2").warnings)

    assert "several devices" in told("snapshots")
    assert "fills the disk" in told("snapshots")
    assert "silences every other dump" in told("unoptimized-snapshots")
    assert "run the job twice" in told("unoptimized-snapshots", "passes")
    assert "run the job twice" not in told("unoptimized-snapshots")
    assert "recipe uncached" in told("default", JAX_COMPILATION_CACHE_DIR="/cache")
    assert told("uncached", JAX_COMPILATION_CACHE_DIR="/cache") == ""
    assert told("jaxpr") == ""
    old = settings(chosen(["jaxpr"]), "/d", {}, jaxlib="0.6.2").warnings
    assert old == ("jaxpr: this JAX writes the StableHLO alone; jaxprs too come from 0.7 on",)


def test_every_recipe_is_in_the_table_of_recipes() -> None:
    assert [line.split()[0] for line in recipe_table().splitlines()] == list(RECIPES)


@given(st.lists(st.text(st.characters(codec="ascii", exclude_characters="\0"), min_size=1), max_size=4))
def test_a_quoted_value_is_one_word(values: list[str]) -> None:
    text = " ".join(f"--xla_a={quoted(value)}" for value in values)
    assert own_flags({"XLA_FLAGS": text}) == [f"--xla_a={quoted(value)}" for value in values]


@given(st.text())
def test_any_flags_are_split_without_a_fault(text: str) -> None:
    flags = own_flags({"XLA_FLAGS": f"-{text}"})
    assert "".join("".join(flags).split()) == "".join(f"-{text}".split())


def test_what_is_known_of_versions_between_and_around_those_of_the_table() -> None:
    old, new = frozenset({"a", "gone"}), frozenset({"a", "b"})
    table = Table({"0.4.30": old, "0.10.2": new})
    assert table.known("0.4.30") == old
    assert table.known("0.6.0") == table.known("") == table.known("0.3.9") == {"a"}
    assert table.known("0.10.2") == table.known("0.11.dev1") == new
    assert (table.since("a"), table.since("b"), table.since("gone")) == ("0.4.30", "0.10.2", "")
    assert as_numbers("0.12.0.1") > as_numbers("0.12.0") > as_numbers("0.4.30")


def test_the_table_has_the_versions_that_were_asked() -> None:
    table = read_table()
    assert {"0.4.30", "0.6.2", "0.10.2", "0.12.0.1"} <= set(table.columns)
    assert all("xla_dump_to" in flags for flags in table.columns.values())


def run_child(variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """A small JAX program with these variables."""
    code = "import jax; print(jax.jit(lambda x: x * 2 + 1)(1.0))"
    environ = {**os.environ, "JAX_PLATFORMS": "cpu", **variables}
    return subprocess.run(
        [sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("name", RECIPES)
def test_a_job_starts_with_every_recipe(name: str, tmp_path: Path) -> None:
    # A name that a shell and XLA both would split.
    directory = tmp_path / "a \"b'\\c"
    directory.mkdir()
    done = run_child(dict(settings(chosen([name]), directory, {}, jaxlib=JAXLIB).environment))
    assert (done.returncode, done.stdout) == (0, "3.0\n"), done.stderr
    assert list(directory.glob("module_*"))


def test_the_table_knows_the_jaxlib_that_is_here() -> None:
    known = read_table().known(JAXLIB)
    flags = [f"--{name}" for name in known if name.startswith("xla_dump_hlo_as_")]
    assert run_child({"XLA_FLAGS": " ".join(flags)}).returncode == 0
    strange = run_child({"XLA_FLAGS": "--xla_dump_ir"})
    assert strange.returncode != 0
    assert "Unknown flag" in strange.stderr


def test_a_python_is_asked_and_bad_flags_are_found_in_a_child(monkeypatch: pytest.MonkeyPatch) -> None:
    there = probing.installed(sys.executable)
    assert (there.jaxlib, there.versions["jax"]) == (JAXLIB, version("jax"))

    def make(root: str) -> object:
        return settings(chosen([]), root, os.environ, jaxlib=there.jaxlib)

    monkeypatch.delenv("XLA_FLAGS", raising=False)
    assert probing.try_settings(there, make) == (True, ())  # type: ignore[arg-type]
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_ir=true")
    with pytest.raises(HloTuiError, match="this XLA has no flag --xla_dump_ir") as caught:
        probing.try_settings(there, make)  # type: ignore[arg-type]
    assert "your XLA_FLAGS" in caught.value.hint


def test_what_a_recipe_is_for_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    # Here a pattern of one's own keeps the recorded run from being written.
    monkeypatch.setenv("XLA_FLAGS", "--xla_dump_hlo_module_re=nothing")
    there = probing.installed(sys.executable)

    def make(root: str) -> object:
        return settings(chosen(["snapshots"]), root, os.environ, jaxlib=there.jaxlib)

    ran, warnings = probing.try_settings(there, make)  # type: ignore[arg-type]
    assert (ran, warnings) == (True, (f"snapshots: jaxlib {JAXLIB} wrote nothing of it when it was tried",))


def test_what_is_no_python_is_told(tmp_path: Path) -> None:
    with pytest.raises(HloTuiError, match="no /nowhere/python here"):
        probing.find_python("/nowhere/python")
    assert probing.find_python(None, [sys.executable, "train.py"]) == sys.executable
    with pytest.raises(HloTuiError, match="no Python that answers"):
        probing.installed("/bin/true")


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environ = {**os.environ, **variables}
    return subprocess.run(
        [sys.executable, "-m", "hlo_tui", *arguments],
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_flags_prints_lines_that_a_shell_takes(tmp_path: Path) -> None:
    done = command("flags", "jaxpr", "--dir", str(tmp_path), "--python", sys.executable, XLA_FLAGS="")
    assert done.returncode == 0, done.stderr
    assert f"tried with jaxlib {JAXLIB}" in done.stderr
    script = f"{done.stdout}\nenv"
    shell = subprocess.run(
        ["sh", "-c", script], capture_output=True, text=True, check=True, env={"PATH": os.environ["PATH"]}
    )
    wanted = settings(chosen(["jaxpr"]), tmp_path, {}, jaxlib=JAXLIB).environment
    assert {f"{name}={value}" for name, value in wanted.items()} <= set(shell.stdout.splitlines())


def test_flags_of_a_version_that_is_not_here() -> None:
    done = command("flags", "passes", "--jaxlib", "0.4.30", "--dir", "/tmp/d", "--json", XLA_FLAGS="")
    told = json.loads(done.stdout)
    assert (told["jaxlib"], told["tried"], told["recipes"]) == ("0.4.30", False, ["passes"])
    assert told["environment"]["XLA_FLAGS"].endswith("--xla_dump_hlo_pass_re=.*")
    refused = command("flags", "unoptimized-snapshots", "--jaxlib", "0.6.2")
    assert (refused.returncode, refused.stdout) == (2, "")
