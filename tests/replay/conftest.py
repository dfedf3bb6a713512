"""The engine in this process, with one XLA client for all tests of it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from hlo_tui.replay import xla
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.opening import choose_inputs, open_target
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.stopspec import parse_spec
from tests.corpus import DATA

PROGRAMS = DATA / "replay"
STAGES = ("before_optimizations.txt", "cpu_after_optimizations.txt", "snapshot.*.pb")

Open = Callable[..., Debugger]


def program_file(name: str, stage: str = STAGES[0]) -> Path:
    """The dumped file of one of our programs."""
    (found,) = PROGRAMS.glob(f"module_*.jit_{name}.{stage}")
    return found


@pytest.fixture(scope="session")
def backend() -> xla.Backend:
    return xla.start("cpu", 1)


@pytest.fixture(scope="session")
def cache(backend: xla.Backend) -> SliceCache:
    return SliceCache(backend.compile)


@pytest.fixture
def debug(backend: xla.Backend, cache: SliceCache) -> Open:
    """Open a file in a debugger: debug(path, grain="unit", inputs="auto", stops=("tags",), seed=0)."""

    def opened(
        path: Path,
        grain: str = "unit",
        inputs: str = "auto",
        stops: tuple[str, ...] = ("tags",),
        seed: int = 0,
    ) -> Debugger:
        target = open_target(path)
        program = target.program()
        values = choose_inputs(target, program, inputs, seed)
        debugger = Debugger(program, values, backend, cache, target.topology, Grain(grain))
        debugger.set_stops([parse_spec(text) for text in stops])
        return debugger

    return opened


def forward(debugger: Debugger) -> list[dict]:
    """All stops from here to the end, and the end."""
    events = []
    while True:
        events.append(debugger.move("continue"))
        if events[-1]["event"] != "stop":
            return events


def backward(debugger: Debugger) -> list[dict]:
    """All stops from here to the beginning, and the beginning."""
    events = []
    while True:
        events.append(debugger.move("continue", backward=True))
        if events[-1]["event"] != "stop":
            return events
