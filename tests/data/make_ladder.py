"""Makes the dump in `tests/data/ladder`: one function on all its rungs, from the jaxpr to LLVM IR.

Run it as `python tests/data/make_ladder.py`; it needs jax 0.10, and replaces what is there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

# The compiler writes a file for each function; a few are enough to go to.
KEPT = (
    "jaxpr.txt", "before_optimizations.txt", "cpu_after_optimizations.txt", "wrapped_tanh.ir-with-opt.ll",
    "broadcast_multiply_fusion_kernel_module.ir-with-opt.ll", "multiply_multiply_fusion_kernel_module.ir-with-opt.ll",
)  # fmt: skip


def program() -> None:
    """A loop, a branch, a function that is called, and a product."""
    import jax
    import jax.numpy as jnp

    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

    def climb(x, w):
        def body(carry, step):
            carry = jnp.tanh(carry @ w) + step
            return carry, carry.sum()

        carry, sums = jax.lax.scan(body, x, jnp.arange(3.0))
        branched = jax.lax.cond(sums.sum() > 0, jnp.exp, lambda c: jnp.sin(c) * 2.0, carry)
        return jax.nn.silu(branched) * branched * branched, sums

    jax.block_until_ready(jax.jit(climb)(jnp.ones((4, 8)) / 8, jnp.eye(8)))


def main() -> None:
    """Run the program once and keep what the tests read."""
    kept = Path(__file__).parent / "ladder"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    with tempfile.TemporaryDirectory() as scratch:
        flags = f"--xla_dump_to={scratch} --xla_dump_hlo_module_re=jit_climb"
        into = {"JAX_DUMP_IR_TO": scratch, "JAX_DUMP_IR_MODES": "jaxpr"}
        subprocess.run(
            [sys.executable, __file__, "program"],
            env={**os.environ, **into, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
            check=True,
        )
        for path in sorted(Path(scratch).rglob("*climb*")):
            if path.is_file() and path.name.endswith(KEPT):
                shutil.copy(path, kept / path.name)
            if path.is_dir():
                (kept / path.name).mkdir()
                shutil.copy(path / "module.mlir", kept / path.name / "module.mlir")


if __name__ == "__main__":
    program() if sys.argv[1:] == ["program"] else main()
