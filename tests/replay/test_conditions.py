"""Conditions mean what Python would make of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.conditions import NAMES, parse_condition

FACTS = {"nan": 2.0, "inf": 0.0, "abs": 12.5, "max": 12.5, "min": -3.0, "iteration": 7.0, "mean": None}


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("nan", True),
        ("inf", False),
        ("not inf", True),
        ("abs>1e1", True),
        ("abs > 12.5", False),
        ("min < -2.5 and iteration==7", True),
        ("inf or iteration!=7", False),
        ("not (inf or nan)", False),
        ("inf and nan or max>=12.5", True),
        ("mean > 0", False),
        ("mean < 0", False),
        ("hits >= 1", False),
    ],
)
def test_conditions(text: str, holds: bool) -> None:
    assert parse_condition(text).test(FACTS) is holds


@pytest.mark.parametrize(
    "text", ["", "nan nan", "abs >", "abs > x", "(nan", "frobs", "nan and", "abs=1", "1 < abs", "nan)"]
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(HloTuiError, match="no condition"):
        parse_condition(text)


@given(st.text(alphabet="nai f<>=()0123456789.eortdx", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        parse_condition(text)
    except HloTuiError:
        return


def trees() -> st.SearchStrategy[str]:
    signs = st.sampled_from(["<", ">", "<=", ">=", "==", "!="])
    numbers = st.integers(-20, 20).map(str)
    tests = st.tuples(st.sampled_from(sorted(NAMES)), signs, numbers).map(" ".join)
    return st.recursive(
        tests,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
            inner.map(lambda t: f"not ({t})"),
        ),
        max_leaves=8,
    )


@given(trees(), st.fixed_dictionaries({name: st.integers(-20, 20).map(float) for name in sorted(NAMES)}))
def test_they_agree_with_python(text: str, facts: dict[str, float]) -> None:
    expected = eval(text, {"__builtins__": {}}, facts)
    assert parse_condition(text).test(facts) == expected
