"""One instruction through all stages of a module: what it was before, and what became of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from hlo_tui.dump.listing import Listing
from hlo_tui.dump.modules import Module, Stage
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.attributes import parse_metadata
from hlo_tui.hlo.frames import SourceFrame, inline_frame
from hlo_tui.hlo.numerals import number_of
from hlo_tui.hlo.visible import visible
from hlo_tui.passes.blocks import Reader, Text
from hlo_tui.passes.changes import Place
from hlo_tui.passes.compare import Comparison
from hlo_tui.passes.links import CERTAIN, GUESS, LIKELY, Link, Links
from hlo_tui.passes.nodes import METADATA, Parsed
from hlo_tui.passes.stages import need_stages, open_stage

ORIGIN, SOURCE, NAME = "origin", "source line", "name"
_SURE = {ORIGIN: CERTAIN, SOURCE: LIKELY, NAME: GUESS}
# So many instructions are followed at once: a copy in every partition, not one in every layer.
_MOST = 16
_QUOTED = re.compile(r'"([^"\\]{1,512})"')


@dataclass(frozen=True, slots=True)
class Trace:
    """An instruction at one stage.

    Attributes:
        place: which instruction.
        how: how it was found from its neighbour: see `Link`; or ORIGIN, SOURCE or NAME.
        sure: CERTAIN, LIKELY or GUESS.
        what: the kinds of changes in it on the way from or to the neighbour.
        neighbour: that instruction of the neighbouring stage.
    """

    place: Place
    how: str
    sure: str
    what: tuple[str, ...] = ()
    neighbour: Place | None = None


class History:
    """The stages of one module, with what is which between neighbours; found out once, when first needed.

    Attributes:
        stages: in the order of the compilation.
        on_stage: told of each stage that is about to be read.
    """

    def __init__(
        self, listing: Listing, module: Module, on_stage: Callable[[Stage], None] = lambda _: None
    ) -> None:
        """Take a module of a dump; `on_stage` is told of each stage that is about to be read.

        Raises:
            HloTuiError: it has no stage that can be read.
        """
        self.stages: list[Stage] = need_stages(module, 1)
        self.on_stage = on_stage
        self._listing = listing
        self._reader = Reader()
        self._texts: dict[int, Text] = {}
        self._links: dict[int, Links] = {}

    def index(self, label: str) -> int:
        """The place of a stage by its label, or by the number of its step.

        Raises:
            HloTuiError: there is none.
        """
        number = number_of(label)
        for place, stage in enumerate(self.stages):
            if stage.label == label or (number is not None and stage.point.step == number):
                return place
        raise HloTuiError(f"no stage {visible(label)!r}", "hlo-tui passes DIR MODULE lists them")

    def stage_with(self, name: str) -> int:
        """The first stage that has an instruction called NAME or COMPUTATION/NAME; the first one where none has."""
        computation, _, last = name.rpartition("/")
        for at in range(len(self.stages)):
            blocks = self.text(at).blocks
            wanted = (
                [blocks[computation]] if computation in blocks else [] if computation else blocks.values()
            )
            if any(last.lstrip("%") in block.index for block in wanted):
                return at
        return 0

    def text(self, stage: int) -> Text:
        """A stage's text; the last two that were asked for are kept.

        Raises:
            HloTuiError: it cannot be read.
        """
        text = self._texts.pop(stage, None)
        if text is None:
            self.on_stage(self.stages[stage])
            text = Text(open_stage(self._listing, self.stages[stage]), self._reader)
        self._texts[stage] = text
        while len(self._texts) > 2:
            del self._texts[next(iter(self._texts))]
        return text

    def links(self, stage: int) -> Links:
        """What is which between a stage and the next one.

        Raises:
            HloTuiError: one of them cannot be read.
        """
        if stage not in self._links:
            comparison = Comparison(self.text(stage), self.text(stage + 1))
            comparison.run()
            self._links[stage] = comparison.links
        return self._links[stage]

    def parsed(self, stage: int, place: Place) -> Parsed | None:
        """An instruction, None where there is none."""
        block = self.text(stage).blocks.get(place.computation)
        at = None if block is None else block.index.get(place.name)
        return None if block is None or at is None else block.parsed(at)

    def forward(self, stage: int, place: Place) -> Iterator[tuple[int, list[Trace]]]:
        """What became of an instruction, stage by stage; an empty list, the last one, where it is gone."""
        places = [place]
        for at in range(stage, len(self.stages) - 1):
            links = self.links(at)
            found = _followed(places, [links.after(one.computation, one.name) for one in places])
            if not found:
                found = self._elsewhere(at, at + 1, places)
            yield at + 1, found
            if not found:
                return
            places = [trace.place for trace in found]

    def backward(self, stage: int, place: Place) -> Iterator[tuple[int, list[Trace]]]:
        """What an instruction was, stage by stage, with all that was merged into it."""
        places = [place]
        for at in range(stage - 1, -1, -1):
            links = self.links(at)
            found = _followed(places, [links.before(one.computation, one.name) for one in places])
            if not found:
                found = self._origin(at, places) or self._elsewhere(at + 1, at, places)
            yield at, found
            if not found:
                return
            places = [trace.place for trace in found]

    def _origin(self, at: int, places: list[Place]) -> list[Trace]:
        """What the `origin` of an instruction names, where the stage has it."""
        text = self.text(at)
        found = []
        for place in places:
            parsed = self.parsed(at + 1, place)
            for name in _QUOTED.findall(parsed.notes.get("origin", "")) if parsed is not None else ():
                blocks = (block for block in text.blocks.values() if name in block.index)
                found += [_trace(block.name, block.parsed(block.index[name]), ORIGIN) for block in blocks]
        return found[:_MOST]

    def _elsewhere(self, here: int, there: int, places: list[Place]) -> list[Trace]:
        """Instructions of another stage with the same source and opcode, else the same source, else the name."""
        wanted = [(place, self.parsed(here, place)) for place in places]
        marks = {self._mark(here, parsed): parsed for _, parsed in wanted if parsed is not None}
        marks.pop(None, None)
        alike: list[Trace] = []
        like: list[Trace] = []
        named: list[Trace] = []
        names = {place.name for place, _ in wanted}
        for block in self.text(there).blocks.values():
            for at in range(len(block.rows)):
                parsed = block.parsed(at)
                mark = self._mark(there, parsed) if marks and parsed is not None else None
                if parsed is not None and mark in marks:
                    known = marks[mark]
                    (alike if known.opcode == parsed.opcode else like).append(
                        _trace(block.name, parsed, SOURCE)
                    )
                elif parsed is not None and parsed.name in names:
                    named.append(_trace(block.name, parsed, NAME))
        return (alike or like or named)[:_MOST]

    def _mark(self, stage: int, parsed: Parsed) -> object:
        """Where an instruction comes from: op_name and frames; None where the text does not say."""
        fields = parse_metadata(parsed.notes.get(METADATA, ""))
        frames = self.text(stage).frames(parsed.frame) or inline_frame(fields)
        return (fields.get("op_name"), frames) if frames else None

    def frames(self, stage: int, place: Place) -> tuple[SourceFrame, ...]:
        """The source frames of an instruction, innermost first."""
        parsed = self.parsed(stage, place)
        if parsed is None:
            return ()
        fields = parse_metadata(parsed.notes.get(METADATA, ""))
        return self.text(stage).frames(parsed.frame) or inline_frame(fields)


def _followed(places: list[Place], links: list[list[Link]]) -> list[Trace]:
    found: dict[tuple[str, str], Trace] = {}
    for place, there in zip(places, links, strict=True):
        for link in there:
            other = link.place
            if not other.opcode:
                other = replace(other, opcode=place.opcode, shape=place.shape)
            what = link.change.what if link.change is not None else ()
            if link.change is not None:
                other = (
                    link.change.b
                    if (other.name, other.computation) == _name(link.change.b)
                    else link.change.a
                )
            found.setdefault((other.computation, other.name), Trace(other, link.how, link.sure, what, place))
    return list(found.values())[:_MOST]


def _name(place: Place) -> tuple[str, str]:
    return place.name, place.computation


def _trace(computation: str, parsed: Parsed | None, how: str) -> Trace:
    assert parsed is not None
    return Trace(Place(computation, parsed.name, parsed.opcode, parsed.shape), how, _SURE[how])
