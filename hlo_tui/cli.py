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

COMMANDS = (
    "list", "show", "replay", "executions", "demo", "tags", "passes", "diff", "recompiles", "bisect",
)  # fmt: skip
_SCREEN = """hlo-tui PATH opens the screen on a dump directory or one file; the commands do without a screen:

  hlo-tui list DIR            modules, stages, passes, side files
  hlo-tui show FILE [NAME]    outline, or one instruction
  hlo-tui replay FILE         run a module: stops and values
  hlo-tui tags PATH           tagged operations, and which survive where
  hlo-tui passes DIR MODULE   what each pass changed; without MODULE where compile time went
  hlo-tui diff A B            two stages, modules or dumps, by structure
  hlo-tui recompiles DIR      why functions were compiled again
  hlo-tui bisect DIR MODULE   the first pass whose outputs differ
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

    _replay_commands(commands)
    demo = commands.add_parser("demo", help="run a tagged JAX program and open the screen on its dump")
    demo.add_argument("--dir", type=Path, help="where to dump; a new temporary directory if not given")
    demo.add_argument("--headless", action="store_true", help="print the stops instead")
    demo.add_argument("--json", action="store_true", help="with --headless: one JSON object a line")
    demo.set_defaults(run=_demo)
    return parser


def _replay_commands(commands: Any) -> None:
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

    _pass_commands(commands)


def _pass_commands(commands: Any) -> None:
    tags = commands.add_parser("tags", help="tagged operations, and with several stages which survive where")
    tags.add_argument("path", type=Path, metavar="PATH")
    tags.add_argument("module", nargs="?", metavar="MODULE", help="of a dump: a module's name, or #NUMBER")
    tags.add_argument("--member", help="which module, where a file holds several")
    tags.set_defaults(run=_tags)

    passes = commands.add_parser(
        "passes", help="what each pass changed; without MODULE where compile time went"
    )
    passes.add_argument("path", type=Path, metavar="DIR")
    passes.add_argument("module", nargs="?", metavar="MODULE", help="a module's name, or #NUMBER")
    passes.add_argument(
        "--only", default="", metavar="TEXT", help="passes and pipelines with this in their names"
    )
    passes.add_argument("--follow", metavar="NAME", help="the life of one instruction, through all stages")
    passes.add_argument(
        "--stage", metavar="STAGE", help="where it has that name: a stage's label or step number"
    )
    passes.set_defaults(run=_passes)

    diff = commands.add_parser("diff", help="two stages, modules or dumps, compared by structure")
    diff.add_argument("a", type=Path, metavar="A", help="a file, or a dump directory")
    diff.add_argument("b", type=Path, metavar="B")
    diff.add_argument(
        "--hide", default="", metavar="KINDS", help="of changes, with commas: layout, metadata, sharding, ..."
    )
    diff.add_argument(
        "--values", action="store_true", help="run both on the same inputs, compare what they compute"
    )
    diff.add_argument("--inputs", default="auto", help="with --values: as for a replay")
    diff.set_defaults(run=_diff)

    recompiles = commands.add_parser("recompiles", help="for each compilation of a function what was new")
    recompiles.add_argument("path", type=Path, metavar="DIR")
    recompiles.set_defaults(run=_recompiles)

    bisect = commands.add_parser("bisect", help="the first pass whose outputs differ, or the fusion")
    bisect.add_argument("path", type=Path, metavar="DIR")
    bisect.add_argument("module", metavar="MODULE", help="a module's name, or #NUMBER")
    bisect.add_argument(
        "--inputs", default="auto", help="a snapshot, .npz or .npy file, or a preset; as for a replay"
    )
    bisect.add_argument("--seed", type=int, default=0, help="of made inputs")
    bisect.add_argument("--output", type=int, metavar="N", help="only this output, from 0")
    bisect.add_argument(
        "--tolerance", type=float, help="of absolute and relative errors; by the types if not given"
    )
    bisect.add_argument(
        "--against", type=Path, metavar="DIR", help="the first stage in this dump is the measure"
    )
    bisect.add_argument("--platform", default="cpu", help="the CPU unless asked for in words")
    bisect.set_defaults(run=_bisect)
    for parser in (tags, passes, diff, recompiles, bisect):
        parser.add_argument("--json", action="store_true", help="one JSON document")


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


def _tags(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import choosing, listing
    from hlo_tui.passes import tags

    if not parsed.path.is_dir():
        single = tags.file_tags(parsed.path, parsed.member)
        print(json.dumps(tags.file_json(single)) if parsed.json else tags.file_text(single))
        return 0
    dump = listing.load(parsed.path)
    modules = [choosing.find_module(dump, parsed.module)] if parsed.module else tags.tagged_modules(dump)
    found = [tags.survival(dump, module) for module in modules]
    print(json.dumps(tags.to_json(found)) if parsed.json else tags.to_text(found))
    return 0


def _passes(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import choosing, listing
    from hlo_tui.passes import costs, timeline

    dump = listing.load(parsed.path)
    if parsed.module is None:
        total = costs.costs(dump)
        print(json.dumps(costs.to_json(total)) if parsed.json else costs.to_text(total))
        return 0
    module = choosing.find_module(dump, parsed.module)
    if parsed.follow:
        return _follow(parsed, dump, module)
    steps = list(timeline.steps(dump, module))
    text = json.dumps(timeline.to_json(module, steps)) if parsed.json else ""
    print(text or timeline.to_text(module, steps, parsed.only))
    return 0


def _follow(parsed: argparse.Namespace, dump: Any, module: Any) -> int:
    from hlo_tui.passes import history, lineage

    past = history.History(dump, module)
    stage = past.index(parsed.stage) if parsed.stage else past.stage_with(parsed.follow)
    found = lineage.life(module, past, stage, parsed.follow)
    print(json.dumps(lineage.to_json(found)) if parsed.json else lineage.to_text(found))
    return 0


def _diff(parsed: argparse.Namespace) -> int:
    from hlo_tui.passes import compare_values, diff, dumps

    hidden = [kind.strip() for kind in parsed.hide.split(",") if kind.strip()]
    if parsed.a.is_dir() and parsed.b.is_dir():
        told, text = dumps.compare_dumps(str(parsed.a), str(parsed.b), hidden)
        equal: bool = told["equal"]
    elif parsed.values:
        rows = compare_values.compare_values(parsed.a, parsed.b, parsed.inputs)
        told, text = {"rows": rows}, compare_values.to_text(rows)
        equal = all(row["state"] != "differs" for row in rows)
    else:
        found = diff.diff_files(parsed.a, parsed.b, hidden)
        told, text, equal = diff.to_json(found), diff.to_text(found), found.diff.equal
    print(json.dumps(told) if parsed.json else text)
    return int(not equal)


def _recompiles(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import listing
    from hlo_tui.passes import recompiles

    found = list(recompiles.functions(listing.load(parsed.path)))
    print(json.dumps(recompiles.to_json(found)) if parsed.json else recompiles.to_text(found))
    return 0


def _bisect(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import choosing, listing
    from hlo_tui.passes import bisect, verdicts

    dump = listing.load(parsed.path)
    module = choosing.find_module(dump, parsed.module)
    against = None
    if parsed.against is not None:
        other = listing.load(parsed.against)
        against = (other, choosing.find_module(other, module.name))
    options = bisect.Options(parsed.inputs, parsed.seed, parsed.output, parsed.tolerance, parsed.platform)
    verdict = bisect.Bisection(dump, module, options, against=against).run()
    changed = verdicts.changes(dump, verdict)
    told = verdicts.to_json(module.name, verdict, changed)
    print(json.dumps(told) if parsed.json else verdicts.to_text(module.name, verdict, changed))
    return int(verdict.verdict != bisect.NONE)


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
