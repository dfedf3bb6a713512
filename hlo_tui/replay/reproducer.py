"""A crash of XLA as a small program of its own: the slice, what it was given, and a script that needs only jax."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.hlo import loading
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.atwork import Doing, Phase
from hlo_tui.replay.client import Client, describe_exit, environment
from hlo_tui.replay.reopening import Request
from hlo_tui.replay.state import Options

Json = dict[str, Any]

# Seconds that doing it all again may take, and one run of the script that comes out of it.
_REHEARSAL = 600
_TRIAL = 120
_SCRIPT = Path(__file__).with_name("reproduced.py")


@dataclass(frozen=True, slots=True)
class Crash:
    """A death of a worker by its own fault.

    Attributes:
        options: how the module was run.
        doing: what was being done.
        status: how the process ended; negative for a signal.
        stderr: its last lines.
        requests: what it was asked, from the beginning; the last one is what it died of.
    """

    options: Options
    doing: Doing
    status: int
    stderr: tuple[str, ...]
    requests: tuple[Request, ...]

    def words(self) -> str:
        """What happened, in one line."""
        phase, computation, instruction = self.doing
        where = f"{instruction} in {computation}" if instruction else computation or self.options.path.name
        return visible(f"{describe_exit(self.status)}: {phase} of {where}")


def export(crash: Crash, target: Path) -> Json:
    """Write a crash down as a reproducer: the worker is made to die once more for it.

    Args:
        crash: what happened.
        target: a directory that is not there yet or empty, or a .zip that is not there yet.

    Returns:
        "path", "files", and "again": how the finished script ended when it was tried, in words; empty where it did
        not end as the worker did.

    Raises:
        HloTuiError: it cannot be written there.
        EngineError: it did not happen again.
    """
    _check_target(crash, target)
    with tempfile.TemporaryDirectory(prefix="hlo-tui-crash-") as scratch:
        directory = Path(scratch)
        if crash.doing.phase is Phase.PARSE:
            _copy_text(crash, directory)
        else:
            _rehearse(crash, directory)
        shutil.copyfile(_SCRIPT, directory / "run.py")
        again = _try(directory)
        files = sorted(path.name for path in directory.iterdir())
        (directory / "report.txt").write_text(_report(crash, again, files))
        files.append("report.txt")
        try:
            _move(directory, files, target)
        except OSError as error:
            raise HloTuiError("the crash could not be saved", f"{target}: {error.strerror}") from error
    return {"path": str(target), "files": files, "again": again}


def _check_target(crash: Crash, target: Path) -> None:
    watched = crash.options.path.absolute().parent.resolve()
    if target.resolve().is_relative_to(watched):
        raise HloTuiError("not saved", f"{target} is inside the watched directory", "save it somewhere else")
    if target.exists() and (target.is_file() or any(target.iterdir())):
        raise HloTuiError("not saved", f"{target} is there already", "give another name")


def _copy_text(crash: Crash, directory: Path) -> None:
    options = crash.options
    source = loading.open_document(options.path, options.member).source
    (directory / "module.hlo").write_bytes(source.read(0, source.size))
    _add_about(crash, directory, {"platform": options.platform, "devices": 1, "inputs": None})


def _add_about(crash: Crash, directory: Path, about: Json) -> None:
    phase, computation, instruction = crash.doing
    said = {"phase": phase, "computation": computation, "instruction": instruction, **about}
    (directory / "about.json").write_text(json.dumps(said, indent=1) + "\n")


def _rehearse(crash: Crash, directory: Path) -> None:
    """Ask a fresh worker the same again; it writes down what it does with the instruction until it dies."""
    over = threading.Event()
    answered: set[int] = set()

    def heard(message: Json) -> None:
        answered.add(message.get("id", 0))
        if answered >= asked:
            over.set()

    asked: set[int] = {-1}
    client = Client(heard, lambda _: over.set())
    try:
        numbers = {
            client.request(method, _captured(crash, params, directory)) for method, params in crash.requests
        }
        asked = numbers
        if not answered >= asked:
            over.wait(_REHEARSAL)
    except EngineError:
        # It died before everything was asked: all the better.
        over.wait(_REHEARSAL)
    finally:
        client.close()
    if not (directory / "module.pb").is_file():
        message = "the worker came through without doing it"
        raise EngineError(
            "it did not happen again", message, "it may depend on what else the machine was doing"
        )
    _add_about(crash, directory, json.loads((directory / "about.json").read_text()))


def _captured(crash: Crash, params: Json, directory: Path) -> Json:
    if "platform" not in params:
        return params
    capture = {"wanted": crash.doing.key(), "directory": str(directory)}
    return {**params, "threads": 1, "stored": False, "capture": capture}


def _try(directory: Path) -> str:
    """Run the script; how it ended, where a signal ended it."""
    try:
        done = subprocess.run(
            [sys.executable, "run.py"],
            cwd=directory,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_TRIAL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return ""
    return describe_exit(done.returncode) if done.returncode < 0 else ""


def _report(crash: Crash, again: str, files: list[str]) -> str:
    tried = f"run.py ended with {again}" if again else "run.py did not end that way when it was tried"
    lines = [crash.words(), f"file: {crash.options.path.name}, grain: {crash.options.grain}", tried, ""]
    about = {
        "module.hlo": "the module",
        "module.pb": "the same as a proto, which run.py takes",
        "inputs.npz": "what it was given",
    }
    lines += [f"{name}: {words}" for name, words in about.items() if name in files] + [""]
    return "\n".join([*lines, "The last lines of standard error:", *map(visible, crash.stderr), ""])


def _move(directory: Path, files: list[str], target: Path) -> None:
    if target.suffix == ".zip":
        with zipfile.ZipFile(target, "x", zipfile.ZIP_DEFLATED) as archive:
            for name in files:
                archive.write(directory / name, name)
        return
    target.mkdir(parents=True, exist_ok=True)
    for name in files:
        shutil.copyfile(directory / name, target / name)
