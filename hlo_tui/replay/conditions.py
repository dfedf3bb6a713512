"""Conditions on a value at a stop, as a person writes them: `nan`, `abs>1e4 and iteration>=7`, `not inf`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hlo_tui.errors import HloTuiError

FORMS = (
    "nan, inf, nonfinite, abs>X, min<X, max>X, mean, std, zero, count, iteration==K, hits>=N; and, or, not"
)
NAMES = frozenset(
    {"nan", "inf", "nonfinite", "abs", "min", "max", "mean", "std", "zero", "count", "iteration", "hits"}
)

Facts = Mapping[str, float | None]
Test = Callable[[Facts], bool]

_TOKEN = re.compile(r"\s*(?:[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[-+]inf\b|\w+|<=|>=|==|!=|<|>|\(|\))")
_SIGNS: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition that has been read.

    Attributes:
        text: as it was written.
        test: whether it holds for the facts of a value; a fact that is not known makes a comparison false.
        names: the facts that it asks for.
    """

    text: str
    test: Test
    names: frozenset[str]


def parse_condition(text: str) -> Condition:
    """Read a condition.

    Raises:
        HloTuiError: it is none; the message says where.
    """
    reader = _Reader(text)
    test = reader.either()
    if reader.token:
        raise reader.fault("an operator or the end")
    return Condition(text.strip(), test, frozenset(reader.names))


class _Reader:
    """A descent over `either := both (or both)*`, `both := one (and one)*`, `one := not one | ( either ) |
    test`.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._next = 0
        self.token = ""
        self.names: set[str] = set()
        self._advance()

    def fault(self, wanted: str) -> HloTuiError:
        """What is wrong here."""
        found = f"{self.token!r}" if self.token else "the end"
        message = f"expected {wanted}, found {found} in {self._text!r}"
        return HloTuiError("this is no condition", message, f"forms: {FORMS}")

    def _advance(self) -> str:
        taken = self.token
        found = _TOKEN.match(self._text, self._next)
        if found is not None:
            self.token, self._next = found.group().strip(), found.end()
        elif self._text[self._next :].strip():
            self.token = self._text[self._next :].strip()
            self._next = len(self._text)
        else:
            self.token = ""
        return taken

    def either(self) -> Test:
        """Tests joined by `or`."""
        tests = [self._both()]
        while self.token == "or":
            self._advance()
            tests.append(self._both())
        return tests[0] if len(tests) == 1 else lambda facts: any(test(facts) for test in tests)

    def _both(self) -> Test:
        tests = [self._one()]
        while self.token == "and":
            self._advance()
            tests.append(self._one())
        return tests[0] if len(tests) == 1 else lambda facts: all(test(facts) for test in tests)

    def _one(self) -> Test:
        if self.token == "not":
            self._advance()
            inner = self._one()
            return lambda facts: not inner(facts)
        if self.token == "(":
            self._advance()
            inner = self.either()
            if self.token != ")":
                raise self.fault("')'")
            self._advance()
            return inner
        return self._comparison()

    def _comparison(self) -> Test:
        if self.token not in NAMES:
            raise self.fault("one of " + ", ".join(sorted(NAMES)))
        name = self._advance()
        self.names.add(name)
        if self.token not in _SIGNS:
            return lambda facts: bool(facts.get(name))
        compare = _SIGNS[self._advance()]
        try:
            number = float(self.token)
        except ValueError:
            raise self.fault("a number") from None
        self._advance()

        def test(facts: Facts) -> bool:
            value = facts.get(name)
            return value is not None and compare(value, number)

        return test
