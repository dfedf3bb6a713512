"""The passes of a module, step by step: what each changed, by how much the module grew, how long it took."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.errors import HloTuiError
from hlo_tui.passes.blocks import Reader, Text
from hlo_tui.passes.changes import Diff, counts
from hlo_tui.passes.compare import Comparison
from hlo_tui.passes.stages import open_stage, readable_stages
from hlo_tui.passes.tables import table
from hlo_tui.passes.times import FILE_TIMES, Time, step_times

UNCHANGED = Diff()


@dataclass(frozen=True, slots=True)
class Step:
    """One dumped stage, and what happened since the one before it.

    Attributes:
        stage: the stage.
        base: the label of the stage before it, "" for the first.
        instructions: how many the module has now; -1 where the stage cannot be read.
        added, removed, modified, renamed: how many instructions changed in that way.
        kinds: how many of the modified ones changed in each way.
        header: the parts of the module's header that changed.
        time: how long it took, where that can be told.
        problem: why the stage cannot be read, "" where it can.
    """

    stage: Stage
    base: str = ""
    instructions: int = -1
    added: int = 0
    removed: int = 0
    modified: int = 0
    renamed: int = 0
    kinds: dict[str, int] = field(default_factory=dict)
    header: tuple[str, ...] = ()
    time: Time | None = None
    problem: str = ""

    @property
    def changed(self) -> bool:
        """Whether the module is another one than at the stage before, but for names and order."""
        return bool(self.added or self.removed or self.modified or self.header)

    @property
    def name(self) -> str:
        """The pass that ran; for a dump in the middle of a pass, that pass; "" for named stages."""
        point = self.stage.point
        return point.during or (point.after if point.step is not None else "") or ""


def steps(listing: Listing, module: Module) -> Iterator[Step]:
    """The stages of a module in order, each compared with the one before; two at a time are in memory."""
    times = step_times(listing, module)
    reader = Reader()
    before: Text | None = None
    base = ""
    for stage in readable_stages(module):
        time = times.get(stage.label)
        try:
            source = open_stage(listing, stage)
        except HloTuiError as error:
            yield Step(stage, base, time=time, problem=error.title)
            continue
        if (
            before is not None
            and source.size == len(before.data)
            and source.read(0, source.size) == before.data
        ):
            yield _step(stage, base, before.instructions, UNCHANGED, time)
        else:
            text = Text(source, reader)
            found = UNCHANGED if before is None else Comparison(before, text).run()
            yield _step(stage, base, text.instructions, found, time)
            before = text
        base = stage.label


def _step(stage: Stage, base: str, instructions: int, diff: Diff, time: Time | None) -> Step:
    return Step(
        stage,
        base,
        instructions,
        len(diff.added),
        len(diff.removed),
        len(diff.modified),
        diff.renamed,
        counts(diff.modified),
        tuple(change.key for change in diff.header),
        time,
    )


def to_json(module: Module, found: list[Step]) -> dict[str, Any]:
    """The timeline as `passes --json` gives it: the numbered dumps as passes, the others beside them."""
    return {
        "module": module.name,
        "id": module.id,
        "passes": [_step_json(step) for step in found if step.stage.point.step is not None],
        "stages": [_step_json(step) for step in found if step.stage.point.step is None],
    }


def _step_json(step: Step) -> dict[str, Any]:
    point = step.stage.point
    return {
        "step": point.step,
        "pipeline": point.pipeline,
        "pass": step.name or None,
        "changed": step.changed,
        "instructions": step.instructions,
        "added": step.added,
        "removed": step.removed,
        "modified": step.modified,
        "ms": None if step.time is None else round(step.time.ms, 3),
        "ms_from": None if step.time is None else step.time.source,
        "renamed": step.renamed,
        "kinds": step.kinds,
        "header": list(step.header),
        "label": step.stage.label,
        "base": step.base or None,
        "before": point.before,
        "moment": point.after if point.kind == "within" else None,
        "path": step.stage.main.path,
        "problem": step.problem or None,
    }


def to_text(module: Module, found: list[Step], pattern: str = "") -> str:
    """The timeline for people: unchanged neighbours folded into one line.

    Args:
        module: whose timeline it is.
        found: all steps.
        pattern: only those with this in the name of the pass or the pipeline.
    """
    number = f"   #{module.id}" if module.id is not None else ""
    rows: list[tuple[str, ...]] = [("step", "pipeline › pass", "+", "-", "~", "total", "ms", "changed")]
    quiet: list[Step] = []
    for step in found:
        if pattern and pattern.lower() not in words(step).lower():
            continue
        if step.changed or step.problem or not step.base or step.stage.point.step is None:
            rows += _quiet_rows(quiet)
            quiet = []
            rows.append(_row(step))
        else:
            quiet.append(step)
    rows += _quiet_rows(quiet)
    lines = [f"{module.name}{number}", "", *table(rows, (2, 3, 4, 5, 6))]
    if any(step.time and step.time.source == FILE_TIMES for step in found):
        lines += ["", "ms: from the times of the files, so with all that went on since the dump before"]
    return "\n".join(lines)


def words(step: Step) -> str:
    """Which pass it was, in words."""
    point = step.stage.point
    if point.step is None:
        return point.label
    if point.kind == "within":
        return f"{step.name} › {point.after}"
    return f"{point.pipeline} › {step.name}"


def _row(step: Step) -> tuple[str, ...]:
    point = step.stage.point
    return (
        f"{point.step:04}" if point.step is not None else "",
        words(step),
        *(f"{count:,}" if count else "" for count in (step.added, step.removed, step.modified)),
        f"{step.instructions:,}" if step.instructions >= 0 else "",
        f"{step.time.ms:,.1f}" if step.time else "",
        step.problem
        or ", ".join([*(f"{kind} {count:,}" for kind, count in step.kinds.items()), *step.header]),
    )


def _quiet_rows(quiet: list[Step]) -> list[tuple[str, ...]]:
    if len(quiet) < 2:
        return [_row(step) for step in quiet]
    first, last = quiet[0].stage.point, quiet[-1].stage.point
    ms = sum(step.time.ms for step in quiet if step.time)
    total = f"{quiet[-1].instructions:,}"
    what = f"({len(quiet)} dumps without a change)"
    return [(f"{first.step:04}-{last.step:04}", what, "", "", "", total, f"{ms:,.1f}" if ms else "", "")]
