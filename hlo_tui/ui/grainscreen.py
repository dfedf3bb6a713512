"""The same in all grains: where XLA computes something else when it compiles more at a time, and which fusion it is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import BindingType

from hlo_tui.dump.words import count_text
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible
from hlo_tui.replay.session import Stop
from hlo_tui.ui.messages import Seen
from hlo_tui.ui.panel import Panel, keys_of, words_of
from hlo_tui.ui.rows import Row, Span, row, wrap
from hlo_tui.ui.valuerows import Json, number, summary_spans

if TYPE_CHECKING:
    from hlo_tui.replay.session import State
    from hlo_tui.ui.base import BaseApp

_WORDS = {
    "equal": ("equal, bit for bit", "good"), "within": ("within tolerance", "good"), "differs": ("differs", "bad"),
    "unknown": ("not known", "missing"), "shapes": ("cannot be compared", "missing"),
}  # fmt: skip
_MEANS = {
    "unit": "an instruction at a time, a fusion as one: what the job computes",
    "whole": "as much in one piece as there is",
}


@dataclass(frozen=True, slots=True)
class Fusion:
    """A row about a fusion that computes something else than its instructions."""

    place: int


class GrainScreen(Panel):
    """Compares one value, then, where that is asked for, the whole module."""

    PANEL = "grain_list"
    BINDINGS: ClassVar[list[BindingType]] = keys_of("grain_list")

    def __init__(self, app: BaseApp, place: tuple[str, str] | None) -> None:
        """Compare the value of an instruction, or the module where there is none."""
        super().__init__(app, "Compare grains")
        self._place = place
        self._value: Json | None = None
        self._module: Json | None = None
        self._asked = ""
        self._problem = ""

    def build(self, width: int) -> list[Row]:
        """What is known."""
        rows = []
        if self._place is not None:
            rows += list(value_rows(self._place[1], self._value, width, self._problem))
            rows.append(row())
        if self._module is not None:
            return rows + list(module_rows(self._module, width))
        if self._asked == "module":
            return [*rows, row(Span(" the module is being run in all grains", "busy"))]
        return [
            *rows,
            row(
                Span(" m", "key"),
                Span(" runs the whole module in all grains, and names the fusions that differ"),
            ),
        ]

    def begin(self) -> None:
        """Ask for the value."""
        if self._place is None:
            self._ask("module")
        else:
            self._ask("grains")

    def replay_changed(self, state: State) -> None:
        """What was asked for is not coming, where it failed."""
        if state.status != "busy" and state.problem is not None:
            self._asked, self._problem = "", words_of(state.problem)

    def on_seen(self, message: Seen) -> None:
        """Show what came back."""
        self._asked = ""
        if message.what == "grains":
            self._value = message.result
        elif message.what == "module":
            self._module = message.result
        self.show()

    def do(self, identity: str) -> None:
        """Compare the module."""
        if identity == "grain_list_module":
            self._ask("module")

    def chosen(self, key: object) -> None:
        """Go to where a fusion ran."""
        if isinstance(key, Fusion) and self._module is not None:
            found = self._module["fusions"][key.place]
            event = {"position": found["position"], "instruction": found["instruction"]}
            self.owner.desk.replays.running.goto(Stop((), event))
            self.dismiss(None)

    def _ask(self, what: str) -> None:
        self._asked = what
        params: dict[str, Any] = {"what": what}
        if self._place is not None and what == "grains":
            params["value"] = {"computation": self._place[0], "instruction": self._place[1]}
        self.owner.desk.replays.running.inspect(params, lambda result: self._tell(what, result))

    def _tell(self, what: str, result: dict[str, Any]) -> None:
        self.post_message(Seen(what, result))


def value_rows(name: str, found: Json | None, width: int, problem: str = "") -> Iterator[Row]:
    """One value in all grains; `problem` is why it is not known."""
    yield row(Span(f" %{visible(name)} in all grains", "title"))
    if found is None and problem:
        yield from wrap(visible(problem), width, "missing", " ")
        return
    if found is None:
        yield row(Span(" being computed", "busy"))
        return
    yield row(
        Span("  body   ", "strong"), Span("operation by operation, fusions entered: the reference", "muted")
    )
    yield row(Span("         "), *summary_spans(found["reference"]))
    for one in found["rows"]:
        yield from _grain(one, width)
        yield row(Span("         "), *summary_spans(one["value"]))
    alone = found.get("alone")
    if alone is not None:
        yield row(Span("  the fusion alone, against its instructions on the same operands:", "muted"))
        yield from _state("         ", alone, width)
    yield row(Span(f"  tolerance {number(found['tolerance'])} of absolute and relative error", "muted"))


def module_rows(found: Json, width: int) -> Iterator[Row]:
    """The outputs of a module in all grains, and its fusions."""
    yield row(Span(" the outputs of the module, against body grain", "title"))
    for one in found["rows"]:
        yield from _grain(one, width)
    fusions = found["fusions"]
    looked = count_text(found["looked_at"], "fusion")
    if not found["looked_at"]:
        yield row(Span(" there is no fusion in it", "muted"))
    elif not fusions:
        yield row(
            Span(f" {looked} looked at: each computes what its instructions do, on the same operands", "good")
        )
    else:
        yield row(
            Span(
                f" {len(fusions):,} of {looked} compute something else than their instructions; enter goes there",
                "bad",
            )
        )
    for place, one in enumerate(fusions):
        iteration = f"  iteration {one['iteration']:,}" if one.get("iteration") is not None else ""
        yield row(
            Span("   "), Span(f"%{visible(one['instruction'])}", "definition"),
            Span(f"  in {visible(one['computation'])}{iteration}  ", "muted"), *_errors(one), key=Fusion(place),
        )  # fmt: skip
    yield row(Span(f"  tolerance {number(found['tolerance'])} of absolute and relative error", "muted"))


def _grain(one: Json, width: int) -> Iterator[Row]:
    grain = str(one["grain"])
    yield row(Span(f"  {grain:<6} ", "strong"), Span(_MEANS.get(grain, ""), "muted"))
    yield from _state("         ", one, width)


def _state(indent: str, one: Json, width: int) -> Iterator[Row]:
    words, role = _WORDS.get(str(one["state"]), (str(one["state"]), "text"))
    yield row(Span(indent), Span(words, role), Span("  "), *_errors(one))
    if one.get("why"):
        yield from wrap(visible(str(one["why"])), width, "missing", indent)
    for place in (one.get("worst") or ())[:3]:
        yield row(
            Span(f"{indent}{visible(str(place.get('element', place.get('index', ''))))}  ", "muted"),
            Span(number(place["a"]), "result"), Span(" in body, here ", "muted"), Span(number(place["b"]), "result"),
        )  # fmt: skip


def _errors(one: Json) -> Iterator[Span]:
    if one.get("state") in ("equal", "unknown", "shapes") or "count" not in one:
        return
    if one.get("nan_only"):
        yield Span("NaN on one side", "nan")
    else:
        yield Span(f"error up to {number(one['max_abs'])}, relative {number(one['max_rel'])}")
    yield Span(f"; out of tolerance {one['out']:,} of {one['count']:,}", "muted")


def compare(app: BaseApp) -> None:
    """Compare the value of the instruction under the cursor, or the module where there is none.

    Raises:
        HloTuiError: nothing is replayed.
    """
    found = app.desk.inspection
    if app.desk.replays.session is None:
        raise HloTuiError("Nothing is being replayed", "", "c begins.")
    instruction = found.instruction if found is not None else None
    place = None if instruction is None else (instruction.computation, instruction.name)
    app.push_screen(GrainScreen(app, place))
