"""The rows of a search for the first bad pass: what is run, how far it is, and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from hlo_tui.hlo.visible import visible
from hlo_tui.passes.bisect import CODEGEN, DIFFERS, EQUAL, NONE, NOT_RUN, Judged, Options, Verdict
from hlo_tui.passes.hunting import ANY
from hlo_tui.passes.verdicts import exonerated, headline, limits, values
from hlo_tui.ui.glyphs import BAD, RAN, UNKNOWN
from hlo_tui.ui.passes.diffrows import Compared, DiffView
from hlo_tui.ui.passes.diffrows import build as diff_rows
from hlo_tui.ui.passes.subject import At, stage_words
from hlo_tui.ui.rows import Row, Span, row, wrap

_SIGNS = {EQUAL: (RAN, "ran"), DIFFERS: (BAD, "nan")}
_LABEL = 14
# Inputs that show what small numbers do not.
HARDER = (
    (ANY, "all kinds with several seeds, until some show a fault"),
    ("large", "numbers of all sizes of the type, both signs"),
    ("boundary", "zeros, ones, the least and the greatest of the type"),
    ("normal", "numbers around zero"),
)


@dataclass(frozen=True, slots=True)
class Setting:
    """A row that changes how the search is done."""

    name: str


@dataclass(frozen=True, slots=True)
class Start:
    """The row that begins; on other inputs where they are named."""

    inputs: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be run.

    Attributes:
        options: how.
        against: another dump whose first stage is the measure, "" for this one's own.
        stages: how many there are.
        most: how many replays that takes at most.
    """

    options: Options
    against: str
    stages: int
    most: int


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a search is.

    Attributes:
        judged: the stages that were run.
        verdict: what was found, None while it is being found.
        compared: the stages before and after the guilty pass; None where there is none.
        last: the label of the last stage that was run, where the code generator is guilty.
    """

    judged: tuple[Judged, ...] = ()
    verdict: Verdict | None = None
    compared: Compared | None = None
    last: str = ""


def build(asked: Asked, found: Progress | None, running: bool, width: int) -> list[Row]:
    """All rows."""
    rows = list(_settings(asked, found is not None or running))
    if found is None:
        return [*rows, *(_before(width) if not running else ())]
    if found.verdict is not None:
        rows += _verdict(found, found.verdict, width)
    rows += [row(), row(Span(" stages that were run", "heading"))]
    for judged in found.judged:
        sign, role = _SIGNS.get(judged.state, (UNKNOWN, "missing"))
        state = "agrees" if judged.state == EQUAL else judged.state
        why = visible(judged.why) if judged.why else ""
        rows.append(
            row(
                Span(f"   {sign} ", role), Span(f"{visible(stage_words(judged.stage))}  "),
                Span(state, "removed" if judged.state == DIFFERS else "muted"),
                Span(f"  {why}" if judged.state == NOT_RUN or why == "the measure" else "", "muted"),
                key=At(judged.stage.label, row=-1),
            )
        )  # fmt: skip
    return rows


def _settings(asked: Asked, begun: bool) -> Iterator[Row]:
    options = asked.options
    tolerance = "what the element types allow" if options.tolerance is None else f"{options.tolerance:g}"
    seed = "" if options.inputs not in ("auto", "made", ANY) else f", seed {options.seed} where they are made"
    settings = (
        ("inputs", f"{options.inputs}{seed}"),
        ("output", "all of them" if options.output is None else str(options.output)),
        ("tolerance", tolerance),
        (
            "measure",
            f"the first stage of {asked.against}" if asked.against else "the first stage of this module",
        ),
    )
    for name, value in settings:
        yield row(Span(f"   {name:<{_LABEL}}", "muted"), Span(visible(value)), key=Setting(name))
    words = f"   {'run it again' if begun else 'start'}"
    many = f"   {asked.stages} stages, at most {asked.most} replays"
    yield row(Span(words, "strong"), Span(many, "muted"), key=Start())


def _before(width: int) -> Iterator[Row]:
    yield row()
    words = (
        "The same inputs go through the dumped stages, an operation at a time, and the outputs are compared: the "
        "first pass after which they are others is named. Where no pass changes them, the last stage is "
        "compared with what the compiler makes of it, fusion by fusion. Nothing of the job is touched."
    )
    yield from wrap(words, width - 2, "muted", "  ")


def _verdict(found: Progress, verdict: Verdict, width: int) -> Iterator[Row]:
    yield row()
    good = verdict.verdict == NONE
    role = "notice" if verdict.stopped or verdict.blind else "good" if good else "problem"
    yield from wrap(visible(headline(verdict)), width - 1, role, " ")
    for line in values(verdict):
        yield from wrap(visible(line), width - 2, "text", "   ")
    if verdict.verdict == CODEGEN:
        yield from _fusions(verdict.fusions, found.last)
    for line in exonerated(verdict):
        yield from wrap(visible(line), width - 2, "good", "   ")
    yield from _harder(verdict, width)
    if found.compared is not None:
        yield row()
        yield row(Span(" what that pass changed", "heading"))
        yield from diff_rows(found.compared, DiffView(), width)
    yield row()
    for line in limits(verdict):
        yield from wrap(visible(line), width - 2, "missing" if line.startswith("not ") else "muted", "   ")


def _harder(verdict: Verdict, width: int) -> Iterator[Row]:
    """Other inputs to try, where those that were made are small numbers and show nothing."""
    if verdict.verdict != NONE or verdict.stopped or verdict.blind or verdict.inputs.get("inputs") != "made":
        return
    yield row()
    yield from wrap(
        "Made inputs are small numbers. Some faults need others to be seen:", width - 2, "notice", "   "
    )
    for inputs, what in HARDER:
        yield row(Span(f"   {inputs:<{_LABEL}}", "strong"), Span(what, "muted"), key=Start(inputs))


def _fusions(fusions: Sequence[dict[str, object]], last: str) -> Iterator[Row]:
    for number, fusion in enumerate(fusions):
        name, computation = str(fusion["instruction"]), str(fusion["computation"])
        yield row(
            Span(f"   %{visible(name)}", "name"), Span(" on the same operands:", "muted"),
            right=[Span(visible(computation), "computation")], key=At(last, computation, name, number),
        )  # fmt: skip
        worst = fusion.get("worst")
        for one in worst[:4] if isinstance(worst, list) else ():
            words = f"     element {one['element']}: {one['a']}, compiled {one['b']}"
            yield row(Span(visible(words), "result"))
