"""The recorded runs of a module over the main screen: looked at one after the other, live as they come."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType
from textual.message import Message

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.executions import Execution, Executions, halved
from hlo_tui.ui.opened import Opened
from hlo_tui.ui.panel import Panel, keys_of
from hlo_tui.ui.rows import Row
from hlo_tui.ui.runrows import Run, RunsView, build

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp


_TICK = 0.5


class RunsChanged(Message):
    """More is known of the runs."""

    def can_replace(self, message: Message) -> bool:
        """The runs themselves hold everything."""
        return isinstance(message, RunsChanged)


class RunScreen(Panel):
    """Runs each recorded execution in a worker of its own, for as long as it is open; what was found is kept."""

    PANEL = "run_list"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("run_list")

    def __init__(self, app: BaseApp, opened: Opened, kept: dict[Path, Execution]) -> None:
        """Take what is known of runs already; what is found out is put there too."""
        super().__init__(app, "Recorded runs")
        self._opened = opened
        self._kept = kept
        self._unfolded: frozenset[Path] = frozenset()
        self._halving = False
        self._times: dict[Path, int] = {}
        want, replays = opened.want, app.desk.replays
        self._runs = Executions(replays.options_for(want), self._heard, replays.specs(want))

    def build(self, width: int) -> list[Row]:
        """The strip and the list."""
        runs = self._runs.all
        half, first = halved(runs)
        replays = self.owner.desk.replays
        start = replays.state.start if replays.state is not None and replays.is_of(self._opened) else None
        view = RunsView(
            runs=runs,
            times=self._times,
            first=first if half is None else None,
            halving=self._halving and half is not None,
            unfolded=self._unfolded,
            chosen=str(start.get("inputs_file") or "") if start is not None else "",
        )
        return build(view, width)

    def begin(self) -> None:
        """Begin to look at them."""
        self.shelved()
        self._runs.start()
        self.set_interval(_TICK, self.show_foot)

    def activity(self) -> str:
        """Which run is being looked at, and what is done for it."""
        runs = self._runs.all
        known = sum(run.known for run in runs)
        return f"{known + 1:,} of {len(runs):,}  {visible(self._runs.activity)}" if known < len(runs) else ""

    def on_unmount(self) -> None:
        """End the worker."""
        self._runs.close()

    def shelved(self) -> None:
        """More runs may have been recorded."""
        shelf, key = self.owner.desk.shelf, self._opened.want.place.module
        module = shelf.module(key) if shelf is not None and key is not None else None
        files = module.executions if module is not None else ()
        for file in files:
            self._times[self.owner.desk.watch.path_of(file.path)] = file.mtime_ns
        self._runs.add(list(self._times), self._kept)
        self.show()

    def do(self, identity: str) -> None:
        """Look for the first bad one, or go to where it is known."""
        if identity == "run_list_first":
            self._halving = True
            half, first = halved(self._runs.all)
            if half is not None:
                self._runs.halve()
            elif first is not None:
                self.rows.put_cursor(Run(first.path))
            else:
                self.notice = "the last of them is finite; none is known that is not"

    def chosen(self, key: object) -> None:
        """Replay the run under the cursor."""
        if not isinstance(key, Run):
            return
        found = next((run for run in self._runs.all if run.path == key.path), None)
        if found is not None and found.problem is not None:
            raise HloTuiError("This one cannot be run", found.problem.title)
        replays = self.owner.desk.replays
        session = replays.of(self._opened.want)
        session.use_inputs(str(key.path), session.options.seed)
        replays.edited.clear()
        self.dismiss(None)
        self.owner.say(f"the replay runs on {key.path.name} now")

    def turned(self, key: object, way: int) -> None:
        """Show the values of a run, or do not."""
        if isinstance(key, Run):
            self._unfolded = self._unfolded | {key.path} if way > 0 else self._unfolded - {key.path}

    def _heard(self, runs: tuple[Execution, ...]) -> None:
        for run in runs:
            if run.known:
                self._kept[run.path] = run
        self.post_message(RunsChanged())

    def on_runs_changed(self, _: RunsChanged) -> None:
        """Show what is known now; the first bad one, once that is certain."""
        half, first = halved(self._runs.all)
        if self._halving and half is None:
            self._halving = False
            if first is not None:
                self.rows.put_cursor(Run(first.path))
        self.show()
