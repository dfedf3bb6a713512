"""XLA ends the process on bad input: that is survived, put down to the instruction, and saved as a small program."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hlo_tui.cli import main
from hlo_tui.errors import HloTuiError
from hlo_tui.replay.atwork import Doing, Phase
from hlo_tui.replay.client import environment, last_words
from hlo_tui.replay.reproducer import Crash, export
from hlo_tui.replay.session import Options, Session
from hlo_tui.replay.stopspec import parse_spec
from tests.corpus import corpus_dir
from tests.replay.conftest import program_file
from tests.replay.sessions import go, opened, until, worker_of

# XLA's transform library ends the process when it meets sizes that it does not like: a real failure of a check,
# while the instruction is run.
CHECK = """
HloModule check

body {
  s = (s32[], c64[4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  v = c64[4] get-tuple-element(s), index=1
  one = s32[] constant(1)
  m = s32[] add(n, one)
  w = c64[4] add(v, v)
  bad = c64[4] fft(w), fft_type=FFT, fft_length={8}
  ROOT t = (s32[], c64[4]) tuple(m, bad)
}

cond {
  s = (s32[], c64[4]) parameter(0)
  n = s32[] get-tuple-element(s), index=0
  z = s32[] constant(3)
  ROOT c = pred[] compare(n, z), direction=LT
}

ENTRY e {
  v = c64[4] parameter(0)
  n = s32[] constant(0)
  good = f32[4] real(v)
  t = (s32[], c64[4]) tuple(n, v)
  loop = (s32[], c64[4]) while(t), condition=cond, body=body
  x = c64[4] get-tuple-element(loop), index=1
  ROOT r = (c64[4], f32[4]) tuple(x, good)
}
"""
# XLA's parser: the sizes of a reshape, and an axis that a mesh does not have.
PARSER = {
    "reshape": "HloModule m\n\nENTRY e {\n  p = f32[4,8] parameter(0)\n  ROOT r = f32[31] reshape(p)\n}\n",
    "mesh": (
        "HloModule m\n\nadd {\n  a = f32[] parameter(0)\n  b = f32[] parameter(1)\n  ROOT r = f32[] add(a, b)\n}\n\n"
        "ENTRY e {\n  p = f32[4] parameter(0)\n  ROOT r = f32[4] all-reduce(p), replica_groups="
        "mesh['axis_0'=2,'axis_1'=2] {'bogus'}, to_apply=add\n}\n"
    ),
}


@pytest.fixture
def check(tmp_path: Path) -> Path:
    (tmp_path / "dump").mkdir()
    path = tmp_path / "dump" / "check.txt"
    path.write_text(CHECK)
    return path


def run(directory: Path) -> int:
    return subprocess.run(
        [sys.executable, "run.py"], cwd=directory, env=environment(), capture_output=True, check=False
    ).returncode


@pytest.mark.parametrize("grain", ["whole", "unit", "body"])
def test_a_failed_check_is_put_down_to_its_instruction(check: Path, grain: str) -> None:
    with opened(check, (parse_spec("good"),), grain=grain) as session:
        before = go(session, "continue")
        assert before.current is not None
        deaths = 0
        while (state := go(session, "continue")).status == "dead":
            deaths += 1
            assert deaths < 4
            assert "SIGABRT" in str(state.problem)
            assert any("not conformable" in line for line in state.stderr)
            # It stands where it stood.
            assert state.current == before.current
        assert deaths
        assert state.end is not None
        assert state.end["unknown"] == ["bad"] if grain != "whole" else ["bad", "loop"]
        assert "unknown" not in state.end["outputs"][1]


def test_the_crash_is_saved_with_what_it_needs(check: Path, tmp_path: Path) -> None:
    with opened(check, (parse_spec("good"),)) as session:
        go(session, "continue", "continue")
        assert session.crash is not None
        assert session.crash.doing == Doing(Phase.RUN, "body", "bad")
        found: list[dict] = []
        session.save_crash(tmp_path / "saved", found.append)
        assert session.wait().status == "dead"
        # The session is none the worse for it.
        assert go(session, "continue").end is not None
    saved = tmp_path / "saved"
    assert found[0]["again"] == "signal 6 (SIGABRT)"
    assert sorted(found[0]["files"]) == sorted(path.name for path in saved.iterdir())
    assert run(saved) == -signal.SIGABRT
    about = json.loads((saved / "about.json").read_text())
    assert (about["phase"], about["computation"], about["instruction"]) == ("run", "body", "bad")
    assert set(about["versions"]) == {"jax", "jaxlib"}
    assert "fft_length={8}" in (saved / "module.hlo").read_text()
    assert "not conformable" in (saved / "report.txt").read_text()
    with np.load(saved / "inputs.npz", allow_pickle=False) as inputs:
        (name,) = inputs.files
        value = inputs[name].view(np.complex64)
    # What goes in is v + v in the first iteration, with the parameter made of seed 0 as v.
    assert value.shape == (4,)
    assert str(tmp_path) not in "".join(
        p.read_text() for p in saved.iterdir() if p.suffix in (".txt", ".json", ".py")
    )


def test_what_went_in_is_what_is_saved(check: Path, tmp_path: Path) -> None:
    given = np.array([1, 2j, -3, 4 + 5j], np.complex64)
    np.savez(tmp_path / "inputs.npz", v=given)
    with opened(check, (parse_spec("good"),), inputs=str(tmp_path / "inputs.npz")) as session:
        go(session, "continue", "continue")
        assert session.crash is not None
        export(session.crash, tmp_path / "saved.zip")
    with zipfile.ZipFile(tmp_path / "saved.zip") as archive:
        archive.extractall(tmp_path / "out")
    assert run(tmp_path / "out") == -signal.SIGABRT
    with np.load(tmp_path / "out" / "inputs.npz", allow_pickle=False) as inputs:
        assert inputs["0.0"].view(np.complex64).tolist() == (given + given).tolist()


@pytest.mark.parametrize("kind", list(PARSER))
def test_a_text_that_the_parser_does_not_survive(tmp_path: Path, kind: str) -> None:
    (tmp_path / "dump").mkdir()
    path = tmp_path / "dump" / "bad.txt"
    path.write_text(PARSER[kind])
    with opened(path) as session:
        assert session.state.status == "dead"
        assert "parser does not survive" in str(session.state.problem)
        assert any("Check failed" in line for line in session.state.stderr)
        assert session.crash is not None
        found = export(session.crash, tmp_path / "saved")
        # Another try is another death, and no worse.
        assert go(session, "continue").status == "dead"
    assert found["again"] == "signal 6 (SIGABRT)"
    assert (tmp_path / "saved" / "module.hlo").read_text() == PARSER[kind]
    assert not (tmp_path / "saved" / "inputs.npz").exists()
    assert run(tmp_path / "saved") == -signal.SIGABRT


@pytest.mark.parametrize("name", ["48_*", "50_*"])
def test_malformed_texts_of_public_reports(name: str) -> None:
    (path,) = (corpus_dir() / "snippets").glob(name)
    with opened(path) as session:
        assert session.state.status == "dead"
        assert session.crash is not None
        assert session.crash.doing.phase is Phase.PARSE


@pytest.mark.parametrize(
    "number", [signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGFPE, signal.SIGILL]
)
def test_any_fault_is_survived_and_named(number: signal.Signals) -> None:
    with opened(program_file("nested")) as session:
        before = go(session, "continue", "continue", "continue")
        session.move("continue")
        os.kill(worker_of(session), number)
        until(lambda: session.state.status != "busy")
        if session.state.status == "standing":
            # It answered before the signal came.
            until(lambda: session.state.status == "dead")
        assert number.name in str(session.state.problem)
        assert session.state.history[:3] == before.history
        assert go(session, "continue").status == "standing"


def test_nothing_is_saved_into_the_watched_directory_or_over_something(check: Path, tmp_path: Path) -> None:
    crash = Crash(Options(check), Doing(Phase.RUN, "body", "bad"), -6, (), ())
    (tmp_path / "link").symlink_to(check.parent)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("mine")
    before = sorted(check.parent.iterdir())
    for target in (check.parent / "saved", tmp_path / "link" / "a" / "saved.zip", check.parent):
        with pytest.raises(HloTuiError, match="not saved"):
            export(crash, target)
    for target in (tmp_path / "full", tmp_path / "full" / "file"):
        with pytest.raises(HloTuiError, match="not saved"):
            export(crash, target)
    assert sorted(check.parent.iterdir()) == before
    assert (tmp_path / "full" / "file").read_text() == "mine"


def test_without_a_crash_there_is_nothing_to_save(tmp_path: Path) -> None:
    session = Session(Options(program_file("product")), lambda _: None)
    with pytest.raises(HloTuiError, match="nothing to save"):
        session.save_crash(tmp_path / "saved", lambda _: None)


def test_a_headless_run_goes_on_and_saves(
    check: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["replay", str(check), "--json", "--break", "good", "--save-crash", str(tmp_path / "saved")])
    said = capsys.readouterr()
    events = [json.loads(line) for line in said.out.splitlines()]
    assert [event["event"] for event in events] == ["start", "stop", "end"]
    assert events[-1]["unknown"] == ["bad"]
    assert code == 0
    assert f"saved in {tmp_path / 'saved'}" in said.err
    assert run(tmp_path / "saved") == -signal.SIGABRT


def test_a_headless_run_that_cannot_begin_saves_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "dump").mkdir()
    (tmp_path / "dump" / "bad.txt").write_text(PARSER["reshape"])
    code = main(["replay", str(tmp_path / "dump" / "bad.txt"), "--save-crash", str(tmp_path / "saved.zip")])
    said = capsys.readouterr()
    assert code == 3
    assert "Check failed" in said.err
    assert "saved in" in said.err
    assert zipfile.is_zipfile(tmp_path / "saved.zip")


def test_addresses_on_the_stack_do_not_push_out_what_was_said() -> None:
    frames = [f"    @     0x7fd5c9{n:06x}  xla::Something()" for n in range(100)]
    lines = ["Check failed: a == b", "*** Check failure stack trace: ***", *frames]
    assert last_words(lines, 20) == ("Check failed: a == b",)
