"""What a dump holds, at one moment: as one JSON document, and as a table for people."""

from __future__ import annotations

import os
import stat
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.doctor import dump_command
from hlo_tui.dump.edges import Edges
from hlo_tui.dump.files import Changes, File, new_file, scan, stamp_of
from hlo_tui.dump.logs import read_log
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.dump.settle import judge
from hlo_tui.dump.words import age_text, count_text, size_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible

# A module is small when it is small beside the largest one, and small in itself. Bytes of one stage.
_SMALL = 4096
_SMALL_SHARE = 8
# Below this many there is nothing to win by folding.
_FEW = 4
# How modules can stand, and what that is called.
ORDERS = {
    "first": "tagged ones first, then your own, then the biggest", "newest": "the newest first",
    "recompiled": "the most recompiled first", "name": "by name",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Listing:
    """A dump as it was when somebody asked.

    Attributes:
        root: the directory, or the file, as it was given.
        catalog: everything in it.
        unread: directories that could not be read, each with the reason in words.
        log: whether the root is a log, so that the files are spans of it.
    """

    root: str
    catalog: Catalog
    unread: dict[str, str]
    log: bool = False


@dataclass(frozen=True, slots=True)
class Group:
    """The modules of one name, the newest first."""

    name: str
    modules: tuple[Module, ...]

    @property
    def weight(self) -> int:
        """Bytes of the largest stage of any of them."""
        return max(module.weight for module in self.modules)

    @property
    def mtime_ns(self) -> int:
        """Time of the last change, nanoseconds since 1970."""
        return max(module.mtime_ns for module in self.modules)


def check_path(path: str) -> os.stat_result:
    """Look whether there is something to list at `path`.

    Raises:
        HloTuiError: there is nothing, it may not be looked at, or it is neither a directory nor a file.
    """
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            os.scandir(path).close()
            return status
        if stat.S_ISREG(status.st_mode):
            return status
    except FileNotFoundError:
        hint = f"XLA makes it with the first module of a job that starts with: {visible(dump_command(path))}"
        raise HloTuiError("No such file or directory", visible(path), hint) from None
    except PermissionError:
        raise HloTuiError("Permission denied", visible(path), "Who ran the job owns its dump.") from None
    except (OSError, ValueError) as error:
        raise HloTuiError("Cannot be looked at", f"{visible(path)}: {error}") from None
    raise HloTuiError("Neither a directory nor a file", visible(path), "Give the directory of --xla_dump_to.")


def load(path: str | os.PathLike[str], now_ns: int | None = None) -> Listing:
    """Look at a dump once.

    Args:
        path: the directory of a dump, a log that holds dumps between their marks, or one file.
        now_ns: the time, nanoseconds since 1970; the clock's where it is not given.

    Raises:
        HloTuiError: there is nothing to look at.
    """
    root = os.fspath(path)
    status = check_path(root)
    now_ns = time.time_ns() if now_ns is None else now_ns
    if stat.S_ISDIR(status.st_mode):
        edges = Edges(root)
        found = scan(root)
        catalog = Catalog(edges.module_name)
        catalog.apply(Changes(tuple(judge(found.files.values(), now_ns, edges.is_whole))))
        return Listing(root, catalog, found.unread)
    blocks = read_log(root)
    edges = Edges(root if blocks else os.path.dirname(root))
    catalog = Catalog(edges.module_name)
    one = new_file(os.path.basename(root), stamp_of(status), None)
    catalog.apply(Changes(tuple(blocks or judge([one], now_ns, edges.is_whole))))
    return Listing(root, catalog, {}, bool(blocks))


def arrange(modules: Iterable[Module]) -> tuple[list[Group], list[Module]]:
    """Order modules for reading.

    Returns:
        Groups of one name each, those with the largest modules first, among equals the newest; and the small
        modules (helpers that a framework compiles by the dozen), those of one name together.
    """
    modules = list(modules)
    limit = min(_SMALL, max((module.weight for module in modules), default=0) // _SMALL_SHARE)
    by_name: dict[tuple[str, str], list[Module]] = defaultdict(list)
    for module in modules:
        # Without a name there is nothing that makes two modules recompilations of one another.
        by_name[module.name, "" if module.name else str(module.key)].append(module)
    groups: list[Group] = []
    helpers: list[Group] = []
    for (name, _), same in by_name.items():
        same.sort(key=lambda module: (-module.mtime_ns, -(module.id or 0)))
        group = Group(name, tuple(same))
        recorded = any(module.executions and not module.stages for module in same)
        (helpers if group.weight < limit and not recorded else groups).append(group)
    small = [module for group in helpers for module in group.modules]
    if len(small) < _FEW:
        groups += helpers
        small = []
    groups.sort(key=lambda group: (-group.weight, -group.mtime_ns, group.name))
    return groups, small


def ordered(groups: Iterable[Group], order: str) -> list[Group]:
    """Groups in one of the `ORDERS`; equal ones, and for "first" all, stay as they are."""
    if order == "newest":
        return sorted(groups, key=lambda group: -group.mtime_ns)
    if order == "recompiled":
        return sorted(groups, key=lambda group: -len(group.modules))
    return sorted(groups, key=lambda group: group.name) if order == "name" else list(groups)


def _file_json(file: File, **more: Any) -> dict[str, Any]:
    record = {**more, "path": file.path, "bytes": file.size}
    if file.span is not None:
        record["offset"] = file.span[0]
    return record


def _stage_json(stage: Stage) -> dict[str, Any]:
    point, main = stage.point, stage.main
    return {
        "label": point.label,
        "kind": point.kind,
        "step": point.step,
        "pipeline": point.pipeline,
        "after": point.after,
        "before": point.before,
        "during": point.during,
        "target": point.target,
        "form": main.name.form,
        **_file_json(main),
        "complete": main.complete,
        "also": [_file_json(file, form=file.name.form) for file in stage.files[1:]],
    }


def _module_json(module: Module) -> dict[str, Any]:
    return {
        "id": module.id,
        "name": module.name,
        "group": module.key.group,
        "process": module.process,
        "timestamp": module.timestamp,
        "modified": module.mtime_ns / 1e9,
        "files": module.count,
        "bytes": module.size,
        "stages": [_stage_json(stage) for stage in module.stages],
        "executions": [
            _file_json(file, kind=file.name.kind, number=file.name.execution, complete=file.complete)
            for file in module.executions
        ],
        "other": [_file_json(file, kind=file.name.kind) for file in module.others],
    }


def to_json(listing: Listing) -> dict[str, Any]:
    """The listing as one document; every file is in it once, its path relative to the root."""
    catalog = listing.catalog
    return {
        "root": listing.root,
        "log": listing.log,
        "modules": [_module_json(module) for module in catalog.modules],
        "other": [_file_json(file, kind=file.name.kind) for file in catalog.other],
        "unrecognised": [file.path for file in catalog.unrecognised],
        "unread": sorted(listing.unread),
    }


def stages_text(modules: Iterable[Module]) -> str:
    """Which stages modules of one name have, in one line: "before, 32 passes, cpu after"."""
    before, passes = False, 0
    names: dict[str, None] = {}
    for module in modules:
        for stage in module.stages:
            point = stage.point
            before = before or point.kind == "before"
            if point.kind == "between":
                names[point.label] = None
            elif point.kind == "after":
                names[f"{point.target} after" if point.target else point.label] = None
        passes = max(passes, sum(stage.point.step is not None for stage in module.stages))
    parts = ["before"] if before else []
    if passes:
        parts.append(count_text(passes, "pass", "passes"))
    return ", ".join([*parts, *names])


def short_name(name: str, width: int = 48) -> str:
    """A module's name for one cell: safe for a terminal, with its middle left out where it is too long."""
    name = visible(name) or "(no name)"
    if len(name) <= width:
        return name
    tail = width // 3
    return f"{name[: width - tail - 1]}…{name[-tail:]}"


def _numbers(modules: tuple[Module, ...]) -> str:
    ids = [f"#{module.id}" for module in modules if module.id is not None]
    return " ".join(ids) if len(ids) <= 3 else f"{ids[0]} and {len(ids) - 1} more"


_HEADINGS = ("module", "number", "stages", "runs", "size", "changed")


def _row(group: Group, now_ns: int) -> tuple[str, ...]:
    runs = sum(len(module.executions) for module in group.modules)
    times = f" ×{len(group.modules)}" if len(group.modules) > 1 else ""
    return (
        short_name(group.name) + times,
        _numbers(group.modules),
        stages_text(group.modules) or "no stage",
        count_text(runs, "run") if runs else "",
        size_text(sum(module.size for module in group.modules)),
        age_text((now_ns - group.mtime_ns) / 1e9),
    )


def _table(rows: list[tuple[str, ...]], right: frozenset[int]) -> list[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))] if rows else []
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return lines


