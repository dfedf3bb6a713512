"""Commands and exit codes: 0 done, 1 a difference or fault was found, 2 wrong use or unreadable input, 3 the
engine.
"""

from __future__ import annotations

import argparse
import io
import sys
from pathlib import Path
from typing import Any, NoReturn

from hlo_tui import __version__
from hlo_tui.commands import (
    compiling,
    costing,
    cutting,
    finding,
    graphing,
    jobs,
    reading,
    replaying,
    running,
    streams,
)
from hlo_tui.commands.numbers import count, tolerance
from hlo_tui.commands.saying import refuse, say
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.job.recipes import recipe_table
from hlo_tui.replay import arguments

COMMANDS = (
    "grep", "graph", "extract", "convert", "bundle",
    "list", "show", "replay", "executions", "demo", "tags", "passes", "diff", "recompiles", "bisect",
    "memory", "cost",
    "flags", "run", "doctor",
)  # fmt: skip
_SCREEN = """hlo-tui PATH opens the screen on a dump directory or one file; the commands do without a screen:

  hlo-tui flags [RECIPE...]      what makes a job dump: lines to paste
  hlo-tui run [RECIPE...] -- COMMAND   run a job so that it dumps, and open the screen on it
  hlo-tui doctor DIR             why a dump is empty or lacks something
  hlo-tui list DIR               modules, stages, passes, side files
  hlo-tui show FILE [NAME]       outline, or one instruction
  hlo-tui grep PATTERN PATH      lines and instructions, in all modules
  hlo-tui graph FILE NAME        what is around an instruction, drawn
  hlo-tui extract FILE NAME      a part of a module, to be run alone
  hlo-tui convert IN OUT         text, proto, StableHLO, dot, by the endings
  hlo-tui bundle DIR MODULE      what a bug report needs, in one archive
  hlo-tui replay FILE            run a module: stops and values; or DIR MODULE
  hlo-tui executions DIR MODULE  the health of each recorded run: finite or not
  hlo-tui memory PATH            who owns the memory: of a dump, a report or an out-of-memory message
  hlo-tui cost PATH              operations and bytes, by instruction, opcode and scope; collectives
  hlo-tui tags PATH              tagged operations, and which survive where
  hlo-tui passes DIR MODULE      what each pass changed; without MODULE where compile time went
  hlo-tui diff A B               two stages, modules or dumps, by structure
  hlo-tui recompiles DIR         why functions were compiled again
  hlo-tui bisect DIR MODULE      the first pass whose outputs differ
  hlo-tui demo                   run a tagged JAX program and open the screen on its dump
"""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; the exit code."""
    given = sys.argv[1:] if arguments is None else arguments
    streams.open_closed()
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal need not have the signs that stand for what it must not be sent.
        sys.stdout.reconfigure(errors="replace")
    try:
        code = _dispatch(given)
        sys.stdout.flush()
        return code
    except HloTuiError as error:
        say(f"hlo-tui: {error}")
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output (`head`, a pager) has seen enough.
        streams.drop_output()
        return 0
    except OSError as error:
        say(f"hlo-tui: {error}")
        streams.drop_output()
        return HloTuiError.exit_code
    except KeyboardInterrupt:
        return 130


def _dispatch(given: list[str]) -> int:
    if given and given[0] in COMMANDS:
        own, job = _split(given)
        parsed = _command_parser().parse_args(own)
        parsed.job = job
        code: int = parsed.run(parsed)
        return code
    parser = _screen_parser()
    parsed, left = parser.parse_known_args(given)
    if left:
        refuse(parser, parsed.path, left, COMMANDS)
    return running.open_screen(parsed)


def _split(given: list[str]) -> tuple[list[str], list[str]]:
    """What is ours, and a job's command, which stands behind two dashes."""
    if given[0] != "run" or "--" not in given:
        return given, []
    at = given.index("--")
    return given[:at], given[at + 1 :]


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
    arguments.of_replay(parser)
    return parser


