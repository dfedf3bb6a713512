"""The search for the first bad pass: chosen, begun, watched, stopped and read on the screen."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.dump import choosing
from hlo_tui.dump.listing import Listing, load
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.errors import HloTuiError
from hlo_tui.passes.bisect import CODEGEN, Bisection, Options, Verdict, most_replays
from hlo_tui.passes.blocks import Reader, Text
from hlo_tui.passes.compare import Comparison
from hlo_tui.passes.engine import Engine
from hlo_tui.passes.hunting import ANY, hunt
from hlo_tui.passes.stages import open_stage, readable_stages
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.bisectrows import Asked, Progress, Setting, Start, build
from hlo_tui.ui.passes.diff import diff_stages
from hlo_tui.ui.passes.diffrows import Compared, Spot
from hlo_tui.ui.passes.inputs import HINT, parse_inputs
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.passes.subject import At, Subject, go, stage_words
from hlo_tui.ui.rows import Row

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.tasks import Task

_HINTS = {
    "inputs": f"any, {HINT}",
    "output": "the number of the output to look at, from 0; nothing for all of them",
    "tolerance": "how far off an element may be, absolute and relative, such as 1e-3; nothing for the types' own",
    "measure": "another dump whose first stage is the measure; nothing for this one's own",
}


class BisectScreen(TaskPanel):
    """One search."""

    PANEL = "bisect"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("bisect")

    def __init__(self, app: BaseApp, about: Subject) -> None:
        super().__init__(app, f"Which pass broke the numbers of {about.title}")
        self._about = about
        wanted = app.replay_options
        self._options = Options(wanted.inputs, wanted.seed, platform=wanted.platform)
        self._against = ""
        self._shown: frozenset[Start] = frozenset()

    def start(self) -> Task | None:
        """Show the search that was done or is being done for this module; a new one begins when it is asked for."""
        known = self.owner.tasks.get("bisect")
        if known is None or not isinstance(known.key, tuple) or known.key[0] != self._about.key:
            return None
        self._options, self._against = known.key[1], known.key[2]
        return known

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        about = self._about
        count = len(readable_stages(about.module))
        asked = Asked(self._options, self._against, count, most_replays(count))
        found = self.work.found[-1] if self.work is not None and self.work.found else None
        return build(asked, found, self.work is not None and not self.work.done, width)

    def show(self) -> None:
        """Show it; the cursor begins where enter goes on: at the start, or at what to try next."""
        super().show()
        keys = [line.key for line in self.rows.rows]
        for place in (Start(ANY), Start()):
            if place in keys and place not in self._shown:
                self._shown |= {place}
                self.rows.put_cursor(place)
                return

    def chosen(self, key: object) -> None:
        """Change a setting, begin, or go to what was found."""
        if isinstance(key, Setting):
            self.ask(f"bisect_{key.name}", _HINTS[key.name], self._value(key.name))
        elif isinstance(key, Start):
            self._options = replace(self._options, inputs=key.inputs or self._options.inputs)
            self._run()
        elif isinstance(key, At):
            go(self.owner, self._about, key)
        elif isinstance(key, Spot):
            self._go(key)
        elif key is not None:
            self._diff()

    def do(self, identity: str) -> None:
        """Carry out a command."""
        if identity == "bisect_start":
            self._run()
        elif identity == "bisect_diff":
            self._diff()
        else:
            super().do(identity)

    def answered(self, purpose: str, text: str) -> None:
        """Take a setting."""
        name = purpose.removeprefix("bisect_")
        if name == "inputs":
            inputs, seed = parse_inputs(text, self._options.seed)
            self._options = replace(self._options, inputs=inputs, seed=seed)
        elif name == "output":
            if text and not text.isdecimal():
                raise HloTuiError("Not an output", text, "Outputs are numbered from 0.")
            self._options = replace(self._options, output=int(text) if text else None)
        elif name == "tolerance":
            self._options = replace(self._options, tolerance=_tolerance(text))
        elif name == "measure":
            if text and not Path(text).expanduser().is_dir():
                raise HloTuiError("No such directory", text)
            self._against = os.fspath(Path(text).expanduser()) if text else ""

    def _value(self, name: str) -> str:
        options = self._options
        return {
            "inputs": options.inputs,
            "output": "" if options.output is None else str(options.output),
            "tolerance": "" if options.tolerance is None else f"{options.tolerance:g}",
            "measure": self._against,
        }[name]

    def _run(self) -> None:
        if self.work is not None and not self.work.done:
            raise HloTuiError("It is under way", "", "ctrl+c stops it.")
        about, options, against = self._about, self._options, self._against
        key = (about.key, options, against)
        self._shown -= {Start(ANY)}
        self.work = self.owner.tasks.start(
            "bisect", key, lambda task: _search(task, about, options, against), again=True
        )

    def _guilty(self) -> tuple[Stage, Stage]:
        """The stages before and after the guilty pass.

        Raises:
            HloTuiError: there is none.
        """
        found = self.work.found[-1] if self.work is not None and self.work.found else None
        verdict = found.verdict if found is not None else None
        if verdict is None or verdict.first_bad is None or verdict.last_good is None:
            raise HloTuiError("No pass has been found guilty")
        return verdict.last_good, verdict.first_bad

    def _go(self, key: Spot) -> None:
        stage = self._guilty()[key.side]
        go(self.owner, self._about, At(stage.label, key.computation, key.name))

    def _diff(self) -> None:
        before, after = self._guilty()
        self.owner.push_screen(diff_stages(self.owner, self._about, before.label, after.label))


def _tolerance(text: str) -> float | None:
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise HloTuiError("Not a number", text, "Such as 1e-3.") from None


def _search(task: Task, about: Subject, options: Options, against: str) -> None:
    """The whole search, on the task's thread."""
    other: tuple[Listing, Module] | None = None
    if against:
        listing = load(against)
        other = listing, choosing.find_module(listing, about.module.name)
    step = ""

    def make(given: Options, try_words: str = "") -> Bisection:
        def on_step(words: str) -> None:
            nonlocal step
            step = f"{try_words}: {words}" if try_words else words
            task.found[:] = [Progress(tuple(search.judged))]
            task.say(step)

        search = Bisection(about.listing, about.module, given, on_step, other, engine)
        return search

    engine = Engine(lambda note: task.say(f"{step}   {note}"))
    task.on_stop = engine.interrupt
    try:
        verdict = hunt(options, make) if options.inputs == ANY else make(options).run()
    finally:
        engine.close()
    judged = tuple(verdict.judged)
    last = judged[-1].stage.label if judged and verdict.verdict == CODEGEN else ""
    task.found[:] = [Progress(judged, verdict, _compared(about, verdict), last)]
    task.words = "stopped" if verdict.stopped else ""


def _compared(about: Subject, verdict: Verdict) -> Compared | None:
    """What the guilty pass changed; None where none is, or where it cannot be read any more."""
    if verdict.first_bad is None or verdict.last_good is None:
        return None
    reader = Reader()
    try:
        before, after = (
            Text(open_stage(about.listing, s), reader) for s in (verdict.last_good, verdict.first_bad)
        )
    except HloTuiError:
        return None
    comparison = Comparison(before, after)
    diff = comparison.run()
    names = stage_words(verdict.last_good), stage_words(verdict.first_bad)
    return Compared(*names, (before, after), diff, comparison.links).hide(frozenset())
