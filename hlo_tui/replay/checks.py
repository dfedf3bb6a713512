"""The debugger checks itself: outputs against one run of the whole module, and against what the job recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from hlo_tui.errors import EngineError
from hlo_tui.replay.atwork import Doing, Phase
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.inputs import Inputs
from hlo_tui.replay.limits import Room, estimate
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.program import DRAWN
from hlo_tui.replay.slices import Slice, SliceModule, value_shape
from hlo_tui.replay.values import Difference, compare, find_unknown, number
from hlo_tui.replay.xla import Replicated

Json = dict[str, Any]

# OpenBLAS, which computes LAPACK's calls, has code of its own for each kind of processor.
OTHER_PROCESSOR = (
    "LAPACK rounds otherwise on another kind of processor: where the job ran on one, name it, as in "
    "OPENBLAS_CORETYPE=Haswell hlo-tui ..."
)


class Checks:
    """What is said at the end about the outputs."""

    def __init__(
        self, evaluator: Evaluator, inputs: Inputs, room: Callable[[], Room] = lambda: Room()
    ) -> None:
        self._evaluator = evaluator
        self._inputs = inputs
        self._room = room
        self._checked: tuple[Any, Json] | None = None

    def report(self, outputs: Any) -> Json:
        """`self_check` and `recorded` with the largest errors, and how many elements are NaN on one side alone;
        computed once for the same outputs.
        """
        if self._checked is None or self._checked[0] is not outputs:
            self._checked = (outputs, {**self._self_check(outputs), **self._recorded(outputs)})
        return self._checked[1]

    def _self_check(self, outputs: Any) -> Json:
        why = self._why_not(outputs)
        if why:
            return {"self_check": "skipped", "self_check_reason": why}
        try:
            whole = self.run_whole()
        except (Cannot, EngineError) as error:
            words = " ".join(str(error).splitlines())
            return {"self_check": "skipped", "self_check_reason": f"the whole module cannot be run: {words}"}
        return _verdict("self_check", compare(outputs, whole))

    def _given(self) -> str:
        """What is not as the job had it, in words; empty where nothing is."""
        if self._evaluator.changes.values:
            return "values were changed by hand"
        return self._evaluator.supplies.why_not_the_job()

    def _why_not(self, outputs: Any) -> str:
        evaluator = self._evaluator
        given = self._given()
        if given:
            return given
        why = evaluator.refused.get(Doing(Phase.CHECK, evaluator.program.entry.name).key())
        if why is not None:
            return f"the whole module is not run again: {why}"
        if any(op.opcode in DRAWN for c in evaluator.program.reachable() for op in c.ops):
            return "a second run draws other random numbers"
        if find_unknown(outputs) is not None or evaluator.unknown:
            return "some values are unknown"
        needs = estimate(evaluator.program, evaluator.backend.replicas, entered=False)
        return self._room().lacks(needs.live)

    def run_whole(self) -> Any:
        """The outputs of one run of the whole module, as XLA compiles it in one piece.

        Raises:
            Cannot, EngineError: it cannot be run that way.
        """
        evaluator = self._evaluator
        entry = evaluator.program.entry
        doing = Doing(Phase.CHECK, entry.name)
        evaluator.board.mark(doing.record())
        ops = [op.index for op in entry.ops if op.opcode != "parameter"]
        module = SliceModule(evaluator.program, evaluator.topology, evaluator.backend.replicas)
        text = module.cut(entry, ops, entry.parameters, [entry.root])
        ins = [value_shape(entry.ops[i]) for i in entry.parameters]
        outs = [value_shape(entry.ops[entry.root])]
        compiled = Slice(evaluator.cache.get(text), ins, outs, module.omitted)
        return compiled(list(self._inputs.values))[0]

    def _recorded(self, outputs: Any) -> Json:
        recorded = self._inputs.result
        if recorded is None:
            return {"recorded": "absent"}
        why = self._given() or ("some values are unknown" if find_unknown(outputs) is not None else "")
        if why:
            return {"recorded": "skipped", "recorded_reason": why}
        outputs, recorded = _leaves_only(outputs), _leaves_only(recorded)
        found = compare(outputs, _spread(recorded, outputs))
        verdict = _verdict("recorded", found)
        if not found.exact and self.uses_lapack:
            verdict["recorded_reason"] = OTHER_PROCESSOR
        return verdict

    @cached_property
    def uses_lapack(self) -> bool:
        """Whether the program calls LAPACK, whose results depend on the processor."""
        program = self._evaluator.program
        targets = (op.proto.custom_call_target for c in program.reachable() for op in c.ops)
        return any(target.startswith("lapack_") for target in targets)


def _verdict(name: str, found: Difference) -> Json:
    return {
        name: "match" if found.within else "differs",
        f"{name}_max_abs": number(found.max_abs),
        f"{name}_max_rel": number(found.max_rel),
        f"{name}_nan": found.nan_mismatches,
        f"{name}_exact": found.exact,
    }


def _spread(recorded: Any, outputs: Any) -> Any:
    """The recorded values for each device that has an output: one that was recorded is that of all of them."""
    if isinstance(outputs, tuple) and isinstance(recorded, tuple) and len(outputs) == len(recorded):
        return tuple(_spread(r, o) for r, o in zip(recorded, outputs, strict=True))
    if isinstance(outputs, Replicated) and not isinstance(recorded, Replicated | tuple):
        return Replicated((recorded,) * len(outputs.parts))
    return recorded


def _leaves_only(value: Any) -> Any:
    # A snapshot may hold one array where the module's root is a tuple of one, and the other way round.
    return value if isinstance(value, tuple) else (value,)
