"""What is said about the memory of one module, wherever it was read from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from hlo_tui.memory.assignment import TEMPORARY, Allocation
from hlo_tui.memory.timeline import Span, Timeline


@dataclass(frozen=True, slots=True)
class Owner:
    """One value that takes memory at the fullest moment.

    Attributes:
        size: bytes.
        label: the value as XLA calls it: the instruction and, of a tuple, the part.
        instruction, computation, opcode, shape: what makes it; "" where that is not known.
        op_name: of its metadata, else of its program's argument.
        file, line, function: the line of the program that made it, from 1; "" and 0 where it is not known.
        kind: what the memory is for, in one word.
        why: why it is in use, in words.
        code_line: the line in the module's text, or in the message, from 0; -1 where it is in neither.
        unpadded: bytes without padding, None where that is not said.
    """

    size: int
    label: str
    instruction: str = ""
    computation: str = ""
    opcode: str = ""
    shape: str = ""
    op_name: str = ""
    file: str = ""
    line: int = 0
    function: str = ""
    kind: str = ""
    why: str = ""
    code_line: int = -1
    unpadded: int | None = None


@dataclass(frozen=True, slots=True)
class Lost:
    """A donated argument that saves no memory, or less than it could.

    Attributes:
        parameter: its number.
        index: which part of it ("{}" for all).
        name: of the parameter.
        size: bytes.
        output: the part of the result that lies in it, "" where none does.
        copies: the instructions that copy it.
        readers: what else reads it, a few.
        op_name: what the program calls it.
        code_line: the line of the first copy, else of the parameter; from 0.
    """

    parameter: int
    index: str
    name: str
    size: int
    output: str
    copies: tuple[str, ...] = ()
    readers: tuple[str, ...] = ()
    op_name: str = ""
    code_line: int = -1


@dataclass(frozen=True, slots=True)
class Report:
    """The memory of one module.

    Attributes:
        title: which module and stage, or which file.
        sources: what was read, in words.
        owners: what is in use at the fullest moment, the largest first.
        peak: bytes in use then; None where nothing says so.
        peak_at: the place in the schedule, -1 where that is not known.
        total: bytes of everything that is allocated; None where nothing says so.
        parts: what takes how many bytes of the total.
        limit: bytes that there are, None where nothing says so.
        wanted: bytes of the allocation that failed, None where nothing says so.
        timeline: memory over the schedule, None where nothing gives it.
        allocations: what XLA allocates.
        lost: donations that are lost.
        listed_peak: the moment and the bytes that XLA's live ranges call the peak.
        estimated: whether this was computed here from the order and the shapes.
        rounded: whether the sizes are rounded.
        notes: what else a person should know.
        code: the file with the module's text, "" where there is none.
        stage: the label of the dump's stage that it is of, "" for files alone.
        explain: makes an owner of a value of the timeline, with what the module's text knows of it; it may read. None
            where there is no timeline.
    """

    title: str
    sources: tuple[str, ...] = ()
    owners: tuple[Owner, ...] = ()
    peak: int | None = None
    peak_at: int = -1
    total: int | None = None
    parts: tuple[tuple[str, int], ...] = ()
    limit: int | None = None
    wanted: int | None = None
    timeline: Timeline | None = None
    allocations: tuple[Allocation, ...] = ()
    lost: tuple[Lost, ...] = ()
    listed_peak: tuple[int, int] | None = None
    estimated: bool = False
    rounded: bool = False
    notes: tuple[str, ...] = field(default_factory=tuple)
    code: str = ""
    stage: str = ""
    explain: Callable[[Span], Owner] | None = field(default=None, compare=False, repr=False)

    @property
    def kept(self) -> tuple[Owner, ...]:
        """What is in use all the time, the largest first; the others come and go."""
        return tuple(owner for owner in self.owners if owner.kind != TEMPORARY)

    def at(self, place: int, most: int, stop: Callable[[], bool] = lambda: False) -> list[Owner]:
        """What is in use at a place of the schedule, the largest first; without a timeline what is at the peak.

        `most` limits how many are given.
        """
        if self.timeline is None or self.explain is None:
            return list(self.owners[:most])
        known = {owner.label: owner for owner in self.owners}
        found: list[tuple[int, Owner | Span]] = [(owner.size, owner) for owner in self.kept]
        found += [(span.size, span) for span in self.timeline.at(place)]
        found.sort(key=lambda one: -one[0])
        owners = []
        for _, one in found[:most]:
            if stop():
                break
            if isinstance(one, Span):
                one = known.get(one.label.removesuffix("{}")) or self.explain(one)
            owners.append(one)
        return owners
