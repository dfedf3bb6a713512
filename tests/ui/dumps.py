"""Small dumps for the screen's tests, written by hand."""

from __future__ import annotations

import os
import time
from pathlib import Path

# Noon of a day of its own, so that times on the screen stay the same.
WHEN = 1_700_000_000

_DATA = Path(__file__).parent / "data"
TRAIN = (_DATA / "train.hlo").read_text("utf-8")
EVAL = (_DATA / "eval.hlo").read_text("utf-8")


def helper(name: str) -> str:
    """A module of the kind that frameworks compile by the dozen."""
    return f"""\
HloModule {name}, entry_computation_layout={{(f32[2]{{0}})->f32[2]{{0}}}}

ENTRY %main.2 (x: f32[2]) -> f32[2] {{
  %x = f32[2]{{0}} parameter(0)
  ROOT %neg.1 = f32[2]{{0}} negate(%x)
}}
"""


def write(directory: Path, number: int, name: str, stage: str, text: str, at: int = WHEN) -> Path:
    """Write one stage of a module as XLA names it."""
    directory.mkdir(exist_ok=True, parents=True)
    path = directory / f"module_{number:04d}.{name}.{stage}.txt"
    path.write_text(text)
    os.utime(path, (at, at))
    return path


def make(directory: Path, helpers: int = 5) -> Path:
    """A dump with a tagged training step in three stages, an evaluation, and some helpers."""
    train = TRAIN.replace("is_scheduled=true, ", "")
    write(directory, 12, "jit_train_step", "before_optimizations", train)
    write(directory, 12, "jit_train_step", "0001.simplification.after_algsimp.before_dce", train, WHEN + 1)
    write(directory, 12, "jit_train_step", "cpu_after_optimizations", TRAIN, WHEN + 2)
    write(directory, 14, "jit_eval", "before_optimizations", EVAL, WHEN + 3)
    for number in range(helpers):
        name = f"jit_helper_{number}"
        write(directory, 20 + number, name, "before_optimizations", helper(name), WHEN + 4)
    return directory


def fix_time(monkeypatch) -> None:
    """Make times of day the same everywhere."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
