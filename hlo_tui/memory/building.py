"""A report made out of what was read: an assignment, live ranges, and the module's text beside them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from hlo_tui.hlo.module import Module
from hlo_tui.memory import donations
from hlo_tui.memory.assignment import (
    CONSTANT,
    OUTPUT,
    PARAMETER,
    TEMPORARY,
    THREAD_LOCAL,
    Allocation,
    Assignment,
    Value,
    without_repeats,
)
from hlo_tui.memory.code import Code
from hlo_tui.memory.live_ranges import LiveRanges
from hlo_tui.memory.pasted import Pasted, PastedBuffer
from hlo_tui.memory.report import Owner, Report
from hlo_tui.memory.timeline import Span, Timeline, from_ranges
from hlo_tui.memory.usage_report import Space

Stop = Callable[[], bool]

# How many owners the module's text is asked for; the others are small and keep their names.
_LOOKED_UP = 2000
_WORDS = {
    PARAMETER: "an argument: there for the whole run",
    OUTPUT: "a result: given back to the caller",
    CONSTANT: "a constant: there for the whole run",
}


@dataclass(frozen=True, slots=True)
class Material:
    """What there is to make a report of.

    Attributes:
        title: which module and stage.
        sources: what was read, in words.
        assignment: which values are where.
        ranges: when they are in use.
        timeline: memory over the schedule, where XLA's own simulation gave it.
        module: the module's text, scanned.
        code: its file.
        notes: what else is to be said.
    """

    title: str
    sources: tuple[str, ...] = ()
    assignment: Assignment | None = None
    ranges: LiveRanges | None = None
    timeline: Timeline | None = None
    module: Module | None = None
    code: str = ""
    notes: tuple[str, ...] = ()


def from_material(material: Material, stop: Stop = lambda: False) -> Report:
    """The report of an assignment and what is beside it."""
    assignment, ranges = material.assignment or Assignment(), material.ranges
    line = from_ranges(ranges, assignment) if ranges is not None else None
    line = line or material.timeline
    code = Code(material.module) if material.module is not None else None
    peak, peak_at = assignment.peak, -1
    if line is not None:
        peak, peak_at = line.peak, line.peak_at
    values = list(_at_peak(assignment, line))
    values.sort(key=lambda found: (-found[1].size, found[1].id))
    if code is not None:
        code.find_lines((value.name for _, value in values[:_LOOKED_UP]), stop)
    spans = {span.label: span for span in line.spans} if line is not None else {}
    owners = []
    for number, (allocation, value) in enumerate(values):
        why = _why(allocation, spans.get(value.label), line)
        asked = code if number < _LOOKED_UP and not stop() else None
        owners.append(_owner(asked, allocation, value, why))
    report = Report(
        title=material.title,
        sources=material.sources,
        owners=tuple(owners),
        peak=peak,
        peak_at=peak_at,
        total=assignment.total if assignment.allocations else None,
        parts=tuple(assignment.by_kind().items()),
        timeline=line,
        allocations=assignment.allocations,
        lost=tuple(donations.lost(material.module)) if material.module is not None else (),
        listed_peak=_listed(ranges),
        notes=(*material.notes, *_notes(assignment, ranges, line)),
        code=material.code,
        explain=explainer(code, line) if line is not None else None,
    )
    return report if report.owners or ranges is None else _from_ranges_alone(report, ranges, code)


def _at_peak(assignment: Assignment, line: Timeline | None) -> Iterator[tuple[Allocation, Value]]:
    """What is in use at the fullest moment: with a schedule by it, else as the assignment lists it."""
    known = assignment.values
    live = {span.label for span in line.at(line.peak_at)} if line is not None else set()
    for allocation in assignment.allocations:
        if allocation.kind == THREAD_LOCAL:
            continue
        if allocation.kind != TEMPORARY:
            if allocation.largest is not None and allocation.largest.size:
                yield allocation, allocation.largest
        elif line is not None:
            for value in without_repeats(
                [v for v in allocation.values if v.label in live and known[v.label] is v]
            ):
                yield allocation, value
        else:
            listed = assignment.peak_values.get(allocation.index)
            for value in listed if listed is not None else without_repeats(allocation.values):
                yield allocation, value


def _why(allocation: Allocation, span: Span | None, line: Timeline | None) -> str:
    if allocation.kind == PARAMETER and allocation.live_out:
        return f"argument {allocation.parameter}, and a result lies in it (donated)"
    if allocation.kind != TEMPORARY or line is None or span is None:
        return _WORDS.get(allocation.kind, "")
    return stay_words(span, line.sequence)


def stay_words(span: Span, sequence: Sequence[str]) -> str:
    """From where to where a value is in use, in words."""
    if span.end >= len(sequence):
        return f"from {span.start} to the end"
    if span.end == span.start:
        return f"at {span.start} only"
    return f"from {span.start} until {span.end} %{sequence[span.end]}"


def explainer(code: Code | None, line: Timeline) -> Callable[[Span], Owner]:
    """What makes owners of the values that come and go; each is looked up once."""
    known: dict[Span, Owner] = {}

    def explain(span: Span) -> Owner:
        if span not in known:
            why = stay_words(span, line.sequence)
            name = span.label.partition("{")[0]
            known[span] = (
                code.owner(span.size, span.label, TEMPORARY, why)
                if code is not None
                else Owner(span.size, span.label.removesuffix("{}"), name, kind=TEMPORARY, why=why)
            )
        return known[span]

    return explain


def _owner(code: Code | None, allocation: Allocation, value: Value, why: str) -> Owner:
    if code is not None:
        return code.owner(value.size, value.label, allocation.kind, why, value.shape)
    return Owner(
        value.size,
        value.label.removesuffix("{}"),
        value.name,
        shape=value.shape,
        kind=allocation.kind,
        why=why,
    )


def _listed(ranges: LiveRanges | None) -> tuple[int, int] | None:
    if ranges is None or ranges.peak_at is None or ranges.peak is None:
        return None
    return ranges.peak_at, ranges.peak


def _notes(assignment: Assignment, ranges: LiveRanges | None, line: Timeline | None) -> Iterator[str]:
    if assignment.cut:
        yield "the buffer assignment ends in the middle: is it still being written?"
    if ranges is not None and ranges.cut:
        yield "the live ranges end in the middle: is the file still being written?"
    if line is None and assignment.allocations and assignment.peak is None:
        yield "without live ranges nobody knows what is in use at one time: everything is listed"
    stated = assignment.stated_total
    if stated is not None and stated != assignment.total:
        yield f"the report says {stated:,} bytes in all, its allocations are {assignment.total:,}"


def _from_ranges_alone(report: Report, ranges: LiveRanges, code: Code | None) -> Report:
    """Live ranges without an assignment: XLA's own list of its peak."""
    found = {one.label: one for one in ranges.ranges}
    owners = []
    for label, size in ranges.at_peak:
        one = found.get(label)
        span = Span(label, size, one.start, one.end) if one is not None else None
        why = stay_words(span, ranges.sequence) if span is not None else ""
        kept = code.owner(size, label, "", why) if code is not None else None
        owners.append(kept or Owner(size, label.removesuffix("{}"), label.partition("{")[0], why=why))
    note = "XLA's list counts a buffer twice where one value hands it to the next"
    return replace(
        report,
        owners=tuple(owners),
        peak=ranges.peak,
        peak_at=ranges.peak_at if ranges.peak_at is not None else -1,
        notes=(*report.notes, note),
    )


