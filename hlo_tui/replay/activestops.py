"""The stops of a running replay: which instructions they mean, and whether one holds where the replay comes
by.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.finite import Origins
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.program import Program
from hlo_tui.replay.stops import Asked, Resolved, resolve
from hlo_tui.replay.stopspec import StopSpec
from hlo_tui.replay.values import summarize
from hlo_tui.replay.walk import Spot

Json = dict[str, Any]


class ActiveStops:
    """What was asked for, resolved against a program.

    Conditions look at values, so asking for the reason of a spot may compute the value there. An answer is
    kept for
    each moment: hits are counted in order of time, whichever way the replay goes.
    """

    def __init__(self, evaluator: Evaluator, program: Program) -> None:
        self._program = program
        self._evaluator = evaluator
        self.origins = Origins(evaluator)
        self._asked: Resolved = {}
        self._hits: dict[StopSpec, set[tuple[int, ...]]] = {}
        self._passed: dict[tuple[str, str], str] = {}

    def ask(self, specs: list[StopSpec]) -> None:
        """Take these in the place of the ones before; one that stays keeps its hits.

        Raises:
            HloTuiError: a condition cannot be read.
        """
        self._asked = resolve(self._program, specs)
        self._hits = {spec: hits for spec, hits in self._hits.items() if spec in specs}

    def listed(self) -> list[Json]:
        """The instructions that are meant by name, opcode, tag and so on; "first" means them all and is left
        out.
        """
        rows = []
        for computation in self._program.reachable():
            for index, asked in sorted(self._asked.get(computation.id, {}).items()):
                named = [one.reason for one in asked if one.spec.kind != "first"]
                if named:
                    name = computation.ops[index].name
                    specs = sorted({one.spec.text() for one in asked})
                    rows.append(
                        {"computation": computation.name, "instruction": name, "reason": named[0], "specs": specs}
                    )  # fmt: skip
        return rows

    def positions(self, *more: Mapping[int, Set[int] | list[int]]) -> dict[int, set[int]]:
        """Positions of all stops, and of those in `more`, by computation id."""
        found: dict[int, set[int]] = {}
        for table in (self._asked, *more):
            for identity, indices in table.items():
                found.setdefault(identity, set()).update(indices)
        return found

    def asked(self, spot: Spot) -> Asked | None:
        """What makes the replay stop at a spot; None where nothing does."""
        for asked in self._asked.get(spot.frame.computation.id, {}).get(spot.index, ()):
            if self._holds(asked, spot):
                if not asked.left_out:
                    return asked
                op = spot.frame.computation.ops[spot.index]
                self._passed[spot.frame.computation.name, op.name] = asked.spec.detail
        return None

    def forget_passed(self) -> None:
        """Count from here what "first" stops leave out."""
        self._passed = {}

    def passed(self) -> Json:
        """What "first" stops left out although a NaN or an infinity begins there: `left_out`, where there is any, with
        the `pattern`, the number of operations (`count`) and the name of the `first` one.
        """
        for (_, name), pattern in self._passed.items():
            return {"left_out": {"pattern": pattern, "count": len(self._passed), "first": name}}
        return {}

    def origin(self, spot: Spot) -> bool:
        """Whether a value that is not finite begins here, as a "first" stop asked for."""
        asked = self._asked.get(spot.frame.computation.id, {}).get(spot.index, ())
        return any(one.spec.kind == "first" and not one.left_out and self._holds(one, spot) for one in asked)

    def enters(self, frame: Frame, index: int) -> bool:
        """Whether to look for stops inside a fusion: for "first" stops alone, only if one begins there."""
        op = frame.computation.ops[index]
        if op.opcode != "fusion":
            return True
        inside = [
            one for called in op.called for asked in self._asked.get(called, {}).values() for one in asked
        ]
        if not inside or any(one.spec.kind != "first" for one in inside):
            return True
        return any(self.origins.inside(frame, index, one.spec.value) for one in inside[:1])

    def _holds(self, asked: Asked, spot: Spot) -> bool:
        frame, index = spot.frame, spot.index
        if asked.spec.kind == "first" and not self.origins.begins(frame, index, asked.spec.value):
            return False
        if asked.condition is None:
            return True
        return asked.condition.test(self._facts(asked, spot))

    def _facts(self, asked: Asked, spot: Spot) -> dict[str, float | None]:
        assert asked.condition is not None
        facts: dict[str, float | None] = {"iteration": _iteration(spot.frame)}
        if "hits" in asked.condition.names:
            # An instruction is met once, on whichever side of what runs inside it that is asked.
            key = spot.position().key()[:-1]
            hits = self._hits.setdefault(asked.spec, set())
            hits.add(key)
            facts["hits"] = sum(1 for hit in hits if hit <= key)
        if asked.condition.names - {"iteration", "hits"}:
            facts |= _statistics(summarize(self._evaluator.value(spot.frame, spot.index)))
        return facts


def _iteration(frame: Frame) -> int | None:
    """The iteration of the innermost loop around a frame."""
    for one in reversed(frame.chain()):
        if one.iteration is not None:
            return one.iteration
    return None


def _statistics(summary: Json) -> dict[str, float | None]:
    """What a condition can ask of a summary; of a tuple the extremes and sums over its parts."""
    parts = [part for part in _flat(summary) if "count" in part]
    facts: dict[str, float | None] = {}
    for name in ("nan", "inf", "zero", "count"):
        facts[name] = float(sum(part[name] for part in parts))
    facts["nonfinite"] = (facts["nan"] or 0) + (facts["inf"] or 0)
    lowest = [part["min"] for part in parts if isinstance(part["min"], int | float)]
    highest = [part["max"] for part in parts if isinstance(part["max"], int | float)]
    facts["min"], facts["max"] = min(lowest, default=None), max(highest, default=None)
    facts["abs"] = max((abs(value) for value in (*lowest, *highest)), default=None)
    if facts["inf"]:
        facts["abs"] = float("inf")
    if len(parts) == 1:
        facts["mean"], facts["std"] = parts[0]["mean"], parts[0]["std"]
    return facts


def _flat(summary: Json) -> list[Json]:
    return [leaf for part in summary["tuple"] for leaf in _flat(part)] if "tuple" in summary else [summary]
