"""The rules of the house that a program can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MODULES = sorted(path for path in (ROOT / "hlo_tui").rglob("*.py") if not path.name.endswith("_pb2.py"))
NAMES = [str(path.relative_to(ROOT)) for path in MODULES]


def trees() -> list[tuple[str, ast.Module]]:
    return [(name, ast.parse(path.read_text())) for name, path in zip(NAMES, MODULES, strict=True)]


def test_imports_go_one_way() -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from importlinter.cli import lint_imports; raise SystemExit(lint_imports())"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_private_jax_is_named_in_one_module() -> None:
    named = [
        name
        for name, path in zip(NAMES, MODULES, strict=True)
        if re.search(r"\bjax\._src\b", path.read_text())
    ]
    assert named == ["hlo_tui/replay/xla.py"]


def test_modules_and_functions_are_short() -> None:
    long = [
        name for name, path in zip(NAMES, MODULES, strict=True) if len(path.read_text().splitlines()) > 450
    ]
    functions = [
        f"{name}:{node.name}"
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (node.end_lineno or 0) - node.lineno >= 60
    ]
    assert (long, functions) == ([], [])


def test_every_module_says_what_it_is_for() -> None:
    assert [name for name, tree in trees() if not ast.get_docstring(tree)] == []


def test_no_name_means_everything_or_nothing() -> None:
    assert [name for name in NAMES if re.search(r"util|helper|manager|misc|common", name)] == []


def test_broad_excepts_are_at_the_borders_only() -> None:
    broad = {
        name
        for name, tree in trees()
        for node in ast.walk(tree)
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or getattr(node.type, "id", "") in ("Exception", "BaseException"))
    }
    # The watcher's thread, the worker's client, and the app with the thread that reads for it.
    borders = {"dump/watch", "replay/client", "ui/app", "ui/reading"}
    assert broad <= {f"hlo_tui/{border}.py" for border in borders}


def test_nothing_from_a_file_can_run() -> None:
    dangerous = re.compile(
        r"\bimport (?:pickle|marshal|shelve|dill)\b|\beval\(|\bexec\(|allow_pickle=True|os\.system|shell=True"
    )
    found = [name for name, path in zip(NAMES, MODULES, strict=True) if dangerous.search(path.read_text())]
    assert found == []


def test_the_top_level_holds_what_it_should() -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("this is no git checkout")
    top = {line.split("/")[0] for line in done.stdout.splitlines()}
    assert {name for name in top if not name.startswith(".")} == {
        "pyproject.toml", "hlo_tui", "themes", "tests", "scripts", "README.md",
    }  # fmt: skip


def test_every_dependency_says_why_it_is_there() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    project = tomllib.loads(text)["project"]
    for dependency in project["dependencies"]:
        (line,) = [line for line in text.splitlines() if f'"{dependency}"' in line]
        assert "#" in line, dependency
    locked = (ROOT / "scripts" / "locked.txt").read_text().lower()
    for dependency in project["dependencies"]:
        assert f"\n{re.split('[<>=]', dependency)[0]}==" in locked, dependency


@pytest.mark.parametrize("word", ["/work/", "corpus/dumps/jax"])
def test_no_path_of_one_machine_is_in_the_project(word: str) -> None:
    done = subprocess.run(["git", "grep", "-lF", word], cwd=ROOT, capture_output=True, text=True, check=False)
    assert set(done.stdout.split()) <= {"tests/test_architecture.py"}
