"""Text of a newer XLA than the one that runs it: attributes that its parser does not know are left out, and named."""

from __future__ import annotations

import re
from typing import NamedTuple

from hlo_tui.errors import EngineError
from hlo_tui.replay import meshnames, xla
from hlo_tui.replay.compact import expand, is_compact
from hlo_tui.replay.signedzeros import keep_signs

_UNKNOWN = re.compile(r'unexpected attribute "([\w-]+)"')
_OPENING, _CLOSING = b"{[(", b"}])"
# Shardings by the names of mesh axes; what a replay needs of them stands in the frontend attributes too.
_NAMED_SHARDING = b"{mesh["
# More than these are no matter of a newer version.
_ATTRIBUTES = 16


class Parsed(NamedTuple):
    """What XLA's parser made of a text.

    Attributes:
        module: the bytes of an HloModuleProto.
        text: what was parsed: the text that was given, as this XLA can take it.
        left_out: attributes that were left out for it.
    """

    module: bytes
    text: bytes
    left_out: tuple[str, ...] = ()


def parse(text: bytes, as_written: bool = False) -> Parsed:
    """Parse a text, brought to what this XLA knows where it is a newer one's.

    Args:
        text: HLO.
        as_written: leave what this XLA takes as it is, though a replay could not use it.

    Raises:
        EngineError: XLA does not accept the text, for other reasons than that it is newer.
    """
    if as_written:
        try:
            return Parsed(xla.parse_text(keep_signs(text)), text)
        except EngineError:
            # Then as a replay would.
            pass
    if is_compact(text):
        text = expand(text)
    text = meshnames.rewrite(text)
    left_out: list[str] = []
    while True:
        try:
            return Parsed(xla.parse_text(keep_signs(text)), text, tuple(left_out))
        except EngineError as error:
            found = _UNKNOWN.search(error.message)
            attribute = "sharding" if found is None and _NAMED_SHARDING in text else found and found[1]
            shorter = without(text, attribute) if attribute else text
            if len(shorter) == len(text) or len(left_out) == _ATTRIBUTES:
                raise
            left_out.append(str(attribute))
            text = shorter


def without(text: bytes, attribute: str) -> bytes:
    """The text without `, attribute=value`, wherever it stands outside of strings."""
    token = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|,\s*+%s=' % re.escape(attribute.encode()), re.S)
    pieces, kept = [], 0
    at = 0
    while (found := token.search(text, at)) is not None:
        at = found.end()
        if found.group().startswith(b","):
            at = _value_end(text, at)
            pieces.append(text[kept : found.start()])
            kept = at
    return b"".join((*pieces, text[kept:]))


_PART = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[{}()\[\],\n]', re.S)


def _value_end(text: bytes, at: int) -> int:
    """Where the value of an attribute ends: before a comma, a bracket that it did not open, or the end of the line."""
    depth = 0
    for found in _PART.finditer(text, at):
        part = found.group()
        if part in _OPENING:
            depth += 1
        elif part in _CLOSING:
            if not depth:
                return found.start()
            depth -= 1
        elif not depth and part in (b",", b"\n"):
            return found.start()
    return len(text)
