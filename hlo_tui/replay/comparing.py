"""Worker side of comparing stages: run each on the same inputs, keep what comes out, say how two results differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.replay import xla
from hlo_tui.replay.atwork import Board, Doing, Phase
from hlo_tui.replay.checks import OTHER_PROCESSOR, Checks
from hlo_tui.replay.differences import Errors, coarseness, errors, is_partial
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.inputs import Inputs, parameters
from hlo_tui.replay.limits import Room, estimate
from hlo_tui.replay.lowering import Cannot
from hlo_tui.replay.onestep import Step
from hlo_tui.replay.opening import Target, choose_inputs, open_target, place
from hlo_tui.replay.program import DRAWN, Computation, Op, Program
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.supplies import Supplies
from hlo_tui.replay.values import Unknown, find_unknown, summarize, to_numpy
from hlo_tui.replay.xla import Backend, Replicated

Json = dict[str, Any]

# A fusion inside a loop is looked at so many times.
_LOOKS = 2
_Names = dict[tuple[str, str], str]


class Comparing:
    """What the worker keeps from one stage to the next: inputs, results, and everything that was compiled."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._room = Room()
        self._backends: dict[int, tuple[Backend, SliceCache]] = {}
        self._inputs: Inputs | None = None
        self._results: dict[str, list[Any]] = {}
        self._running: Evaluator | None = None

    def interrupt(self) -> None:
        """Ask what is under way to stop at the next instruction."""
        if self._running is not None:
            self._running.interrupted = True

    def handle(self, method: str, params: Json) -> Json:
        """Carry out one of the requests that begin with `compare.`.

        Raises:
            HloTuiError: a file cannot be used.
            EngineError: XLA cannot run it.
            grain.Interrupted: the person asked to stop.
        """
        requests: Mapping[str, Callable[[Json], Json]] = {
            "compare.run": self._run,
            "compare.results": self._compare,
            "compare.fusions": self._fusions,
            "compare.pairs": self._pairs,
        }
        if method not in requests:
            raise HloTuiError("an unknown request", method)
        try:
            return requests[method](params)
        finally:
            self._running = None

    # One stage.

    def _run(self, params: Json) -> Json:
        """Run a stage and keep its outputs under `keep`; with `inputs` choose these, else take those chosen before."""
        stage = self._open(params)
        outputs = stage.outputs(Grain(params["grain"]))
        self._results[params["keep"]] = outputs
        if stage.inputs.result is not None:
            recorded = stage.inputs.result
            self._results["recorded"] = list(recorded) if isinstance(recorded, tuple) else [recorded]
        evaluator = stage.evaluator
        return {
            "outputs": [summarize(value) for value in outputs],
            "inputs": stage.inputs.kind,
            "inputs_file": stage.inputs.source,
            "seed": stage.inputs.seed,
            "recorded": stage.inputs.result is not None,
            "reasons": [
                *stage.target.reasons,
                *stage.inputs.reasons,
                *evaluator.supplies.reasons(to_supply=False),
            ],
            "unknown": [f"{name}: {why}" for (_, name), why in sorted(evaluator.unknown.items())],
            "coarseness": coarseness(evaluator.program),
            "devices": stage.target.topology.devices,
            "other_processor": OTHER_PROCESSOR if Checks(evaluator, stage.inputs).uses_lapack else "",
            "engine": xla.versions(),
        }

    def _open(self, params: Json) -> _Stage:
        self._board.mark(Doing(Phase.PARSE).record())
        # XLA makes its devices once in a process: as many as the stage that needs most.
        if not self._backends:
            self._backend(params["platform"], params["devices"])
        target = open_target(Path(params["path"]), params.get("member"), self._room)
        program = target.program()
        backend, cache = self._backend(params["platform"], target.topology.devices)
        self._room.check(estimate(program, target.topology.devices, entered=True))
        if params.get("inputs") is not None:
            self._inputs = choose_inputs(target, program, params["inputs"], params["seed"])
            inputs = self._inputs
        else:
            inputs = _fitted(self._inputs, program, target)
        refused = {(c, i): why for c, i, why in params.get("refused", ())} | _not_known(target, program)
        evaluator = Watching(program, backend, cache, target.topology, Grain.BODY, refused)
        # Within what their uses allow, the data would be others where a pass changes the uses.
        seed, devices = inputs.seed or 0, target.topology.devices
        evaluator.supply(Supplies(program, seed=seed, devices=devices, by_use=False))
        evaluator.at_work(self._board, params.get("threads", 1))
        evaluator.keeper.budget = self._room.budget()
        self._running = evaluator
        return _Stage(target, inputs, evaluator)

    def _backend(self, platform: str, devices: int) -> tuple[Backend, SliceCache]:
        if devices not in self._backends:
            backend = xla.start(platform, devices)
            self._backends[devices] = (backend, SliceCache(backend.compile))
        return self._backends[devices]

    # Two results.

    def _compare(self, params: Json) -> Json:
        """How the results kept under `a` and `b` differ, output by output."""
        a, b = (self._results.get(params[name]) for name in ("a", "b"))
        if a is None or b is None:
            raise HloTuiError("nothing to compare with", f"{params['a']} and {params['b']}")
        if len(a) != len(b):
            a, b = _flat(a), _flat(b)
        if len(a) != len(b):
            return {"outputs": [], "problem": f"{len(a)} outputs and {len(b)}"}
        return {
            "outputs": [
                state_of(x, y, params["tolerance"]) | {"output": n}
                for n, (x, y) in enumerate(zip(a, b, strict=True))
            ],
            "problem": "",
        }

    # The fusions of one stage.

    def _fusions(self, params: Json) -> Json:
        """Each fusion as the compiler makes it against its instructions one by one, on the same operands."""
        stage = self._open(params)
        unit = stage.evaluator
        unit.regrain(Grain.UNIT)
        body = Watching(unit.program, unit.backend, unit.cache, unit.topology, Grain.BODY, unit.refused)
        body.at_work(self._board, params.get("threads", 1))
        looks: dict[tuple[str, str], int] = {}
        found: list[Json] = []

        def look(frame: Frame, op: Op, value: Any) -> None:
            key = (frame.computation.name, op.name)
            if op.opcode != "fusion" or looks.get(key, 0) >= _LOOKS or find_unknown(value) is not None:
                return
            looks[key] = looks.get(key, 0) + 1
            called = unit.program.computation(op.called[0])
            reference = body.root(Frame(called, [frame.env[o] for o in op.operands]))
            state = state_of(to_numpy(reference), to_numpy(value), params["tolerance"])
            if state["state"] == "differs":
                found.append({"computation": key[0], "instruction": key[1], **state})

        unit.watch = look
        self._results[params["keep"]] = stage.outputs(Grain.UNIT)
        return {"looked_at": len(looks), "differing": found}

    # Two stages, instruction by instruction.

    def _pairs(self, params: Json) -> Json:
        """Values of instructions of two stages that are the same, the first time each is run, in order of time."""
        values: list[dict[tuple[str, str], Any]] = []
        for side in ("a", "b"):
            wanted = {(pair[side][0], pair[side][1]) for pair in params["pairs"]}
            stage = self._open(
                {**params, "path": params[side], "inputs": params["inputs"] if side == "a" else None}
            )
            kept: dict[tuple[str, str], Any] = {}

            def keep(
                frame: Frame,
                op: Op,
                value: Any,
                wanted: set[tuple[str, str]] = wanted,
                kept: dict[Any, Any] = kept,
            ) -> None:
                key = (frame.computation.name, op.name)
                if key in wanted and key not in kept:
                    kept[key] = to_numpy(value)

            stage.evaluator.watch = keep
            stage.outputs(Grain.BODY)
            values.append(kept)
        order = {key: number for number, key in enumerate(values[0])}
        rows = []
        for pair in sorted(params["pairs"], key=lambda pair: order.get((pair["a"][0], pair["a"][1]), -1)):
            a, b = (
                kept.get((pair[side][0], pair[side][1]), _NOT_RUN)
                for kept, side in zip(values, "ab", strict=True)
            )
            if a is not _NOT_RUN and b is not _NOT_RUN:
                state = state_of(a, b, params["tolerance"])
                rows.append({**pair, **state, "value_a": summarize(a), "value_b": summarize(b)})
        return {"rows": rows}


