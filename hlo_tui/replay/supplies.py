"""Values given where none can be computed: by the person as zeros, made ones, a file, an operand, or a stand-in's;
where an infeed or a recv waits, made ones by themselves.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.numerals import number_of
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays, channels, feeds, standins
from hlo_tui.replay.arrayfiles import load, typed
from hlo_tui.replay.feeds import Feeds
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.making import draw
from hlo_tui.replay.program import Op, Program
from hlo_tui.replay.slices import value_shape
from hlo_tui.replay.standins import NO_STAND_INS, StandIns
from hlo_tui.replay.transfers import remarks
from hlo_tui.replay.uses import Use
from hlo_tui.replay.values import find_unknown
from hlo_tui.replay.xla import Replicated

Json = dict[str, Any]
Place = tuple[str, str]
Step = Callable[[Frame], Any]
FORMS = "NAME=zeros, NAME=made, NAME=FILE.npy or NAME=operand:N"


class NotGiven(Exception):
    """What the person gives cannot be used for this value; the text says why."""


class Supplies:
    """What is given for the instructions of one program: by the person, or by itself where one waits for data.

    Attributes:
        asked: what the person gives, in the forms of FORMS.
        computations: ids of the computations in or below which something is given.
        used: (computation, instruction) -> what its value came from, of those that were asked for so far.
    """

    def __init__(
        self,
        program: Program,
        asked: Sequence[str] = (),
        stand_ins: StandIns = NO_STAND_INS,
        seed: int = 0,
        devices: int = 1,
        by_use: bool = True,
    ) -> None:
        """Find the instructions that are meant.

        Args:
            program: the module.
            asked: what is given, in the forms of FORMS; NAME may have its computation before it,
                COMPUTATION/NAME.
            stand_ins: functions for custom calls.
            seed: of made values.
            devices: on how many the module runs.
            by_use: see `Feeds`.

        Raises:
            HloTuiError: one is of no such form, names nothing, or does not fit.
        """
        self._seed = seed
        self._steps: dict[Place, tuple[str, Step]] = {}
        self.used: dict[Place, str] = {}
        self.asked = tuple(asked)
        self._moved = remarks(program, devices)
        # Which of them nobody asked for.
        self._by_itself: set[Place] = set()
        for op, step in Feeds(program, seed, devices, by_use).steps():
            function = stand_ins.functions.get(op.opcode)
            if function is not None:
                self._put(op, f"stand-in {stand_ins.path}", _feeding(op, function))
            else:
                self._steps[_place(op)] = (feeds.WORDS[op.opcode], step)
                self._by_itself.add(_place(op))
        if stand_ins.functions:
            self._stand_in(program, stand_ins)
        for text in asked:
            self._ask(program, text)
        self.computations = self._holding(program) if self._steps else frozenset()

    def _stand_in(self, program: Program, stand_ins: StandIns) -> None:
        for computation in program.reachable():
            for op in computation.ops:
                function = stand_ins.functions.get(op.proto.custom_call_target)
                if op.opcode == "custom-call" and function is not None:
                    self._put(op, f"stand-in {stand_ins.path}", _standing_in(op, function))

    def _ask(self, program: Program, text: str) -> None:
        name, _, source = text.partition("=")
        computation, _, instruction = name.rpartition("/")
        found = [
            op
            for one in program.reachable()
            for op in one.ops
            if op.name == instruction.lstrip("%") and one.name == (computation or one.name)
        ]
        if not source:
            raise HloTuiError(f"{text!r} supplies nothing", "", f"forms: {FORMS}")
        if not found:
            raise HloTuiError("no such instruction", f"{name!r} is not in the module that runs")
        if len(found) > 1:
            names = ", ".join(f"{op.computation.name}/{op.name}" for op in found[:4])
            raise HloTuiError(
                f"{instruction!r} is the name of {len(found)} instructions", names, "say which one"
            )
        self._put(found[0], source, self._step_of(found[0], source))

    def _put(self, op: Op, words: str, step: Step) -> None:
        self._steps[_place(op)] = (words, step)
        self._by_itself.discard(_place(op))
        done = channels.done_of(op)
        if done is not None:
            # It would have what is sent, whatever its recv holds.
            recv = op.index
            self._steps[_place(done)] = (words, lambda frame: (frame.env[recv][0], None))

    def _holding(self, program: Program) -> frozenset[int]:
        names = {computation for computation, _ in self._steps}
        holding: set[int] = set()
        # Callees come first.
        for computation in program.reachable():
            below = any(called in holding for op in computation.ops for called in op.called)
            if computation.name in names or below:
                holding.add(computation.id)
        return frozenset(holding)

    def step(self, op: Op) -> Step | None:
        """How the value of an instruction is had, where one is given; the step raises NotGiven."""
        found = self._steps.get(_place(op))
        if found is None:
            return None
        words, step = found

        def used(frame: Frame) -> Any:
            self.used[_place(op)] = words
            return step(frame)

        return used

    def source_of(self, op: Op) -> Json | None:
        """Where the value of an instruction comes from, if it or what it takes it out of is given; as `listed` says."""
        while _place(op) not in self._steps and op.opcode in _TAKEN_OUT:
            op = op.computation.ops[op.operands[0]]
        found = self._steps.get(_place(op))
        return None if found is None else self._listed({_place(op): found[0]})[0]

    def listed(self) -> list[Json]:
        """Every instruction for which something is given: its computation and name, and what; `by_itself` says that
        nobody asked for it.
        """
        return self._listed({place: words for place, (words, _) in self._steps.items()})

    def listed_used(self) -> list[Json]:
        """Those whose values were asked for."""
        return self._listed(self.used)

    def _listed(self, places: dict[Place, str]) -> list[Json]:
        return [
            {
                "computation": computation,
                "instruction": instruction,
                "value": words,
                "by_itself": (computation, instruction) in self._by_itself,
            }
            for (computation, instruction), words in sorted(places.items())
        ]

    def reasons(self, to_supply: bool = True) -> list[str]:
        """What keeps a replay with these, and with what is received, from being faithful to the job.

        Args:
            to_supply: whether to say how the person gives others.
        """
        reasons = []
        asked = [f"{name} ({words})" for (_, name), words in self._words(by_itself=False)]
        if asked:
            reasons.append(f"values are supplied: {_some(asked)}")
        waiting = [name for (_, name), _ in self._words(by_itself=True)]
        if waiting:
            how = f"; --supply {waiting[0]}=FILE.npy gives it another value" if to_supply else ""
            reasons.append(f"what comes from outside is made: {_some(waiting)} waited for it in the job{how}")
        return reasons + self._moved

    def _words(self, by_itself: bool) -> list[tuple[Place, str]]:
        return [
            (place, words)
            for place, (words, _) in sorted(self._steps.items())
            if (place in self._by_itself) is by_itself
        ]

    def why_not_the_job(self) -> str:
        """Why outputs cannot be compared with what has none of these values; empty where none was asked for."""
        if not self.used:
            return ""
        made = self._by_itself.issuperset(self.used)
        return "values that an infeed or a recv waits for were made" if made else "values were supplied"

    def _step_of(self, op: Op, source: str) -> Step:
        shape = value_shape(op)
        if source.startswith("operand:"):
            return _passing_on(op, source)
        if source == "zeros":
            value = _filled(shape, _zeros)
        elif source == "made":
            rng = np.random.default_rng([self._seed, zlib.crc32(op.name.encode())])
            value = _filled(shape, lambda dtype, dims: draw(rng, "made", dtype, dims, Use()))
        elif source.endswith(".npy"):
            value = _leading(shape, load(Path(source).expanduser()), source)
        else:
            raise HloTuiError(f"{source!r} is no value to supply", f"for {op.name}", f"forms: {FORMS}")
        return lambda _frame: value


# They give a value, or a part of one, on as it is.
_TAKEN_OUT = frozenset({"get-tuple-element", "recv-done"})


def _place(op: Op) -> Place:
    return op.computation.name, op.name


def _some(named: list[str]) -> str:
    return ", ".join(named[:3]) + (f" and {len(named) - 3} more" if len(named) > 3 else "")


Make = Callable[[np.dtype[Any], tuple[int, ...]], Any]


def _zeros(dtype: np.dtype[Any], dims: tuple[int, ...]) -> arrays.Array:
    return np.broadcast_to(np.zeros((), dtype), dims)


def _filled(shape: pb.ShapeProto, make: Make) -> Any:
    if shape.element_type == arrays.TUPLE:
        return tuple(_filled(part, make) for part in shape.tuple_shapes)
    if shape.element_type not in arrays.DTYPES:
        return None
    return make(arrays.DTYPES[shape.element_type], tuple(shape.dimensions))


def _leading(shape: pb.ShapeProto, array: arrays.Array, source: str) -> Any:
    """The array as a value of this shape; of a tuple it is the first part, and the others are zeros."""
    if shape.element_type == arrays.TUPLE and shape.tuple_shapes:
        first, *rest = shape.tuple_shapes
        return (_leading(first, array, source), *(_filled(part, _zeros) for part in rest))
    dtype = arrays.DTYPES.get(shape.element_type)
    if dtype is None or array.shape != tuple(shape.dimensions):
        message = f"{source} has {list(array.shape)}, the value is {arrays.shape_text(shape)}"
        raise HloTuiError("the value does not fit", message)
    return typed(array, dtype, source)


def _passing_on(op: Op, source: str) -> Step:
    number = number_of(source.removeprefix("operand:"))
    shape = value_shape(op)
    first = shape.tuple_shapes[0] if shape.tuple_shapes else shape
    if number is None or number >= len(op.operands):
        raise HloTuiError(f"{source!r} is no operand", f"{op.name} has {len(op.operands)}", f"forms: {FORMS}")
    place = op.operands[number]
    operand = value_shape(op.computation.ops[place])
    wanted, got = arrays.shape_text(shape), arrays.shape_text(operand)
    if got == wanted:
        return lambda frame: frame.env[place]
    if got != arrays.shape_text(first):
        raise HloTuiError("the value does not fit", f"{source} of {op.name} is {got}, the value is {wanted}")
    rest = tuple(_filled(part, _zeros) for part in shape.tuple_shapes[1:])
    return lambda frame: (frame.env[place], *rest)


def _standing_in(op: Op, function: standins.Function) -> Step:
    shape = value_shape(op)
    config = op.proto.backend_config.decode(errors="replace")

    def run(*operands: Any) -> Any:
        try:
            result = standins.guarded(function, *operands, backend_config=config)
        except standins.Failed as error:
            raise NotGiven(f"the stand-in for {op.proto.custom_call_target} raised {error}") from error
        return _result(result, shape)

    def step(frame: Frame) -> Any:
        values = [frame.env[operand] for operand in op.operands]
        for value in values:
            unknown = find_unknown(value)
            if unknown is not None:
                return unknown
        return _each(run, values)

    return step


def _feeding(op: Op, function: standins.Function) -> Step:
    data, *rest = op.proto.shape.tuple_shapes
    if op.opcode == "infeed":
        named: Json = {"backend_config": op.proto.infeed_config.decode(errors="replace")}
    else:
        named = {"channel_id": op.proto.channel_id}

    def step(frame: Frame) -> Any:
        try:
            result = standins.guarded(function, iteration=feeds.iterations(frame), **named)
        except standins.Failed as error:
            raise NotGiven(f"the stand-in for {op.opcode} raised {error}") from error
        return (_result(result, data), *(_filled(part, _zeros) for part in rest))

    return step


def _each(run: Callable[..., Any], values: list[Any]) -> Any:
    """Apply a function to numpy values; where they are replicated, to each replica's, and join the results."""
    count = max((n for value in values if (n := _replicas(value))), default=0)
    if not count:
        return run(*(_part(value, 0) for value in values))
    return _joined([run(*(_part(value, replica) for value in values)) for replica in range(count)])


