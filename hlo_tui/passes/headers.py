"""What stands at the head of two modules, compared: the header's parts and the stack frame tables."""

from __future__ import annotations

import re

from hlo_tui.hlo.attributes import split_top
from hlo_tui.hlo.header import Header
from hlo_tui.passes.blocks import Text
from hlo_tui.passes.changes import HeaderChange

FRAME_NUMBER = re.compile(rb"stack_frame_id=(\d{1,18})")


def differing_frames(a: Text, b: Text) -> frozenset[int]:
    """The numbers of stack frames that do not mean the same in both modules."""
    if a.tables == b.tables:
        return frozenset()
    numbers = {int(number) for text in (a, b) for number in set(FRAME_NUMBER.findall(text.data))}
    return frozenset(number for number in numbers if a.frames(number) != b.frames(number))


def header_changes(a: Header, b: Header) -> tuple[HeaderChange, ...]:
    """The parts of the headers that differ; the name is none."""
    old, new = _parts(a), _parts(b)
    return tuple(
        HeaderChange(key, old.get(key, ""), new.get(key, ""))
        for key in dict.fromkeys((*old, *new))
        if old.get(key) != new.get(key)
    )


def _parts(header: Header) -> dict[str, str]:
    parts = (part.partition("=") for part in split_top(header.attributes))
    return {key.strip(): value.strip() for key, _, value in parts if key.strip()}
