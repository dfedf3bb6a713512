"""The grains compared without a screen."""

from __future__ import annotations

import json

import pytest

from hlo_tui.cli import main
from hlo_tui.replay.graincheck import differs, words
from tests.corpus import corpus_dir
from tests.replay.conftest import program_file

DIFFERS = {"state": "differs", "nan_only": False, "max_abs": 0.5, "out": 3, "count": 32}


def test_a_healthy_module_is_equal_in_all_grains(capsys: pytest.CaptureFixture[str]) -> None:
    path = program_file("reaching")
    assert main(["replay", str(path), "--compare-grains", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["event"] == "grains"
    assert [row["grain"] for row in found["rows"]] == ["unit", "whole"]
    assert all(row["state"] in ("equal", "within") for row in found["rows"])
    assert found["fusions"] == []
    assert main(["replay", str(path), "--compare-grains"]) == 0
    assert "fusions that compute something else than their instructions: 0 of" in capsys.readouterr().out


def test_a_known_miscompile_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    directory = corpus_dir() / "dumps" / "jax0102-bug-asi2886-snapshots_all"
    (path,) = directory.glob("*jit_bug_asi2886.cpu_after_optimizations.txt")
    assert main(["replay", str(path), "--compare-grains", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["fusions"]
    assert all("position" not in one for one in found["fusions"])


def test_the_words_name_grain_fusion_and_error() -> None:
    found = {
        "rows": [{"grain": "unit", **DIFFERS}, {"grain": "whole", "state": "unknown", "why": "too large"}],
        "fusions": [{"computation": "main", "instruction": "fusion.7", "iteration": 3, **DIFFERS}],
        "looked_at": 5, "tolerance": 1e-3,
    }  # fmt: skip
    text = words(found)
    assert "unit   differs, error up to 0.5, 3 of 32 elements out" in text
    assert "whole  unknown: too large" in text
    assert "%fusion.7 in main, iteration 3: differs" in text
    assert differs(found)
    assert not differs({"rows": [{"state": "equal"}], "fusions": []})
