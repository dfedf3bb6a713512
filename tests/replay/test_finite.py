"""Where a NaN or an infinity begins, whether it reaches an output, and conditions at stops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hlo_tui.replay.flags import Flags, flags_of
from hlo_tui.replay.headless import Replay, words
from hlo_tui.replay.originwords import fate_words, given_words, operand_words
from hlo_tui.replay.state import Options
from hlo_tui.replay.stopspec import parse_spec
from tests.corpus import corpus_dir
from tests.replay.conftest import STAGES, Open, forward, program_file


def opcodes(debugger: object, stops: list[dict]) -> list[str]:
    program = debugger.program  # type: ignore[attr-defined]
    found = []
    for stop in stops:
        computation = program.by_name(stop["computation"])
        found.append(computation.ops[computation.by_name[stop["instruction"]]].opcode)
    return found


@pytest.mark.parametrize("grain", ["whole", "unit", "body"])
@pytest.mark.parametrize("stage", STAGES)
class TestOrigins:
    def test_a_masked_nan_is_told_from_a_reaching_one(self, debug: Open, stage: str, grain: str) -> None:
        masked = debug(program_file("masked", stage), grain, stops=("first:nan",))
        *stops, end = forward(masked)
        assert end["outputs"][0]["nan"] == 0
        if stage == STAGES[0] or grain == "body":
            assert opcodes(masked, stops) == ["log"]
            assert stops[0]["nonfinite"]["cause"] == "computed"
            assert stops[0]["nonfinite"]["reaches_output"] is False
            assert stops[0]["nonfinite"]["outputs"] == []
            if stage == STAGES[0]:
                taken = masked.program.entry.ops[
                    masked.program.entry.by_name[stops[0]["nonfinite"]["masked_by"]]
                ]
                assert taken.opcode in ("select", "call")
        else:
            # It begins and is masked inside one fusion, whose value is finite.
            assert stops == []
        reaching = debug(program_file("reaching", stage), grain, stops=("first:nan",))
        *stops, end = forward(reaching)
        assert len(stops) == 1
        assert stops[0]["nonfinite"]["cause"] == "computed"
        assert stops[0]["nonfinite"]["reaches_output"] is True
        assert stops[0]["nonfinite"]["outputs"] == [{"output": 0, "nan": 1, "inf": 0}]
        assert stops[0]["nonfinite"]["out_of_infinity"] is True
        assert stops[0]["source"].startswith("programs.py:")
        assert end["outputs"][0]["nan"] == 1

    def test_the_iteration_in_which_a_loop_blows_up(self, debug: Open, stage: str, grain: str) -> None:
        value, iteration = np.float32(1), 0
        with np.errstate(over="ignore"):
            while np.isfinite(value * value + np.float32(0.5)):
                value, iteration = value * value + np.float32(0.5), iteration + 1
        *stops, _ = forward(debug(program_file("blowup", stage), grain, stops=("first:inf",)))
        assert [p["iteration"] for p in stops[0]["path"] if p["iteration"] is not None] == [iteration]
        # The program says how often it goes round; the loop has not been run to its end here.
        assert stops[0]["trips"] == 40


def test_values_on_the_way_that_are_not_finite_are_named(debug: Open) -> None:
    debugger = debug(program_file("reaching"), stops=("first:nan",))
    stop, end = forward(debugger)
    names = [name for _, name in stop["carriers"]]
    entry = debugger.program.entry
    assert "exponential" in {entry.ops[entry.by_name[name]].opcode for name in names if name in entry.by_name}
    assert stop["instruction"] not in names
    assert entry.ops[entry.root].name in [name for _, name in end["carriers"]]
    assert all(event["carriers"] == [] for event in forward(debug(program_file("scan")))[:-1])


@pytest.mark.parametrize("grain", ["unit", "body"])
def test_what_is_not_seen_inside_fusions_is_said(debug: Open, grain: str) -> None:
    debugger = debug(program_file("masked", STAGES[1]), grain)
    found = debugger.run_until(parse_spec("first:nan"))
    if grain == "body":
        assert found["event"] == "stop"
        assert "body grain" not in debugger.run_until(parse_spec("first:nan"))["words"]
    else:
        assert found["words"].endswith("is seen in body grain only")
    # Where there are no fusions, nothing is hidden.
    before = debug(program_file("masked"), grain)
    before.run_until(parse_spec("first:nan"))
    assert before.run_until(parse_spec("first:nan"))["words"] == "no NaN begins between here and the end"


def test_without_a_screen_it_is_said_too() -> None:
    replay = Replay(Options(program_file("masked", STAGES[1])), (parse_spec("first:nan"),))
    assert [event["event"] for event in replay.events()] == ["start", "end"]
    (warning,) = replay.warnings
    assert warning.endswith("is seen in body grain only")


def test_made_inputs_are_the_cause_where_they_are(debug: Open) -> None:
    *stops, _ = forward(debug(program_file("masked"), inputs="zeros", stops=("first:nonfinite",)))
    assert stops[0]["nonfinite"]["cause"] == "made inputs"
    assert stops[0]["value"]["inf"] == 3


def test_a_nan_that_comes_in_with_the_inputs(debug: Open, tmp_path: pytest.TempPathFactory) -> None:
    path = tmp_path / "in.npz"  # type: ignore[operator]
    np.savez(path, arg0=np.array([1, np.nan, 2], np.float32))
    *stops, _ = forward(debug(program_file("reaching"), inputs=str(path), stops=("first:nan",)))
    assert stops[0]["nonfinite"]["cause"] == "the inputs"
    assert stops[0]["nonfinite"]["reaches_output"] is True


def test_a_pattern_leaves_operations_out_and_what_it_passed_over_is_said(debug: Open) -> None:
    debugger = debug(program_file("masked"), stops=("first:nan!log",))
    (end,) = forward(debugger)
    assert end["left_out"]["pattern"] == "log"
    assert end["left_out"]["count"] == 1
    assert end["left_out"]["first"].startswith("log")
    found = debug(program_file("masked")).run_until(parse_spec("first:nan!log"))
    assert found["words"].startswith(
        "no NaN begins between here and the end; leaving out log: 1 operation was"
    )
    assert "left_out" not in forward(debug(program_file("masked"), stops=("first:nan!sqrt",)))[0]


def test_what_was_passed_over_is_said_without_a_screen() -> None:
    replay = Replay(Options(program_file("masked")), (parse_spec("first:nan!log"),))
    *_, end = replay.events()
    assert end["left_out"]["count"] == 1
    assert "leaving out log: 1 operation was passed over" in words(end)


@pytest.mark.parametrize(
    ("stop", "iterations"),
    [
        ("tags if iteration==7", [7]),
        ("tags if max>1.3", [2, 3, 9]),
        ("tags if hits>=9", [8, 9]),
        ("tags if min<0 and not iteration==5", [6]),
        ("tag:where=scan_body if iteration<2", [0, 1]),
        ("tag:where=other", []),
        ("tags if nan", []),
    ],
)
def test_conditions_at_stops(debug: Open, stop: str, iterations: list[int]) -> None:
    # The states of the scan by numpy: 0, .84, 1.67, 1.64, .72, -.31, -.56, .15, 1.13, 1.43.
    *stops, _ = forward(debug(program_file("scan"), stops=(stop,)))
    found = [p["iteration"] for s in stops for p in s["path"] if p["iteration"] is not None]
    assert found == iterations


def test_a_condition_holds_backwards_as_forwards(debug: Open) -> None:
    debugger = debug(program_file("scan"), stops=("tags if max>1.3",))
    there = [event["key"] for event in forward(debugger)[:-1]]
    back = []
    while (event := debugger.move("continue", backward=True))["event"] == "stop":
        back.append(event["key"])
    assert back == there[::-1]


@pytest.mark.parametrize(
    ("value", "flags"),
    [
        (np.array([1.0, 2.0]), Flags()),
        (np.array([1.0, np.nan]), Flags(nan=True)),
        (np.array([np.inf, -np.inf]), Flags(inf=True)),
        (np.array([3e38, 3e38], np.float32), Flags()),
        (np.array([1, 2]), Flags()),
        ((np.array([np.nan]), np.array([np.inf])), Flags(True, True)),
    ],
)
def test_flags(value: object, flags: Flags) -> None:
    assert flags_of(value) == flags


class TestBrokenPrograms:
    """The programs of the collection that were written to go wrong: the line of each first fault."""

    @pytest.mark.parametrize(
        ("module", "line"),
        [
            ("naive_softmax_xent", 6),
            ("layernorm_neg_var", 13),
            ("masked_rows", 17),
            ("where_grad", 20),
            ("loop_blowup", 25),
            ("deep_chain", 33),
        ],
    )
    @pytest.mark.parametrize("stage", STAGES[:2])
    def test_the_first_fault_is_on_its_line(self, debug: Open, stage: str, module: str, line: int) -> None:
        directory = corpus_dir() / "dumps" / "jax0102-p04_nan-snapshots_all"
        (path,) = directory.glob(f"*.jit_{module}.{stage}")
        first = debug(path, stops=("first:nonfinite",)).move("continue")
        assert first["source"].endswith(f"p04_nan.py:{line}")
        assert first["nonfinite"]["reaches_output"] is True

    @pytest.mark.parametrize(
        ("module", "said"),
        [
            (
                "naive_softmax_xent",
                {
                    "exp.1": "its operands are finite",
                    "div.8": "NaN out of infinities in its operands: %exp.1 (19 inf), %div.7 (64 inf)",
                    "log.1": "NaN came in with %div.8 (19 NaN); -inf begins here at other elements",
                },
            ),
            (
                "masked_rows",
                {"sub.7": "NaN out of infinities in its operands: %jit__where_.1 (10 inf), %sub.6 (4 inf)"},
            ),
            (
                "where_grad",
                {
                    "sqrt.1": "its operands are finite",
                    "div.1": "NaN came in with %sqrt.1 (1 NaN); inf begins here at other elements",
                    "mul.1": "NaN came in with %div.1 (1 NaN, 1 inf); NaN begins here at other elements, "
                    "out of infinities",
                },
            ),
        ],
    )
    def test_what_the_operands_hold_is_said(self, debug: Open, module: str, said: dict[str, str]) -> None:
        """The counts are those of numpy on the recorded inputs: 4 x 16 logits, 19 of them above log of the largest."""
        directory = corpus_dir() / "dumps" / "jax0102-p04_nan-snapshots_all"
        (path,) = directory.glob(f"*.jit_{module}.before_optimizations.txt")
        *stops, _ = forward(debug(path, stops=("first:nonfinite",)))
        assert {stop["instruction"]: operand_words(stop["nonfinite"]) for stop in stops} == said

    def test_elements_are_followed_to_the_output_one_by_one(self, debug: Open) -> None:
        """The gradient of x = 0, 1, -1, 4: one output is NaN by 0 * inf, one by the root of -1."""
        directory = corpus_dir() / "dumps" / "jax0102-p04_nan-snapshots_all"
        (path,) = directory.glob("*.jit_where_grad.before_optimizations.txt")
        *stops, end = forward(debug(path, stops=("first:nonfinite",)))
        assert [stop["nonfinite"]["outputs"] for stop in stops] == [[{"output": 0, "nan": 1, "inf": 0}]] * 3
        assert end["outputs"][0]["nan"] == 2


def test_what_becomes_of_it_is_said() -> None:
    reached = {"reaches_output": True, "outputs": [{"output": 1, "nan": 3, "inf": 0}]}
    assert fate_words(reached) == "reaches output 1 (3 NaN of it there at the end)"
    assert "%select.1 has none" in fate_words({"reaches_output": False, "masked_by": "select.1"})
    assert "no output depends on it" in fate_words({"reaches_output": False})


MADE_OF = """HloModule made_of

