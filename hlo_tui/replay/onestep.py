"""What computes the value of one instruction in a frame whose operands are there."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from hlo_tui.errors import EngineError
from hlo_tui.replay.atwork import Doing, Phase
from hlo_tui.replay.blockfusion import BlockFusion
from hlo_tui.replay.changes import Place
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.hostops import AS_THEY_ARE
from hlo_tui.replay.program import Op
from hlo_tui.replay.reasons import reason_of
from hlo_tui.replay.slices import Slice
from hlo_tui.replay.values import Unknown, as_it_is, compare, each_replica, find_unknown
from hlo_tui.replay.xla import Backend

if TYPE_CHECKING:
    from hlo_tui.replay.evaluate import Evaluator

Step = Callable[[Frame], Any]


def element(op: Op) -> Step:
    """An element of a tuple."""
    source, position = op.operands[0], op.proto.tuple_index

    def step(frame: Frame) -> Any:
        whole = frame.env[source]
        return whole if isinstance(whole, Unknown) else whole[position]

    return step


def drawn(known: dict[Place, tuple[tuple[Any, ...], Any]], op: Op, step: Step) -> Step:
    """A value that is drawn once and kept in `known`: the next run would draw another one."""
    operands = op.operands

    def once(frame: Frame) -> Any:
        given = tuple(frame.env[o] for o in operands)
        place = (tuple(frame.path()), op.index)
        before, value = known.get(place, (None, None))
        if before is None or not compare(before, given).exact:
            value = step(frame)
            known[place] = (given, value)
        return value

    return once


def hosted(op: Op, host: Callable[..., Any], replicas: int) -> Step:
    """A value that a function of arrays gives here, without XLA."""
    operands = op.operands
    if not operands:
        return lambda _: host()
    form = as_it_is if op.opcode in AS_THEY_ARE else np.asarray
    alone, array = replicas == 1, np.ndarray

    def step(frame: Frame) -> Any:
        env = frame.env
        values = [env[o] for o in operands]
        for at, value in enumerate(values):
            if type(value) is array:
                continue
            if isinstance(value, Unknown):
                return value
            if alone:
                values[at] = form(value)
        return host(*values) if alone else each_replica(host, values, form)

    return step


def compiled(evaluator: Evaluator, op: Op, cut: Slice) -> Step:
    """A value that a compiled slice gives."""
    live_in = sorted(set(op.operands))
    backend, mark = evaluator.backend, evaluator.board.mark
    ready = backend.array_class
    record = Doing(Phase.RUN, op.computation.name, op.name).record()

    def step(frame: Frame) -> Any:
        env = frame.env
        values = []
        for o in live_in:
            value = env[o]
            if type(value) is not ready:
                value = _prepared(backend, env, o)
                if isinstance(value, Unknown):
                    return value
            values.append(value)
        mark(record)
        try:
            return cut(values)[0]
        except EngineError as error:
            return evaluator.became_unknown(op.computation, op, reason_of(error))

    return step


def in_block(evaluator: Evaluator, op: Op, cut: Slice, block: BlockFusion) -> Step:
    """The value of a fusion of which only the block that it replaces is compiled."""
    operands, moved = op.operands, block.numbers()
    backend, mark = evaluator.backend, evaluator.board.mark
    record = Doing(Phase.RUN, op.computation.name, op.name).record()

    def step(frame: Frame) -> Any:
        values = [frame.env[o] for o in operands]
        for value in values:
            unknown = find_unknown(value)
            if unknown is not None:
                return unknown
        for number in moved:
            values[number] = _prepared(backend, frame.env, operands[number])
        mark(record)
        try:
            return block.value(values, cut([values[number] for number in moved]))
        except EngineError as error:
            return evaluator.became_unknown(op.computation, op, reason_of(error))

    return step


def _prepared(backend: Backend, env: list[Any], index: int) -> Any:
    """A value as a slice takes it, or what of it is unknown."""
    value = env[index]
    if isinstance(value, Unknown):
        return value
    if isinstance(value, tuple):
        return find_unknown(value) or value
    if value is not None and backend.replicas == 1:
        # The device's form is kept, so that the next user of the value does not move it again.
        value = env[index] = backend.put(value)
    return value
