"""Text of a newer XLA than the one that runs it: attributes that its parser does not know are left out, and named."""

from __future__ import annotations

import re

from hlo_tui.errors import EngineError
from hlo_tui.replay import xla

_UNKNOWN = re.compile(r'unexpected attribute "([\w-]+)"')
_OPENING, _CLOSING = b"{[(", b"}])"
# More than these are no matter of a newer version.
_ATTRIBUTES = 16


def parse(text: bytes) -> tuple[bytes, list[str]]:
    """The bytes of an HloModuleProto, and the attributes that were left out to get it.

    Raises:
        EngineError: XLA does not accept the text, for other reasons than unknown attributes.
    """
    left_out: list[str] = []
    while True:
        try:
            return xla.parse_text(text), left_out
        except EngineError as error:
            found = _UNKNOWN.search(error.message)
            shorter = text if found is None else without(text, found[1])
            if found is None or len(shorter) == len(text) or len(left_out) == _ATTRIBUTES:
                raise
            left_out.append(found[1])
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
