"""Two dumps, module by module: another version, another run, another rank."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.dump.listing import Listing, load
from hlo_tui.dump.modules import Stage
from hlo_tui.dump.words import count_text
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.dumps import Compared, Pairing, compare_pairs, name_of, pair_modules
from hlo_tui.passes.stages import open_stage, path_of
from hlo_tui.ui.opened import Want
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.diff import DiffScreen, Side
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.treerows import Place, module_title, stage_name

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task


@dataclass(frozen=True, slots=True)
class Dumps:
    """Two dumps, and which module of one is which of the other."""

    a: Listing
    b: Listing
    pairing: Pairing


def build(dumps: Dumps | None, found: Sequence[Compared], every: bool, done: bool, width: int) -> list[Row]:
    """A row for each stage of each pair that differs; of the others only how many there are."""
    if dumps is None:
        return []
    rows: list[Row] = []
    equal = 0
    for number, one in enumerate(found):
        same = one.words == "equal"
        equal += same
        if same and not every:
            continue
        a, b = name_of(one.pair.a), name_of(one.pair.b)
        name = visible(a if a == b else f"{a}  {b}")
        role = "good" if same else "modified" if one.found is not None else "problem"
        words = Span(visible(one.words), role)
        rows.append(row(Span(f"  {name}  "), Span(one.a.point.kind, "muted"), right=[words], key=number))
    pairs = len(dumps.pairing.pairs)
    rows += [
        row(),
        row(Span(f"  {equal} of {len(found)} stages of {count_text(pairs, 'pair')} are equal", "muted")),
    ]
    for modules, which in ((dumps.pairing.only_a, "a"), (dumps.pairing.only_b, "b")):
        if modules:
            only = f"only in {which}: {', '.join(map(name_of, modules))}"
            rows += wrap(visible(only), width - 2, "removed" if which == "a" else "added", "  ")
    if done and not pairs:
        rows += wrap("no module of one has the name of a module of the other", width - 2, "problem", "  ")
    return rows


class DumpsScreen(TaskPanel):
    """The dump that is watched against another one."""

    PANEL = "dumps"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("dumps")

    def __init__(self, app: BaseApp, other: Path) -> None:
        self._roots = str(app.desk.watch.path_of("")), str(other)
        super().__init__(app, f"a {self._roots[0]}   b {self._roots[1]}")
        self._all = False

    def start(self) -> Task:
        """Pair the modules and compare each pair."""
        roots = self._roots
        shelf = self.owner.desk.shelf
        sign = (*roots, shelf.mtime_ns if shelf is not None else 0)

        def job(task: Task) -> None:
            task.go_on("looking through both")
            a, b = load(roots[0]), load(roots[1])
            task.go_on("pairing the modules")
            pairing = pair_modules(a, b)
            task.add(Dumps(a, b, pairing))
            for one in compare_pairs(a, b, pairing.pairs):
                task.add(one)
                task.go_on(f"{name_of(one.pair.a)} compared")

        return self.owner.tasks.start("dumps", sign, job)

    @property
    def _dumps(self) -> Dumps | None:
        return self.work.found[0] if self.work is not None and self.work.found else None

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        found = self.work.found[1:] if self.work is not None else []
        return build(self._dumps, found, self._all, self.work is not None and self.work.done, width)

    def chosen(self, key: object) -> None:
        """Show the difference of two stages."""
        dumps = self._dumps
        if isinstance(key, int) and dumps is not None and self.work is not None:
            one: Compared = self.work.found[1 + key]
            a = side_of_dump(dumps.a, one.a, module_title(one.pair.a))
            b = side_of_dump(dumps.b, one.b, module_title(one.pair.b))
            self.owner.push_screen(DiffScreen(self.owner, a, b))

    def do(self, identity: str) -> None:
        """Carry out a command."""
        if identity == "dumps_all":
            self._all = not self._all
        else:
            super().do(identity)


def side_of_dump(listing: Listing, stage: Stage, title: str) -> Side:
    """A stage of any dump as one side of a comparison."""
    path = path_of(listing, stage.main)
    words = f"{stage_name(stage)} of {listing.root}"
    member = stage.main.path if listing.log else None
    want = Want(Place(str(path)), path, member, title, words)
    key = (str(path), stage.main.path, stage.main.stamp)
    return Side(f"{title} {words}", key, lambda: open_stage(listing, stage), want, path)
