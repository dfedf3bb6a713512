"""Tags through the stages of a module: where each lives, how it multiplies, and after which pass it is lost."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module
from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.loading import open_document
from hlo_tui.hlo.module import Module as HloModule
from hlo_tui.hlo.tags import Tag, is_user_key
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.changes import Place
from hlo_tui.passes.history import History, Trace
from hlo_tui.passes.links import ABSORBED, CERTAIN, FUSED, MOVED, RENAMED, SAME
from hlo_tui.passes.stages import open_stage, readable_stages

_MARK = b"frontend_attributes="
_ROWS = 40
_KEEPING = frozenset((SAME, RENAMED, MOVED, FUSED))

Name = tuple[str, str]


@dataclass(slots=True)
class TagLife:
    """One tag that the program set, through the stages.

    Attributes:
        id: its number in the module, from 1.
        key, value: what it says.
        first: where it was seen first.
        where: for each stage that has it the tags that it is there.
        lost_after: the label of the stage, after a pass, from which on it is not there any more.
        instead: where to stop at the last stage, where it is lost there; None where nothing is left of it.
    """

    id: int
    key: str
    value: str
    first: Tag
    where: dict[str, list[Tag]] = field(default_factory=dict)
    lost_after: str | None = None
    instead: Trace | None = None


@dataclass(frozen=True, slots=True)
class Survival:
    """All tags of one module."""

    module: Module
    stages: tuple[str, ...]
    tags: tuple[TagLife, ...]


def file_tags(path: Path, member: str | None = None) -> list[Tag]:
    """The tags in one file, those of compilers too.

    Raises:
        HloTuiError: it cannot be read as HLO.
    """
    module = HloModule(open_document(path, member).source)
    module.scan()
    return module.tags()


def survival(listing: Listing, module: Module, history: History | None = None) -> Survival:
    """Follow every tag of a module through its stages.

    Args:
        listing, module: the module.
        history: its history, where there is one already.

    Raises:
        HloTuiError: it has no stage that can be read.
    """
    history = history or History(listing, module)
    labels = tuple(stage.label for stage in history.stages)
    lives: list[TagLife] = []
    active: dict[Name, list[TagLife]] = {}
    for at, stage in enumerate(history.stages):
        found = _stage_tags(history, at)
        assigned: dict[Name, list[TagLife]] = defaultdict(list)
        finder = _Finder(history, at, active, lives)
        for tag in found:
            life = finder.life(tag)
            if life is None:
                life = TagLife(len(lives) + 1, tag.key, tag.value, tag)
                lives.append(life)
            life.where.setdefault(stage.label, []).append(tag)
            assigned[tag.computation, tag.instruction].append(life)
        active = dict(assigned)
    for life in lives:
        _end(history, labels, life)
    return Survival(module, labels, tuple(lives))


def _stage_tags(history: History, at: int) -> list[Tag]:
    text = history.text(at)
    return text.module.tags() if _MARK in text.data else []


class _Finder:
    """Tells which of the tags of the stage before a tag is."""

    def __init__(
        self, history: History, at: int, active: dict[Name, list[TagLife]], lives: list[TagLife]
    ) -> None:
        self._history = history
        self._at = at
        self._active = active
        self._lives = lives

    def life(self, tag: Tag) -> TagLife | None:
        """The tag that it is, None where it is a new one."""
        if self._at == 0:
            return None
        alike = [life for life in self._lives if (life.key, life.value) == (tag.key, tag.value)]
        if not alike:
            return None
        links = self._history.links(self._at - 1)
        for link in links.before(tag.computation, tag.instruction):
            for life in self._active.get((link.place.computation, link.place.name), ()):
                if any(life is one for one in alike):
                    return life
        return self._by_source(tag, alike) or (alike[0] if len(alike) == 1 else None)

    def _by_source(self, tag: Tag, alike: list[TagLife]) -> TagLife | None:
        """The one from the same operation of the program; of several one that is still there."""
        before = self._history.stages[self._at - 1].label
        same = [life for life in alike if (life.first.file, life.first.line) == (tag.file, tag.line)]
        same = [life for life in same if life.first.op_name == tag.op_name] or same
        there = [life for life in same if before in life.where]
        return next(iter(there or same), None)


def _end(history: History, labels: tuple[str, ...], life: TagLife) -> None:
    """Find out where a tag that is not at the last stage was lost, and what to take in its place."""
    if labels[-1] in life.where:
        return
    last = max(at for at, label in enumerate(labels) if label in life.where)
    life.lost_after = labels[last + 1]
    life.instead = instead_at(history, life, len(labels) - 1)


def instead_at(history: History, life: TagLife, stage: int) -> Trace | None:
    """What to stop at instead of a tag at a stage that does not have it; None where nothing is left of it."""
    labels = [one.label for one in history.stages]
    there = [at for at in range(stage) if labels[at] in life.where]
    if not there:
        return None
    tag = life.where[labels[there[-1]]][0]
    found: Trace | None = None
    for at, traces in history.forward(there[-1], Place(tag.computation, tag.instruction, tag.opcode)):
        sure = [trace for trace in traces if trace.how != ABSORBED] or traces
        if not sure:
            return None
        # The value was given up once: what follows it later is sure to, and no nearer to the tag.
        kept = (SAME, CERTAIN) if found is None or found.how in _KEEPING else (found.how, found.sure)
        how, certain = (sure[0].how, sure[0].sure) if kept[0] == SAME else kept
        found = replace(sure[0], how=how, sure=certain)
        if at == stage:
            break
    return found


def tagged_modules(listing: Listing) -> list[Module]:
    """The modules of a dump that have a tag at some stage."""
    return [module for module in listing.catalog.modules if _is_tagged(listing, module)]


def _is_tagged(listing: Listing, module: Module) -> bool:
    for stage in readable_stages(module):
        try:
            source = open_stage(listing, stage)
        except HloTuiError:
            # What cannot be read has no tags that could be shown.
            continue
        if _MARK in source.read(0, source.size):
            found = HloModule(source)
            found.scan()
            if any(found.tagged()):
                return True
    return False


def file_json(tags: list[Tag]) -> dict[str, Any]:
    """The tags of one file as `tags --json` gives them."""
    return {"tags": [_tag_json(tag) for tag in tags]}


def _tag_json(tag: Tag) -> dict[str, Any]:
    return {
        "key": tag.key,
        "value": tag.value,
        "instruction": tag.instruction,
        "computation": tag.computation,
        "opcode": tag.opcode,
        "op_name": tag.op_name,
        "file": tag.file,
        "line": tag.line,
        "compiler": not tag.is_user_key,
    }


def to_json(found: list[Survival]) -> dict[str, Any]:
    """The tags of one module or of several as `tags --json` gives them; ids are unique in the document."""
    stages = dict.fromkeys(label for one in found for label in one.stages)
    numbers = {id(life): number for number, life in enumerate((t for one in found for t in one.tags), 1)}
    return {
        "stages": list(stages),
        "tags": [
            {
                "id": numbers[id(life)],
                "module": one.module.name,
                "module_id": one.module.id,
                "key": life.key,
                "value": life.value,
                "where": {
                    label: [tag.instruction for tag in life.where.get(label, ())] for label in one.stages
                },
                "lost_after": life.lost_after,
                "instead": _instead_json(life.instead),
                "op_name": life.first.op_name,
                "file": life.first.file,
                "line": life.first.line,
                "compiler": not is_user_key(life.key),
            }
            for one in found
            for life in one.tags
        ],
        "modules": [
            {"module": one.module.name, "id": one.module.id, "stages": list(one.stages)} for one in found
        ],
    }


def _instead_json(trace: Trace | None) -> dict[str, Any] | None:
    if trace is None:
        return None
    place = trace.place
    return {"instruction": place.name, "computation": place.computation, "how": trace.how, "sure": trace.sure}


def file_text(tags: list[Tag]) -> str:
    """The tags of one file for people, the compiler's own counted only."""
    own = [tag for tag in tags if tag.is_user_key]
    lines = []
    for tag in own:
        source = f"   {tag.file}:{tag.line}" if tag.file else ""
        lines.append(f'{tag.key}="{tag.value}"   {tag.opcode} {tag.instruction} in {tag.computation}{source}')
    others = Counter(tag.key for tag in tags if not tag.is_user_key)
    if others:
        lines.append(
            f"of the compiler: {', '.join(f'{key} ×{count}' for key, count in others.most_common())}"
        )
    return "\n".join(visible(line) for line in lines) or "no tags"