def _replicas(value: Any) -> int:
    if isinstance(value, tuple):
        return max((_replicas(part) for part in value), default=0)
    return len(value.parts) if isinstance(value, Replicated) else 0


def _part(value: Any, replica: int) -> Any:
    """A copy of one replica's value: a stand-in may write into what it is given."""
    if isinstance(value, tuple):
        return tuple(_part(part, replica) for part in value)
    if isinstance(value, Replicated):
        return np.array(value.parts[replica])
    return None if value is None else np.array(value)


def _joined(results: list[Any]) -> Any:
    if isinstance(results[0], tuple):
        return tuple(_joined([result[n] for result in results]) for n in range(len(results[0])))
    return None if results[0] is None else Replicated(tuple(results))


def _result(result: Any, shape: pb.ShapeProto) -> Any:
    """What a stand-in gave as a value of this shape."""
    if shape.element_type == arrays.TUPLE:
        parts = result if isinstance(result, tuple | list) else (result,)
        if len(parts) != len(shape.tuple_shapes):
            raise NotGiven(f"the stand-in gave {len(parts)} results, not {len(shape.tuple_shapes)}")
        return tuple(_result(part, wanted) for part, wanted in zip(parts, shape.tuple_shapes, strict=True))
    dtype = arrays.DTYPES.get(shape.element_type)
    if dtype is None:
        return None
    try:
        array = np.asarray(result).astype(dtype)
    except (TypeError, ValueError) as error:
        raise NotGiven(f"the stand-in's result is no {arrays.shape_text(shape)}: {error}") from error
    if array.shape != tuple(shape.dimensions):
        raise NotGiven(f"the stand-in gave {list(array.shape)}, not {arrays.shape_text(shape)}")
    return array
