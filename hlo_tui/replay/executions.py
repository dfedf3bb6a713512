"""The executions of a module that a job recorded, one snapshot each: the health of each, and the first bad one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.session import Session
from hlo_tui.replay.state import Options, State
from hlo_tui.replay.stopspec import TAGS, StopSpec
from hlo_tui.replay.summarywords import number_words

Json = dict[str, Any]
GOOD = "finite"


@dataclass(frozen=True, slots=True)
class Execution:
    """One recorded run.

    Attributes:
        path: its snapshot.
        health: "finite", "inf" or "nan" over all stops and outputs; empty while it is not known.
        report: what `survey.survey` gives.
        problem: why it could not be run.
    """

    path: Path
    health: str = ""
    report: Json | None = None
    problem: HloTuiError | None = None

    @property
    def known(self) -> bool:
        """Whether it was run, or tried."""
        return bool(self.health) or self.problem is not None


NOTHING: Mapping[Path, Execution] = MappingProxyType({})


class Executions:
    """Runs the executions of one module in a worker of its own, beside whatever else goes on.

    `on_change` is called on another thread with all executions, the oldest first, each time one becomes known.
    """

    def __init__(
        self,
        options: Options,
        on_change: Callable[[tuple[Execution, ...]], None],
        specs: tuple[StopSpec, ...] = (TAGS,),
        make_session: Callable[..., Session] = Session,
    ) -> None:
        self._on_change = on_change
        self._lock = threading.Condition()
        self._executions: list[Execution] = []
        self._closed = False
        self._halving = False
        self._session = make_session(options, self._no_news, specs)
        self._thread = threading.Thread(target=self._run, daemon=True)

    @staticmethod
    def _no_news(_state: State) -> None:
        """Only whole runs are of interest here."""

    @property
    def all(self) -> tuple[Execution, ...]:
        """The executions, the oldest first."""
        with self._lock:
            return tuple(self._executions)

    @property
    def activity(self) -> str:
        """What is being done now, in words; empty where nothing is."""
        return self._session.state.activity

    def start(self) -> None:
        """Begin to run them, in the background; those that are added later too."""
        self._thread.start()

    def add(self, paths: Iterable[Path], known: Mapping[Path, Execution] = NOTHING) -> None:
        """Add snapshots, in order of time, behind those that are there; what is `known` of one is not run again."""
        with self._lock:
            there = {execution.path for execution in self._executions}
            self._executions += [
                known.get(path, Execution(path)) for path in dict.fromkeys(paths) if path not in there
            ]
            self._lock.notify_all()

    def halve(self) -> None:
        """Run next what tells which is the first bad one, before all others."""
        with self._lock:
            self._halving = True
            self._lock.notify_all()

    def close(self) -> None:
        """Stop running them."""
        with self._lock:
            self._closed = True
            self._lock.notify_all()
        self._session.close()

    def examine(self, path: Path) -> Execution:
        """Run one now, on this thread, and keep what it showed.

        Raises:
            EngineError: the worker cannot be started for this module.
        """
        reports: list[Json] = []
        session = self._session
        if session.state.start is None:
            session.start()
            state = session.wait()
            if state.start is None:
                raise state.problem or EngineError("the engine does not start")
        try:
            session.use_inputs(str(path))
            state = session.wait()
            if state.problem is None:
                session.survey(reports.append)
                state = session.wait()
            problem = state.problem
        except HloTuiError as error:
            problem = error
        report = reports[0] if reports else None
        found = Execution(path, report["health"] if report else "", report, None if report else problem)
        self._keep(found)
        return found

    def _keep(self, found: Execution) -> None:
        with self._lock:
            if self._closed:
                return
            self._executions = [found if e.path == found.path else e for e in self._executions]
            everything = tuple(self._executions)
        self._on_change(everything)

    def _run(self) -> None:
        while (path := self._next()) is not None:
            try:
                self.examine(path)
            except HloTuiError as error:
                self._keep(Execution(path, problem=error))

    def _next(self) -> Path | None:
        with self._lock:
            while not self._closed:
                half, _ = halved(self._executions) if self._halving else (None, None)
                if half is not None:
                    return self._executions[half].path
                self._halving = False
                for execution in self._executions:
                    if not execution.known:
                        return execution.path
                self._lock.wait()
        return None

    def first_bad(self) -> tuple[Execution | None, int]:
        """The first execution that is not finite, found by halving, and how many were run for it; see `halved`."""
        runs = 0
        while True:
            executions = self.all
            half, bad = halved(executions)
            if half is None:
                return bad, runs
            self.examine(executions[half].path)
            runs += 1


def halved(executions: Sequence[Execution]) -> tuple[int | None, Execution | None]:
    """How far the search for the first bad execution is: the place of that to run next, else the first bad one.

    It is right where no execution after the first bad one is good again; the last one is tried first.
    """
    low, high = 0, len(executions) - 1
    bad: Execution | None = None
    while low <= high:
        middle = high if bad is None else (low + high) // 2
        found = executions[middle]
        if not found.known:
            return middle, None
        if found.health != GOOD:
            bad, high = found, middle - 1
        elif bad is None:
            return None, None
        else:
            low = middle + 1
    return None, bad


def changes(before: Json | None, now: Json) -> list[Json]:
    """What the stops of one execution show against those of the one before: by instruction, extremes then and now."""
    earlier = {(r["computation"], r["instruction"]): r for r in (before or {}).get("stops", ())}
    rows = []
    for row in now["stops"]:
        other = earlier.get((row["computation"], row["instruction"]))
        rows.append(
            {
                "computation": row["computation"],
                "instruction": row["instruction"],
                **{name: row[name] for name in ("nan", "inf", "min", "max")},
                "before": None
                if other is None
                else {name: other[name] for name in ("nan", "inf", "min", "max")},
            }
        )
    return rows


def described(execution: Execution, number: int) -> Json:
    """An execution as one line of JSON."""
    found: Json = {
        "event": "execution",
        "n": number,
        "file": str(execution.path),
        "health": execution.health or None,
    }
    if execution.report is not None:
        found["stops"] = [{k: v for k, v in row.items() if k != "last"} for row in execution.report["stops"]]
        found["outputs"] = {
            k: v for k, v in execution.report["outputs"].items() if k in ("nan", "inf", "min", "max")
        }
        found["recorded"] = execution.report["recorded"]
    if execution.problem is not None:
        found["problem"] = str(execution.problem)
    return found


# Over the lines of `words`.
HEADING = " run  health  file of the recorded run, and smallest .. largest element at each stop"


def words(said: Json) -> str:
    """The line of JSON as a line for a person."""
    name = Path(said["file"]).name
    if said["health"] is None:
        return visible(f"{said['n']:>4}  could not be run  {name}: {said.get('problem', '')}")
    parts = [f"{said['n']:>4}  {said['health']:6}  {name}"]
    for row in said["stops"]:
        extremes = f"{number_words(row['min'])} .. {number_words(row['max'])}"
        parts.append(f"  %{row['instruction']} {extremes}" + (f" nan {row['nan']}" if row["nan"] else ""))
    return visible("".join(parts))


def halved_words(bad: Execution | None, runs: int, count: int) -> str:
    """The result of halving, for a person."""
    if bad is None:
        return f"the last of {count} executions is finite; none was found that is not ({runs} run)"
    return visible(
        f"first bad execution: {bad.path.name} ({bad.health or bad.problem}), {runs} of {count} were run"
    )
