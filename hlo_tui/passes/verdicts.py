"""The verdict of a bisection for people and scripts, with before and after of the guilty spot."""

from __future__ import annotations

from typing import Any

from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Stage
from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.passes import diff
from hlo_tui.passes.bisect import CODEGEN, DIFFERS, EQUAL, NONE, PASS, Verdict
from hlo_tui.passes.blocks import Reader, Text
from hlo_tui.passes.diff import Found, found_in
from hlo_tui.passes.stages import open_stage

Json = dict[str, Any]
_LISTED = 50
_SHOWN = 12


def changes(listing: Listing, verdict: Verdict) -> Found | None:
    """What the guilty pass changed; None where no pass is guilty, or its stages cannot be read any more."""
    if verdict.first_bad is None or verdict.last_good is None:
        return None
    reader = Reader()
    try:
        texts = [Text(open_stage(listing, stage), reader) for stage in (verdict.last_good, verdict.first_bad)]
    except HloTuiError:
        return None
    return found_in(verdict.last_good.main.path, verdict.first_bad.main.path, texts[0], texts[1])


def to_json(module: str, verdict: Verdict, changed: Found | None) -> Json:
    """The verdict as `bisect --json` gives it."""
    difference = verdict.difference
    return {
        "module": module,
        "verdict": verdict.verdict,
        "first_bad": None if verdict.first_bad is None else _stage_json(verdict.first_bad),
        "instruction": verdict.instruction,
        "fusions": verdict.fusions,
        "replays": verdict.replays,
        "max_abs": difference.get("max_abs", 0.0),
        "max_rel": difference.get("max_rel", 0.0),
        "nan_only": bool(difference.get("nan_only")),
        "output": difference.get("output"),
        "elements_out": difference.get("out", 0),
        "elements": difference.get("count", 0),
        "buckets": difference.get("buckets", {}),
        "worst": difference.get("worst", []),
        "against": verdict.against or None,
        "tolerance": verdict.tolerance,
        "last_good": None if verdict.last_good is None else _stage_json(verdict.last_good),
        "changes": None if changed is None else _changes_json(changed),
        "stages": [
            {"label": judged.stage.label, "state": judged.state, "why": judged.why}
            for judged in verdict.judged
        ],
        "not_checked": verdict.not_checked,
        "inputs": verdict.inputs,
        "engine": verdict.engine,
        "stopped": verdict.stopped,
        "nothing_compared": verdict.blind or None,
    }


def _stage_json(stage: Stage) -> Json:
    point = stage.point
    return {
        "step": point.step,
        "pipeline": point.pipeline,
        "pass": point.during or (point.after if point.step is not None else None),
        "label": point.label,
        "path": stage.main.path,
    }


def _changes_json(changed: Found) -> Json:
    full = diff.to_json(changed)
    kept = {name: full[name][:_LISTED] for name in ("added", "removed", "modified", "replaced", "rows")}
    return {**kept, "left_out": sum(max(0, len(full[name]) - _LISTED) for name in kept)}


def to_text(module: str, verdict: Verdict, changed: Found | None) -> str:
    """The verdict for people."""
    lines = [f"{module}: {headline(verdict)}", *values(verdict)]
    for fusion in verdict.fusions:
        lines.append(f"{fusion['instruction']} in {fusion['computation']}, on the same operands:")
        lines += [f"  element {one['element']}: {one['a']}, compiled {one['b']}" for one in fusion["worst"]]
    if changed is not None:
        lines += ["", "what that pass changed", *diff.to_text(changed).splitlines()[: 3 + _SHOWN]]
    lines += ["", *exonerated(verdict), *limits(verdict)]
    if verdict.verdict == NONE and not verdict.stopped and verdict.inputs.get("inputs") == "made":
        lines.append("made inputs are small numbers: --inputs any tries others too, until some show a fault")
    return "\n".join(visible(line) for line in lines)


