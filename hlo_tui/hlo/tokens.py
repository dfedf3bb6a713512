"""A total tokeniser of HLO text: every character of any text is in exactly one token."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable
from typing import NamedTuple

from hlo_tui.hlo.attributes import CALL_ATTRIBUTES


class Role(enum.IntEnum):
    """What a token is."""

    TEXT = 0
    """Blanks."""
    KEYWORD = 1
    OPCODE = 2
    SHAPE = 3
    LAYOUT = 4
    DEFINITION = 5
    """The name that a line defines."""
    NAME = 6
    """The name of an instruction that is used."""
    COMPUTATION = 7
    NUMBER = 8
    STRING = 9
    ATTRIBUTE = 10
    VALUE = 11
    """A bare word as an attribute's value, such as kLoop."""
    METADATA = 12
    OP_NAME = 13
    TAG = 14
    """What is in frontend_attributes."""
    SHARDING = 15
    CONFIG = 16
    """What is in backend_config."""
    COMMENT = 17
    PUNCTUATION = 18
    UNKNOWN = 19


class Token(NamedTuple):
    """The characters from `start` up to `end` of a text."""

    start: int
    end: int
    role: Role


class State(NamedTuple):
    """What is open where a text begins or ends.

    Attributes:
        role: of an open string or comment; TEXT where none is open.
        region: METADATA, TAG, SHARDING or CONFIG inside of such braces; TEXT outside.
        depth: braces open in the region.
        begins_line: whether a line begins here.
    """

    role: Role = Role.TEXT
    region: Role = Role.TEXT
    depth: int = 0
    begins_line: bool = True


START = State()

_REGIONS = {
    "metadata": Role.METADATA,
    "frontend_attributes": Role.TAG,
    "sharding": Role.SHARDING,
    "backend_config": Role.CONFIG,
}
_CALLS = frozenset(CALL_ATTRIBUTES)
_KEYWORDS = frozenset((
    "ENTRY", "ROOT", "HloModule", "FileNames", "FunctionNames", "FileLocations", "StackFrames", "true",
    "false", "inf", "nan",
))  # fmt: skip
_WORD = r"[A-Za-z_][\w.\-]*+"
_BEGIN = re.compile(
    rf"(\s*+)(?:(ROOT|ENTRY|HloModule)(\s++))?+(%?{_WORD})(?:(\s*+=(?!=)\s*+)|(\s*+)(?:(?=([(\{{,]))|\Z))"
)
_DEFINES = re.compile(rf"\s*+(?:ROOT\s++)?+(?:%{_WORD}\s*+=|{_WORD}\s++=)(?!=)")
_PLAIN_NUMBER = r"-?(?:\d[\w.]*+(?:[+\-]\d[\w.]*+)?+|inf\b|nan\b)"
_TOKEN = re.compile(
    r"((?:[(){}\[\],:*+~<>?;&|!^$@=\#]|->|-(?!\d|inf|nan)|\.\.\.)++[\ \t]*+)"
    r"|(%[\w.\-]++(?:\#\d++)*+)"
    rf"|({_WORD})(?:(\[[\d,<=?]*+\])(\{{(?=[\d:}}*?])[^{{}}\"\s]*+\}})?+|(=)(?!=)|((?:\#\d++)++))?+"
    rf"|({_PLAIN_NUMBER}(?:,\ ?{_PLAIN_NUMBER})*+)"
    r"|(\s++)"
    r"|(\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:(\")|\\?\Z))"
    r"|(/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:(\*/)|\*?\Z)|(//[^\n]*+))"
    r"|([^\x21-\x7e]++|.)",
    re.S | re.X,
)
_PUNCTUATION, _PERCENT, _BARE, _SIZES, _LAYOUT, _EQUALS, _TUPLE_INDEX, _NUMBER, _BLANK = range(1, 10)
_STRING, _QUOTE, _COMMENT, _COMMENT_END, _LINE_COMMENT, _ODD = range(10, 16)
_SIMPLE = {
    _PUNCTUATION: Role.PUNCTUATION,
    _PERCENT: Role.NAME,
    _TUPLE_INDEX: Role.NAME,
    _NUMBER: Role.NUMBER,
    _BLANK: Role.TEXT,
    _ODD: Role.UNKNOWN,
}
_CALLED = re.compile(rf"\{{\s*+%?{_WORD}(?:,\s*+%?{_WORD})*+(?=\s*+\}})|%?{_WORD}")
_CALLED_NAME = re.compile(rf"%?{_WORD}")
_VALUE = re.compile(rf"{_WORD}(?![\[(\"])")
_IN_REGION = re.compile(r"[{}]|\"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:(\")|\\?\Z)", re.S)
_STRING_REST = re.compile(r"[^\"\\]*+(?:\\.[^\"\\]*+)*+(?:(\")|\\?\Z)", re.S)
_COMMENT_REST = re.compile(r"[^*]*+(?:\*(?!/)[^*]*+)*+(?:(\*/)|\*?\Z)", re.S)
_WINDOW = 1 << 15
_LOOK_BACK = 1 << 14
# Places in the middle of a line at which no string can be open.
_MARK = re.compile(
    r", (?:metadata|frontend_attributes|sharding|backend_config|calls|to_apply|kind|dimensions|index)="
    r"|\), [a-z_]+="
)
_QUOTES = re.compile(r"\\.|(.?)\"(.?)", re.S)


