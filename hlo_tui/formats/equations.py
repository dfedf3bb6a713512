"""Which operations of StableHLO were made of which equations of the jaxpr: by names, types and places, and where these
are alike by their order, which lowering keeps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from hlo_tui.formats.jaxprs import Equation, Found, equations_named
from hlo_tui.formats.links import CERTAIN, GUESS, LIKELY
from hlo_tui.formats.stablehlo import Operation, Program

# Pairs of operations and equations up to which they are put in order.
_MOST_PAIRS = 4_000_000


@dataclass(frozen=True, slots=True)
class Made:
    """What an operation was made of.

    Attributes:
        equation: of the jaxpr.
        sure: CERTAIN, LIKELY or GUESS.
        alike: how many equations have the name, type and place that the operation says.
    """

    equation: Equation
    sure: str
    alike: int = 1


@dataclass(frozen=True, slots=True)
class _Run:
    """Operations in a row with one name and place: those that one equation was lowered to."""

    operations: tuple[Operation, ...]
    found: Found


class Pairs:
    """The pairs of a program and a jaxpr, both ways."""

    def __init__(self, program: Program, equations: list[Equation], frames: dict[int, str]) -> None:
        """Find them.

        Args:
            program, equations: of one function.
            frames: where lines of the jaxpr come from, `file:line:column`, as far as that is known.
        """
        self._made: dict[int, Made] = {}
        self._operations: dict[Equation, list[tuple[Operation, Made]]] = defaultdict(list)
        scopes: dict[object, list[_Run]] = defaultdict(list)
        for run in _runs(program, equations, frames):
            around = {(one.owner, one.path) for one in run.found.equations}
            scopes[around.pop() if len(around) == 1 else None].append(run)
        among: dict[object, list[Equation]] = defaultdict(list)
        for equation in equations:
            among[equation.owner, equation.path].append(equation)
        for scope, runs in scopes.items():
            self._pair(runs, _in_order(runs, among[scope]) if scope is not None else [None] * len(runs))

    def of(self, operation: Operation) -> Made | None:
        """What an operation was made of, None where nothing says it."""
        return self._made.get(operation.line)

    def back(self, equation: Equation) -> list[tuple[Operation, Made]]:
        """The operations that were made of an equation, in the order of the text."""
        return self._operations.get(equation, [])

    def _pair(self, runs: list[_Run], ordered: Sequence[Equation | None]) -> None:
        for run, equation in zip(runs, ordered, strict=True):
            alike = run.found.equations
            if equation is not None:
                sure = CERTAIN if len(alike) == 1 and run.found.sure else LIKELY
            else:
                equation, sure = alike[0], LIKELY if len(alike) == 1 else GUESS
            made = Made(equation, sure, len(alike))
            for operation in run.operations:
                self._made[operation.line] = made
                self._operations[equation].append((operation, made))


def place_of(operation: Operation) -> str:
    """The innermost place of an operation, `file:line:column`, the file without its directories: a dump is often read
    on another machine than the job's."""
    frames = operation.location.frames[:1]
    return base(f"{frames[0].file}:{frames[0].line}:{frames[0].column}") if frames else ""


def base(place: str) -> str:
    """A place without the directories of its file."""
    return place.rsplit("/", 1)[-1]


def _runs(program: Program, equations: list[Equation], frames: dict[int, str]) -> list[_Run]:
    runs: list[_Run] = []
    group: list[Operation] = []
    known: dict[tuple[str, str, str], Found] = {}

    def end() -> None:
        if group:
            last = group[-1]
            found = Found((), False)
            for name in program.full_names(last):
                key = (name, last.shape, place_of(last))
                if key not in known:
                    known[key] = equations_named(equations, name, last.shape, frames, key[2])
                if known[key].equations:
                    found = known[key]
                    break
            if found.equations:
                runs.append(_Run(tuple(group), found))
            group.clear()

    for operation in program.operations:
        if operation.opcode == "return":
            end()
            continue
        mark = (operation.function, operation.location)
        # A primitive's own operation is the last; one that comes again begins the next equation.
        again = group and operation.opcode == group[-1].opcode and operation.opcode not in _HELPERS
        if group and (mark != (group[0].function, group[0].location) or again):
            end()
        group.append(operation)
    end()
    return runs


_HELPERS = frozenset(
    ("broadcast_in_dim", "constant", "reshape", "convert", "iota", "compare", "select", "slice")
)


def _in_order(runs: list[_Run], equations: list[Equation]) -> list[Equation | None]:
    """For each run the equation that it is made of where as many as can be are paired in their order."""
    if len(runs) * len(equations) > _MOST_PAIRS:
        return [run.found.equations[0] if len(run.found.equations) == 1 else None for run in runs]
    rows = [[0] * (len(equations) + 1)]
    fits = [frozenset(run.found.equations) for run in runs]
    for wanted in reversed(fits):
        below, row = rows[-1], [0] * (len(equations) + 1)
        for at in range(len(equations) - 1, -1, -1):
            best = below[at] if below[at] > row[at + 1] else row[at + 1]
            if equations[at] in wanted and below[at + 1] + 1 > best:
                best = below[at + 1] + 1
            row[at] = best
        rows.append(row)
    rows.reverse()
    found: list[Equation | None] = []
    at = 0
    for place, wanted in enumerate(fits):
        while at < len(equations) and rows[place][at] == rows[place][at + 1]:
            at += 1
        paired = (
            at < len(equations) and equations[at] in wanted and rows[place][at] == rows[place + 1][at + 1] + 1
        )
        found.append(equations[at] if paired else None)
        at += paired
    return found