def _command_parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="hlo-tui")
    commands = parser.add_subparsers(required=True)

    listing = commands.add_parser("list", help="modules, stages, passes and side files of a dump")
    listing.add_argument("path", type=Path, metavar="DIR")
    listing.add_argument(
        "--sort",
        choices=("first", "newest", "recompiled", "name"),
        default="first",
        help="which modules come first; the biggest if not given",
    )
    listing.add_argument("--json", action="store_true", help="one JSON document")
    listing.set_defaults(run=reading.list_dump)

    show = commands.add_parser(
        "show", help="the outline of any file of a dump, or one instruction on all stages"
    )
    show.add_argument("path", type=Path, metavar="FILE")
    show.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="an instruction, COMPUTATION/INSTRUCTION; else a function or a line",
    )
    show.add_argument("--member", help="which module, where the file holds several")
    show.add_argument("--json", action="store_true", help="one JSON document")
    show.set_defaults(run=reading.show)

    _finding_commands(commands)
    _cutting_commands(commands)
    _cost_commands(commands)
    replaying.add(commands)
    _pass_commands(commands)
    _job_commands(commands)
    demo = commands.add_parser("demo", help="run a tagged JAX program and open the screen on its dump")
    demo.add_argument("--dir", type=Path, help="where to dump; a new temporary directory if not given")
    demo.add_argument("--headless", action="store_true", help="print the stops instead")
    demo.add_argument("--json", action="store_true", help="with --headless: one JSON object a line")
    demo.set_defaults(run=running.demo)
    return parser


def _finding_commands(commands: Any) -> None:
    grep = commands.add_parser(
        "grep",
        help="lines and instructions in all modules",
        description="Finds a regular expression in the lines of all modules, the biggest module first. Without a "
        "capital letter case does not matter. With filters only instructions are found; all that is given has to hold, "
        "and PATTERN may be ''. Exit code 1 where nothing is found.",
    )
    grep.add_argument("pattern", metavar="PATTERN")
    grep.add_argument("path", type=Path, metavar="PATH", help="a dump directory, a log, or one file")
    grep.add_argument("--opcode", default="", metavar="NAMES", help="with commas; * for any letters: all-*")
    grep.add_argument("--shape", default="", metavar="SHAPE", help="of the result: 'f32[8,128]', '[8,*]'")
    grep.add_argument("--dtype", default="", metavar="TYPE", help="of the result, or of an array in it")
    grep.add_argument("--bytes", default="", metavar="SIZE", help="of the result: '>1MB', '<=4KiB'")
    grep.add_argument("--op-name", default="", metavar="PATTERN", help="in the op_name of the metadata")
    grep.add_argument("--tag", default="", metavar="KEY[=VALUE]", help="in the frontend attributes")
    grep.add_argument(
        "--stage",
        default="ends",
        metavar="STAGES",
        help="ends (if not given): the first and the last stage of each module; all: the passes too; "
        "else those whose label has this text",
    )
    grep.add_argument("--json", action="store_true", help="one JSON object a line")
    grep.set_defaults(run=finding.grep)
    _graph_command(commands)


def _graph_command(commands: Any) -> None:
    graph = commands.add_parser(
        "graph",
        help="what is around an instruction, or between two, drawn",
        description="Draws an instruction with its operands above and its users below; with --to all ways from one "
        "instruction to another.",
    )
    graph.add_argument("path", type=Path, metavar="FILE")
    graph.add_argument("name", metavar="NAME", help="an instruction, or COMPUTATION/INSTRUCTION")
    graph.add_argument(
        "--width", type=graphing.width, default=2, metavar="N", help="how many uses away; 2 if not given"
    )
    graph.add_argument("--to", metavar="NAME", help="all ways to this instruction instead")
    graph.add_argument("--open", action="store_true", help="what is in fusions instead of the fusions")
    graph.add_argument(
        "-o",
        dest="out",
        type=Path,
        metavar="OUT",
        help="a .dot, .svg or .html file; laid out by Graphviz where that is installed",
    )
    graph.add_argument("--member", help="which module, where the file holds several")
    graph.add_argument("--json", action="store_true", help="one JSON document")
    graph.set_defaults(run=graphing.graph)


