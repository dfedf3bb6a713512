"""How long passes took: from the compiler's own record where it was dumped, else from the times of files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hlo_tui.dump.files import File
from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.source import FileSource
from hlo_tui.hlo.text_protos import parse_text
from hlo_tui.passes.stages import path_of

METADATA = "metadata"
FILE_TIMES = "file times"


@dataclass(frozen=True, slots=True)
class Time:
    """A time, and where it is from: METADATA is the pass alone, FILE_TIMES all since the dump before."""

    ms: float
    source: str


@dataclass(frozen=True, slots=True)
class PassRun:
    """One run of a pass in the compiler's record.

    Attributes:
        pipeline, name: which pass.
        start_us, end_us: when, in microseconds since 1970.
        files: the names of the dumps that it wrote, without directories.
    """

    pipeline: str
    name: str
    start_us: int
    end_us: int
    files: frozenset[str]

    @property
    def ms(self) -> float:
        """How long it took."""
        return (self.end_us - self.start_us) / 1000


def recorded_runs(listing: Listing, module: Module) -> list[PassRun]:
    """The runs of passes that the module's metadata file tells of, in order; none where there is no such file."""
    files = [file for file in module.others if file.name.kind == "metadata" and file.span is None]
    return [run for file in files for run in _read(listing, file)]


def _read(listing: Listing, file: File) -> Iterable[PassRun]:
    try:
        source = FileSource(path_of(listing, file))
        found = parse_text(source.read(0, source.size), pb.HloModuleMetadataProto())
    except (HloTuiError, ValueError):
        # Without it there are still the times of the files.
        return
    for run in found.pass_metadata:
        begin, end = run.start_timestamp_usec, run.end_timestamp_usec
        names = frozenset(name.rpartition("/")[2] for name in run.dump_filenames)
        if end >= begin:
            yield PassRun(run.pipeline_name, run.pass_name, begin, end, names)


def step_times(listing: Listing, module: Module) -> dict[str, Time]:
    """How long the pass before each stage took, by the stage's label, for those for which it can be told.

    A stage's file is written after the pass, so that the time since the file before it is that of the pass, of
    those between that changed nothing, and of writing.
    """
    times: dict[str, Time] = {}
    before: Stage | None = None
    for stage in module.stages:
        if before is not None and stage.main.span is None:
            ms = (stage.main.mtime_ns - before.main.mtime_ns) / 1e6
            if ms > 0:
                times[stage.label] = Time(ms, FILE_TIMES)
        before = stage
    by_file = {name: run for run in recorded_runs(listing, module) for name in run.files}
    for stage in module.stages:
        run = next((by_file[name] for name in map(_last, stage.files) if name in by_file), None)
        if run is not None and run.name == _pass_name(stage):
            times[stage.label] = Time(run.ms, METADATA)
    return times


def _last(file: File) -> str:
    return file.path.rpartition("/")[2]


def _pass_name(stage: Stage) -> str | None:
    return stage.point.during or stage.point.after
