"""`hlo-tui memory` as a person or a script calls it."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys

import pytest

from hlo_tui.cli import main
from hlo_tui.hlo.wire import to_varint
from tests.memory.reports import OWN, own
from tests.memory.test_pasted import TPU


def test_a_dump_begins_with_the_module_that_allocates_most(capsys):
    assert main(["memory", str(OWN)]) == 0
    out = capsys.readouterr().out
    assert out.index("jit_train #") < out.index("jit_exchanged #")
    assert "biggest   64.0 KiB" in out


def test_a_module_of_a_dump_as_json(capsys):
    assert main(["memory", str(OWN), "jit_exchanged", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["peak"] == sum(owner["bytes"] for owner in told["owners"])
    assert [lost["copies"] for lost in told["lost_donations"]] == [["copy"], ["copy.1"]]


def test_a_message_is_piped_in(capsys, monkeypatch):
    class Piped:
        buffer = io.BytesIO(TPU.encode())

    monkeypatch.setattr(sys, "stdin", Piped)
    assert main(["memory", "-"]) == 0
    assert "biggest   8.00 GiB  %multiply.9  model.py:88  jit(step)/block/mul" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["--against"], []])
def test_two_reports_are_compared(capsys, arguments):
    a, b = own("train", ".txt"), own("exchanged", ".txt")
    assert main(["memory", str(a), *arguments, str(b)]) == 1
    assert "(gone)" in capsys.readouterr().out
    assert main(["memory", str(a), *arguments, str(a)]) == 0


def test_what_is_no_report_is_refused(capsys, tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    assert main(["memory", str(tmp_path / "a.txt")]) == 2
    assert "nothing about memory" in capsys.readouterr().err
    assert main(["memory", str(tmp_path / "nowhere")]) == 2
    assert main(["memory", str(OWN), "jit_nothing"]) == 2
    empty = tmp_path / "dump"
    empty.mkdir()
    assert main(["memory", str(empty)]) == 2


def test_another_moment(capsys):
    assert main(["memory", str(OWN), "jit_exchanged", "--at", "%copy", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["instruction"] == "copy"
    assert sum(owner["bytes"] for owner in told["owners"]) == told["bytes"]
    assert main(["memory", str(OWN), "jit_exchanged", "--at", "0"]) == 0
    assert "at 0 of 8 %state.1" in capsys.readouterr().out
    for wrong in ("nothing", "8", "-1"):
        assert main(["memory", str(OWN), "jit_exchanged", f"--at={wrong}"]) == 2


def test_files_that_are_nothing(capsys, tmp_path):
    sparse = tmp_path / "sparse.txt"
    with sparse.open("wb") as file:
        file.truncate(1 << 31)
    empty = tmp_path / "empty.txt"
    empty.touch()
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    bomb = tmp_path / "bomb.pb.gz"
    bomb.write_bytes(gzip.compress(bytes(1 << 28), 9) * 3)
    deep = tmp_path / "deep.hlo.pb"
    data = b""
    for _ in range(10000):
        data = b"\x0a" + to_varint(len(data)) + data
    deep.write_bytes(data)
    for path in (sparse, empty, fifo, bomb, deep):
        for command in ("memory", "cost"):
            assert main([command, str(path)]) == 2, path
            assert capsys.readouterr().err.count("\n") <= 4