def tokenize(text: str, state: State = START) -> tuple[list[Token], State]:
    """Cut `text` into tokens, and give what is open at its end.

    `text` is a line without its newline, several lines, or a part of a line; `state` is what the text before
    it gave. The tokens cover every character once and in order. Time is linear; no text is an error.
    """
    tokens: list[Token] = []
    at = 0
    while True:
        newline = text.find("\n", at)
        end = len(text) if newline < 0 else newline + 1
        state = _line(text, at, end, state, tokens)
        if end == len(text):
            return tokens, state
        at = end


def _line(text: str, at: int, end: int, state: State, tokens: list[Token]) -> State:
    role, region, depth, begins = state
    if begins and (role or region) and _DEFINES.match(text, at, end):
        role, region, depth = Role.TEXT, Role.TEXT, 0
    if begins and not (role or region):
        at = _begin_line(text, at, end, tokens)
    match = _TOKEN.match
    while at < end:
        if region:
            at, role, region, depth = _region(text, at, end, (role, region, depth), tokens)
            continue
        if role:
            at, role = _rest(text, at, end, role, tokens)
            continue
        found = match(text, at, end)
        if found is None:
            break
        kind, stop = found.lastindex, found.end()
        simple = _SIMPLE.get(kind or 0)
        if simple is not None:
            tokens.append(Token(at, stop, simple))
        elif kind == _BARE:
            tokens.append(Token(at, stop, _bare(text, at, stop)))
        elif kind == _EQUALS:
            stop, region = _attribute(text, at, end, found[_BARE], tokens)
            depth = 1
        elif kind == _STRING:
            tokens.append(Token(at, stop, Role.STRING))
            role = Role.TEXT if found[_QUOTE] else Role.STRING
        elif kind == _COMMENT:
            tokens.append(Token(at, stop, Role.COMMENT))
            role = Role.TEXT if found[_COMMENT_END] or found[_LINE_COMMENT] else Role.COMMENT
        else:
            sizes = found.end(_SIZES)
            tokens.append(Token(at, sizes, Role.SHAPE))
            if sizes < stop:
                tokens.append(Token(sizes, stop, Role.LAYOUT))
        at = stop
    return State(role, region, depth if region else 0)


def _begin_line(text: str, at: int, end: int, tokens: list[Token]) -> int:
    """Take what a line defines: an instruction, a computation or the module."""
    found = _BEGIN.match(text, at, end)
    if found is None:
        return at
    if found[5] is None:
        if found[2] not in ("ENTRY", "HloModule") and not _heads(found):
            return at
        name_role = Role.COMPUTATION
    elif found[5][0] == "=" and found[4][0] != "%":
        return at
    else:
        name_role = Role.DEFINITION
    pieces = ((1, Role.TEXT), (2, Role.KEYWORD), (3, Role.TEXT), (4, name_role), (5, Role.PUNCTUATION))
    for group, role in (*pieces, (6, Role.TEXT)):
        start, stop = found.span(group)
        if start < stop:
            tokens.append(Token(start, stop, role))
    return found.end()


def _heads(found: re.Match[str]) -> bool:
    """Whether a name at the beginning of a line, without ENTRY, is that of a computation."""
    return found[2] is None and (found[7] == "{" or (found[7] == "(" and bool(found[6])))


def _bare(text: str, at: int, stop: int) -> Role:
    word = text[at:stop]
    if word in _KEYWORDS:
        return Role.KEYWORD
    opens = text.startswith("(", stop) and (at == 0 or text[at - 1].isspace())
    return Role.OPCODE if opens else Role.NAME


