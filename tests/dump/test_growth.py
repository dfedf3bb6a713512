"""Many modules of one name, as a function gives that is compiled again and again: work grows with the files.

Calls are counted, seconds are not.
"""

from __future__ import annotations

import pytest

from hlo_tui.dump import doctor, modules
from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.files import Changes
from tests.dump.making import catalog_of, file

COUNT = 400


def test_remarks_look_at_each_module_a_few_times(monkeypatch: pytest.MonkeyPatch) -> None:
    catalog = catalog_of(f"module_{number:04d}.f.before_optimizations.txt" for number in range(COUNT))
    looked = 0

    def counted(found: list[modules.Module]) -> set[str]:
        nonlocal looked
        looked += len(found)
        return {stage.point.kind for module in found for stage in module.stages}

    monkeypatch.setattr(doctor, "_kinds", counted)
    (remark,) = doctor.remarks(catalog, "/dump")
    assert remark.startswith("400 modules with a beginning and no end (f): ")
    assert looked <= 5 * COUNT


def test_processes_and_folders_are_put_together_in_one_look(monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [f"f/host_{number}/module_0001.f.before_optimizations.txt" for number in range(COUNT)]
    paths += [f"module_0001.g{number}/module.mlir" for number in range(COUNT)]
    asked = 0
    original = modules.process_group

    def counted(group: str) -> tuple[str, str, str] | None:
        nonlocal asked
        asked += 1
        return original(group)

    monkeypatch.setattr(modules, "process_group", counted)
    catalog = Catalog()
    catalog.apply(Changes(tuple(file(path) for path in paths)))
    assert len(catalog.modules) == 2 * COUNT
    assert asked <= 5 * len(paths)
