"""Values that a person gives where none can be computed, and what goes on around those that stay unknown."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hlo_tui.cli import main
from hlo_tui.errors import HloTuiError
from hlo_tui.replay import standins, xla
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.inputs import Inputs
from hlo_tui.replay.opening import open_target
from hlo_tui.replay.session import Options, Session
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.supplies import Supplies
from hlo_tui.replay.values import Unknown
from tests.replay.conftest import forward
from tests.replay.running import program_of

GRAINS = ("whole", "unit", "body")

CALLBACK = """
HloModule m

ENTRY e {
  p = f32[4] parameter(0)
  c = (f32[4], s32[]) custom-call(p), custom_call_target="xla_ffi_python_cpu_callback"
  g = f32[4] get-tuple-element(c), index=0
  k = f32[4] sine(p)
  s = f32[4] add(g, k)
  ROOT r = (f32[4], f32[4]) tuple(s, k)
}
"""

# A callback's value goes round a loop, is chosen by a condition, and sits in a fusion; the rest depends on none of it.
AROUND = """
HloModule m

body {
  s = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  one = s32[] constant(1)
  j = s32[] add(i, one)
  bad = f32[4] get-tuple-element(s), index=1
  worse = f32[4] cosine(bad)
  good = f32[4] get-tuple-element(s), index=2
  better = f32[4] add(good, good)
  ROOT t = (s32[], f32[4], f32[4]) tuple(j, worse, better)
}

