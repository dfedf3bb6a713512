"""What a replay will need, estimated from shapes before anything is allocated."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from hlo_tui.errors import EngineError
from hlo_tui.replay import arrays
from hlo_tui.replay.customcalls import REWRITES
from hlo_tui.replay.keeping import BUDGET
from hlo_tui.replay.memory import available, size_words
from hlo_tui.replay.program import CONTROL_FLOW, Computation, Op, Program
from hlo_tui.replay.slices import value_shape
from hlo_tui.replay.traced import is_scratch, results_of

# Their values are made of what is there already.
_SHARING = frozenset(
    {
        "tuple", "get-tuple-element", "parameter", "after-all", "add-dependency", "domain", "opt-barrier",
        "copy-start", "copy-done", "async-update", "async-done", "all-reduce-done", "all-gather-done",
        "collective-permute-done",
    }
)  # fmt: skip


def value_bytes(op: Op) -> int:
    """Bytes of an instruction's value on one device; none where it shares those of its operands."""
    if op.opcode in _SHARING:
        return 0
    if op.opcode == "custom-call" and op.proto.custom_call_target in REWRITES:
        # The memory that a library works in is not allocated here.
        return sum(arrays.byte_size(part) for part in results_of(op.proto.shape) if not is_scratch(part))
    return arrays.byte_size(value_shape(op))


class Needs(NamedTuple):
    """Bytes that a replay needs.

    Attributes:
        inputs: of the entry's parameters.
        live: of the other values that are needed at the same time, at most.
        widest: the instruction at which that is.
    """

    inputs: int
    live: int
    widest: str


def estimate(program: Program, devices: int, entered: bool) -> Needs:
    """What running a program needs.

    Args:
        program: the module.
        devices: on how many it runs; each has values of its own.
        entered: whether fusions are entered, as in body grain.
    """
    inputs = sum(arrays.byte_size(program.entry.ops[i].proto.shape) for i in program.entry.parameters)
    peaks: dict[int, tuple[int, str]] = {}
    for computation in program.reachable():
        peaks[computation.id] = _peak(computation, peaks, entered)
    live, widest = peaks[program.entry.id]
    return Needs(inputs * devices, live * devices, widest)


def _peak(computation: Computation, peaks: dict[int, tuple[int, str]], entered: bool) -> tuple[int, str]:
    """The most bytes that are alive at one instruction, and its name."""
    last = _last_uses(computation)
    ends: dict[int, int] = {}
    most, widest, alive = 0, "", 0
    for op in computation.ops:
        size = value_bytes(op)
        inside = 0
        if op.enterable and (entered or op.opcode in CONTROL_FLOW):
            inside = max((peaks[called][0] for called in op.called), default=0)
        if alive + max(size, inside) > most:
            most, widest = alive + max(size, inside), op.name
        alive += size - ends.pop(op.index, 0)
        if last[op.index] > op.index:
            ends[last[op.index]] = ends.get(last[op.index], 0) + size
        else:
            alive -= size
    return most, widest


def _last_uses(computation: Computation) -> list[int]:
    """The last instruction that needs each value, through what shares it; the root's is needed to the end."""
    last = list(range(len(computation)))
    last[computation.root] = len(computation)
    for op in reversed(computation.ops):
        for operand in op.operands:
            until = last[op.index] if op.opcode in _SHARING else op.index
            last[operand] = max(last[operand], until)
    return last


class Room:
    """The memory that a replay may take: half of what is free, unless the person asked for more."""

    def __init__(self, allowed: bool = False, free: Callable[[], int | None] = available) -> None:
        """Take whether everything is allowed, and what gives the free bytes (None where the system does not say)."""
        self._allowed = allowed
        self._free = free

    def lacks(self, count: int) -> str:
        """Why so many bytes are too many; empty where they are not."""
        free = self._free()
        if self._allowed or free is None or count <= free // 2:
            return ""
        return f"{size_words(count)} of memory are needed, {size_words(free)} are free"

    def budget(self) -> int:
        """Bytes of computed values that may be kept."""
        free = self._free()
        return BUDGET if free is None else max(free // 4, _LEAST)

    def check(self, needs: Needs) -> None:
        """Refuse a replay that needs too much.

        Raises:
            EngineError: with the numbers, and what can be done.
        """
        detail = f"inputs {size_words(needs.inputs)}"
        if needs.live:
            detail += f", values up to {size_words(needs.live)} at {needs.widest}"
        self.check_bytes(needs.inputs + needs.live, detail)

    def check_bytes(self, count: int, detail: str) -> None:
        """The same for a number of bytes, with words for what they are."""
        why = self.lacks(count)
        if why:
            hint = "--allow-memory runs it all the same; or replay the same function with smaller arguments"
            raise EngineError("this replay needs too much memory", f"{why}: {detail}", hint)


# What a replay may keep at the least.
_LEAST = 64 << 20
