"""Commands around a person's own job: flags, run, doctor."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from hlo_tui.commands.saying import say
from hlo_tui.errors import HloTuiError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hlo_tui.job.probing import Installed
    from hlo_tui.job.settings import Settings

# Where `flags` lets a job dump if nothing else is said; the README has it too.
_USUAL = Path("/tmp/xladump")
# Nanoseconds after which a file that nobody writes to any more is as it will stay.
_LATER = 3600 * 10**9


def flags(parsed: argparse.Namespace) -> int:
    directory = parsed.dir or _USUAL
    found, there, tried = _settings(parsed, directory, ())
    version = parsed.jaxlib or (there.jaxlib if there is not None else "")
    if parsed.json:
        told = {
            "recipes": [recipe.name for recipe in found.recipes],
            "directory": found.directory,
            "python": there.python if there is not None else None,
            "jaxlib": version or None,
            "tried": tried,
            "environment": dict(found.environment),
            "warnings": list(found.warnings),
            "shell": found.shell(),
        }
        print(json.dumps(told))
        return 0
    for warning in found.warnings:
        say(f"note: {warning}")
    if tried and there is not None:
        say(f"tried with {there.words}")
    else:
        say(f"not tried: by the table for {f'jaxlib {version}' if version else 'every jaxlib'}")
    say(f"paste this before the job starts, then: hlo-tui {shlex.quote(found.directory)}")
    print(found.shell())
    return 0


def _settings(
    parsed: argparse.Namespace, directory: Path, command: Sequence[str]
) -> tuple[Settings, Installed | None, bool]:
    """The settings for a directory, the Python they are for, and whether they were tried there."""
    from hlo_tui.job import probing
    from hlo_tui.job.recipes import chosen
    from hlo_tui.job.settings import settings

    recipes = chosen(parsed.recipes)
    there = None
    try:
        there = probing.installed(probing.find_python(parsed.python, command))
    except HloTuiError:
        # A version that is named needs no Python here.
        if parsed.python or not parsed.jaxlib:
            raise
    wanted = parsed.jaxlib or (there.jaxlib if there is not None else "")
    if there is not None and wanted != there.jaxlib:
        there = None
    other = there is not None and not there.jaxlib and bool(there.versions)
    trying = there is not None and bool(there.versions) and not parsed.no_try
    version = None if other and trying else wanted

    def make(root: str | os.PathLike[str]) -> Settings:
        return settings(recipes, root, os.environ, jaxlib=version, module=parsed.module)

    found = make(directory)
    if there is None or not trying:
        return found, there, False
    if sys.stderr.isatty():
        say(f"trying the flags with {there.words} ...")
    ran, unwritten = probing.try_settings(there, make)
    return replace(found, warnings=(*found.warnings, *unwritten)), there, ran


def run(parsed: argparse.Namespace) -> int:
    from hlo_tui.job.terminal import check_command

    check_command(parsed.job)
    directory = parsed.dir or Path(tempfile.mkdtemp(prefix="hlo-tui-"))
    found, _, _ = _settings(parsed, directory, parsed.job)
    for warning in found.warnings:
        say(f"note: {warning}")
    if directory.is_dir() and any(directory.iterdir()):
        say(f"note: {directory} is not empty: the numbers of modules are each run's own and mix")
    directory.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **found.environment}
    if parsed.headless:
        return _run_headless(parsed, directory, environment)
    return _run_on_screen(parsed.job, directory, environment)


def _run_headless(parsed: argparse.Namespace, directory: Path, environment: dict[str, str]) -> int:
    from hlo_tui.dump import doctor, listing
    from hlo_tui.job.terminal import run_here

    say(f"dumping into {directory}")
    code = run_here(parsed.job, environment, sys.stderr.fileno() if parsed.json else None)
    # It has ended: what is not whole by now will not be.
    found = listing.load(directory, time.time_ns() + _LATER)
    if parsed.json:
        told = {"command": parsed.job, "exit_code": code, "dump": listing.to_json(found)}
        print(json.dumps(told))
    else:
        print(listing.to_text(found))
    remarks = doctor.remarks(found.catalog, str(directory)) or doctor.explain_empty(directory)
    for line in remarks:
        say(line)
    _say_end(parsed.job, code, directory)
    return code


def _say_end(command: Sequence[str], code: int, directory: Path) -> None:
    words = f"ended with exit code {code}" if code else "is done"
    say(f"{os.path.basename(command[0])} {words}; its dump: hlo-tui {shlex.quote(str(directory))}")


def _run_on_screen(command: Sequence[str], directory: Path, environment: dict[str, str]) -> int:
    from hlo_tui.ui import launch

    launch.check_terminal()
    from hlo_tui.job.terminal import Job

    job = Job(command, environment, os.get_terminal_size(1))
    try:
        launch.run(directory, job=job)
    finally:
        if job.code is None:
            say("the screen is closed and the job runs on, here: ctrl+c interrupts it")
        code = job.pass_through()
        _say_end(command, code, directory)
    return code


def doctor(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import diagnosis, findings, listing, processes
    from hlo_tui.dump.catalog import Catalog

    catalog, unread = Catalog(), {}
    if parsed.path.is_dir():
        found = listing.load(parsed.path)
        catalog, unread = found.catalog, found.unread
    told = diagnosis.diagnose(parsed.path, catalog, unread, os.environ, list(processes.with_xla()))
    if parsed.json:
        print(json.dumps(findings.to_json(str(parsed.path), told)))
    else:
        print(findings.to_text(told))
    return int(not catalog.modules or any(one.state == findings.FOUND for one in told))