def _cutting_commands(commands: Any) -> None:
    extract = commands.add_parser(
        "extract",
        help="an instruction with its operands, or a computation, as a module to be run alone",
        description="Cuts an instruction or a computation out as a module of its own. What comes in from outside "
        "becomes a parameter.",
    )
    extract.add_argument("path", type=Path, metavar="FILE")
    extract.add_argument(
        "name",
        metavar="NAME",
        help="an instruction, COMPUTATION/INSTRUCTION, or a computation (COMPUTATION/)",
    )
    extract.add_argument(
        "--depth",
        type=cutting.depth,
        default=0,
        metavar="N",
        help="operands that come along, so many levels deep; 0 if not given, or all",
    )
    extract.add_argument(
        "-o", dest="out", type=Path, metavar="OUT", help="where to; standard output if not given"
    )
    extract.add_argument(
        "--values",
        action="store_true",
        help="replay the whole module, write what comes in beside OUT as .npz",
    )
    extract.add_argument("--inputs", default="auto", help="with --values: as for a replay")
    extract.add_argument("--seed", type=int, default=0, help="with --values: of made inputs")
    extract.add_argument("--member", help="which module, where the file holds several")
    extract.add_argument("--json", action="store_true", help="one JSON document")
    extract.set_defaults(run=cutting.extract)

    convert = commands.add_parser(
        "convert",
        help="one form of a module into another, saying what gets lost",
        description="The forms go by the endings: .txt .hlo, .pb (.hlo.pb), .pbtxt .textproto, .mlir (StableHLO), "
        ".dot .gv, and pictures of the entry: .svg .html; with .gz behind it packed.",
    )
    convert.add_argument("path", type=Path, metavar="IN")
    convert.add_argument("out", type=Path, metavar="OUT", help="a file, or - for standard output")
    convert.add_argument(
        "--to",
        choices=cutting.FORMS,
        help="the form, where the ending of OUT does not say it",
    )
    convert.add_argument("--member", help="which module, where IN holds several")
    convert.add_argument("--json", action="store_true", help="one JSON document of what was done")
    convert.set_defaults(run=cutting.convert)
    _bundle_command(commands)


def _bundle_command(commands: Any) -> None:
    bundle = commands.add_parser(
        "bundle",
        help="what a bug report needs of a module, in one archive",
        description="The module before and after the passes, its buffer assignment and flags, and a summary to "
        "paste, which is printed too.",
    )
    bundle.add_argument("path", type=Path, metavar="DIR")
    bundle.add_argument("module", metavar="MODULE", help="a module's name, or #NUMBER")
    bundle.add_argument(
        "-o", dest="out", type=Path, metavar="OUT", help="a .tar.gz; by the module's name if not given"
    )
    bundle.add_argument("--snapshot", action="store_true", help="the last recorded run too, with its inputs")
    bundle.add_argument("--passes", action="store_true", help="the module after every pass too")
    bundle.add_argument(
        "--scrub", action="store_true", help="other words for directories and user names, everywhere the same"
    )
    bundle.add_argument("--json", action="store_true", help="one JSON document of what was done")
    bundle.set_defaults(run=cutting.bundle)


def _job_commands(commands: Any) -> None:
    flags = commands.add_parser(
        "flags",
        help="what to set so that a job dumps: lines to paste",
        description="Prints the environment that makes a job dump, with no flag that its jaxlib lacks: the flags are "
        'tried in a child process where that jaxlib is installed. Your own XLA_FLAGS are kept. eval "$(hlo-tui flags '
        'passes)" sets it.',
    )
    _recipe_arguments(flags)
    flags.add_argument("--jaxlib", metavar="VERSION", help="the job's, where it is not installed here")
    flags.add_argument("--json", action="store_true", help="one JSON document")
    flags.set_defaults(run=jobs.flags)

    run = commands.add_parser(
        "run",
        usage="hlo-tui run [RECIPE ...] [--dir DIR] [--headless] -- COMMAND ...",
        help="run a job so that it dumps, and open the screen on it",
        description="Runs a job with the flags of the recipes and opens the screen on its dump; its own output is in "
        "a pane there. Leaving the screen leaves the job running in this terminal, where ctrl+c is for it; it is ended "
        "only when asked. The exit code is the job's.",
    )
    _recipe_arguments(run)
    run.add_argument("--headless", action="store_true", help="no screen: list what came when the job is done")
    run.add_argument("--json", action="store_true", help="with --headless: one JSON document")
    run.set_defaults(run=jobs.run, jaxlib=None)

    doctor = commands.add_parser("doctor", help="why a dump is empty or lacks something, cause by cause")
    doctor.add_argument("path", type=Path, metavar="DIR")
    doctor.add_argument("--json", action="store_true", help="one JSON document")
    doctor.set_defaults(run=jobs.doctor)


