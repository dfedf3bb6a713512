"""What differs between two stages of a module, or between two files."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.loading import open_document
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.blocks import Reader, Text
from hlo_tui.passes.changes import Place as Instruction
from hlo_tui.passes.compare import Comparison
from hlo_tui.passes.stages import open_stage, path_of, readable_stages
from hlo_tui.ui.opened import Want
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.diffrows import WIDE, Compared, DiffView, Fold, More, Spot, build, is_open, raw
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.passes.subject import Subject, stage_words
from hlo_tui.ui.popups import Popup
from hlo_tui.ui.rows import Row, Span, row
from hlo_tui.ui.treerows import Place

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task

_COPIED = 1 << 20


@dataclass(frozen=True, slots=True)
class Side:
    """One of the two that are compared.

    Attributes:
        title: what it is, for the head.
        key: equal for as long as it is the same.
        read: gives its text; may raise HloTuiError.
        want: how to open it in the code.
        path: the file.
    """

    title: str
    key: Hashable
    read: Callable[[], Source]
    want: Want
    path: Path


class DiffScreen(TaskPanel):
    """Two modules, and what differs."""

    PANEL = "diff"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("diff")

    def __init__(self, app: BaseApp, a: Side, b: Side, about: Subject | None = None) -> None:
        super().__init__(app, "Difference")
        self._sides = a, b
        self._about = about
        self._view = DiffView()
        self._hidden: frozenset[str] = frozenset()

    @property
    def compared(self) -> Compared | None:
        """What was found, None while it is being found out."""
        return self.work.found[0] if self.work is not None and self.work.found else None

    def start(self) -> Task:
        """Read both and compare them; what is only to be shown otherwise is not compared again."""
        sides, hidden = self._sides, self._hidden
        before = self.compared

        def job(task: Task) -> None:
            found = before
            if found is None:
                texts = []
                reader = Reader()
                for side in sides:
                    task.go_on(f"reading {side.title}")
                    texts.append(Text(side.read(), reader))
                    if texts[-1].entry is None:
                        raise HloTuiError("There is no computation in it", visible(str(side.path)))
                task.go_on("comparing")
                comparison = Comparison(*texts)
                diff = comparison.run()
                pair = (texts[0], texts[1])
                found = Compared(sides[0].title, sides[1].title, pair, diff, comparison.links)
            task.add(found.hide(hidden))

        key = (sides[0].key, sides[1].key, hidden)
        return self.owner.tasks.start("diff", key, job)

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        found = self.compared
        if found is None:
            sides = zip("ab", self._sides, strict=True)
            return [row(), *(row(Span(f"  {name}  {visible(side.title)}", "muted")) for name, side in sides)]
        return build(found, self._view, width)

    def chosen(self, key: object) -> None:
        """Open a change, show more of it, or go to the instruction."""
        found = self.compared
        if isinstance(key, Fold) and found is not None:
            self.turned(key, -1 if is_open(found, self._view, key) else 1)
        elif isinstance(key, More):
            most = self._view.places(key.fold) * 10
            others = tuple(one for one in self._view.more if one[0] != key.fold)
            self._view = replace(self._view, more=(*others, (key.fold, most)))
        elif isinstance(key, Spot):
            self._go(key)

    def turned(self, key: object, way: int) -> None:
        """Open a change into its places, or fold it."""
        found = self.compared
        if isinstance(key, Fold) and found is not None and is_open(found, self._view, key) != (way > 0):
            self._view = replace(self._view, turned=self._view.turned ^ {key})

    def do(self, identity: str) -> None:
        """Carry out a command."""
        if identity == "diff_hide":
            self._kinds()
        elif identity == "diff_beside":
            now = self.size.width >= WIDE if self._view.beside is None else self._view.beside
            self._view = replace(self._view, beside=not now)
        elif identity == "diff_copy":
            self._copy()
        elif identity == "diff_values":
            self._values()
        elif identity in ("diff_previous", "diff_next"):
            self._move(1 if identity == "diff_next" else -1)
        else:
            super().do(identity)

    def _go(self, key: Spot) -> None:
        from hlo_tui.ui.passes.subject import leave_for

        want = replace(self._sides[key.side].want, computation=key.computation, instruction=key.name)
        leave_for(self.owner, want)

    def _copy(self) -> None:
        key, found = self.rows.key, self.compared
        if not isinstance(key, Spot) or found is None:
            raise HloTuiError("The cursor is on no instruction")
        data = raw(found.texts[key.side], Instruction(key.computation, key.name))[:_COPIED]
        self.owner.copy_to_clipboard(data.decode("utf-8", "replace"))
        self.notice = f"copied {len(data):,} bytes"

    def _kinds(self) -> None:
        """Choose which kinds of changes are shown."""
        found = self.compared
        if found is None or not found.kinds:
            raise HloTuiError("There are no kinds of changes to hide")

        def line(kind: str, count: int) -> Row:
            hidden = kind in self._hidden
            state = Span(f"  {'hidden' if hidden else 'shown':<8}", "notice" if hidden else "good")
            return row(state, Span(f"{kind:<28}"), Span(f"{count:>8,}", "count"), key=kind)

        rows = [line(kind, count) for kind, count in found.kinds.items()]

        def chosen(kind: Hashable) -> None:
            if isinstance(kind, str):
                self._hidden ^= {kind}
                self.attempt(self._again)
                self._kinds()

        self.owner.push_screen(Popup(self.owner.paint, "Kinds of changes", lambda _: rows), chosen)

    def _again(self) -> None:
        self.work = self.start()

    def _values(self) -> None:
        from hlo_tui.ui.passes.values import ValuesScreen

        self.owner.push_screen(ValuesScreen(self.owner, *self._sides))

    def _move(self, way: int) -> None:
        """Go to the stage after or before, compared with its own neighbour."""
        if self._about is None:
            raise HloTuiError("These are no stages of one module")
        labels = [stage.label for stage in readable_stages(self._about.module)]
        last = self._sides[1].want.place.label
        at = labels.index(last) + way
        changed = self._changed()
        while 0 < at < len(labels) and changed and labels[at] not in changed:
            at += way
        if not 0 < at < len(labels):
            raise HloTuiError(f"There is no change {'after' if way > 0 else 'before'} that")
        self._sides = (
            side_of(self.owner, self._about, labels[at - 1]),
            side_of(self.owner, self._about, labels[at]),
        )
        self._view, self.work = DiffView(beside=self._view.beside), None
        self.work = self.start()
        self.rows.show(self.build, top=True)

    def _changed(self) -> set[str]:
        """The labels of the stages that changed something, where the timeline knows them all."""
        known = self.owner.tasks.get("timeline")
        if known is None or self._about is None or known.key != self._about.key or not known.done:
            return set()
        return {step.stage.label for step in known.found if step.changed}


def side_of(app: BaseApp, about: Subject, label: str) -> Side:
    """A stage of the module that is open, as one side of a comparison."""
    stage = about.module.stage(label)
    if stage is None:
        raise HloTuiError("The stage is gone", label)
    want = app.desk.want(Place(stage.main.path, about.module.key, label))
    key = (about.module.key, label, stage.main.stamp)
    path = path_of(about.listing, stage.main)
    return Side(stage_words(stage), key, lambda: open_stage(about.listing, stage), want, path)


def side_of_file(path: Path) -> Side:
    """Any file as one side of a comparison."""
    want = Want(Place(str(path)), path, title=path.name, stage="another file")
    return Side(str(path), str(path), lambda: open_document(path).source, want, path)


def diff_stages(app: BaseApp, about: Subject, a: str, b: str) -> DiffScreen:
    """The screen for two stages of a module, by their labels."""
    return DiffScreen(app, side_of(app, about, a), side_of(app, about, b), about)
