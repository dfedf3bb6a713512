"""The rows of the modules' tree, made from a shelf, what is unfolded, and the filter."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from hlo_tui.dump.files import File
from hlo_tui.dump.listing import Group, ordered
from hlo_tui.dump.modules import Module, ModuleKey, Stage
from hlo_tui.dump.words import count_text, size_text
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.glyphs import BAD, DOT, FOLDED, OPEN, RAN, TAGGED, TIMES, UNKNOWN
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.shelf import Shelf, first_stage


@dataclass(frozen=True, slots=True)
class Place:
    """Something that can be opened.

    Attributes:
        path: of the file, relative to the dump.
        module: the module that it is of, None where it is of none.
        label: of the stage, "" where it is none.
    """

    path: str
    module: ModuleKey | None = None
    label: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """What a row of the tree is about: a group, a module, a stage ... and the thing's own key."""

    kind: str
    of: Hashable = None


@dataclass(frozen=True, slots=True)
class TreeView:
    """How a shelf is to be shown.

    Attributes:
        unfolded: nodes whose children are shown.
        filter: words that all have to be in a name; empty shows everything.
        shown: the place that the code shows.
        health: the sign of what a replay of a module met: a NaN, nothing of the kind, or what is not known.
        order: one of `dump.listing.ORDERS`.
    """

    unfolded: AbstractSet[Node] = frozenset()
    filter: str = ""
    shown: Place | None = None
    health: Mapping[ModuleKey, str] = field(default_factory=dict)
    order: str = "first"


def clock(mtime_ns: int, now: float | None = None) -> str:
    """A time of day; with the date where it is not today's."""
    then = time.localtime(mtime_ns / 1e9)
    today = time.localtime(time.time() if now is None else now)
    same = (then.tm_year, then.tm_yday) == (today.tm_year, today.tm_yday)
    return time.strftime("%H:%M:%S" if same else "%b %d %H:%M", then)


def stage_name(stage: Stage) -> str:
    """A stage in few characters, safe for a terminal."""
    point = stage.point
    if point.kind == "before":
        return "before"
    if point.kind == "after" and point.label.endswith("after_optimizations"):
        return f"after {DOT} {point.target}" if point.target else "after"
    if point.kind == "pass":
        if point.after == "pipeline-start":
            return visible(f"{point.step:04d} {point.pipeline} begins")
        return visible(f"{point.step:04d} {point.after}")
    if point.kind == "within":
        return visible(f"{point.step:04d} {point.during}: {point.after}")
    return visible(point.label)


def place_of(shelf: Shelf, node: Node) -> Place | None:
    """What choosing a node opens: a first stage, a stage, a run, a file; None where it only unfolds."""
    of = node.of
    if node.kind == "group":
        for group in shelf.groups:
            if group.name == of:
                return _first_place(group.modules[0])
    if node.kind == "module" and isinstance(of, ModuleKey):
        module = shelf.module(of)
        return None if module is None else _first_place(module)
    return of if isinstance(of, Place) else None


def first_node(shelf: Shelf) -> Node | None:
    """What is most worth opening: the first module that can be, else the first file of HLO, or the only file."""
    modules = (*(group.modules[0] for group in shelf.groups), *shelf.small)
    found = next((module for module in modules if _first_place(module) is not None), None)
    if found is not None:
        return Node("module", found.key)
    loose = (*shelf.other, *shelf.unrecognised)
    beside = [Place(file.path, module.key) for module in modules for file in module.others]
    if not loose and len(beside) == 1:
        return Node("file", beside[0])
    readable = [file for file in loose if file.name.kind == "hlo" or len(loose) == 1]
    return Node("file", Place(readable[0].path)) if readable else None


def parents_of(shelf: Shelf, place: Place) -> list[Node]:
    """The nodes that have to be unfolded for a place to be seen, outermost first."""
    if place.module is None:
        return [Node("other")]
    module = shelf.module(place.module)
    if module is None:
        return []
    found = [Node("small")] if any(one.key == place.module for one in shelf.small) else []
    for group in shelf.groups:
        if len(group.modules) > 1 and any(one.key == place.module for one in group.modules):
            found.append(Node("group", group.name))
    found.append(Node("module", place.module))
    stage = module.stage(place.label)
    if stage is not None and stage.point.step is not None:
        found.append(Node("passes", place.module))
    if stage is None:
        of_run = any(file.path == place.path for file in module.executions)
        found.append(Node("runs" if of_run else "files", place.module))
    return found


def module_title(module: Module) -> str:
    """A module's name and number: the name alone is that of all modules that a function was compiled to."""
    return f"{module.name} #{module.id}" if module.name and module.id is not None else module.name


def _first_place(module: Module) -> Place | None:
    stage = first_stage(module)
    if stage is not None:
        return Place(stage.main.path, module.key, stage.label)
    if module.executions:
        return Place(module.executions[-1].path, module.key)
    return None


def build(shelf: Shelf, view: TreeView, width: int) -> list[Row]:
    """All rows of the tree."""
    rows: list[Row] = []
    add = rows.append
    words = view.filter.lower().split()
    for group in ordered(shelf.groups, view.order):
        rows += _group(shelf, group, view, words, width)
    if shelf.small:
        matching = [m for m in shelf.small if not words or _matches(m, words)]
        if words:
            for module in matching:
                rows += _module(shelf, module, view, words, "")
        else:
            add(_fold(Node("small"), view, count_text(len(matching), "small module")))
            if Node("small") in view.unfolded:
                for module in matching:
                    rows += _module(shelf, module, view, words, "  ")
    for kind, files, name in (
        ("other", shelf.other, "of no module"),
        ("unrecognised", shelf.unrecognised, "not recognised"),
    ):
        rows += _loose(kind, files, name, view, words)
    if words and not rows:
        add(row(Span(" nothing matches", "muted")))
    if not rows:
        add(row(Span(" no module yet", "muted")))
    return rows


