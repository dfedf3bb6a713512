"""One operation on all its rungs: in the jaxpr, in StableHLO, in HLO before and after the passes, and in the code that
was made of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from hlo_tui.dump.modules import Stage
from hlo_tui.dump.opening import open_stage, path_of, readable_stages
from hlo_tui.errors import HloTuiError
from hlo_tui.formats.equations import Pairs, base
from hlo_tui.formats.family import Family
from hlo_tui.formats.jaxprs import Equation, equations_named, read_equations
from hlo_tui.formats.links import CERTAIN, GUESS, LIKELY, Link, Links
from hlo_tui.formats.opening import open_page
from hlo_tui.formats.page import Page
from hlo_tui.formats.stablehlo import Program, read_program
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.passes.changes import Place
from hlo_tui.passes.history import History
from hlo_tui.passes.kernels import Kernels

JAXPR, STABLEHLO, BEFORE, PASS, AFTER, KERNEL = "jaxpr", "stablehlo", "before", "pass", "after", "kernel"
ORDER = (JAXPR, STABLEHLO, BEFORE, PASS, AFTER, KERNEL)
# So many of a kind are told.
_MOST = 16
_LONGEST = 240
_MAIN = "main"
_SUFFIX = re.compile(r"\.\d+$")
# Bytes of two stages together up to which they are compared.
MOST_COMPARED = 16 << 20
_SURE = (CERTAIN, LIKELY, GUESS)

Stop = Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Rung:
    """One operation on one rung.

    Attributes:
        kind: JAXPR, STABLEHLO, BEFORE, PASS, AFTER or KERNEL.
        label: the stage's label, or what the file is.
        path: of the file.
        line: from 0.
        name: COMPUTATION/NAME of an instruction, the function of an operation, of a jaxpr what is defined.
        text: the line as it is in the file, bounded.
        sure: CERTAIN, LIKELY or GUESS: whether this is what the rung that was asked about has become or comes from.
        why: what that rests on, a few words; empty where nothing has to be said.
        here: whether this is what was asked about.
    """

    kind: str
    label: str
    path: Path
    line: int
    name: str
    text: str
    sure: str = CERTAIN
    why: str = ""
    here: bool = False


class Ladder:
    """The rungs of one family, each file read when it is first needed."""

    def __init__(self, family: Family) -> None:
        self.family = family
        # Asked between steps; what was half done is not kept.
        self.stop: Stop = lambda: False
        self._stages = readable_stages(family.module) if family.module is not None else []
        self._modules: dict[str, Module] = {}
        self._program: tuple[Page, Program] | None = None
        self._jaxpr: tuple[Page, list[Equation], dict[int, str]] | None = None
        self._links: dict[str, Links] = {}
        self._paired: Pairs | None = None
        self._histories: dict[tuple[str, str], History] = {}
        self.kernels = Kernels(family)

    @property
    def first(self) -> Stage | None:
        """The stage that was made of StableHLO; None where it was not dumped."""
        return next((stage for stage in self._stages if stage.point.kind == "before"), None)

    @property
    def last(self) -> Stage | None:
        """The stage that code was made of; None where it was not dumped."""
        return next((stage for stage in reversed(self._stages) if stage.point.kind == "after"), None)

    def stage_at(self, path: Path) -> Stage | None:
        """The stage whose file this is."""
        listing = self.family.listing
        return next(
            (one for one in self._stages if any(path_of(listing, file) == path for file in one.files)), None
        )

    def of_instruction(self, stage: Stage, instruction: Instruction, way: int = 0) -> list[Rung]:
        """The rungs of an instruction of a stage; only those above where `way` is -1, only those below where it is 1.

        Raises:
            HloTuiError: a file that has to be read cannot be.
        """
        here = self._rung(stage, instruction, CERTAIN, "", True)
        lasts = self._elsewhere(stage, self.last, instruction) if way >= 0 else []
        if way > 0:
            return _in_order([here, *self._others(self.last, stage, lasts), *self._down(lasts)])
        firsts = self._elsewhere(stage, self.first, instruction)
        operations = [found for one, sure in firsts for found in self._operation(self.first, one, sure)]
        if not operations:
            operations = self._operation(stage, instruction, CERTAIN)
        if not firsts and self.first is not None and self.first is not stage:
            firsts = self._made(operations)
        rungs = [here, *self._up(operations, instruction, stage), *self._arguments(firsts)]
        rungs += self._others(self.first, stage, firsts) + self._others(self.last, stage, lasts)
        return _in_order(rungs + self._down(lasts))

    def of_operation(self, line: int, way: int = 0) -> list[Rung]:
        """The rungs of the operation of StableHLO at a line, `way` as above; none where there is no operation.

        Raises:
            HloTuiError: a file that has to be read cannot be.
        """
        page, program = self.program()
        operation = program.by_line.get(line)
        if page is None or operation is None:
            return []
        here = replace(self._operation_rung(page, Link(operation, CERTAIN)), here=True)
        links = [Link(operation, CERTAIN)]
        above = self._equations(links) if way <= 0 else []
        return _in_order([here, *above, *(self._below(links) if way >= 0 else ())])

    def of_equation(self, line: int) -> list[Rung]:
        """The rungs of the equation of the jaxpr at a line, or that begins before it.

        Raises:
            HloTuiError: a file that has to be read cannot be.
        """
        page, equations, _ = self.jaxpr()
        before = [one for one in equations if one.line <= line]
        if page is None or not before:
            return []
        equation = before[-1]
        here = replace(self._equation_rung(page, equation, CERTAIN, ""), here=True)
        links = [Link(operation, made.sure, made.alike) for operation, made in self._pairs().back(equation)]
        # What an equation is for comes last of what it is lowered to.
        links.reverse()
        page_of_program, _ = self.program()
        rungs = [here]
        if page_of_program is not None:
            rungs += [self._operation_rung(page_of_program, link) for link in links[:_MOST]]
        return _in_order([*rungs, *self._below(links)])

    def of_kernel(self, function: str, here: Rung, way: int = 0) -> list[Rung]:
        """The rungs of a function of the code that was made.

        Raises:
            HloTuiError: a file that has to be read cannot be.
        """
        last = self.last
        if last is None:
            return [here]
        found = self.kernels.instruction(self.module(last), function)
        if found is None:
            return [here]
        rungs = [
            one
            for one in self.of_instruction(last, found, min(way, 0))
            if (one.path, one.line) != (here.path, here.line)
        ]
        return _in_order([*(replace(one, here=False) for one in rungs), here])

    def module(self, stage: Stage) -> Module:
        """A stage, scanned.

        Raises:
            HloTuiError: it cannot be read.
        """
        found = self._modules.get(stage.label)
        if found is None:
            found = Module(open_stage(self.family.listing, stage))
            if not found.scan(stop=self.stop).complete:
                raise HloTuiError("stopped", stage.label)
            self._modules[stage.label] = found
        return found

    def program(self) -> tuple[Page | None, Program]:
        """The module of StableHLO and its operations; none where it was not dumped as text."""
        if self._program is None:
            path = self.family.stablehlo
            page = _scanned(path, self.stop) if path is not None else None
            if page is None or page.sort.language != "mlir":
                return None, Program([])
            self._program = (page, read_program(page))
        return self._program

    def jaxpr(self) -> tuple[Page | None, list[Equation], dict[int, str]]:
        """The jaxpr, its equations, and where its lines come from."""
        if self._jaxpr is None:
            pages = [_scanned(path, self.stop) for path in self.family.jaxprs]
            found = [page for page in pages if page is not None and page.sort.language == "jaxpr"]
            if not found:
                return None, [], {}
            frames = next((page.origins for page in found if page.origins), {})
            places = {line: base(rows[0].partition(" ")[0]) for line, rows in frames.items() if rows}
            # The text is a file of its own, that other programs open too.
            self._jaxpr = (found[-1], read_equations(found[-1]), places)
        return self._jaxpr

    def _elsewhere(
        self, stage: Stage, other: Stage | None, one: Instruction
    ) -> list[tuple[Instruction, str]]:
        """What an instruction is at another stage, with how sure that is."""
        if other is None or self.family.module is None:
            return []
        if other.label == stage.label:
            return [(one, CERTAIN)]
        if stage.main.size + other.main.size > MOST_COMPARED:
            return []
        places = [each.label for each in self._stages]
        back = places.index(other.label) < places.index(stage.label)
        pair = (other, stage) if back else (stage, other)
        key = (pair[0].label, pair[1].label)
        if key not in self._histories:
            module = replace(self.family.module, stages=pair)
            self._histories[key] = History(self.family.listing, module)
        history = self._histories[key]
        place = Place(one.computation, one.name)
        steps = history.backward(1, place) if back else history.forward(0, place)
        traces = next((found for _, found in steps), [])
        there = self.module(other)
        pairs = [
            (there.find(trace.place.name, trace.place.computation), trace.sure) for trace in traces[:_MOST]
        ]
        return [(found, sure) for found, sure in pairs if found is not None]

    def _operation(self, stage: Stage | None, one: Instruction, sure: str) -> list[Link]:
        page, program = self.program()
        if stage is None or page is None:
            return []
        if stage.label not in self._links:
            self._links[stage.label] = Links(program, self.module(stage), stage is self.first)
        found = self._links[stage.label].of(one)
        return [] if found is None else [replace(found, sure=_weaker(found.sure, sure))]

    def _up(self, links: list[Link], instruction: Instruction, stage: Stage) -> list[Rung]:
        page, _ = self.program()
        if page is not None and links:
            return [*(self._operation_rung(page, link) for link in links[:_MOST]), *self._equations(links)]
        jaxpr, equations, frames = self.jaxpr()
        if jaxpr is None:
            return []
        rows = self.module(stage).frames(instruction)[:1]
        place = base(f"{rows[0].file}:{rows[0].line}:{rows[0].column}") if rows else ""
        found = equations_named(
            equations, instruction.op_name, instruction.shape.without_layout(), frames, place
        )
        return self._found(jaxpr, found.equations, CERTAIN if found.sure else LIKELY)

    def _made(self, operations: list[Link]) -> list[tuple[Instruction, str]]:
        """The instructions of the first stage that operations were made to, where the passes in between hide which."""
        first = self.first
        if first is None or not operations:
            return []
        if first.label not in self._links:
            self._links[first.label] = Links(self.program()[1], self.module(first), True)
        known = self._links[first.label]
        found = [pair for link in operations for pair in known.back(link.operation, self.stop)[:1]]
        return [(one, _weaker(LIKELY, link.sure)) for one, link in found]

    def _arguments(self, firsts: list[tuple[Instruction, str]]) -> list[Rung]:
        """The functions that parameters are arguments of: in StableHLO, and for the outermost the jaxpr itself."""
        rungs = []
        for one, sure in firsts[:_MOST]:
            function = _SUFFIX.sub("", one.computation)
            page, _ = self.program()
            entry = page.entry(function) if one.opcode == "parameter" and page is not None else None
            path = self.family.stablehlo
            if entry is None or page is None or path is None or entry.kind != "function":
                continue
            name = f"{entry.name}/%arg{one.operand_text.strip()}"
            text = page.text(entry.line).strip()[:_LONGEST]
            rungs.append(
                Rung(STABLEHLO, page.sort.words, path, entry.line, name, text, sure, "an argument of it")
            )
            jaxpr, _, _ = self.jaxpr()
            outer = (
                [each for each in jaxpr.entries if each.kind == "jaxpr" and not each.level]
                if jaxpr is not None
                else []
            )
            if function == _MAIN and outer and jaxpr is not None:
                text = jaxpr.text(outer[-1].line).strip()[:_LONGEST]
                place = (self.family.jaxprs[-1], outer[-1].line)
                rungs.append(Rung(JAXPR, jaxpr.sort.words, *place, "lambda", text, sure, "an argument of it"))
        return rungs

    def _equations(self, links: list[Link]) -> list[Rung]:
        jaxpr, _, _ = self.jaxpr()
        rungs: dict[int, Rung] = {}
        for link in links[:_MOST] if jaxpr is not None else ():
            made = self._pairs().of(link.operation)
            if made is not None and jaxpr is not None:
                sure = _weaker(link.sure, made.sure)
                why = f"one of {made.alike} that are alike" if made.alike > 1 else ""
                rungs.setdefault(made.equation.line, self._equation_rung(jaxpr, made.equation, sure, why))
        return list(rungs.values())

    def _found(self, page: Page, equations: tuple[Equation, ...], sure: str) -> list[Rung]:
        several = len(equations) > 1
        why = f"one of {len(equations)} that are alike" if several else ""
        told = GUESS if several else sure
        return [self._equation_rung(page, one, told, why) for one in equations[:_MOST]]

    def _below(self, links: list[Link]) -> list[Rung]:
        """What became of operations: in HLO, and the code."""
        first, last = self.first, self.last
        at = first or last
        if at is None or not links:
            return []
        _, program = self.program()
        if at.label not in self._links:
            self._links[at.label] = Links(program, self.module(at), at is first)
        known = self._links[at.label]
        found = [
            (one, _weaker(link.sure, back.sure))
            for link in links[:_MOST]
            for one, back in known.back(link.operation, self.stop)[:_MOST]
        ]
        rungs = [self._rung(at, one, sure, "") for one, sure in found[:_MOST]]
        if first is None or last is None:
            return rungs + self._down(found if last is not None else [])
        lasts = [
            (there, _weaker(sure, more))
            for one, sure in found[:_MOST]
            for there, more in self._elsewhere(first, last, one)
        ]
        return [*rungs, *self._others(last, first, lasts), *self._down(lasts)]

    def _others(self, at: Stage | None, stage: Stage, found: list[tuple[Instruction, str]]) -> list[Rung]:
        if at is None or at.label == stage.label:
            return []
        return [self._rung(at, one, sure, "") for one, sure in found[:_MOST]]

    def _down(self, lasts: list[tuple[Instruction, str]]) -> list[Rung]:
        last = self.last
        rungs = []
        for one, sure in lasts[:_MOST] if last is not None else ():
            assert last is not None
            for found in self.kernels.of(self.module(last), one, self.stop):
                rungs.append(Rung(KERNEL, found.words, found.path, found.line, found.name, found.text, sure))
        return rungs[:_MOST]

    def _rung(self, stage: Stage, one: Instruction, sure: str, why: str, here: bool = False) -> Rung:
        kind = BEFORE if stage is self.first else AFTER if stage is self.last else PASS
        text = self.module(stage).text(one.line).strip()[:_LONGEST]
        path = path_of(self.family.listing, stage.main)
        return Rung(kind, stage.label, path, one.line, f"{one.computation}/{one.name}", text, sure, why, here)

    def _operation_rung(self, page: Page, link: Link) -> Rung:
        one = link.operation
        name = f"{one.function}/{one.result}" if one.result else one.function
        why = f"one of {link.alike} that are alike" if link.alike > 1 else ""
        path = self.family.stablehlo
        assert path is not None
        text = page.text(one.line).strip()[:_LONGEST]
        return Rung(STABLEHLO, page.sort.words, path, one.line, name, text, link.sure, why)

    def _pairs(self) -> Pairs:
        if self._paired is None:
            _, equations, frames = self.jaxpr()
            self._paired = Pairs(self.program()[1], equations, frames)
        return self._paired

    def _equation_rung(self, page: Page, one: Equation, sure: str, why: str) -> Rung:
        if not self.family.counted:
            sure, why = GUESS, "there is another number of jaxprs of this name than of modules"
        path = self.family.jaxprs[-1]
        text = page.text(one.line).strip()[:_LONGEST]
        return Rung(JAXPR, page.sort.words, path, one.line, one.outs or one.primitive, text, sure, why)


def _scanned(path: Path, stop: Stop) -> Page | None:
    try:
        page = open_page(path)
    except HloTuiError:
        return None
    return page if page.scan(stop=stop).complete else None


def _weaker(a: str, b: str) -> str:
    return max(a, b, key=lambda one: _SURE.index(one) if one in _SURE else 1)


def _in_order(rungs: list[Rung]) -> list[Rung]:
    """From the program down to the code, each once; what was asked about is kept before all others."""
    kept: dict[tuple[Path, int, str], Rung] = {}
    for rung in sorted(rungs, key=lambda one: not one.here):
        kept.setdefault((rung.path, rung.line, rung.name), rung)
    return sorted(
        kept.values(), key=lambda one: (ORDER.index(one.kind), _SURE.index(one.sure), one.label, one.line)
    )
