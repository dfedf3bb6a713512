"""Passes of MLIR: in one log, and in a file each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo_tui.cli import main
from hlo_tui.formats.mlirpasses import series_of, steps_of
from tests.corpus import corpus_dir
from tests.formats import samples


def _kernel(value: int) -> str:
    return f"module @k {{\n  func.func @f(%arg0: i32) {{\n    %0 = arith.constant {value} : i32\n    return\n  }}\n}}\n"


def test_a_log_of_passes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    marks = ["Before A (a-pass) ('builtin.module' operation: @k)", "After A (a-pass) ('builtin.module' operation: @k)",
             "After CSE (cse) ('builtin.module' operation: @k)"]  # fmt: skip
    values = (1, 1, 2)
    text = "".join(
        f"// -----// IR Dump {mark} //----- //\n{_kernel(value)}\n\n"
        for mark, value in zip(marks, values, strict=True)
    )
    path = tmp_path / "mosaic_gpu_module_0.mlir-passes.log"
    path.write_text(text)
    assert main(["passes", str(path), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)["passes"]
    rows = [
        (one["step"], one["pass"], one["changed"], one["added"], one["removed"], one["line"]) for one in told
    ]
    assert rows == [
        (0, "before a-pass", False, 0, 0, 1), (1, "a-pass", False, 0, 0, 10), (2, "cse", True, 1, 1, 19),
    ]  # fmt: skip
    assert {one["instructions"] for one in told} == {2}
    assert main(["passes", str(path), "--only", "cse"]) == 0
    assert "+1 -1" in capsys.readouterr().out


@pytest.mark.parametrize(
    "names",
    [
        ["0000-mosaic-dump-matmul-original.txt", "0001-mosaic-dump-matmul-post-canonicalize.txt",
         "0002-mosaic-dump-matmul-post-apply-vector-layout.txt"],
        ["m.f_kernel_module-pre-optimization.mlir", "m.f_kernel_module-post-optimization.mlir",
         "m.f_kernel_module-post-lowering.mlir"],
        ["module_0001.f.pass_2.canonicalize.mlir", "module_0001.f.pass_10.cse.mlir"],
        ["1714681237851953494-mosaic-dump-add-original.txt", "1714681237951953494-mosaic-dump-add-post-cse.txt"],
    ],
)  # fmt: skip
def test_a_file_for_each_pass(tmp_path: Path, names: list[str]) -> None:
    for number, name in reversed(list(enumerate(names))):
        (tmp_path / name).write_text(_kernel(number))
    (tmp_path / "0000-mosaic-dump-other-original.txt").write_text(_kernel(9))
    for name in names:
        assert [path.name for path in series_of(tmp_path / name)] == names
    steps = list(steps_of(tmp_path / names[0]))
    assert [(step.number, step.changed, step.added, step.removed) for step in steps] == [
        (0, False, 0, 0), *((number, True, 1, 1) for number in range(1, len(names))),
    ]  # fmt: skip


def test_what_is_no_history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "module.mlir"
    path.write_text(samples.STABLEHLO)
    assert main(["passes", str(path)]) == 2
    assert "no step of passes" in capsys.readouterr().err


def test_two_texts_are_compared(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = tmp_path / "a.mlir", tmp_path / "b.mlir"
    a.write_text(_kernel(1))
    b.write_text(_kernel(1).replace("%0", "%7"))
    assert main(["diff", str(a), str(b), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["equal"]
    b.write_text(_kernel(2))
    assert main(["diff", str(a), str(b), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert (told["added"], told["removed"]) == (
        ["    % = arith.constant 2 : i32"], ["    % = arith.constant 1 : i32"],
    )  # fmt: skip


def test_shardys_stages() -> None:
    root = corpus_dir() / "dumps" / "jax0102-p01_metadata-passes" / "shardy"
    for directory in root.iterdir():
        steps = list(steps_of(next(directory.glob("03.*"))))
        assert [step.number for step in steps] == [int(path.name[:2]) for path in sorted(directory.iterdir())]
        assert steps[0].name == "input_module"
        assert any(step.changed for step in steps)


@settings(max_examples=150, deadline=None)
@given(st.text(alphabet=st.sampled_from("/ -IRDumpAfter()'@:\n{}%0=."), max_size=200), st.integers(0, 400))
def test_damaged_logs(tmp_path_factory: pytest.TempPathFactory, text: str, at: int) -> None:
    path = tmp_path_factory.mktemp("log") / "k.mlir-passes.log"
    path.write_text(samples.PASSES[:at] + text + samples.PASSES[at:])
    for step in steps_of(path):
        assert step.operations >= 0
