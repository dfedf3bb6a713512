"""Which files are about which module: the modules of a dump, put together from the names of their files.

Everything here is a function of the set of files, so that the order in which they appeared leaves no trace.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from hlo_tui.dump.files import File
from hlo_tui.dump.names import canonical
from hlo_tui.dump.points import Point
from hlo_tui.dump.suffixes import Role

# The form to read first, where a stage was written in several.
_PREFERENCE = ("txt", "hlo.pb", "hlo.pb.gz", "riegeli", "html", "top_level.html", "dot", "url")


class ModuleKey(NamedTuple):
    """What stays the same for a module while its files come and go.

    Attributes:
        group: the directory whose numbers count together.
        id: the module's number, None where the names have none.
        name: the module's name in HLO's spelling, "" where the files do not say it.
        run: None for the first program that wrote this number and name, the timestamp for later ones.
    """

    group: str
    id: int | None
    name: str
    run: int | None = None


@dataclass(frozen=True, slots=True)
class Stage:
    """The module at one dump point, in one or several forms; the form to read first is the first file."""

    point: Point
    files: tuple[File, ...]

    @property
    def label(self) -> str:
        """The point's label: unique in the module, and the same for as long as the stage is there."""
        return self.point.label

    @property
    def main(self) -> File:
        """The file to read."""
        return self.files[0]


@dataclass(frozen=True, slots=True)
class Module:
    """One compiled module and all its files.

    Attributes:
        key: what it is found by again.
        name: its name as the files spell it; "" where neither they nor the text said it.
        stages: in the order of the compilation.
        executions: recorded runs, oldest first.
        others: everything else about it, by kind and path.
        count: how many files there are.
        size: bytes of all of them.
        mtime_ns: time of the last change among them, nanoseconds since 1970.
        timestamp: microseconds since 1970 at which it was first dumped, where the names have them.
        process: host and process that wrote it, where the directories say it ("vm_16203").
    """

    key: ModuleKey
    name: str
    stages: tuple[Stage, ...]
    executions: tuple[File, ...]
    others: tuple[File, ...]
    count: int
    size: int
    mtime_ns: int
    timestamp: int | None = None
    process: str = ""

    @property
    def id(self) -> int | None:
        """The module's number in its process."""
        return self.key.id

    @property
    def weight(self) -> int:
        """Bytes of its largest stage: how big the module is, whatever was written beside it."""
        return max((stage.main.size for stage in self.stages), default=0)

    def stage(self, label: str) -> Stage | None:
        """The stage with this label, or None."""
        return next((stage for stage in self.stages if stage.label == label), None)

    def function_of(self, file: File) -> str:
        """The function that a side file is about; "" where it is about the whole module."""
        rest = file.name.rest
        return rest[len(self.name) + 1 :] if rest.startswith(self.name) else rest


@lru_cache(maxsize=4096)
def process_group(group: str) -> tuple[str, str, str] | None:
    """Read a group as `BASE/MODULE/HOST_PID`: (base, module, process), None where it has no such form."""
    parts = group.rsplit("/", 2)
    if len(parts) < 2:
        return None
    host, _, pid = parts[-1].rpartition("_")
    if not host or not pid.isdigit():
        return None
    return ("/".join(parts[:-2]), canonical(parts[-2]), parts[-1])


def family(file: File) -> tuple[str, int | None, str]:
    """What all files of one module have in common, and few others have: what is put together anew."""
    name = file.name
    process = process_group(name.group)
    base = name.group if process is None else process[0]
    return base, name.id, "" if name.id is not None else canonical(name.module)


def _owner(rest: str, named: dict[str, str]) -> str | None:
    """The longest of the names (by canonical form) that `rest` starts with, up to a dot or the end."""
    end = len(rest)
    while end > 0:
        key = canonical(rest[:end])
        if key in named:
            return key
        end = rest.rfind(".", 0, end)
    return None


