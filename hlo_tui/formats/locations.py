"""Locations of MLIR as JAX writes them: the name of an operation, and the places in a program that made it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from hlo_tui.hlo.frames import SourceFrame

_ALIAS = re.compile(r"^#(loc\w*) = (loc\(.*)$")
_TOKEN = re.compile(
    r'\s*(?:(?P<string>"[^"\\]*+(?:\\.[^"\\]*+)*+")|(?P<alias>\#loc\w*)|(?P<word>callsite|fused|unknown|at|loc|to)\b'
    r"|(?P<number>\d{1,9})|(?P<mark>[()\[\]:,<>]))"
)
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|.)", re.S)
# A location of JAX has a hundred frames at most; what is deeper is damage, or a circle.
_DEEPEST = 400
_MOST_TOKENS = 20_000
_CUT_OFF = ""


@dataclass(frozen=True, slots=True)
class Location:
    """Where an operation comes from.

    Attributes:
        name: as the program's transformations spell it, `jit(f)/while/body/add`; empty where there is none.
        frames: the places in the program, innermost first.
    """

    name: str = ""
    frames: tuple[SourceFrame, ...] = ()


NOWHERE = Location()
_Places = tuple[SourceFrame, ...]


class Locations:
    """The aliases of one text, each resolved when it is first asked for."""

    def __init__(self, aliases: dict[str, str]) -> None:
        self._aliases = aliases
        self._known: dict[str, Location] = {}
        self._places: dict[str, _Places] = {}

    def of(self, text: str) -> Location:
        """The location that a text such as `loc(#loc3)` stands for."""
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._resolve(text)
        return found

    def _resolve(self, text: str) -> Location:
        body = _inner(text)
        for _ in range(_DEEPEST):
            if not body.startswith("#"):
                break
            body = _inner(self._aliases.get(body[1:], "loc(unknown)"))
        parser = _Parser(body, self)
        name, places = parser.top()
        return Location(name, places)

    def places(self, alias: str, depth: int) -> _Places:
        """The places behind an alias; none in a circle of them."""
        found = self._places.get(alias)
        if found is None:
            if depth > _DEEPEST:
                return ()
            # Until it is known it has none: a circle ends here.
            self._places[alias] = ()
            body = _inner(self._aliases.get(alias, "loc(unknown)"))
            found = self._places[alias] = _Parser(body, self, depth + 1).places()
        return found


def read_aliases(lines: Iterable[str]) -> dict[str, str]:
    """The aliases that lines define: name without its sign to what it stands for."""
    return {match[1]: match[2] for match in map(_ALIAS.match, lines) if match is not None}


def at_end(line: str) -> tuple[str, str]:
    """A line without the location at its end, and the location; that is empty where there is none."""
    text = line.rstrip()
    at = text.rfind(" loc(")
    if at < 0 or not text.endswith(")"):
        return text, ""
    return text[:at], text[at + 1 :]


def _inner(text: str) -> str:
    text = text.strip()
    return text[4:-1].strip() if text.startswith("loc(") and text.endswith(")") else text


class _Parser:
    """One location, read from left to right; what cannot be read ends it."""

    def __init__(self, text: str, among: Locations, depth: int = 0) -> None:
        self._tokens: list[tuple[str, str]] = []
        self._among = among
        self._depth = depth
        self._at = 0
        at = 0
        while at < len(text) and len(self._tokens) < _MOST_TOKENS:
            found = _TOKEN.match(text, at)
            if found is None:
                break
            self._tokens.append((found.lastgroup or "", found[found.lastgroup or 0]))
            at = found.end()

    def top(self) -> tuple[str, _Places]:
        """The name at the top, and the places below it."""
        kind, text = self._peek()
        if kind == "string" and self._peek(1)[1] != ":":
            self._at += 1
            places: _Places = ()
            if self._peek()[1] == "(":
                self._at += 1
                places = self.places()
            return _unquoted(text), places
        return "", self.places()

    def places(self, level: int = 0) -> _Places:
        """The places of the location that begins here, innermost first."""
        kind, text = self._next()
        if level > _DEEPEST or kind == _CUT_OFF:
            return ()
        if kind == "alias":
            return self._among.places(text[1:], self._depth)
        if kind == "word" and text == "loc":
            return self._inside(level)
        if kind == "word" and text == "callsite":
            self._next()
            callee = self.places(level + 1)
            if self._peek()[1] == "at":
                self._next()
            return callee + self.places(level + 1) + self._skip()
        if kind == "word" and text == "fused":
            return self._fused(level)
        if kind == "string":
            return self._named(_unquoted(text), level)
        return ()

    def _inside(self, level: int) -> _Places:
        if self._peek()[1] == "(":
            self._next()
        return self.places(level + 1)

    def _fused(self, level: int) -> _Places:
        while self._peek()[1] not in ("[", _CUT_OFF):
            self._next()
        self._next()
        return self.places(level + 1)

    def _named(self, text: str, level: int) -> _Places:
        if self._peek()[1] == "(":
            self._next()
            below = self.places(level + 1)
            self._skip()
            # A name right above a place is that of the function.
            if below and not below[0].function:
                return (replace(below[0], function=text), *below[1:])
            return below
        if self._peek()[1] != ":":
            return ()
        numbers = []
        while self._peek()[1] == ":" and self._peek(1)[0] == "number":
            self._next()
            numbers.append(int(self._next()[1]))
        if self._peek()[1] == "to":
            self._next()
            while self._peek()[1] == ":" or self._peek()[0] == "number":
                self._next()
        line, column = (*numbers, 0, 0)[:2]
        return (SourceFrame(text, line, column),)

    def _skip(self) -> _Places:
        if self._peek()[1] == ")":
            self._next()
        return ()

    def _peek(self, ahead: int = 0) -> tuple[str, str]:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else (_CUT_OFF, _CUT_OFF)

    def _next(self) -> tuple[str, str]:
        found = self._peek()
        self._at += 1
        return found


def _unquoted(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        code = match[1]
        return chr(int(code, 16)) if len(code) == 2 else {"n": "\n", "t": "\t"}.get(code, code)

    return _ESCAPE.sub(plain, text[1:-1]) if "\\" in text else text[1:-1]
