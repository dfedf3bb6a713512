"""One line of HLO as it is shown: its tokens as spans, what is folded left out, the names on it to go to."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from hlo_tui.hlo.tokens import START, Role, Token, tokenize
from hlo_tui.ui.glyphs import MORE
from hlo_tui.ui.rows import Span

# A line that is longer is shown window by window, and not folded.
LONGEST = 1 << 14
_TYPE_WIDTH = 44
_HEADER_WIDTH = 100
_ROLES = tuple(role.name.lower() for role in Role)
_NAMES = frozenset((Role.NAME, Role.COMPUTATION, Role.DEFINITION))
_NAME = re.compile(r"%?([A-Za-z_][\w.\-]*+)")
_FRAME = re.compile(r"\bstack_frame_id=(\d{1,9})")
_FILE = re.compile(r'\bsource_file="([^"]{1,4096})"')
_LINE = re.compile(r"\bsource_line=(\d{1,9})")
_GAP = re.compile(r",?\s*\Z")


class Name(NamedTuple):
    """A name on a line: its columns, and itself without percent sign."""

    start: int
    end: int
    name: str


@dataclass(frozen=True, slots=True)
class CodeLine:
    """One line as it is shown.

    Attributes:
        spans: the text in roles of the theme.
        names: what can be gone to, from the left.
        frame: the stack frame of the metadata, 0 where there is none.
        place: file and line that the metadata says itself, else empty.
        width: columns.
    """

    spans: tuple[Span, ...]
    names: tuple[Name, ...] = ()
    frame: int = 0
    place: str = ""
    width: int = 0


def plain_line(text: str) -> CodeLine:
    """A line of what is no HLO."""
    return CodeLine((Span(text),), width=len(text))


def code_line(text: str, folded: bool, tight: bool = False) -> CodeLine:
    """A line of HLO.

    Args:
        text: the line, at most `LONGEST` characters, safe for a terminal.
        folded: leave metadata, configurations, comments and the rest of long types out.
        tight: leave layouts and tags out too; only asked where `folded`.
    """
    tokens, _ = tokenize(text, START)
    metadata = _metadata(text, tokens)
    frame = _FRAME.search(metadata)
    pieces = _fold(text, tokens, tight) if folded else [Piece(text[t.start : t.end], t.role) for t in tokens]
    return _finish(pieces, int(frame[1]) if frame else 0, _place(metadata))


class Piece(NamedTuple):
    """Text in one role of the tokeniser."""

    text: str
    role: Role


def _finish(pieces: list[Piece], frame: int, place: str) -> CodeLine:
    spans: list[Span] = []
    names: list[Name] = []
    column = 0
    for text, role in pieces:
        if role in _NAMES:
            names += [Name(column + m.start(), column + m.end(), m[1]) for m in _NAME.finditer(text)]
        spans.append(Span(text, _ROLES[role]))
        column += len(text)
    return CodeLine(tuple(spans), tuple(names), frame, place, column)


def _metadata(text: str, tokens: list[Token]) -> str:
    start = next((t.start for t in tokens if t.role == Role.METADATA), -1)
    if start < 0:
        return ""
    return text[start : max(t.end for t in tokens if t.role in (Role.METADATA, Role.OP_NAME))]


def _place(metadata: str) -> str:
    file, line = _FILE.search(metadata), _LINE.search(metadata)
    if file is None:
        return ""
    name = file[1].rsplit("/", 1)[-1]
    return f"{name}:{line[1]}" if line else name


def _fold(text: str, tokens: list[Token], tight: bool) -> list[Piece]:
    pieces: list[Piece] = []
    left_out = ("metadata", "frontend_attributes") if tight else ("metadata",)
    at = 0
    while at < len(tokens):
        token = tokens[at]
        word = text[token.start : token.end]
        if token.role == Role.ATTRIBUTE and word in left_out:
            at = _value_end(text, tokens, at)
            _drop_comma(pieces)
            continue
        if token.role == Role.ATTRIBUTE and word == "backend_config":
            at = _value_end(text, tokens, at)
            pieces += [Piece(word, token.role), Piece(f"={{{MORE}}}", Role.CONFIG)]
            continue
        if token.role == Role.ATTRIBUTE and word == "frontend_attributes":
            # The braces say enough: nothing else that stands alone has them.
            at += 1
            if at < len(tokens):
                brace = text[tokens[at].start : tokens[at].end].lstrip("= ")
                pieces.append(Piece(brace, tokens[at].role))
                at += 1
            continue
        if token.role == Role.COMMENT or (tight and token.role == Role.LAYOUT):
            at += 1
            continue
        pieces.append(Piece(word, token.role))
        at += 1
    return _shorten_type(pieces)


def _value_end(text: str, tokens: list[Token], at: int) -> int:
    """The token behind the value of an attribute, whose name is at `at`."""
    at += 1
    opened = at < len(tokens) and text[tokens[at].start : tokens[at].end].endswith("{")
    if not opened:
        return min(at + 2, len(tokens))
    at += 1
    while at < len(tokens) and tokens[at].role in (Role.METADATA, Role.OP_NAME, Role.CONFIG, Role.TAG):
        at += 1
    return min(at + 1, len(tokens))


def _drop_comma(pieces: list[Piece]) -> None:
    while pieces and pieces[-1].role in (Role.TEXT, Role.PUNCTUATION):
        kept = _GAP.sub("", pieces[-1].text)
        if kept == pieces[-1].text:
            return
        pieces.pop()
        if kept:
            pieces.append(Piece(kept, Role.PUNCTUATION))
            return


def _shorten_type(pieces: list[Piece]) -> list[Piece]:
    """Leave the end of a long tuple type out: what is behind the equals sign of a definition."""
    begin = next((at for at, piece in enumerate(pieces) if piece.role == Role.DEFINITION), -1) + 1
    while 0 < begin < len(pieces) and "(" not in pieces[begin].text:
        if pieces[begin].role == Role.SHAPE:
            return pieces
        begin += 1
    if not 0 < begin < len(pieces):
        return pieces
    depth = width = 0
    cut = -1
    for at in range(begin, len(pieces)):
        text, role = pieces[at]
        if role in (Role.OPCODE, Role.ATTRIBUTE):
            return pieces
        depth += text.count("(") - text.count(")")
        if cut < 0 and width > _TYPE_WIDTH and role == Role.PUNCTUATION and "," in text:
            cut = at
        width += len(text)
        if depth <= 0:
            close = text.rindex(")") if ")" in text else 0
            if cut < 0 or at - cut < 3:
                return pieces
            behind = Piece(text[close:], Role.PUNCTUATION)
            return [*pieces[:cut], Piece(f", {MORE}", Role.COMMENT), behind, *pieces[at + 1 :]]
    return pieces


def header_line(text: str) -> CodeLine:
    """The header folded: the module's name and as much as fits, with a mark for the rest."""
    shown = (
        text if len(text) <= _HEADER_WIDTH else text[: text.rfind(",", 0, _HEADER_WIDTH) + 1 or _HEADER_WIDTH]
    )
    line = code_line(shown, folded=True)
    hidden = len(text) - len(shown)
    if not hidden:
        return line
    more = Span(f" {MORE} {hidden:,} more characters", "muted")
    return CodeLine((*line.spans, more), line.names, width=line.width + len(more.text))
