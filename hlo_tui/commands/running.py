"""Commands that run a module or a program: replay, executions, demo, and the screen."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from hlo_tui.commands.saying import say
from hlo_tui.errors import HloTuiError
from hlo_tui.replay import arguments


def replay(parsed: argparse.Namespace) -> int:
    path = None
    if parsed.module is not None:
        from hlo_tui.dump import choosing, listing

        dump = listing.load(parsed.path)
        path = choosing.first_file(dump, parsed.module)
        _say_which(choosing.of_same_name(dump, parsed.module))
    options, wishes = arguments.options(parsed, path), _wishes(parsed)
    if parsed.compare_grains:
        if wishes.settings or wishes.wishes:
            message = "it runs the whole module in each grain and stops nowhere"
            raise HloTuiError(
                "--compare-grains does nothing with single values", message, "--compare NAME=body does"
            )
        return _compare_grains(options, parsed.json)
    return run_headless(options, parsed.stops, parsed.json, parsed.save_crash, wishes)


def _say_which(words: str) -> None:
    if words:
        say(f"hlo-tui: {words}")


def _wishes(parsed: argparse.Namespace) -> Any:
    """What is to be done with single values."""
    from hlo_tui.replay.wishes import KINDS, Wishes, parse_setting, parse_wish

    return Wishes(
        tuple(map(parse_setting, parsed.settings)),
        tuple(parse_wish(kind, text) for kind in KINDS for text in getattr(parsed, kind)),
        parsed.partition,
        parsed.tolerance,
    )


def _compare_grains(options: Any, as_json: bool) -> int:
    from hlo_tui.replay import graincheck, headless

    headless.check_options(options)
    found = graincheck.compare_grains(options)
    print(json.dumps(found) if as_json else graincheck.words(found))
    return int(graincheck.differs(found))


def run_headless(
    options: Any,
    stops: list[str] | None,
    as_json: bool,
    save_crash: Path | None = None,
    wishes: Any = None,
) -> int:
    from hlo_tui.replay import headless
    from hlo_tui.replay.stopspec import TAGS, parse_spec
    from hlo_tui.replay.wishes import NO_WISHES

    headless.check_options(options)
    specs = tuple(parse_spec(text) for text in stops) if stops else (TAGS,)
    replay = headless.Replay(options, specs, save_crash, wishes or NO_WISHES)
    try:
        for event in replay.events():
            print(json.dumps(event) if as_json else headless.words(event), flush=True)
    finally:
        for warning in replay.warnings:
            say(f"hlo-tui: {warning}")
    return replay.exit_code


def executions(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import choosing, listing
    from hlo_tui.replay import executions
    from hlo_tui.replay.state import Options
    from hlo_tui.replay.stopspec import TAGS, parse_spec

    dump = listing.load(parsed.path)
    snapshots = choosing.snapshots(dump, parsed.module)
    _say_which(choosing.of_same_name(dump, parsed.module))
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
        if not parsed.json:
            print(executions.HEADING)
        for number, path in enumerate(snapshots, 1):
            found = scan.examine(path)
            health.add(found.health)
            said = executions.described(found, number)
            print(json.dumps(said) if parsed.json else executions.words(said), flush=True)
        return int(health != {executions.GOOD})
    finally:
        scan.close()


def demo(parsed: argparse.Namespace) -> int:
    import tempfile

    from hlo_tui.job.demo import run_demo

    directory = parsed.dir or Path(tempfile.mkdtemp(prefix="hlo-tui-demo-"))
    say(f"running a small tagged training job that dumps into {directory} ...")
    module = run_demo(directory)
    if not parsed.headless:
        from hlo_tui.ui.launch import run

        return run(directory)
    from hlo_tui.replay.session import Options

    return run_headless(Options(module), None, parsed.json)


def open_screen(parsed: argparse.Namespace) -> int:
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
        allow_memory=parsed.allow_memory,
    )
