"""Commands that look for something: grep."""

from __future__ import annotations

import argparse
import json

from hlo_tui.commands.saying import say


def grep(parsed: argparse.Namespace) -> int:
    from hlo_tui.finding import places, query, report, search

    wanted = query.make_query(
        parsed.pattern,
        opcode=parsed.opcode,
        shape=parsed.shape,
        dtype=parsed.dtype,
        size=parsed.bytes,
        op_name=parsed.op_name,
        tag=parsed.tag,
    )
    listing, texts = places.places_at(parsed.path, parsed.stage)
    looking = search.Search(listing, wanted)
    before = None
    try:
        for hit in looking.run(texts):
            if parsed.json:
                print(json.dumps(report.hit_json(hit)), flush=True)
                continue
            if hit.place is not before:
                print(("\n" if before is not None else "") + report.place_text(hit.place, hit.module))
                before = hit.place
            print(report.hit_text(hit), flush=True)
    finally:
        for line in report.unread_text(looking):
            say(line)
        say(report.summary_text(looking))
    return 0 if looking.found else 1
