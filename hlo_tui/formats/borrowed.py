"""Languages that Pygments knows, in the roles of the tokeniser of HLO."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from hlo_tui.hlo.tokens import Role, Token

# By the names of Pygments' token types; the longest that a type's name begins with counts.
_ROLES = {
    "Token": Role.TEXT,
    "Token.Comment": Role.COMMENT,
    "Token.Error": Role.UNKNOWN,
    "Token.Keyword": Role.KEYWORD,
    "Token.Keyword.Type": Role.SHAPE,
    "Token.Literal": Role.VALUE,
    "Token.Literal.Number": Role.NUMBER,
    "Token.Literal.String": Role.STRING,
    "Token.Name": Role.NAME,
    "Token.Name.Attribute": Role.ATTRIBUTE,
    "Token.Name.Builtin": Role.OPCODE,
    "Token.Name.Function": Role.COMPUTATION,
    "Token.Name.Label": Role.COMPUTATION,
    "Token.Name.Tag": Role.KEYWORD,
    "Token.Name.Variable.Global": Role.COMPUTATION,
    "Token.Operator": Role.PUNCTUATION,
    "Token.Punctuation": Role.PUNCTUATION,
}
# Some of these lexers take the square of a line's length; of a longer one the rest stays plain.
_LONGEST = 2000


def borrowed(alias: str) -> Callable[[str], list[Token]]:
    """A tokeniser of single lines, made of the lexer that Pygments calls `alias`; loaded when it is first used."""

    def tokenize(line: str) -> list[Token]:
        tokens: list[Token] = []
        at = 0
        length = min(len(line), _LONGEST)
        # A comment goes up to the newline, in the eyes of many a lexer.
        for start, kind, text in _lexer(alias).get_tokens_unprocessed(f"{line[:length]}\n"):
            end = min(start + len(text), length)
            if start == at < end:
                tokens.append(Token(at, end, _role(kind)))
                at = end
        if at < len(line):
            tokens.append(Token(at, len(line), Role.TEXT))
        return _defining(tokens, line)

    return tokenize


def _defining(tokens: list[Token], line: str) -> list[Token]:
    """Mark the name before the equals sign that a line begins with as what it defines."""
    first = next((at for at, token in enumerate(tokens[:2]) if token.role == Role.NAME), None)
    if first is not None and line[tokens[first].end :].lstrip(" ")[:1] == "=":
        tokens[first] = tokens[first]._replace(role=Role.DEFINITION)
    return tokens


@cache
def _lexer(alias: str) -> Any:
    from pygments.lexers import get_lexer_by_name

    return get_lexer_by_name(alias)


@cache
def _role(kind: object) -> Role:
    name = str(kind)
    while name not in _ROLES:
        name = name.rpartition(".")[0]
    return _ROLES[name]
