"""Close looks at values say what numpy says."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.errors import HloTuiError
from hlo_tui.replay import looking
from hlo_tui.replay.looks import look
from hlo_tui.replay.slicing import parse_slice
from hlo_tui.replay.values import summarize
from tests.replay.conftest import Open, program_file

SHAPE = (4, 5, 6)


def parts() -> st.SearchStrategy[str]:
    number = st.integers(-4, 3).map(str)
    bound = st.one_of(st.just(""), st.integers(-7, 7).map(str))
    step = st.sampled_from(["", ":", ":1", ":2", ":-1", ":-3"])
    return st.one_of(number, st.tuples(bound, bound, step).map(lambda t: f"{t[0]}:{t[1]}{t[2]}"))


@given(st.lists(parts(), max_size=3), st.integers(0, 3), st.booleans())
def test_slices_mean_what_numpy_makes_of_them(chosen: list[str], place: int, ellipsis: bool) -> None:
    written = list(chosen)
    if ellipsis and len(chosen) < 3:
        written.insert(min(place, len(written)), "...")
    text = f"[{', '.join(written)}]"
    array = np.arange(math.prod(SHAPE)).reshape(SHAPE)
    expected = eval(f"array{text if written else '[...]'}", {"array": array})
    np.testing.assert_array_equal(array[parse_slice(text, SHAPE)], expected)


@pytest.mark.parametrize(
    "text", ["[9]", "[x]", "[1,2,3,4]", "[...,...]", "[::0]", "[1:2:3:4]", "[,]", "[__import__('os')]"]
)
def test_what_is_no_slice_is_refused(text: str) -> None:
    with pytest.raises(HloTuiError, match="no slice"):
        parse_slice(text, SHAPE)


@given(st.text(max_size=30))
def test_any_text_is_a_slice_or_refused(text: str) -> None:
    try:
        parse_slice(text, SHAPE)
    except HloTuiError:
        return


def test_a_table_has_the_numbers_of_the_slice() -> None:
    array = np.arange(120, dtype=np.float32).reshape(SHAPE)
    found = looking.table(array, "[1, 2:4, ::2]")
    assert found["rows"] == array[1, 2:4, ::2].tolist()
    assert (found["row"], found["column"], found["origin"], found["steps"]) == (1, 2, [1, 2, 0], [1, 1, 2])
    assert looking.table(np.array(2.5), "")["rows"] == [[2.5]]
    assert looking.table(np.zeros((0, 3)), "")["rows"] == []
    assert looking.table(array, "")["rows"] == array[0].tolist()
    long = looking.table(np.zeros(1000), "")
    assert (len(long["rows"][0]), long["cut"]) == (looking.COLUMNS, [0, 1000 - looking.COLUMNS])


def test_a_table_begins_where_it_is_asked_to() -> None:
    array = np.arange(2 * 300 * 100).reshape(2, 300, 100)
    found = looking.table(array, "1, ::2, 10:", (3, 20))
    chosen = array[1, ::2, 10:]
    assert found["rows"][0][:3] == chosen[3, 20:23].tolist()
    assert found["origin"] == [1, 6, 30]
    assert (found["start"], found["cut"]) == ([3, 20], [0, 90 - 20 - looking.COLUMNS])
    assert looking.table(array, "", (1000, 1000))["start"] == [299, 99]
    assert looking.table(np.arange(90), "", (5, 80))["rows"] == [list(range(80, 90))]
    assert looking.table(np.zeros((0, 3)), "", (4, 4))["rows"] == []


def test_histogram_and_heat_map() -> None:
    array = np.random.default_rng(0).normal(size=(40, 30)).astype(np.float32)
    array[3, 4], array[39, 29] = np.nan, np.inf
    finite = array[np.isfinite(array)]
    found = looking.histogram(array, 8)
    assert sum(found["counts"]) == finite.size
    assert found["counts"] == np.histogram(finite.astype(np.float64), 8)[0].tolist()
    heat = looking.heat(array, 10, 10)
    assert (len(heat["magnitudes"]), len(heat["magnitudes"][0])) == (10, 10)
    assert heat["magnitudes"][5][5] == pytest.approx(float(np.abs(array[20:24, 15:18]).max()))
    assert (heat["marks"][0][1], heat["marks"][9][9], heat["marks"][5][5]) == (2, 1, 0)


def test_the_worst_element() -> None:
    array = np.array([[1.0, -7.0], [2.0, 3.0]])
    assert looking.worst(array) == {"index": [0, 1], "kind": "largest", "value": -7.0}
    array[1, 1] = np.inf
    assert looking.worst(array) == {"index": [1, 1], "kind": "inf", "value": "inf"}
    array[1, 0] = np.nan
    assert looking.worst(array) == {"index": [1, 0], "kind": "nan", "value": "nan"}


def test_elements_outside_a_range() -> None:
    array = np.array([[1.0, np.nan], [-5.0, 3.0]])
    found = looking.outside(array, -1, 2)
    assert found["count"] == 3
    assert [e["index"] for e in found["elements"]] == [[0, 1], [1, 0], [1, 1]]


def test_distinct_values_where_they_are_few() -> None:
    assert looking.distinct(np.array([3, 1, 3, 2])) == [1, 2, 3]
    assert looking.distinct(np.arange(1000)) is None


def test_differences_of_two_values() -> None:
    a = np.array([1.0, 2.0, np.nan, 4.0])
    b = np.array([1.0, 2.5, 3.0, 4.000001])
    found = looking.difference(a, b, 1e-3)
    assert (found["exact"], found["within"], found["mismatches"], found["nan_mismatches"]) == (
        False,
        False,
        1,
        1,
    )
    assert found["max_abs"] == pytest.approx(0.5)
    assert [place["index"] for place in found["worst"]] == [[2], [1], [3]]
    assert sum(found["buckets"]["abs"]) == 3


def test_a_saved_value_is_read_back_by_numpy_and_never_into_the_watched_directory(tmp_path: Path) -> None:
    array = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    watched, elsewhere = tmp_path / "dump", tmp_path / "out"
    watched.mkdir()
    elsewhere.mkdir()
    looking.save(array, elsewhere / "v.npy", watched)
    np.testing.assert_array_equal(np.load(elsewhere / "v.npy"), array)
    for path in (watched / "v.npy", watched / "sub" / ".." / "v.npy", elsewhere / ".." / "dump" / "v.npy"):
        with pytest.raises(HloTuiError, match="not saved"):
            looking.save(array, path, watched)
    assert list(watched.iterdir()) == []


def test_looks_at_values_of_other_moments(debug: Open) -> None:
    debugger = debug(program_file("scan"))
    stops = [debugger.move("continue") for _ in range(4)]
    here = {"computation": stops[3]["computation"], "instruction": stops[3]["instruction"]}
    before = {**here, "position": stops[1]["position"]}
    found = look(debugger, {"what": "compare", "value": here, "other": before})
    assert (found["a"], found["b"]) == (stops[3]["value"], stops[1]["value"])
    overview = look(debugger, {"what": "overview", "value": before})
    assert overview["table"]["rows"] == [stops[1]["value"]["first"]]


class TestChanges:
    def test_a_changed_value_goes_on_as_numpy_does(self, debug: Open) -> None:
        debugger = debug(program_file("scan"))
        stop = [debugger.move("continue") for _ in range(3)][-1]
        changed = debugger.change(stop["computation"], stop["instruction"], "100")
        assert (changed["value"]["first"], changed["changes"], changed["key"]) == ([100.0], 1, stop["key"])
        state = np.float32(100)
        for x in np.arange(3, 10, dtype=np.float32):
            state = state * np.float32(0.9) + np.sin(x)
            assert debugger.move("continue")["value"]["first"] == pytest.approx([float(state)], rel=1e-6)
        end = debugger.move("continue")
        assert (end["self_check"], end["recorded"]) == ("skipped", "skipped")
        assert end["recorded_reason"] == end["self_check_reason"] == "values were changed by hand"
        assert end["outputs"][0]["first"] == pytest.approx([float(state)], rel=1e-6)

    def test_what_came_before_is_not_changed(self, debug: Open) -> None:
        debugger = debug(program_file("scan"))
        stops = [debugger.move("continue") for _ in range(3)]
        debugger.change(stops[2]["computation"], stops[2]["instruction"], "0")
        assert debugger.move("continue", backward=True)["value"] == stops[1]["value"]
        debugger.move("continue")
        assert debugger.undo_changes()["value"] == stops[2]["value"]

    def test_what_if_it_were_finite(self, debug: Open) -> None:
        debugger = debug(program_file("reaching"), stops=("first:nonfinite",))
        stop = debugger.move("continue")
        assert stop["value"]["inf"] == 1
        finite = debugger.change(stop["computation"], stop["instruction"], "finite")
        assert finite["value"]["inf"] == 0

    @pytest.mark.parametrize("to", ["red", "nowhere.npy"])
    def test_what_is_no_value_is_refused(self, debug: Open, to: str) -> None:
        debugger = debug(program_file("product"))
        stop = debugger.move("continue")
        with pytest.raises(HloTuiError):
            debugger.change(stop["computation"], stop["instruction"], to)
        assert debugger.here()["value"] == stop["value"]


APPLIED = """
HloModule applied

