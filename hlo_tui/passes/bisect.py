"""The first pass after which a module computes something else: its stages on the same inputs, by halving.

In body grain no optimisation of the replay itself crosses an instruction, so that it neither hides nor repeats a
fault. A stage that gives the values of the first one exonerates every pass before it.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.passes.engine import Engine, Interrupted, WorkerDied
from hlo_tui.passes.stages import need_stages, open_stage, path_of

PASS, CODEGEN, NONE = "pass", "codegen", "none"
EQUAL, DIFFERS, NOT_RUN = "equal", "differs", "could not be run"
NOT_COMPARED = "could not be compared"
OTHER = "other dump"
_DEVICES = re.compile(rb"\b(?:num_partitions|replica_count)=(\d{1,6})\b")
_HEADER = 1 << 18
# Seconds that stages between the ends may take in any case, where the ends agree.
_PATIENCE = 10.0
# So many times the replays of a search are spent on finding a last stage that can be compared.
_TRIES = 2

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Options:
    """How the stages are run and compared.

    Attributes:
        inputs: "auto", a preset or a file; see the replay.
        seed: of made inputs.
        output: the number of the one output to look at; None for all.
        tolerance: an element is out where both its absolute and its relative error exceed it; None for what the
            element types of the module allow.
        platform: a PJRT platform.
    """

    inputs: str = "auto"
    seed: int = 0
    output: int | None = None
    tolerance: float | None = None
    platform: str = "cpu"


@dataclass(frozen=True, slots=True)
class Judged:
    """One stage, as far as it was looked at: EQUAL, DIFFERS, NOT_RUN or NOT_COMPARED, and why."""

    stage: Stage
    state: str
    why: str = ""


@dataclass(slots=True)
class Verdict:
    """What was found.

    Attributes:
        verdict: PASS, CODEGEN or NONE.
        first_bad: the first stage that differs, for PASS.
        last_good: the last one before it that does not.
        instruction: the fusion whose compiled value differs from that of its instructions, for CODEGEN.
        fusions: all such fusions, each with its computation and how the two values differ.
        against: what the first stage was compared with: "recorded", "whole", "" for neither; OTHER where the
            first stage of another dump is the measure.
        difference: of the outputs: largest errors, worst elements, buckets.
        judged: the stages that were run.
        replays: how many runs that took.
        not_checked: what the verdict does not cover.
        inputs: kind, file and seed of the inputs, what keeps them from being the job's, and what was asked for.
        tolerance: that was used.
        engine: the versions of jax and jaxlib.
        stopped: whether it was interrupted before it came to an end.
        blind: why no stage was compared with another one, "" where some were.
    """

    verdict: str = NONE
    first_bad: Stage | None = None
    last_good: Stage | None = None
    instruction: str | None = None
    fusions: list[Json] = field(default_factory=list)
    against: str = ""
    difference: Json = field(default_factory=dict)
    judged: list[Judged] = field(default_factory=list)
    replays: int = 0
    not_checked: list[str] = field(default_factory=list)
    inputs: Json = field(default_factory=dict)
    tolerance: float = 0.0
    engine: Json = field(default_factory=dict)
    stopped: bool = False
    blind: str = ""


class Bisection:
    """One search. `run` it once; `on_step` is told in words what is being done."""

    def __init__(
        self,
        listing: Listing,
        module: Module,
        options: Options,
        on_step: Callable[[str], None] = lambda _: None,
        against: tuple[Listing, Module] | None = None,
        engine: Engine | None = None,
    ) -> None:
        """Take a module of a dump.

        Args:
            listing, module: the module.
            options: how to run and compare.
            on_step: told in words what is being done.
            against: a module of another dump, whose first stage is the measure.
            engine: one that is there already, and stays; else one of its own.

        Raises:
            HloTuiError: a module has no stage that can be read.
        """
        self._listing = listing
        self._options = options
        self._on_step = on_step
        self._stages = need_stages(module, 1)
        self._other = None if against is None else (against[0], need_stages(against[1], 1)[0])
        self._devices = max((_devices(listing, stage) for stage in self._stages), default=1)
        self._engine = engine or Engine(on_step)
        self._own_engine = engine is None
        self._states: dict[int, Judged] = {}
        self._differences: dict[int, Json] = {}
        self._measure = ""
        self._other_processor = ""
        self._blind = False
        self._begun = time.monotonic()
        self.verdict = Verdict()

    def run(self) -> Verdict:
        """Search.

        Raises:
            EngineError: no stage can be run.
            HloTuiError: the inputs cannot be used.
        """
        try:
            first = self._begin()
            self._search(first)
        except Interrupted:
            self.verdict.stopped = True
        finally:
            if self._own_engine:
                self._engine.close()
        found = self.verdict
        found.judged = self.judged
        for judged in found.judged:
            if judged.state in (NOT_RUN, NOT_COMPARED):
                found.not_checked.append(f"{judged.stage.label} {judged.state}: {judged.why}")
        return found

    @property
    def judged(self) -> list[Judged]:
        """The stages that were looked at so far, in order."""
        return [self._states[at] for at in sorted(self._states)]

    @property
    def most(self) -> int:
        """How many replays it takes at most, where every stage can be run."""
        return most_replays(len(self._stages))

    # Running.

    def _begin(self) -> int:
        """Run the first stage that can be run; the measure for all others."""
        if self._other is not None:
            self._measure = "other"
            self._run_stage(*self._other, "other", self._options.inputs)
            return -1
        problem: HloTuiError | None = None
        for at, stage in enumerate(self._stages):
            try:
                self._measure = f"stage {at}"
                self._run_stage(self._listing, stage, self._measure, self._options.inputs)
            except EngineError as error:
                self._states[at] = Judged(stage, NOT_RUN, _one_line(error))
                problem = error
                continue
            self._states[at] = Judged(stage, EQUAL, "the measure")
            return at
        assert problem is not None
        raise problem

    def _run_stage(
        self, listing: Listing, stage: Stage, keep: str, inputs: str | None, grain: str = "body"
    ) -> None:
        self._replay(f"{stage.label} in {grain} grain")
        answer = self._engine.ask(
            "compare.run", {**self._params(listing, stage, inputs), "grain": grain, "keep": keep}
        )
        if inputs is not None:
            self._take_inputs(answer)
        outputs = answer["outputs"]
        if inputs is not None:
            self._blind = bool(outputs) and all("unknown" in one for one in outputs)
        for reason in answer["unknown"]:
            note = f"unknown: {reason}"
            if note not in self.verdict.not_checked:
                self.verdict.not_checked.append(note)

    def _replay(self, words: str) -> None:
        """Count a replay, and say which it is."""
        self.verdict.replays += 1
        most = max(self.most, self.verdict.replays)
        self._on_step(f"replay {self.verdict.replays} of at most {most}: {words}")

    def _params(self, listing: Listing, stage: Stage, inputs: str | None) -> Json:
        return {
            "path": str(path_of(listing, stage.main)),
            "member": stage.main.path if listing.log else None,
            "inputs": inputs,
            "seed": self._options.seed,
            "platform": self._options.platform,
            "devices": self._devices,
        }

    def _take_inputs(self, answer: Json) -> None:
        found = self.verdict
        found.inputs = {name: answer[name] for name in ("inputs", "inputs_file", "seed", "reasons")}
        found.inputs["asked"] = self._options.inputs
        found.engine = answer["engine"]
        given = self._options.tolerance
        found.tolerance = answer["coarseness"] if given is None else given
        found.against = "recorded" if answer["recorded"] else ""
        self._other_processor = answer["other_processor"]

    def _compare(self, a: str, b: str) -> tuple[str, Json]:
        """Whether two results differ, and the first output in which, with the largest errors of all outputs."""
        answer = self._engine.ask("compare.results", {"a": a, "b": b, "tolerance": self.verdict.tolerance})
        if answer["problem"]:
            return NOT_COMPARED, {"why": answer["problem"]}
        wanted = self._options.output
        outputs = [one for one in answer["outputs"] if wanted is None or one["output"] == wanted]
        if wanted is not None and not outputs:
            raise HloTuiError(
                f"no output {wanted}", f"the module has {len(answer['outputs'])}, numbered from 0"
            )
        differing = [one for one in outputs if one["state"] == "differs"]
        if differing:
            return DIFFERS, differing[0]
        known = [one for one in outputs if one["state"] in ("equal", "within")]
        for one in outputs:
            note = f"output {one['output']} {one['state']}: {one['why']}" if "why" in one else ""
            if note and note not in self.verdict.not_checked:
                self.verdict.not_checked.append(note)
        if not known:
            return (NOT_COMPARED, {"why": outputs[0]["why"]}) if outputs else (EQUAL, {})
        return EQUAL, max(known, key=lambda one: _size(one["max_abs"]))

    def _judge(self, at: int) -> str:
        """Run a stage, once, and compare it with the measure."""
        if at in self._states:
            return self._states[at].state
        stage = self._stages[at]
        why = ""
        try:
            self._run_stage(self._listing, stage, f"stage {at}", None)
            state, difference = self._compare(f"stage {at}", self._measure)
            self._differences[at] = difference
            why = difference.get("why", "")
        except Interrupted:
            raise
        except WorkerDied as error:
            state, why = NOT_RUN, _one_line(error)
            self._again()
        except HloTuiError as error:
            state, why = NOT_RUN, _one_line(error)
        self._states[at] = Judged(stage, state, why)
        return state

    def _again(self) -> None:
        """Give a new worker the measure, which the old one took with it."""
        if self._other is not None:
            self._run_stage(*self._other, self._measure, self._options.inputs)
            return
        at = int(self._measure.rpartition(" ")[2])
        self._run_stage(self._listing, self._stages[at], self._measure, self._options.inputs)

    # Searching.

    def _search(self, first: int) -> None:
        found = self.verdict
        if self._blind:
            found.blind = "no output of the first stage is known"
            return
        differs = False
        if self._other is not None:
            found.against = OTHER
        elif found.against:
            state, found.difference = self._compare(self._measure, found.against)
            if state == EQUAL:
                return
            differs = state == DIFFERS
        last = self._last(first)
        if last is not None and self._states[last].state == DIFFERS:
            self._halve(first, last)
            return
        if self._other is not None:
            return
        if last is None:
            last = first
            found.blind = (
                "no later stage could be compared with the first one" if first < len(self._stages) - 1 else ""
            )
        # A library's results are the processor's: then only what differs on this one is the compiler's.
        elsewhere = differs and bool(self._other_processor)
        if (differs and not elsewhere) or self._whole(last):
            self._codegen(last)
            self._look_between(first, last)
        elif elsewhere:
            found.against = "whole"
            found.not_checked.append(
                f"the recorded result is another one, as may be: {self._other_processor}"
            )

    def _last(self, first: int) -> int | None:
        """The last stage that can be run and compared; None where that is the first."""
        for at in range(len(self._stages) - 1, first, -1):
            if self.verdict.replays >= _TRIES * self.most:
                self.verdict.not_checked.append(f"the stages up to {self._stages[at].label} were not tried")
                return None
            if self._judge(at) in (EQUAL, DIFFERS):
                return at
        return None

    def _halve(self, good: int, bad: int) -> None:
        """Find two neighbours of which only the later one differs."""
        while bad - good > 1:
            middle = (good + bad) // 2
            # What cannot be run is passed over, outwards from the middle.
            near = sorted(range(good + 1, bad), key=lambda at: (abs(at - middle), at))
            tried = next((at for at in near if self._judge(at) in (EQUAL, DIFFERS)), None)
            if tried is None:
                break
            if self._states[tried].state == DIFFERS:
                bad = tried
            else:
                good = tried
        found = self.verdict
        found.verdict = PASS
        found.first_bad = self._stages[bad]
        found.last_good = self._stages[good] if good >= 0 else None
        found.difference = self._differences[bad]
        if bad - good > 1:
            between = ", ".join(self._stages[at].label for at in range(good + 1, bad))
            found.not_checked.append(f"it may be one of these that could not be run: {between}")

    def _whole(self, last: int) -> bool:
        """Whether the last stage, compiled in one piece, gives something else than instruction by instruction."""
        found = self.verdict
        try:
            self._run_stage(self._listing, self._stages[last], "whole", None, "whole")
            state, difference = self._compare("whole", self._measure)
        except Interrupted:
            raise
        except WorkerDied as error:
            found.not_checked.append(f"the last stage in one piece: {_one_line(error)}")
            self._again()
            return False
        except HloTuiError as error:
            found.not_checked.append(f"the last stage in one piece: {_one_line(error)}")
            return False
        found.against = found.against or "whole"
        if state == DIFFERS or not found.difference:
            found.difference = difference
        return state == DIFFERS

    def _codegen(self, last: int) -> None:
        """No pass changed the values: which fusion does the code generator get wrong?"""
        found = self.verdict
        found.verdict = CODEGEN
        stage = self._stages[last]
        self._replay(f"each fusion of {stage.label} against its instructions")
        params = self._params(self._listing, stage, None)
        try:
            answer = self._engine.ask(
                "compare.fusions", {**params, "tolerance": found.tolerance, "keep": "unit"}
            )
        except Interrupted:
            raise
        except HloTuiError as error:
            found.not_checked.append(f"the fusions of {stage.label}: {_one_line(error)}")
            return
        found.fusions = answer["differing"]
        if found.fusions:
            found.instruction = found.fusions[0]["instruction"]
        else:
            found.not_checked.append(
                f"none of {answer['looked_at']} fusions differs from its instructions on this machine: "
                "the fault is between them, or in what another compiler or device made"
            )

    def _look_between(self, first: int, last: int) -> None:
        """Run stages between the two ends too, as many as a search would have, and no longer than it took so far: two
        faults may undo one another."""
        count = self.most - self.verdict.replays
        now = time.monotonic()
        until = now + max(_PATIENCE, now - self._begun)
        places = {first + (last - first) * (n + 1) // (count + 1) for n in range(count)}
        for at in sorted(places - self._states.keys()):
            if time.monotonic() > until:
                return
            if self._judge(at) != DIFFERS:
                continue
            label = self._stages[at].label
            self.verdict.not_checked.append(
                f"{label} differs, and the last stage does not: a pass before it and one after it may both be wrong"
            )


def most_replays(stages: int) -> int:
    """How many replays a search through so many stages takes at most, where every one of them can be run."""
    return max(4, math.ceil(math.log2(max(1, stages))) + 2)


def _devices(listing: Listing, stage: Stage) -> int:
    source = open_stage(listing, stage)
    line = source.read(0, _HEADER).partition(b"\n")[0]
    count = 1
    for number in _DEVICES.findall(line):
        count *= int(number)
    return min(count, 1024)


def _one_line(error: HloTuiError) -> str:
    return ": ".join(part for part in (error.title, *error.message.splitlines()[:1]) if part)


def _size(number: float | str | None) -> float:
    return float(number) if number is not None else 0.0
