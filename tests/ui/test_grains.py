"""The grains compared on the screen."""

from __future__ import annotations

import pytest

from hlo_tui.ui.grainscreen import Fusion, module_rows, value_rows
from tests.corpus import DATA, corpus_dir
from tests.ui.driving import driving
from tests.ui.fakes import FakeSession, summary
from tests.ui.test_hunting import open_module

DIFFERS = {
    "state": "differs", "exact": False, "max_abs": 0.5, "max_rel": 0.1, "out": 3, "count": 32, "nan_only": False,
    "worst": [{"element": [0, 1], "a": 1.5, "b": 1.0}],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _fresh(monkeypatch):
    monkeypatch.setattr(FakeSession, "made", [])


def text(rows) -> str:
    return "\n".join("".join(span.text for span in row.spans) for row in rows)


def test_a_value_says_in_which_grain_it_is_another_one():
    found = {
        "reference": summary(1.0), "tolerance": 1e-3, "opcode": "fusion",
        "alone": {**DIFFERS, "state": "within", "out": 0},
        "rows": [
            {"grain": "unit", **DIFFERS, "value": summary(1.5)},
            {"grain": "whole", "state": "unknown", "why": "values were changed", "value": summary(1.0)},
        ],
    }  # fmt: skip
    shown = text(value_rows("fusion.1", found, 100))
    assert "differs  error up to 0.5, relative 0.1; out of tolerance 3 of 32" in shown
    assert "[0, 1]  1.5 in body, here 1" in shown
    assert "not known" in shown
    assert "values were changed" in shown
    assert "the fusion alone" in shown
    assert "being computed" in text(value_rows("x", None, 80))


def test_a_module_names_the_fusions_that_differ():
    fusion = {"computation": "main", "instruction": "fusion.7", "iteration": 3, "position": {}, **DIFFERS}
    found = {
        "rows": [{"grain": "unit", "state": "equal"}],
        "fusions": [fusion],
        "looked_at": 5,
        "tolerance": 1e-3,
    }
    rows = list(module_rows(found, 100))
    assert "1 of 5 fusions compute something else than their instructions" in text(rows)
    assert "%fusion.7  in main  iteration 3  error up to 0.5" in text(rows)
    assert [row.key for row in rows if row.key] == [Fusion(0)]
    good = text(module_rows({**found, "fusions": []}, 100))
    assert "5 fusions looked at: each computes what its instructions do" in good


async def test_the_real_engine_compares_a_value_and_the_module():
    async with driving(DATA / "replay", (120, 44)) as app:
        await open_module(app, "loop")
        await app.press("equals_sign")
        await app.sees("nothing is being replayed: c begins")
        await app.press("2", "c")
        await app.sees("stop 1")
        await app.until(lambda: app.app.desk.replays.state.status == "standing", "standing")
        await app.press("equals_sign")
        await app.sees("in all grains", "the reference", "whole", "unit", "equal, bit for bit")
        await app.press("m")
        await app.sees("the outputs of the module, against body grain", "there is no fusion in it")
        await app.press("question_mark")
        await app.sees("Run the whole module in all grains")
        await app.press("q", "q")
        await app.misses("in all grains")


async def test_a_miscompiled_fusion_is_named_and_gone_to():
    async with driving(corpus_dir() / "dumps" / "jax0102-bug-asi2886-snapshots_all", (140, 44)) as app:
        await app.opened()
        await app.press("right_square_bracket")
        await app.opened()
        await app.press("I")
        await app.sees("the inputs are snapshot")
        await app.press("q", "1", "2", "g", "equals_sign")
        await app.sees("Compare grains")
        await app.press("m")
        await app.sees("compute something else than their instructions")