def _group(shelf: Shelf, group: Group, view: TreeView, words: list[str], width: int) -> Iterator[Row]:
    modules = [m for m in group.modules if not words or _matches(m, words)]
    if not modules:
        return
    if len(group.modules) == 1:
        yield from _module(shelf, group.modules[0], view, words, "")
        return
    node = Node("group", group.name)
    tags = max(shelf.tags(module) for module in group.modules)
    yield Row(
        (_sign(node, view), Span(visible(group.name) or "(no name)", "strong" if tags else "text")),
        (*_health(view, modules, bool(tags)), *_tags(tags), Span(f" {TIMES}{len(group.modules)}", "count")),
        node,
    )
    if node in view.unfolded or words:
        for module in modules:
            yield from _module(shelf, module, view, words, "  ", alone=False)
            reason = shelf.reasons.get(module.key, "")
            if reason:
                yield from wrap(reason, width, "notice", "      ")


def _module(
    shelf: Shelf, module: Module, view: TreeView, words: list[str], indent: str, alone: bool = True
) -> Iterator[Row]:
    node = Node("module", module.key)
    number = f"#{module.id}" if module.id is not None else ""
    name = visible(module.name) or "(no name)"
    tags = shelf.tags(module)
    process = f" {module.process}" if module.process else ""
    opened = view.shown is not None and view.shown.module == module.key and node not in view.unfolded
    if alone:
        title = Span(name, "accent" if opened else "strong" if tags else "text")
        right = (*_health(view, (module,), bool(tags)), *_tags(tags), Span(f" {number}{process}", "count"))
    else:
        title = Span((number or name) + process, "accent" if opened else "text")
        right = (
            *_health(view, (module,), bool(tags)),
            *_tags(tags),
            Span(f" {clock(module.mtime_ns)}", "time"),
        )
    yield Row((Span(indent), _sign(node, view), title), right, node)
    stages = [s for s in module.stages if words and any(word in s.label.lower() for word in words)]
    if node in view.unfolded:
        yield from _inside(module, view, indent + "  ")
    elif stages:
        yield from (_stage(module, stage, view, indent + "  ") for stage in stages)


def _inside(module: Module, view: TreeView, indent: str) -> Iterator[Row]:
    numbered = [stage for stage in module.stages if stage.point.step is not None]
    folded = False
    for stage in module.stages:
        if stage.point.step is None:
            yield _stage(module, stage, view, indent)
            continue
        if not folded:
            folded = True
            node = Node("passes", module.key)
            yield _fold(node, view, count_text(len(numbered), "pass", "passes"), indent)
            if node in view.unfolded:
                yield from (_stage(module, one, view, indent + "  ") for one in numbered)
    yield from _files(Node("runs", module.key), module, module.executions, "run", view, indent)
    yield from _files(Node("files", module.key), module, module.others, "file", view, indent)


def _files(
    node: Node, module: Module, files: tuple[File, ...], word: str, view: TreeView, indent: str
) -> Iterator[Row]:
    if not files:
        return
    yield _fold(node, view, count_text(len(files), word), indent)
    if node not in view.unfolded:
        return
    for number, file in enumerate(files, 1):
        if word == "run":
            name = f"run {number}, {clock(file.mtime_ns)}"
        else:
            function = module.function_of(file)
            name = visible(f"{file.name.kind} {function}".rstrip())
        yield _leaf(Place(file.path, module.key), name, size_text(file.size), "file", view, indent + "  ")


def _stage(module: Module, stage: Stage, view: TreeView, indent: str) -> Row:
    main = stage.main
    right = size_text(main.size) if main.complete else "being written"
    return _leaf(Place(main.path, module.key, stage.label), stage_name(stage), right, "stage", view, indent)


def _leaf(place: Place, name: str, right: str, kind: str, view: TreeView, indent: str) -> Row:
    shown = place == view.shown
    mark = "→ " if shown else "  "
    return Row(
        (Span(indent + mark, "accent"), Span(name, "accent" if shown else "text")),
        (Span(right, "count"),),
        Node(kind, place),
    )


def _loose(kind: str, files: tuple[File, ...], name: str, view: TreeView, words: list[str]) -> Iterator[Row]:
    matching = [file for file in files if all(word in file.path.lower() for word in words)]
    if not matching:
        return
    node = Node(kind)
    yield _fold(node, view, f"{count_text(len(matching), 'file')} {name}")
    if node in view.unfolded or words:
        for file in matching:
            yield _leaf(Place(file.path), visible(file.path), size_text(file.size), "file", view, "  ")


def _fold(node: Node, view: TreeView, text: str, indent: str = "") -> Row:
    return row(indent, _sign(node, view), Span(text, "muted"), key=node)


def _sign(node: Node, view: TreeView) -> Span:
    return Span(f"{OPEN if node in view.unfolded else FOLDED} ", "fold")


def _health(view: TreeView, modules: Iterable[Module], gap: bool) -> tuple[Span, ...]:
    signs = {view.health.get(module.key, "") for module in modules}
    sign = next((one for one in (BAD, UNKNOWN, RAN) if one in signs), "")
    role = {BAD: "nan", RAN: "ran"}.get(sign, "missing")
    return (Span(sign + (" " if gap else ""), role),) if sign else ()


def _tags(count: int) -> tuple[Span, ...]:
    return (Span(f"{TAGGED} {count}", "tagged"),) if count else ()


def _matches(module: Module, words: Iterable[str]) -> bool:
    name = f"{module.name} #{module.id}".lower()
    return all(word in name or any(word in s.label.lower() for s in module.stages) for word in words)
