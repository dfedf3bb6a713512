"""The options of a replay on the command line."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hlo_tui.replay.state import Options


def of_command(parser: argparse.ArgumentParser) -> None:
    """What `hlo-tui replay` takes."""
    parser.add_argument("path", type=Path, metavar="PATH", help="a file, or with MODULE a dump directory")
    parser.add_argument(
        "module", nargs="?", metavar="MODULE", help="a module's name, or #NUMBER: its first stage is run"
    )
    parser.add_argument("--member", help="which module, where the file holds several")
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--break",
        dest="stops",
        action="append",
        metavar="SPEC",
        help="stop at NAME, COMPUTATION/NAME, op:OPCODE, name:REGEX, line:FILE:N, tag:KEY=VALUE or "
        "first:nonfinite (first:nan, first:inf) instead of at the tags; with @ends behind it only at the first and "
        "last of a block (tags@ends), with @once only one time, with ' if CONDITION' only then: abs>1e4, iteration==7",
    )
    parser.add_argument(
        "--supply",
        dest="supplies",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a value for what cannot be computed, or is made because an infeed or a recv waits for it: zeros, made, "
        "FILE.npy or operand:N",
    )
    parser.add_argument(
        "--standins",
        metavar="FILE",
        help="Python functions of your own for custom calls, infeed and recv, instead of ~/.config/hlo-tui/standins.py",
    )
    parser.add_argument(
        "--compare-grains",
        action="store_true",
        help="run it in all grains instead, and name the fusions that compute something else than their instructions",
    )
    _of_limits(parser)
    of_replay(parser)


def of_replay(parser: argparse.ArgumentParser) -> None:
    """What the screen takes as well."""
    group = parser.add_argument_group("replay")
    group.add_argument(
        "--inputs",
        default="auto",
        metavar="made|zeros|ones|normal|large|boundary|FILE",
        help="a snapshot, .npz or .npy file; by itself the module's own snapshot, else made values",
    )
    group.add_argument("--seed", type=int, default=0, help="of made inputs")
    group.add_argument(
        "--grain", choices=("whole", "unit", "body"), default="unit", help="how much XLA compiles at a time"
    )
    group.add_argument(
        "--platform", default="cpu", help="the CPU unless asked for in words: the job owns the accelerator"
    )
    group.add_argument(
        "--allow-memory", action="store_true", help="run what needs more than half of the free memory"
    )


def _size(text: str) -> int:
    from hlo_tui.replay.memory import parse_size

    try:
        return parse_size(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _of_limits(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--time-limit",
        type=float,
        default=600.0,
        metavar="SECONDS",
        help="that the way to the next stop may take (default 600)",
    )
    parser.add_argument(
        "--memory-limit", type=_size, metavar="SIZE", help="that the engine may hold, 8GB or 500MB"
    )
    parser.add_argument(
        "--save-crash",
        type=Path,
        metavar="DIR",
        help="where to save what XLA dies of, with a script that does it again; a .zip as well",
    )


def options(parsed: argparse.Namespace, path: Path | None = None) -> Options:
    """How a module is to be run, from what `hlo-tui replay` was given; `path` where that is another file."""
    from hlo_tui.replay.state import Options

    return Options(
        path or parsed.path,
        member=parsed.member,
        inputs=parsed.inputs,
        seed=parsed.seed,
        grain=parsed.grain,
        platform=parsed.platform,
        supplies=tuple(parsed.supplies),
        standins=parsed.standins,
        allow_memory=parsed.allow_memory,
        memory_limit=parsed.memory_limit,
        time_limit=parsed.time_limit,
    )
