#!/usr/bin/env python3
"""One step of the replay against one XLA compile of the same instruction, and warm steps against plain
dispatches.

usage: steps.py FILE [COUNT]      FILE: HLO text or proto; COUNT: how many distinct instructions to try
    (default 100)

A cold step cuts the instruction out, lowers it, compiles it and runs it on the host's values; the compile it
is
compared with is that of the very same slice. Both are timed in turn in one process.
"""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

from hlo_tui.replay import xla
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.opening import choose_inputs, open_target
from hlo_tui.replay.slices import SliceCache


class Timed:
    """A backend's compile that remembers what it compiled last."""

    def __init__(self, backend: xla.Backend) -> None:
        self._backend = backend
        self.module = b""

    def __call__(self, module: bytes) -> xla.Executable:
        """Compile, as the cache asks for it."""
        self.module = module
        return self._backend.compile(module)


def main(path: Path, count: int) -> None:
    """Walk the entry computation and compare."""
    target = open_target(path)
    program = target.program()
    backend = xla.start("cpu", target.topology.devices)
    compiler = Timed(backend)
    cache = SliceCache(compiler)
    inputs = choose_inputs(target, program, "auto", 0)
    debugger = Debugger(program, inputs, backend, cache, target.topology)
    frame, evaluator = debugger.spot.frame, debugger.evaluator
    cold, compiles, warm = [], [], []
    for op in program.entry.ops:
        for operand in op.operands:
            evaluator.value(frame, operand)
        compiler.module = b""
        begin = time.perf_counter()
        evaluator.value(frame, op.index)
        step = time.perf_counter() - begin
        if compiler.module and op.opcode not in ("while", "call", "conditional"):
            begin = time.perf_counter()
            backend.compile(compiler.module)
            compiles.append(time.perf_counter() - begin)
            cold.append(step)
        elif op.operands:
            warm.append(step)
        if len(cold) >= count:
            break
    ratios = sorted(a / b for a, b in zip(cold, compiles, strict=True))
    half, most = ratios[len(ratios) // 2], ratios[len(ratios) * 9 // 10]
    cold_ms, compile_ms = (statistics.median(times) * 1e3 for times in (cold, compiles))
    print(f"{len(cold)} instructions compiled, {len(warm)} steps without a compile")
    print(f"cold step / XLA compile of it: p50 {half:.2f}, p90 {most:.2f}")
    print(f"p50 cold step {cold_ms:.1f} ms, compile {compile_ms:.1f} ms")
    if warm:
        print(f"p50 step without a compile {statistics.median(warm) * 1e6:.0f} us")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 100)
