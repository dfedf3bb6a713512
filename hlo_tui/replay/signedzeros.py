"""Negative zeros in constants: XLA prints them as `-0`, and its parser reads that as a whole number without a sign."""

from __future__ import annotations

import re

_LITERAL = re.compile(rb'\bconstant\([^"\n]*+')
_ZERO = re.compile(rb"(?<=[\s({,])-0(?=[,})\s])")


def keep_signs(text: bytes) -> bytes:
    """The same text with `-0.0` where a constant has `-0`."""
    if b"-0" not in text:
        return text
    return _LITERAL.sub(lambda match: _ZERO.sub(b"-0.0", match[0]), text)
