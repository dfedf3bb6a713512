"""Which arrays of a flattened module share bytes, and how long each of these is in use: computed, not read."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator
from itertools import accumulate

from hlo_tui.hlo.module import Module
from hlo_tui.hlo.numerals import number_of
from hlo_tui.memory.donations import aliases
from hlo_tui.memory.inplace import Fusions
from hlo_tui.memory.schedule import Flat, Step, leaf_count, leaves
from hlo_tui.memory.timeline import Span

# Opcodes that give on what they are given.
_SAME = frozenset(("bitcast", "opt-barrier", "optimization-barrier", "domain", "add-dependency"))
# Opcodes that read none of what they give on.
_PASSING = frozenset(("tuple", "get-tuple-element", "parameter", "while", "call", "conditional")) | _SAME
_IN_PLACE = frozenset(("dynamic-update-slice", "scatter", "all-reduce-start", "all-reduce-done"))
_STARTS = frozenset(("all-gather-start", "collective-permute-start"))
ELEMENTWISE = frozenset((
    "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "complex", "convert", "copy", "cosine", "divide",
    "erf", "exponential", "exponential-minus-one", "floor", "imag", "is-finite", "log", "log-plus-one", "logistic",
    "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt", "power", "real", "reduce-precision", "remainder",
    "round-nearest-afz", "round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic",
    "shift-right-logical", "sign", "sine", "sqrt", "stochastic-convert", "subtract", "tan", "tanh", "xor",
))  # fmt: skip
_ALIAS = re.compile(r"\{([\d, ]*)\}: ?\((\d{1,6}), ?\{([\d, ]*)\}")


class Liveness:
    """Groups of arrays that lie in the same bytes, with the time in which each is in use.

    Attributes:
        flat: the module.
        base: bytes that are in use all the time: arguments, constants and results.
        kept: the groups of these, by their first array.
    """

    def __init__(self, module: Module, flat: Flat) -> None:
        self.flat = flat
        count = len(flat.sizes)
        self._parent = array("q", range(count))
        self._size = array("q", flat.sizes)
        self._start = array("q", (0 for _ in range(count)))
        self._end = array("q", (-1 for _ in range(count)))
        self._fusions = Fusions(module)
        # Parts are taken out of one tuple after the other.
        self._known_offsets: tuple[int, list[int]] = (-1, [])
        self.kept: set[int] = set()
        for place, step in enumerate(flat.steps):
            self._define(place, step)
        for step in flat.steps:
            self._join(step)
        self._join_results(module)
        self._keep()
        for place, step in enumerate(flat.steps):
            self._share(place, step)
        self.kept = {self.group(leaf) for leaf in self.kept}
        self.base = sum(self._size[leaf] for leaf in self.kept) + self.table

    @property
    def table(self) -> int:
        """Bytes of the pointers that a tuple of results is given back as."""
        root = self.flat.roots[0] if self.flat.roots else -1
        return 8 * len(self.flat.steps[root].shape.elements) if root >= 0 else 0

    def group(self, leaf: int) -> int:
        """The array that stands for all that lie in the same bytes."""
        parent = self._parent
        root = leaf
        while parent[root] != root:
            root = parent[root]
        while parent[leaf] != root:
            parent[leaf], leaf = root, parent[leaf]
        return root

    def size(self, group: int) -> int:
        """Bytes of a group: those of its largest array."""
        return self._size[group]

    def spans(self) -> Iterator[tuple[int, Span]]:
        """The place of its first instruction and the stay of every group that comes and goes."""
        owners = self.owners()
        for leaf, (place, label) in owners.items():
            if leaf not in self.kept and self._size[leaf] > 0:
                end = max(self._end[leaf], self._start[leaf])
                yield place, Span(label, self._size[leaf], self._start[leaf], end)

    def owners(self) -> dict[int, tuple[int, str]]:
        """For each group the place and the label of what a person knows it by: the first that computes its largest
        array, rather than a loop or a parameter that only carries it."""
        found: dict[int, tuple[int, str]] = {}
        ranks: dict[int, tuple[bool, bool]] = {}
        for place, step in enumerate(self.flat.steps):
            count = step.count
            for at in range(count):
                leaf = step.leaves + at
                group = self.group(leaf)
                smaller = self.flat.sizes[leaf] < self._size[group]
                rank = (smaller, step.opcode in _PASSING)
                if group not in ranks or rank < ranks[group]:
                    ranks[group] = rank
                    found[group] = (place, step.name if not step.shape.is_tuple else f"{step.name}{{{at}}}")
        return found

    def _define(self, place: int, step: Step) -> None:
        start = self.flat.begins[step.computation] if step.opcode == "parameter" else place
        last = self.flat.ends[step.computation] if self.flat.roots[step.computation] == place else -1
        for leaf in range(step.leaves, step.leaves + step.count):
            self._start[leaf], self._end[leaf] = start, max(last, start)
        if step.opcode in _PASSING:
            return
        for operand in step.operands:
            if operand >= 0:
                used = self.flat.steps[operand]
                for leaf in range(used.leaves, used.leaves + used.count):
                    self._end[leaf] = max(self._end[leaf], place)

    def _merge(self, a: int, b: int) -> None:
        a, b = self.group(a), self.group(b)
        if a == b:
            return
        a, b = min(a, b), max(a, b)
        self._parent[b] = a
        self._size[a] = max(self._size[a], self._size[b])
        self._start[a] = min(self._start[a], self._start[b])
        self._end[a] = max(self._end[a], self._end[b])

    def _same(self, a: int, b: int, count: int) -> None:
        for at in range(count):
            self._merge(a + at, b + at)

    def _operand(self, step: Step, at: int) -> Step | None:
        return (
            self.flat.steps[step.operands[at]] if at < len(step.operands) and step.operands[at] >= 0 else None
        )

    def _join(self, step: Step) -> None:
        """Put together what lies in the same bytes by what the instruction is."""
        first, count = self._operand(step, 0), step.count
        if step.opcode == "tuple":
            at = step.leaves
            for number in range(len(step.operands)):
                operand = self._operand(step, number)
                size = operand.count if operand is not None else 1
                if operand is not None and at + size <= step.leaves + count:
                    self._same(at, operand.leaves, size)
                at += size
        elif step.opcode == "get-tuple-element" and first is not None:
            before = self._offsets(step.operands[0], first)
            if (
                step.number < len(first.shape.elements)
                and before[step.number + 1] - before[step.number] == count
            ):
                self._same(step.leaves, first.leaves + before[step.number], count)
        elif step.opcode in _SAME and first is not None:
            self._same(step.leaves, first.leaves, min(count, first.count))
        elif step.opcode in ("while", "call", "conditional"):
            self._join_control(step, count)
        else:
            self._join_in_place(step, first, count)

    def _offsets(self, place: int, step: Step) -> list[int]:
        """How many arrays stand before each element of a tuple."""
        if self._known_offsets[0] != place:
            counts = (leaf_count(element) for element in step.shape.elements)
            self._known_offsets = (place, list(accumulate(counts, initial=0)))
        return self._known_offsets[1]

    def _join_control(self, step: Step, count: int) -> None:
        for number, called in enumerate(step.called):
            parameters = self.flat.parameters[called]
            given = step.operands
            if step.opcode == "conditional":
                given = step.operands[number + 1 : number + 2]
            for at, operand in enumerate(given):
                if operand >= 0 and at in parameters:
                    inner, outer = self.flat.steps[parameters[at]], self.flat.steps[operand]
                    if inner.count == outer.count:
                        self._same(inner.leaves, outer.leaves, inner.count)
            root = self.flat.roots[called]
            if root >= 0 and self.flat.steps[root].count == count:
                self._same(step.leaves, self.flat.steps[root].leaves, count)
        first = self._operand(step, 0)
        if step.opcode == "while" and first is not None and first.count == count:
            self._same(step.leaves, first.leaves, count)

    def _join_in_place(self, step: Step, first: Step | None, count: int) -> None:
        if first is not None and step.opcode in _IN_PLACE:
            self._same(step.leaves, first.leaves, min(count, first.count))
        elif first is not None and step.opcode in _STARTS:
            # Its result is what it was given and what it will have made.
            self._same(step.leaves, first.leaves, min(count, first.count))
        elif first is not None and step.opcode == "copy-start" and count > 1:
            self._merge(step.leaves + 1, first.leaves)
        elif first is not None and step.opcode == "copy-done":
            self._merge(step.leaves, first.leaves)
        elif first is not None and step.opcode.endswith("-done"):
            self._same(step.leaves, first.leaves + max(0, first.count - count), count)
        if step.aliasing:
            for output, number, index in _ALIAS.findall(step.aliasing):
                operand = self._operand(step, int(number))
                if operand is not None and not index.strip() and operand.count == 1:
                    at = number_of(output.partition(",")[0]) if output.strip() else 0
                    if at is not None and at < count:
                        self._merge(step.leaves + at, operand.leaves)
        for result, number in self._fusions.updated(step.inside) if step.inside else ():
            operand = self._operand(step, number)
            if operand is not None and result < count and operand.count == 1:
                self._merge(step.leaves + result, operand.leaves)

    def _join_results(self, module: Module) -> None:
        """Results that lie in donated arguments, as the header says."""
        if not self.flat.roots or self.flat.roots[0] < 0:
            return
        root = self.flat.steps[self.flat.roots[0]]
        for alias in aliases(module.header.attributes):
            place = self.flat.parameters[0].get(alias.parameter)
            if place is None:
                continue
            a, b = _leaf_at(root, alias.output), _leaf_at(self.flat.steps[place], alias.index)
            if a is not None and b is not None:
                self._merge(a, b)

    def _keep(self) -> None:
        """Note what is in use all the time."""
        for parameters in self.flat.parameters[:1]:
            for place in parameters.values():
                step = self.flat.steps[place]
                self.kept.update(range(step.leaves, step.leaves + step.count))
        if self.flat.roots and self.flat.roots[0] >= 0:
            root = self.flat.steps[self.flat.roots[0]]
            self.kept.update(range(root.leaves, root.leaves + root.count))
        for step in self.flat.steps:
            if step.opcode == "constant":
                self.kept.update(range(step.leaves, step.leaves + step.count))
        self.kept = {self.group(leaf) for leaf in self.kept}

    def _share(self, place: int, step: Step) -> None:
        """Let a result take the bytes of an operand that is not needed any more."""
        if step.opcode not in ELEMENTWISE and not step.inside:
            return
        if step.count != 1:
            return
        result = self.group(step.leaves)
        if result in self.kept or self._start[result] != place:
            return
        for number, operand in enumerate(step.operands):
            used = self.flat.steps[operand] if operand >= 0 else None
            if used is None or used.count != 1:
                continue
            group = self.group(used.leaves)
            fits = self._size[group] == self._size[result] and self._end[group] == place
            if fits and group != result and group not in self.kept:
                if step.inside and not self._fusions.reads_in_place(step.inside, number):
                    continue
                self._merge(group, result)
                return


def _leaf_at(step: Step, index: str) -> int | None:
    """The number of one array of a result, None where the index means no single one."""
    shape, leaf = step.shape, step.leaves
    for part in index.strip("{}").split(","):
        if part.strip():
            at = number_of(part)
            if at is None or at >= len(shape.elements):
                return None
            leaf += sum(leaf_count(element) for element in shape.elements[:at])
            shape = shape.elements[at]
    return leaf if not shape.is_tuple and next(leaves(shape), None) is not None else None
