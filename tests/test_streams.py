"""Standard streams that are closed, or a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

from tests.corpus import DATA

STEP = DATA / "step" / "jit_step.cpu_after_optimizations.hlo.pb"
ESCAPES = b"HloModule m\n\nENTRY e {\n  p = f32[] parameter(0)\n" + (
    b'  ROOT n = f32[] negate(p), metadata={op_name="\x1b]0;x\x07 \xc2\x9b31m"}\n}\n'
)


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-"])
@pytest.mark.parametrize(
    "command",
    [
        "memory -",
        "flags --no-try",
        "graph {file} n",
        "extract {file} n",
        "convert {file} - --to text",
        "convert {file} {out} --to dot",
        "extract {file} n -o {out}",
        "run -- true",
        "{file}",
    ],
)
def test_a_closed_stream_is_as_if_nothing_came_and_nobody_read(command: str, closed: str, tmp_path: Path):
    path, out = tmp_path / "m.hlo", tmp_path / "out"
    path.write_bytes(ESCAPES)
    words = command.format(file=path, out=out)
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m hlo_tui {words} {closed}"], capture_output=True, check=False
    )
    assert b"Traceback" not in done.stderr
    assert done.returncode in (0, 1, 2)
    # What would have gone to the closed stream is not in a file instead.
    assert not out.exists() or out.read_bytes().startswith((b"HloModule", b"digraph"))


def on_terminal(*words: str) -> tuple[int, bytes]:
    """What a command writes to a terminal."""
    here, there = pty.openpty()
    child = subprocess.Popen([sys.executable, "-m", "hlo_tui", *words], stdout=there, stderr=there)
    os.close(there)
    said = b""
    while True:
        try:
            part = os.read(here, 1 << 16)
        except OSError:
            break
        if not part:
            break
        said += part
    os.close(here)
    return child.wait(), said


def test_bytes_of_a_file_reach_a_pipe_as_they_are_and_a_terminal_as_marks(tmp_path: Path):
    path = tmp_path / "m.hlo"
    path.write_bytes(ESCAPES)
    words = ("extract", str(path), "n")
    piped = subprocess.run([sys.executable, "-m", "hlo_tui", *words], capture_output=True, check=True)
    assert b"\x1b]0;x\x07 \xc2\x9b31m" in piped.stdout
    code, said = on_terminal(*words)
    assert code == 0
    assert b"negate" in said
    assert not {"\x1b", "\x07", "\x9b"} & set(said.decode())


def test_a_proto_is_not_for_a_terminal():
    code, said = on_terminal("convert", str(STEP), "-", "--to", "proto")
    assert code == 2
    assert b"not for a terminal" in said
    assert b"\0" not in said
