"""Where a bad element comes from: back along the operands, through calls and iterations, to the one that began it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.channels import sent_to
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.sources import Index, made_of, worst_in
from hlo_tui.replay.values import Unknown, number
from hlo_tui.replay.xla import Replicated

Json = dict[str, Any]
STEPS = 400


class Place(NamedTuple):
    """One element of a value.

    Attributes:
        frame: the run.
        at: position of the instruction.
        part: positions in nested tuples.
        element: its index in the array.
    """

    frame: Frame
    at: int
    part: tuple[int, ...]
    element: Index


class Trace:
    """Follows elements of one replay."""

    def __init__(self, evaluator: Evaluator, partition: int = 0) -> None:
        """Take a replay, and whose elements of it.

        Raises:
            HloTuiError: there is no such partition.
        """
        devices = evaluator.topology.devices
        if not 0 <= partition < devices:
            raise HloTuiError("no such partition", f"{partition}: the module runs on {devices} devices")
        self._evaluator = evaluator
        self._partition = partition

    def back(self, place: Place) -> list[Place]:
        """The places from this one back to where it begins, this one first.

        A NaN is followed to a NaN or an infinity among what it is made of, an infinity to what is not finite, a
        finite number to the greatest magnitude, until nothing of the kind is left or an input or constant is met.

        Raises:
            HloTuiError: the place is no element of an array.
        """
        like = _kind(self._element(place))
        chain = [place]
        while len(chain) < STEPS:
            before = self._before(chain[-1], like)
            if before is None:
                return chain
            chain.append(before)
            like = _kind(self._element(before))
        return chain

    def _array(self, frame: Frame, at: int, part: tuple[int, ...]) -> Any:
        value = self._evaluator.value(frame, at)
        for position in part:
            if not isinstance(value, tuple):
                return None
            value = value[position]
        if isinstance(value, Replicated):
            value = value.parts[self._partition]
        return None if value is None or isinstance(value, tuple | Unknown) else np.asarray(value)

    def _element(self, place: Place) -> Any:
        array = self._array(place.frame, place.at, place.part)
        if array is None or len(place.element) != array.ndim:
            raise HloTuiError("no such element", f"{list(place.element)} is no element of the value")
        try:
            return array[place.element]
        except IndexError as error:
            raise HloTuiError("no such element", str(error)) from error

    def _before(self, place: Place, like: str) -> Place | None:
        frame, op = place.frame, place.frame.computation.ops[place.at]
        if op.opcode == "parameter":
            return self._at_the_caller(place, op.proto.parameter_number)
        if op.opcode == "tuple":
            return Place(frame, op.operands[place.part[0]], place.part[1:], place.element)
        if op.opcode == "recv-done" and sent_to(op) is None:
            return Place(frame, op.operands[0], place.part, place.element)
        if op.opcode == "get-tuple-element":
            return Place(frame, op.operands[0], (op.proto.tuple_index, *place.part), place.element)
        if op.enterable:
            return self._inside(place)
        if place.part:
            return self._anywhere(place, like)
        return self._among(place, like)

    def _among(self, place: Place, like: str) -> Place | None:
        frame, op = place.frame, place.frame.computation.ops[place.at]
        operands = [self._array(frame, operand, ()) for operand in op.operands]
        wanted = ("nan", "inf") if like == "nan" else (like,)
        for kind in wanted:
            best: tuple[float, Place] | None = None
            for candidates in made_of(op, place.element, operands):
                array = operands[candidates.operand]
                found = None if array is None else worst_in(array, candidates.region, kind)
                if found is None:
                    continue
                there = Place(frame, op.operands[candidates.operand], (), found)
                if kind != "finite":
                    return there
                size = abs(complex(array[found])) if array.dtype.kind == "c" else abs(float(array[found]))
                if best is None or size > best[0]:
                    best = (size, there)
            if best is not None:
                return best[1]
        return None

    def _anywhere(self, place: Place, like: str) -> Place | None:
        """An operation with several results (a sort, a variadic reduce): any operand may hold it."""
        frame, op = place.frame, place.frame.computation.ops[place.at]
        for operand in op.operands:
            array = self._array(frame, operand, ())
            if array is not None:
                found = worst_in(array, (slice(None),) * array.ndim, like)
                if found is not None:
                    return Place(frame, operand, (), found)
        return None

    def _inside(self, place: Place) -> Place | None:
        frame, runs = place.frame, self._evaluator.runs
        op = frame.computation.ops[place.at]
        if op.opcode == "while":
            length = runs.loop_length(frame, place.at)
            if not length:
                return Place(frame, op.operands[0], place.part, place.element)
            child = runs.child(frame, place.at, 2 * length - 1)
        else:
            child = runs.first_child(frame, place.at)
        return None if child is None else Place(child, child.computation.root, place.part, place.element)

    def _at_the_caller(self, place: Place, parameter: int) -> Place | None:
        frame = place.frame
        caller = frame.parent
        if caller is None:
            return None
        op = frame.op
        if op.opcode == "while":
            assert frame.iteration is not None
            if frame.iteration:
                body = self._evaluator.runs.child(caller, frame.site, 2 * frame.iteration - 1)
                return None if body is None else Place(body, body.computation.root, place.part, place.element)
            return Place(caller, op.operands[0], place.part, place.element)
        if op.opcode == "conditional":
            taken = self._evaluator.runs.branch(op, self._evaluator.value(caller, op.operands[0]))
            assert taken is not None
            return Place(caller, op.operands[taken + 1], place.part, place.element)
        if op.enterable:
            return Place(caller, op.operands[parameter], place.part, place.element)
        return None

    def describe(self, place: Place) -> Json:
        """A place as an answer can carry it."""
        frame = place.frame
        op = frame.computation.ops[place.at]
        return {
            "computation": frame.computation.name,
            "instruction": op.name,
            "opcode": op.opcode,
            "path": [{"computation": f.computation.name, "iteration": f.iteration} for f in frame.chain()],
            "part": list(place.part),
            "index": list(place.element),
            "value": number(self._element(place)),
        }


def _kind(element: Any) -> str:
    value = np.asarray(element)
    if value.dtype.kind not in "fc":
        value = value.astype(np.float32) if value.dtype.kind not in "biu" else value.astype(np.float64)
    if np.isnan(value):
        return "nan"
    return "finite" if np.isfinite(value) else "inf"
