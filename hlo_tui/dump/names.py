"""The grammar of dumped files' names: a relative path in; what the file is, and of which module, out.

Nothing is read here. A name is parsed from its right end with the known endings, because module names may
hold dots and everything else that the endings hold.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from hlo_tui.dump.points import MAX_DIGITS, Point
from hlo_tui.dump.suffixes import Role, split_suffix

_HEAD = re.compile(rf"(?:^|\.)module_([0-9]{{4,{MAX_DIGITS}}})(?=\.)")
_FOLDER = re.compile(
    rf"^(?:([0-9]{{1,{MAX_DIGITS}}})\.)?module_([0-9]{{4,{MAX_DIGITS}}})(?:\.(.+))?$", re.DOTALL
)
_CHANGELIST = re.compile(rf"\.cl_([0-9]{{1,{MAX_DIGITS}}})$")
_NOT_NAME = re.compile(rb"[^A-Za-z0-9_.\-]")

_FOLDER_FILES = {"module": "stablehlo", "compile_options": "compile-options", "topology": "topology"}
_SHARDY = re.compile(r"^(?:([0-9]{1,6})\.)?([^.]+)\.mlir$")

# Names without a module number, from XLA and the frameworks.
_SNAPSHOT = re.compile(rf"^module_(.+)\.execution_([0-9]{{4,{MAX_DIGITS}}})\.hlo_snapshot\.pb$", re.DOTALL)
_JAX_IR = re.compile(
    r"^jax_ir[0-9]{4,}_(.*)_(compile|export|verification|before_refine_polymorphic_shapes)\.mlir$", re.DOTALL
)
_JAXPR = re.compile(r"^jax_[0-9]{6,}_(.*)\.(jaxpr\.txt|jaxpr\.html|eqn_count_pprof)$", re.DOTALL)
_JAXPR_KINDS = {"jaxpr.txt": "jaxpr", "jaxpr.html": "jaxpr-html", "eqn_count_pprof": "equation-counts"}
_FREE = (
    (re.compile(r"^jax_ir[0-9]{4,}_.*\.mlir$"), "jax-stablehlo"),
    (re.compile(r"^gpu_command_buffer_.*\.dot$"), "command-buffer"),
    (re.compile(r"mosaic_dump|mosaic-dump|^mosaic_tpu"), "mosaic-tpu"),
    (re.compile(r"_[0-9]+\.(?:mlir-passes\.log|ptx|ptxas|sass|sass_ctrl|ll)$"), "mosaic-gpu"),
    (re.compile(r"^(?=.*\.txt$)[0-9]+-.*?-[0-9]+-[A-Za-z]"), "tpu-llo"),
    # Profiles hold modules as `.hlo_proto.pb`; the rest are copies with the numbers taken off.
    (re.compile(r"\.(?:hlo|hlo\.txt|hlo\.pb|hlo\.pb\.gz|hlo_module\.pb|hlo_proto\.pb)$"), "hlo"),
    (re.compile(r"\.(?:before|[^.]*after)_optimizations\.txt$"), "hlo"),
    (re.compile(r"\.mlir$"), "mlir"),
    (re.compile(r"\.pbtxt$"), "tensorflow-graph"),
    (re.compile(r"(?:\.log|\.out|\.err)$"), "log"),
)
_SCHEDULE = re.compile(r"^(.+)\.schedule\.(?:txt|pb)$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class FileName:
    """What a name says about its file.

    Attributes:
        role: where the file belongs.
        kind: which of the files there; for a stage the kind of its dump point.
        group: the directory whose module numbers count together, relative to the root; "" for the root
            itself.
        id: the module's number, None where the name has none.
        module: the module's name as it is written, "" where it was dropped.
        form: for stages and executions, the form of the contents: "txt", "hlo.pb", "dot", ...
        point: the dump point of a stage, and of what is written beside one.
        execution: the number of the run, for executions (runs of newer versions count down from a negative
            one).
        timestamp: microseconds since 1970 at which the module was first dumped, where the name has them.
        tag: what stands before `module_` and is no timestamp (a computation's name, a writer's name).
        changelist: the number behind `.cl_`, where the compiler's build wrote it.
        rest: for a file about one function of the module: module name and function name together, as only the
            module's other files tell where the border is; `module` then holds the likely one.
        folder: whether the file lies in a folder of the module's own.
    """

    role: Role
    kind: str
    group: str = ""
    id: int | None = None
    module: str = ""
    form: str = ""
    point: Point | None = None
    execution: int | None = None
    timestamp: int | None = None
    tag: str = ""
    changelist: int | None = None
    rest: str = ""
    folder: bool = False


@dataclass(frozen=True, slots=True)
class Folder:
    """A directory of the dump, read once for all its files.

    Attributes:
        group: as in `FileName`.
        id, module, timestamp: of the module whose own folder this is; `id` is None for other directories.
        shardy: whether it holds Shardy's stages.
    """

    group: str
    id: int | None = None
    module: str = ""
    timestamp: int | None = None
    shardy: bool = False


@lru_cache(maxsize=4096)
def canonical(name: str) -> str:
    """Give a module's name as XLA spells it in HLO: every byte that no identifier may hold is an underscore.

    Folders of newer versions keep the name as the program gave it; files never do.
    """
    if name.isascii() and name.replace("_", "").replace(".", "").replace("-", "").isalnum():
        return name
    return _NOT_NAME.sub(b"_", name.encode("utf-8", "surrogatepass")).decode("ascii")


def read_folder(directory: str) -> Folder:
    """Read the path of a directory, relative to the root with "/" between components, "" for the root."""
    components = directory.split("/") if directory else []
    for index in range(len(components) - 1, -1, -1):
        shardy = index > 0 and components[index - 1] == "shardy"
        found = _FOLDER.match(components[index])
        if found is not None:
            stamp, number, name = found.groups()
            group = "/".join(components[: index - 1 if shardy else index])
            return Folder(group, int(number), name or "", int(stamp) if stamp else None, shardy)
    if components and "shardy" in components:
        return Folder("/".join(components[: components.index("shardy")]), shardy=True)
    return Folder(directory)


def _in_folder(name: str, folder: Folder) -> FileName:
    shardy = _SHARDY.match(name) if folder.shardy else None
    stem, _, extension = name.partition(".")
    if shardy is not None:
        kind = "shardy"
    elif stem in _FOLDER_FILES and extension:
        kind = _FOLDER_FILES[stem]
    else:
        return FileName(Role.UNRECOGNISED, "unrecognised", folder.group)
    role = Role.FREE if folder.id is None else Role.SIDE
    return FileName(
        role, kind, folder.group, folder.id, folder.module, timestamp=folder.timestamp, folder=True
    )


def _free(name: str, group: str) -> FileName:
    snapshot = _SNAPSHOT.match(name)
    if snapshot is not None:
        module, number = snapshot.group(1), int(snapshot.group(2))
        return FileName(Role.EXECUTION, "snapshot", group, None, module, "pb", execution=number)
    found = _JAX_IR.match(name)
    if found is not None:
        return FileName(Role.FREE, "jax-stablehlo", group, module=found.group(1), tag=found.group(2))
    found = _JAXPR.match(name)
    if found is not None:
        return FileName(Role.FREE, _JAXPR_KINDS[found.group(2)], group, module=found.group(1))
    found = _SCHEDULE.match(name)
    if found is not None:
        return FileName(Role.FREE, "schedule", group, module=found.group(1))
    for pattern, kind in _FREE:
        if pattern.search(name):
            return FileName(Role.FREE, kind, group)
    return FileName(Role.UNRECOGNISED, "unrecognised", group)


def parse_name(name: str, folder: Folder) -> FileName:
    """Read one file's name.

    Args:
        name: the last component of its path. Any string will do.
        folder: the directory it lies in, from `read_folder`.
    """
    if folder.id is not None or folder.shardy:
        return _in_folder(name, folder)
    head = _HEAD.search(name)
    # XLA ends no name like this: somebody cut it off behind the number.
    if head is None or name[head.end() :] == ".hlo":
        return _free(name, folder.group)
    suffix = split_suffix(name[head.end() :])
    timestamp, tag = None, ""
    if head.start():
        tag = name[: head.start()]
        if tag.isascii() and tag.isdigit() and len(tag) <= MAX_DIGITS:
            timestamp, tag = int(tag), ""
    left, rest, changelist = suffix.left, "", None
    if suffix.loose:
        rest, left = left[1:], left[: suffix.at]
    if ".cl_" in left:
        found = _CHANGELIST.search(left)
        if found is not None:
            left, changelist = left[: found.start()], int(found.group(1))
    return FileName(
        suffix.role,
        suffix.kind,
        folder.group,
        int(head.group(1)),
        left[1:],
        suffix.form,
        suffix.point,
        suffix.execution,
        timestamp,
        tag,
        changelist,
        rest,
    )


def parse_path(path: str) -> FileName:
    """Read a path relative to the root of the dump, with "/" between components."""
    directory, _, name = path.rpartition("/")
    return parse_name(name, read_folder(directory))
