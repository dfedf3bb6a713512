"""What a dump holds, as one immutable value: made on the watcher's thread, drawn on the screen's."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hlo_tui.dump.catalog import Catalog
from hlo_tui.dump.files import File
from hlo_tui.dump.listing import Group, arrange
from hlo_tui.dump.modules import Module, ModuleKey, Stage
from hlo_tui.hlo.attributes import split_top
from hlo_tui.hlo.header import parse_header
from hlo_tui.hlo.ownership import is_own
from hlo_tui.hlo.visible import visible

# What is watched, in the header, where it is no directory and no log.
ONE_FILE = "one file"
# Bytes of a module that are looked at before somebody opens it.
PEEKED = 1 << 18
_TAG = re.compile(rb'[{,]\s*+breakpoint=(?:"([^"]*+)"|([^,}\s]*+))')
_OFF = frozenset((b"", b"0", b"false"))


@dataclass(frozen=True, slots=True)
class Peek:
    """What the first bytes of a module's text say.

    Attributes:
        tags: how many operations are tagged to stop at.
        more: whether there is text that was not looked at.
        arguments: the types of the entry's parameters.
        own: whether it is a function of the person's own program, as far as the text says it.
    """

    tags: int = 0
    more: bool = False
    arguments: tuple[str, ...] = ()
    own: bool = False


def peek(head: bytes, size: int) -> Peek:
    """Read the first bytes of a module's text, which has `size` bytes in all."""
    tags = 0
    for match in _TAG.finditer(head):
        value = match[1] if match[1] is not None else match[2]
        tags += value.strip().lower() not in _OFF
    return Peek(tags, size > len(head), _arguments(head), is_own(head))


def _arguments(head: bytes) -> tuple[str, ...]:
    line = head[: head.find(b"\n")] if b"\n" in head else head
    layout = parse_header(line.decode("utf-8", "replace")).entry_layout
    if not layout.startswith("{(") or ")->" not in layout:
        return ()
    return tuple(_type(part) for part in split_top(layout[2 : layout.rindex(")->")]))


def _type(text: str) -> str:
    plain = re.sub(r"/\*[^*]*+\*/", "", text).strip()
    return visible(re.sub(r"\{[^{}]*+\}", "", plain))


def difference(old: Peek, new: Peek) -> str:
    """Why a function was compiled again, as far as the types of its arguments say it; else empty."""
    if not old.arguments or not new.arguments:
        return ""
    if len(old.arguments) != len(new.arguments):
        return f"recompiled: {len(new.arguments)} arguments, had {len(old.arguments)}"
    changed = [
        at for at, pair in enumerate(zip(old.arguments, new.arguments, strict=True)) if pair[0] != pair[1]
    ]
    if not changed:
        return ""
    first = changed[0]
    more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
    return f"recompiled: argument {first} is {new.arguments[first]}, was {old.arguments[first]}{more}"


def first_stage(module: Module) -> Stage | None:
    """The stage to show first: the module as the program gave it, where that is there."""
    return next((stage for stage in module.stages if stage.point.kind == "before"), None) or (
        module.stages[0] if module.stages else None
    )


@dataclass(frozen=True, slots=True)
class Shelf:
    """A dump at one moment.

    Attributes:
        groups: modules of one name each, tagged ones first, then the person's own functions, then the largest.
        small: helpers, which are many and seldom looked at.
        other: files of no module.
        unrecognised: files that nobody writes.
        files: how many files there are.
        mtime_ns: time of the last change, nanoseconds since 1970; 0 where there are no files.
        peeks: what is known of the modules that have been looked into.
        reasons: why modules were compiled again, where that is known.
        explanation: why there is no module, where there is none.
    """

    groups: tuple[Group, ...] = ()
    small: tuple[Module, ...] = ()
    other: tuple[File, ...] = ()
    unrecognised: tuple[File, ...] = ()
    files: int = 0
    mtime_ns: int = 0
    peeks: Mapping[ModuleKey, Peek] = field(default_factory=dict)
    reasons: Mapping[ModuleKey, str] = field(default_factory=dict)
    explanation: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many modules there are."""
        return sum(len(group.modules) for group in self.groups) + len(self.small)

    def tags(self, module: Module) -> int:
        """How many tagged operations are known of."""
        found = self.peeks.get(module.key)
        return found.tags if found is not None else 0

    def rank(self, module: Module) -> tuple[bool, bool]:
        """Whether it is tagged, and whether it is the person's own: the greater is more worth opening."""
        found = self.peeks.get(module.key)
        return (found is not None and found.tags > 0, found is not None and found.own)

    def module(self, key: ModuleKey) -> Module | None:
        """The module under a key, None where it is gone."""
        for group in self.groups:
            for module in group.modules:
                if module.key == key:
                    return module
        return next((module for module in self.small if module.key == key), None)

    def newest(self, before: Shelf) -> Module | None:
        """The module that changed last of those that are new or were written anew since; helpers do not count."""
        known = {module.key: module for group in before.groups for module in group.modules}
        known |= {module.key: module for module in before.small}
        new = (
            module
            for group in self.groups
            for module in group.modules
            if module.key not in known or _written_anew(known[module.key], module)
        )
        return max(new, key=lambda module: module.mtime_ns, default=None)


def _written_anew(old: Module, new: Module) -> bool:
    """Whether a stage's file holds something else than before; a stage more is no reason."""
    times = {stage.main.path: stage.main.mtime_ns for stage in old.stages if stage.main.complete}
    return any(times.get(stage.main.path, stage.main.mtime_ns) != stage.main.mtime_ns for stage in new.stages)


def shelve(catalog: Catalog, peeks: Mapping[ModuleKey, Peek]) -> Shelf:
    """Put a catalog in the order in which it is read."""
    modules = catalog.modules
    groups, small = arrange(modules)
    tagged = {
        module.key
        for module in small
        if (found := peeks.get(module.key)) is not None and (found.tags or found.own)
    }
    if tagged:
        # What is tagged, or a function of the person's own, is what somebody looks for, however small it is.
        extra, _ = arrange(module for module in small if module.key in tagged)
        groups += extra if extra else [Group(m.name, (m,)) for m in small if m.key in tagged]
        small = [module for module in small if module.key not in tagged]

    def order(group: Group) -> tuple[bool, bool, int, int, str]:
        known = [peeks[module.key] for module in group.modules if module.key in peeks]
        has_tags, own = any(one.tags for one in known), any(one.own for one in known)
        return not has_tags, not own, -group.weight, -group.mtime_ns, group.name

    groups.sort(key=order)
    files = catalog.files.values()
    return Shelf(
        groups=tuple(groups),
        small=tuple(small),
        other=tuple(catalog.other),
        unrecognised=tuple(catalog.unrecognised),
        files=len(files),
        mtime_ns=max((file.mtime_ns for file in files), default=0),
        peeks=dict(peeks),
        reasons=_reasons(groups, peeks),
    )


def _reasons(groups: list[Group], peeks: Mapping[ModuleKey, Peek]) -> dict[ModuleKey, str]:
    found = {}
    for group in groups:
        # Newest first: each is compared with the one that was compiled before it.
        for newer, older in zip(group.modules, group.modules[1:], strict=False):
            if newer.key in peeks and older.key in peeks:
                reason = difference(peeks[older.key], peeks[newer.key])
                if reason:
                    found[newer.key] = reason
    return found
