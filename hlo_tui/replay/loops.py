"""Loops that are known to go on for ever, before they are run."""

from __future__ import annotations

from hlo_tui.replay.program import DRAWN, Computation, Op, Program

# What they give can change although nothing that they are given does.
_CHANGING = DRAWN | {"custom-call", "infeed", "recv", "recv-done"}
_UNCHANGED = frozenset({"copy", "bitcast", "opt-barrier", "domain"})
_WHOLE = -1


def never_ends(op: Op) -> bool:
    """Whether a loop's condition depends on nothing that its body changes: once it is true, it stays true.

    A False says nothing: most loops that do not end need to be run to find out.
    """
    program = op.computation.program
    body, condition = (program.computation(called) for called in op.called[:2])
    read = _read(condition)
    return read is not None and all(kept(body, element) for element in read)


def holding(program: Program) -> frozenset[int]:
    """The ids of the computations in which, or in what they call, is a loop that never ends."""
    found: set[int] = set()
    for computation in program.reachable():
        for op in computation.ops:
            if any(called in found for called in op.called) or (op.opcode == "while" and never_ends(op)):
                found.add(computation.id)
                break
    return frozenset(found)


def _read(condition: Computation) -> set[int] | None:
    """Which elements of its parameter a condition reads; None where it reads something that changes by itself."""
    ops = condition.ops
    read: set[int] = set()
    for index in condition.cone(condition.root):
        op = ops[index]
        if _changes(op):
            return None
        for operand in op.operands:
            if ops[operand].opcode == "parameter":
                read.add(op.proto.tuple_index if op.opcode == "get-tuple-element" else _WHOLE)
    if ops[condition.root].opcode == "parameter":
        read.add(_WHOLE)
    return read


def _changes(op: Op) -> bool:
    """Whether what an instruction, or one inside what it calls, gives can change by itself."""
    program, seen, stack = op.computation.program, set(op.called), list(op.called)
    found = op.opcode in _CHANGING
    while stack and not found:
        for inner in program.computation(stack.pop()).ops:
            found = found or inner.opcode in _CHANGING
            stack += [called for called in inner.called if called not in seen]
            seen.update(inner.called)
    return found


def kept(body: Computation, element: int) -> bool:
    """Whether a body gives an element of its parameter on as it is."""
    ops = body.ops
    op = ops[body.root]
    if element != _WHOLE:
        if op.opcode != "tuple" or element >= len(op.operands):
            return False
        op = ops[op.operands[element]]
    while op.opcode in _UNCHANGED:
        op = ops[op.operands[0]]
    if element == _WHOLE:
        return op.opcode == "parameter"
    source = ops[op.operands[0]] if op.opcode == "get-tuple-element" else op
    return source is not op and source.opcode == "parameter" and op.proto.tuple_index == element
