"""The memory of a module that nothing was dumped about: from the order of its text and its shapes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.visible import visible
from hlo_tui.memory import donations
from hlo_tui.memory.assignment import CONSTANT, OUTPUT, PARAMETER, TEMPORARY
from hlo_tui.memory.building import explainer, stay_words
from hlo_tui.memory.code import Code
from hlo_tui.memory.liveness import Liveness
from hlo_tui.memory.report import Owner, Report
from hlo_tui.memory.schedule import Flat, flatten
from hlo_tui.memory.timeline import timeline

_LOOKED_UP = 2000
_WORDS = {
    PARAMETER: "an argument: there for the whole run",
    OUTPUT: "a result: given back to the caller",
    CONSTANT: "a constant: there for the whole run",
}
_LIMITS = (
    "an estimate: no buffer assignment was dumped for this stage, so that memory was computed here from the shapes "
    "and the order of the instructions",
    "it counts arrays with the padding of tiled layouts and without gaps, lets loops, updates and elementwise "
    "operations reuse bytes, and knows nothing of the scratch memory of library calls",
)
_UNSCHEDULED = (
    "this stage is not scheduled yet: the order is that of the text, and fusion has not saved what it will"
)


def estimate(module: Module, title: str, stop: Callable[[], bool] = lambda: False) -> Report:
    """Estimate the memory of a scanned module.

    Raises:
        HloTuiError: it has no computation.
    """
    flat = flatten(module, stop)
    if not flat.steps:
        raise HloTuiError(
            "there is no computation in this", visible(title), "hlo-tui show FILE says what it holds"
        )
    live = Liveness(module, flat)
    placed = list(live.spans())
    line = timeline([step.name for step in flat.steps], live.base, [span for _, span in placed])
    code = Code(module)
    here = {span.label: span for span in line.at(line.peak_at)}
    owners = _kept(live, flat, code)
    shown = sorted(here.values(), key=lambda span: -span.size)
    code.find_lines((span.label.partition("{")[0] for span in shown[:_LOOKED_UP]), stop)
    for number, span in enumerate(shown):
        why = stay_words(span, line.sequence)
        if number < _LOOKED_UP and not stop():
            owners.append(code.owner(span.size, span.label, TEMPORARY, why))
        else:
            owners.append(Owner(span.size, span.label, span.label.partition("{")[0], kind=TEMPORARY, why=why))
    owners.sort(key=lambda owner: -owner.size)
    parts: dict[str, int] = defaultdict(int)
    for owner in owners:
        parts[owner.kind] += owner.size
    notes = _LIMITS if module.header.scheduled else (*_LIMITS, _UNSCHEDULED)
    return Report(
        title=title,
        sources=("the order and the shapes of the module",),
        owners=tuple(owners),
        peak=line.peak,
        peak_at=line.peak_at,
        parts=tuple(sorted(parts.items(), key=lambda part: -part[1])),
        timeline=line,
        lost=tuple(donations.lost(module)),
        estimated=True,
        explain=explainer(code, line),
        notes=notes if flat.complete else (*notes, "stopped before all of it was read"),
    )


def _kept(live: Liveness, flat: Flat, code: Code) -> list[Owner]:
    """What is there for the whole run."""
    owners = live.owners()
    kinds: dict[int, tuple[str, int, str]] = {}
    for number, place in (flat.parameters[0] if flat.parameters else {}).items():
        step = flat.steps[place]
        for leaf in range(step.leaves, step.leaves + step.count):
            label = step.name if not step.shape.is_tuple else f"{step.name}{{{leaf - step.leaves}}}"
            kinds.setdefault(live.group(leaf), (PARAMETER, number, label))
    found = []
    for group in sorted(live.kept, key=lambda group: -flat.sizes[group]):
        place, label = owners.get(group, (0, ""))
        kind, size = CONSTANT if flat.steps[place].opcode == "constant" else OUTPUT, live.size(group)
        why = _WORDS[kind]
        if group in kinds:
            kind, _, label = kinds[group]
            why = _WORDS[kind]
        if size > 0 and label:
            found.append(code.owner(size, label, kind, why))
    if live.table:
        found.append(Owner(live.table, "(table of results)", kind=OUTPUT, why="pointers to the results"))
    return found
