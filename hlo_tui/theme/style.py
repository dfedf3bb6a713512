"""One style: colours and attributes, each of which may be left to the parent."""

from __future__ import annotations

import re
from typing import NamedTuple

ATTRIBUTES = ("bold", "dim", "italic", "underline", "reverse", "strike")
# The sixteen colours of every terminal, and what the terminal has where nothing is said.
NAMED = (
    "black", "red", "green", "yellow", "blue", "magenta", "cyan", "white",
    "bright_black", "bright_red", "bright_green", "bright_yellow", "bright_blue", "bright_magenta",
    "bright_cyan", "bright_white", "default",
)  # fmt: skip
_HEX = re.compile(r"#(?:[0-9a-fA-F]{3}){1,2}")


class Style(NamedTuple):
    """How text looks. None means: as the parent.

    Attributes:
        color: of the text: "#rrggbb" or one of `NAMED`.
        background: behind it, likewise.
        bold, dim, italic, underline, reverse, strike: whether it is.
    """

    color: str | None = None
    background: str | None = None
    bold: bool | None = None
    dim: bool | None = None
    italic: bool | None = None
    underline: bool | None = None
    reverse: bool | None = None
    strike: bool | None = None

    def over(self, parent: Style) -> Style:
        """This style, with what it leaves open taken from `parent`."""
        return Style._make(theirs if own is None else own for own, theirs in zip(self, parent, strict=True))


class StyleError(ValueError):
    """A style has a word in it that is none; `word` is that word."""

    def __init__(self, word: str) -> None:
        super().__init__(f"{word!r} is no colour and no attribute")
        self.word = word


def parse_style(text: str) -> Style:
    """Read a style: `[COLOR] [on COLOR] [[not] ATTRIBUTE]...`, such as "#8fa1b3 on #101010 bold not dim".

    Raises:
        StyleError: a word cannot be read.
    """
    words = text.split()
    parts: dict[str, str | bool] = {}
    place = 0
    while place < len(words):
        word = words[place]
        following = words[place + 1] if place + 1 < len(words) else ""
        if word == "not" and following in ATTRIBUTES:
            parts[following] = False
            place += 1
        elif word == "on" and following:
            parts["background"] = _color(following)
            place += 1
        elif word in ATTRIBUTES:
            parts[word] = True
        else:
            parts["color"] = _color(word)
        place += 1
    return Style(**parts)  # type: ignore[arg-type]


def _color(word: str) -> str:
    if word in NAMED:
        return word
    if not _HEX.fullmatch(word):
        raise StyleError(word)
    digits = word[1:].lower()
    return "#" + (digits if len(digits) == 6 else "".join(digit * 2 for digit in digits))
