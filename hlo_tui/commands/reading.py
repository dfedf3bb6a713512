"""Commands that only read: list, show."""

from __future__ import annotations

import argparse
import json

from hlo_tui.commands.saying import say
from hlo_tui.errors import HloTuiError


def list_dump(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import doctor, listing

    found = listing.load(parsed.path)
    print(json.dumps(listing.to_json(found)) if parsed.json else listing.to_text(found))
    if not found.log and found.catalog.modules:
        for line in doctor.remarks(found.catalog, str(parsed.path)):
            say(line)
    elif parsed.path.is_dir():
        for line in doctor.explain_empty(parsed.path):
            say(line)
    return 0


def show(parsed: argparse.Namespace) -> int:
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
