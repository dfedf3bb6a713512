"""How long a listing takes beside `find`, in one run.

    python scripts/bench/listing.py [DIR]

Without DIR, a dump of 20,000 files is made in a temporary directory.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from hlo_tui.dump.files import scan
from hlo_tui.dump.listing import load, to_json

ROUNDS = 7
COUNT = 20_000
TAILS = (
    "before_optimizations.txt",
    "cpu_after_optimizations.txt",
    "cpu_after_optimizations-buffer-assignment.txt",
    "cpu_after_optimizations-memory-usage-report.txt",
    "debug_options",
    "0017.simplification.after_algsimp.before_dce.txt",
    "0018.copy-insertion.after_adding_special-case_copies.txt",
    "add_reduce_fusion.1_kernel_module.ir-with-opt.ll",
    "obj-file.add_reduce_fusion.1_kernel_module.o",
    "snapshot.-1470547512.pb",
)


def make(root: Path) -> None:
    """Write a dump of COUNT files, ten for each module."""
    for number in range(COUNT // len(TAILS)):
        for tail in TAILS:
            (root / f"module_{number:04d}.jit_step.{tail}").write_text("HloModule jit_step\n\nENTRY e {\n}\n")


def median(action: Callable[[], object]) -> float:
    """Milliseconds of one call, the median of several."""
    times = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e3


def measure(root: str) -> None:
    """Print the comparison for one directory."""

    def run(*command: str) -> None:
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)

    names = median(lambda: run("find", root, "-type", "f"))
    sizes = median(lambda: run("find", root, "-type", "f", "-printf", "%s %T@ %p\\n"))
    walk = median(lambda: scan(root))
    known = scan(root).files
    again = median(lambda: scan(root, known))
    listing = median(lambda: load(root))
    document = median(lambda: to_json(load(root)))
    print(f"{len(known)} files, median of {ROUNDS} runs")
    print(f"find, names            {names:8.1f} ms")
    print(f"find, sizes and times  {sizes:8.1f} ms")
    for what, value in (
        ("first walk", walk),
        ("later walk", again),
        ("walk and catalog", listing),
        ("and document", document),
    ):
        ratios = f"{value / names:5.1f} x names, {value / sizes:5.1f} x sizes and times"
        print(f"{what:22} {value:8.1f} ms   {ratios}")


def main() -> None:
    """Measure the directory that was given, or one made for it."""
    if len(sys.argv) > 1:
        measure(sys.argv[1])
        return
    with tempfile.TemporaryDirectory() as root:
        make(Path(root))
        measure(root)


if __name__ == "__main__":
    main()