sum {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

less {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = pred[] compare(a, b), direction=LT
}

double {
  a = f32[] parameter(0)
  ROOT c = f32[] add(a, a)
}

ENTRY e {
  x = f32[3] parameter(0)
  zero = f32[] constant(10)
  total = f32[] reduce(x, zero), dimensions={0}, to_apply=sum
  sorted = f32[3] sort(x), dimensions={0}, to_apply=less
  mapped = f32[3] map(x), dimensions={0}, to_apply=double
  ROOT r = (f32[], f32[3], f32[3]) tuple(total, sorted, mapped)
}
"""


@pytest.mark.parametrize(
    ("instruction", "result"),
    [("total", 10 + 3.0), ("sorted", 0), ("mapped", 6.0)],
    ids=["reduce", "sort", "map"],
)
def test_step_in_shows_one_application(debug: Open, tmp_path: Path, instruction: str, result: float) -> None:
    (tmp_path / "applied.txt").write_text(APPLIED)
    np.savez(tmp_path / "x.npz", x=np.array([3, 1, 2], np.float32))
    debugger = debug(tmp_path / "applied.txt", inputs=str(tmp_path / "x.npz"), stops=(f"e/{instruction}",))
    at = debugger.move("continue")
    assert not at["application"]
    inside = debugger.move("step")
    while inside["instruction"] != "c":
        inside = debugger.move("step")
        assert inside["application"]
    assert inside["value"]["first"] == [result]
    outside = debugger.move("step")
    assert (outside["instruction"], outside["value"]) == (instruction, at["value"])
    assert debugger.move("step", backward=True)["key"] == inside["key"]


def test_tuples_and_unknown_values_cannot_be_tables() -> None:
    with pytest.raises(HloTuiError, match="tuple"):
        looking.part_of((np.zeros(1),), [], None)
    assert looking.part_of((np.zeros(1), (np.ones(2),)), [1, 0], None).tolist() == [1, 1]
    assert summarize((np.zeros(1), None))["tuple"][1] == {"shape": "token[]", "dtype": "token"}


def test_what_is_before_the_first_is_refused(debug: Open) -> None:
    debugger = debug(program_file("scan"))
    stop = debugger.move("continue")
    value = {"computation": stop["computation"], "instruction": stop["instruction"]}
    for params in (
        {"what": "overview", "value": {**value, "iteration": -1}},
        {"what": "check", "value": value, "element": [-1]},
        {"what": "shown", "value": value, "partition": None, "element": [], "slice": "[-9]"},
    ):
        with pytest.raises(HloTuiError):
            look(debugger, params)
