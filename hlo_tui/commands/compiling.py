"""Commands about what the compiler did: tags, passes, diff, recompiles, bisect."""

from __future__ import annotations

import argparse
import json
from typing import Any


def tags(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import choosing, listing
    from hlo_tui.passes import tags

    dump = listing.load(parsed.path)
    if parsed.member or not (dump.log or parsed.path.is_dir()):
        single = tags.file_tags(parsed.path, parsed.member)
        print(json.dumps(tags.file_json(single)) if parsed.json else tags.file_text(single))
        return 0
    modules = [choosing.find_module(dump, parsed.module)] if parsed.module else tags.tagged_modules(dump)
    found = [tags.survival(dump, module) for module in modules]
    print(json.dumps(tags.to_json(found)) if parsed.json else tags.to_text(found))
    return 0


def passes(parsed: argparse.Namespace) -> int:
    from hlo_tui.commands import mlir
    from hlo_tui.dump import choosing, listing
    from hlo_tui.passes import costs, timeline

    if parsed.module is None and mlir.is_history(parsed.path):
        return mlir.passes(parsed)
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


def diff(parsed: argparse.Namespace) -> int:
    from hlo_tui.commands import mlir
    from hlo_tui.passes import compare_values, diff, dumps

    if not parsed.values and mlir.are_texts(parsed.a, parsed.b):
        return mlir.diff(parsed)
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


def recompiles(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import listing
    from hlo_tui.passes import recompiles

    found = list(recompiles.functions(listing.load(parsed.path)))
    print(json.dumps(recompiles.to_json(found)) if parsed.json else recompiles.to_text(found))
    return 0


def bisect(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import choosing, listing
    from hlo_tui.passes import bisect, hunting, verdicts
    from hlo_tui.passes.engine import Engine

    dump = listing.load(parsed.path)
    module = choosing.find_module(dump, parsed.module)
    against = None
    if parsed.against is not None:
        other = listing.load(parsed.against)
        against = (other, choosing.find_module(other, module.name))
    options = bisect.Options(parsed.inputs, parsed.seed, parsed.output, parsed.tolerance, parsed.platform)
    engine = Engine()

    def make(given: bisect.Options, _: str = "") -> bisect.Bisection:
        return bisect.Bisection(dump, module, given, against=against, engine=engine)

    try:
        verdict = hunting.hunt(options, make) if options.inputs == hunting.ANY else make(options).run()
    finally:
        engine.close()
    changed = verdicts.changes(dump, verdict)
    told = verdicts.to_json(module.name, verdict, changed)
    print(json.dumps(told) if parsed.json else verdicts.to_text(module.name, verdict, changed))
    return int(verdict.verdict != bisect.NONE)
