"""Everything that is on the screen's mind: what is there, what is open, where the cursor is, what goes on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.ui.codetext import CodeText
from hlo_tui.ui.commands import Situation
from hlo_tui.ui.glyphs import BAD
from hlo_tui.ui.marks import Marks
from hlo_tui.ui.opened import Beside, Opened, Want
from hlo_tui.ui.replays import Replays
from hlo_tui.ui.shelf import Shelf
from hlo_tui.ui.trail import Trail
from hlo_tui.ui.treerows import Place, TreeView, module_title, stage_name
from hlo_tui.ui.watching import Watch

# How many of the lines typed for one purpose are kept.
_ANSWERS = 50

if TYPE_CHECKING:
    from hlo_tui.dump.files import Stamp
    from hlo_tui.dump.modules import ModuleKey
    from hlo_tui.job.terminal import Job
    from hlo_tui.replay.session import State
    from hlo_tui.replay.stopspec import StopSpec
    from hlo_tui.ui.counting import Matches
    from hlo_tui.ui.inspection import Inspection
    from hlo_tui.ui.replayrows import ReplayView


@dataclass(slots=True)
class Desk:
    """The screen's state. Only the app's handlers change it.

    Attributes:
        root: what was asked for, as it is to be shown.
        watch: where files come from.
        replays: the replay beside the screen.
        shelf: what the dump holds; None until the first look.
        mode: how changes are noticed.
        tree: how the shelf is shown.
        wanted: the file that was asked for last.
        text: the open file.
        inspection: what is known of the line that was under the cursor last, which is `inspected` (from 0).
        marks: the gutter.
        marked: the number of the open file that it is of; -1 for none yet.
        trail: where the cursor was.
        pattern: what was searched for.
        matches: the lines of the open file that match it, once they are counted.
        wrapped: whether the last search began anew at the other end.
        follow: whether new modules are opened as they come.
        changed: whether the open file was replaced.
        task: what the reader does, in words.
        notice: the last thing that was said.
        problem: why there is no text, and `failed` the state of the file then.
        asked: whether a replay was asked for that has nothing to stop at.
        leaving: whether ctrl+c was pressed once with nothing under way.
        later: the command to run when the file has been read, empty for none.
        answers: what was typed so far when asked for something, by purpose, oldest first.
        doubtful: stops that were typed, of which it is not known yet whether they mean anything here.
        arrived: the line (from 0) at which the open file was begun.
        touched: whether the person has done anything yet; until then what is most worth it is opened.
        job: what was started with the screen, whose output it shows.
        bisecting: how far a bisect is that runs beside the screen; empty where none does.
    """

    root: str
    watch: Watch
    replays: Replays
    shelf: Shelf | None = None
    mode: str = ""
    tree: TreeView = field(default_factory=TreeView)
    wanted: Want | None = None
    text: CodeText | None = None
    inspection: Inspection | None = None
    inspected: int = -1
    marks: Marks = field(default_factory=Marks)
    marked: int = -1
    trail: Trail = field(default_factory=Trail)
    pattern: re.Pattern[bytes] | None = None
    matches: Matches | None = None
    wrapped: bool = False
    follow: bool = False
    changed: bool = False
    task: str = ""
    notice: str = ""
    problem: HloTuiError | None = None
    failed: Stamp | None = None
    asked: bool = False
    leaving: bool = False
    later: str = ""
    answers: dict[str, list[str]] = field(default_factory=dict)
    doubtful: tuple[StopSpec, ...] = ()
    arrived: int = -1
    touched: bool = False
    job: Job | None = None
    bisecting: str = ""

    def answered(self, purpose: str, text: str) -> None:
        """Keep what was typed, to be found again."""
        if text.strip():
            before = [one for one in self.answers.get(purpose, ()) if one != text]
            self.answers[purpose] = [*before, text][-_ANSWERS:]

    @property
    def opened(self) -> Opened | None:
        """The open file."""
        return self.text.opened if self.text is not None else None

    def want(self, place: Place) -> Want:
        """How to open a place of the dump."""
        module = self.shelf.module(place.module) if self.shelf is not None and place.module else None
        stage = module.stage(place.label) if module is not None else None
        in_log = not self.watch.is_directory and module is not None and self._is_span(place)
        return Want(
            place=place,
            path=self.watch.path_of(place.path),
            member=place.path if in_log else None,
            title=module_title(module) if module is not None else "",
            stage=stage_name(stage) if stage is not None else place.path.rsplit("/", 1)[-1],
        )

    def _is_span(self, place: Place) -> bool:
        return self.watch.path_of(place.path).name != place.path

    def stage_beside(self, way: int) -> Place | None:
        """The stage before or after the one that is open, None where there is none."""
        want = self.wanted
        if want is None or self.shelf is None or want.place.module is None:
            return None
        module = self.shelf.module(want.place.module)
        if module is None:
            return None
        labels = [stage.label for stage in module.stages]
        if want.place.label not in labels:
            return None
        at = labels.index(want.place.label) + way
        if not 0 <= at < len(labels):
            return None
        stage = module.stages[at]
        return Place(stage.main.path, module.key, stage.label)

    def _step(self, way: int, line: int) -> bool:
        """Whether there is a pass before or after this one, in what is not HLO."""
        if self.opened is None or self.opened.page is None or not self.opened.scanned:
            return False
        from hlo_tui.ui.pagesteps import step_beside

        return step_beside(self.opened, line, way) is not None

    def same_place(self, place: Place, line: int) -> Want:
        """How to open another stage of the module that is open at what the cursor is on here."""
        want, here = self.want(place), self.wanted
        if here is None:
            return want
        known, before = here.place.label, here.beside.label if here.beside is not None else here.place.label
        if (
            self.opened is not None
            and self.opened.want is here
            and not (line == self.arrived and place.label == before)
        ):
            found = self.inspection if self.inspected == line else None
            computation = found.computation if found is not None else ""
            name = found.title if found is not None and found.kind == "instruction" else ""
        else:
            # One stage after the other, faster than they are read, or back again: the place where that began.
            computation, name, known = here.computation, here.instruction, before
        return replace(want, computation=computation, instruction=name, beside=self._beside(place, known))

    def _beside(self, place: Place, label: str) -> Beside | None:
        """A stage and another one of its module; None where that is the same."""
        module = self.shelf.module(place.module) if self.shelf is not None and place.module else None
        if module is None or label == place.label:
            return None
        stages = tuple(stage for stage in module.stages if stage.label in (label, place.label))
        root, log = str(self.watch.path_of("")), not self.watch.is_directory and self._is_span(place)
        back = bool(stages) and stages[-1].label == label
        return Beside(root, log, replace(module, stages=stages), back)

    @property
    def lost_tags(self) -> str:
        """That tags of the module are lost at the stage that is open, in words; empty where none is known to be."""
        opened = self.opened
        module = None
        if opened is not None and self.shelf is not None and opened.want.place.module is not None:
            module = self.shelf.module(opened.want.place.module)
        if opened is None or module is None or not opened.hlo:
            return ""
        first, now = self.shelf.tags(module) if self.shelf is not None else 0, len(opened.tagged)
        if now >= first:
            return ""
        which = (
            f"the {count_text(first, 'tag')} of this module" if not now else f"{first - now} of {first} tags"
        )
        return f"{which} {'are' if first - now > 1 else 'is'} lost here: K shows where to stop instead"

    def here(self, line: int) -> Want | None:
        """The same place, to be found in the file when it is read again."""
        if self.wanted is None:
            return None
        found = self.inspection if self.inspected == line else None
        name = found.title if found is not None and found.kind == "instruction" else ""
        computation = found.computation if found is not None else ""
        return replace(self.wanted, line=line, computation=computation, instruction=name, beside=None)

    def situation(self, pane: str, line: int, has_name: bool) -> Situation:
        """What the commands depend on, with the focus in `pane` and the cursor on `line`."""
        opened, state = self.opened, self.replays.state
        status = "none" if state is None else state.status
        found = self.inspection
        on_line = found is not None and found.kind == "instruction"
        return Situation(
            pane=pane,
            opened=opened is not None,
            scanned=opened is not None and opened.scanned,
            hlo=opened is not None and opened.hlo,
            looked=self.inspected == line,
            instruction=on_line,
            name=has_name,
            replay="standing" if status == "off" else status,
            at="begin" if state is None else state.at,
            elsewhere=state is not None and not self.replays.is_of(opened),
            replayed=self.replayed,
            runs=self._has_runs(),
            crashed=self.replays.crashed,
            partitions=self.replays.devices > 1,
            pattern=self.pattern is not None,
            back=self.trail.has_back,
            forward=self.trail.has_forward,
            earlier=self.stage_beside(-1) is not None or self._step(-1, line),
            later=self.stage_beside(1) is not None or self._step(1, line),
            changed=self.changed,
            task=bool(self.task),
            empty=opened is None and self.shelf is not None and bool(self.shelf.explanation),
            job="none" if self.job is None else "running" if self.job.code is None else "ended",
        )

    def _has_runs(self) -> bool:
        key = self.wanted.place.module if self.wanted is not None else None
        module = self.shelf.module(key) if self.shelf is not None and key is not None else None
        return module is not None and bool(module.executions)

    def healthy(self, want: Want, state: State) -> bool:
        """Keep whether a replay has met a NaN or infinity, or came to its end without; whether that is news."""
        from hlo_tui.ui.marks import health

        key = want.place.module
        if key is None or state.status == "busy" or self.tree.health.get(key) == BAD:
            return False
        found = health(state)
        if found in ("", self.tree.health.get(key)):
            return False
        self.mark_health(key, found)
        return True

    def mark_health(self, key: ModuleKey, sign: str) -> None:
        """Keep what is known of a module's health."""
        self.tree = replace(self.tree, health={**self.tree.health, key: sign})

    @property
    def waiting(self) -> bool:
        """Whether a job that was started with the screen still runs."""
        return self.job is not None and self.job.code is None

    @property
    def replayed(self) -> str:
        """The module and the stage that are replayed; empty where nothing is."""
        want = self.replays.want
        return f"{want.title} {want.stage}".strip() if want is not None else ""

    @property
    def ended(self) -> int:
        """The exit code of a job that was started with the screen and failed; 0 for all others."""
        return (self.job.code or 0) if self.job is not None else 0

    def replay_view(self, now: float) -> ReplayView:
        """How the replay is to be shown."""
        from hlo_tui.ui.replayrows import ReplayView

        opened, replays = self.opened, self.replays
        known = opened is not None and opened.hlo and self.marked == opened.number
        return ReplayView(
            state=replays.state,
            module=self.replayed,
            elsewhere=replays.state is not None and not replays.is_of(opened),
            tagged=len(self.marks.tagged - self.marks.disabled) if known else None,
            off=len(self.marks.tagged & self.marks.disabled) if known else 0,
            stops=len(self.marks.stops),
            asked=self.asked,
            grain=replays.grain,
            partition=replays.partition,
            crashed=replays.crashed,
            now=now,
        )