def _recipe_arguments(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = f"recipes:\n{recipe_table()}"
    parser.add_argument("recipes", nargs="*", metavar="RECIPE", help="what is wanted; several can be joined")
    parser.add_argument("--dir", type=Path, help="where to dump")
    parser.add_argument("--module", default="", metavar="PATTERN", help="only modules whose name matches")
    parser.add_argument("--python", metavar="PYTHON", help="the job's; else the first one on the PATH")
    parser.add_argument("--no-try", action="store_true", help="do not try the flags in a child process first")


def _cost_commands(commands: Any) -> None:
    memory = commands.add_parser(
        "memory",
        help="who owns the memory at the peak",
        description="Of a dump the module that allocates most, or MODULE; of a report, HLO or a log with an "
        "out-of-memory message what is in it; - reads what is piped in. With two reports what differs.",
    )
    memory.add_argument("path", type=Path, metavar="PATH")
    memory.add_argument(
        "module", nargs="?", metavar="MODULE", help="of a dump: a module's name, or #NUMBER; or a second file"
    )
    memory.add_argument("--against", type=Path, metavar="PATH", help="compare with this dump or report")
    memory.add_argument(
        "--at", metavar="PLACE", help="at this instruction or place of the schedule, not at the peak"
    )
    memory.add_argument("--member", help="which module, where a file holds several")
    memory.add_argument("--top", type=count, metavar="N", help="how many values to show")
    memory.add_argument("--json", action="store_true", help="one JSON document")
    memory.set_defaults(run=costing.memory)

    cost = commands.add_parser(
        "cost",
        help="operations and bytes of a module, by instruction, opcode and scope",
        description="Counts as XLA's cost analysis does, and loops as often as they run. Of a dump the biggest module, "
        "or MODULE; its last stage, or the one named.",
    )
    cost.add_argument("path", type=Path, metavar="PATH")
    cost.add_argument("module", nargs="?", metavar="MODULE", help="of a dump: a module's name, or #NUMBER")
    cost.add_argument("--by", choices=("operations", "bytes"), default="operations", help="which come first")
    cost.add_argument("--stage", metavar="TEXT", help="the stage whose label has this text")
    cost.add_argument("--xla", action="store_true", help="have XLA's own analysis count too, and compare")
    cost.add_argument("--member", help="which module, where a file holds several")
    cost.add_argument("--top", type=count, metavar="N", help="how many instructions to show")
    cost.add_argument("--json", action="store_true", help="one JSON document")
    cost.set_defaults(run=costing.cost)


def _pass_commands(commands: Any) -> None:
    tags = commands.add_parser("tags", help="tagged operations, and with several stages which survive where")
    tags.add_argument("path", type=Path, metavar="PATH")
    tags.add_argument("module", nargs="?", metavar="MODULE", help="of a dump: a module's name, or #NUMBER")
    tags.add_argument("--member", help="which module, where a file holds several")
    tags.set_defaults(run=compiling.tags)

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
    passes.set_defaults(run=compiling.passes)

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
    diff.set_defaults(run=compiling.diff)

    recompiles = commands.add_parser("recompiles", help="for each compilation of a function what was new")
    recompiles.add_argument("path", type=Path, metavar="DIR")
    recompiles.set_defaults(run=compiling.recompiles)

    bisect = commands.add_parser("bisect", help="the first pass whose outputs differ, or the fusion")
    bisect.add_argument("path", type=Path, metavar="DIR")
    bisect.add_argument("module", metavar="MODULE", help="a module's name, or #NUMBER")
    bisect.add_argument(
        "--inputs", default="auto", help="as for a replay; or any: made ones, until some show a fault"
    )
    bisect.add_argument("--seed", type=int, default=0, help="of made inputs")
    bisect.add_argument("--output", type=count, metavar="N", help="only this output, from 0")
    bisect.add_argument(
        "--tolerance",
        type=tolerance,
        help="of absolute and relative errors; by the types if not given",
    )
    bisect.add_argument(
        "--against", type=Path, metavar="DIR", help="the first stage in this dump is the measure"
    )
    bisect.add_argument("--platform", default="cpu", help="the CPU unless asked for in words")
    bisect.set_defaults(run=compiling.bisect)
    for parser in (tags, passes, diff, recompiles, bisect):
        parser.add_argument("--json", action="store_true", help="one JSON document")
