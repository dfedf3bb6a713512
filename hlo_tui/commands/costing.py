"""Commands about what a module costs: memory, and operations and bytes."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hlo_tui.errors import HloTuiError


def memory(parsed: argparse.Namespace) -> int:
    from hlo_tui.memory import comparing, telling

    other = parsed.against or (parsed.module if _is_file(parsed.module) else None)
    module = None if other is not None and other == parsed.module else parsed.module
    report, modules = _memory(parsed.path, module, parsed.member)
    if other is not None:
        found = comparing.compare(report, _memory(Path(other), module, None)[0])
        top = parsed.top or 20
        print(json.dumps(comparing.to_json(found)) if parsed.json else comparing.to_text(found, top))
        return int(not found.equal)
    if parsed.at is not None:
        place = telling.place_of(report, parsed.at)
        text = json.dumps(telling.moment_json(report, place, parsed.top)) if parsed.json else ""
        print(text or telling.moment_text(report, place, parsed.top or 20))
        return 0
    if parsed.json:
        told = telling.to_json(report, parsed.top)
        if modules:
            told["modules"] = [{"bytes": size, "module": name} for size, name in modules]
        print(json.dumps(told))
        return 0
    if len(modules) > 1:
        print(telling.modules_text(modules), end="\n\n")
    print(telling.to_text(report, parsed.top or 20))
    return 0


def _is_file(name: str | None) -> bool:
    """Whether what stands in the place of a module's name is the path of a second report."""
    return name is not None and Path(name).is_file()


def _memory(path: Path, wanted: str | None, member: str | None) -> tuple[Any, list[tuple[int, str]]]:
    """The report of what was asked for; of a whole dump also what each of its modules allocates."""
    from hlo_tui.dump import choosing, listing
    from hlo_tui.memory import gathering

    if str(path) == "-":
        return gathering.of_stream(sys.stdin.buffer), []
    if wanted is None and not path.is_dir():
        found = listing.load(path)
        if not found.log or member is not None:
            return gathering.of_file(path, member), []
    else:
        found = listing.load(path)
    if wanted is not None:
        return gathering.of_module(found, choosing.find_module(found, wanted)), []
    modules = gathering.heaviest(found, found.catalog.modules)
    if not modules:
        raise HloTuiError("no module is in this dump", str(path), "hlo-tui doctor DIR says why")
    named = [(size, f"{one.name}{f' #{one.id}' if one.id is not None else ''}") for size, one in modules]
    return gathering.of_module(found, modules[0][1]), named


def cost(parsed: argparse.Namespace) -> int:
    from hlo_tui.cost import telling
    from hlo_tui.cost.totals import cost_of

    module, title, place = _module(parsed.path, parsed.module, parsed.member, parsed.stage)
    report = cost_of(module, title)
    if parsed.by == "bytes":
        report.lines.sort(key=lambda line: -line.total.bytes)
    xla = _by_xla(*place) if parsed.xla else None
    same = xla is None or telling.agree(report.once, xla)
    if parsed.json:
        told = telling.to_json(report, parsed.top)
        print(json.dumps(told if xla is None else {**told, "xla_counted": xla, "agree": same}))
        return int(not same)
    print(telling.to_text(report, parsed.top or 20, parsed.by))
    if xla is not None:
        print(f"\n{telling.agreement(report.once, xla)}")
    return int(not same)


def _by_xla(path: Path, member: str | None) -> dict[str, float]:
    """What XLA's own cost analysis counts, in the replay's worker: it ends the process on some modules."""
    from hlo_tui.passes.engine import Engine

    engine = Engine()
    try:
        found = engine.ask("cost", {"path": str(path.absolute()), "member": member})["cost"]
    finally:
        engine.close()
    return {key: found.get(key, 0.0) for key in ("flops", "transcendentals", "bytes accessed")}


def _module(
    path: Path, wanted: str | None, member: str | None, label: str | None
) -> tuple[Any, str, tuple[Path, str | None]]:
    """The module that was asked for, scanned, what to call it, and its file and member: of a dump its last stage, or
    the one named."""
    from hlo_tui.dump import choosing, listing
    from hlo_tui.dump.opening import open_stage, path_of, readable_stages
    from hlo_tui.hlo.loading import open_document
    from hlo_tui.hlo.module import Module

    if not path.is_dir() and wanted is None:
        document = open_document(path, member)
        module = Module(document.source, document.kind)
        title, place = path.name, (path, member)
    else:
        found = listing.load(path)
        groups = listing.arrange(found.catalog.modules)[0]
        if wanted is None and not groups:
            raise HloTuiError("no module is in this dump", str(path), "hlo-tui doctor DIR says why")
        dumped = choosing.find_module(found, wanted) if wanted is not None else groups[0].modules[0]
        stages = [stage for stage in readable_stages(dumped) if label is None or label in stage.label]
        if not stages:
            known = ", ".join(stage.label for stage in readable_stages(dumped)) or "none"
            raise HloTuiError(f"no such stage of {dumped.name}", str(path), f"there are: {known}")
        main = stages[-1].main
        module = Module(open_stage(found, stages[-1]))
        title = f"{dumped.name}{f' #{dumped.id}' if dumped.id is not None else ''} {stages[-1].label}"
        place = (path_of(found, main), main.path if main.span is not None else None)
    module.scan()
    return module, title, place
