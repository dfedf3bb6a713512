"""All stops of a replay so far, to go back to any of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

from textual.binding import BindingType

from hlo_tui.dump.words import count_text
from hlo_tui.hlo.visible import visible
from hlo_tui.ui.foundrows import of_partition
from hlo_tui.ui.glyphs import BAD, STANDING
from hlo_tui.ui.marks import value_sign
from hlo_tui.ui.panel import Panel, keys_of
from hlo_tui.ui.replayrows import Visit
from hlo_tui.ui.rows import Row, Span, row
from hlo_tui.ui.valuerows import iteration_text, largest, number, path_text, spark, summary_spans

if TYPE_CHECKING:
    from hlo_tui.replay.session import State, Stop
    from hlo_tui.ui.base import BaseApp


class HistoryScreen(Panel):
    """The stops in order of time, the newest below; the curve of each instruction above them."""

    PANEL = "history"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("history")

    def __init__(self, app: BaseApp) -> None:
        super().__init__(app, "History")
        self._words: list[str] = []
        self._bad = False

    def build(self, width: int) -> list[Row]:
        """Curves, then stops."""
        state = self.owner.desk.replays.state
        if state is None or not state.history:
            return [row(Span(" The replay has not stopped anywhere yet; c runs to the next stop.", "muted"))]
        return history_rows(state, self._shown(state), self.owner.desk.replays.partition, width)

    def begin(self) -> None:
        """Put the cursor where the replay stands."""
        state = self.owner.desk.replays.state
        self.show()
        if state is not None and state.number:
            self.rows.put_cursor(Visit(state.number))

    def do(self, identity: str) -> None:
        """Show fewer stops."""
        if identity == "history_filter":
            self.ask(identity, "words in name, computation or reason", " ".join(self._words))
        else:
            self._bad = not self._bad

    def answered(self, purpose: str, text: str) -> None:  # noqa: ARG002
        """Take the words."""
        self._words = text.lower().split()

    def chosen(self, key: object) -> None:
        """Stand there again."""
        if isinstance(key, Visit):
            self.owner.desk.replays.goto(key.number)
            self.dismiss(None)

    def _shown(self, state: State) -> list[Stop]:
        return [
            stop
            for stop in state.history
            if (not self._bad or value_sign(stop.summary) == BAD)
            and all(word in _text(stop) for word in self._words)
        ]


def _text(stop: Stop) -> str:
    return f"{stop.instruction} {stop.computation} {stop.event.get('reason', '')}".lower()


def history_rows(state: State, shown: list[Stop], partition: int, width: int) -> list[Row]:
    """The rows for some stops of a history."""
    rows = [
        row(Span(f" {count_text(len(state.history), 'stop')}, in order of time; enter goes there", "heading"))
    ]
    if len(shown) < len(state.history):
        rows.append(row(Span(f" {len(shown):,} of them are shown", "notice")))
    rows += _curves(shown, partition)
    rows.append(row())
    wide = max((len(stop.instruction) for stop in shown), default=0)
    for stop in shown:
        rows.append(_stop(stop, state, partition, min(wide, width // 4)))
    return rows


def _curves(shown: list[Stop], partition: int) -> Iterator[Row]:
    """The largest element over time, of each instruction that was met more than once."""
    values: dict[tuple[str, str], list[float | None]] = {}
    for stop in shown:
        of = values.setdefault((stop.computation, stop.instruction), [])
        of.append(largest(of_partition(stop.event, partition)))
    for (_, name), numbers in values.items():
        known = [value for value in numbers if value is not None]
        if len(known) > 1:
            yield row(
                Span(f" %{visible(name)}", "definition"), Span("  max ", "muted"), Span(spark(numbers, 60), "spark"),
                Span(f"  {number(known[0])} → {number(known[-1])}", "result"),
            )  # fmt: skip


def _stop(stop: Stop, state: State, partition: int, wide: int) -> Row:
    here = stop.number == state.number
    summary = of_partition(stop.event, partition)
    sign = value_sign(summary) or " "
    where = iteration_text(stop.event) or path_text(stop.event)
    source = visible(str(stop.event.get("source") or "").rsplit("/", 1)[-1])
    return row(
        Span(f" {STANDING if here else ' '}", "standing"),
        Span(f"{stop.number:>4} ", "standing" if here else "count"),
        Span(f"{sign} ", "nan"),
        Span(f"%{visible(stop.instruction):<{wide}}", "definition" if here else "text"),
        Span(f"  {where}  ", "muted"),
        *summary_spans(summary),
        right=[Span(source, "place")] if source else (),
        key=Visit(stop.number),
    )