def _attribute(text: str, at: int, end: int, key: str, tokens: list[Token]) -> tuple[int, Role]:
    """Take `key=` and the beginning of the value; gives where it goes on, and the region that is entered."""
    stop = at + len(key)
    tokens.append(Token(at, stop, Role.ATTRIBUTE))
    region = _REGIONS.get(key, Role.TEXT)
    if region and text.startswith("{", stop + 1) and stop + 1 < end:
        tokens.append(Token(stop, stop + 2, Role.PUNCTUATION))
        return stop + 2, region
    if key in _CALLS:
        called = _CALLED.match(text, stop + 1, end)
        if called is not None:
            for name in _CALLED_NAME.finditer(text, stop + 1, called.end()):
                tokens.append(Token(stop, name.start(), Role.PUNCTUATION))
                tokens.append(Token(name.start(), name.end(), Role.COMPUTATION))
                stop = name.end()
            return stop, Role.TEXT
    tokens.append(Token(stop, stop + 1, Role.PUNCTUATION))
    value = _VALUE.match(text, stop + 1, end)
    if value is None:
        return stop + 1, Role.TEXT
    tokens.append(Token(stop + 1, value.end(), Role.KEYWORD if value[0] in _KEYWORDS else Role.VALUE))
    return value.end(), Role.TEXT


def _rest(text: str, at: int, end: int, role: Role, tokens: list[Token]) -> tuple[int, Role]:
    """Go on in a string or comment that began before."""
    pattern = _COMMENT_REST if role == Role.COMMENT else _STRING_REST
    found = pattern.match(text, at, end)
    if found is None:
        return at, Role.TEXT
    if found.end() > at:
        tokens.append(Token(at, found.end(), role))
    return found.end(), Role.TEXT if found[1] else role


def _region(
    text: str, at: int, end: int, inside: tuple[Role, Role, int], tokens: list[Token]
) -> tuple[int, Role, Role, int]:
    """Go on in the braces of an attribute whose contents have one role, but for the op_name."""
    role, region, depth = inside
    begin = at
    if role:
        at, open_role = _rest(text, at, end, role, tokens)
        if open_role:
            return end, open_role, region, depth
        begin = at
    for found in _IN_REGION.finditer(text, at, end):
        start, stop = found.span()
        if found[0] == "{":
            depth += 1
        elif found[0] == "}":
            depth -= 1
            if depth == 0:
                _add(tokens, begin, start, region)
                tokens.append(Token(start, stop, Role.PUNCTUATION))
                return stop, Role.TEXT, Role.TEXT, 0
        else:
            string = region
            if region == Role.METADATA and text.startswith("op_name=", max(at, start - 8)):
                string = Role.OP_NAME
                _add(tokens, begin, start, region)
                tokens.append(Token(start, stop, string))
                begin = stop
            if not found[1]:
                _add(tokens, begin, stop, region)
                return end, string, region, depth
    _add(tokens, begin, end, region)
    return end, Role.TEXT, region, depth


def _add(tokens: list[Token], start: int, end: int, role: Role) -> None:
    if start < end:
        tokens.append(Token(start, end, role))


def window(
    read: Callable[[int, int], bytes], line_span: tuple[int, int], column: int, width: int
) -> tuple[str, list[Token]]:
    """Text and tokens of a part of one line, however long the line is.

    Args:
        read: gives bytes at an offset, as `Source.read`.
        line_span: offsets of the line's first byte and of its end.
        column: the first byte of the part, from the line's first.
        width: how many bytes; at most 32 KiB are given.

    At most 16 KiB before the part are read: what is open where it begins is found there as well as it can be.
    """
    begin, end = line_span
    at = max(begin, min(begin + column, end))
    width = max(0, min(width, _WINDOW, end - at))
    before = min(_LOOK_BACK, at - begin)
    data = read(at - before, before + width)
    earlier = data[:before].decode("utf-8", "replace")
    text = data[before:].decode("utf-8", "replace")
    state = START
    if at > begin:
        if at - before > begin:
            earlier, state = _synchronize(earlier)
        _, state = tokenize(earlier, state)
        state = state._replace(begins_line=False)
    return text, tokenize(text, state)[0]


def _synchronize(text: str) -> tuple[str, State]:
    """The part of a text from the middle of a line from which on it can be read, and what is open there."""
    middle = START._replace(begins_line=False)
    mark = _MARK.search(text)
    if mark is not None:
        return text[mark.start() :], middle
    for quote in _QUOTES.finditer(text):
        if quote[1] is None:
            # Outside of strings nothing is escaped.
            return text, middle._replace(role=Role.STRING)
        if quote[1] not in "=[{(,: " or quote[2] in "}],)":
            return text, middle._replace(role=Role.STRING)
        return text, middle
    string = len(text) > 256 and not any(blank in text for blank in " ,{(")
    return text, middle._replace(role=Role.STRING) if string else middle
