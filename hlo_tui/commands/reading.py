"""Commands that only read: list, show."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from hlo_tui.commands.saying import say
from hlo_tui.errors import HloTuiError

if TYPE_CHECKING:
    from hlo_tui.formats.page import Page
    from hlo_tui.hlo.loading import Document
    from hlo_tui.hlo.module import Module

_MEMBERS = 40


def list_dump(parsed: argparse.Namespace) -> int:
    from hlo_tui.dump import doctor, listing

    found = listing.load(parsed.path)
    print(json.dumps(listing.to_json(found)) if parsed.json else listing.to_text(found, order=parsed.sort))
    if not found.log and found.catalog.modules:
        for line in doctor.remarks(found.catalog, str(parsed.path)):
            say(line)
    elif parsed.path.is_dir():
        for line in doctor.explain_empty(parsed.path):
            say(line)
    return 0


def show(parsed: argparse.Namespace) -> int:
    from hlo_tui.formats.opening import open_page, page_instead, sort_of
    from hlo_tui.hlo import loading, report
    from hlo_tui.hlo.module import Module

    if parsed.member is None and sort_of(parsed.path) is not None:
        return _show_page(parsed, open_page(parsed.path))
    try:
        document = loading.open_document(parsed.path, parsed.member)
    except HloTuiError as error:
        if parsed.member is not None:
            raise
        return _show_page(parsed, page_instead(parsed.path, error))
    module = Module(document.source, document.kind)
    module.scan()
    if parsed.name is None:
        _print_module(parsed, document, module)
        return 0
    computation, _, name = parsed.name.rpartition("/")
    instruction = module.find(name.lstrip("%"), computation.lstrip("%") or None)
    if instruction is None:
        raise HloTuiError(
            f"no instruction {parsed.name!r}", f"in {parsed.path}", "hlo-tui show FILE lists the computations"
        )
    from hlo_tui.passes.climbing import Climber, ladder_report, ladder_text

    rungs = Climber().of_instruction(parsed.path, instruction) if parsed.member is None else []
    if parsed.json:
        print(json.dumps({**report.instruction_report(module, instruction), "ladder": ladder_report(rungs)}))
        return 0
    print(report.instruction_text(module, instruction))
    if rungs:
        print(f"\n{ladder_text(rungs)}")
    return 0


def _print_module(parsed: argparse.Namespace, document: Document, module: Module) -> None:
    """The outline of a module, and what its file holds besides."""
    from hlo_tui.hlo import report
    from hlo_tui.hlo.visible import visible

    names = [one.name for one in document.members if one.is_module]
    if parsed.json:
        print(json.dumps({**report.module_report(module), "note": document.note, "members": names}))
        return
    print(report.module_text(module))
    if document.note:
        print(f"\n{document.note}")
    if len(names) > 1:
        print("modules in this file, for --member")
        print("\n".join(f"  {visible(name)}" for name in names[:_MEMBERS]))
    if len(names) > _MEMBERS:
        print(f"  ... {len(names) - _MEMBERS:,} more: --json lists all")


def _show_page(parsed: argparse.Namespace, page: Page) -> int:
    from hlo_tui.formats import report

    page.scan()
    if parsed.name is None:
        print(json.dumps(report.page_report(page)) if parsed.json else report.page_text(page))
        return 0
    from hlo_tui.passes.climbing import Climber, ladder_report, ladder_text

    entry = page.find_entry(parsed.name)
    if entry is None:
        hint = "hlo-tui show FILE lists what is in it" if page.entries else "it has no parts with names"
        raise HloTuiError(f"nothing is called {parsed.name!r}", f"in {parsed.path}, {page.sort.words}", hint)
    rungs = Climber().of_line(parsed.path, page, entry.line)
    if parsed.json:
        print(json.dumps({**report.entry_report(page, entry), "ladder": ladder_report(rungs)}))
        return 0
    print(report.entry_text(page, entry))
    if rungs:
        print(f"\n{ladder_text(rungs)}")
    return 0
