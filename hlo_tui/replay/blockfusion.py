"""Fusions and calls that end in a dynamic-update-slice of what they are given: the array itself is not copied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from hlo_tui.replay import arrays
from hlo_tui.replay.hostops import Function, host_function
from hlo_tui.replay.program import Computation, Op
from hlo_tui.replay.slices import Piece, value_shape
from hlo_tui.replay.values import as_it_is, each_replica

# A smaller array is copied as quickly as the block is put in.
WORTH_IT = 64 << 10


class BlockFusion(NamedTuple):
    """A fusion taken apart: its last instruction, and what gives the block and where it goes.

    Attributes:
        computation: the fused one.
        ops: positions in it of what is to be computed.
        given: positions of the parameters that this needs.
        computed: positions of the values that come out of it.
        operands: what gives each operand of the last instruction (the array, the block, the starts), of the values of
            the fusion's operands and of `computed`.
        update: the last instruction as a function of their values.
    """

    computation: Computation
    ops: list[int]
    given: list[int]
    computed: list[int]
    operands: list[Callable[[list[Any], list[Any]], Any]]
    update: Function

    def piece_of(self, cut: Callable[[Computation, list[int], list[int], list[int]], Piece]) -> Piece:
        """What is to be compiled, as `cut` cuts it out of a computation."""
        return cut(self.computation, self.ops, self.given, self.computed)

    def numbers(self) -> list[int]:
        """Which of the fusion's operands go into what is compiled."""
        return [int(self.computation.ops[index].proto.parameter_number) for index in self.given]

    def value(self, values: list[Any], results: list[Any]) -> Any:
        """The fusion's value, of its operands' values and the computed ones."""
        return each_replica(self.update, [of(values, results) for of in self.operands], as_it_is)


def block_fusion(op: Op) -> BlockFusion | None:
    """A fusion or call taken apart, where it only replaces a block of a large array that it is given."""
    if op.opcode not in ("fusion", "call") or arrays.byte_size(op.proto.shape) < WORTH_IT:
        return None
    fused = op.computation.program.computation(op.called[0])
    root = fused.ops[fused.root]
    if root.opcode != "dynamic-update-slice" or fused.ops[root.operands[0]].opcode != "parameter":
        return None
    update = host_function(root, [value_shape(fused.ops[o]) for o in root.operands])
    if update is None:
        return None
    computed = sorted({o for o in root.operands[1:] if fused.ops[o].opcode not in ("parameter", "constant")})
    # Something has to be compiled, as for every other fusion.
    computed = computed or [root.operands[1]]
    needed = sorted({index for one in computed for index in fused.cone(one)})
    given = [index for index in needed if fused.ops[index].opcode == "parameter"]
    ops = [index for index in needed if fused.ops[index].opcode != "parameter"]
    operands = [_operand(fused.ops[o], computed) for o in root.operands]
    return BlockFusion(fused, ops, given, computed, operands, update)


def _operand(op: Op, computed: list[int]) -> Callable[[list[Any], list[Any]], Any]:
    """What gives an operand of the last instruction, of the fusion's operands' values and the computed ones."""
    if op.index in computed:
        place = computed.index(op.index)
        return lambda _, results: results[place]
    if op.opcode == "parameter":
        number = op.proto.parameter_number
        return lambda values, _: values[number]
    value = arrays.literal_to_value(op.proto.literal)
    return lambda _values, _results: value
