"""Commands that cut something out or turn it into another form: extract, convert, bundle."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from hlo_tui.commands.saying import say
from hlo_tui.commands.streams import put
from hlo_tui.commands.writing import check_out, write
from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible

# Those of `cutting.forms`, which is not imported before it is used.
FORMS = ("text", "proto", "textproto", "stablehlo", "dot", "svg", "html")


def depth(text: str) -> int:
    """Levels of operands: a number, or all of them."""
    from hlo_tui.cutting.extract import ALL

    if text == "all":
        return ALL
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is no number and not all")
    return int(text[:9])


def extract(parsed: argparse.Namespace) -> int:
    from hlo_tui.cutting import extract

    if parsed.values and parsed.out is None:
        raise HloTuiError(
            "--values needs a place", "the values are written beside the module", "give -o OUT.hlo"
        )
    if parsed.out is not None:
        _check_extracted(parsed)
    part = extract.find_part(extract.open_whole(parsed.path, parsed.member), parsed.name, parsed.depth)
    for note in part.notes:
        say(f"hlo-tui: {note}")
    if parsed.out is None and not parsed.json:
        put(part.text)
        return 0
    told: dict[str, Any] = {
        "module": part.name,
        "computation": part.computation,
        "instruction": part.instruction or None,
        "instructions": part.instructions,
        "parameters": [one.name for one in part.parameters],
        "notes": list(part.notes),
        "path": None,
        "values": None,
        "result": None,
    }
    if parsed.out is not None:
        write(part.text, parsed.out)
        told["path"] = str(parsed.out)
    if parsed.values:
        told.update(_values(parsed, part))
    print(json.dumps(told) if parsed.json else _words(told))
    return 0


def _values(parsed: argparse.Namespace, part: Any) -> dict[str, Any]:
    from hlo_tui.cutting import values
    from hlo_tui.replay.session import Options

    options = Options(parsed.path, parsed.member, parsed.inputs, parsed.seed)
    found = values.save_values(part, options, parsed.out.with_suffix(".npz"))
    return {"values": found["path"], "result": found["result"]}


def _check_extracted(parsed: argparse.Namespace) -> None:
    """Refuse places that are not to be written to, that of the values too, which nobody has named."""
    read = (parsed.path, Path(parsed.inputs))
    check_out(parsed.out, *read)
    if parsed.values:
        values = parsed.out.with_suffix(".npz")
        check_out(values, *read)
        if values == parsed.out:
            raise HloTuiError("not written", f"{visible(str(values))} is for the values", "give OUT.hlo")


def _words(told: dict[str, Any]) -> str:
    out = told["path"]
    what = f"{told['computation']}/{told['instruction']}" if told["instruction"] else told["computation"]
    inputs = f" --inputs {told['values']}" if told["values"] else ""
    run = f"hlo-tui replay {out}{inputs} --break {told['instruction'] or 'NAME'}"
    instructions = count_text(told["instructions"], "instruction")
    rows = [
        f"{what}: {instructions}, {count_text(len(told['parameters']), 'parameter')} in {out}",
        f"run it    {run}",
    ]
    return "\n".join(visible(row) for row in rows)


def convert(parsed: argparse.Namespace) -> int:
    from hlo_tui.cutting import convert, forms

    form = parsed.to or forms.form_of(parsed.out)
    to_stdout = str(parsed.out) == "-"
    if to_stdout and parsed.json:
        raise HloTuiError(
            "two things for standard output", "the module and what is said of it", "give a file"
        )
    if not to_stdout:
        check_out(parsed.out, parsed.path)
    made = convert.convert(parsed.path, form, parsed.member, draw=_drawn)
    if to_stdout:
        put(made.data, text=form != FORMS[1])
    else:
        convert.write(made, parsed.out)
    for words in made.lost:
        say(f"not kept: {words}")
    told = {
        "from": made.source, "to": made.form, "path": str(parsed.out), "bytes": len(made.data),
        "lost": list(made.lost),
    }  # fmt: skip
    if parsed.json:
        print(json.dumps(told))
    return 0


def _drawn(text: bytes, name: str, form: str) -> bytes:
    """The entry of a module as a picture."""
    from hlo_tui.graph import pictures, wiring
    from hlo_tui.hlo.module import Module
    from hlo_tui.hlo.source import BytesSource

    module = Module(BytesSource(text, name))
    entry = module.scan().entry
    wires = wiring.Wiring(module)
    return pictures.picture(wiring.whole(wires, entry.name if entry is not None else ""), wires, name, form)


def bundle(parsed: argparse.Namespace) -> int:
    from hlo_tui.cutting import bundle
    from hlo_tui.dump import choosing, listing

    dump = listing.load(parsed.path)
    module = choosing.find_module(dump, parsed.module)
    made = bundle.collect(dump, module, snapshot=parsed.snapshot, passes=parsed.passes, scrub=parsed.scrub)
    out = parsed.out or Path(f"{made.directory}.tar.gz")
    bundle.write(made, out, dump.root)
    for note in made.notes:
        say(f"hlo-tui: {note}")
    if parsed.json:
        files = [{"name": item.name, "why": item.why, "bytes": len(item.data)} for item in made.items]
        told = {"path": str(out), "bytes": out.stat().st_size, "files": files, "notes": list(made.notes)}
        print(json.dumps(told))
        return 0
    print(made.summary)
    say(f"written: {out}, {out.stat().st_size:,} bytes; the text above is its summary.md")
    return 0
