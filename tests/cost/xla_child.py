"""XLA's own cost analysis in child processes: it aborts the process on some inputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

_CHILD = """
import json, sys
import jax
from jaxlib import _hlo, _jax
client = jax.devices()[0].client
for path in sys.argv[1:]:
    try:
        module = _hlo.hlo_module_from_text(open(path, errors="surrogateescape").read())
        found = _jax.hlo_module_cost_analysis(client, module)
        answer = [found.get(key, 0.0) for key in ("flops", "transcendentals", "bytes accessed")]
    except Exception:
        answer = None
    print(json.dumps(answer), flush=True)
"""


def ask(paths: list[Path]) -> Iterator[tuple[Path, list[float] | None]]:
    """Flops, transcendentals and bytes that XLA counts in each file; None where it refuses it or dies of it."""
    left = list(paths)
    environment = {**os.environ, "JAX_PLATFORMS": "cpu"}
    while left:
        done = subprocess.run(
            [sys.executable, "-c", _CHILD, *map(str, left[:200])],
            capture_output=True, text=True, check=False, env=environment,
        )  # fmt: skip
        lines = done.stdout.splitlines()
        for path, line in zip(left, lines, strict=False):
            yield path, json.loads(line)
        if len(lines) < len(left[:200]):
            assert done.returncode != 0, "the child ended before its work"
            yield left[len(lines)], None
            left = left[len(lines) + 1 :]
        else:
            left = left[len(lines) :]
