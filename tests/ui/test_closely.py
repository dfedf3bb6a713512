"""What the value screen shows of answers as `replay.looks` gives them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.session import State
from hlo_tui.ui.against import Against, against
from hlo_tui.ui.closely import Closely, Iteration, Origin, Part, build
from tests.ui.fakes import STOPS

SUMMARY = {
    "shape": "f32[2,40]", "dtype": "f32", "min": -1.0, "max": 41.2, "mean": 0.5, "std": 1.0, "nan": 1, "inf": 0,
    "zero": 0, "count": 80, "first": [1.0],
}  # fmt: skip
OVERVIEW = {
    "table": {
        "rows": [[0.113, -0.552, 7.0], [41.2, "nan", 0.118]], "shape": [2, 3], "row": 0, "column": 1,
        "origin": [4, 16], "steps": [1, 2], "cut": [0, 17],
    },
    "histogram": {"counts": [1, 0, 100, 50], "low": -1.0, "high": 41.2},
    "heat": {
        "magnitudes": [[0.001, 1.0, None], [1000.0, 0.0, 1.0]], "marks": [[0, 0, 2], [0, 1, 0]],
        "block": [1, 14], "grid": [2, 40],
    },
    "worst": {"index": [5, 18], "kind": "nan", "value": "nan"},
    "distinct": None,
    "size": [2, 40],
}  # fmt: skip


def lines(look: Closely, width: int = 100) -> list[str]:
    return ["".join(span.text for span in row.spans) for row in build(look, width)]


def test_while_nothing_is_known_that_is_said():
    assert lines(Closely("main", "mul.3"))[1] == " being computed"
    assert " being looked at" in lines(Closely("main", "mul.3", summary=SUMMARY))


def test_an_array_is_shown_as_table_histogram_and_map():
    shown = lines(
        Closely("main", "mul.3", where="stop 7", slice="4:, 16::2", summary=SUMMARY, overview=OVERVIEW)
    )
    assert shown[0] == " %mul.3  stop 7"
    assert shown[2] == " the first NaN is at [5, 18]: nan"
    assert " histogram  −1 ▁ █▄ 41.2" in shown
    assert "  ░▓N" in shown
    assert "  █I▓" in shown
    assert " elements, 4:, 16::2" in shown
    table = shown[shown.index(" elements, 4:, 16::2") + 1 :]
    assert table[0].split() == ["16", "18", "20"]
    assert table[1].split() == ["4", "0.113", "−0.552", "7", "…"]
    assert table[2].split() == ["5", "41.2", "nan‹", "0.118", "…"]


def test_a_narrow_screen_shows_fewer_columns():
    shown = lines(Closely("main", "mul.3", summary=SUMMARY, overview=OVERVIEW), width=30)
    assert any(line.endswith("−0.552 …") for line in shown)


def test_a_vector_has_no_row_numbers():
    table = {
        "rows": [[1.0, 2.0]],
        "shape": [2],
        "row": None,
        "column": 0,
        "origin": [0],
        "steps": [1],
        "cut": [0, 0],
    }
    overview = {
        "table": table,
        "worst": {"index": [1], "kind": "largest", "value": 2.0},
        "distinct": [1.0, 2.0],
    }
    shown = lines(Closely("main", "v", summary=SUMMARY, overview=overview))
    assert " the largest is at [1]: 2" in shown
    assert " all its values: 1 2" in shown
    assert shown[-1].split() == ["1", "2‹"]


def test_more_dimensions_say_where_they_are_held():
    table = {
        "rows": [[1.0]],
        "shape": [1, 1],
        "row": 1,
        "column": 2,
        "origin": [3, 0, 0],
        "steps": [1, 1, 1],
        "cut": [0, 0],
    }
    shown = lines(
        Closely(
            "main",
            "v",
            summary=SUMMARY,
            overview={"table": table, "worst": {"index": [3, 0, 0], "kind": "largest", "value": 1.0}},
        )
    )
    assert " elements, dimension 0 at 3" in shown


def test_a_tuple_offers_its_parts():
    look = Closely("main", "t", summary={"tuple": [SUMMARY, {"tuple": [SUMMARY]}]})
    keys = [row.key for row in build(look, 100) if row.key is not None]
    assert keys == [Part((0,)), Part((1,))]
    assert look.request(80) is None
    inner = Closely("main", "t", element=(1, 0), summary=look.summary)
    assert inner.part is SUMMARY
    assert inner.request(80)["element"] == [1, 0]


def test_what_is_unknown_says_why():
    assert " a host callback" in lines(Closely("main", "c", summary={"unknown": "a host callback"}))


def test_an_origin_can_be_gone_to():
    places = [
        {"computation": "main", "instruction": "log.1", "opcode": "log", "path": [], "index": [0, 0], "value": "nan",
         "source": "/a/p.py:8"},
        {"computation": "body", "instruction": "exp.1", "opcode": "exponential", "index": [0], "value": "inf",
         "path": [{"computation": "body", "iteration": 3}], "source": ""},
    ]  # fmt: skip
    look = Closely(
        "main", "log.1", summary=SUMMARY, overview=OVERVIEW, trace={"places": places, "complete": False}
    )
    shown = lines(look)
    assert "   0  %log.1 [0, 0] nan  log" in shown
    assert "   1  %exp.1 [0] inf  exponential  iteration 3" in shown
    assert " … and further back" in shown
    assert [row.key for row in build(look, 100) if row.key] == [
        Origin("main", "log.1", 0),
        Origin("body", "exp.1", 1),
    ]


def test_a_comparison_is_summed_up():
    differs = {
        "exact": False, "within": False, "max_abs": 0.5, "max_rel": 0.1, "tolerance": 1e-3, "mismatches": 3,
        "nan_mismatches": 1, "worst": [{"index": [0, 1], "a": 1.5, "b": 1.0}],
    }  # fmt: skip
    shown = lines(
        Closely("main", "m", summary=SUMMARY, overview=OVERVIEW, compared=differs, against="stop 2")
    )
    assert " compared with stop 2" in shown
    assert " differs  largest finite difference 0.5, relative 0.1, beyond 0.001: 3 elements" in shown
    assert " NaN on one side only: 1 elements" in shown
    assert "   [0, 1] 1.5 here, there 1" in shown
    equal = lines(Closely("main", "m", summary=SUMMARY, compared={"exact": True}, against="stop 2"))
    assert " equal, bit for bit" in equal


def test_what_a_value_is_compared_with_is_read(tmp_path):
    stops = (replace(STOPS[0], number=4), replace(STOPS[1], number=2), STOPS[2])
    state = State(history=stops, current=stops[1], number=2)
    assert against("3", "mul.3", state).which == {"position": STOPS[2].event["position"]}
    assert against("stop 4", "mul.3", state).words == "stop 4, iteration 0 of 0–2"
    assert against("last", "mul.3", state).which == {"position": STOPS[0].event["position"]}
    assert against("p 1", "mul.3", state).which == {"partition": 1}
    assert against("iteration 7", "mul.3", state) == Against({"iteration": 7}, "iteration 7")
    assert (
        against("body", "mul.3", state).which
        == against("grain body", "mul.3", state).which
        == {"grain": "body"}
    )
    assert against("unchanged", "mul.3", state).which == {"unchanged": True}
    (tmp_path / "other.npy").touch()
    file = f"{tmp_path}/other.npy"
    assert against(file, "mul.3", state) == Against({"file": file}, f"file {file}")
    for wrong in ("9", "what", "iteration x", "grain fine", "gone.npy"):
        with pytest.raises(HloTuiError):
            against(wrong, "mul.3", state)
    with pytest.raises(HloTuiError, match="no such stop"):
        against("last", "other", state)


def test_errors_are_counted_by_size():
    differs = {
        "exact": False, "within": False, "max_abs": 0.5, "max_rel": 0.1, "tolerance": 1e-3, "mismatches": 3,
        "nan_mismatches": 0, "worst": [], "edges": [0.0, 1e-6, 1e-5], "buckets": {"abs": [7, 0, 2], "rel": [9, 0, 0]},
    }  # fmt: skip
    shown = lines(
        Closely("main", "m", summary=SUMMARY, overview=OVERVIEW, compared=differs, against="stop 2")
    )
    assert "   absolute errors from 0: 7   1e−05: 2" in shown
    assert "   relative errors from 0: 9" in shown


def test_the_value_over_the_iterations_is_a_curve_with_the_first_bad_one():
    rows = [{"iteration": n, "value": {**SUMMARY, "max": float(n), "nan": int(n > 6)}} for n in range(9)]
    look = Closely("main", "m", summary=SUMMARY, iterations={"rows": rows, "length": 9})
    shown = lines(look)
    assert " in 9 iterations; enter goes to one" in shown
    assert any(line.startswith(" max  ▁") and line.endswith("0 → 8") for line in shown)
    assert " not finite from iteration 7 on, first" in shown
    infinite = {**SUMMARY, "max": None, "min": None, "mean": None, "nan": 0, "inf": 80}
    rows[8] = {"iteration": 8, "value": infinite}
    shown = lines(Closely("main", "m", summary=SUMMARY, iterations={"rows": rows, "length": 9}))
    assert any(line.startswith(" max  ▁") and line.endswith("██  0 → inf") for line in shown)
    assert [row.key for row in build(look, 100) if row.key] == [Iteration(n) for n in range(5, 9)]


def test_partitions_are_told_apart():
    summary = {**SUMMARY, "partitions": 4, "partitions_differ": [2]}
    shown = lines(Closely("main", "m", summary=summary, overview=OVERVIEW, partition=1, devices=4))
    assert " partition 1; other than partition 0: 2  p shows the next" in shown
