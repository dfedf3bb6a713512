"""One function on all its rungs: what is linked to what, up and down, in text and as data."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from hlo_tui.cli import main
from tests.corpus import DATA

LADDER = DATA / "ladder"
STEM = "module_0018.jit_climb"


@pytest.fixture(name="dump")
def _dump(tmp_path: Path) -> Path:
    return Path(shutil.copytree(LADDER, tmp_path / "dump"))


def climb(capsys: pytest.CaptureFixture[str], path: Path, name: str) -> list[dict[str, Any]]:
    assert main(["show", str(path), name, "--json"]) == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["ladder"]
    return found


def names(rungs: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(rung["rung"], rung["name"]) for rung in rungs]


AFTER, BEFORE = f"{STEM}.cpu_after_optimizations.txt", f"{STEM}.before_optimizations.txt"


def test_from_the_compiled_code_up(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rungs = climb(capsys, dump / AFTER, "wrapped_tanh")
    assert [rung["rung"] for rung in rungs] == ["jaxpr", "stablehlo", "before", "after", "kernel"]
    assert rungs[0]["text"] == "j:f32[4,8] = tanh i"
    assert "stablehlo.tanh" in rungs[1]["text"]
    assert " tanh(" in rungs[2]["text"]
    assert rungs[3]["here"]
    assert "@wrapped_tanh(" in rungs[4]["text"]
    for rung in rungs:
        lines = Path(rung["path"]).read_text().split("\n")
        assert lines[rung["line"] - 1].strip()[:240] == rung["text"]


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("jax_000009_climb.jaxpr.txt", "j"),
        (f"{STEM}/module.mlir", "closed_call/%1"),
        (BEFORE, "tanh.1"),
        (AFTER, "wrapped_tanh"),
        (f"{STEM}.__compute_module_wrapped_tanh.ir-with-opt.ll", "wrapped_tanh"),
    ],
)
def test_every_rung_leads_to_the_same_others(
    dump: Path, capsys: pytest.CaptureFixture[str], file: str, name: str
) -> None:
    rungs = climb(capsys, dump / file, name)
    assert sorted(rung["rung"] for rung in rungs) == ["after", "before", "jaxpr", "kernel", "stablehlo"]
    assert [Path(rung["path"]) for rung in rungs if rung["here"]] == [dump / file]
    words = {
        "jaxpr": "= tanh",
        "stablehlo": "stablehlo.tanh",
        "before": " tanh(",
        "after": "tanh",
        "kernel": "@wrapped_tanh(",
    }
    assert all(words[rung["rung"]] in rung["text"] for rung in rungs)


def test_the_head_of_a_file_of_code_is_that_of_its_function(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rungs = climb(capsys, dump / f"{STEM}.__compute_module_wrapped_tanh.ir-with-opt.ll", "1")
    assert ("after", "wrapped_tanh") in [(rung["rung"], rung["name"].rpartition("/")[2]) for rung in rungs]


def test_branches_are_told_apart(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rungs = climb(capsys, dump / AFTER, "broadcast_multiply_fusion")
    assert ("jaxpr", "s:f32[4,8]") in names(rungs)
    assert "kernel" in [rung["rung"] for rung in rungs]
    assert ("jaxpr", "u:f32[4,8]") in names(climb(capsys, dump / AFTER, "wrapped_exponential"))


def test_operations_that_look_alike_are_told_by_their_order(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = dump / STEM / "module.mlir"
    lines = [at for at, line in enumerate(path.read_text().split("\n"), 1) if "stablehlo.multiply" in line]
    found = []
    for line in lines:
        rungs = climb(capsys, path, str(line))
        found += [rung["name"] for rung in rungs if rung["rung"] == "jaxpr"]
    assert sorted(found) == ["s:f32[4,8]", "v:f32[4,8]", "x:f32[4,8]", "y:f32[4,8]"]


def test_parameters_lead_to_the_functions_that_they_are_arguments_of(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (dump / BEFORE).read_text().split("ENTRY ")[1]
    name = next(line.split("%")[1].split(" ")[0] for line in text.split("\n") if " parameter(0)" in line)
    rungs = climb(capsys, dump / BEFORE, name)
    assert ("stablehlo", "main/%arg0") in names(rungs)
    assert [rung["text"] for rung in rungs if rung["rung"] == "jaxpr"] == [
        "{ lambda ; a:f32[4,8] b:f32[8,8]. let"
    ]


def test_rungs_that_are_missing_are_left_out(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(dump / STEM)
    rungs = climb(capsys, dump / AFTER, "wrapped_tanh")
    assert [rung["rung"] for rung in rungs] == ["jaxpr", "before", "after", "kernel"]
    (dump / BEFORE).unlink()
    (dump / "jax_000009_climb.jaxpr.txt").unlink()
    rungs = climb(capsys, dump / AFTER, "wrapped_tanh")
    assert [rung["rung"] for rung in rungs] == ["after", "kernel"]


def test_a_file_alone_has_no_ladder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = Path(shutil.copy(LADDER / AFTER, tmp_path / "mine.txt"))
    assert climb(capsys, path, "wrapped_tanh") == []
    assert main(["show", str(path), "wrapped_tanh"]) == 0
    assert "\nladder\n" not in capsys.readouterr().out


def test_a_damaged_neighbour_is_no_fault_of_the_file(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (dump / STEM / "module.mlir").write_bytes(b"\0\xff" * 100)
    (dump / "jax_000009_climb.jaxpr.txt").write_bytes(b"{ lambda {{{{")
    rungs = climb(capsys, dump / AFTER, "wrapped_tanh")
    assert [rung["rung"] for rung in rungs] == ["before", "after", "kernel"]


def test_the_ladder_in_words(dump: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", str(dump / AFTER), "wrapped_tanh"]) == 0
    text = capsys.readouterr().out
    assert text.index("ladder") < text.index("jax_000009_climb.jaxpr.txt:9") < text.index("module.mlir:")
    assert f"> after     {AFTER}:" in text


def test_files_of_a_process_in_a_directory_of_their_own(
    dump: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = dump / "jit_climb" / "host_123"
    inside.mkdir(parents=True)
    for path in sorted(dump.glob(f"{STEM}.*")):
        path.rename(inside / path.name)
    rungs = climb(capsys, inside / AFTER, "wrapped_tanh")
    assert [rung["rung"] for rung in rungs] == ["jaxpr", "stablehlo", "before", "after", "kernel"]
