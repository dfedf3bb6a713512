"""A program that captures runs of several functions; what it was given and what came out goes into .npz files.

Runs on eight host devices, in a process of its own: `python -m tests.job.capturing DIR RESULTS`.
"""

from __future__ import annotations

import functools
import os
import sys
from pathlib import Path

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
os.environ["JAX_PLATFORMS"] = "cpu"

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.xla_metadata import set_xla_metadata as tag
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import hlo_tui

DIRECTORY, RESULTS = map(Path, sys.argv[1:])


def captured(function, *args, **kwargs) -> None:
    """Capture a run; the result of another run beside it."""
    path = hlo_tui.capture(function, *args, dir=DIRECTORY, **kwargs)
    again = function(*args, **kwargs)
    results = [
        jax.random.key_data(r) if r.dtype == jax.random.key(0).dtype else r for r in jax.tree.leaves(again)
    ]
    np.savez(RESULTS / f"{path.name.split('.')[0]}.npz", *map(np.asarray, results))


def scaled(x, y, unused, key, n, *, power):
    """Donated, nested, unused, random, positional and keyword constants."""
    return tag(x * n**power, breakpoint=True), y["a"] + y["b"] + jax.random.normal(key, (3,)), key


def spread(x, w):
    """Cut by XLA's partitioner."""
    return tag(jax.nn.relu(x @ w), breakpoint=True), (x @ w).sum()


def main() -> None:
    """Capture them all."""
    x = jnp.arange(4.0)
    jitted = jax.jit(scaled, donate_argnums=0, static_argnums=4, static_argnames="power")
    path = hlo_tui.capture(
        jitted, x, {"a": jnp.ones(3), "b": 2}, jnp.zeros(9), jax.random.key(7), 3, power=2, dir=DIRECTORY
    )
    # A donated argument is there still.
    np.savez(RESULTS / f"{path.name.split('.')[0]}.npz", np.asarray(x) * 9)
    captured(lambda x: (x, jnp.sin(x)), np.float32(0.5))
    types = [
        jnp.bfloat16,
        jnp.int8,
        jnp.uint32,
        jnp.bool_,
        jnp.complex64,
        jnp.float16,
        jnp.int4,
        jnp.float8_e4m3fn,
    ]
    captured(jax.jit(lambda *a: tuple(one[::-1] for one in a)), *(jnp.arange(5).astype(t) for t in types))

    # The devices in another order than their numbers.
    mesh = Mesh(np.array(jax.devices())[::-1].reshape(4, 2), ("data", "model"))
    x = jax.device_put(
        jax.random.normal(jax.random.key(1), (16, 32)), NamedSharding(mesh, P("data", "model"))
    )
    w = jax.device_put(jax.random.normal(jax.random.key(2), (32, 64)), NamedSharding(mesh, P("model", None)))
    captured(jax.jit(spread), x, w)

    @jax.jit
    @functools.partial(
        jax.shard_map, mesh=mesh, in_specs=(P("data", None), P(None, "model")), out_specs=P("data", "model")
    )
    def mapped(x, w):
        y = x @ w
        total = jax.lax.psum(y.sum(), ("data", "model"))
        return tag(
            y + jax.lax.ppermute(y, "data", [(i, (i + 1) % 4) for i in range(4)]) + total, breakpoint=True
        )

    captured(mapped, x, w)
    captured(jax.pmap(lambda x: jax.lax.pmean(x * 2, "i"), axis_name="i"), jnp.arange(8.0))


if __name__ == "__main__":
    main()