def _buckets(files: Iterable[File]) -> tuple[dict[tuple[str, str], list[File]], dict[str, dict[str, str]]]:
    """Files by group and canonical name, and per group how the files spell each name."""
    loose = []
    buckets: dict[tuple[str, str], list[File]] = defaultdict(list)
    spelled: dict[str, dict[str, str]] = defaultdict(dict)
    folders: dict[str, dict[str, str]] = defaultdict(dict)
    for file in files:
        name = file.name
        if name.rest:
            loose.append(file)
            continue
        key = canonical(name.module)
        buckets[name.group, key].append(file)
        if key:
            names = folders[name.group] if name.folder else spelled[name.group]
            names[key] = min(name.module, names.get(key, name.module))
    for group, names in folders.items():
        spelled[group] = names | spelled[group]
    likely: dict[str, dict[str, str]] = defaultdict(dict)
    for file in loose:
        name = file.name
        key = _owner(name.rest, spelled[name.group]) or canonical(name.module)
        buckets[name.group, key].append(file)
        likely[name.group][key] = min(name.module, likely[name.group].get(key, name.module))
    for group, names in likely.items():
        spelled[group] = names | spelled[group]
    return buckets, spelled


def _join(buckets: dict[tuple[str, str], list[File]]) -> None:
    """Give files without a name, and folders away from their files, to the one module they can be of."""
    named: dict[str, list[str]] = defaultdict(list)
    homes: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for group, key in buckets:
        if key:
            named[group].append(key)
        process = process_group(group)
        if process is not None and process[1] == key:
            homes[process[:2]].append((group, key))
    for group, key in [bucket for bucket in buckets if not bucket[1]]:
        if len(named[group]) == 1:
            buckets[group, named[group][0]].extend(buckets.pop((group, key)))
    for bucket in sorted(buckets):
        home = homes[bucket]
        if len(home) == 1 and home[0] in buckets and all(file.name.folder for file in buckets[bucket]):
            buckets[home[0]].extend(buckets.pop(bucket))


def _runs(files: list[File]) -> list[tuple[int | None, list[File]]]:
    """Tell programs apart that wrote the same number and name one after the other, by their timestamps.

    What has no timestamp was overwritten by each program, so it is the last one's.
    """
    stamps = {file.name.timestamp for file in files if file.name.role is Role.STAGE}
    if len(stamps) < 2:
        return [(next(iter(stamps), None), files)]
    default = None if None in stamps else max(stamp for stamp in stamps if stamp is not None)
    runs: dict[int | None, list[File]] = {stamp: [] for stamp in stamps}
    for file in files:
        stamp = file.name.timestamp
        runs[stamp if stamp in runs else default].append(file)
    return sorted(runs.items(), key=lambda run: (run[0] is not None, run[0] or 0))


def _stage_order(file: File) -> tuple[int, bool, int, str]:
    form = file.name.form
    place = _PREFERENCE.index(form) if form in _PREFERENCE else len(_PREFERENCE)
    # Of two texts of one point the one with the module's name counts first, then the newer.
    return place, not file.name.module, -file.mtime_ns, file.path


def _module(key: ModuleKey, name: str, timestamp: int | None, files: list[File]) -> Module:
    points: dict[str, list[File]] = defaultdict(list)
    executions, others = [], []
    for file in files:
        if file.name.role is Role.STAGE and file.name.point is not None:
            points[file.name.point.label].append(file)
        elif file.name.role is Role.EXECUTION:
            executions.append(file)
        else:
            others.append(file)
    stages = []
    for same in points.values():
        same.sort(key=_stage_order)
        point = same[0].name.point
        if point is not None:
            stages.append(Stage(point, tuple(same)))
    stages.sort(key=lambda stage: stage.point.order)
    executions.sort(key=lambda file: (file.mtime_ns, file.path))
    others.sort(key=lambda file: (file.name.kind, file.path))
    process = process_group(key.group)
    return Module(
        key=key,
        name=name,
        stages=tuple(stages),
        executions=tuple(executions),
        others=tuple(others),
        count=len(files),
        size=sum(file.size for file in files),
        mtime_ns=max(file.mtime_ns for file in files),
        timestamp=timestamp,
        process=process[2] if process is not None and process[1] == key.name else "",
    )


def put_together(files: Iterable[File]) -> list[Module]:
    """Make modules out of the files of one family (see `family`): each file goes into exactly one of them."""
    buckets, spelled = _buckets(files)
    _join(buckets)
    modules = []
    for (group, key), members in buckets.items():
        for index, (stamp, run) in enumerate(_runs(members)):
            if run:
                name = spelled[group].get(key, key)
                full = ModuleKey(group, run[0].name.id, key, stamp if index else None)
                modules.append(_module(full, name, stamp, run))
    return modules
