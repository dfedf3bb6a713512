"""What becomes of the tags of a module: where each lives at each stage, and where to stop when it is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.tags import is_user_key
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.history import History, Trace
from hlo_tui.passes.links import CERTAIN, SAME
from hlo_tui.passes.tags import Survival, TagLife, instead_at, survival
from hlo_tui.replay.stopspec import StopSpec
from hlo_tui.ui.glyphs import DOT, FOLDED, OPEN, STANDING, TAGGED
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.passes.subject import At, Subject, go, open_label, stage_words
from hlo_tui.ui.rows import Row, Span, row
from hlo_tui.ui.treerows import Place

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task

_WIDE = 120


@dataclass(frozen=True, slots=True)
class Survived:
    """The tags of a module through its stages.

    Attributes:
        survival: all of them.
        here: the label of the stage that the screen is about.
        instead: what to stop at there, by the id of the tag, for those that it does not have.
    """

    survival: Survival
    here: str
    instead: dict[int, Trace]

    @property
    def tags(self) -> list[TagLife]:
        """Those that the program set."""
        return [life for life in self.survival.tags if is_user_key(life.key)]


def build(found: Survived, about: Subject, opened: frozenset[int], width: int) -> list[Row]:
    """All rows: a tag each, opened into the stages at which something happened to it."""
    tags = found.tags
    stage = about.module.stage(found.here)
    if not tags:
        return [row(), row(Span("  no stage of this module has a tag that the program set", "muted"))]
    gone = [life for life in tags if found.here not in life.where]
    at = visible(stage_words(stage)) if stage is not None else ""
    words = f" {count_text(len(tags), 'tag')}; at {at} "
    rows = [
        row(
            Span(words),
            Span(f"{len(gone)} are lost" if gone else "all are there", "notice" if gone else "good"),
        )
    ]
    rows.append(row())
    for life in tags:
        rows += _life(found, life, about, life.id in opened, width)
    return rows


def _life(found: Survived, life: TagLife, about: Subject, is_open: bool, width: int) -> list[Row]:
    labels = found.survival.stages
    source = f"{life.first.file.rsplit('/', 1)[-1]}:{life.first.line}" if life.first.file else ""
    strip = "".join(_digit(len(life.where.get(label, ()))) for label in labels)
    lost = found.here not in life.where
    head = [
        Span(f" {OPEN if is_open else FOLDED} ", "fold"),
        Span(f"{DOT if lost else TAGGED} ", "muted" if lost else "tagged"),
        Span(visible(f'{life.key}="{life.value}"'), "tag"),
        Span(f"  {visible(life.first.opcode)}", "opcode"),
        Span(f"  {visible(source)}", "place"),
    ]
    note = f"{len(life.where)} of {len(labels)} stages"
    right = [
        Span(f"{strip}  " if width >= _WIDE and len(strip) <= width // 3 else "", "count"),
        Span(note, "muted"),
    ]
    rows = [row(*head, right=right, key=life.id)]
    if lost:
        rows.append(_instead(found, life))
    return [*rows, *_stages(found, life, about)] if is_open else rows


def _digit(count: int) -> str:
    return DOT if not count else str(count) if count < 10 else "+"


def _instead(found: Survived, life: TagLife) -> Row:
    trace = found.instead.get(life.id)
    if trace is None:
        return row(Span("     nothing is left of it here", "muted"))
    how = "" if trace.how == SAME else f"   {trace.how}{'' if trace.sure == CERTAIN else ', ' + trace.sure}"
    place = trace.place
    return row(
        Span("     lost here; stop instead at ", "notice"),
        Span(f"%{visible(place.name)}", "name"),
        Span(how, "muted"),
        right=[Span(visible(place.computation), "computation")],
        key=At(found.here, place.computation, place.name, -life.id),
    )


def _stages(found: Survived, life: TagLife, about: Subject) -> list[Row]:
    """The stages at which it is in other instructions than before."""
    rows: list[Row] = []
    before: list[str] = []
    for label in found.survival.stages:
        now = life.where.get(label, [])
        names = [tag.instruction for tag in now]
        if names == before:
            continue
        before = names
        stage = about.module.stage(label)
        words = visible(stage_words(stage) if stage is not None else label)
        sign = STANDING if label == found.here else " "
        rows.append(row(Span(f"     {sign} ", "accent"), Span(words, "strong"), key=At(label)))
        if not now:
            rows.append(row(Span("         lost", "removed")))
        rows += [
            row(
                Span(f"         %{visible(tag.instruction)}", "name"),
                Span(f"  {visible(tag.opcode)}", "opcode"),
                right=[Span(visible(tag.computation), "computation")],
                key=At(label, tag.computation, tag.instruction, number),
            )
            for number, tag in enumerate(now, 1)
        ]
    return rows


class TagsScreen(TaskPanel):
    """The tags of one module, as they are at the stage that is open and at all others."""

    PANEL = "survival"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("survival")

    def __init__(self, app: BaseApp, about: Subject) -> None:
        super().__init__(app, f"Tags of {about.title}")
        self._about = about
        self._here = open_label(app) or about.module.stages[-1].label
        self._opened: frozenset[int] = frozenset()

    def start(self) -> Task:
        """Follow all of them through all stages."""
        about, here = self._about, self._here

        def job(task: Task) -> None:
            history = History(about.listing, about.module, lambda stage: task.go_on(f"reading {stage.label}"))
            found = survival(about.listing, about.module, history)
            at = (
                history.index(here) if about.module.stage(here) in history.stages else len(history.stages) - 1
            )
            lost = [life for life in found.tags if here not in life.where and is_user_key(life.key)]
            traces = {life.id: instead_at(history, life, at) for life in lost}
            instead = {number: trace for number, trace in traces.items() if trace is not None}
            task.add(Survived(found, history.stages[at].label, instead))

        return self.owner.tasks.start("survival", (about.key, here), job)

    @property
    def survived(self) -> Survived | None:
        """What was found, None while it is being found out."""
        return self.work.found[0] if self.work is not None and self.work.found else None

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        found = self.survived
        return () if found is None else build(found, self._about, self._opened, width)

    def chosen(self, key: object) -> None:
        """Go there, or open a tag."""
        if isinstance(key, At):
            go(self.owner, self._about, key)
        elif isinstance(key, int):
            self._opened ^= {key}

    def turned(self, key: object, way: int) -> None:
        """Open or close a tag."""
        if isinstance(key, int) and (key in self._opened) != (way > 0):
            self._opened ^= {key}

    def do(self, identity: str) -> None:
        """Carry out a command."""
        if identity == "survival_break":
            self._break()
        else:
            super().do(identity)

    def _break(self) -> None:
        """Stop, at the stage that is open, where the lost tags would be."""
        found = self.survived
        if found is None or not found.instead:
            raise HloTuiError("No tag is lost at this stage")
        stage = self._about.module.stage(found.here)
        if stage is None:
            raise HloTuiError("The stage is gone", found.here)
        want = self.owner.desk.want(Place(stage.main.path, self._about.module.key, stage.label))
        replays = self.owner.desk.replays
        wanted = [StopSpec("instruction", t.place.name, t.place.computation) for t in found.instead.values()]
        new = [spec for spec in dict.fromkeys(wanted) if spec not in replays.specs(want)]
        replays.set_specs(want, (*replays.specs(want), *new))
        self.owner.mark()
        self.notice = f"{count_text(len(new), 'stop')} set; c in the code runs to them"
