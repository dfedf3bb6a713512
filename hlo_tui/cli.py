"""Commands and exit codes: 0 done, 1 a difference or fault was found, 2 wrong use or unreadable input, 3 the
engine.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
from pathlib import Path
from typing import Any, NoReturn

from hlo_tui import __version__
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible

COMMANDS = ("list", "show", "replay", "executions", "demo")
_SCREEN = """hlo-tui PATH opens the screen on a dump directory or one file; the commands do without a screen:

  hlo-tui list DIR            modules, stages, passes, side files
  hlo-tui show FILE [NAME]    outline, or one instruction
  hlo-tui replay FILE         run a module: stops and values
  hlo-tui demo                run a tagged JAX program and open the screen on its dump
"""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal need not have the signs that stand for what it must not be sent.
        sys.stdout.reconfigure(errors="replace")
    try:
        code = _dispatch(given)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except HloTuiError as error:
        _say(f"hlo-tui: {error}")
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output (`head`, a pager) has seen enough.
        _drop_output()
        return 0
    except OSError as error:
        _say(f"hlo-tui: {error}")
        _drop_output()
        return HloTuiError.exit_code
    except KeyboardInterrupt:
        return 130


def _drop_output() -> None:
    """Let go what Python still holds for stdout: to write it at the end would fail again."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _dispatch(given: list[str]) -> int:
    if given and given[0] in COMMANDS:
        parsed = _command_parser().parse_args(given)
        code: int = parsed.run(parsed)
        return code
    return _open_screen(_screen_parser().parse_args(given))


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End with a message that may hold names of files, as a shell's pattern gave them."""
        super().error(visible(message))


def _screen_parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hlo-tui", description=_SCREEN, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path, metavar="PATH", help="a dump directory, or one file")
    parser.add_argument("--theme", help="a theme's name or file")
    parser.add_argument(
        "--poll", action="store_true", help="look for changes by polling, as network file systems need"
    )
    parser.add_argument("--no-mouse", action="store_true", help="leave the mouse to the terminal")
    parser.add_argument("--version", action="version", version=f"hlo-tui {__version__}")
    _replay_options(parser)
    return parser


def _command_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="hlo-tui")
    commands = parser.add_subparsers(required=True)

    listing = commands.add_parser("list", help="modules, stages, passes and side files of a dump")
    listing.add_argument("path", type=Path, metavar="DIR")
    listing.add_argument("--json", action="store_true", help="one JSON document")
    listing.set_defaults(run=_list)

    show = commands.add_parser("show", help="the outline of a module, or one instruction")
    show.add_argument("path", type=Path, metavar="FILE")
    show.add_argument("name", nargs="?", metavar="NAME", help="an instruction, or COMPUTATION/INSTRUCTION")
    show.add_argument("--member", help="which module, where the file holds several")
    show.add_argument("--json", action="store_true", help="one JSON document")
    show.set_defaults(run=_show)

    replay = commands.add_parser("replay", help="run a module and print its stops and values")
    replay.add_argument("path", type=Path, metavar="FILE")
    replay.add_argument("--member", help="which module, where the file holds several")
    replay.add_argument("--json", action="store_true", help="one JSON object a line")
    replay.add_argument(
        "--break",
        dest="stops",
        action="append",
        metavar="SPEC",
        help="stop at NAME, COMPUTATION/NAME, op:OPCODE, name:REGEX or line:FILE:N instead of at the tags",
    )
    replay.add_argument(
        "--supply",
        dest="supplies",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a value for what cannot be computed: zeros, made, FILE.npy or operand:N",
    )
    replay.add_argument(
        "--standins",
        metavar="FILE",
        help="Python functions of your own for custom calls, instead of ~/.config/hlo-tui/standins.py",
    )
    _replay_options(replay)
    replay.set_defaults(run=_replay)

    runs = commands.add_parser("executions", help="the health of each recorded run of a module, oldest first")
    runs.add_argument("path", type=Path, metavar="DIR")
    runs.add_argument("module", metavar="MODULE", help="a module's name, or #NUMBER")
    runs.add_argument("--halve", action="store_true", help="find the first bad run by halving")
    runs.add_argument(
        "--break", dest="stops", action="append", metavar="SPEC", help="what to look at instead of the tags"
    )
    runs.add_argument("--json", action="store_true", help="one JSON object a line")
    runs.set_defaults(run=_executions)

    demo = commands.add_parser("demo", help="run a tagged JAX program and open the screen on its dump")
    demo.add_argument("--dir", type=Path, help="where to dump; a new temporary directory if not given")
    demo.add_argument("--headless", action="store_true", help="print the stops instead")
    demo.add_argument("--json", action="store_true", help="with --headless: one JSON object a line")
    demo.set_defaults(run=_demo)
    return parser


