"""The buffer assignment inside a HloProto, with the peak that XLA's own simulation of the heap gives."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.memory.assignment import Allocation, Assignment, Value
from hlo_tui.memory.timeline import Span, Timeline, timeline

_FREE, _SHARE = 1, 2


def from_proto(assignment: pb.BufferAssignmentProto, module: pb.HloModuleProto | None = None) -> Assignment:
    """Read the message; what it refers to and does not hold is left out.

    Args:
        assignment: the message.
        module: its module, which has the instructions' names and shapes.
    """
    places = _Places(module)
    buffers = {buffer.id: buffer for buffer in assignment.logical_buffers}
    allocations = tuple(_allocation(one, buffers, places) for one in assignment.buffer_allocations)
    if not allocations:
        return Assignment()
    fullest = _Heap(assignment)
    fullest.run(None)
    heap = _Heap(assignment)
    heap.run(fullest.peak_event)
    peaks = {one.index: tuple(value for value in one.values if heap.holds(value.id)) for one in allocations}
    return Assignment(allocations, None, {at: held for at, held in peaks.items() if held}, fullest.peak)


def simulated(assignment: pb.BufferAssignmentProto, found: Assignment) -> Timeline | None:
    """Memory over the instructions that take some, by XLA's simulation; None where the message has none.

    Args:
        assignment: the message.
        found: what `from_proto` read in it.
    """
    heap = _Heap(assignment)
    labels = {value.id: value.label for one in found.allocations for value in one.values}
    sequence: list[str] = []
    begun: dict[int, int] = {}
    spans: list[Span] = []
    base = heap.now
    for event in heap.events:
        if event.kind != _FREE and (not sequence or sequence[-1] != event.instruction_name):
            sequence.append(event.instruction_name)
        for number, size in heap.step(event):
            if size > 0:
                begun[number] = len(sequence) - 1
            elif number in begun:
                spans.append(
                    Span(labels.get(number, f"<{number}>"), -size, begun.pop(number), len(sequence) - 1)
                )
    slots = heap.sizes
    spans += [
        Span(labels.get(number, f"<{number}>"), slots[number], start, len(sequence) - 1)
        for number, start in begun.items()
    ]
    return timeline(sequence, base, spans) if sequence else None


class _Places:
    """Names and shapes of the instructions of a module."""

    def __init__(self, module: pb.HloModuleProto | None) -> None:
        self._found = {
            instruction.id: instruction
            for computation in (module.computations if module is not None else ())
            for instruction in computation.instructions
        }

    def name(self, location: pb.LogicalBufferProto.Location) -> str:
        found = self._found.get(location.instruction_id)
        return found.name if found is not None else location.instruction_name

    def index(self, location: pb.LogicalBufferProto.Location) -> str:
        found = self._found.get(location.instruction_id)
        if found is not None and not found.shape.tuple_shapes and not location.shape_index:
            return ""
        return "{" + ",".join(map(str, location.shape_index)) + "}"

    def shape(self, location: pb.LogicalBufferProto.Location) -> str:
        found = self._found.get(location.instruction_id)
        if found is None:
            return ""
        shape = found.shape
        for at in location.shape_index:
            if not 0 <= at < len(shape.tuple_shapes):
                return ""
            shape = shape.tuple_shapes[at]
        return _shape_text(shape)


def _shape_text(shape: pb.ShapeProto) -> str:
    if shape.tuple_shapes:
        return f"({len(shape.tuple_shapes)} elements)"
    dtype = pb.PrimitiveType.Name(shape.element_type).lower() if shape.element_type in _TYPES else "?"
    return f"{dtype}[{','.join(map(str, shape.dimensions))}]"


_TYPES = frozenset(pb.PrimitiveType.values())


def _allocation(
    found: pb.BufferAllocationProto, buffers: Mapping[int, pb.LogicalBufferProto], places: _Places
) -> Allocation:
    values = []
    for one in found.assigned:
        buffer = buffers.get(one.logical_buffer_id)
        where = buffer.defined_at if buffer is not None else pb.LogicalBufferProto.Location()
        name, index, shape = places.name(where), places.index(where), places.shape(where)
        values.append(Value(one.logical_buffer_id, name, index, one.size, one.offset, shape))
    values.sort(key=lambda value: value.id)
    parameter = found.parameter_number if found.is_entry_computation_parameter else None
    kept = found.is_entry_computation_parameter or found.is_constant or found.maybe_live_out
    return Allocation(
        index=found.index,
        size=found.size,
        values=tuple(values),
        parameter=parameter,
        shape_index="{" + ",".join(map(str, found.parameter_shape_index)) + "}"
        if parameter is not None
        else "",
        shape=values[0].shape if parameter is not None and values else "",
        live_out=found.maybe_live_out,
        constant=found.is_constant,
        thread_local=found.is_thread_local,
        # What XLA prints: neither kept for the caller nor on a thread's stack.
        temporary=not kept and not found.is_thread_local,
        color=found.color,
    )


@dataclass(slots=True)
class _Slot:
    number: int
    size: int
    uses: int = 0
    under: _Slot | None = None


class _Heap:
    """The events of XLA's simulation run again, beside what is in use all the time.

    What several values share counts once, under the first of them. This is the sum that JAX gives as
    `peak_memory_in_bytes` of a compiled function's memory analysis.
    """

    def __init__(self, assignment: pb.BufferAssignmentProto) -> None:
        self.events = [event for trace in assignment.heap_simulator_traces for event in trace.events]
        self._slots = {buffer.id: _Slot(buffer.id, buffer.size) for buffer in assignment.logical_buffers}
        self.now = 0
        for one in assignment.buffer_allocations:
            kept = one.is_entry_computation_parameter or one.is_constant or one.maybe_live_out
            if kept and not one.is_thread_local:
                found = map(self._slots.get, (assigned.logical_buffer_id for assigned in one.assigned))
                slots = [slot for slot in found if slot is not None and slot.size > 0]
                if slots:
                    largest = max(slots, key=lambda slot: slot.size)
                    largest.uses += 1
                    self.now += largest.size
        self.peak = self.now
        self.peak_event = -1

    @property
    def sizes(self) -> dict[int, int]:
        """Bytes of every value by its number."""
        return {slot.number: slot.size for slot in self._slots.values()}

    def run(self, last: int | None) -> None:
        """Take the events up to number `last`, all of them without one."""
        for number, event in enumerate(self.events if last is None else self.events[: last + 1]):
            self.step(event)
            if self.now > self.peak:
                self.peak, self.peak_event = self.now, number

    def holds(self, number: int) -> bool:
        """Whether memory is in use under this value's number."""
        slot = self._slots.get(number)
        return slot is not None and slot.uses > 0

    def step(self, event: pb.HeapSimulatorTrace.Event) -> Iterator[tuple[int, int]]:
        """Take one event; the number of the value that bytes are taken under or given back, and how many."""
        slot = self._slots.get(event.buffer_id)
        if slot is None:
            return iter(())
        if event.kind == _FREE:
            root = _root(slot)
            slot.under = None
            root.uses -= 1
            change = -root.size if root.uses == 0 else 0
        else:
            root = slot
            if event.kind == _SHARE:
                if event.share_with_canonical_id not in self._slots:
                    return iter(())
                root = _root(self._slots[event.share_with_canonical_id])
                slot.under = root if root is not slot else None
            root.uses += 1
            change = root.size if root.uses == 1 else 0
        self.now += change
        return iter(((root.number, change),) if change else ())


def _root(slot: _Slot) -> _Slot:
    """The slot at the end of those that lie in one another; damaged messages may lead in a ring."""
    seen = {id(slot)}
    while slot.under is not None and id(slot.under) not in seen:
        slot = slot.under
        seen.add(id(slot))
    return slot
