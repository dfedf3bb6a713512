"""Stops that a person set, kept for each dump directory and function between sessions."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.stopspec import TAGS, StopSpec, from_json

KEPT = 200


def state_directory() -> Path:
    """Where a person's own state is kept: XDG_STATE_HOME/hlo-tui."""
    base = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(base) / "hlo-tui"


class SavedStops:
    """The stops of one watched directory, by the name of the module: a function compiled anew keeps its stops."""

    def __init__(self, watched: Path, state: Path | None = None) -> None:
        name = hashlib.sha256(os.fsencode(watched.absolute())).hexdigest()[:16]
        self._directory = (state or state_directory()) / "stops"
        self._file = self._directory / f"{name}.json"
        self._watched = watched

    def load(self, module: str) -> tuple[StopSpec, ...]:
        """The stops for a module; the tags where none were saved or what was saved cannot be read."""
        found = []
        for written in self._read().get(module, ()):
            try:
                found.append(from_json(written))
            except HloTuiError:
                # Written by another version: the others are still good.
                continue
        return tuple(found) or (TAGS,)

    def save(self, module: str, specs: tuple[StopSpec, ...]) -> None:
        """Keep the stops of a module; the tags alone are what is there anyway, and are not kept.

        Raises:
            HloTuiError: the state directory cannot be written.
        """
        everything = self._read()
        everything.pop(module, None)
        if specs != (TAGS,):
            everything[module] = [spec.to_json() for spec in specs]
        while len(everything) > KEPT:
            everything.pop(next(iter(everything)))
        text = json.dumps({"directory": str(self._watched.absolute()), "modules": everything}, indent=1)
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
            fresh = self._file.with_suffix(f".{os.getpid()}")
            fresh.write_text(text)
            fresh.replace(self._file)
        except OSError as error:
            raise HloTuiError("the stops were not saved", f"{self._file}: {error.strerror}") from error

    def _read(self) -> dict[str, list[dict[str, object]]]:
        try:
            found = json.loads(self._file.read_text())["modules"]
        except (OSError, ValueError, KeyError, TypeError):
            return {}
        rows = found.items() if isinstance(found, dict) else ()
        return {
            name: [row for row in specs if isinstance(row, dict)]
            for name, specs in rows
            if isinstance(specs, list)
        }