def _replay_options(parser: argparse.ArgumentParser) -> None:
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


def _list(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import doctor, listing

    found = listing.load(parsed.path)
    print(json.dumps(listing.to_json(found)) if parsed.json else listing.to_text(found))
    if not found.log and found.catalog.modules:
        for line in doctor.remarks(found.catalog, str(parsed.path)):
            _say(line)
    elif parsed.path.is_dir():
        for line in doctor.explain_empty(parsed.path):
            _say(line)
    return 0


def _show(parsed: argparse.Namespace) -> int:
    from hlo_tui.hlo import loading, report
    from hlo_tui.hlo.module import Module

    document = loading.open_document(parsed.path, parsed.member)
    module = Module(document.source, document.kind)
    module.scan()
    if parsed.name is None:
        print(json.dumps(report.module_report(module)) if parsed.json else report.module_text(module))
        return 0
    computation, _, name = parsed.name.rpartition("/")
    instruction = module.find(name.lstrip("%"), computation.lstrip("%") or None)
    if instruction is None:
        raise HloTuiError(
            f"no instruction {parsed.name!r}", f"in {parsed.path}", "hlo-tui show FILE lists the computations"
        )
    found = report.instruction_report(module, instruction)
    print(json.dumps(found) if parsed.json else report.instruction_text(module, instruction))
    return 0


def _replay(parsed: argparse.Namespace) -> int:
    from hlo_tui.replay.session import Options

    options = Options(
        parsed.path,
        parsed.member,
        parsed.inputs,
        parsed.seed,
        parsed.grain,
        parsed.platform,
        tuple(parsed.supplies),
        parsed.standins,
    )
    return _run_headless(options, parsed.stops, parsed.json)


def _run_headless(options: Any, stops: list[str] | None, as_json: bool) -> int:
    from hlo_tui.replay import headless
    from hlo_tui.replay.stopspec import TAGS, parse_spec

    headless.check_options(options)
    specs = tuple(parse_spec(text) for text in stops) if stops else (TAGS,)
    replay = headless.Replay(options, specs)
    for event in replay.events():
        print(json.dumps(event) if as_json else headless.words(event), flush=True)
    for warning in replay.warnings:
        _say(f"hlo-tui: {warning}")
    return replay.exit_code


def _executions(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import choosing, listing
    from hlo_tui.replay import executions
    from hlo_tui.replay.state import Options
    from hlo_tui.replay.stopspec import TAGS, parse_spec

    snapshots = choosing.snapshots(listing.load(parsed.path), parsed.module)
    specs = tuple(parse_spec(text) for text in parsed.stops) if parsed.stops else (TAGS,)
    options = Options(snapshots[0], inputs=str(snapshots[0]))
    scan = executions.Executions(options, lambda _: None, specs)
    scan.add(snapshots)
    try:
        if parsed.halve:
            bad, runs = scan.first_bad()
            said = {"event": "first_bad", "file": None if bad is None else str(bad.path), "runs": runs}
            print(json.dumps(said) if parsed.json else executions.halved_words(bad, runs, len(snapshots)))
            return int(bad is not None)
        health = set()
        for number, path in enumerate(snapshots, 1):
            found = scan.examine(path)
            health.add(found.health)
            said = executions.described(found, number)
            print(json.dumps(said) if parsed.json else executions.words(said), flush=True)
        return int(health != {executions.GOOD})
    finally:
        scan.close()


def _demo(parsed: argparse.Namespace) -> int:
    import tempfile

    from hlo_tui.job.demo import run_demo

    directory = parsed.dir or Path(tempfile.mkdtemp(prefix="hlo-tui-demo-"))
    _say(f"running a small tagged training job that dumps into {directory} ...")
    module = run_demo(directory)
    if not parsed.headless:
        return _open_screen(_screen_parser().parse_args([str(directory)]))
    from hlo_tui.replay.session import Options

    return _run_headless(Options(module), None, parsed.json)


def _open_screen(parsed: argparse.Namespace) -> int:
    from hlo_tui.ui.launch import run

    return run(
        parsed.path,
        theme=parsed.theme,
        poll=parsed.poll,
        mouse=not parsed.no_mouse,
        inputs=parsed.inputs,
        seed=parsed.seed,
        grain=parsed.grain,
        platform=parsed.platform,
    )


def _say(text: str) -> None:
    """Write a message, safe for a terminal: names of files and of modules are in it."""
    with contextlib.suppress(OSError):
        print("\n".join(map(visible, text.split("\n"))), file=sys.stderr)
