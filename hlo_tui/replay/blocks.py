"""Blocks: what a context manager tags, or what else a stop means, without anything of another kind in between."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay.program import Computation, Op, Program

# What a caller's block goes on in, where it has no other caller: the compiler makes and unmakes them as it likes.
_INLINED = frozenset({"fusion", "call", "async-start"})
# They hand on a value as it is: nobody would call them the first or the last operation of a block.
_PASSING = frozenset(
    {
        "parameter", "constant", "tuple", "get-tuple-element", "bitcast", "copy", "copy-start", "copy-done",
        "optimization-barrier", "after-all", "add-dependency", "domain", "async-update", "async-done",
    }
)  # fmt: skip
# So do these where no line of a program asked for them, or it is a constant.
_MOVING = frozenset({"broadcast", "reshape", "transpose", "convert", "bitcast-convert", "iota"})

_INTEGERS = frozenset({pb.S8, pb.S16, pb.S32, pb.S64, pb.U8, pb.U16, pb.U32, pb.U64})

# Whether an instruction belongs to a block, and to which: those of one block have the same word; None for no block.
Word = Callable[[Op], str | None]


class End(NamedTuple):
    """An end of a block.

    Attributes:
        op: the instruction.
        which: "first", "last", or "only" where it is both.
        size: how many instructions the block has.
    """

    op: Op
    which: str
    size: int


def ends(program: Program, member: Word, also: Word) -> list[End]:
    """The first and the last instruction of each block.

    A block is what runs one after the other in one run of a computation and has the same word as a member. What is
    between may have that word with `also`, pass values on, count, or come of the same Python operation as a member. The
    bodies of fusions and calls are part of their caller's run. Constants are in no block: they can stand anywhere.
    """
    inlined = _inlined(program)
    found: list[End] = []
    for computation in program.reachable():
        if computation.id in inlined:
            continue
        for block in _Blocks(inlined, member, also).of(list(_run(program, computation, inlined))):
            computing = [op for op in block if op.opcode not in _PASSING] or block
            first, last = computing[0], computing[-1]
            if first is last:
                found.append(End(first, "only", len(block)))
            else:
                found += [End(first, "first", len(block)), End(last, "last", len(block))]
    return found


class _Blocks:
    """Divides runs into blocks."""

    def __init__(self, inlined: frozenset[int], member: Word, also: Word) -> None:
        self._inlined = inlined
        self._member = member
        self._also = also

    def of(self, run: list[Op]) -> Iterator[list[Op]]:
        """The members of each block of a run."""
        origins = {(word, *_origin(op)) for op in run for word in (self._member(op), self._also(op))}
        block: list[Op] = []
        current: str | None = None
        for op in run:
            if op.opcode == "constant":
                continue
            word = self._member(op)
            goes_on = self._between(op, current, origins) if word is None else word == current
            if block and not goes_on:
                yield block
                block = []
            if word is not None:
                if block and _is_root(block[-1], op):
                    # The caller stands for the root of what it calls.
                    block.pop()
                block.append(op)
                current = word
        if block:
            yield block

    def _between(self, op: Op, word: str | None, origins: set[tuple[object, ...]]) -> bool:
        """Whether an instruction that is no member leaves a block whole."""
        if (
            op.opcode in _PASSING
            or _is_count(op)
            or self._also(op) == word
            or self._inlined.intersection(op.called)
        ):
            return True
        constant = all(op.computation.ops[operand].opcode == "constant" for operand in op.operands)
        if op.opcode in _MOVING and (constant or not op.proto.metadata.op_name):
            return True
        return bool(op.proto.metadata.op_name) and (word, *_origin(op)) in origins


def _is_count(op: Op) -> bool:
    """Whether it may count iterations or elements: the compiler puts that between whatever it likes."""
    shape = op.proto.shape
    return shape.element_type in _INTEGERS and not shape.dimensions


def _is_root(op: Op, caller: Op) -> bool:
    return op.computation.id in caller.called and op.index == op.computation.root


def _origin(op: Op) -> tuple[object, ...]:
    """What the instructions that one Python operation became have in common."""
    metadata = op.proto.metadata
    return metadata.op_name, metadata.stack_frame_id, metadata.source_file, metadata.source_line


def _inlined(program: Program) -> frozenset[int]:
    """The computations that are a part of their one caller's run."""
    calls = [(op, called) for one in program.reachable() for op in one.ops for called in op.called]
    callers = Counter(called for _, called in calls)
    return frozenset(called for op, called in calls if op.opcode in _INLINED and callers[called] == 1)


def _run(program: Program, computation: Computation, inlined: frozenset[int]) -> Iterator[Op]:
    """The instructions of a computation in the order in which their values are there, inlined bodies among them."""
    stack: list[tuple[Op | None, Iterator[Op]]] = [(None, iter(computation.ops))]
    while stack:
        caller, ops = stack[-1]
        op = next(ops, None)
        if op is None:
            stack.pop()
            if caller is not None:
                yield caller
            continue
        body = next((called for called in op.called if called in inlined), None)
        if body is None:
            yield op
        else:
            stack.append((op, iter(program.computation(body).ops)))
