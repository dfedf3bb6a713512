"""Running the demonstration program so that it dumps into a directory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hlo_tui.errors import HloTuiError

FLAGS = (
    "--xla_dump_hlo_as_text --xla_dump_hlo_as_proto --xla_dump_hlo_snapshots "
    "--xla_dump_hlo_module_re=.*train_step.*"
)
STEPS = 3


def run_demo(directory: Path) -> Path:
    """Run the tagged program to its end; the text of its training step before optimisation.

    Raises:
        HloTuiError: the program failed or dumped nothing.
    """
    directory.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "XLA_FLAGS": f"--xla_dump_to={directory} {FLAGS}"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    command = [sys.executable, "-m", "hlo_tui.job.demo_program", str(STEPS), "0"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    found = sorted(directory.glob("*jit_train_step.before_optimizations.txt"))
    if done.returncode or not found:
        tail = "\n".join(done.stderr.strip().splitlines()[-3:])
        raise HloTuiError("the demonstration program failed", tail, "pip install 'jax[cpu]' and try again")
    return found[-1]
