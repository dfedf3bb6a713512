"""Compare `hlo-tui grep` with ripgrep, or else with grep, on one file, in the same run.

usage: python scripts/bench/finding.py FILE [PATTERN ...]

Prints for each pattern the lines that were found, the best seconds of both with the start of the process left
out on our side, and their ratio. Without patterns: one that is nowhere, one that is in few lines, an opcode.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from pathlib import Path

from hlo_tui.finding.places import Place
from hlo_tui.finding.query import make_query
from hlo_tui.finding.search import search
from hlo_tui.hlo.source import FileSource

_ROUNDS = 3


def main() -> None:
    """Measure the file that is named on the command line."""
    path = Path(sys.argv[1])
    place = Place("", None, "", path.name, path)
    tool = shutil.which("rg") or shutil.which("grep")
    assert tool is not None
    print(f"{path.stat().st_size:,} bytes, against {Path(tool).name}")
    for pattern in sys.argv[2:] or ["Nowhere", "ENTRY", r"[a-z]\(", "F32"]:
        query = make_query(pattern)
        ours, theirs = [], []
        found = 0
        for _ in range(_ROUNDS):
            start = time.perf_counter()
            subprocess.run(
                [tool, "-ac", "-E" if "grep" in tool else "-e", pattern, str(path)], capture_output=True
            )
            theirs.append(time.perf_counter() - start)
            start = time.perf_counter()
            found = sum(1 for _ in search(FileSource(path), place, query))
            ours.append(time.perf_counter() - start)
        ratio = min(ours) / min(theirs)
        print(
            f"{pattern:<12} {found:>9,} lines   {min(ours):6.2f} s   {min(theirs):6.2f} s   ratio {ratio:.1f}"
        )


if __name__ == "__main__":
    main()
