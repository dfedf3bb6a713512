"""Numbers and summaries in few characters."""

from __future__ import annotations

import pytest

from hlo_tui.ui.valuerows import first_spans, iteration_text, largest, number, path_text, spark, summary_spans


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"), (1.0, "1"), (-0.552, "−0.552"), (41.234567, "41.23"), (1e-9, "1e−09"), (123456.7, "1.23e+05"),
        (1234, "1,234"), (-7, "−7"), ("nan", "nan"), ("-inf", "−inf"), (None, "none"), (True, "1"),
    ],
)  # fmt: skip
def test_numbers(value, text):
    assert number(value) == text


def text(spans):
    return "".join(span.text for span in spans)


def test_a_summary_says_first_what_is_bad():
    summary = {
        "shape": "f32[4]",
        "min": 0.0,
        "max": 2.0,
        "mean": 1.0,
        "std": 0.5,
        "nan": 1,
        "inf": 2,
        "zero": 0,
        "count": 4,
    }
    assert text(summary_spans(summary)) == "f32[4]  nan 1  inf 2  min 0  max 2  mean 1  std 0.5  4 values"
    healthy = summary | {"nan": 0, "inf": 0, "zero": 3}
    assert text(summary_spans(healthy)) == "f32[4]  min 0  max 2  mean 1  std 0.5  nan 0  zero 3  4 values"


def test_scalars_tuples_tokens_and_unknowns():
    assert text(summary_spans({"shape": "s32[]", "count": 1, "first": [7]})) == "s32[]  7"
    assert (
        text(summary_spans({"tuple": [{"shape": "s32[]"}, {"unknown": "x"}, {"tuple": []}]}))
        == "(s32[], unknown, (...))"
    )
    assert text(summary_spans({"shape": "token[]", "dtype": "token"})) == "token[]"
    assert text(summary_spans({"unknown": "a callback"})) == "unknown: a callback"
    assert text(summary_spans(None)) == "has not run yet"
    assert text(first_spans({"count": 3, "first": [1.0, "nan"]})) == "first 2  1 nan "
    assert first_spans({"count": 1, "first": [1.0]}) == []


def test_a_curve_goes_from_the_least_to_the_greatest():
    assert spark([0.0, 1.0, 7.9, 8.0]) == "▁▂██"
    assert spark([1.0, None, float("inf"), 2.0]) == "▁ ██"
    assert spark([None]) == ""
    assert spark([5.0, 5.0]) == "▁▁"
    assert len(spark([float(n) for n in range(100)], width=10)) == 10
    assert largest({"max": 3}) == 3.0
    assert largest({"max": None}) is None


def test_paths_and_iterations():
    event = {
        "path": [
            {"computation": "main", "iteration": None},
            {"computation": "outer", "iteration": 4},
            {"computation": "inner", "iteration": 2},
            {"computation": "fused", "iteration": None},
        ],
        "trips": 24,
    }
    assert path_text(event) == "main › outer (4) › inner › fused"
    assert iteration_text(event) == "iteration 2 of 0–23"
    assert iteration_text({"path": event["path"], "trips": None}) == "iteration 2"
    assert iteration_text({"path": [{"computation": "main", "iteration": None}]}) == ""
