"""HLO for Pygments, on the same tokeniser that the screen uses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from pygments.lexer import Lexer
from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, Text, _TokenType

from hlo_tui.hlo.tokens import Role, tokenize

_TYPES = {
    Role.TEXT: Text.Whitespace,
    Role.KEYWORD: Keyword,
    Role.OPCODE: Name.Function,
    Role.SHAPE: Keyword.Type,
    Role.LAYOUT: Keyword.Pseudo,
    Role.DEFINITION: Name.Variable.Global,
    Role.NAME: Name.Variable,
    Role.COMPUTATION: Name.Class,
    Role.NUMBER: Number,
    Role.STRING: String,
    Role.ATTRIBUTE: Name.Attribute,
    Role.VALUE: Name.Constant,
    Role.METADATA: Comment.Special,
    Role.OP_NAME: String.Symbol,
    Role.TAG: Name.Decorator,
    Role.SHARDING: Name.Property,
    Role.CONFIG: String.Other,
    Role.COMMENT: Comment,
    Role.PUNCTUATION: Punctuation,
    Role.UNKNOWN: Text,
}
_MODULE = re.compile(r"^HloModule \S", re.MULTILINE)
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?[\w.\-]+ (?:\(.*\) -> .*)?\{$", re.MULTILINE)


class HloLexer(Lexer):  # type: ignore[misc]
    """Lexer for the text form of XLA's HLO."""

    name = "HLO"
    aliases: ClassVar[list[str]] = ["hlo"]
    filenames: ClassVar[list[str]] = ["*.hlo"]
    mimetypes: ClassVar[list[str]] = ["text/x-hlo"]
    url = "https://openxla.org/xla"

    def get_tokens_unprocessed(self, text: str) -> Iterator[tuple[int, _TokenType, str]]:
        """Give each token's offset, Pygments type and text."""
        for start, end, role in tokenize(text)[0]:
            yield start, _TYPES[role], text[start:end]

    def analyse_text(text: str) -> float:
        """How likely `text` is HLO, 0 to 1."""
        if _MODULE.search(text[:4096]):
            return 0.9
        return 0.2 if _COMPUTATION.search(text[:4096]) and " parameter(0)" in text else 0.0
