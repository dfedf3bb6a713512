"""The screen from outside: first paint, memory, bytes for a page, bytes while idle, a new file's row.

usage: python scripts/bench/screen.py [MEGABYTES]      of the large module, 500 if not given

Each time is the best of a few rounds and stands beside that of a bare Textual app, less and vim in the same run.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
import time
from pathlib import Path

from terminal import Terminal

ROUNDS = 3
PAGE_DOWN = "\x1b[6~"
HERE = Path(__file__).resolve().parents[2]
SAMPLE = HERE / "tests" / "data" / "replay"
BARE = (
    "from textual.app import App; from textual.widgets import Static\n"
    "class Bare(App):\n    def compose(self): yield Static('HloModule on a bare screen')\n"
    "Bare().run()\n"
)


def sample() -> str:
    """The text of a small real module."""
    (path,) = SAMPLE.glob("*.jit_nested.cpu_after_optimizations.txt")
    return path.read_text()


def large(path: Path, megabytes: int) -> None:
    """Write a module of that size: the computations of a small one over and over, under new names."""
    text = sample()
    body = text[text.index("\n\n%") :].replace("\nENTRY ", "\n")
    with path.open("w") as file:
        size, number = file.write(text), 0
        while size < megabytes * 1_000_000:
            size += file.write(re.sub(r"%([\w.\-]+)", lambda m, n=number: f"%{m[1]}.c{n}", body))
            number += 1


def first_paint(command: list[str], text: str) -> tuple[float, int]:
    """Seconds until a text is on the screen, and the peak memory a second after everything is still."""
    best, memory = float("inf"), 0
    for _ in range(ROUNDS):
        with Terminal(command) as terminal:
            terminal.sees(text)
            best = min(best, time.perf_counter() - terminal.began)
            terminal.settle(2.0)
            memory = max(memory, terminal.peak_memory())
    return best, memory


def page_bytes(command: list[str], text: str, keys: str) -> float:
    """Bytes written for a page down, the mean of five."""
    with Terminal(command) as terminal:
        terminal.sees(text)
        terminal.settle(2.0)
        return sum(terminal.press(keys) for _ in range(5)) / 5


def new_file(directory: Path, tool: list[str]) -> float:
    """Seconds from a module's file being closed to its row being on the screen, the mean of five."""
    with Terminal([*tool, str(directory)]) as terminal:
        terminal.sees("Modules")
        terminal.settle(1.0)
        times = []
        for number in range(5):
            name = f"jit_fresh_{number}"
            path = directory / f"module_{9000 + number}.{name}.before_optimizations.txt"
            path.write_text(sample())
            times.append(terminal.sees(name[:9] if number == 0 else name))
        return sum(times) / len(times)


def main(megabytes: int) -> None:
    """Measure and print."""
    tool = [sys.executable, "-m", "hlo_tui"]
    with tempfile.TemporaryDirectory() as temporary:
        directory = Path(temporary)
        big, small = directory / "big.txt", directory / "small.txt"
        large(big, megabytes)
        small.write_text(sample())
        bare, bare_memory = first_paint([sys.executable, "-c", BARE], "HloModule")
        print(f"bare Textual app: first screen {bare:.3f} s, {bare_memory / 1e6:.0f} MB")
        for path in (small, big):
            for name, command in (
                ("hlo-tui", tool),
                ("less -S", ["less", "-S"]),
                ("vim", ["vim", "-u", "NONE", "-R"]),
            ):
                if shutil.which(command[0]):
                    seconds, memory = first_paint([*command, str(path)], "HloModule")
                    size = f"{path.stat().st_size / 1e6:.3f} MB"
                    ratio = f"{seconds / bare:.2f}x the bare app"
                    print(
                        f"{name:8} {size:>12}: first screen {seconds:.3f} s ({ratio}), peak {memory / 1e6:.0f} MB"
                    )
        ours = page_bytes([*tool, str(big)], "HloModule", PAGE_DOWN)
        less = page_bytes(["less", "-S", str(big)], "HloModule", " ")
        print(f"page down: {ours:.0f} bytes, less {less:.0f}; allowed {2 * less + 8192:.0f}")
        with Terminal([*tool, str(big)]) as terminal:
            terminal.sees("HloModule")
            terminal.settle(3.0)
            before = terminal.written
            terminal.rest(10)
            print(f"idle for 10 s: {terminal.written - before} bytes")
        watched = directory / "dump"
        shutil.copytree(SAMPLE, watched)
        print(f"new file to its row: {new_file(watched, tool) * 1000:.0f} ms")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
