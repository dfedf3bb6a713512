#!/usr/bin/env python3
"""Replays of many modules with one cache of compiled slices: what is compiled, what is found, and how fast it goes.

usage: replays.py GRAIN FILE...      GRAIN: whole, unit or body; FILE: HLO text, protos or snapshots

Each module is run to its end twice, without the check by a whole run: cold, and warm with everything compiled. A site
is an instruction that has to be computed (a tuple, say, is not); it is done on the host, or its slice was compiled for
another site before (a hit), or it is compiled.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from hlo_tui.errors import HloTuiError
from hlo_tui.replay import xla
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.hostops import HOSTED
from hlo_tui.replay.opening import choose_inputs, open_target
from hlo_tui.replay.slices import SliceCache


class Row:
    """Times and counts of one module, or of several together."""

    def __init__(self) -> None:
        self.cold = self.warm = self.processor = 0.0
        self.steps = self.sites = self.hosted = self.compiles = 0

    def add(self, other: Row) -> None:
        """Add another module's."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)

    def words(self) -> str:
        """One line."""
        hits = 1 - self.compiles / self.sites if self.sites else 1.0
        speed = self.steps / self.warm if self.warm else 0.0
        return (
            f"{self.steps:>8} steps {self.sites:>6} sites {self.hosted:>6} on the host {self.compiles:>5} compiled "
            f"(not compiled {hits:6.1%}), "
            f"cold {self.cold:6.2f} s ({self.processor:6.2f} s of the processor), warm {self.warm:6.2f} s, "
            f"{speed:>8.0f} steps/s"
        )


def measure(path: Path, grain: Grain, backend: xla.Backend, cache: SliceCache) -> Row:
    """Run one module twice.

    Raises:
        HloTuiError: it cannot be run.
    """
    target = open_target(path)
    program = target.program()
    inputs = choose_inputs(target, program, "auto", 0)
    row = Row()
    debugger = Debugger(program, inputs, backend, cache, target.topology, grain)
    evaluator = debugger.evaluator
    compiles = cache.compiles
    begin, processor = time.perf_counter(), time.process_time()
    evaluator.root(Frame(program.entry, inputs.values))
    row.cold, row.processor = time.perf_counter() - begin, time.process_time() - processor
    row.compiles = cache.compiles - compiles
    done = [op for c in program.reachable() for op in c.ops if evaluator.made(c, op.index)]
    row.hosted = sum(op.opcode in HOSTED for op in done)
    row.sites = row.hosted + sum(evaluator.compiles(op.computation, op) for op in done)
    before, begin = evaluator.steps, time.perf_counter()
    evaluator.root(Frame(program.entry, inputs.values))
    row.steps, row.warm = evaluator.steps - before, time.perf_counter() - begin
    return row


def main(grain: str, files: list[str]) -> None:
    """Measure each and all."""
    backend = xla.start("cpu", 1)
    cache = SliceCache(backend.compile)
    total, left_out = Row(), 0
    for name in files:
        try:
            row = measure(Path(name), Grain(grain), backend, cache)
        except HloTuiError as error:
            left_out += 1
            print(f"{Path(name).name}: {error.title}")
            continue
        total.add(row)
        if row.cold >= 1:
            print(f"{row.words()}  {Path(name).name}")
    print(f"{total.words()}  all {len(files) - left_out}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
