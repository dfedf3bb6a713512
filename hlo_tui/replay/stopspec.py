"""What a person can ask a replay to stop at, as text and as a value."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.numerals import number_of
from hlo_tui.replay.conditions import parse_condition

FORMS = (
    "NAME, COMPUTATION/NAME, op:OPCODE, name:REGEX (of op_name), line:FILE.py:LINE, tag:KEY[=VALUE], "
    "collectives, tags; behind it @ends (the first and last of a block), @once, `if CONDITION`; "
    "first:nan, first:inf, first:nonfinite (!REGEX leaves out)"
)
_WORDS = {"opcode": "op", "op_name": "name", "source": "line", "tag": "tag", "first": "first"}
_BARE = ("tags", "collectives")
# What a "first" stop does not see unless fusions are entered.
INSIDE_FUSIONS = "what begins and is masked inside one fusion is seen in body grain only"
_KINDS = frozenset({*_WORDS, *_BARE, "instruction"})
# They mean one operation, or none that is known before.
_WITHOUT_BLOCKS = frozenset({"instruction", "first"})
_ENDS, _ONCE = "@ends", "@once"
_AFTER_QUOTES = re.compile(rf"((?:{_ENDS}|{_ONCE})*)(?: if (.*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class StopSpec:
    """One thing to stop at.

    Attributes:
        kind: "tags", "collectives", "instruction", "opcode", "op_name", "source", "tag", or "first" (the
            first
            operations whose value is not finite while their operands are).
        value: the instruction's name, the opcode, the pattern, the file, the tag's key, or which values
            are meant.
        computation: of an instruction; empty for one of that name in any computation.
        line: of a source line, counted from 1.
        detail: a tag's value, or for "first" a pattern of names to leave out.
        condition: on the value; empty for always.
        enabled: whether it stops; a disabled one is kept to be enabled again, and at an instruction that carries a
            tag it switches the tag off.
        once: whether it is taken away after its first stop.
        ends: whether it stops only at the first and last of what it means and runs one after the other: of a block
            that a context manager tags (see `blocks.ends`).
        anchor: (opcode, op_name) of an instruction, to find it again in a module that was compiled anew.
    """

    kind: str
    value: str = ""
    computation: str = ""
    line: int = 0
    detail: str = ""
    condition: str = ""
    enabled: bool = True
    once: bool = False
    anchor: tuple[str, str] = ("", "")
    ends: bool = False

    @property
    def has_blocks(self) -> bool:
        """Whether it means operations that can come one after the other."""
        return self.kind not in _WITHOUT_BLOCKS

    def same_place(self, other: StopSpec) -> bool:
        """Whether both are about the same thing, whatever else is asked of it."""
        return (self.kind, self.value, self.computation, self.line, self.detail) == (
            other.kind, other.value, other.computation, other.line, other.detail,
        )  # fmt: skip

    def to_json(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        return asdict(self)

    def text(self) -> str:
        """The form that `parse_spec` reads: everything but `enabled` and `anchor`."""
        base = self.place_text()
        behind = _ENDS * self.ends + _ONCE * self.once + (f" if {self.condition}" if self.condition else "")
        parts = (base, self.ends, self.once, self.condition or None)
        return base + behind if _parts(base + behind) == parts else json.dumps(base) + behind

    def place_text(self) -> str:
        """The same without what comes behind: what it means."""
        if self.kind in _BARE:
            return self.kind
        if self.kind == "instruction":
            name = f"%{self.value}" if self.value in _BARE else self.value
            return f"{self.computation}/{name}" if self.computation else name
        after = {"source": f":{self.line}", "tag": f"={self.detail}", "first": f"!{self.detail}"}
        wanted = self.kind == "source" or self.detail
        return f"{_WORDS[self.kind]}:{self.value}" + (
            after[self.kind] if wanted and self.kind in after else ""
        )


TAGS = StopSpec("tags")


def from_json(written: Mapping[str, Any]) -> StopSpec:
    """The spec that `to_json` gave.

    Raises:
        HloTuiError: it is damaged.
    """
    plain = StopSpec("")
    given = {field.name: written.get(field.name, getattr(plain, field.name)) for field in fields(StopSpec)}
    given["anchor"] = tuple(given["anchor"]) if isinstance(given["anchor"], list | tuple) else given["anchor"]
    sound = all(type(value) is type(getattr(plain, name)) for name, value in given.items())
    if not sound or given["kind"] not in _KINDS or [type(part) for part in given["anchor"]] != [str, str]:
        raise HloTuiError("a stop that was saved cannot be read", str(dict(written))[:200])
    spec = StopSpec(**given)
    parse_spec(spec.text())
    return spec


def parse_spec(text: str) -> StopSpec:
    """Read what a person wrote for a stop.

    Raises:
        HloTuiError: it has none of the forms.
    """
    base, ends, once, condition = _parts(text)
    spec = _read(base)
    if spec is None:
        raise _no_stop(text, "it has none of the forms that a stop can have")
    if ends and not spec.has_blocks:
        raise _no_stop(text, f"{_ENDS} is for what means several operations: tags, tag:, op:, name:, line:")
    if condition is not None:
        spec = replace(spec, condition=parse_condition(condition).text)
    return replace(spec, ends=ends, once=once)


def _parts(text: str) -> tuple[str, bool, bool, str | None]:
    """What is meant, @ends, @once and the condition. What is meant may be in quotes, as a JSON string is."""
    text = text.strip()
    quoted = _quoted(text)
    if quoted is not None:
        base, behind, condition = quoted
        return base, _ENDS in behind, _ONCE in behind, condition
    base, has_condition, condition = text.partition(" if ")
    base = base.strip()
    ends = once = False
    while base.endswith((_ENDS, _ONCE)):
        ends, once = ends or base.endswith(_ENDS), once or base.endswith(_ONCE)
        base = base[: -len(_ENDS)]
    return base, ends, once, condition if has_condition else None


def _quoted(text: str) -> tuple[str, str, str | None] | None:
    if not text.startswith('"'):
        return None
    try:
        base, end = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return None
    found = _AFTER_QUOTES.fullmatch(text, end)
    return None if found is None else (base, found[1], found[2])


def left_out_words(event: Mapping[str, Any]) -> str:
    """What "first" stops passed over on the way to an event because a pattern leaves it out; empty for nothing."""
    found = event.get("left_out")
    if not isinstance(found, dict):
        return ""
    count = found["count"]
    what = "1 operation was" if count == 1 else f"{count} operations were"
    more = ", ..." if count > 1 else ""
    return f"leaving out {found['pattern']}: {what} passed over (%{found['first']}{more})"


def _no_stop(text: str, why: str) -> HloTuiError:
    return HloTuiError(f"{text!r} is no stop", why, f"forms: {FORMS}")


def _read(base: str) -> StopSpec | None:
    kind, colon, rest = base.partition(":")
    if base in _BARE:
        return StopSpec(base)
    if not colon:
        computation, slash, name = base.rpartition("/")
        found = StopSpec("instruction", name.lstrip("%"), computation.lstrip("%") if slash else "")
        return found if found.value and "@" not in name else None
    if not rest:
        return None
    if kind == "op":
        return StopSpec("opcode", rest)
    if kind == "name":
        return StopSpec("op_name", _pattern(base, rest))
    if kind == "line":
        file, _, line = rest.rpartition(":")
        number = number_of(line)
        return StopSpec("source", file, line=number) if file and number is not None else None
    if kind == "tag":
        key, _, value = rest.partition("=")
        return StopSpec("tag", key, detail=value)
    if kind == "first":
        which, _, left_out = rest.partition("!")
        known = which in ("nan", "inf", "nonfinite")
        return StopSpec("first", which, detail=_pattern(base, left_out)) if known else None
    return None


def _pattern(text: str, pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        raise _no_stop(text, f"{pattern!r} is no regular expression: {error}") from error
    return pattern
