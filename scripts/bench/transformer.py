#!/usr/bin/env python3
"""A transformer's training step with a stop in each layer: the replay against one plain XLA compile and run of it.

usage: transformer.py [LAYERS] [GRAIN]      LAYERS: how many (default 200); GRAIN: whole, unit (default) or body

The step is made twice, with its layers one after the other and with a loop over them, and replayed as it is before
and after optimisation; the plain compile is of what is before. Every measurement is a process of its own; ratios (x)
are between measurements of one run. "Cold" has nothing compiled, "warm" has what the cold replay left on disk. A step
is the time from one stop to the next while nothing is compiled.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

VARIANTS = ("unrolled", "scanned")
STAGES = ("before_optimizations", "cpu_after_optimizations")
WIDTH, HEADS, VOCABULARY, LENGTH, BATCH = 32, 2, 64, 16, 2


def make(variant: str, layers: int) -> None:
    """Compile and run one step; the process dumps it."""
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.experimental.xla_metadata import set_xla_metadata as tag

    key = jax.random.PRNGKey(0)
    shapes = {
        "qkv": (WIDTH, 3 * WIDTH),
        "out": (WIDTH, WIDTH),
        "up": (WIDTH, 4 * WIDTH),
        "down": (4 * WIDTH, WIDTH),
    }
    weights = {
        name: 0.02 * jax.random.normal(jax.random.fold_in(key, number), (layers, *shape))
        for number, (name, shape) in enumerate(shapes.items())
    }
    parameters = {"embedding": 0.02 * jax.random.normal(key, (VOCABULARY, WIDTH)), "layers": weights}

    def normal(x: Any) -> Any:
        return x * lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)

    def layer(x: Any, w: dict[str, Any]) -> Any:
        batch, length, width = x.shape
        parts = [p.reshape(batch, length, HEADS, -1) for p in jnp.split(normal(x) @ w["qkv"], 3, -1)]
        scores = jnp.einsum("bthd,bshd->bhts", parts[0], parts[1]) / (width // HEADS) ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        mixed = jnp.einsum("bhts,bshd->bthd", jax.nn.softmax(scores, -1), parts[2]).reshape(x.shape)
        x = x + mixed @ w["out"]
        return tag(x + jax.nn.gelu(normal(x) @ w["up"]) @ w["down"], breakpoint=True)

    def loss(parameters: dict[str, Any], tokens: Any) -> Any:
        x = parameters["embedding"][tokens]
        if variant == "scanned":
            x, _ = lax.scan(lambda x, w: (layer(x, w), None), x, parameters["layers"])
        else:
            for number in range(layers):
                x = layer(x, {name: w[number] for name, w in parameters["layers"].items()})
        logits = jax.nn.log_softmax(normal(x) @ parameters["embedding"].T)[:, :-1]
        return -jnp.take_along_axis(logits, tokens[:, 1:, None], -1).mean()

    def train_step(parameters: Any, tokens: Any) -> Any:
        value, gradients = jax.value_and_grad(loss)(parameters, tokens)
        return jax.tree.map(lambda p, g: p - 0.1 * g, parameters, gradients), value

    tokens = jax.random.randint(key, (BATCH, LENGTH), 0, VOCABULARY)
    jax.block_until_ready(jax.jit(train_step)(parameters, tokens))


def timed(act: Any) -> float:
    """Seconds until something is done, the device's part of it as well."""
    import jax

    begin = time.perf_counter()
    jax.block_until_ready(act())
    return time.perf_counter() - begin


