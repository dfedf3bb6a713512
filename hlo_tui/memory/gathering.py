"""From a path to a report: which files say something about a module's memory, and reading them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from google.protobuf.message import DecodeError

from hlo_tui.dump.files import File
from hlo_tui.dump.listing import Listing, load
from hlo_tui.dump.modules import Module as DumpedModule
from hlo_tui.dump.modules import Stage
from hlo_tui.dump.opening import READABLE, path_of
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo import kinds
from hlo_tui.hlo.loading import is_proto, open_bytes, open_document, read_proto
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.source import BytesSource, FileSource, Source, SpanSource
from hlo_tui.hlo.visible import visible
from hlo_tui.memory import building, usage_report
from hlo_tui.memory.assignment import Assignment
from hlo_tui.memory.assignment_proto import from_proto, simulated
from hlo_tui.memory.assignment_text import read_assignment
from hlo_tui.memory.building import Material
from hlo_tui.memory.estimate import estimate
from hlo_tui.memory.live_ranges import LiveRanges, read_live_ranges
from hlo_tui.memory.pasted import read_pasted
from hlo_tui.memory.report import Report
from hlo_tui.memory.timeline import Timeline

Stop = Callable[[], bool]

ASSIGNMENT, VALUES, RANGES, USAGE = (
    "buffer-assignment", "buffer-assignment-values", "live-range", "memory-usage-report",
)  # fmt: skip
KINDS = (ASSIGNMENT, VALUES, RANGES, USAGE)
_BLOCK = 1 << 20
_LONGEST_LINE = 1 << 20
_LONGEST_STREAM = 1 << 28
# One of these is in every text that says something of memory.
_MARKS = (
    b"allocation ", b"HloLiveRange", b"Total bytes", b"cumulative_size;", b"ut of memory", b"Largest program",
    b"Peak buffers", b" usage >=", b" requirement ", b"Unpadded size", b"XLA label", b"XLA Label",
    b"Entry Parameter Subshape", b"BufferAssignment", b"and limit ", b"Size: ",
)  # fmt: skip
_LONGEST_MARK = 100
_HEAD = 1 << 16
_KNOWN = ("a buffer assignment", "a memory usage report", "a list of live ranges")
_FORMS = (".txt", ".hlo.pb", ".hlo.pb.gz")


@dataclass(slots=True)
class Found:
    """Where the parts of one stage are: functions that open them."""

    title: str
    sides: dict[str, Callable[[], Source]] = field(default_factory=dict)
    text: Callable[[], Module] | None = None
    proto: Path | None = None
    code: str = ""


def lines_of(source: Source) -> Iterator[str]:
    """The lines of a text, without their ends and of bounded length; the last one is empty where it is ended."""
    rest = b""
    offset = 0
    while block := source.read(offset, _BLOCK):
        offset += len(block)
        *lines, rest = (rest + block).split(b"\n")
        yield from (line.decode("utf-8", "replace").rstrip("\r") for line in lines)
        if len(rest) > _LONGEST_LINE:
            yield rest[:_LONGEST_LINE].decode("utf-8", "replace")
            rest = b""
    yield rest.decode("utf-8", "replace").rstrip("\r")


def of_module(listing: Listing, module: DumpedModule, stop: Stop = lambda: False) -> Report:
    """The memory of a module of a dump: of its last stage that says something, else an estimate.

    Raises:
        HloTuiError: nothing of it can be read.
    """
    stage = _stage(module)
    if stage is None:
        return _report(_of_execution(listing, module), stop)
    return replace(_report(_of_stage(listing, module, stage), stop), stage=stage.label)


def of_path(path: Path, wanted: str | None = None, stop: Stop = lambda: False) -> Report:
    """The memory of a dump's module (of the one that allocates most, where none of that name is there), or of a file.

    Raises:
        HloTuiError: it tells nothing of memory.
    """
    if not path.is_dir():
        return of_file(path, None, stop)
    listing = load(path)
    same = [module for module in listing.catalog.modules if module.name == wanted]
    modules = [module for _, module in heaviest(listing, same or listing.catalog.modules)]
    if not modules:
        raise HloTuiError("no module is in this dump", visible(str(path)), "hlo-tui doctor DIR says why")
    return of_module(listing, modules[0], stop)


def _stage(module: DumpedModule) -> Stage | None:
    """The last stage that has reports beside it, else the last that can be read."""
    beside = {file.name.point.label for file in module.others if file.name.kind in KINDS and file.name.point}
    told = [stage for stage in module.stages if stage.label in beside]
    readable = [stage for stage in module.stages if stage.main.name.form in READABLE]
    return next(iter([*told[-1:], *readable[-1:]]), None)


def _of_execution(listing: Listing, module: DumpedModule) -> Found:
    """The module as it was recorded with a run, where no stage of it was dumped."""
    recorded = [file for file in module.executions if file.span is None]
    if not recorded:
        raise HloTuiError(
            f"nothing of {visible(module.name)} says anything about memory",
            "",
            "XLA writes a buffer assignment beside the last stage of a module",
        )
    path = path_of(listing, recorded[-1])
    return Found(path.name, proto=path, text=_text_opener(path))


def _of_stage(listing: Listing, module: DumpedModule, stage: Stage) -> Found:
    number = f" #{module.id}" if module.id is not None else ""
    found = Found(f"{module.name}{number} {stage.label}")
    for file in module.others:
        point = file.name.point
        if file.name.kind in KINDS and point is not None and point.label == stage.label:
            kept = found.sides.get(file.name.kind)
            if kept is None or file.path.endswith(".txt"):
                found.sides[file.name.kind] = _opener(listing, file)
    main = next((file for file in stage.files if file.name.form in READABLE), None)
    if main is not None:
        found.code = main.path
        found.text = lambda: _scanned(path_of(listing, main), main.path if listing.log else None)
    proto = next((file for file in stage.files if file.name.form.startswith("hlo.pb")), None)
    if proto is not None and proto.span is None:
        found.proto = path_of(listing, proto)
    return found


def _opener(listing: Listing, file: File) -> Callable[[], Source]:
    if file.span is None:
        return lambda: open_bytes(path_of(listing, file))
    begin, length = file.span
    return lambda: SpanSource(FileSource(listing.root), begin, begin + length, visible(file.path))


def _scanned(path: Path, member: str | None) -> Module:
    document = open_document(path, member)
    module = Module(document.source, document.kind)
    module.scan()
    return module


def of_file(path: Path, member: str | None = None, stop: Stop = lambda: False) -> Report:
    """The memory that a file tells of, with the files of the same stage that lie beside it.

    Args:
        path: a buffer assignment, live ranges, a memory usage report, HLO in any form, or a text with an
            out-of-memory message in it.
        member: which module, where a file holds several.

    Raises:
        HloTuiError: it tells nothing of memory.
    """
    found = _beside(path)
    if found is not None:
        return _report(found, stop)
    source = open_bytes(path)
    report = _of_usage_proto(source, path.name) or of_source(source, path.name)
    if report is not None:
        return report
    alone = Found(path.name, code=str(path), text=lambda: _scanned(path, member))
    if is_proto(path):
        alone.proto = path
    return _report(alone, stop)


def _beside(path: Path) -> Found | None:
    """The files of one stage, told by the beginning of their names; None where it is no such file."""
    name = path.name
    kind = next((kind for kind in (VALUES, *KINDS) if f"-{kind}." in name), "")
    if kind:
        stem = name[: name.rfind(f"-{kind}.")]
    else:
        form = next((form for form in reversed(_FORMS) if name.endswith(form)), None)
        if form is None or not (path.parent / f"{name.removesuffix(form)}-{ASSIGNMENT}.txt").is_file():
            return None
        stem = name.removesuffix(form)
    found = Found(stem)
    for one in KINDS:
        for ending in (".txt", ".pb", ".pb.gz"):
            side = path.parent / f"{stem}-{one}{ending}"
            if side.is_file():
                found.sides[one] = _file_opener(side)
                break
    for form in _FORMS:
        code = path.parent / f"{stem}{form}"
        if code.is_file():
            if form != ".txt":
                found.proto = found.proto or code
            if not found.code:
                found.code, found.text = str(code), _text_opener(code)
    return found


def _file_opener(path: Path) -> Callable[[], Source]:
    return lambda: open_bytes(path)


def _text_opener(path: Path) -> Callable[[], Module]:
    return lambda: _scanned(path, None)


def of_source(source: Source, name: str) -> Report | None:
    """The report in a text, whatever it is of: an assignment, live ranges, a usage report, or a message that was
    pasted; None where it is none of these. A text of any length is read line by line."""
    if not _has_marks(source):
        return None
    assignment, ranges = read_assignment(lines_of(source)), read_live_ranges(lines_of(source))
    if assignment.allocations or ranges is not None:
        sources = _sources(assignment if assignment.allocations else None, ranges, None, None)
        material = Material(name, sources, assignment if assignment.allocations else None, ranges)
        return building.from_material(material)
    spaces = usage_report.read_usage(lines_of(source))
    if spaces:
        return building.from_usage(name, spaces, "a memory usage report")
    pasted = read_pasted(lines_of(source))
    return None if pasted.is_empty else building.from_pasted(name, pasted)


def _has_marks(source: Source) -> bool:
    """Whether any words of such a text are in it; most texts that are asked about have none, and are long."""
    if kinds.sniff(source.read(0, _HEAD)) not in (kinds.TEXT, kinds.UNKNOWN_TEXT, *_KNOWN):
        return False
    offset = 0
    before = b""
    while block := source.read(offset, _BLOCK):
        offset += len(block)
        block = before + block
        if any(mark in block for mark in _MARKS):
            return True
        before = block[-_LONGEST_MARK:]
    return False


def of_stream(stream: BinaryIO) -> Report:
    """The report in what is typed, pasted or piped in.

    Raises:
        HloTuiError: there is nothing about memory in it, or it is too long to be kept.
    """
    name = "standard input"
    data = stream.read(_LONGEST_STREAM + 1)
    if len(data) > _LONGEST_STREAM:
        raise HloTuiError(
            "this is too long", f"{name}: more than {_LONGEST_STREAM:,} bytes", "Give the file's name."
        )
    report = of_source(BytesSource(data, name), name)
    if report is None:
        raise nothing_found(name)
    return report


def nothing_found(name: str) -> HloTuiError:
    """The error for a text that says nothing of memory."""
    return HloTuiError(
        "nothing about memory is in this",
        visible(name),
        "hlo-tui memory takes a dump, a buffer assignment, live ranges, HLO, or a text with an out-of-memory message",
    )


def _of_usage_proto(source: Source, name: str) -> Report | None:
    if f"-{USAGE}." not in name or source.read(0, 1) != b"\n":
        return None
    spaces = _usage_proto(source)
    return building.from_usage(name, spaces, "a memory usage report") if spaces else None


def _usage_proto(source: Source) -> tuple[usage_report.Space, ...]:
    try:
        message = pb.MemoryUsageReportProto.FromString(source.read(0, source.size))
    except DecodeError:
        return ()
    return usage_report.from_proto(message)


def _report(found: Found, stop: Stop) -> Report:
    assignment, ranges, line, notes = _read(found)
    module = None
    if found.text is not None:
        try:
            module = found.text()
        except HloTuiError as error:
            notes.append(f"the module's text cannot be read: {error.title}")
    if assignment is None and ranges is None:
        if USAGE in found.sides and (report := _from_usage(found)) is not None:
            return report
        if module is None:
            raise nothing_found(found.title)
        return replace(estimate(module, found.title, stop), code=found.code)
    sources = _sources(assignment, ranges, line, module)
    material = Material(found.title, sources, assignment, ranges, line, module, found.code, tuple(notes))
    return building.from_material(material, stop)


def _from_usage(found: Found) -> Report | None:
    source = found.sides[USAGE]()
    spaces = usage_report.read_usage(lines_of(source)) or _usage_proto(source)
    return building.from_usage(found.title, spaces, "a memory usage report") if spaces else None


def _read(found: Found) -> tuple[Assignment | None, LiveRanges | None, Timeline | None, list[str]]:
    notes: list[str] = []
    assignment: Assignment | None = None
    ranges: LiveRanges | None = None
    line: Timeline | None = None
    if ASSIGNMENT in found.sides:
        assignment = read_assignment(lines_of(found.sides[ASSIGNMENT]()))
        # Older layouts have both in one file.
        ranges = read_live_ranges(lines_of(found.sides[ASSIGNMENT]()))
    if RANGES in found.sides:
        ranges = read_live_ranges(lines_of(found.sides[RANGES]()))
    if found.proto is not None and (assignment is None or ranges is None):
        try:
            loaded = read_proto(found.proto)
        except HloTuiError as error:
            notes.append(f"the proto cannot be read: {error.title}")
            return assignment, ranges, line, notes
        if loaded.buffer_assignment is not None and loaded.buffer_assignment.buffer_allocations:
            assignment = from_proto(loaded.buffer_assignment, loaded.module)
            line = simulated(loaded.buffer_assignment, assignment)
    return assignment if assignment is None or assignment.allocations else None, ranges, line, notes


def _sources(
    assignment: Assignment | None, ranges: LiveRanges | None, line: Timeline | None, module: Module | None
) -> tuple[str, ...]:
    words = (
        ("a buffer assignment", assignment),
        ("live ranges", ranges),
        ("XLA's simulation of the heap", line),
        ("the module", module),
    )
    return tuple(word for word, there in words if there is not None)


def weight(listing: Listing, module: DumpedModule) -> int:
    """Bytes that a module allocates in all, from the first lines of its reports; 0 where they do not say it."""
    for kind, read in ((USAGE, _usage_total), (VALUES, _usage_total), (ASSIGNMENT, _assignment_total)):
        for file in module.others:
            if file.name.kind == kind:
                try:
                    total = read(_opener(listing, file)())
                except HloTuiError:
                    continue
                if total:
                    return total
    return 0


def _usage_total(source: Source) -> int:
    head = source.read(0, 1 << 12)
    text = usage_report.read_usage(head.decode("utf-8", "replace").split("\n"))
    return sum(space.total for space in text or (_usage_proto(source) if head[:1] == b"\n" else ()))


def _assignment_total(source: Source) -> int:
    return read_assignment(lines_of(source)).total


def heaviest(listing: Listing, modules: Sequence[DumpedModule]) -> list[tuple[int, DumpedModule]]:
    """Modules with the bytes that they allocate, the most first; those without reports by their size."""
    weighed = [(weight(listing, module), module) for module in modules if module.stages or module.others]
    return sorted(weighed, key=lambda one: (-one[0], -one[1].weight, os.fspath(one[1].name)))
