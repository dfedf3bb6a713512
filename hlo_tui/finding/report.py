"""What was found, as data and as text for people."""

from __future__ import annotations

from typing import Any

from hlo_tui.dump.words import count_text
from hlo_tui.finding.places import Place
from hlo_tui.finding.search import Hit, Search
from hlo_tui.hlo.visible import decode, visible

MORE = "…"
_COLUMNS = 200
# Columns that are shown from what was found on, and before it, where the line is cut.
_FROM, _BEFORE = 16, 20


def hit_json(hit: Hit) -> dict[str, Any]:
    """One hit as plain data; its line is counted from 1. What the line has of no instruction is None."""
    instruction = hit.instruction
    place = hit.place
    return {
        "module": hit.module,
        "id": place.id,
        "stage": place.stage,
        "path": place.file,
        "member": place.member,
        "line": hit.line + 1,
        "computation": instruction.computation if instruction is not None else None,
        "instruction": instruction.name if instruction is not None else None,
        "opcode": instruction.opcode if instruction is not None else None,
        "shape": instruction.shape.text if instruction is not None else None,
        "bytes": instruction.shape.byte_size if instruction is not None else None,
        "op_name": instruction.op_name if instruction is not None else None,
        "text": _line(hit),
        "column": hit.column,
    }


def hit_text(hit: Hit, width: int = _COLUMNS) -> str:
    """One hit in one line: its number, the computation, and the line around what was found."""
    where = f"  {visible(hit.computation):<20}" if hit.computation is not None else ""
    head = f"{hit.line + 1:>8,}{where}  "
    return head + hit_line(hit, width - len(head))


def hit_line(hit: Hit, width: int) -> str:
    """The line of a hit in at most `width` columns: its beginning, and the part around what was found."""
    text = _line(hit)
    at = max(0, hit.at - (len(text) - len(text.lstrip())))
    text = (MORE if hit.column else "") + text.strip()
    if len(text) <= width:
        return text
    if at + _FROM <= width:
        return f"{text[: width - 1]}{MORE}"
    head = width // 3
    begin = max(head, min(at - _BEFORE, len(text) - (width - head - 2)))
    part = text[begin : begin + width - head - 2]
    more = MORE if begin + len(part) < len(text) else ""
    return f"{text[:head]}{MORE}{part}{more}"


def place_text(place: Place, module: str) -> str:
    """The heading over the hits of one text."""
    number = f" #{place.id}" if place.id is not None else ""
    member = "" if place.member in (None, module, place.file) else f"  {place.member}"
    return visible(f"{module}{number}  {place.stage}{member}  {place.file}")


def summary_text(search: Search) -> str:
    """How much was found, in how much."""
    modules = count_text(len(search.modules), "module")
    what = "instruction" if search.query.filtered else "line"
    looked = count_text(search.looked, "text")
    return f"{count_text(search.found, what)} in {modules}; {looked} looked through"


def unread_text(search: Search) -> list[str]:
    """The texts that could not be read, a line each."""
    return [f"left out: {visible(place.file)}: {error}" for place, error in search.unread]


def _line(hit: Hit) -> str:
    return decode(hit.text.removesuffix(b"\r").replace(b"\t", b" "))