def to_text(found: list[Survival]) -> str:
    """The tags of modules for people: at how many places each is, where that changes, and where it is lost."""
    lines: list[str] = []
    for one in found:
        lives = [life for life in one.tags if is_user_key(life.key)]
        if not lives:
            continue
        number = f"   #{one.module.id}" if one.module.id is not None else ""
        lines += [f"{one.module.name}{number}   {count_text(len(lives), 'tag')}"]
        for life in lives[:_ROWS]:
            lines += [f"  {line}" for line in _life_lines(one, life)]
        if len(lives) > _ROWS:
            lines.append(f"  ... {len(lives) - _ROWS} more: --json has all")
        lines.append("")
    return "\n".join(visible(line) for line in lines).rstrip() or "no tags"


def _life_lines(one: Survival, life: TagLife) -> list[str]:
    source = f"   {life.first.file}:{life.first.line}" if life.first.file else ""
    lines = [f'{life.key}="{life.value}"   {life.first.opcode}{source}']
    names: list[str] = []
    for label in one.stages:
        now = [tag.instruction for tag in life.where.get(label, ())]
        if now != names:
            lines.append(f"  {label}: {', '.join(now) or 'lost'}")
            names = now
    if life.lost_after is not None:
        place = life.instead.place if life.instead is not None else None
        if life.instead is None or place is None:
            lines.append("  nothing is left of it at the end")
        else:
            how = "" if life.instead.how == SAME else f" ({life.instead.how}, {life.instead.sure})"
            lines.append(f"  stop instead at {place.name} in {place.computation}{how}")
    return lines
