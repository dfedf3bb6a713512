"""Asking a Python in a child process: which XLA it has, and whether XLA takes some flags there."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from hlo_tui.errors import HloTuiError
from hlo_tui.job.settings import Settings

# What a framework's module may have been installed as.
_PACKAGES = {
    "jaxlib": ("jaxlib",),
    "jax": ("jax",),
    "tensorflow": ("tensorflow", "tensorflow-cpu", "tensorflow-rocm", "tf-nightly"),
    "torch_xla": ("torch_xla",),
    "libtpu": ("libtpu", "libtpu-nightly"),
}
_ASK = """
import importlib.metadata as m, json
found = {}
for module, names in %r.items():
    for name in names:
        try:
            found.setdefault(module, m.version(name))
        except m.PackageNotFoundError:
            pass
print(json.dumps(found))
""" % (_PACKAGES,)  # noqa: UP031
# The smallest program that makes each framework read its flags, compile and run something.
_TRY = {
    "jaxlib": "import jax; jax.block_until_ready(jax.jit(lambda x: x * 2 + 1)(1.0))",
    "tensorflow": (
        "import tensorflow as tf; tf.function(lambda x: x * 2 + 1, jit_compile=True)(tf.constant(1.0)).numpy()"
    ),
    "torch_xla": "import torch, torch_xla; (torch.ones(2, device=torch_xla.device()) * 2 + 1).cpu()",
}
_SECONDS = 120.0
_UNKNOWN = re.compile(r"Unknown flags? in XLA_FLAGS: *--(\w+)")
# What frameworks log at every start.
_CHATTER = re.compile(r"[IW]\d{4} |WARNING: All log messages")


@dataclass(frozen=True, slots=True)
class Installed:
    """What a Python has.

    Attributes:
        python: its path.
        versions: of what was found among jaxlib, jax, tensorflow, torch_xla and libtpu.
    """

    python: str
    versions: Mapping[str, str]

    @property
    def jaxlib(self) -> str:
        """The version of jaxlib, empty where there is none."""
        return self.versions.get("jaxlib", "")

    @property
    def words(self) -> str:
        """What it is, in a few words."""
        names = [f"{name} {version}" for name, version in self.versions.items() if name != "jax"]
        return f"{', '.join(names) or 'no jaxlib'} in {self.python}"


class Tried(NamedTuple):
    """What came of trying some settings.

    Attributes:
        ran: whether there was anything to try them with.
        warnings: what was not written.
    """

    ran: bool
    warnings: tuple[str, ...] = ()


def find_python(given: str | None, command: Sequence[str] = ()) -> str:
    """The Python that a job runs with: the given one, the command's own, else `python` or `python3`.

    Raises:
        HloTuiError: there is none.
    """
    own = command[0] if command and os.path.basename(command[0]).startswith("python") else None
    names = [given] if given else [own] if own else ["python", "python3"]
    for name in names:
        found = shutil.which(name)
        if found:
            return found
    raise HloTuiError(f"no {names[0]} here", "it is not on the PATH", "name the job's Python with --python")


def installed(python: str) -> Installed:
    """Ask a Python what it has. Nothing is imported there but the list of its packages.

    Raises:
        HloTuiError: it does not answer.
    """
    done = _run([python, "-c", _ASK], os.environ, 30.0)
    try:
        versions = json.loads(done.stdout.splitlines()[-1])
    except (ValueError, IndexError) as error:
        tail = "\n".join(done.stderr.strip().splitlines()[-2:])
        raise HloTuiError(
            f"{python} is no Python that answers", tail, "name the job's Python with --python"
        ) from error
    return Installed(python, {str(name): str(version) for name, version in versions.items()})


def try_settings(there: Installed, make: Callable[[str], Settings]) -> Tried:
    """Run the smallest program with some settings, on the CPU, in a child process that dumps elsewhere.

    Args:
        there: where to.
        make: gives the settings for a directory.

    Returns:
        What was found out: whether anything was run (nothing is where none of jaxlib, tensorflow and torch_xla is
        there), and what it did not write though a recipe is for it.

    Raises:
        HloTuiError: that program did not get to its end, and the name of the flag where XLA tells it.
    """
    framework = next((name for name in _TRY if name in there.versions), "")
    if not framework:
        return Tried(False)
    with tempfile.TemporaryDirectory(prefix="hlo-tui-try-") as directory:
        settings = make(directory)
        environment = {
            **os.environ, **settings.environment, "JAX_PLATFORMS": "cpu", "PJRT_DEVICE": "CPU",
            "CUDA_VISIBLE_DEVICES": "", "TF_CPP_MIN_LOG_LEVEL": "2",
        }  # fmt: skip
        done = _run([there.python, "-c", _TRY[framework]], environment, _SECONDS, directory)
        missing = [
            one.name for one in settings.recipes if one.leaves and not any(Path(directory).rglob(one.leaves))
        ]
    if done.returncode == 0:
        what = f"{framework} {there.versions[framework]}"
        return Tried(True, tuple(f"{name}: {what} wrote nothing of it when it was tried" for name in missing))
    found = _UNKNOWN.search(done.stderr)
    if found is not None:
        raise HloTuiError(
            f"this XLA has no flag --{found[1]}",
            f"{there.words}: it would end the job at its start",
            "take it out of your XLA_FLAGS" if f"--{found[1]}" in os.environ.get("XLA_FLAGS", "") else "",
        )
    how = signal.Signals(-done.returncode).name if done.returncode < 0 else f"exit code {done.returncode}"
    said = [line[:300] for line in done.stderr.splitlines() if line.strip() and not _CHATTER.match(line)]
    raise HloTuiError(
        f"a small {framework} program ended with {how} under these flags",
        "\n".join([f"{framework} {there.versions[framework]} in {there.python}", *said[-3:]]),
        "leave a recipe out; --no-try takes them as they are",
    )


def _run(
    command: Sequence[str], environment: Mapping[str, str], seconds: float, directory: str | None = None
) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, env=environment, cwd=directory, capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=seconds, check=False,
        )  # fmt: skip
    except OSError as error:
        raise HloTuiError(f"{command[0]} cannot be run", str(error.strerror)) from error
    except subprocess.TimeoutExpired as error:
        raise HloTuiError(
            f"{command[0]} did not answer within {seconds:.0f} seconds", "", "--no-try prints without trying"
        ) from error