_NOT_RUN = Unknown("not run", "")


class Watching(Evaluator):
    """An evaluator that shows each value that it computes, and takes nothing together that its grain does not."""

    joins = False
    watch: Callable[[Frame, Op, Any], None] | None = None

    def _make_step(self, computation: Computation, index: int) -> Step:
        step = super()._make_step(computation, index)
        watch, op = self.watch, computation.ops[index]
        if watch is None:
            return step

        def watched(frame: Frame) -> Any:
            value = step(frame)
            watch(frame, op, value)
            return value

        return watched


class _Stage:
    """A stage that is ready to run."""

    def __init__(self, target: Target, inputs: Inputs, evaluator: Watching) -> None:
        self.target = target
        self.inputs = inputs
        self.evaluator = evaluator

    def outputs(self, grain: Grain) -> list[Any]:
        """Run it; gives its outputs as numpy arrays.

        Raises:
            EngineError: it cannot be run in this grain.
        """
        evaluator = self.evaluator
        evaluator.regrain(grain)
        if grain is Grain.WHOLE:
            try:
                value = Checks(evaluator, self.inputs).run_whole()
            except Cannot as error:
                raise EngineError("the whole module cannot be run", str(error)) from error
        else:
            value = evaluator.root(Frame(evaluator.program.entry, list(self.inputs.values)))
        parts = value if isinstance(value, tuple) else (value,)
        return [_kept(part) for part in parts]