def from_usage(title: str, spaces: Sequence[Space], source: str) -> Report:
    """The report of a memory usage report alone, which names shapes and no instructions."""
    owners = []
    for space in spaces:
        for number, block in enumerate(space.blocks):
            name = block.words.split(",")[0] or f"the {number + 1}. largest allocation"
            where = name if space.color == 0 else f"{name} in {space.name}"
            for slot in block.slots or ():
                shared = f"{slot.count} values take turns in it" if slot.count > 1 else ""
                owners.append(Owner(slot.size, f"{where} +{slot.offset}", shape=slot.shapes, why=shared))
            if not block.slots:
                owners.append(Owner(block.size, where, why=block.words.partition(", ")[2]))
    owners.sort(key=lambda owner: -owner.size)
    names = {space.color: f"space {space.name}" for space in spaces}
    parts = tuple((names[space.color], space.total) for space in spaces) if len(spaces) > 1 else ()
    return Report(
        title=title,
        sources=(source,),
        owners=tuple(owners),
        total=sum(space.total for space in spaces),
        parts=parts,
        rounded=True,
        notes=("this report has no names and no times: beside its module hlo-tui shows both",),
    )


def from_pasted(title: str, pasted: Pasted) -> Report:
    """The report of an out-of-memory message."""
    notes = []
    if pasted.shared is not None and pasted.shared:
        notes.append(f"{pasted.shared:,} bytes of the results lie in arguments")
    padded = sum(one.size - one.unpadded for one in pasted.buffers if one.unpadded is not None)
    if padded > 0:
        notes.append(f"{padded:,} bytes of the listed buffers are padding")
    return Report(
        title=title,
        sources=("an out-of-memory message",),
        owners=tuple(map(_pasted_owner, pasted.buffers)),
        peak=pasted.used,
        parts=pasted.parts,
        limit=pasted.limit,
        wanted=pasted.wanted,
        rounded=True,
        notes=tuple(notes),
    )


def _pasted_owner(found: PastedBuffer) -> Owner:
    why = found.kind
    if found.unpadded is not None and found.size > found.unpadded:
        times = f", {found.size / found.unpadded:.1f} times" if found.unpadded else ""
        why = f"{why}; {found.size - found.unpadded:,} bytes of it are padding{times}".removeprefix("; ")
    label = found.name or found.opcode or found.label or "(not named)"
    return Owner(
        size=found.size,
        label=label,
        instruction=found.name,
        opcode=found.opcode,
        shape=found.shape,
        op_name=found.op_name,
        file=found.file,
        line=found.line,
        kind="argument" if found.opcode == "parameter" else found.kind,
        why=why,
        code_line=found.at,
        unpadded=found.unpadded,
    )
