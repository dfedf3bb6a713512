"""What a replay without a screen does with single values: read from text, and as numpy has them."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.headless import Replay, words
from hlo_tui.replay.session import Session
from hlo_tui.replay.state import Options
from hlo_tui.replay.stopspec import parse_spec
from hlo_tui.replay.wishes import (
    KINDS,
    Place,
    Setting,
    Wish,
    Wishes,
    index_of,
    other,
    parse_place,
    parse_setting,
    parse_wish,
)
from tests.replay.conftest import STAGES, program_file
from tests.replay.sessions import go, opened

XS = np.arange(10, dtype=np.float32)
SIZES = """
HloModule sizes

body {
  s = (s32[], f32[3,4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = f32[3,4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  w = f32[3,4] multiply(v, v)
  ROOT t = (s32[], f32[3,4]) tuple(m, w)
}

cond {
  s = (s32[], f32[3,4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(n, three), direction=LT
}

ENTRY e {
  x = f32[3,4] parameter(0)
  zero = s32[] constant(0)
  first = f32[3,4] negate(x)
  start = (s32[], f32[3,4]) tuple(zero, first)
  loop = (s32[], f32[3,4]) while(start), condition=cond, body=body
  ROOT result = f32[3,4] get-tuple-element(loop), index=1
}
"""
X = np.linspace(0.5, 3, 12, dtype=np.float32).reshape(3, 4)
MANUAL = """
HloModule spread, num_partitions=2

ENTRY e {
  x = f32[2] parameter(0)
  double = f32[2] add(x, x)
  ROOT all = f32[4] all-gather(double), channel_id=1, replica_groups=[1,2]<=[2], dimensions={0},
    use_global_device_ids=true
}
"""


@pytest.fixture
def sizes(tmp_path: Path) -> Path:
    (tmp_path / "dump").mkdir()
    path = tmp_path / "dump" / "sizes.txt"
    path.write_text(SIZES)
    np.savez(tmp_path / "in.npz", x=X)
    return path


def run(
    path: Path, *given: tuple[str, str], stops: tuple[str, ...] = ("tags",), **more: object
) -> list[dict]:
    """The events of a replay with these options."""
    return run_all(path, *given, stops=stops, **more)[0]


def run_all(path: Path, *given: tuple[str, str], stops: tuple[str, ...] = ("tags",), **more: object) -> tuple:
    inputs = path.parents[1] / "in.npz"
    opened = {name: more.pop(name) for name in ("inputs", "supplies") if name in more}
    options = Options(path, **{"inputs": str(inputs) if inputs.exists() else "auto", **opened})
    settings = tuple(parse_setting(text) for kind, text in given if kind == "set")
    wishes = Wishes(settings, tuple(parse_wish(kind, text) for kind, text in given if kind in KINDS))
    asked = replay_of(options, stops, replace(wishes, **more))
    return list(asked.events()), asked


def replay_of(options: Options, stops: tuple[str, ...], wishes: Wishes) -> Replay:
    return Replay(options, tuple(map(parse_spec, stops)), wishes=wishes)


def of_kind(events: list[dict], kind: str) -> list[dict]:
    return [event for event in events if event["event"] == kind]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("dot.3", Place("dot.3", "dot.3")),
        (" %dot.3[0:3, ::2] ", Place("%dot.3[0:3, ::2]", "dot.3", slice="0:3, ::2")),
        ("body/%w{1, 0}[]", Place("body/%w{1, 0}[]", "w", "body", (1, 0), "")),
        ("loop{1}", Place("loop{1}", "loop", element=(1,))),
    ],
)
def test_which_value_is_meant(text: str, place: Place) -> None:
    assert parse_place(text) == place


@given(
    st.lists(st.sampled_from([*"ab.1%/{}[],:=- ²", "if ", "99999999999999999999"]), max_size=9).map("".join)
)
def test_any_text_is_read_or_refused(text: str) -> None:
    readers = [
        parse_place,
        parse_setting,
        other,
        *(lambda text, kind=kind: parse_wish(kind, text) for kind in KINDS),
    ]
    for reader in readers:
        try:
            reader(text)
        except HloTuiError as error:
            assert error.hint or "Give" in str(error), text  # noqa: PT017


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("show", "a b", "names no value"),
        ("show", "a[1][2]", "names no value"),
        ("origin", "a[1:2]", "is not one element"),
        ("save", "a", "lacks a part"),
        ("save", "a=nowhere/at/all.npy", "no such directory"),
        ("compare", "a=sideways", "nothing to compare with"),
        ("compare", "a=gone.npy", "no such file"),
        ("compare", "a[1]=last", "is a slice"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_anything_runs(kind: str, text: str, words: str) -> None:
    with pytest.raises(HloTuiError, match=words):
        parse_wish(kind, text)


def test_what_is_set() -> None:
    assert parse_setting("mul.3=0 if iteration==2") == Setting(parse_spec("mul.3 if iteration==2"), "0")
    assert parse_setting("tag:a=b@once=-1e3") == Setting(parse_spec("tag:a=b"), "-1e3")
    assert parse_setting("first:nonfinite=finite") == Setting(parse_spec("first:nonfinite"), "finite")
    for text in ("mul.3", "mul.3=", "=3", "a=1 if sideways"):
        with pytest.raises(HloTuiError):
            parse_setting(text)
    assert index_of(parse_place("a[3, 17]")) == [3, 17]
    assert index_of(parse_place("a[]")) == []
    assert index_of(parse_place("a")) is None


def test_a_slice_is_shown_at_every_stop_where_it_is_there(sizes: Path) -> None:
    events = run(
        sizes, ("show", "first[1:, ::-2]"), ("show", "body/w"), stops=("zero", "w", "cond/c if iteration==3")
    )
    stops = of_kind(events, "stop")
    assert [len(stop["shown"]) for stop in stops] == [0, 2, 2, 2, 1]
    power = -X
    for number, stop in enumerate(stops[1:4]):
        power = power * power
        first, w = stop["shown"]
        assert first["table"]["rows"] == (-X)[1:, ::-2].tolist()
        assert (first["again"], w["again"]) == (number > 0, False)
        assert w["value"]["first"] == power.reshape(-1)[:8].tolist()
        assert w["path"][-1] == {"computation": "body", "iteration": number}
        assert first["worst"]["value"] == -X.max()
    text = words(stops[1])
    assert "%first[1:, ::-2]" in text
    assert f"{-X[2, 1]:.6g}" in text
    assert "%first" not in words(stops[2])


def test_an_element_of_a_tuple_and_the_end(sizes: Path) -> None:
    events, replay = run_all(sizes, ("show", "loop{1}[2]"), ("show", "body/w"), stops=("zero",))
    (end,) = of_kind(events, "end")
    (found,) = end["shown"]
    assert found["table"]["rows"] == [(((X**2) ** 2) ** 2)[2].tolist()]
    assert [f"{value:.6g}" in words(end) for value in found["table"]["rows"][0]] == [True] * 4
    assert replay.warnings == ["at no stop there: body/w; --break NAME stops at it"]


def test_values_are_saved_run_by_run(sizes: Path, tmp_path: Path) -> None:
    target = tmp_path / "w.npy"
    given = (("save", f"w={target}"), ("save", f"first[0, 1:]={tmp_path / 'first'}"))
    events = run(sizes, *given, stops=("w", "m"))
    files = [one["file"] for event in of_kind(events, "stop") for one in event["saved"]]
    assert files == [str(tmp_path / name) for name in ("first.npy", "w.npy", "w-2.npy", "w-3.npy")]
    power = -X
    for name in ("w.npy", "w-2.npy", "w-3.npy"):
        power = power * power
        np.testing.assert_array_equal(np.load(tmp_path / name), power)
    np.testing.assert_array_equal(np.load(tmp_path / "first.npy"), (-X)[0, 1:])


def test_nothing_is_saved_into_the_watched_directory(sizes: Path) -> None:
    with pytest.raises(HloTuiError, match="watched directory"):
        run(sizes, ("save", f"w={sizes.parent / 'w.npy'}"))


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("show", "nothing", "no such instruction"),
        ("show", "e/w", "no such instruction"),
        ("show", "first[3]", "no slice"),
        ("show", "loop[0]", "is a tuple"),
        ("show", "loop{2}", "no such element"),
        ("origin", "loop", "is a tuple"),
        ("origin", "first[0, 4]", "no slice"),
        ("set", "nothing=3", "nothing was set"),
        ("set", "loop=3", "cannot be changed"),
        ("set", "first=sideways", "is no value"),
    ],
)
def test_what_is_not_in_the_module_is_said_at_the_beginning(
    sizes: Path, kind: str, text: str, words: str
) -> None:
    replay = replay_of(
        Options(sizes, inputs=str(sizes.parents[1] / "in.npz")), ("w",),
        Wishes((parse_setting(text),)) if kind == "set" else Wishes(wishes=(parse_wish(kind, text),)),
    )  # fmt: skip
    events = replay.events()
    assert next(events)["event"] == "start"
    with pytest.raises(HloTuiError, match=words):
        next(events)


def test_where_the_worst_element_comes_from(sizes: Path) -> None:
    events = run(sizes, ("origin", "result"), ("origin", "w[2,0]"), stops=("w if iteration==1",))
    (stop,) = of_kind(events, "stop")
    (there,) = stop["origins"]
    names = [
        place["instruction"]
        for place in there["places"]
        if place["opcode"] in ("multiply", "negate", "parameter")
    ]
    assert names == ["w", "s", "w", "s", "first", "x"]
    assert there["places"][-1]["value"] == X[2, 0]
    (end,) = of_kind(events, "end")
    assert end["origins"][0]["index"] == [2, 3]
    assert end["origins"][0]["places"][0]["value"] == X[2, 3].astype(np.float64) ** 8
    assert f"%x[2, 3] {X[2, 3]:.6g}  parameter" in words(end)


def test_values_are_compared(sizes: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "good.npy", X * -X * (X * -X))
    off = (X**4).copy()
    off[1, 2] *= 1.5
    np.save(tmp_path / "off.npy", off)
    given = [
        f"w={to}" for to in ("last", "body", "iteration 0", f"{tmp_path}/good.npy", f"{tmp_path}/off.npy")
    ]
    events, replay = run_all(sizes, *(("compare", text) for text in given), stops=("w if iteration<=1",))
    first, second = (event["compared"] for event in of_kind(events, "stop"))
    assert [one["exact"] for one in first[:3]] == [None, True, True]
    last, body, iteration, good, other = second
    assert last["max_abs"] == pytest.approx(float(np.abs(X**4 - X**2).max()), rel=1e-6)
    assert (last["max_abs"], body["exact"]) == (iteration["max_abs"], True)
    assert good["within"]
    assert not other["within"]
    assert (other["mismatches"], other["worst"][0]["index"]) == (1, [1, 2])
    assert replay.exit_code == 1
    assert "differs" in words(of_kind(events, "stop")[1])
    assert run_all(sizes, ("compare", "w=body"), stops=("w",))[1].exit_code == 0


def test_a_type_that_npy_has_no_name_for(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    path = tmp_path / "dump" / "half.txt"
    path.write_text(
        "HloModule h\n\nENTRY e {\n  x = bf16[3] parameter(0)\n  y = bf16[3] exponential(x)\n"
        "  ROOT z = bf16[3] negate(y)\n}\n"
    )
    file = tmp_path / "y.npy"
    run(path, ("save", f"y={file}"), stops=("y",))
    (stop,) = of_kind(run(path, ("compare", f"y={file}"), stops=("y",)), "stop")
    assert stop["compared"][0]["exact"] is True
    setting = of_kind(run(path, ("set", f"z={file}")), "set")[0]
    assert setting["value"]["first"] == [-value for value in setting["before"]["first"]]


STORED: dict[str, np.ndarray] = {
    "words": np.array(["a", "b"]),
    "times": np.zeros(8, "M8[s]"),
    "rows": np.zeros(8, [("a", "f4"), ("b", "i4")]),
    "raw of another width": np.zeros(8, "V3"),
}


@pytest.mark.parametrize("name", [*STORED, "nothing"])
def test_files_that_hold_no_array_of_numbers(tmp_path: Path, name: str) -> None:
    (tmp_path / "dump").mkdir()
    module, file = tmp_path / "dump" / "m.txt", tmp_path / "x.npy"
    module.write_text(NEGATE)
    np.save(file, STORED[name]) if name in STORED else file.touch()
    for asked in (("set", f"y={file}"), ("compare", f"y={file}")):
        with pytest.raises(HloTuiError, match=r"cannot be (read|used)|does not fit"):
            run(module, asked, stops=("y",))
    for options in ({"inputs": str(file)}, {"supplies": (f"y={file}",)}):
        with pytest.raises(HloTuiError, match=r"cannot be (read|used)|do(es)? not fit"):
            run(module, ("show", "y"), stops=("y",), **options)


NEGATE = "HloModule n\n\nENTRY e {\n  x = f32[8] parameter(0)\n  y = f32[8] negate(x)\n  ROOT z = f32[8] add(y, y)\n}\n"


@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<f8", ">i2", "g", "V4"])
def test_files_with_numbers_of_any_kind(tmp_path: Path, dtype: str) -> None:
    (tmp_path / "dump").mkdir()
    module, file = tmp_path / "dump" / "m.txt", tmp_path / "x.npy"
    module.write_text(NEGATE)
    numbers = np.arange(8, dtype=np.float32)
    np.save(file, numbers.view("V4") if dtype == "V4" else numbers.astype(dtype))
    (stop,) = of_kind(run(module, ("compare", f"x={file}"), stops=("y",), inputs=str(file)), "stop")
    assert stop["compared"][0]["exact"] is (dtype in ("<f4", ">f4", "V4"))
    assert stop["compared"][0]["max_abs"] == 0
    assert stop["value"]["first"] == (-numbers).tolist()
    changed = of_kind(run(module, ("set", f"y={file}"), stops=("z",)), "stop")[0]
    assert changed["value"]["first"] == (2 * numbers).tolist()
    supplied = of_kind(run(module, ("show", "y"), stops=("z",), supplies=(f"y={file}",)), "stop")[0]
    assert supplied["value"]["first"] == (2 * numbers).tolist()


def scan(changed: int | None = None) -> tuple[list[float], list[float]]:
    """The carries of the program `scan`, and its outputs; the carry of one iteration may be 100."""
    carry, carries = np.float32(0), []
    for number, x in enumerate(XS):
        carry = carry * np.float32(0.9) + np.sin(x)
        carry = np.float32(100) if number == changed else carry
        carries.append(float(carry))
    return carries, [2 * value for value in carries]


@pytest.mark.parametrize("stage", STAGES[:2])
def test_what_if_a_value_were_another(stage: str) -> None:
    options = Options(program_file("scan", stage), inputs=str(program_file("scan", STAGES[2])))
    wishes = Wishes((parse_setting("tags=100 if iteration==3"),))
    start, setting, *stops, end = replay_of(options, ("tags",), wishes).events()
    assert (start["event"], setting["event"], setting["to"]) == ("start", "set", "100")
    assert setting["before"]["first"] == pytest.approx([scan()[0][3]], rel=1e-5)
    carries, outputs = scan(3)
    assert [stop["value"]["first"][0] for stop in stops] == pytest.approx(carries, rel=1e-5)
    assert [stop["changed"] for stop in stops] == [number >= 3 for number in range(10)]
    assert stops[7]["before"]["first"] == pytest.approx([scan()[0][7]], rel=1e-5)
    assert end["outputs"][1]["first"] == pytest.approx(outputs[:8], rel=1e-5)
    assert f"without --set f32[]  {scan()[0][3]:.4}" in words(setting)
    assert "without --set" in words(stops[7])
    assert "without --set" not in words(stops[2])


def test_what_if_the_first_infinity_were_finite() -> None:
    options = Options(program_file("reaching"), inputs=str(program_file("reaching", STAGES[2])))
    settings = tuple(map(parse_setting, ("first:inf=finite", "op:divide=7")))
    _, first, second, end = replay_of(options, ("first:nan",), Wishes(settings)).events()
    x = np.array([0.5, -1, 2], np.float32) * 100
    with np.errstate(over="ignore"):
        expected = np.exp(x)
    assert (first["before"]["inf"], first["value"]["inf"]) == (1, 0)
    assert first["value"]["first"] == pytest.approx(
        np.where(np.isfinite(expected), expected, 1).tolist(), rel=1e-4
    )
    assert second["before"]["nan"] == 1
    assert end["outputs"][0]["first"] == [7, 7, 7]


def test_what_is_logged_is_logged_once_and_with_the_change() -> None:
    options = Options(program_file("logged"), inputs=str(program_file("logged", STAGES[2])))
    events = list(replay_of(options, ("tags",), Wishes((parse_setting("op:dot=3"),))).events())
    (log,) = of_kind(events, "log")
    assert log["value"]["first"] == [3] * 8
    (stop,) = of_kind(events, "stop")
    assert stop["value"]["first"] == pytest.approx([np.tanh(3)] * 8)


def test_a_worker_that_dies_comes_back_with_what_was_set(tmp_path: Path) -> None:
    from tests.replay.sessions import until, worker_of

    with opened(program_file("scan"), inputs=str(program_file("scan", STAGES[2]))) as session:
        events: list[dict] = []
        session.change_first(parse_spec("tags if iteration==1"), "100", events.append)
        session.wait()
        assert events[0]["path"][1]["iteration"] == 1
        kill(session, worker_of(session), until)
        values = [go(session, "continue").current.summary["first"][0] for _ in range(4)]  # type: ignore[union-attr]
        assert values == pytest.approx(scan(1)[0][:4], rel=1e-5)
        kill(session, worker_of(session), until)
        assert go(session, "continue").current.summary["first"] == pytest.approx([scan(1)[0][4]], rel=1e-5)  # type: ignore[union-attr]
        session.change_first(parse_spec("nothing"), "1", events.append)
        assert "not met" in session.wait().said
        assert len(events) == 1


def kill(session: Session, pid: int, until: object) -> None:
    import os
    import signal

    os.kill(pid, signal.SIGKILL)
    until(lambda: session.state.status == "dead")  # type: ignore[operator]


def test_one_partition_of_several(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    path = tmp_path / "dump" / "spread.txt"
    path.write_text(MANUAL)
    x = np.array([[1, 2], [3, 4]], np.float32)
    np.savez(tmp_path / "in.npz", x=x)
    given = (
        ("show", "double[:]"),
        ("save", f"double={tmp_path / 'd.npy'}"),
        ("compare", "double=partition 0"),
    )
    events = run(path, *given, stops=("double",), partition=1)
    zero, one = of_kind(events, "stop")
    assert "shown" not in zero
    assert one["shown"][0]["table"]["rows"] == [(2 * x[1]).tolist()]
    assert (one["shown"][0]["partition"], one["partition"]) == (1, 1)
    assert np.load(tmp_path / "d.npy").tolist() == (2 * x[1]).tolist()
    assert one["compared"][0]["max_abs"] == 4
    for wish, partition in ((("show", "double"), 2), (("compare", "double=partition 2"), 0)):
        with pytest.raises(HloTuiError, match="no such partition"):
            run(path, wish, stops=("double",), partition=partition)


def test_a_partition_that_there_is_not_ends_no_engine(tmp_path: Path) -> None:
    (tmp_path / "spread.txt").write_text(MANUAL)
    with opened(tmp_path / "spread.txt", (parse_spec("double"),)) as session:
        go(session, "continue")
        value = {"computation": session.state.current.computation, "instruction": "double"}
        for params in (
            {"what": "overview", "value": value, "partition": 9},
            {"what": "compare", "value": value, "other": {**value, "partition": 9}},
            {"what": "trace", "value": value, "index": [0, 0], "partition": 9},
        ):
            session.inspect(params, lambda _: None)
            state = session.wait()
            assert (state.status, state.problem.title) == ("standing", "no such partition")


def test_an_unknown_value_is_said_to_be(tmp_path: Path) -> None:
    (tmp_path / "dump").mkdir()
    path = tmp_path / "dump" / "unknown.txt"
    path.write_text(
        'HloModule u\n\nENTRY e {\n  x = f32[2] parameter(0)\n  y = f32[2] custom-call(x), custom_call_target="no"\n'
        "  ROOT z = f32[2] add(x, y)\n}\n"
    )
    wishes = [("show", "y[0]"), ("origin", "y"), ("compare", "y=body"), ("save", f"y={tmp_path / 'y.npy'}")]
    (stop,) = of_kind(run(path, *wishes, stops=("z",)), "stop")
    entries = itertools.chain.from_iterable(stop[name] for name in ("shown", "origins", "compared", "saved"))
    assert all("unknown" in entry["value"] for entry in entries)
    assert words(stop).count("unknown: ") == 5
    assert not (tmp_path / "y.npy").exists()


def test_a_wish_is_known_by_all_of_it() -> None:
    assert (
        len(
            {
                Wish("show", parse_place("a")),
                Wish("show", parse_place("a[0]")),
                Wish("show", parse_place("a")),
            }
        )
        == 2
    )


def test_what_ends_the_engine_when_it_is_looked_at_is_unknown_then(tmp_path: Path) -> None:
    # XLA's transform library ends the process when it meets sizes that it does not like.
    (tmp_path / "dump").mkdir()
    path = tmp_path / "dump" / "dies.txt"
    path.write_text(
        "HloModule d\n\nENTRY e {\n  v = c64[4] parameter(0)\n  bad = c64[4] fft(v), fft_type=FFT, fft_length={8}\n"
        "  good = f32[4] real(v)\n  ROOT r = (c64[4], f32[4]) tuple(bad, good)\n}\n"
    )
    (stop,) = of_kind(run(path, ("show", "bad"), stops=("good",)), "stop")
    assert "XLA ended the process" in stop["shown"][0]["value"]["unknown"]
    assert stop["value"]["count"] == 4
