"""The options of `hlo-tui replay` and `hlo-tui executions`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from hlo_tui.commands import running
from hlo_tui.commands.numbers import count, tolerance
from hlo_tui.replay import arguments

WISHES = {
    "show": (
        "VALUE",
        "its summary at every stop where it is there; of a slice the elements: 'dot.3[0:4, ::2]'",
    ),
    "origin": ("VALUE", "where one element comes from, 'dot.3[1,7]'; without an index the worst one"),
    "save": ("VALUE=FILE.npy", "write it; each further run of it beside, as FILE-2.npy"),
    "compare": (
        "VALUE=OTHER",
        "with OTHER: last (its run before), 'iteration 5', 'partition 1', body, unit or whole (computed in that "
        "grain), unchanged (as without --set), FILE.npy; exit code 1 where it differs",
    ),
}


def add(commands: Any) -> None:
    """Add both to the commands."""
    replay = commands.add_parser("replay", help="run a module and print its stops and values")
    arguments.of_command(replay)
    _of_values(replay)
    replay.set_defaults(run=running.replay)

    runs = commands.add_parser("executions", help="the health of each recorded run of a module, oldest first")
    runs.add_argument("path", type=Path, metavar="DIR")
    runs.add_argument("module", metavar="MODULE", help="a module's name, or #NUMBER")
    runs.add_argument("--halve", action="store_true", help="find the first bad run by halving")
    runs.add_argument(
        "--break", dest="stops", action="append", metavar="SPEC", help="what to look at instead of the tags"
    )
    runs.add_argument("--json", action="store_true", help="one JSON object a line")
    runs.set_defaults(run=running.executions)


def _of_values(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group(
        "values",
        "What is done with single values at every stop where they have run, and at the end; each can be given several "
        "times. VALUE is [COMPUTATION/]NAME, with an element behind it where it is a tuple, while.6{1}, and a slice as "
        "NumPy has it.",
    )
    for kind, (form, words) in WISHES.items():
        group.add_argument(f"--{kind}", dest=kind, action="append", default=[], metavar=form, help=words)
    group.add_argument(
        "--set",
        dest="settings",
        action="append",
        default=[],
        metavar="SPEC=VALUE",
        help="what if: a number, finite (1 for what is not) or FILE.npy in the place of what is computed, the first "
        "time that SPEC (as for --break) holds: 'mul.3=0 if iteration==2', first:nonfinite=finite",
    )
    group.add_argument(
        "--partition",
        type=count,
        default=0,
        metavar="N",
        help="whose values, where there are several; 0 if not given",
    )
    group.add_argument(
        "--tolerance",
        type=tolerance,
        default=1e-3,
        help="of --compare: absolute and relative; 1e-3 if not given",
    )
