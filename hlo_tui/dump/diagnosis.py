"""Why a dump is empty or lacks something: every cause that is known, looked into one by one."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence

from hlo_tui.dump import doctor, lacking
from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.debugoptions import read_options
from hlo_tui.dump.findings import FOUND, NOT_SO, POSSIBLE, UNASKED, Case, Finding
from hlo_tui.dump.processes import Process
from hlo_tui.dump.words import count_text, size_text
from hlo_tui.hlo.visible import visible

_FULL = 10_000_000
# A text longer than this has more than ten instructions.
_SHORT = 16_384


def diagnose(
    root: str | os.PathLike[str],
    catalog: Catalog,
    unread: Mapping[str, str],
    environ: Mapping[str, str],
    processes: Sequence[Process] = (),
) -> list[Finding]:
    """Look into every cause.

    Args:
        root: the dump's directory, which need not be there.
        catalog, unread: what a listing of it found.
        environ: of who asks.
        processes: running programs with XLA, from `processes.with_xla`.

    Returns:
        A finding for each cause, those that explain something first.
    """
    path = os.path.abspath(root)
    case = Case(path, catalog, unread, environ, processes, read_options(path, catalog.modules))
    found = [finding for look in _CAUSES for finding in look(case)]
    return sorted(found, key=lambda finding: (FOUND, POSSIBLE, UNASKED, NOT_SO).index(finding.state))


def _directory(case: Case) -> Iterator[Finding]:
    root, shown = case.root, visible(case.root)
    if "://" in root:
        yield Finding("directory", FOUND, f"{shown} is no local path", "dump to a directory of this machine")
    elif os.path.exists(root) and not os.path.isdir(root):
        yield Finding("directory", FOUND, f"{shown} is a file", "give --xla_dump_to a directory")
    elif not os.path.isdir(root):
        parent = next(p for p in _parents(root) if os.path.isdir(p))
        if os.access(parent, os.W_OK):
            yield Finding(
                "directory", FOUND, f"{shown} is not there: XLA makes it at the first module", case.flags()
            )
        else:
            yield Finding(
                "directory", FOUND, f"{shown} is not there, and {visible(parent)} may not be written",
                "dump to a directory that the job may make",
            )  # fmt: skip
    elif case.unread:
        names = ", ".join(visible(name or root) for name in list(case.unread)[:3])
        yield Finding("directory", FOUND, f"not readable: {names}", "look as the user that runs the job")
    elif not os.access(root, os.W_OK):
        yield Finding(
            "directory", POSSIBLE, f"{shown} may not be written by you", "the job's user must be able to"
        )
    else:
        yield Finding("directory", NOT_SO, f"{shown} is there and can be written")


def _parents(path: str) -> Iterator[str]:
    while path != os.path.dirname(path):
        path = os.path.dirname(path)
        yield path


def _disk(case: Case) -> Iterator[Finding]:
    place = next(p for p in (case.root, *_parents(case.root)) if os.path.isdir(p))
    free = shutil.disk_usage(place).free
    runs = [file for module in case.modules for file in module.executions]
    if free < _FULL:
        yield Finding("disk", FOUND, f"{size_text(free)} are free on this disk: it is full", "make room")
    elif sum(file.size for file in runs) > free:
        size = size_text(sum(file.size for file in runs))
        yield Finding(
            "disk", POSSIBLE, f"{count_text(len(runs), 'recorded run')} take {size}, {size_text(free)} are left",
            "every execution adds one: end the job after some steps",
        )  # fmt: skip
    else:
        yield Finding("disk", NOT_SO, f"{size_text(free)} are free")


def _arrived(case: Case) -> Iterator[Finding]:
    """Facts about the flag itself: too late, in the wrong process, to another directory."""
    if case.modules:
        proofs = case.side("debug-options")
        proof = f"{count_text(proofs, 'file')} .debug_options say so" if proofs else "modules are there"
        yield Finding("flag", NOT_SO, f"the flag reached XLA: {proof}")
        return
    here = [
        one
        for one in case.processes
        if one.dumps_to and os.path.realpath(one.dumps_to) == os.path.realpath(case.root)
    ]
    others = [one for one in case.processes if one not in here]
    if here:
        named = _processes(here)
        yield Finding(
            "flag", POSSIBLE, f"{named} was started with the flag: nothing was compiled yet, or a cause below",
            "wait for the first step",
        )  # fmt: skip
    elif others:
        # It may be another job: only where none of them dumps anywhere is it likely to be this one.
        elsewhere = [one for one in others if one.dumps_to]
        state = POSSIBLE if elsewhere else FOUND
        words = f"{_processes(others)} was started without --xla_dump_to={visible(case.root)}"
        if elsewhere:
            words += f"; process {elsewhere[0].pid} dumps to {visible(elsewhere[0].dumps_to)}"
        yield Finding("flag", state, words, f"the flag has to be there at the start: {case.flags()}")
    else:
        yield Finding(
            "flag", POSSIBLE,
            "no program with XLA runs here now. A flag that is set after JAX (or TensorFlow, or torch_xla) was first "
            "used, or for the launcher and not for its workers, does nothing",
            f"hlo-tui run -- python train.py, or {case.flags()}",
        )  # fmt: skip


def _processes(some: Sequence[Process]) -> str:
    first = f"process {some[0].pid} ({visible(some[0].command)})"
    return first + (f" and {len(some) - 1} more" if len(some) > 1 else "")


def _cache(case: Case) -> Iterator[Finding]:
    remark = doctor.only_cached(case.modules, case.root)
    if remark:
        yield Finding("compile-cache", FOUND, *_split(remark, " To see the rest: "))
    elif "before" in case.kinds:
        yield Finding("compile-cache", NOT_SO, "the modules were compiled, not taken from a cache")
    else:
        used = visible(case.environ.get("JAX_COMPILATION_CACHE_DIR", ""))
        words = (
            f"JAX_COMPILATION_CACHE_DIR is set here ({used})" if used else "the job may use a compile cache"
        )
        yield Finding(
            "compile-cache", POSSIBLE, f"{words}: a hit compiles nothing and writes next to nothing",
            f"JAX_ENABLE_COMPILATION_CACHE=false {case.flags()}",
        )  # fmt: skip


def _split(remark: str, mark: str) -> tuple[str, str]:
    words, _, remedy = remark.partition(mark)
    return words.rstrip(), remedy


def _small(case: Case) -> Iterator[Finding]:
    texts = [
        s.main
        for m in case.modules
        for s in m.stages
        if s.point.kind == "before" and s.main.name.form == "txt"
    ]
    smallest = min(texts, key=lambda file: file.size, default=None)
    few = _operations(os.path.join(case.root, smallest.path)) if smallest is not None else None
    if smallest is not None and few is not None and few < 10:
        yield Finding(
            "small-modules",
            NOT_SO,
            f"a module of {count_text(few, 'operation')} was written: {visible(smallest.path)}",
        )
    else:
        yield Finding(
            "small-modules", POSSIBLE,
            "JAX before 0.4.30 does not dump modules of less than 10 operations",
            "JAX_COMPILER_DETAILED_LOGGING_MIN_OPS=0",
        )  # fmt: skip


def _operations(path: str) -> int | None:
    """How many instructions a short text has; None where it is longer than a module of ten."""
    try:
        with open(path, "rb") as file:
            text = file.read(_SHORT + 1)
    except OSError:
        return None
    return (
        None
        if len(text) > _SHORT
        else sum(line.startswith(b"  ") and b" = " in line for line in text.splitlines())
    )


def _framework(case: Case) -> Iterator[Finding]:
    kinds = {file.name.kind for file in case.catalog.other}
    if case.modules:
        yield Finding("other-dump", NOT_SO, "XLA's own modules are here")
        return
    if "jax-stablehlo" in kinds or "jaxpr" in kinds:
        yield Finding(
            "other-dump", FOUND,
            "JAX wrote its programs here (JAX_DUMP_IR_TO) and XLA nothing: it was not told to, or its TPU runtime "
            "ignores the flag", case.flags(),
        )  # fmt: skip
    if "tensorflow-graph" in kinds:
        yield Finding(
            "other-dump", FOUND, "the .pbtxt files are TensorFlow's graphs before XLA (TF_DUMP_GRAPH_PREFIX), not HLO",
            case.flags(),
        )  # fmt: skip
    logs = doctor.logs_with_dumps(case.root, case.catalog)
    for line in logs:
        yield Finding("other-dump", FOUND, *_split(line, ": "))
    if not logs and not kinds & {"jax-stablehlo", "jaxpr", "tensorflow-graph"}:
        yield Finding(
            "other-dump", POSSIBLE, "some TPU runtimes ignore --xla_dump_to",
            "JAX_DUMP_IR_TO=DIR writes JAX's own programs (hlo-tui flags jaxpr)",
        )  # fmt: skip


def _only_runs(case: Case) -> Iterator[Finding]:
    remark = doctor.only_snapshots(case.modules, case.root)
    if remark:
        yield Finding(
            "unoptimized-snapshots",
            FOUND,
            *_split(remark, " For the stages, start the job a second time with: "),
        )
    elif case.option("xla_dump_hlo_unoptimized_snapshots") == "true" or (
        not case.modules and "unoptimized_snapshots" in case.environ.get("XLA_FLAGS", "")
    ):
        yield Finding(
            "unoptimized-snapshots", FOUND, "--xla_dump_hlo_unoptimized_snapshots switches every other dump off",
            case.flags(),
        )  # fmt: skip
    else:
        yield Finding("unoptimized-snapshots", NOT_SO, "no flag that switches other dumps off was seen")


def _crash(case: Case) -> Iterator[Finding]:
    remark = doctor.no_end(case.modules)
    if remark:
        yield Finding(
            "no-end", FOUND, remark,
            "the file before_optimizations of the newest of them is what the compiler died of: hlo-tui show FILE",
        )  # fmt: skip
    else:
        yield Finding("no-end", NOT_SO, "every module that was begun has an end")
    cut = doctor.cut_off(case.modules)
    yield (
        Finding("cut-off", FOUND, cut, "wait, or start the job again")
        if cut
        else Finding("cut-off", NOT_SO, "every file is whole")
    )


_CAUSES: tuple[Callable[[Case], Iterator[Finding]], ...] = (
    _directory, _disk, _arrived, _cache, _small, _framework, lacking.limit, lacking.pattern, _only_runs, _crash,
    lacking.passes, lacking.code, lacking.snapshots, lacking.mixed,
)  # fmt: skip
