"""The order in which XLA prints computations and their instructions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hlo_tui.hlo.schema import hlo_pb2 as pb


def computation_order(module: pb.HloModuleProto) -> Iterator[pb.HloComputationProto]:
    """Give every computation once, callees before their callers: depth first from those that nobody calls."""
    by_id = {computation.id: computation for computation in module.computations}
    callees = {computation.id: _called(computation) for computation in module.computations}
    called = {callee for some in callees.values() for callee in some}
    order: list[int] = []
    seen: set[int] = set()
    roots = [number for number in by_id if number not in called]
    # What only a cycle of damaged ids can reach comes last.
    for root in (*roots, *by_id):
        if root not in seen:
            seen.add(root)
            order.extend(_embedded(root, callees, seen))
    repeated = len(module.computations) - len(by_id)
    yield from (by_id[number] for number in order)
    if repeated:
        yield from (one for one in module.computations if by_id[one.id] is not one)


def _called(computation: pb.HloComputationProto) -> list[int]:
    # XLA walks its own list of instructions here, which the proto does not keep; the ids follow it.
    callers = sorted((one.id, place) for place, one in enumerate(computation.instructions))
    ordered = (computation.instructions[place] for _, place in callers)
    return [callee for one in ordered for callee in one.called_computation_ids]


def _embedded(root: int, callees: dict[int, list[int]], seen: set[int]) -> Iterator[int]:
    stack = [(root, iter(callees[root]))]
    while stack:
        number, rest = stack[-1]
        for callee in rest:
            if callee in callees and callee not in seen:
                seen.add(callee)
                stack.append((callee, iter(callees[callee])))
                break
        else:
            stack.pop()
            yield number


def instruction_order(
    computation: pb.HloComputationProto, sequence: Iterable[int]
) -> Iterable[pb.HloInstructionProto]:
    """Give the instructions of a computation: as scheduled, then in proto order what the schedule leaves out.

    Args:
        computation: whose instructions are wanted.
        sequence: instruction ids from the schedule; empty where the computation is not scheduled.
    """
    by_id = {instruction.id: instruction for instruction in computation.instructions}
    scheduled = [by_id.pop(number) for number in sequence if number in by_id]
    if scheduled and not by_id:
        return scheduled
    return (*scheduled, *(one for one in computation.instructions if not scheduled or one.id in by_id))
