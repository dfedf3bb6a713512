"""Measures the timeline and the diff on a module with many passes, against reading its files once.

Run `python scripts/bench/passes.py DIR MODULE` on a dump with --xla_dump_hlo_pass_re=.*, or without arguments on a
made module: rows of layers, each stage of which changes a few of them.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hlo_tui.dump import choosing, listing
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.hlo.module import Module as HloModule
from hlo_tui.passes import timeline
from hlo_tui.passes.blocks import Text
from hlo_tui.passes.compare import Comparison
from hlo_tui.passes.stages import open_stage, readable_stages

LAYERS, STAGES = 5500, 60
HEAD = "HloModule jit_made, entry_computation_layout={(f32[8,8]{1,0})->f32[8,8]{1,0}}\n\n"


def make(root: Path) -> None:
    """A module of 55,000 instructions and 60 stages."""
    for stage in range(STAGES):
        rows = ["  %x.0 = f32[8,8]{1,0} parameter(0)"]
        for layer in range(LAYERS):
            shift = "{0,1}" if (layer + stage) % STAGES == 0 else "{1,0}"
            meta = (
                f'metadata={{op_name="jit(made)/layer_{layer}/op" source_file="made.py" source_line={layer}}}'
            )
            before = f"%x.{layer}"
            for step in range(9):
                opcode = ("tanh", "negate", "exponential")[(step + (stage > 30 and layer % 50 == 0)) % 3]
                name = f"%y.{layer}.{step}"
                rows.append(f"  {name} = f32[8,8]{shift} {opcode}({before}), {meta}")
                before = name
            rows.append(f"  %x.{layer + 1} = f32[8,8]{{1,0}} add(%x.{layer}, {before}), {meta}")
        rows[-1] = rows[-1].replace("  %", "  ROOT %")
        label = f"{stage:04}.pipe.after_p{stage}.before_p{stage + 1}" if stage else "before_optimizations"
        text = HEAD + "ENTRY %main (x: f32[8,8]) -> f32[8,8] {\n" + "\n".join(rows) + "\n}\n"
        (root / f"module_0001.jit_made.{label}.txt").write_text(text)


def seconds(work: Callable[[], Any]) -> float:
    """CPU seconds that something takes: another program on the machine does not count."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def read_all(dump: Listing, stages: list[Stage]) -> None:
    """Read each stage once, as the screen does when it is opened."""
    for stage in stages:
        HloModule(open_stage(dump, stage)).scan()


def slowest_diff(dump: Listing, stages: list[Stage]) -> tuple[float, str, int]:
    """The neighbours that take longest to compare, both read anew: seconds, which, and instructions."""
    worst = (0.0, "", 0)
    for a, b in itertools.pairwise(stages):
        x, y = Text(open_stage(dump, a)), Text(open_stage(dump, b))
        if x.data != y.data:
            found = seconds(Comparison(x, y).run)
            worst = max(worst, (found, b.label, y.instructions))
    return worst


def measure(dump: Listing, module: Module) -> None:
    """Print what was measured."""
    stages = readable_stages(module)
    reading = seconds(lambda: read_all(dump, stages))
    made = seconds(lambda: list(timeline.steps(dump, module)))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{len(stages)} stages, {sum(stage.main.size for stage in stages):,} bytes")
    print(
        f"reading them once {reading:.2f} s, timeline {made:.2f} s ({made / reading:.1f} times), {memory} MB"
    )
    slowest, label, instructions = slowest_diff(dump, stages)
    print(f"slowest diff of two neighbours {slowest:.2f} s, {instructions:,} instructions: {label}")


def main() -> None:
    """Measure a given dump, or a made one."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", type=Path)
    parser.add_argument("module", nargs="?", default="jit_made")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        if given.path is None:
            make(Path(scratch))
        dump = listing.load(given.path or scratch)
        measure(dump, choosing.find_module(dump, given.module))


if __name__ == "__main__":
    main()