ENTRY e {
  x = f32[2,3] parameter(0)
  y = f32[2,3] parameter(1)
  quotient = f32[2,3] divide(x, y)
  big = f32[3,2] parameter(2)
  product = f32[2,2] dot(x, big), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  least = f32[] parameter(3)
  root = f32[] sqrt(least)
  ROOT out = (f32[2,3], f32[2,2], f32[]) tuple(quotient, product, root)
}
"""


def test_what_it_is_made_of_is_shown(debug: Open, tmp_path: Path) -> None:
    """0 / 0 at one place; 3e38 * 2 summed; the root of -4."""
    x = np.array([[1, 2, 3], [4, 0, 2]], np.float32)
    y = np.array([[1, 2, 3], [4, 0, -6]], np.float32)
    big = np.full((3, 2), 3e38, np.float32)
    (tmp_path / "made_of.txt").write_text(MADE_OF)
    np.savez(tmp_path / "in.npz", x=x, y=y, big=big, least=np.float32(-4))
    debugger = debug(tmp_path / "made_of.txt", inputs=str(tmp_path / "in.npz"), stops=("first:nonfinite",))
    *stops, _ = forward(debugger)
    assert {stop["instruction"]: given_words(stop["nonfinite"]) for stop in stops} == {
        "quotient": "at [1, 1] %x is 0, %y is 0",
        "product": "%x is from 0 to 4, %big is from 3e+38 to 3e+38",
        "root": "%least is -4",
    }
    said = {stop["instruction"]: words({**stop, "n": 1}).splitlines() for stop in stops}
    assert "  at [1, 1] %x is 0, %y is 0" in said["quotient"]
    assert given_words({}) == ""
