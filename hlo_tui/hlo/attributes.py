"""Attribute text of HLO: balanced splitting, C escapes, frontend attributes and metadata."""

from __future__ import annotations

import re

# Possessive repeats keep every match linear and free of backtracking stacks. A double-quoted string runs to
# the end where it is not closed; a single quote opens one only where it closes soon (mesh and axis names).
STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)' r"|'(?:[^'\\\n\"]|\\.){0,256}+'"
COMMENT = r"/\*(?:[^*]|\*(?!/))*+(?:\*/|\Z)|//[^\n]*+"
# The attributes that name computations.
CALL_ATTRIBUTES = (
    "to_apply", "calls", "condition", "body", "true_computation", "false_computation", "branch_computations",
    "called_computations", "select", "scatter",
)  # fmt: skip
_OPEN = "([{"
_CLOSE = ")]}"
_STRUCTURE = re.compile(rf"{STRING}|{COMMENT}|[()\[\]{{}}]", re.S)
_SPLITTERS: dict[str, re.Pattern[str]] = {}
_COMMENT = re.compile(rf"({STRING})|{COMMENT}", re.S)
_ESCAPE = re.compile(rb"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]{1,2})|(.))", re.S)
_CONTROL = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"a": b"\a", b"b": b"\b", b"f": b"\f", b"v": b"\v"}
_FIELD = re.compile(rf"(?<![\w.\-])([A-Za-z_][\w.\-]*+)\s*=\s*({STRING}|\{{[^{{}}]*+\}}|[^\s,}}]*+)", re.S)


def split_top(text: str, separator: str = ",") -> list[str]:
    """Split `text` at each `separator` (one character) outside of brackets, strings and comments.

    The parts are not stripped and joined again they give `text`. No text gives no parts. Brackets need not
    match: a closing one closes whatever is open.
    """
    if not text:
        return []
    pattern = _SPLITTERS.get(separator)
    if pattern is None:
        pattern = re.compile(rf"{STRING}|{COMMENT}|[()\[\]{{}}{re.escape(separator)}]", re.S)
        _SPLITTERS[separator] = pattern
    parts = []
    depth = begin = 0
    for match in pattern.finditer(text):
        token = match.group()
        if token == separator:
            if depth == 0:
                parts.append(text[begin : match.start()])
                begin = match.end()
        elif token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth = max(0, depth - 1)
    parts.append(text[begin:])
    return parts


def balanced_end(text: str, start: int) -> int:
    """The offset just after the bracket that closes the one at `start`, or -1 where it is not closed.

    Strings and comments are skipped. Any closing bracket closes whatever is open, so that a damaged text ends
    early instead of swallowing what follows.
    """
    depth = 0
    for match in _STRUCTURE.finditer(text, start):
        token = match.group()
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
            if depth <= 0:
                return match.end()
    return -1


def without_comments(text: str) -> str:
    """`text` with every comment outside of strings replaced by nothing."""
    if "/" not in text:
        return text
    return _COMMENT.sub(lambda match: match.group(1) or "", text)


def unescape(text: str) -> str:
    r"""Undo C escapes: `\n`, `\"`, octal and hex bytes, together UTF-8 (`\317\200` is one character)."""
    if "\\" not in text:
        return text
    data = _ESCAPE.sub(_escaped, text.encode("utf-8", "surrogateescape"))
    return data.decode("utf-8", "replace")


def _escaped(match: re.Match[bytes]) -> bytes:
    octal, hexadecimal, other = match.groups()
    if octal is not None:
        return bytes([int(octal, 8) & 0xFF])
    if hexadecimal is not None:
        return bytes([int(hexadecimal, 16)])
    return _CONTROL.get(other, other)


def unquote(text: str) -> str:
    """A quoted string without its quotes and escapes; anything else as it is."""
    if len(text) >= 2 and text[0] in "\"'" and text[-1] == text[0]:
        return unescape(text[1:-1])
    if text.startswith('"'):
        return unescape(text[1:])
    return text


def parse_frontend_attributes(text: str) -> dict[str, str]:
    """The keys and values of `{key="value",other={"raw": 1}}`: quoted ones unescaped, others as they are."""
    result = {}
    for part in split_top(_inside(text)):
        key, equals, value = part.partition("=")
        key = key.strip()
        if equals and key:
            result[key] = unquote(value.strip())
    return result


def parse_metadata(text: str) -> dict[str, str | int]:
    """The fields of `{op_name="a/b" source_line=3}`: strings unescaped, numbers as int, others raw."""
    result: dict[str, str | int] = {}
    for match in _FIELD.finditer(_inside(text)):
        key, value = match.groups()
        if value.isascii() and value.isdigit() and len(value) < 19:
            result[key] = int(value)
        else:
            result[key] = unquote(value)
    return result


def _inside(text: str) -> str:
    text = text.strip()
    if text.startswith("{"):
        text = text[1:]
        if text.endswith("}"):
            text = text[:-1]
    return text
