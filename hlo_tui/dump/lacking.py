"""What a dump that is not empty may lack, and why: modules, passes, machine code, recorded runs."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from hlo_tui.dump import doctor
from hlo_tui.dump.findings import FOUND, NOT_SO, POSSIBLE, UNASKED, Case, Finding
from hlo_tui.dump.modules import Module
from hlo_tui.dump.words import count_text
from hlo_tui.hlo.visible import visible

_HEAD = 4096


def limit(case: Case) -> Iterator[Finding]:
    """A limit on how many modules are written."""
    limit = case.option("xla_dump_max_hlo_modules")
    if limit and not limit.startswith("-"):
        yield Finding(
            "module-limit", FOUND,
            f"XLA was told --xla_dump_max_hlo_modules={visible(limit)}: later modules are not written, and later "
            "stages of those that were begun neither", "take --xla_dump_max_hlo_modules out of XLA_FLAGS",
        )  # fmt: skip
    else:
        yield _by_options(case, "module-limit", "the number of modules is not limited")


def pattern(case: Case) -> Iterator[Finding]:
    """A pattern for their names."""
    pattern = case.option("xla_dump_hlo_module_re") or _given(case.environ, "xla_dump_hlo_module_re")
    if pattern:
        yield Finding(
            "module-pattern", FOUND, f"only modules whose name matches {visible(pattern)!r} are written",
            "take --xla_dump_hlo_module_re out of XLA_FLAGS, or give it another pattern",
        )  # fmt: skip
    else:
        yield _by_options(case, "module-pattern", "modules of every name are written")


def _by_options(case: Case, cause: str, words: str) -> Finding:
    """What holds where XLA was told nothing else, and can be seen only where it wrote what it was told."""
    if case.options:
        return Finding(cause, NOT_SO, words)
    return Finding(
        cause, POSSIBLE, f"what XLA was told is not written here: whether {words} is not known", ""
    )


def _given(environ: Mapping[str, str], name: str) -> str:
    found = [part for part in environ.get("XLA_FLAGS", "").split() if part.startswith(f"--{name}=")]
    return found[-1].partition("=")[2].strip("\"'") if found else ""


def passes(case: Case) -> Iterator[Finding]:
    """The passes of the compiler."""
    if case.kinds & {"pass", "within"}:
        yield Finding("passes", NOT_SO, "compiler passes are there")
    elif case.modules and not case.option("xla_dump_hlo_pass_re"):
        yield Finding(
            "passes", UNASKED, "no compiler passes: they are written only when asked for",
            case.flags("--xla_dump_hlo_pass_re=.*"),
        )  # fmt: skip
    elif case.modules:
        pattern = visible(case.option("xla_dump_hlo_pass_re"))
        yield Finding(
            "passes",
            FOUND,
            f"no pass whose name matches {pattern!r} changed anything",
            "use .* as the pattern",
        )


def code(case: Case) -> Iterator[Finding]:
    """What the compiler made for the machine."""
    if case.side("llvm-ir", "ptx", "device-code"):
        yield Finding("machine-code", NOT_SO, "LLVM IR or PTX is there")
    elif case.modules:
        yield Finding(
            "machine-code", UNASKED,
            "no LLVM IR and no PTX: newer XLA writes them only with --xla_dump_emitter_re (which ends CPU jobs of "
            "jaxlib 0.10 and 0.12 by a fault of XLA's)", case.flags("--xla_dump_emitter_re=llvm|ptx"),
        )  # fmt: skip


def snapshots(case: Case) -> Iterator[Finding]:
    """The inputs and results of runs."""
    runs = sum(len(module.executions) for module in case.modules)
    asked = case.option("xla_dump_hlo_snapshots") == "true"
    targets = {stage.point.target or "" for module in case.modules for stage in module.stages}
    spread = [m.name for m in case.modules if asked and not m.executions and _partitions(case.root, m)]
    if asked and not runs and any(target.startswith(("sm_", "gfx")) for target in targets):
        yield Finding(
            "snapshots", FOUND, "no snapshot though asked for: XLA's GPU backend writes none since early 2025",
            case.flags("--xla_dump_hlo_unoptimized_snapshots"),
        )  # fmt: skip
    elif spread:
        yield Finding(
            "snapshots", FOUND, f"no snapshot of what runs on several devices ({doctor.named(spread)})",
            "hlo_tui.capture(f, *args, dir=DIR) in the program records them",
        )  # fmt: skip
    elif runs:
        yield Finding("snapshots", NOT_SO, f"{count_text(runs, 'run')} recorded")
    elif case.modules:
        yield Finding(
            "snapshots", UNASKED, "no recorded inputs: a replay makes up its own",
            case.flags("--xla_dump_hlo_snapshots"),
        )  # fmt: skip


def _partitions(root: str, module: Module) -> bool:
    """Whether a module's text says that it is for several devices."""
    for stage in module.stages:
        if stage.main.name.form == "txt":
            try:
                with open(os.path.join(root, stage.main.path), "rb") as file:
                    head = file.readline(_HEAD)
            except OSError:
                return False
            return b"num_partitions=" in head or b"replica_count=" in head
    return False


def mixed(case: Case) -> Iterator[Finding]:
    """Several programs in one directory."""
    again = [module.name for module in case.modules if module.key.run is not None]
    if again:
        yield Finding(
            "several-programs", FOUND,
            f"several programs wrote here ({doctor.named(again)}): the numbers of modules are each process's own, and "
            "files of the same name were overwritten", "a directory for each run and each process",
        )  # fmt: skip
    elif case.modules:
        yield Finding("several-programs", NOT_SO, "no two programs are seen to have written here")
