"""The listing: its document, its table, and what it says where there is nothing to list."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.files import Changes
from hlo_tui.dump.listing import arrange, load, short_name, to_json, to_text
from hlo_tui.dump.modules import Module
from hlo_tui.errors import HloTuiError
from tests.dump.making import TEXT, file, write

HOUR = 3600 * 10**9


def paths_in(record: Any) -> list[str]:
    """Every path of a document, wherever it stands."""
    if isinstance(record, dict):
        own = [record["path"]] if "path" in record else []
        return own + [path for key, value in record.items() if key != "root" for path in paths_in(value)]
    if isinstance(record, list):
        return [path for value in record for path in ([value] if isinstance(value, str) else paths_in(value))]
    return []


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    for name in (
        "module_0000.jit_step.before_optimizations.txt",
        "module_0000.jit_step.before_optimizations.hlo.pb",
        "module_0000.jit_step.0003.fusion.after_a.before_b.txt",
        "module_0000.jit_step.0004.copy-insertion.after_adding_copies.txt",
        "module_0000.jit_step.cpu_after_optimizations.txt",
        "module_0000.jit_step.cpu_after_optimizations-buffer-assignment.txt",
        "module_0000.jit_step.snapshot.-7.pb",
        "module_0000.jit_step/module.mlir",
        "jax_ir0000_jit_step_compile.mlir",
        "notes.txt",
    ):
        os.utime(write(tmp_path, name), ns=(HOUR, HOUR))
    return tmp_path


def test_the_document(dump: Path) -> None:
    document = to_json(load(dump, now_ns=2 * HOUR))
    assert json.loads(json.dumps(document)) == document
    assert document["root"] == os.fspath(dump)
    (module,) = document["modules"]
    assert (module["id"], module["name"], module["files"]) == (0, "jit_step", 8)
    assert module["bytes"] == 8 * len(TEXT)
    assert module["modified"] == 3600.0
    before, between, within, after = module["stages"]
    assert before == {
        "label": "before_optimizations",
        "kind": "before",
        "step": None,
        "pipeline": None,
        "after": None,
        "before": None,
        "during": None,
        "target": None,
        "form": "txt",
        "path": "module_0000.jit_step.before_optimizations.txt",
        "bytes": len(TEXT),
        "complete": True,
        "also": [
            {
                "form": "hlo.pb",
                "path": "module_0000.jit_step.before_optimizations.hlo.pb",
                "bytes": len(TEXT),
            }
        ],
    }
    assert [between[key] for key in ("step", "pipeline", "after", "before")] == [3, "fusion", "a", "b"]
    assert [within[key] for key in ("kind", "step", "during", "after")] == [
        "within",
        4,
        "copy-insertion",
        "after_adding_copies",
    ]
    assert (after["kind"], after["target"]) == ("after", "cpu")
    assert [(run["kind"], run["number"]) for run in module["executions"]] == [("snapshot", -7)]
    assert [side["kind"] for side in module["other"]] == ["buffer-assignment", "stablehlo"]
    assert [side["kind"] for side in document["other"]] == ["jax-stablehlo"]
    assert document["unrecognised"] == ["notes.txt"]
    everything = [
        os.path.relpath(os.path.join(where, name), dump)
        for where, _, names in os.walk(dump)
        for name in names
    ]
    assert sorted(paths_in(document)) == sorted(everything)


def test_a_text_that_ends_in_the_middle(dump: Path) -> None:
    write(dump, "module_0001.f.before_optimizations.txt", TEXT[:-3])
    document = to_json(load(dump))
    assert [module["stages"][0]["complete"] for module in document["modules"]] == [True, False]


def test_one_file_and_a_log(dump: Path) -> None:
    document = to_json(load(dump / "module_0000.jit_step.cpu_after_optimizations.txt"))
    assert paths_in(document) == ["module_0000.jit_step.cpu_after_optimizations.txt"]
    assert document["modules"][0]["stages"][0]["complete"]
    log = write(dump, "job.log", f"hello\n*** Begin module_0001.f.before_optimizations.txt ***\n{TEXT}\n"
                "*** End module_0001.f.before_optimizations.txt ***\n")  # fmt: skip
    document = to_json(load(log))
    assert document["log"]
    stage = document["modules"][0]["stages"][0]
    assert log.read_text()[stage["offset"] :][: stage["bytes"]] == TEXT


def test_what_cannot_be_listed(tmp_path: Path) -> None:
    with pytest.raises(HloTuiError) as absent:
        load(tmp_path / "absent")
    assert (absent.value.title, absent.value.exit_code) == ("No such file or directory", 2)
    assert absent.value.hint
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(HloTuiError) as pipe:
        load(tmp_path / "pipe")
    assert pipe.value.title == "Neither a directory nor a file"
    with pytest.raises(HloTuiError):
        load("\x00")


def test_a_directory_that_may_not_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> object:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(HloTuiError) as refused:
        load(tmp_path)
    assert refused.value.title == "Permission denied"


def test_the_table(dump: Path) -> None:
    write(dump, "module_0002.jit_step.before_optimizations.txt")
    os.utime(dump / "module_0002.jit_step.before_optimizations.txt", ns=(HOUR, HOUR))
    text = to_text(load(dump, now_ns=2 * HOUR), now_ns=2 * HOUR)
    lines = text.splitlines()
    assert lines[0] == f"{dump}   11 files   2 modules   {11 * len(TEXT)} B"
    assert lines[2].split() == ["module", "number", "stages", "runs", "size", "changed"]
    # Of one age the higher number is the newer.
    assert lines[3] == f"jit_step ×2  #2 #0   before, 2 passes, cpu after  1 run  {9 * len(TEXT)} B      1 h"
    assert lines[-1] == "not recognised: notes.txt"


def test_control_characters_do_not_reach_a_terminal(tmp_path: Path) -> None:
    write(tmp_path, "module_0001.a\x1b[31mb.before_optimizations.txt")
    write(tmp_path, "evil\x1b]0;x\x07\n")
    text = to_text(load(tmp_path))
    assert not {"\x1b", "\x07"} & set(text)
    assert len(text.splitlines()) == 6


def modules_of(sizes: list[tuple[str, int]]) -> list[Module]:
    """Modules with one stage each, of these names and sizes."""
    catalog = Catalog()
    files = [
        file(f"module_{number:04d}.{name}.before_optimizations.txt", size, mtime=number)
        for number, (name, size) in enumerate(sizes)
    ]
    catalog.apply(Changes(tuple(files)))
    return catalog.modules


def test_small_modules_are_counted() -> None:
    sizes = [("init", 5_000), ("iota", 400), ("add", 900), ("train", 250_000), ("add", 800), ("eval", 90_000)]
    groups, small = arrange(modules_of([*sizes, ("add", 700)]))
    assert [group.name for group in groups] == ["train", "eval", "init"]
    assert [module.name for module in small] == ["iota", "add", "add", "add"]


def test_few_small_modules_are_rows_like_others() -> None:
    groups, small = arrange(modules_of([("big", 90_000), ("a", 100), ("b", 200)]))
    assert ([group.name for group in groups], small) == (["big", "b", "a"], [])


def test_modules_of_one_name_are_one_row_the_newest_first() -> None:
    groups, _ = arrange(modules_of([("step", 500), ("other", 900), ("step", 700)]))
    assert [(group.name, [module.id for module in group.modules]) for group in groups] == [
        ("other", [1]),
        ("step", [2, 0]),
    ]


def test_modules_are_listed_in_the_order_that_is_asked_for(tmp_path: Path) -> None:
    for number, (name, size, when) in enumerate((("b", 9, 5), ("a", 3, 9), ("a", 2, 8), ("c", 4, 7))):
        write(tmp_path, f"module_{number:04d}.{name}.before_optimizations.txt", TEXT + "\n" * size)
        path = tmp_path / f"module_{number:04d}.{name}.before_optimizations.txt"
        os.utime(path, (when, when))
    listing = load(tmp_path)

    def first_names(order: str) -> list[str]:
        return [line.split()[0] for line in to_text(listing, order=order).splitlines()[3:6]]

    assert first_names("first") == ["b", "c", "a"]
    assert first_names("newest") == ["a", "c", "b"]
    assert first_names("recompiled") == ["a", "b", "c"]
    assert first_names("name") == ["a", "b", "c"]


def test_a_long_name_is_cut_in_its_middle() -> None:
    name = "jit_" + "x" * 100 + "_the_end"
    short = short_name(name, 30)
    assert len(short) == 30
    assert short.startswith("jit_xxx")
    assert short.endswith("_the_end")
    assert short_name("") == "(no name)"


def test_a_listing_loads_nothing_heavy() -> None:
    code = (
        "import sys, hlo_tui.dump.listing, hlo_tui.dump.doctor;"
        "heavy = {'numpy', 'jax', 'jaxlib', 'textual', 'watchdog', 'google.protobuf'};"
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
