"""What a person can ask a replay to stop at, as text and as a value."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hlo_tui.errors import HloTuiError

FORMS = "NAME, COMPUTATION/NAME, op:OPCODE, name:REGEX (of op_name), line:FILE.py:LINE, tags"


@dataclass(frozen=True, slots=True)
class StopSpec:
    """One thing to stop at.

    Attributes:
        kind: "tags", "instruction", "opcode", "op_name" or "source".
        value: the instruction's name, the opcode, the pattern or the file's name.
        computation: of an instruction; empty for one of that name in any computation.
        line: of a source line, counted from 1.
    """

    kind: str
    value: str = ""
    computation: str = ""
    line: int = 0

    def text(self) -> str:
        """The form that `parse_spec` reads."""
        if self.kind == "tags":
            return "tags"
        if self.kind == "instruction":
            return f"{self.computation}/{self.value}" if self.computation else self.value
        if self.kind == "source":
            return f"line:{self.value}:{self.line}"
        return f"{'op' if self.kind == 'opcode' else 'name'}:{self.value}"


TAGS = StopSpec("tags")


def parse_spec(text: str) -> StopSpec:
    """Read what a person wrote for a stop.

    Raises:
        HloTuiError: it has none of the forms.
    """
    kind, colon, rest = text.partition(":")
    if text == "tags":
        return TAGS
    if colon and kind == "op" and rest:
        return StopSpec("opcode", rest)
    if colon and kind == "name" and rest:
        try:
            re.compile(rest)
        except re.error as error:
            raise HloTuiError(
                f"{text!r} is no stop", f"{rest!r} is no regular expression: {error}", f"forms: {FORMS}"
            ) from error
        return StopSpec("op_name", rest)
    if colon and kind == "line":
        file, _, line = rest.rpartition(":")
        if file and line.isdecimal():
            return StopSpec("source", file, line=int(line))
    elif text.strip("%/") and not colon:
        computation, slash, name = text.rpartition("/")
        return StopSpec("instruction", name.lstrip("%"), computation.lstrip("%") if slash else "")
    raise HloTuiError(
        f"{text!r} is no stop", "it has none of the forms that a stop can have", f"forms: {FORMS}"
    )
