"""What is said about an empty dump, and about one that is not what somebody expected."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.doctor import dump_command, dump_flags, explain_empty, remarks
from hlo_tui.dump.files import Changes
from tests.dump.making import TEXT, catalog_of, file, write


def test_the_command_survives_a_shell_and_xla() -> None:
    assert dump_command("/tmp/xladump") == "XLA_FLAGS=--xla_dump_to=/tmp/xladump python train.py"
    # The shell gives XLA one word; XLA splits it at blanks outside of quotes.
    (word,) = shlex.split(dump_flags("/tmp/a b", "--xla_dump_hlo_pass_re=.*"))
    name, _, value = word.partition("=")
    assert name == "XLA_FLAGS"
    assert shlex.split(value) == ["--xla_dump_to=/tmp/a b", "--xla_dump_hlo_pass_re=.*"]


def test_an_empty_directory(tmp_path: Path) -> None:
    lines = explain_empty(tmp_path)
    assert lines[0] == f"{tmp_path} is empty."
    text = "\n".join(lines)
    assert f"XLA_FLAGS=--xla_dump_to={tmp_path} python train.py" in text
    assert "JAX_ENABLE_COMPILATION_CACHE=false" in text


def test_a_directory_that_is_not_there_and_a_file(tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    assert explain_empty(absent)[0].startswith(f"{absent} is not there.")
    assert explain_empty(write(tmp_path, "x"))[0].endswith("is a file, not the directory of a dump.")


def test_a_directory_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, closed = os.scandir, [os.fspath(tmp_path / "closed")]

    def refuse(path: str) -> object:
        if path in closed:
            raise PermissionError(13, "Permission denied")
        return real(path)

    (tmp_path / "closed").mkdir()
    monkeypatch.setattr(os, "scandir", refuse)
    assert explain_empty(tmp_path)[0] == f"{tmp_path} holds only what cannot be read: closed."
    closed.append(os.fspath(tmp_path))
    assert explain_empty(tmp_path)[0] == f"{tmp_path} cannot be read: permission denied."


def test_files_that_are_mistaken_for_a_dump(tmp_path: Path) -> None:
    write(tmp_path, "before_mark_for_compilation_1.pbtxt")
    write(tmp_path, "jax_ir0000_jit_f_compile.mlir")
    write(tmp_path, "my job.log", f"*** Begin module_0000.f.before_optimizations.txt ***\n{TEXT}")
    write(tmp_path, "other.log", "nothing")
    write(tmp_path, "f.cpu_after_optimizations.txt")
    lines = explain_empty(tmp_path)
    assert lines[0] == f"{tmp_path} holds 5 files and no module."
    hlo = f"1 file of HLO without a module's number: hlo-tui {tmp_path}/f.cpu_after_optimizations.txt"
    assert hlo in lines
    assert [line for line in lines if "TensorFlow's graphs" in line]
    assert [line for line in lines if "1 program of JAX" in line]
    (log,) = [line for line in lines if "hlo-tui '" in line]
    assert shlex.split(log)[-1] == f"{tmp_path}/my job.log"


def test_where_there_are_modules_nothing_is_explained(tmp_path: Path) -> None:
    write(tmp_path, "module_0000.f.before_optimizations.txt")
    assert explain_empty(tmp_path) == []
    assert (
        remarks(
            catalog_of(["module_0000.f.before_optimizations.txt", "module_0000.f.after_optimizations.txt"]),
            "d",
        )
        == []
    )


def test_modules_out_of_a_compile_cache() -> None:
    (remark,) = remarks(
        catalog_of([f"module_{n:04d}.f{n}.after_optimizations.txt" for n in (0, 3, 6, 9)]), "/d"
    )
    assert remark.startswith("4 modules with after_optimizations alone (f0, f3, f6 and 1 more)")
    assert "JAX_ENABLE_COMPILATION_CACHE=false XLA_FLAGS=--xla_dump_to=/d python train.py" in remark


def test_the_two_halves_of_a_module_on_tpu_are_no_fault() -> None:
    catalog = catalog_of(["module_0021.f.before_optimizations.txt", "module_0023.f.after_optimizations.txt"])
    assert remarks(catalog, "/d") == []


def test_runs_alone() -> None:
    catalog = catalog_of(
        ["module_0000.f.execution_0000.hlo_unoptimized_snapshot.pb", "module_0000.f/module.mlir"]
    )
    (remark,) = remarks(catalog, "/d")
    assert remark.startswith("Only runs were recorded: --xla_dump_hlo_unoptimized_snapshots")


def test_a_beginning_without_an_end() -> None:
    catalog = catalog_of(
        [
            "module_0000.f.before_optimizations.txt",
            "module_0000.f.cpu_after_optimizations.txt",
            "module_0002.f.before_optimizations.txt",
            "module_0004.g.before_optimizations.txt",
        ]
    )
    (remark,) = remarks(catalog, "/d")
    assert remark.startswith("2 modules with a beginning and no end (f, g)")


def test_files_that_end_in_the_middle_and_many_runs() -> None:
    catalog = Catalog()
    catalog.apply(
        Changes(
            (
                file("module_0000.f.before_optimizations.txt"),
                file("module_0000.f.after_optimizations.txt", complete=False),
                # No more is known of it than that it is young.
                file("module_0000.f.after_optimizations.hlo.pb", complete=False),
                file("module_0000.f.snapshot.1.pb", 600_000_000),
                file("module_0000.f.snapshot.2.pb", 600_000_000),
            )
        )
    )
    cut, runs = remarks(catalog, "/d")
    assert cut.startswith("1 file cut off in the middle (module_0000.f.after_optimizations.txt)")
    assert runs.startswith("2 recorded runs take 1.2 GB")