def _counted(names: Iterable[str]) -> str:
    counts = Counter(short_name(name) for name in names)
    return ", ".join(f"{name} ×{count}" if count > 1 else name for name, count in counts.most_common())


def to_text(
    listing: Listing, now_ns: int | None = None, *, everything: bool = False, order: str = "first"
) -> str:
    """The listing for people, lines without colour, safe for a terminal.

    Args:
        listing: what `load` gave.
        now_ns: the time that ages count from, nanoseconds since 1970; the clock's where it is not given.
        everything: give small modules a row each too.
        order: one of the `ORDERS`; tags are not looked for here, so that "first" is the biggest.
    """
    now_ns = time.time_ns() if now_ns is None else now_ns
    catalog = listing.catalog
    modules = catalog.modules
    total = size_text(sum(file.size for file in catalog.files.values()))
    head = [count_text(len(catalog.files), "file"), count_text(len(modules), "module"), total]
    lines = ["   ".join([visible(listing.root), *head])]
    groups, small = arrange(modules)
    groups = ordered(groups, order)
    if everything:
        groups += [Group(module.name, (module,)) for module in small]
        small = []
    if groups:
        rows = [_HEADINGS, *(_row(group, now_ns) for group in groups)]
        lines += ["", *_table(rows, frozenset({4, 5}))]
    for words, staged in (("small modules", True), ("modules without a stage", False)):
        some = [module.name for module in small if bool(module.stages) is staged]
        if some:
            lines += ["", f"{len(some)} {words}: {_counted(some)}"]
    if catalog.other:
        lines += ["", f"of no module: {_counted(file.name.kind for file in catalog.other)}"]
    unknown = catalog.unrecognised
    if unknown:
        names = ", ".join(visible(file.path) for file in unknown[:5])
        more = f", and {len(unknown) - 5} more" if len(unknown) > 5 else ""
        lines += ["", f"not recognised: {names}{more}"]
    lines += [f"left out: {visible(path) or 'the directory'} ({why})" for path, why in listing.unread.items()]
    return "\n".join(lines)
