"""Stand-ins for what an infeed or a recv waits for: made data, other data each time, the same for the same time.

Each execution has a batch of its own. It depends on the seed, on which infeed or channel it is, and on the iterations
of the loops around it, not on names or on what was run before: so stepping back gives the same again, in every grain,
and another stage of the module is fed the same.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import arrays, dynamic
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.making import draw
from hlo_tui.replay.program import Op, Program
from hlo_tui.replay.transfers import waits
from hlo_tui.replay.uses import Path, Use, use_of
from hlo_tui.replay.xla import Replicated

Step = Callable[[Frame], Any]

WORDS = {"infeed": "made: the stand-in of an infeed", "recv": "made: the stand-in of a recv"}


class Feeds:
    """Makes the data for the instructions of one program that wait for some."""

    def __init__(self, program: Program, seed: int, devices: int, by_use: bool = True) -> None:
        """Take a program.

        Args:
            program: the module.
            seed: of the data.
            devices: on how many it runs; each has arrays of its own. Numbers are the same on all, so that all go the
                same way.
            by_use: whether the data are within what their uses allow; they may be others at another stage then.
        """
        self._program = program
        self._seed = seed & (1 << 64) - 1
        self._devices = devices
        self._by_use = by_use

    def steps(self) -> Iterator[tuple[Op, Step]]:
        """The instructions that wait, and how the value of each is had."""
        waiting = [op for op in self._program.receiving if waits(op, self._devices)]
        if not waiting:
            return
        computations = self._program.reachable()
        callers = Counter(called for one in computations for op in one.ops for called in set(op.called))
        several = frozenset(called for called, count in callers.items() if count > 1)
        met: Counter[int] = Counter()
        for op in waiting:
            source = zlib.crc32(f"{op.opcode} {max(op.proto.channel_id, 0)}".encode())
            yield op, self._step(op, [self._seed, source, met[source]], several)
            met[source] += 1

    def _step(self, op: Op, source: list[int], several: frozenset[int]) -> Step:
        uses: dict[Path, Use] = {}

        def use(path: Path) -> Use:
            if path not in uses:
                uses[path] = use_of(op, path) if self._by_use else Use()
            return uses[path]

        def step(frame: Frame) -> Any:
            moment = _moment(frame, several)
            rng = np.random.default_rng([*source, len(moment), *moment])
            data, *rest = op.proto.shape.tuple_shapes
            return (self._made(rng, data, (0,), use), *map(_nothing, rest))

        return step

    def _made(
        self, rng: np.random.Generator, shape: pb.ShapeProto, path: Path, use: Callable[[Path], Use]
    ) -> Any:
        if shape.element_type == arrays.TUPLE:
            return tuple(self._made(rng, part, (*path, n), use) for n, part in enumerate(shape.tuple_shapes))
        dtype = arrays.DTYPES.get(shape.element_type)
        if dtype is None:
            return None
        dims = list(shape.dimensions)
        for d in dynamic.dimensions(shape):
            dims[d] = int(rng.integers(1, dims[d] + 1)) if dims[d] else 0
        parts = [
            draw(rng, "made", dtype, tuple(dims), use(path)) for _ in range(self._devices if dims else 1)
        ]
        return Replicated(tuple(parts)) if len(parts) > 1 else parts[0]


def iterations(frame: Frame) -> tuple[int, ...]:
    """The iterations of the loops around a frame, the outermost first."""
    return tuple(one.iteration for one in frame.chain() if one.iteration is not None)


def _moment(frame: Frame, several: frozenset[int]) -> list[int]:
    """Which run of its computation a frame is: the iterations around it, and the callers where there are several."""
    moment = []
    for one in frame.chain()[1:]:
        if one.computation.id in several:
            moment.append(zlib.crc32(f"{one.op.computation.name}/{one.op.name}".encode()))
        if one.iteration is not None:
            moment.append(one.iteration)
    return moment


def _nothing(shape: pb.ShapeProto) -> Any:
    """A value without meaning: a context of zeros, or a token."""
    dtype = arrays.DTYPES.get(shape.element_type)
    return None if dtype is None else np.zeros(tuple(shape.dimensions), dtype)
