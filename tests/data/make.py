"""Makes the dumps in `tests/data/step`: a small tagged program, dumped in every form that is read here.

Run it as `python tests/data/make.py`; it needs jax, and replaces what is there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FORMS = {
    "proto": "--xla_dump_hlo_as_text --xla_dump_hlo_as_proto --xla_dump_hlo_snapshots",
    "packed": "--xla_dump_hlo_as_proto --xla_dump_compress_protos",
    "container": "--xla_dump_hlo_as_proto --xla_dump_hlo_unoptimized_snapshots",
    "text": "--xla_dump_hlo_as_text --xla_dump_hlo_unoptimized_snapshots",
}
KEPT = {
    "proto": (
        "before_optimizations.txt",
        "before_optimizations.hlo.pb",
        "cpu_after_optimizations.txt",
        "cpu_after_optimizations.hlo.pb",
        "snapshot",
    ),
    "packed": ("cpu_after_optimizations.hlo.pb.gz",),
    "container": ("hlo_unoptimized_snapshot.pb",),
    "text": ("hlo_unoptimized_snapshot.txt",),
}


def program() -> None:
    """The program whose dumps are kept: a loop, a tag, and arguments of several element types."""
    import jax
    import jax.numpy as jnp
    import numpy as np
    from jax.experimental.xla_metadata import set_xla_metadata

    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

    def step(weights, batch, count, mask, phase, small):
        def body(_, state):
            state = jnp.tanh(state @ weights)
            return set_xla_metadata(state, breakpoint=True, note='a "quoted" {value}')

        state = jax.lax.fori_loop(0, count, body, batch)
        table = np.array([[np.nan, -0.0, np.inf], [1.5, 0.1, -3.0]], np.float32)
        scaled = jnp.where(mask, state, 0).astype(jnp.bfloat16)
        return scaled.sum() + jnp.real(phase).sum().astype(jnp.bfloat16), table, small + 1, jnp.arange(16)

    arguments = (
        jnp.linspace(-1, 1, 9, dtype=jnp.float32).reshape(3, 3),
        jnp.linspace(0, 1, 6, dtype=jnp.float32).reshape(2, 3),
        jnp.int32(4),
        jnp.array([[True, False, True], [False, True, True]]),
        jnp.array([1 + 2j, -0.5j], jnp.complex64),
        jnp.array([1, -2, 3], jnp.int4),
    )
    jax.block_until_ready(jax.jit(step)(*arguments))


def main() -> None:
    """Run the program once for each form and keep what the tests read."""
    kept = Path(__file__).parent / "step"
    shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir()
    for form, flags in FORMS.items():
        with tempfile.TemporaryDirectory() as scratch:
            flags = f"--xla_dump_to={scratch} --xla_dump_hlo_module_re=jit_step {flags}"
            subprocess.run(
                [sys.executable, __file__, "program"],
                env={**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags},
                check=True,
            )
            for path in sorted(Path(scratch).iterdir()):
                for ending in KEPT[form]:
                    if path.is_file() and ending in path.name and path.name.split(ending)[1] in ("", ".pb"):
                        shutil.copy(path, kept / f"jit_step.{ending}{path.name.split(ending)[1]}")
                    if ending == "snapshot" and f".{ending}." in path.name:
                        shutil.copy(path, kept / "jit_step.snapshot.0.pb")


if __name__ == "__main__":
    program() if sys.argv[1:] == ["program"] else main()
