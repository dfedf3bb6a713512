"""Our tagged programs give numpy's numbers at their tags: before and after optimisation, in every grain."""

from __future__ import annotations

import numpy as np
import pytest

from hlo_tui.replay.stopspec import TAGS
from tests.replay.conftest import STAGES, Open, forward, program_file

GRAINS = ("whole", "unit", "body")


def scan_states() -> list[float]:
    carry, states = np.float32(0), []
    for x in np.arange(10, dtype=np.float32):
        carry = carry * np.float32(0.9) + np.sin(x)
        states.append(float(carry))
    return states


def loop_states() -> list[float]:
    value, states = np.float32(1), []
    for _ in range(20):
        value = value * np.float32(1.5) - np.float32(0.1)
        states.append(float(value))
    return states


def nested_states() -> list[tuple[str, float]]:
    value, states = 0.5, []
    for _ in range(4):
        for _ in range(3):
            value += 1.0
            states.append(("inner", value))
        value *= 2.0
        states.append(("outer", value))
    return states


def first(event: dict) -> float:
    return event["value"]["first"][0]


def tag(event: dict) -> str:
    return event["reason"].split('"')[1]


@pytest.mark.parametrize("grain", GRAINS)
@pytest.mark.parametrize("stage", STAGES)
class TestValues:
    def test_a_product_stops_once(self, debug: Open, stage: str, grain: str) -> None:
        *stops, end = forward(debug(program_file("product", stage), grain))
        assert [first(stop) for stop in stops] == pytest.approx([np.sin(1.0) * np.cos(1.0)], rel=1e-6)
        assert (end["self_check"], end["recorded"]) == ("match", "match")

    def test_a_scan_stops_in_each_iteration(self, debug: Open, stage: str, grain: str) -> None:
        *stops, end = forward(debug(program_file("scan", stage), grain))
        assert [first(stop) for stop in stops] == pytest.approx(scan_states(), rel=1e-5)
        iterations = [[p["iteration"] for p in stop["path"] if p["iteration"] is not None] for stop in stops]
        assert iterations == [[k] for k in range(10)]
        assert end["recorded"] == "match"

    def test_a_loop_stops_in_condition_and_body(self, debug: Open, stage: str, grain: str) -> None:
        *stops, end = forward(debug(program_file("loop", stage), grain))
        conditions = [first(stop) for stop in stops if tag(stop) == "cond"]
        bodies = [first(stop) for stop in stops if tag(stop) == "body"]
        assert conditions == [1] * 20 + [0]
        assert bodies == pytest.approx(loop_states(), rel=1e-5)
        assert [tag(stop) for stop in stops] == ["cond", "body"] * 20 + ["cond"]
        assert end["recorded"] == "match"

    def test_only_the_taken_branch_stops(self, debug: Open, stage: str, grain: str) -> None:
        *stops, _ = forward(debug(program_file("branch", stage), grain))
        assert [tag(stop) for stop in stops] == ["positive"]
        assert stops[0]["value"]["first"] == [0.0] * 4

    def test_loops_in_loops(self, debug: Open, stage: str, grain: str) -> None:
        *stops, _ = forward(debug(program_file("nested", stage), grain))
        assert [(tag(stop), first(stop)) for stop in stops] == nested_states()
        inner = [
            [p["iteration"] for p in s["path"] if p["iteration"] is not None]
            for s in stops
            if tag(s) == "inner"
        ]
        assert inner == [[i, j] for i in range(4) for j in range(3)]

    def test_any_value_but_an_off_one_stops(self, debug: Open, stage: str, grain: str) -> None:
        *quoted, _ = forward(debug(program_file("quoted", stage), grain))
        assert [tag(stop) for stop in quoted] == ["tensor:nan,inf"]
        assert first(quoted[0]) == pytest.approx(np.e + 1, rel=1e-6)
        assert [e["event"] for e in forward(debug(program_file("off", stage), grain))] == ["end"]

    def test_logged_values_do_not_stop(self, debug: Open, stage: str, grain: str) -> None:
        debugger = debug(program_file("logged", stage), grain)
        logs: list[dict] = []
        debugger.on_log = logs.append
        *stops, _ = forward(debugger)
        assert [tag(stop) for stop in stops] == ["true"]
        assert len(logs) == 1
        assert logs[0]["value"]["first"][0] == pytest.approx(0.25)


def test_statistics_are_numpys(debug: Open) -> None:
    *stops, _ = forward(debug(program_file("logged")))
    value = np.tanh((np.eye(3) * 0.5 @ (np.eye(3) * 0.5)).astype(np.float32))
    summary = stops[0]["value"]
    assert summary["shape"] == "f32[3,3]"
    assert (summary["nan"], summary["inf"], summary["zero"], summary["count"]) == (0, 0, 6, 9)
    for name in ("min", "max", "mean", "std"):
        assert summary[name] == pytest.approx(float(getattr(value, name)()), rel=1e-6), name


def test_the_tag_of_a_fusion_and_of_its_root_is_one_stop(debug: Open) -> None:
    path = program_file("scan", STAGES[1])
    tagged = [line for line in path.read_text().splitlines() if 'breakpoint="true"' in line]
    assert len(tagged) == 2
    (stop,) = debug(path).set_stops([TAGS])
    assert "fusion" in stop["instruction"]


def test_made_inputs_are_called_so_and_seeded(debug: Open) -> None:
    runs = [forward(debug(program_file("branch"), inputs="made", seed=seed)) for seed in (1, 1, 2)]
    values = [run[0]["value"]["first"] for run in runs]
    assert values[0] == values[1] != values[2]
    assert runs[0][-1]["recorded"] == "absent"


def test_a_long_loop_keeps_a_bounded_number_of_values(debug: Open) -> None:
    debugger = debug(program_file("long"))
    for _ in range(1000):
        event = debugger.move("continue")
    assert event["event"] == "stop"
    loops = [
        call
        for frame in debugger.spot.frame.chain()
        for call in frame.calls.values()
        if hasattr(call, "carries")
    ]
    assert loops
    assert all(len(loop.carries) <= loop.KEPT + 1 for loop in loops)
    assert all(len(loop.frames) <= 8 for loop in loops)
    back = debugger.move("continue", backward=True)
    assert [p["iteration"] for p in back["path"] if p["iteration"] is not None] == [998]
