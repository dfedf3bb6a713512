"""The cost of a whole module: every instruction as often as it runs, and the sums of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from hlo_tui.cost.analysis import CONTROL, Analysis, operand_shapes
from hlo_tui.cost.collectives import KINDS, Collective, collective
from hlo_tui.cost.cost import NOTHING, Cost
from hlo_tui.cost.loops import trip_count
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.body import Body
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.numerals import LARGEST
from hlo_tui.hlo.scopes import own_frame
from hlo_tui.hlo.visible import visible


@dataclass(frozen=True, slots=True)
class Line:
    """One instruction.

    Attributes:
        name, computation, opcode, shape, op_name: as in the text.
        file, line, function: the line of the program that made it, from 1; "" and 0 where it is not known.
        code_line: the line in the module's text, from 0.
        times: how often it runs in one run of the module.
        once: the cost of one time.
        collective: what it sends, None where it sends nothing.
    """

    name: str
    computation: str
    opcode: str
    shape: str
    op_name: str
    file: str
    line: int
    function: str
    code_line: int
    times: float
    once: Cost
    collective: Collective | None = None

    @property
    def total(self) -> Cost:
        """The cost of all times."""
        return self.once.times(self.times)


@dataclass(slots=True)
class CostReport:
    """The cost of a module.

    Attributes:
        title: which module and stage.
        lines: the instructions that cost anything, the most operations first, among equals the most bytes.
        total: everything as often as it runs.
        once: as XLA's HloCostAnalysis counts: each loop for one iteration.
        by_opcode: operations by the opcode that does them, in fusions too, and bytes by what moves them.
        by_op_name: the same by op_name.
        notes: what was left out or taken for granted.
    """

    title: str
    lines: list[Line] = field(default_factory=list)
    total: Cost = NOTHING
    once: Cost = NOTHING
    by_opcode: dict[str, Cost] = field(default_factory=dict)
    by_op_name: dict[str, Cost] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def collectives(self) -> list[Line]:
        """What sends something to other devices, the most bytes first."""
        found = [line for line in self.lines if line.collective is not None]
        return sorted(found, key=lambda line: -(line.collective.size if line.collective else 0) * line.times)


def cost_of(module: Module, title: str, stop: Callable[[], bool] = lambda: False) -> CostReport:
    """The cost of a scanned module.

    Raises:
        HloTuiError: it has no computation.
    """
    outline = module.outline
    if outline is None or outline.entry is None:
        raise HloTuiError(
            "there is no computation in this", visible(title), "hlo-tui show FILE says what it holds"
        )
    analysis = Analysis(module, stop)
    report = CostReport(title)
    runs = _Runs(analysis)
    opcodes: dict[str, Cost] = defaultdict(Cost)
    names: dict[str, Cost] = defaultdict(Cost)
    for name, times in runs.times(outline.entry.name):
        body = analysis.body(name)
        if body is None or not times or stop():
            continue
        all_of_it = NOTHING
        for instruction, once in analysis.costs(name):
            all_of_it += once
            if instruction.opcode in CONTROL:
                continue
            sent = None
            if instruction.opcode in KINDS:
                sent = collective(instruction, list(operand_shapes(body, instruction)), module.header)
            if once == NOTHING and sent is None:
                continue
            report.total += once.times(times)
            report.lines.append(_line(module, instruction, times, once, sent))
            for inner, opcode, cost in _parts(analysis, instruction, once):
                opcodes[opcode] += cost.times(times)
                names[inner or instruction.op_name] += cost.times(times)
        analysis.remember(name, all_of_it)
    report.once = analysis.computation(outline.entry.name)
    report.lines.sort(key=lambda line: (-line.total.flops, -line.total.bytes))
    report.by_opcode, report.by_op_name = dict(opcodes), dict(names)
    report.notes += _notes(report, runs)
    if stop():
        report.notes.append("stopped before all of it was counted")
    return report


def _line(module: Module, found: Instruction, times: float, once: Cost, sent: Collective | None) -> Line:
    frame = own_frame(module.frames(found))
    return Line(
        found.name,
        found.computation,
        found.opcode,
        found.shape.without_layout(),
        found.op_name,
        frame.file if frame is not None else "",
        frame.line if frame is not None else 0,
        frame.function if frame is not None else "",
        found.line,
        times,
        once,
        sent,
    )


def _parts(analysis: Analysis, instruction: Instruction, once: Cost) -> Iterator[tuple[str, str, Cost]]:
    """Of a fusion the operations by what does them, and the bytes; of everything else the whole: op_name, opcode
    and cost."""
    inner = (
        analysis.body(instruction.called[0])
        if instruction.opcode == "fusion" and instruction.called
        else None
    )
    if inner is None:
        yield instruction.op_name, instruction.opcode, once
        return
    yield instruction.op_name, "fusion", Cost(bytes=once.bytes)
    yield from _inside(analysis, inner, 0)


def _inside(analysis: Analysis, body: Body, depth: int) -> Iterator[tuple[str, str, Cost]]:
    for one in body.instructions:
        nested = analysis.body(one.called[0]) if one.opcode == "fusion" and one.called and depth < 8 else None
        if nested is not None:
            yield from _inside(analysis, nested, depth + 1)
            continue
        cost = analysis.instruction(body, one)
        if cost.flops or cost.transcendentals or cost.unknown:
            yield one.op_name, one.opcode, cost.arithmetic(1)


class _Runs:
    """How often each computation runs in one run of the module."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self.unknown_loops: list[str] = []
        self.branches = 0

    def times(self, entry: str) -> Iterator[tuple[str, float]]:
        """The computations that run as such, callers first."""
        calls: dict[str, list[tuple[str, float]]] = {}
        order: list[str] = []
        waiting: list[tuple[str, Iterator[tuple[str, float]]]] = [(entry, iter(self._calls(entry, calls)))]
        while waiting:
            name, left = waiting[-1]
            callee = next((one for one, _ in left if one not in calls), None)
            if callee is not None:
                waiting.append((callee, iter(self._calls(callee, calls))))
            else:
                waiting.pop()
                order.append(name)
        counts: dict[str, float] = defaultdict(float)
        counts[entry] = 1.0
        place = {name: at for at, name in enumerate(order)}
        for name in reversed(order):
            yield name, counts[name]
            for callee, factor in calls[name]:
                # A call back to what is around it goes nowhere.
                if place[callee] < place[name]:
                    counts[callee] = min(counts[callee] + counts[name] * factor, LARGEST)

    def _calls(self, name: str, calls: dict[str, list[tuple[str, float]]]) -> list[tuple[str, float]]:
        found: list[tuple[str, float]] = []
        calls[name] = found
        body = self._analysis.body(name)
        for one in body.instructions if body is not None else ():
            if one.opcode == "while":
                trips = trip_count(one, self._analysis.body)
                if trips is None:
                    self.unknown_loops.append(one.name)
                count = 1 if trips is None else trips
                condition, inner = (one.attributes.get(key, "").lstrip("%") for key in ("condition", "body"))
                found += [(inner, float(count)), (condition, float(count + (trips is not None)))]
            elif one.opcode == "conditional" and one.called:
                self.branches += 1
                costs = [self._analysis.computation(branch) for branch in one.called]
                best = max(range(len(costs)), key=lambda at: (costs[at].flops, costs[at].bytes))
                found += [(branch, float(at == best)) for at, branch in enumerate(one.called)]
            elif one.opcode in CONTROL and one.called:
                found.append((one.called[0], 1.0))
        found[:] = [(callee, factor) for callee, factor in found if self._analysis.body(callee) is not None]
        return found


def _notes(report: CostReport, runs: _Runs) -> Iterator[str]:
    if runs.unknown_loops:
        names = ", ".join(f"%{name}" for name in runs.unknown_loops[:3])
        yield (
            f"{len(runs.unknown_loops)} loops are counted once, as nobody knows how often they run: {names}"
            if len(runs.unknown_loops) > 1
            else f"the loop {names} is counted once, as nobody knows how often it runs"
        )
    if runs.branches:
        yield "of the branches of a conditional only the one with the most operations is counted"
    if report.total.unknown:
        yield f"{report.total.unknown:,.0f} calls of which nobody knows what they do count as no operations"