def _kept(value: Any) -> Any:
    """A value as it is kept: numpy arrays, of a replicated one all parts."""
    if isinstance(value, tuple):
        return tuple(map(_kept, value))
    if isinstance(value, Replicated):
        return Replicated(tuple(np.asarray(part) for part in value.parts))
    return to_numpy(value)


def _flat(values: list[Any]) -> list[Any]:
    return [
        leaf for value in values for leaf in (_flat(list(value)) if isinstance(value, tuple) else [value])
    ]


def state_of(a: Any, b: Any, tolerance: float | None) -> Json:
    """Whether two values are "equal", "within" tolerance, "different"; "unknown" or of other "shapes"."""
    unknown = find_unknown(a) or find_unknown(b)
    if unknown is not None:
        return {"state": "unknown", "why": unknown.reason}
    found = Errors()
    for x, y in zip(_flat([a]), _flat([b]), strict=False):
        if not errors(x, y, tolerance, found):
            return {"state": "shapes", "why": "the outputs of a partitioned stage cannot be put together"}
    if len(_flat([a])) != len(_flat([b])) or is_partial(a, b):
        return {"state": "shapes", "why": "another number of arrays"}
    state = "equal" if found.exact else "differs" if found.out else "within"
    return {"state": state, **found.json()}


def _fitted(inputs: Inputs | None, program: Program, target: Target) -> Inputs:
    """The inputs of another stage for this one: the same values, cut for its devices where it is partitioned.

    Raises:
        HloTuiError: they do not fit.
    """
    if inputs is None:
        raise HloTuiError("no inputs", "no stage has been run yet")
    wanted = parameters(program)
    placement = place(program, target.topology)
    values = []
    for number, (parameter, value) in enumerate(zip(wanted, inputs.values, strict=False)):
        dims = tuple(parameter.shape.dimensions)
        tiling = placement.tiling(number)
        plain = not isinstance(value, tuple | Replicated) and value is not None
        if plain and tiling is not None and tuple(value.shape) != dims:
            parts = tiling.split(np.asarray(value))
            value = value if parts is None else Replicated(parts)
        shape = getattr(value.parts[0] if isinstance(value, Replicated) else value, "shape", dims)
        if tuple(shape) != dims:
            detail = f"{parameter.name} has {list(dims)}, its value {list(shape)}"
            raise HloTuiError("the inputs do not fit this stage", detail)
        values.append(value)
    if len(values) != len(wanted) or len(values) != len(inputs.values):
        raise HloTuiError(
            "the inputs do not fit this stage", f"{len(inputs.values)} for {len(wanted)} parameters"
        )
    return Inputs(inputs.kind, values, inputs.source, inputs.seed, [], inputs.result)


def _not_known(target: Target, program: Program) -> _Names:
    """What must not be run, because its value would be made up: it would differ from stage to stage."""
    found = {
        (computation.name, op.name): "it draws other numbers in each run"
        for computation in program.reachable()
        for op in computation.ops
        if op.opcode in DRAWN
    }
    return found | dict.fromkeys(target.made_up, "its value is elided in the text")
