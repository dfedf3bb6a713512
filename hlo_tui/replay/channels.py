"""Sends and receives between devices: which send gives what a receive waits for, and from which device to which."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from hlo_tui.hlo.schema import hlo_pb2 as pb

if TYPE_CHECKING:
    from hlo_tui.replay.program import Op

Instruction = pb.HloInstructionProto
Pairs = tuple[tuple[int, int], ...]

_PAIRS = "_xla_send_recv_source_target_pairs"
_PAIR = re.compile(r"\{\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\}")


class Sent(NamedTuple):
    """What a receive is given.

    Attributes:
        data: position of the value that is sent.
        send: position of the send.
    """

    data: int
    send: int


def received(instructions: Sequence[Instruction]) -> dict[int, Sent]:
    """Which receives of a computation are given what one of its sends has: position -> what is sent.

    The position is that of the `recv`, or of its `recv-done` where what is sent is computed after the `recv`. What is
    sent after both is left out, and so is what goes to the host, to another computation or to another program.

    Args:
        instructions: of one computation, in execution order.
    """
    if not any(instruction.opcode == "recv" for instruction in instructions):
        return {}
    place = {instruction.id: index for index, instruction in enumerate(instructions)}
    done = {
        place[one.operand_ids[0]]: index
        for index, one in enumerate(instructions)
        if one.opcode == "recv-done" and one.operand_ids
    }
    found: dict[int, Sent] = {}
    for recv, send in _matched(instructions):
        data = place[instructions[send].operand_ids[0]]
        for index in (recv, done.get(recv, -1)):
            if data < index:
                found[index] = Sent(data, send)
                break
    return found


def _matched(instructions: Sequence[Instruction]) -> Iterable[tuple[int, int]]:
    """Pairs of a receive and a send, each once: of the same channel and devices, else of the same devices, else of the
    same channel where its devices are written at one of the two alone.
    """
    sends, recvs = (_between(instructions, opcode) for opcode in ("send", "recv"))
    taken: dict[int, int] = {}
    for key in (lambda one: one, _devices_alone, lambda one: one[0]):
        waiting, giving = _grouped(recvs, key, taken), _grouped(sends, key, set(taken.values()))
        for which, found in waiting.items():
            if which is not None and len(found) == len(giving.get(which, ())):
                taken |= dict(zip(found, giving[which], strict=True))
    agree = [(recv, send) for recv, send in taken.items() if _agree(recvs[recv][1], sends[send][1])]
    return [pair for pair in agree if _fits(*(instructions[index] for index in pair))]


def _agree(waiting: Pairs, giving: Pairs) -> bool:
    return waiting == giving or not waiting or not giving


_Key = tuple[int, Pairs]


def _devices_alone(key: _Key) -> Pairs | None:
    return key[1] or None


def _between(instructions: Sequence[Instruction], opcode: str) -> dict[int, _Key]:
    return {
        index: (max(one.channel_id, 0), pairs_of(one))
        for index, one in enumerate(instructions)
        if one.opcode == opcode and not one.is_host_transfer and one.operand_ids
    }


def _grouped(
    of: Mapping[int, _Key], key: Callable[[_Key], Hashable], taken: Container[int]
) -> dict[Hashable, list[int]]:
    groups: dict[Hashable, list[int]] = {}
    for index, one in of.items():
        if index not in taken:
            groups.setdefault(key(one), []).append(index)
    return groups


def _fits(recv: Instruction, send: Instruction) -> bool:
    return (
        bool(recv.shape.tuple_shapes)
        and bool(send.shape.tuple_shapes)
        and _same(recv.shape.tuple_shapes[0], send.shape.tuple_shapes[0])
    )


def _same(a: pb.ShapeProto, b: pb.ShapeProto) -> bool:
    return (
        a.element_type == b.element_type
        and list(a.dimensions) == list(b.dimensions)
        and len(a.tuple_shapes) == len(b.tuple_shapes)
        and all(map(_same, a.tuple_shapes, b.tuple_shapes))
    )


def pairs_of(proto: Instruction) -> Pairs:
    """From which device to which a send or a receive goes, as it says itself; empty where it does not."""
    if proto.source_target_pairs:
        return tuple((pair.source, pair.target) for pair in proto.source_target_pairs)
    written = proto.frontend_attributes.map.get(_PAIRS, "")
    return tuple((int(source), int(target)) for source, target in _PAIR.findall(written))


def way(op: Op) -> Pairs:
    """From which device to which goes what a receive is given; empty where that is nowhere.

    Args:
        op: a `recv` or `recv-done` that `sent_to` has something for.
    """
    sent = sent_to(op)
    assert sent is not None
    ends = (op.proto, op.computation.ops[sent.send].proto)
    return next(filter(None, map(pairs_of, ends)), ())


def sent_to(op: Op) -> Sent | None:
    """What an instruction is given by a send of its computation."""
    return op.computation.received.get(op.index)


def done_of(op: Op) -> Op | None:
    """The `recv-done` that a send gives what its `recv` only begins to receive; None where there is none."""
    ops = op.computation.ops
    for user in op.computation.users[op.index]:
        if ops[user].opcode == "recv-done" and sent_to(ops[user]) is not None:
            return ops[user]
    return None


def between_devices(op: Op) -> bool:
    """Whether an instruction sends to or receives from other devices that run the same program."""
    return op.opcode in ("send", "recv") and not op.proto.is_host_transfer and bool(pairs_of(op.proto))
