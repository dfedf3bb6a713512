"""The tagged programs whose dumps are beside this file; run `python programs.py` to make them again.

Only what the tests read is kept of each dump: the text before and after optimisation, and one snapshot.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = "--xla_dump_hlo_as_text --xla_dump_hlo_as_proto --xla_dump_hlo_snapshots"


def run_all() -> None:
    """Compile and run each program once."""
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.experimental.xla_metadata import set_xla_metadata as tag

    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

    def product(x):
        return tag(jnp.sin(x) * jnp.cos(x), breakpoint=True)

    def scan(xs):
        def body(carry, x):
            carry = tag(carry * 0.9 + jnp.sin(x), breakpoint=True, where="scan_body")
            return carry, carry * 2

        return lax.scan(body, jnp.float32(0), xs)

    def loop(x):
        def condition(state):
            return tag(state[0] < 20, breakpoint="cond")

        def body(state):
            return state[0] + 1, tag(state[1] * 1.5 - 0.1, breakpoint="body")

        return lax.while_loop(condition, body, (0, x))

    def branch(x):
        def positive(v):
            return tag(jnp.log(v), breakpoint="positive")

        def negative(v):
            return tag(jnp.exp(v), breakpoint="negative")

        return lax.cond(x.sum() > 0, positive, negative, x)

    def quoted(x):
        y = tag(jnp.exp(x), note='he said "hi" {a=b}, c\\d', greek="π")
        return tag(y + 1, breakpoint="tensor:nan,inf", number=42)

    def logged(x):
        y = tag(x @ x, _xla_log=True)
        return tag(jnp.tanh(y), breakpoint=True)

    def off(x):
        return tag(jnp.exp(x), breakpoint=False) + 1

    def nested(x):
        def inner(_, v):
            return tag(v + 1.0, breakpoint="inner")

        def outer(_, v):
            return tag(lax.fori_loop(0, 3, inner, v) * 2.0, breakpoint="outer")

        return lax.fori_loop(0, 4, outer, x)

    def long(x):
        return lax.fori_loop(0, 1000, lambda _, v: tag(v * 0.999 + 0.001, breakpoint=True), x)

    def masked(x):
        return jnp.where(x > 0, jnp.log(x), 0.0)

    def reaching(x):
        return jnp.exp(x * 100.0) / jnp.exp(x * 100.0).sum()

    def blowup(x):
        return lax.fori_loop(0, 40, lambda _, v: v * v + 0.5, x)

    def blocks(x):
        with tag(breakpoint="layer"):
            y = jax.nn.softmax(x @ x) ** 3
            y = y - y.mean(axis=0)
        y = jnp.sin(y) + 1

        def body(_, v):
            with tag(breakpoint="body"):
                v = jnp.where(v > 1, v * 0.5, v)
            return v + 0.25

        y = lax.fori_loop(0, 2, body, y)
        with tag(breakpoint="total"):
            z = jnp.sqrt(y).sum()
        with tag(breakpoint="scaled"):
            return y / z, z

    signs = jnp.array([0.5, -1.0, 2.0])
    for function, argument in (
        (masked, signs),
        (reaching, signs),
        (blowup, jnp.float32(1.0)),
        (product, jnp.float32(1.0)),
        (scan, jnp.arange(10, dtype=jnp.float32)),
        (loop, jnp.float32(1.0)),
        (branch, jnp.ones(4)),
        (quoted, jnp.ones(3)),
        (logged, jnp.eye(3) * 0.5),
        (off, jnp.ones(3)),
        (nested, jnp.float32(0.5)),
        (long, jnp.float32(0.0)),
    ):
        jax.block_until_ready(jax.jit(function)(argument))
    matrix = jnp.array([[0.0, 0.25, 0.5], [0.75, 1.0, -1.0], [2.0, 0.5, 0.125]])
    jax.block_until_ready(jax.jit(blocks)(matrix))


def main() -> None:
    """Run the programs in a child that dumps, and keep what the tests need."""
    with tempfile.TemporaryDirectory() as directory:
        environment = {
            **os.environ,
            "JAX_PLATFORMS": "cpu",
            "XLA_FLAGS": f"--xla_dump_to={directory} {FLAGS}",
        }
        subprocess.run([sys.executable, __file__, "--inside"], env=environment, check=True)
        for old in HERE.glob("module_*"):
            old.unlink()
        names = (
            "masked", "reaching", "blowup", "product", "scan", "loop", "branch", "quoted", "logged", "off",
            "nested", "long", "blocks",
        )  # fmt: skip
        for name in names:
            for pattern in ("before_optimizations.txt", "cpu_after_optimizations.txt", "snapshot.*.pb"):
                for file in Path(directory).glob(f"module_*.jit_{name}.{pattern}"):
                    shutil.copy(file, HERE / file.name)


if __name__ == "__main__":
    if "--inside" in sys.argv:
        run_all()
    else:
        main()
