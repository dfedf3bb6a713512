"""A real terminal at the other end: what is sent to it, and how it is left behind."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

import pyte
import pytest

from tests.ui import dumps

_PATIENCE = 30.0
_RUN = """
import sys
from pathlib import Path
from hlo_tui.errors import HloTuiError
from hlo_tui.ui.launch import run
try:
    code = run(Path(sys.argv[1]), mouse=True)
except HloTuiError as error:
    print(error)
    code = error.exit_code
print("left with", code)
loaded = sorted(set(sys.modules) & {"jax", "jaxlib", "numpy"})
print("loaded", loaded)
sys.exit(code)
"""


class Terminal:
    """hlo-tui on a pty, with a screen that understands what it writes."""

    def __init__(self, path, size=(120, 34), environ=None, program=_RUN):
        columns, rows = size
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = bytearray()
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.before = termios.tcgetattr(slave)
        self.slave = slave
        env = {k: v for k, v in os.environ.items() if k not in ("COLORTERM", "NO_COLOR", "COLUMNS", "LINES")}
        env |= {"TERM": "xterm-256color", "LC_ALL": "C.UTF-8"} | (environ or {})
        self.process = subprocess.Popen(
            [sys.executable, "-c", program, str(path)],
            stdin=slave, stdout=slave, stderr=slave, env=env, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        self._master = master

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in (self._master, self.slave):
            if descriptor >= 0:
                os.close(descriptor)

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.screen.display)

    def read(self, seconds: float = 0.02) -> bytes:
        ready, _, _ = select.select([self._master], [], [], seconds)
        if not ready:
            return b""
        try:
            data = os.read(self._master, 1 << 16)
        except OSError:
            return b""
        self.raw += data
        self._stream.feed(data)
        return data

    def quiet(self, seconds: float = 0.4) -> int:
        """Read until nothing has come for a while; gives how many bytes came."""
        count, last = 0, time.monotonic()
        while time.monotonic() - last < seconds:
            data = self.read()
            if data:
                count, last = count + len(data), time.monotonic()
        return count

    def until(self, word: str) -> None:
        end = time.monotonic() + _PATIENCE
        while word not in self.text:
            assert time.monotonic() < end, f"never: {word!r}\n{self.text}"
            self.read()

    def key(self, text: str) -> int:
        """Press keys; gives how many bytes that made the app send."""
        os.write(self._master, text.encode())
        return self.quiet()

    def hang_up(self) -> None:
        os.close(self.slave)
        os.close(self._master)
        self.slave = self._master = -1

    def ended(self) -> int:
        end = time.monotonic() + _PATIENCE
        while self.process.poll() is None:
            assert time.monotonic() < end, "it does not end"
            self.read()
        self.quiet(0.1)
        return self.process.returncode


def assert_restored(terminal: Terminal) -> None:
    """The terminal is as it was: every mode that was switched on is off, the other screen is left."""
    modes: dict[bytes, bytes] = {}
    for numbers, way in re.findall(rb"\x1b\[\?([\d;]+)([hl])", bytes(terminal.raw)):
        for number in numbers.split(b";"):
            modes[number] = way
    left_on = {number for number, way in modes.items() if way == b"h"} - {b"25", b"7"}
    assert left_on == set()
    assert modes[b"25"] == b"h"
    assert modes[b"1049"] == b"l"
    if terminal.slave >= 0:
        assert termios.tcgetattr(terminal.slave)[:4] == terminal.before[:4]


def test_it_starts_shows_and_leaves_the_terminal_as_it_was(dump):
    with Terminal(dump) as terminal:
        terminal.until("● 2")
        terminal.key("2")
        terminal.key("\x1b[B")
        terminal.until("%one")
        terminal.key("?")
        terminal.until("Run to the next stop")
        terminal.key("q")
        terminal.key("q")
        assert terminal.ended() == 0
        assert_restored(terminal)
        assert b"left with 0" in terminal.raw
        assert b"loaded []" in terminal.raw


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_leaves_the_terminal_as_it_was(dump, number):
    with Terminal(dump) as terminal:
        terminal.until("%mul.3")
        terminal.process.send_signal(number)
        assert terminal.ended() == 128 + number
        assert_restored(terminal)


def test_a_terminal_that_goes_away_ends_it(dump):
    with Terminal(dump) as terminal:
        terminal.until("%mul.3")
        terminal.hang_up()
        assert terminal.process.wait(_PATIENCE) != 0


def test_the_worker_ends_with_the_screen(dump):
    with Terminal(dump) as terminal:
        terminal.until("%mul.3")
        terminal.key("c")
        terminal.until("stop 1 of 1")
        children = _children(terminal.process.pid)
        assert children
        terminal.process.send_signal(signal.SIGTERM)
        terminal.ended()
        end = time.monotonic() + _PATIENCE
        while any(os.path.exists(f"/proc/{child}") and _state(child) != "Z" for child in children):
            assert time.monotonic() < end, "the worker lives on"
            time.sleep(0.05)


def _children(pid: int) -> list[int]:
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat:
                    if int(stat.read().rpartition(")")[2].split()[1]) == pid:
                        found.append(int(entry))
            except OSError:
                continue
    return found


def _state(pid: int) -> str:
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


@pytest.mark.parametrize("term", ["dumb", "unknown", ""])
def test_terminals_that_cannot_are_refused_in_words(dump, term):
    with Terminal(dump, environ={"TERM": term}) as terminal:
        assert terminal.ended() == 2
        assert b"cannot show a screen" in terminal.raw
        assert b"hlo-tui list DIR" in terminal.raw
        assert b"\x1b[" not in terminal.raw


def test_without_a_terminal_it_points_to_the_commands(dump):
    run = subprocess.run(
        [sys.executable, "-c", _RUN, str(dump)], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    assert run.returncode == 2
    assert "This is no terminal" in run.stdout
    assert "hlo-tui list DIR" in run.stdout


def test_nothing_in_a_file_reaches_the_terminal_as_a_command(dump):
    attack = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\x9b5n"
    text = dumps.TRAIN.replace('op_name="jit(step)/while/body/mul"', f'op_name="{attack}"')
    text = (
        text.replace("jit_train_step", f"jit_{attack}")
        .replace("dot.9", "dot\x1b[7m.9")
        .replace("model.py", f"m{attack}.py")
    )
    dumps.write(dump, 77, "jit_a\x1b[2Jb", "before_optimizations", text * 3)
    with Terminal(dump, (200, 60)) as terminal:
        terminal.until("jit_a␛[2Jb")
        terminal.key("2")
        terminal.key("m")
        terminal.key("G")
        terminal.until("␛[7m.9")
        for sequence in (b"\x1b]0;", b"\x1b[2J", b"\x1b[31mred", b"\x9b5n", b"\x1b[7m.9"):
            assert sequence not in terminal.raw
        terminal.key("q")
        assert terminal.ended() == 0


def test_an_idle_screen_sends_nothing_and_a_page_costs_about_what_it_shows(dump):
    many = "\n".join(f"  %v.{n} = f32[{n},128]{{1,0}} add(%v.{n - 1}, %v.{n - 2})" for n in range(3, 500))
    first = "  %v.1 = f32[1] parameter(0)\n  %v.2 = f32[1] negate(%v.1)"
    body = f"ENTRY %m (v.1: f32[1]) -> f32[1] {{\n{first}\n{many}\n}}\n"
    dumps.write(dump, 90, "jit_big", "before_optimizations", "HloModule jit_big\n\n" + body)
    with Terminal(dump / "module_0090.jit_big.before_optimizations.txt") as terminal:
        terminal.until("%v.5")
        # A loaded machine takes its time over the last of what is drawn at the start.
        terminal.quiet(3.0)
        assert terminal.quiet(2.0) == 0
        cells = 120 * 34
        pages = [terminal.key("\x1b[6~") for _ in range(4)]
        assert max(pages) < 2 * cells + 8192
        lines = [terminal.key("\x1b[B") for _ in range(4)]
        assert max(lines) < 4096


def test_the_screen_follows_the_size_of_the_terminal(dump):
    with Terminal(dump, (120, 34)) as terminal:
        terminal.until("● 2")
        terminal.key("2")
        fcntl.ioctl(terminal.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        terminal.screen.resize(24, 80)
        terminal.screen.erase_in_display(2)
        os.killpg(terminal.process.pid, signal.SIGWINCH)
        terminal.until("1 Modules 2 Code 3 Info 4 Replay")
        terminal.until("model.py:87 block")
        terminal.quiet()
        assert "%mul.3" in terminal.text
        terminal.key("\x0c")
        assert "%mul.3" in terminal.text


def test_without_colours_none_are_sent(dump):
    with Terminal(dump, environ={"NO_COLOR": "1"}) as terminal:
        terminal.until("● 2")
        terminal.key("2")
        codes = {
            c for found in re.findall(rb"\x1b\[([\d;]*)m", bytes(terminal.raw)) for c in found.split(b";")
        }
        assert not codes & {b"38", b"48"}
        assert not any(30 <= int(c) <= 37 or 40 <= int(c) <= 47 or 90 <= int(c) <= 107 for c in codes if c)
        assert b"7" in codes


def test_sixteen_colours_get_sixteen_colours(dump):
    with Terminal(dump, environ={"TERM": "xterm"}) as terminal:
        terminal.until("● 2")
        codes = {
            c for found in re.findall(rb"\x1b\[([\d;]*)m", bytes(terminal.raw)) for c in found.split(b";")
        }
        assert not codes & {b"38", b"48"}
        assert codes & {b"34", b"33", b"36"}


def test_a_terminal_of_ascii_gets_ascii(dump):
    with Terminal(
        dump, environ={"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0", "TERM": "linux"}
    ) as terminal:
        terminal.until("* 2")
        terminal.key("2")
        assert bytes(terminal.raw).isascii()
        assert "v jit_train_step" in terminal.text


def test_what_others_write_to_standard_error_stays_off_the_screen(dump, tmp_path):
    noisy = _RUN.replace(
        "code = run(",
        "import threading, os\n    threading.Timer(1.0, lambda: os.write(2, b'LOUD')).start()\n    code = run(",
    )
    with Terminal(dump, program=noisy) as terminal:
        terminal.until("● 2")
        terminal.quiet(2.0)
        assert b"LOUD" not in terminal.raw
        assert b"LOUD" in (tmp_path / "state" / "hlo-tui" / "screen.log").read_bytes()
        assert sorted(os.listdir(dump)) == sorted(os.listdir(dumps.make(tmp_path / "untouched")))


def test_the_screens_process_loads_no_engine():
    code = (
        "import sys, json\n"
        "import hlo_tui.ui.app, hlo_tui.ui.handlers as h, hlo_tui.ui.inforows\n"
        "import hlo_tui.ui.replayrows, hlo_tui.ui.marking, hlo_tui.replay.session\n"
        "h.handler('help')\n"
        "print(json.dumps([m for m in ('jax', 'jaxlib', 'numpy', 'ml_dtypes') if m in sys.modules]))\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout) == []


def test_a_slow_terminal_gets_the_newest_frame_and_not_all_on_the_way(dump):
    many = "\n".join(
        f"  %value.{n * n} = f32[{n},128]{{1,0}} add(%p.{n * 7}, %q.{n * 13})" for n in range(3000)
    )
    text = f"HloModule jit_big\n\nENTRY %m (v.1: f32[1]) -> f32[1] {{\n{many}\n}}\n"
    path = dumps.write(dump, 90, "jit_big", "before_optimizations", text)
    with Terminal(path, (120, 34)) as terminal:
        terminal.until("%value.1 ")
        page = max(terminal.key("\x1b[6~") for _ in range(3))
        before = len(terminal.raw)
        for _ in range(30):
            os.write(terminal._master, b"\x1b[6~")
            time.sleep(0.05)
        terminal.quiet()
        assert len(terminal.raw) - before < 12 * page
        last = [line for line in terminal.text.splitlines() if "%value." in line][-1]
        number = int(re.search(r"│? *(\d+)  ", last)[1])
        assert number > 33 * 30


def test_the_frames_that_wait_are_where_the_pacing_looks():
    import queue

    from textual.drivers._writer_thread import WriterThread

    assert isinstance(WriterThread(sys.stderr)._queue, queue.Queue)
