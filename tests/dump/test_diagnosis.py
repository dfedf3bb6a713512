"""Every cause of an empty or partial dump, one after the other, on directories that have it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hlo_tui import cli
from hlo_tui.dump import listing
from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.debugoptions import read_options
from hlo_tui.dump.diagnosis import diagnose
from hlo_tui.dump.findings import FOUND, NOT_SO, POSSIBLE, UNASKED, Finding, to_text
from hlo_tui.dump.processes import Process, read_process, with_xla
from tests.corpus import corpus_dir
from tests.dump.making import TEXT, write


def look(root: Path, environ: dict[str, str] | None = None, *processes: Process) -> dict[str, Finding]:
    catalog, unread = Catalog(), {}
    if root.is_dir():
        found = listing.load(root)
        catalog, unread = found.catalog, found.unread
    return {one.cause: one for one in diagnose(root, catalog, unread, environ or {}, processes)}


def stage(
    root: Path, number: int = 0, name: str = "f", stage: str = "before_optimizations", text: str = TEXT
) -> Path:
    return write(root, f"module_{number:04d}.{name}.{stage}.txt", text)


def whole(root: Path, options: str = "", number: int = 0, name: str = "f") -> None:
    stage(root, number, name)
    stage(root, number, name, "cpu_after_optimizations")
    write(root, f"module_{number:04d}.{name}.debug_options", f'xla_dump_to: "{root}"\n{options}')


def states(root: Path, state: str) -> set[str]:
    return {cause for cause, one in look(root).items() if one.state == state}


def test_a_sound_dump_has_no_fault(tmp_path: Path) -> None:
    whole(tmp_path)
    assert states(tmp_path, FOUND) == states(tmp_path, POSSIBLE) == set()
    assert states(tmp_path, UNASKED) == {"passes", "machine-code", "snapshots"}
    assert "small-modules" in states(tmp_path, NOT_SO)


def test_an_empty_directory_and_one_that_is_not_there(tmp_path: Path) -> None:
    found = look(tmp_path)
    assert {found[c].state for c in ("flag", "compile-cache", "small-modules", "other-dump")} == {POSSIBLE}
    absent = look(tmp_path / "absent")["directory"]
    assert (absent.state, "XLA makes it" in absent.words) == (FOUND, True)
    assert look(write(tmp_path, "file"))["directory"].words.endswith("is a file")


def test_a_remedy_can_be_typed(tmp_path: Path) -> None:
    root = tmp_path / "a b"
    remedy = look(root)["directory"].remedy
    variable, *command = shlex.split(remedy)
    assert variable == f'XLA_FLAGS=--xla_dump_to="{root}"'
    assert command == ["python", "train.py"]


def test_running_programs_are_told(tmp_path: Path) -> None:
    to = Process(7, "python train.py", str(tmp_path))
    without = Process(8, "python other.py", "")
    elsewhere = Process(9, "python x.py", "/elsewhere")
    assert look(tmp_path, {}, to)["flag"].state == POSSIBLE
    assert "process 7 (python train.py)" in look(tmp_path, {}, to, without)["flag"].words
    assert look(tmp_path, {}, without)["flag"].state == FOUND
    found = look(tmp_path, {}, without, elsewhere)["flag"]
    assert (found.state, "process 9 dumps to /elsewhere" in found.words) == (POSSIBLE, True)


def test_a_compile_cache(tmp_path: Path) -> None:
    stage(tmp_path, 0, "f", "after_optimizations")
    found = look(tmp_path)["compile-cache"]
    assert (found.state, "1 module with after_optimizations alone (f)" in found.words) == (FOUND, True)
    assert found.remedy.startswith("JAX_ENABLE_COMPILATION_CACHE=false XLA_FLAGS=")
    empty = tmp_path / "empty"
    assert "(/cache)" in look(empty, {"JAX_COMPILATION_CACHE_DIR": "/cache"})["compile-cache"].words


def test_what_xla_was_told_is_read(tmp_path: Path) -> None:
    whole(
        tmp_path,
        'xla_dump_max_hlo_modules: 3\nxla_dump_hlo_module_re: "a.*\\"b"\nxla_dump_hlo_pass_re: "nothing"\n',
    )
    found = look(tmp_path)
    assert {found[c].state for c in ("module-limit", "module-pattern", "passes")} == {FOUND}
    assert "--xla_dump_max_hlo_modules=3" in found["module-limit"].words
    assert "nothing" in found["passes"].words


def test_a_limit_below_nothing_is_none(tmp_path: Path) -> None:
    whole(tmp_path, "xla_dump_max_hlo_modules: -1\n")
    assert look(tmp_path)["module-limit"].state == NOT_SO


def test_runs_alone_silence_the_rest(tmp_path: Path) -> None:
    write(tmp_path, "module_0000.f.execution_0000.hlo_unoptimized_snapshot.pb")
    found = look(tmp_path)["unoptimized-snapshots"]
    assert (found.state, "switches every other dump off" in found.words) == (FOUND, True)
    assert found.remedy.startswith("XLA_FLAGS=")
    told = look(tmp_path / "none", {"XLA_FLAGS": "--xla_dump_hlo_unoptimized_snapshots"})
    assert told["unoptimized-snapshots"].state == FOUND


def test_a_crash_and_a_file_that_ends_in_the_middle(tmp_path: Path) -> None:
    whole(tmp_path)
    stage(tmp_path, 2, "g")
    stage(tmp_path, 4, "h", "cpu_after_optimizations", TEXT[:-10])
    found = look(tmp_path)
    assert (found["no-end"].state, found["cut-off"].state) == (FOUND, FOUND)
    assert "(g)" in found["no-end"].words
    assert "module_0004.h" in found["cut-off"].words


def test_snapshots_that_xla_does_not_write(tmp_path: Path) -> None:
    many = TEXT.replace("jit_f", "jit_f, num_partitions=8")
    whole(tmp_path, "xla_dump_hlo_snapshots: true\n")
    stage(tmp_path, 2, "g", text=many)
    found = look(tmp_path)["snapshots"]
    assert (found.state, "several devices (g)" in found.words, "hlo_tui.capture" in found.remedy) == (
        FOUND,
        True,
        True,
    )
    gpu = tmp_path / "gpu"
    whole(gpu, "xla_dump_hlo_snapshots: true\n")
    stage(gpu, 0, "f", "sm_9.0_gpu_after_optimizations")
    assert "GPU backend" in look(gpu)["snapshots"].words


def test_other_peoples_dumps(tmp_path: Path) -> None:
    write(tmp_path, "jax_ir0000_jit_f_compile.mlir")
    assert "JAX wrote its programs here" in look(tmp_path)["other-dump"].words
    graphs = tmp_path / "tf"
    write(graphs, "before_mark_for_compilation_1.pbtxt")
    assert "TensorFlow's graphs" in look(graphs)["other-dump"].words
    logs = tmp_path / "logs"
    write(logs, "my job.log", f"*** Begin module_0000.f.before_optimizations.txt ***\n{TEXT}")
    assert look(logs)["other-dump"].remedy == f"hlo-tui '{logs}/my job.log'"


def test_small_modules_that_may_be_left_out(tmp_path: Path) -> None:
    line = "  x.{} = f32[] parameter(0)\n"
    big = TEXT.replace("  ROOT", "".join(line.format(n) for n in range(20)) + "  ROOT")
    stage(tmp_path, text=big)
    assert look(tmp_path)["small-modules"].state == POSSIBLE


@given(st.binary(max_size=300))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
def test_options_of_any_bytes_are_read(tmp_path: Path, data: bytes) -> None:
    write(tmp_path, "module_0000.f.before_optimizations.txt")
    (tmp_path / "module_0000.f.debug_options").write_bytes(b'xla_dump_to: "/d"\n' + data)
    (options,) = read_options(str(tmp_path), listing.load(tmp_path).catalog.modules)
    assert options["xla_dump_to"] == "/d" or b"xla_dump_to" in data


def test_what_is_printed_is_safe_for_a_terminal(tmp_path: Path) -> None:
    whole(tmp_path, 'xla_dump_hlo_module_re: "\x1b[2J"\n', name="f\x1b[31m")
    stage(tmp_path, 2, "g\x1b[0m")
    found = listing.load(tmp_path)
    text = to_text(diagnose(tmp_path, found.catalog, {}, {"XLA_FLAGS": "\x1b"}))
    assert "\x1b" not in text


def fake_process(
    proc: Path, pid: int, *, environ: bytes, maps: str = "/x/libjax_common.so\n", exe: str = "python3.11"
) -> None:
    place = proc / str(pid)
    place.mkdir(parents=True)
    (place / "exe").symlink_to(f"/usr/bin/{exe}")
    (place / "cwd").symlink_to("/home/me")
    (place / "maps").write_text(maps)
    (place / "cmdline").write_bytes(b"python\0train.py\0")
    (place / "environ").write_bytes(environ)


def test_processes_are_read_where_xla_is_loaded(tmp_path: Path) -> None:
    fake_process(tmp_path, 11, environ=b"A=1\0XLA_FLAGS=--a --xla_dump_to=/old --xla_dump_to=d\0")
    fake_process(tmp_path, 12, environ=b"", exe="bash")
    fake_process(tmp_path, 13, environ=b"", maps="/x/libc.so\n")
    fake_process(tmp_path, 14, environ=b'XLA_FLAGS=--xla_dump_to="/a b"\0')
    fake_process(tmp_path, 15, environ=b"HOME=/\0")
    (tmp_path / "16").mkdir()
    (tmp_path / "self").mkdir()
    assert list(with_xla(tmp_path)) == [
        Process(11, "python train.py", "/home/me/d"),
        Process(14, "python train.py", "/a b"),
        Process(15, "python train.py", ""),
    ]
    assert list(with_xla(tmp_path / "nothing")) == []


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells nothing of programs")
def test_a_real_program_with_xla_is_seen(tmp_path: Path) -> None:
    code = "import jaxlib.xla_client, sys; print('ready', flush=True); sys.stdin.read()"
    environ = {**os.environ, "XLA_FLAGS": f"--xla_dump_to={tmp_path}"}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "ready\n"
        found = read_process(child.pid)
        assert found is not None
        assert (found.pid, found.dumps_to) == (child.pid, str(tmp_path))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole(tmp_path)
    assert cli.main(["doctor", str(tmp_path)]) == 0
    assert "What is not so:" in capsys.readouterr().out
    assert cli.main(["doctor", "--json", str(tmp_path / "absent")]) == 1
    told = json.loads(capsys.readouterr().out)
    assert {"cause", "state", "words", "remedy"} == set(told["findings"][0])


@pytest.mark.parametrize(
    ("dump", "causes"),
    [
        ("jax0102-p01_metadata-max_modules", {"module-limit"}),
        ("jax0102-p01_metadata-unopt_snapshots", {"unoptimized-snapshots"}),
        ("jax0102-p01_metadata-snapshots_all", {"snapshots"}),
        ("jax0102-p01_metadata-passes", set()),
        ("jax0102-p01_metadata-jaxdump_all", {"other-dump"}),
    ],
)
def test_real_dumps(dump: str, causes: set[str]) -> None:
    assert states(corpus_dir() / "dumps" / dump, FOUND) == causes