def headline(verdict: Verdict) -> str:
    """The verdict in one line."""
    if verdict.stopped:
        return f"stopped before there was a verdict{_so_far(verdict)}"
    if verdict.verdict == NONE and verdict.blind:
        return f"nothing was found out: {verdict.blind}"
    if verdict.verdict == NONE:
        return "no pass changed what it computes, as far as these inputs show"
    if verdict.verdict == CODEGEN:
        if verdict.instruction is None:
            return "no pass changed the values, but the compiled module gives others"
        return f"the code generator: {verdict.instruction}, compiled, is not what its instructions compute"
    assert verdict.first_bad is not None
    point = verdict.first_bad.point
    if point.step is None:
        return f"a pass before {point.label}; a dump with --xla_dump_hlo_pass_re=.* tells which"
    name = point.during or point.after
    if name == "pipeline-start":
        return f"a pass that ran before {point.pipeline} began (step {point.step:04})"
    return f"the pass {name} of {point.pipeline or 'its pipeline'} (step {point.step:04})"


def _so_far(verdict: Verdict) -> str:
    """Between which stages the fault is, as far as an interrupted search knows."""
    bad = next((judged for judged in verdict.judged if judged.state == DIFFERS), None)
    if bad is None:
        return ""
    good = [judged for judged in verdict.judged if judged.state == EQUAL]
    since = good[-1].stage.label if good else "the measure"
    return f"; the values change after {since}, at {bad.stage.label} or before"


def values(verdict: Verdict) -> list[str]:
    """The values that differ, in words."""
    found = verdict.difference
    if verdict.verdict == NONE or not found:
        return []
    kind = "only where one side is NaN" if found.get("nan_only") else ""
    sizes = f"largest error {found['max_abs']} absolute, {found['max_rel']} relative"
    lines = [
        f"output {found.get('output', 0)}: {found['out']:,} of {found['count']:,} elements out of tolerance "
        f"{verdict.tolerance:g}, {kind or sizes}"
    ]
    lines += [
        f"  element {one['element']}: {one['b']} became {one['a']}"
        for one in _oriented(verdict, found["worst"])
    ]
    buckets = [f"above {bound}: {count:,}" for bound, count in found["buckets"].items() if count]
    if buckets:
        lines.append(f"  relative errors {', '.join(buckets)}")
    return lines


def _oriented(verdict: Verdict, worst: list[Json]) -> list[Json]:
    """The good value first: it is the stage's for a pass, the measure's where it is compared with the job's."""
    if verdict.verdict == PASS or verdict.against == "whole":
        return worst
    return [{**one, "a": one["b"], "b": one["a"]} for one in worst]


def exonerated(verdict: Verdict) -> list[str]:
    """Which passes are cleared, in words."""
    equal = [judged.stage.label for judged in verdict.judged if judged.state == EQUAL]
    differing = [judged.stage.label for judged in verdict.judged if judged.state == DIFFERS]
    lines = []
    if verdict.verdict == PASS and len(equal) > 1:
        lines.append(f"the passes up to {equal[-1]} are cleared: they change no value")
    if verdict.verdict != PASS and len(equal) > 1:
        lines.append(
            f"the passes up to {equal[-1]} are cleared: together they change no value "
            f"({count_text(len(equal), 'stage')} were run and agree)"
        )
    if differing:
        lines.append(f"it differs at {count_text(len(differing), 'stage')} that were run after it")
    return lines


def limits(verdict: Verdict) -> list[str]:
    """On what the verdict rests, and what it does not cover, in words."""
    inputs = verdict.inputs
    source = inputs.get("inputs_file") or (f"seed {inputs['seed']}" if inputs.get("seed") is not None else "")
    engine = verdict.engine
    lines = [
        f"{count_text(verdict.replays, 'replay')}, inputs: {inputs.get('inputs', '')} {source}".rstrip(),
        f"engine: jaxlib {engine.get('jaxlib', '')} on this machine, tolerance {verdict.tolerance:g}",
    ]
    lines += [f"not faithful: {reason}" for reason in inputs.get("reasons", [])]
    return lines + [f"not checked: {note}" for note in verdict.not_checked]
