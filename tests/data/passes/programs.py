"""The programs whose dumps are beside this file, pass by pass; run `python programs.py` to make them again.

`inverse` and `scaled` are compiled wrongly by the jaxlib they were made with (0.10.2), which is what they are for:
the algebraic simplifier takes log(exp(x)) for x, and the code generator multiplies before it takes a maximum.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
FLAGS = "--xla_dump_hlo_as_text --xla_dump_hlo_snapshots --xla_dump_hlo_pass_re=.*"
# Stages of the whole module, and one run.
ENDS = ("before_optimizations.txt", "cpu_after_optimizations.txt", "snapshot.*.pb")
STEPS = "[0-9][0-9][0-9][0-9].*.txt"
KEPT = {
    "inverse": (*ENDS, STEPS),
    "scaled": ENDS,
    "tagged": (*ENDS, STEPS),
    "again": (*ENDS[:2], "debug_options"),
}


def run_all() -> None:
    """Compile and run each program; `again` with several arguments."""
    import jax
    import jax.numpy as jnp
    from jax.experimental.xla_metadata import set_xla_metadata as tag

    jax.config.update("jax_hlo_source_file_canonicalization_regex", ".*/")

    def inverse(x):
        return jnp.log(jnp.exp(x))

    def scaled(x):
        return jax.nn.softmax(x / 3.0)

    def tagged(x, n):
        first = tag(x + 2.0, breakpoint=True)
        merged = first + 1.0
        lost = tag(jnp.reshape(merged, (2, 2)), breakpoint="shape")

        def body(_, state):
            return tag(jnp.tanh(state * 0.5), breakpoint="body")

        return jax.lax.fori_loop(0, n, body, lost).sum()

    def again(x, y):
        return x * 2.0 + y

    calls = (
        (inverse, (jnp.array([1.0, 89.0, 120.0]),)),
        (scaled, (jnp.array([3.1e10, 3e10, 1.0, -2e10]),)),
        (tagged, (jnp.arange(4.0), 3)),
        (again, (jnp.ones(3), 1.0)),
        (again, (jnp.ones(5), 1.0)),
        (again, (jnp.ones(5, jnp.int32), 1.0)),
    )
    for function, arguments in calls:
        jax.block_until_ready(jax.jit(function)(*arguments))
    jax.block_until_ready(jax.jit(again, donate_argnums=0)(jnp.ones(5), 1.0))


def main() -> None:
    """Run the programs in a child that dumps, and keep what the tests need."""
    with tempfile.TemporaryDirectory() as directory:
        flags = f"--xla_dump_to={directory} --xla_dump_hlo_module_re=jit_({'|'.join(KEPT)})$ {FLAGS}"
        environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": flags}
        subprocess.run([sys.executable, __file__, "--inside"], env=environment, check=True)
        for old in HERE.glob("module_*"):
            old.unlink()
        for name, patterns in KEPT.items():
            for pattern in patterns:
                before = b""
                for file in sorted(Path(directory).glob(f"module_*.jit_{name}.{pattern}")):
                    if pattern == STEPS and name == "tagged" and file.read_bytes() == before:
                        # Its unchanged stages would be most of all that is here; those of `inverse` are enough.
                        continue
                    before = file.read_bytes()
                    # The file tells where it was dumped, which is of no use here.
                    if file.suffix == ".debug_options":
                        text = file.read_text()
                        kept = [line for line in text.splitlines(True) if not line.startswith("xla_dump_to")]
                        (HERE / file.name).write_text("".join(kept))
                    else:
                        shutil.copy(file, HERE / file.name)


if __name__ == "__main__":
    if "--inside" in sys.argv:
        run_all()
    else:
        main()