cond {
  s = (s32[], f32[4], f32[4]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  three = s32[] constant(3)
  ROOT c = pred[] compare(i, three), direction=LT
}

fused {
  a = f32[4] parameter(0)
  b = f32[4] parameter(1)
  m = f32[4] multiply(a, a)
  n = f32[4] multiply(b, b)
  ROOT t = (f32[4], f32[4]) tuple(m, n)
}

until_unknown {
  s = (f32[4], f32[4]) parameter(0)
  x = f32[4] get-tuple-element(s), index=0
  kept = f32[4] get-tuple-element(s), index=1
  y = f32[4] negate(x)
  ROOT t = (f32[4], f32[4]) tuple(y, kept)
}

unknown_yet {
  s = (f32[4], f32[4]) parameter(0)
  x = f32[4] get-tuple-element(s), index=0
  z = f32[4] constant({0, 0, 0, 0})
  q = pred[4] compare(x, z), direction=LT
  sl = pred[1] slice(q), slice={[0:1]}
  ROOT r = pred[] reshape(sl)
}

left {
  l = f32[4] parameter(0)
  ROOT n = f32[4] negate(l)
}

right {
  l = f32[4] parameter(0)
  ROOT n = f32[4] exponential(l)
}

ENTRY e {
  p = f32[4] parameter(0)
  zero = s32[] constant(0)
  call = f32[4] custom-call(p), custom_call_target="xla_python_gpu_callback"
  t = (s32[], f32[4], f32[4]) tuple(zero, call, p)
  w = (s32[], f32[4], f32[4]) while(t), condition=cond, body=body
  w1 = f32[4] get-tuple-element(w), index=1
  w2 = f32[4] get-tuple-element(w), index=2
  f = (f32[4], f32[4]) fusion(call, p), kind=kLoop, calls=fused
  f0 = f32[4] get-tuple-element(f), index=0
  f1 = f32[4] get-tuple-element(f), index=1
  u = (f32[4], f32[4]) tuple(call, p)
  v = (f32[4], f32[4]) while(u), condition=unknown_yet, body=until_unknown
  v0 = f32[4] get-tuple-element(v), index=0
  v1 = f32[4] get-tuple-element(v), index=1
  ws = f32[1] slice(w1), slice={[0:1]}
  wr = f32[] reshape(ws)
  fz = f32[] constant(0)
  choice = pred[] compare(wr, fz), direction=GT
  d = f32[4] conditional(choice, p, p), true_computation=left, false_computation=right
  ROOT r = (f32[4], f32[4], f32[4], f32[4], f32[4], f32[4], f32[4]) tuple(w1, w2, f0, f1, v0, v1, d)
}
"""


def debugger_of(
    text: str, backend: xla.Backend, cache: SliceCache, grain: str = "unit", value: Any = None
) -> Debugger:
    program = program_of(text)
    argument = np.arange(4, dtype=np.float32) + 1 if value is None else value
    return Debugger(program, Inputs("npz", [argument]), backend, cache, grain=Grain(grain))


def outputs(debugger: Debugger) -> tuple[Any, ...]:
    return tuple(debugger.evaluator.root(debugger._entry))


X = np.arange(4, dtype=np.float32) + 1


class TestUnknown:
    @pytest.mark.parametrize("grain", GRAINS)
    def test_what_does_not_depend_on_it_goes_on(
        self, backend: xla.Backend, cache: SliceCache, grain: str
    ) -> None:
        debugger = debugger_of(AROUND, backend, cache, grain)
        w1, w2, f0, f1, v0, v1, d = outputs(debugger)
        assert all(isinstance(value, Unknown) for value in (w1, f0, v0, d))
        np.testing.assert_allclose(w2, 8 * X)
        np.testing.assert_allclose(f1, X * X)
        np.testing.assert_allclose(v1, X)
        (end,) = forward(debugger)
        assert end["unknown"] == ["call"]

    @pytest.mark.parametrize("grain", GRAINS)
    def test_a_supplied_value_makes_all_of_it_known(
        self, backend: xla.Backend, cache: SliceCache, grain: str
    ) -> None:
        debugger = debugger_of(AROUND, backend, cache, grain)
        debugger.supply(Supplies(debugger.program, ["call=operand:0"]))
        w1, w2, f0, f1, v0, v1, d = map(np.asarray, outputs(debugger))
        np.testing.assert_allclose(w1, np.cos(np.cos(np.cos(X))), rtol=1e-6)
        np.testing.assert_allclose(w2, 8 * X)
        np.testing.assert_allclose([f0, f1], [X * X] * 2)
        np.testing.assert_allclose([v0, v1], [X] * 2)
        np.testing.assert_allclose(d, -X)
        (end,) = forward(debugger)
        assert end["unknown"] == []
        (given,) = end["supplied"]
        assert given == {"computation": "e", "instruction": "call", "value": "operand:0", "by_itself": False}
        assert (end["self_check"], end["self_check_reason"]) == ("skipped", "values were supplied")

    def test_the_rest_of_a_long_loop_is_not_compiled_around_it(
        self, backend: xla.Backend, cache: SliceCache
    ) -> None:
        debugger = debugger_of(AROUND, backend, cache)
        debugger.evaluator.driven = 1
        w1, w2, *_ = outputs(debugger)
        assert isinstance(w1, Unknown)
        np.testing.assert_allclose(w2, 8 * X)


class TestSupplied:
    @pytest.mark.parametrize("grain", GRAINS)
    def test_zeros(self, backend: xla.Backend, cache: SliceCache, grain: str) -> None:
        debugger = debugger_of(CALLBACK, backend, cache, grain)
        debugger.supply(Supplies(debugger.program, ["e/c=zeros"]))
        added, known = outputs(debugger)
        np.testing.assert_array_equal(added, known)

    def test_made_values_are_seeded(self, backend: xla.Backend, cache: SliceCache) -> None:
        debugger = debugger_of(CALLBACK, backend, cache)
        values = []
        for seed in (1, 1, 2):
            debugger.supply(Supplies(debugger.program, ["c=made"], seed=seed))
            values.append(np.asarray(outputs(debugger)[0]).tolist())
        assert values[0] == values[1] != values[2]

    def test_a_file_gives_the_first_part_of_a_tuple(
        self, backend: xla.Backend, cache: SliceCache, tmp_path: Path
    ) -> None:
        np.save(tmp_path / "g.npy", np.full(4, 10.0))
        debugger = debugger_of(CALLBACK, backend, cache)
        debugger.supply(Supplies(debugger.program, [f"c={tmp_path / 'g.npy'}"]))
        np.testing.assert_allclose(outputs(debugger)[0], 10 + np.sin(X), rtol=1e-6)

    def test_an_operand_is_passed_on(self, backend: xla.Backend, cache: SliceCache) -> None:
        debugger = debugger_of(CALLBACK, backend, cache)
        debugger.supply(Supplies(debugger.program, ["c=operand:0"]))
        np.testing.assert_allclose(outputs(debugger)[0], X + np.sin(X), rtol=1e-6)

    @pytest.mark.parametrize(
        ("asked", "words"),
        [
            ("nothing=zeros", "no such instruction"),
            ("c", "supplies nothing"),
            ("c=some", "no value to supply"),
            ("c=operand:1", "no operand"),
            ("c=operand:x", "no operand"),
            ("k=missing.npy", "cannot be read"),
            ("s=operand:0", ""),
            ("other/c=zeros", "no such instruction"),
        ],
    )
    def test_what_cannot_be_supplied_is_said(self, asked: str, words: str) -> None:
        program = program_of(CALLBACK)
        if not words:
            Supplies(program, [asked])
            return
        with pytest.raises(HloTuiError, match=words):
            Supplies(program, [asked])

    def test_a_name_of_several_computations_has_to_say_which(self, tmp_path: Path) -> None:
        path = tmp_path / "m.hlo"
        path.write_text(AROUND)
        program = open_target(path).program()
        with pytest.raises(HloTuiError, match="left/l"):
            Supplies(program, ["l=zeros"])
        assert len(Supplies(program, ["left/l=zeros"]).listed()) == 1

    def test_a_file_of_another_shape_does_not_fit(self, tmp_path: Path) -> None:
        np.save(tmp_path / "g.npy", np.zeros(3))
        with pytest.raises(HloTuiError, match="does not fit"):
            Supplies(program_of(CALLBACK), [f"c={tmp_path / 'g.npy'}"])


@pytest.fixture
def written(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "own" / "standins.py"
        path.parent.mkdir(exist_ok=True)
        path.write_text("from hlo_tui.replay.standins import stand_in\nimport numpy as np\n" + text)
        return path

    return write


DOUBLING = """
@stand_in("xla_ffi_python_cpu_callback")
def doubling(x, *, backend_config):
    return 2 * x, len(backend_config)
"""


class TestStandIns:
    def supplied(self, debugger: Debugger, path: Path) -> None:
        loaded = standins.load(str(path), path.parent.parent / "dump")
        debugger.supply(Supplies(debugger.program, (), loaded))

    @pytest.mark.parametrize("grain", GRAINS)
    def test_a_function_takes_arrays_and_gives_arrays(
        self, backend: xla.Backend, cache: SliceCache, written: Any, grain: str
    ) -> None:
        debugger = debugger_of(CALLBACK, backend, cache, grain)
        path = written(DOUBLING)
        self.supplied(debugger, path)
        np.testing.assert_allclose(outputs(debugger)[0], 2 * X + np.sin(X), rtol=1e-6)
        (end,) = forward(debugger)
        (given,) = end["supplied"]
        assert given == {
            "computation": "e",
            "instruction": "c",
            "value": f"stand-in {path}",
            "by_itself": False,
        }

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ("raise ZeroDivisionError('of mine')", "ZeroDivisionError: of mine"),
            ("raise type('Own', (Exception,), {})('special')", "Own: special"),
            ("raise SystemExit(3)", "SystemExit: 3"),
            ("return x", "1 results, not 2"),
            ("return x[:2], 0", r"\[2\], not f32\[4\]"),
            ("return 'words', 0", "no f32"),
        ],
    )
    def test_its_errors_become_a_reason(
        self, backend: xla.Backend, cache: SliceCache, written: Any, body: str, words: str
    ) -> None:
        text = f'@stand_in("xla_ffi_python_cpu_callback")\ndef f(x, *, backend_config):\n    {body}\n'
        debugger = debugger_of(CALLBACK, backend, cache)
        self.supplied(debugger, written(text))
        added, known = outputs(debugger)
        assert isinstance(added, Unknown)
        assert re.search(words, added.reason)
        np.testing.assert_allclose(known, np.sin(X), rtol=1e-6)

    def test_a_file_that_raises_or_is_not_there_is_told(self, written: Any, tmp_path: Path) -> None:
        with pytest.raises(HloTuiError, match="division by zero"):
            standins.load(str(written("1 / 0")), tmp_path / "dump")
        with pytest.raises(HloTuiError, match="no Python file"):
            standins.load(str(tmp_path / "absent.py"), tmp_path / "dump")

    def test_nothing_is_taken_from_the_dump(self, written: Any, tmp_path: Path) -> None:
        path = written("raise AssertionError('it was run')")
        with pytest.raises(HloTuiError, match="inside the watched directory"):
            standins.load(str(path), tmp_path)
        link = tmp_path / "link.py"
        link.symlink_to(path)
        with pytest.raises(HloTuiError, match="inside the watched directory"):
            standins.load(str(link), path.parent)

    def test_the_configuration_is_looked_at_without_being_asked(
        self, written: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
        assert standins.load(None, tmp_path / "dump") is standins.NO_STAND_INS
        home = tmp_path / "hlo-tui" / "standins.py"
        home.parent.mkdir()
        home.write_text(written(DOUBLING).read_text())
        loaded = standins.load(None, tmp_path / "dump")
        assert (loaded.path, set(loaded.functions)) == (home, {"xla_ffi_python_cpu_callback"})


@pytest.fixture
def module(tmp_path: Path) -> Path:
    path = tmp_path / "dump" / "m.hlo"
    path.parent.mkdir()
    path.write_text(CALLBACK)
    return path


def test_a_session_keeps_what_was_supplied_over_the_workers_death(module: Path) -> None:
    session = Session(Options(module), lambda _: None)
    try:
        session.start()
        assert session.wait().status == "standing"
        session.move("continue")
        end = session.wait().end
        assert end is not None
        assert end["unknown"] == ["c"]
        session.supply(("c=zeros",))
        state = session.wait()
        assert state.start is not None
        assert (state.start["supplied"][0]["value"], state.start["faithful"]) == ("zeros", False)
        assert session._client is not None
        os.kill(session._client.pid, signal.SIGKILL)
        while session.state.status != "dead":
            pass
        session.move("continue")
        end = session.wait().end
        assert end is not None
        assert (end["unknown"], len(end["supplied"])) == ([], 1)
        session.supply(("c=operand:9",))
        state = session.wait()
        assert state.problem is not None
        assert session.options.supplies == ("c=zeros",)
    finally:
        session.close()


def test_the_command_supplies_and_takes_stand_ins(
    module: Path, written: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(module), "--json", "--standins", str(written(DOUBLING))]) == 0
    start, end = map(json.loads, capsys.readouterr().out.splitlines())
    assert start["supplied"][0]["value"].startswith("stand-in ")
    assert start["faithful"] is False
    assert (end["unknown"], end["status"]) == ([], "done")
    assert main(["replay", str(module), "--supply", "c=zeros"]) == 0
    assert "supplied: c (zeros)" in capsys.readouterr().out
    assert main(["replay", str(module)]) == 0
    assert "--supply NAME=" in capsys.readouterr().out


WRITES = """
HloModule m

ENTRY e {
  p = f32[4] parameter(0)
  n = f32[4] negate(p)
  r = f32[4] reverse(p), dimensions={0}
  a = f32[4] custom-call(p), custom_call_target="writes"
  b = f32[4] custom-call(n), custom_call_target="writes"
  c = f32[4] custom-call(r), custom_call_target="writes"
  ROOT t = (f32[4], f32[4], f32[4], f32[4], f32[4], f32[4]) tuple(p, n, r, a, b, c)
}
"""


@pytest.mark.parametrize("grain", GRAINS)
def test_what_a_stand_in_writes_into_its_operands_changes_no_value(
    backend: xla.Backend, cache: SliceCache, grain: str
) -> None:
    def writes(x: np.ndarray, **_: object) -> np.ndarray:
        x += 10
        return x

    program, given = program_of(WRITES), np.arange(4, dtype=np.float32)
    debugger = Debugger(program, Inputs("npz", [given]), backend, cache, grain=Grain(grain))
    debugger.supply(Supplies(program, stand_ins=standins.StandIns(Path("mine.py"), {"writes": writes})))
    (end,) = forward(debugger)
    assert end["reasons"] == []
    p = np.arange(4)
    expected = [p, -p, p[::-1], p + 10, 10 - p, p[::-1] + 10]
    assert [output["first"] for output in end["outputs"]] == [one.tolist() for one in expected]
    assert given.tolist() == [0, 1, 2, 3]
