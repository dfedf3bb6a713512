"""Makes the dumps in this directory: a training step with donated arguments, and sums over two devices.

Run it as `python tests/data/memory/programs.py`; it needs jax, and replaces what is there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FLAGS = "--xla_dump_hlo_as_text --xla_dump_hlo_as_proto --xla_force_host_platform_device_count=2"
KEPT = (
    "before_optimizations.txt",
    "cpu_after_optimizations.txt",
    "cpu_after_optimizations.hlo.pb",
    "-buffer-assignment.txt",
    "-live-range.txt",
    "-memory-usage-report.txt",
    "-memory-usage-report.pb",
)


def program() -> None:
    """The programs whose dumps are kept."""
    import functools

    import jax
    import jax.numpy as jnp
    from jax.sharding import Mesh, NamedSharding, PartitionSpec

    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

    def loss(weights, batch):
        def layer(state, weight):
            with jax.named_scope("layer"):
                return jnp.tanh(state @ weight), None

        with jax.named_scope("layers"):
            state, _ = jax.lax.scan(layer, batch, weights)
        return jnp.sum(state**2)

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def train(weights, momentum, batch, rate):
        gradient = jax.grad(loss)(weights, batch)
        momentum = 0.9 * momentum + gradient
        return weights - rate * momentum, momentum, jnp.abs(gradient).max()

    @functools.partial(jax.jit, donate_argnums=(0, 1))
    def exchanged(state, other):
        """Each donated argument becomes the result that lies in the other one: one has to be copied."""
        return other + 1, state

    weights, batch = jnp.ones((4, 64, 64)) * 0.01, jnp.ones((32, 64))
    jax.block_until_ready(train(weights, jnp.zeros_like(weights), batch, 0.1))
    jax.block_until_ready(exchanged(jnp.ones((64, 64)), jnp.zeros((64, 64))))
    mesh = Mesh(jax.devices()[:2], ("data",))
    spread = NamedSharding(mesh, PartitionSpec("data"))

    @jax.jit
    def reduced(parts, weights):
        return (parts @ weights).sum(0), jax.lax.with_sharding_constraint(
            parts * 2, NamedSharding(mesh, PartitionSpec())
        )

    jax.block_until_ready(reduced(jax.device_put(jnp.ones((8, 16)), spread), jnp.ones((16, 4))))


def main() -> None:
    """Run the programs and keep what the tests read."""
    kept = Path(__file__).parent
    for path in kept.glob("module_*"):
        path.unlink()
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run(
            [sys.executable, __file__, "program"],
            env={
                **os.environ,
                "JAX_PLATFORMS": "cpu",
                "XLA_FLAGS": f"{FLAGS} --xla_dump_to={scratch} --xla_dump_hlo_module_re=jit_(train|exchanged|reduced)",
            },
            check=True,
        )
        for path in sorted(Path(scratch).iterdir()):
            if path.is_file() and path.name.endswith(KEPT):
                shutil.copy(path, kept / path.name)


if __name__ == "__main__":
    program() if sys.argv[1:] == ["program"] else main()
