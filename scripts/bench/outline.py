"""Compare the scan of a module's text with one regular expression over the same bytes, in the same run.

usage: python scripts/bench/outline.py FILE [ROUNDS]

Prints the best seconds of both, their ratio, and the memory of the scan above that of the interpreter.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

from hlo_tui.hlo.outline import scan
from hlo_tui.hlo.source import FileSource

_NAMES = re.compile(rb"^\s+(?:ROOT )?%?([\w.\-]+) = ", re.MULTILINE)
_MEMORY = """
import re, sys
from pathlib import Path
from hlo_tui.hlo.outline import scan
from hlo_tui.hlo.source import FileSource


def peak():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])


before = peak()
kept = scan(FileSource(sys.argv[1]))
print(peak() - before)
"""


def main() -> None:
    """Measure the file that is named on the command line."""
    path = Path(sys.argv[1])
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 3
    expression, scanning = [], []
    found = instructions = 0
    for _ in range(rounds):
        start = time.perf_counter()
        found = sum(1 for _ in _NAMES.finditer(path.read_bytes()))
        expression.append(time.perf_counter() - start)
        start = time.perf_counter()
        instructions = scan(FileSource(path))[1].instructions
        scanning.append(time.perf_counter() - start)
    memory = subprocess.run(
        [sys.executable, "-c", _MEMORY, str(path)], capture_output=True, text=True, check=True
    ).stdout
    print(f"regular expression  {min(expression):.2f} s, {found:,} names")
    print(f"scan                {min(scanning):.2f} s, {instructions:,} instructions")
    print(f"ratio               {min(scanning) / min(expression):.2f}")
    print(f"memory of the scan  {int(memory) / 1024:.0f} MiB above the interpreter")


if __name__ == "__main__":
    main()
