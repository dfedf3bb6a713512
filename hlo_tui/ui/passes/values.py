"""Two stages operation by operation: what each instruction of both computed on the same inputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType

from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.compare_values import compare_values
from hlo_tui.passes.engine import Engine
from hlo_tui.passes.links import SAME
from hlo_tui.ui.glyphs import BAD, DOT, FOLDED, OPEN, RAN, UNKNOWN
from hlo_tui.ui.panel import keys_of
from hlo_tui.ui.passes.inputs import HINT, parse_inputs
from hlo_tui.ui.passes.screen import TaskPanel
from hlo_tui.ui.passes.subject import leave_for
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.valuerows import number, summary_spans

if TYPE_CHECKING:
    from hlo_tui.ui.base import BaseApp
    from hlo_tui.ui.passes.diff import Side
    from hlo_tui.ui.tasks import Task

Json = dict[str, Any]
_NAME, _STATE = 34, 9
_SIGNS = {
    "equal": (RAN, "ran"), "within": (RAN, "ran"), "differs": (BAD, "nan"), "unknown": (UNKNOWN, "missing"),
    "shapes": (UNKNOWN, "missing"),
}  # fmt: skip
_WORDS = {"shapes": "no measure"}


@dataclass(frozen=True, slots=True)
class ValuesView:
    """How the values are shown.

    Attributes:
        all: whether those that agree are shown too.
        opened: the rows that show both values.
    """

    all: bool = False
    opened: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Spot:
    """A row that leads to an instruction of the first (0) or the second (1) module."""

    side: int
    row: int


def build(found: Sequence[Json], view: ValuesView, width: int) -> list[Row]:
    """The rows: the first that differs on top, in the order of the run."""
    differing = [at for at, one in enumerate(found) if one["state"] == "differs"]
    unknown = sum(one["state"] in ("unknown", "shapes") for one in found)
    words = f" {count_text(len(found), 'instruction')} ran in both, {len(differing):,} differ"
    head = row(
        Span(words, "problem" if differing else "good"),
        Span(f"   {unknown:,} not known" if unknown else "", "missing"),
    )
    shown = range(len(found)) if view.all else differing
    rows = [head, row()]
    if not shown:
        return [*rows, row(Span("  all that ran agrees: a shows it", "muted"))]
    if differing and not view.all:
        rows.append(row(Span(" in the order of the run: the first is where they part", "muted")))
    for at in shown:
        rows += _rows(found[at], at, at in view.opened or at in differing[:1], width)
    return rows


def _rows(one: Json, at: int, opened: bool, width: int) -> list[Row]:
    sign, role = _SIGNS.get(one["state"], (DOT, "muted"))
    a, b = (visible(one[side][1]) for side in "ab")
    name = f"%{a}" if a == b else f"%{a} → %{b}"
    how = "" if one["how"] == SAME else f"  {one['how']}"
    changed = f"  changed: {', '.join(one['what'])}" if one["what"] else ""
    state = _WORDS.get(one["state"], one["state"])
    head = row(
        Span(f" {OPEN if opened else FOLDED} ", "fold"), Span(f"{sign} ", role), Span(f"{name:<{_NAME}} ", "name"),
        Span(f"{state:<{_STATE}} ", role), *_errors(one), Span(f"{how}{changed}", "muted"), key=at,
    )  # fmt: skip
    if not opened:
        return [head]
    rows = [head]
    for side, letter in enumerate("ab"):
        where = visible(one[letter][0])
        rows.append(
            row(
                Span(f"     {letter} ", "removed" if side == 0 else "added"),
                *summary_spans(one[f"value_{letter}"]), right=[Span(where, "computation")], key=Spot(side, at),
            )
        )  # fmt: skip
    if one.get("why"):
        rows += wrap(visible(str(one["why"])), width, "missing", "     ")
    for worst in one.get("worst", ())[:4]:
        words = f"       element {worst['element']}: {number(worst['a'])} and {number(worst['b'])}"
        rows.append(row(Span(visible(words), "result")))
    return rows


def _errors(one: Json) -> list[Span]:
    if not one.get("out"):
        return []
    error = "NaN on one side" if one.get("nan_only") else f"error up to {number(one['max_abs'])}"
    return [Span(f"{one['out']:,} of {one['count']:,} out, {error}")]


class ValuesScreen(TaskPanel):
    """Runs both stages and shows what came of it."""

    PANEL = "values"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("values")

    def __init__(self, app: BaseApp, a: Side, b: Side) -> None:
        super().__init__(app, f"Values: {a.title}  and  {b.title}")
        self._sides = a, b
        self._view = ValuesView()
        self._inputs, self._seed = _inputs(app)

    def start(self) -> Task:
        """Run both on the same inputs."""
        a, b = self._sides
        inputs, seed = self._inputs, self._seed
        if a.path == b.path:
            raise HloTuiError("Both are in one file", "", "Write them into files of their own to run them.")

        def job(task: Task) -> None:
            task.go_on(f"running both on inputs {inputs}, an operation at a time")
            engine = Engine(task.say)
            task.on_stop = engine.interrupt
            for one in compare_values(a.path, b.path, inputs, seed, engine):
                task.add(one)

        return self.owner.tasks.start("values", (a.key, b.key, inputs, seed), job)

    def lines(self, width: int) -> Sequence[Row]:
        """The rows."""
        if self.work is None or (not self.work.done and not self.work.found):
            return [row(), row(Span("  both are being run on the same inputs", "muted"))]
        words = f" inputs: {self._inputs}" + (f", seed {self._seed}" if self._seed else "")
        head = row(Span(visible(words), "muted"))
        return [head, *build(self.work.found, self._view, width)] if self.work.found else ()

    def chosen(self, key: object) -> None:
        """Show both values, or go to the instruction."""
        if isinstance(key, int):
            self._view = replace(self._view, opened=self._view.opened ^ {key})
        elif isinstance(key, Spot) and self.work is not None:
            computation, name = self.work.found[key.row]["ab"[key.side]]
            want = self._sides[key.side].want
            leave_for(self.owner, replace(want, computation=computation, instruction=name))

    def turned(self, key: object, way: int) -> None:
        """Show both values, or only the first line."""
        if isinstance(key, int) and (key in self._view.opened) != (way > 0):
            self._view = replace(self._view, opened=self._view.opened ^ {key})

    def answered(self, purpose: str, text: str) -> None:
        """Run both again on other inputs."""
        if purpose == "values_inputs" and text:
            self._inputs, self._seed = parse_inputs(text, self._seed)
            self._view = ValuesView(all=self._view.all)
            self.work = self.start()

    def do(self, identity: str) -> None:
        """Carry out a command."""
        if identity == "values_all":
            self._view = replace(self._view, all=not self._view.all)
        elif identity == "values_inputs":
            self.ask("values_inputs", HINT, self._inputs)
        else:
            super().do(identity)


def _inputs(app: BaseApp) -> tuple[str, int]:
    """Those that the last search for a bad pass was made on, else those that a replay begins with."""
    search = app.tasks.get("bisect")
    verdict = search.found[-1].verdict if search is not None and search.found else None
    if verdict is not None and verdict.inputs:
        return str(verdict.inputs["asked"]), int(verdict.inputs["seed"] or 0)
    return app.replay_options.inputs, app.replay_options.seed
