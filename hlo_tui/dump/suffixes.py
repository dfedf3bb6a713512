"""The right end of a dumped file's name: which file about its module it is, and where the name ends."""

from __future__ import annotations

import re
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from hlo_tui.dump.points import MAX_DIGITS, Point, split_point


class Role(StrEnum):
    """Where a file belongs."""

    STAGE = "stage"  # the module at one dump point
    EXECUTION = "execution"  # the module with the values of one run
    SIDE = "side"  # something else about one module
    FREE = "free"  # of no module, but from XLA or a framework
    UNRECOGNISED = "unrecognised"


class Suffix(NamedTuple):
    """What the right end of a name says.

    Attributes:
        role, kind, form, point, execution: as in `FileName`.
        left: what stands before it, with its leading dot: `.MODNAME[.cl_N]`, or empty.
        loose: whether the name of a function may stand between the module's name and this end, so that `left`
            holds both.
        at: for loose names, the offset in `left` where the function's name probably starts (at its dot).
    """

    role: Role
    kind: str
    left: str
    form: str = ""
    point: Point | None = None
    execution: int | None = None
    loose: bool = False
    at: int = 0


# Forms in which a module itself is written at a dump point, longest first.
_FORMS = ("hlo.pb.gz", "hlo.pb", "top_level.html", "html", "dot", "url", "riegeli", "txt")
_FORM = re.compile(rf"\.({'|'.join(re.escape(form) for form in _FORMS)})$")

# What is written beside a dump point, under its name.
_BESIDE = re.compile(
    r"(-buffer-assignment-values|-buffer-assignment|-memory-usage-report|-live-range|\.fdo_profile)"
    r"((?:\.(?:txt|pb|pb\.gz))?)$"
)

# Files about a whole module: the last one or two components of the name.
_WHOLE = {
    "debug_options": "debug-options",
    "config.pbtxt": "hlo-config",
    "hlo_module_config.txt": "hlo-config",
    "hlo_module_config.pb": "hlo-config",
    "metadata.textproto": "metadata",
    "thunk_sequence.txt": "thunk-sequence",
    "thunk_sequence_after_thunk_passes.txt": "thunk-sequence",
    "thunk_schedule": "thunk-sequence",
    "thunk_metadata.txt": "thunk-metadata",
    "thunk_metadata.pb": "thunk-metadata",
    "gpu_target_config.pbtxt": "gpu-target-config",
    "autotune_results.pbtxt": "autotune-results",
    "autotune_results.textproto": "autotune-results",
    "priority_fusion_dump.txt": "fusion-decisions",
    "priority_fusion_dump.pb": "fusion-decisions",
    "gpu_executable_proto": "gpu-executable",
    "gpu_executable_proto.txt": "gpu-executable",
    "gpu_executable_proto.pb": "gpu-executable",
    "execution_options.txt": "execution-options",
    "execution_options.pb": "execution-options",
    "flagfile": "flagfile",
    "target_arguments.txt": "target-arguments",
    "target_arguments.pb": "target-arguments",
    "tpu_comp_env.txt": "tpu-comp-env",
    "tpu_comp_env.pb": "tpu-comp-env",
    "transfer_stats.txt": "transfer-stats",
    "schedule.txt": "schedule",
    "schedule.pb": "schedule",
    "_fusion.pyz": "fusion-explorer",
    "_fusion.html": "fusion-explorer",
    "msl": "device-code",
    "hsaco": "device-code",
    "cubin": "device-code",
}

_SNAPSHOT = re.compile(rf"\.snapshot\.(-?[0-9]{{1,{MAX_DIGITS}}})\.pb$")
_EXECUTION = re.compile(
    rf"\.execution_([0-9]{{4,{MAX_DIGITS}}})(?:\.hlo_snapshot\.(pb)|\.hlo_unoptimized_snapshot\.(txt|pb)|\.(?:txt|pb))$"
)

# Files about one function of the module, with a mark where the function's part starts. By extension: mark,
# kind, and whether a number follows the mark.
_MARKED = {
    "o": ((".obj-file.", "object-file", False),),
    "json": ((".cudnn_fusion_", "cudnn-graph", False),),
    "txt": (
        (".autotuner_", "autotuned-instruction", True),
        (".triton_fusion_", "autotuned-instruction", True),
        (".gemm_fusion_", "autotuned-instruction", True),
    ),
    "hlo": ((".triton_fusion_numerics_verifier_failed_", "fusion-hlo", False),),
    "mlir": ((".pass_", "mlir-pass", True),),
}

