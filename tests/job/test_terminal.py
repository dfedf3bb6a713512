"""A program in a terminal of its own: what it sees, what is kept of it, how it is spoken to and ended."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from hlo_tui.errors import HloTuiError
from hlo_tui.job.terminal import Job, check_command, run_here
from tests.test_cli import run as command

_PATIENCE = 30.0


def job(code: str, **environ: str) -> Job:
    return Job([sys.executable, "-u", "-c", code], {**os.environ, **environ}, (77, 33))


def until(running: Job, words: str) -> None:
    end = time.monotonic() + _PATIENCE
    while words not in "\n".join(running.lines):
        assert time.monotonic() < end, running.lines
        time.sleep(0.01)


def test_it_has_a_terminal_with_a_size_and_its_environment() -> None:
    code = (
        "import os, sys, json; open('/dev/tty').close(); "
        "print(json.dumps([list(os.get_terminal_size()), sys.stdin.isatty(), os.environ['A'], sys.argv[0]]))"
    )
    done = job(code, A="b c")
    assert done.wait(_PATIENCE) == 0
    assert json.loads(done.tail(1)[0]) == [[77, 33], True, "b c", "-c"]


def test_its_environment_is_otherwise_untouched() -> None:
    for given in ({"ONLY": "this"}, {"ONLY": "this", "LC_CTYPE": "C.UTF-8"}):
        variables = {"PATH": os.environ["PATH"], **given}
        done = Job(["env"], variables, (2000, 24))
        assert done.wait(_PATIENCE) == 0
        assert dict(line.split("=", 1) for line in done.lines if line) == variables


@pytest.mark.parametrize(
    ("code", "exit_code"), [("", 0), ("raise SystemExit(7)", 7), ("import os; os.kill(os.getpid(), 9)", 137)]
)
def test_its_exit_code_is_that_of_a_shell(code: str, exit_code: int) -> None:
    assert job(code).wait(_PATIENCE) == exit_code


def test_it_can_be_typed_to_and_interrupted() -> None:
    wait = "import time\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    print('stopped')"
    running = job(f"print('got', input('name? '))\n{wait}")
    until(running, "name?")
    running.send("you")
    until(running, "got you")
    running.interrupt()
    assert running.wait(_PATIENCE) == 0
    assert "stopped" in running.tail(1)[0]


def test_it_is_ended_with_what_it_has_started_and_by_force_the_second_time() -> None:
    stubborn = job(
        "import signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\nprint('ready')\ntime.sleep(60)"
    )
    until(stubborn, "ready")
    assert stubborn.end() == "asked to end"
    assert stubborn.wait(0.3) is None
    assert stubborn.end() == "killed"
    assert stubborn.wait(_PATIENCE) == 137
    assert stubborn.end() == "killed"


def test_a_listener_hears_of_output_and_of_the_end() -> None:
    heard = threading.Event()
    running = job("print('x')")
    running.listen(heard.set)
    heard.clear()
    running.wait(_PATIENCE)
    assert heard.wait(_PATIENCE)


def test_output_of_what_outlives_it_keeps_nobody_waiting() -> None:
    code = "import subprocess; subprocess.Popen(['sleep', '20']); print('done')"
    started = time.monotonic()
    assert job(code).wait(_PATIENCE) == 0
    assert time.monotonic() - started < 15


def test_when_the_screen_is_gone_it_goes_on_in_the_persons_terminal() -> None:
    running = job("print('before')\nprint('got', input())\nprint('\\x1b[1mbold')\nraise SystemExit(3)")
    until(running, "before")
    ours, theirs = pty.openpty()
    answer: list[bytes] = []

    def person() -> None:
        while b"before" not in b"".join(answer):
            answer.append(os.read(ours, 1000))
        os.write(ours, b"hello\n")
        while b"bold" not in b"".join(answer):
            answer.append(os.read(ours, 1000))

    reader = threading.Thread(target=person, daemon=True)
    reader.start()
    assert running.pass_through(theirs, theirs) == 3
    reader.join(_PATIENCE)
    text = b"".join(answer)
    # As it is, and once: the terminal's own echo is off meanwhile.
    assert text.count(b"got hello") == 1
    assert b"\x1b[1mbold" in text
    os.close(ours)
    os.close(theirs)


def test_one_that_has_ended_is_shown_to_its_end() -> None:
    done = job("print('last words')")
    done.wait(_PATIENCE)
    reading, writing = os.pipe()
    assert done.pass_through(reading, writing) == 0
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        assert file.read() == b"last words\r\n"
    done.resize(10, 10)
    done.send("nothing hears this")


def test_what_cannot_be_run_is_told() -> None:
    with pytest.raises(HloTuiError, match="no program to run"):
        check_command([])
    with pytest.raises(HloTuiError, match="/nowhere/x cannot be run"):
        Job(["/nowhere/x"], {})
    with pytest.raises(HloTuiError, match="nowhere"):
        run_here(["nowhere"], {})


def test_run_without_a_screen(tmp_path: Path) -> None:
    code = "import jax; print('out', jax.jit(lambda x: x * 2)(1.0)); raise SystemExit(5)"
    done = command("run", "--headless", "--dir", tmp_path / "d", "--", sys.executable, "-c", code)
    assert done.returncode == 5
    assert done.stdout.startswith("out 2.0\n")
    assert "jit__lambda" in done.stdout
    assert "ended with exit code 5" in done.stderr
    assert "cut off" not in done.stderr
    told = command("run", "snapshots", "--headless", "--json", "--", sys.executable, "-c", code)
    found = json.loads(told.stdout)
    assert (told.returncode, found["exit_code"], found["command"][0]) == (5, 5, sys.executable)
    assert [module["name"] for module in found["dump"]["modules"]] == ["jit__lambda"]
    assert len(found["dump"]["modules"][0]["executions"]) == 1
    assert "out 2.0" in told.stderr


def test_run_tells_what_is_wrong_with_it(tmp_path: Path) -> None:
    done = command("run", "passes", "python", "train.py")
    assert (done.returncode, "hlo-tui run [RECIPE...] -- python train.py" in done.stderr) == (2, True)
    done = command("run", "pases", "--", sys.executable, "-c", "")
    assert (done.returncode, "no recipe 'pases'" in done.stderr) == (2, True)
    done = command("run", "--", sys.executable, "-c", "", stdin=subprocess.DEVNULL)
    assert (done.returncode, "no terminal" in done.stderr) == (2, True)
    (tmp_path / "old").write_text("")
    done = command("run", "--headless", "--no-try", "--dir", tmp_path, "--", sys.executable, "-c", "")
    assert done.returncode == 0
    assert "is not empty" in done.stderr