def measure(what: str, path: Path, grain: str) -> dict[str, Any]:
    """Run one module, plainly or as a replay; times in seconds."""
    from hlo_tui.replay import xla
    from hlo_tui.replay.atwork import Board, Doing, Phase
    from hlo_tui.replay.checks import Checks
    from hlo_tui.replay.debugger import Debugger
    from hlo_tui.replay.diskcache import DiskCache, StoredSlices, cache_directory
    from hlo_tui.replay.grain import Grain
    from hlo_tui.replay.lessons import Lessons
    from hlo_tui.replay.opening import choose_inputs, open_target
    from hlo_tui.replay.slices import SliceCache
    from hlo_tui.replay.stopspec import TAGS

    target = open_target(path)
    program = target.program()
    backend = xla.start("cpu", 1)
    inputs = choose_inputs(target, program, "made", 0)
    board = Board()
    stored = StoredSlices(backend, DiskCache(cache_directory()), board)
    cache = SliceCache(backend.compile if what == "plain" else stored.compile)
    # The check at the end is one plain run more: it is measured by itself.
    refused = {Doing(Phase.CHECK, program.entry.name).key(): "measured by itself"}
    debugger = Debugger(program, inputs, backend, cache, target.topology, Grain(grain), refused)
    debugger.evaluator.at_work(board, Lessons().threads)
    if what == "plain":
        checks = Checks(debugger.evaluator, inputs)
        return {"first": timed(checks.run_whole), "again": timed(checks.run_whole)}
    debugger.set_stops([TAGS])
    times: list[float] = []
    processor: list[float] = []
    compiles: list[int] = []
    event = {"event": "stop"}
    while event["event"] == "stop":
        before, begin, used = cache.compiles, time.perf_counter(), time.process_time()
        event = debugger.move("continue")
        times.append(time.perf_counter() - begin)
        processor.append(time.process_time() - used)
        compiles.append(cache.compiles - before)
    assert event["unknown"] == [], event
    steps = debugger.evaluator.steps
    return {
        "times": times,
        "processor": processor,
        "compiles": compiles,
        "steps": steps,
        "loaded": stored.loaded,
    }


def child(cache: Path, *arguments: str) -> dict[str, Any]:
    """Measure in a process of its own."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    done = subprocess.run(
        [sys.executable, __file__, "--measure", *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def report(name: str, plain: dict[str, Any], cold: dict[str, Any], warm: dict[str, Any]) -> None:
    """Print the ratios."""
    x = plain["first"]
    free = [at for at, new in enumerate(cold["compiles"]) if at and not new]
    steps, busy = ([cold[name][at] for at in free] for name in ("times", "processor"))
    step, work = (statistics.median(times) if free else float("nan") for times in (steps, busy))
    stops = len(cold["times"]) - 1
    print(f"{name}: {stops} stops, {sum(cold['compiles'])} slices compiled, {cold['steps']} instructions run")
    print(f"  one plain compile and run: {x:.2f} s, run again {plain['again'] * 1e3:.1f} ms")
    for kind, found in (("cold", cold), ("warm", warm)):
        first, whole = found["times"][0], sum(found["times"])
        print(
            f"  {kind}: to the first stop {first / x:.2f} x, whole {whole / x:.2f} x, "
            f"(whole - stops x step) {(whole - stops * step) / x:.2f} x"
        )
    print(
        f"  a step from one stop to the next: p50 {step * 1e3:.2f} ms, most {max(steps, default=0) * 1e3:.2f} ms; "
        f"p50 {work * 1e3:.2f} ms of the processor"
    )


def main(layers: int, grain: str) -> None:
    """Make the modules and measure each."""
    flags = "--xla_dump_hlo_as_text --xla_dump_large_constants"
    with tempfile.TemporaryDirectory() as scratch:
        for variant in VARIANTS:
            directory = Path(scratch) / variant
            environment = {
                **os.environ,
                "JAX_PLATFORMS": "cpu",
                "XLA_FLAGS": f"--xla_dump_to={directory} {flags} --xla_dump_hlo_module_re=train_step",
            }
            subprocess.run(
                [sys.executable, __file__, "--make", variant, str(layers)], env=environment, check=True
            )
            (path,) = directory.glob(f"*train_step.{STAGES[0]}.txt")
            plain = child(Path(scratch), "plain", str(path), grain)
            for stage in STAGES:
                (path,) = directory.glob(f"*train_step.{stage}.txt")
                cache = Path(scratch) / f"cache-{variant}-{stage}"
                cold, warm = (child(cache, what, str(path), grain) for what in ("cold", "warm"))
                report(f"{variant}, {stage}, {layers} layers, {grain} grain", plain, cold, warm)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--make"]:
        make(sys.argv[2], int(sys.argv[3]))
    elif sys.argv[1:2] == ["--measure"]:
        print(json.dumps(measure(sys.argv[2], Path(sys.argv[3]), sys.argv[4])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 200, sys.argv[2] if len(sys.argv) > 2 else "unit")