# Files about one function of the module, where only the dots say where its name starts.
_LOOSE = (
    (re.compile(r"(?:\.[0-9]+)?\.ir-(?:no|with)-opt(?:-noconst)?\.ll$|\.ll$"), "llvm-ir"),
    (re.compile(r"(?:\.[0-9]+)?\.ptx$"), "ptx"),
    (re.compile(r"-(?:pre|post)-[a-z]+\.mlir$"), "kernel-mlir"),
    (re.compile(r"\.mlir-passes\.log$"), "mlir-passes"),
    (re.compile(r"(?:\.before_validation)?\.ttir\.txt$"), "triton-ir"),
    (re.compile(r"\.mlir$"), "mlir"),
    (re.compile(r"\.hlo$"), "fusion-hlo"),
)
_KERNEL_TAIL = re.compile(r"\.[0-9]+(?:_kernel_module)?$")


def _function_start(left: str) -> int:
    """Where the function's name probably starts in `left`: its last component, or the compiler's mark."""
    marked = left.find(".__compute_module")
    if marked >= 0:
        return marked
    tail = _KERNEL_TAIL.search(left)
    start = left.rfind(".", 0, tail.start() if tail else len(left))
    # A module whose only component this is keeps it: something must be the module's name.
    return start if start > 0 else len(left)


def _loose(dotted: str) -> Suffix:
    for pattern, kind in _LOOSE:
        found = pattern.search(dotted)
        if found is not None:
            left = dotted[: found.start()]
            whole = kind in ("llvm-ir", "ptx", "mlir") and not left.endswith("_kernel_module")
            at = len(left) if whole and ".__compute_module" not in left else _function_start(left)
            return Suffix(Role.SIDE, kind, left, loose=True, at=at)
    left = dotted[: dotted.rfind(".")] or dotted
    return Suffix(Role.SIDE, "other", left, loose=True, at=_function_start(left))


def _run(dotted: str) -> Suffix | None:
    found = _SNAPSHOT.search(dotted)
    if found is not None:
        return Suffix(
            Role.EXECUTION, "snapshot", dotted[: found.start()], "pb", execution=int(found.group(1))
        )
    found = _EXECUTION.search(dotted)
    if found is None:
        return None
    left, number = dotted[: found.start()], int(found.group(1))
    if found.group(2):
        return Suffix(Role.EXECUTION, "snapshot", left, "pb", execution=number)
    if found.group(3):
        return Suffix(Role.EXECUTION, "unoptimized-snapshot", left, found.group(3), execution=number)
    return Suffix(Role.SIDE, "buffer-debug-log", left, execution=number)


def _whole(dotted: str) -> Suffix | None:
    last = dotted.rfind(".")
    before = dotted.rfind(".", 0, last)
    if before >= 0:
        kind = _WHOLE.get(dotted[before + 1 :])
        if kind is not None:
            return Suffix(Role.SIDE, kind, dotted[:before])
    kind = _WHOLE.get(dotted[last + 1 :])
    return None if kind is None else Suffix(Role.SIDE, kind, dotted[:last])


def _marked(dotted: str) -> Suffix | None:
    for mark, kind, numbered in _MARKED.get(dotted[dotted.rfind(".") + 1 :], ()):
        start = dotted.rfind(mark)
        if start >= 0 and (not numbered or dotted[start + len(mark) :].partition(".")[0].isdigit()):
            return Suffix(Role.SIDE, kind, dotted[:start])
    return None


# Many modules of a dump have one name, so that most ends come again and again.
@lru_cache(maxsize=4096)
def split_suffix(dotted: str) -> Suffix:
    """Read the right end of a module file's name.

    Args:
        dotted: what follows `module_NNNN` in the name, with its leading dot: `.MODNAME.SUFFIX`.

    Returns:
        What the file is. An end that is not known is a side file of kind "other".
    """
    known = _whole(dotted)
    if known is not None:
        return known
    beside = _BESIDE.search(dotted)
    if beside is not None:
        split = split_point(dotted[: beside.start()])
        if split is not None:
            return Suffix(Role.SIDE, beside.group(1)[1:].replace("_", "-"), split[0], point=split[1])
    marked = _marked(dotted)
    if marked is not None:
        return marked
    form = _FORM.search(dotted)
    if form is not None:
        split = split_point(dotted[: form.start()])
        if split is not None:
            return Suffix(Role.STAGE, split[1].kind, split[0], form.group(1), split[1])
    return _run(dotted) or _loose(dotted)
