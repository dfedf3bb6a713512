"""What one operation costs, by the rules of XLA's HloCostAnalysis, from its shapes and attributes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from hlo_tui.cost.cost import NOTHING, Cost
from hlo_tui.cost.libraries import library_cost
from hlo_tui.cost.windows import convolution_flops, window_of
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.numerals import product
from hlo_tui.hlo.shape import Shape

Sub = Callable[[str], Cost]

TRANSCENDENTAL = frozenset((
    "acos", "acosh", "asin", "asinh", "atan2", "atanh", "cbrt", "cosine", "cosh", "erf", "exponential",
    "exponential-minus-one", "log", "log-plus-one", "logistic", "power", "rsqrt", "sine", "sinh", "sqrt", "tan", "tanh",
))  # fmt: skip
ELEMENTWISE = frozenset((
    "abs", "add", "and", "bitcast-convert", "ceil", "clamp", "compare", "complex", "convert", "count-leading-zeros",
    "divide", "floor", "imag", "is-finite", "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt", "real",
    "reduce-precision", "remainder", "round-nearest-afz", "round-nearest-even", "select", "shift-left",
    "shift-right-arithmetic", "shift-right-logical", "sign", "stochastic-convert", "subtract", "xor",
))  # fmt: skip
_FREE = frozenset((
    "parameter", "constant", "get-tuple-element", "bitcast", "domain", "after-all", "add-dependency",
))  # fmt: skip
_POINTER = 8
_PACKED = re.compile(r"[su][124]|f4e2m1fn")
_NUMBERS = re.compile(r"\d{1,18}")


def size_of(shape: Shape) -> int:
    """Bytes of a value as it is passed on: of a tuple its table of pointers."""
    if shape.is_tuple:
        return _POINTER * len(shape.elements)
    # Elements of less than a byte take a whole one unless the layout packs them.
    elements = shape.element_count if _PACKED.fullmatch(shape.dtype) and "E(" not in shape.layout else 0
    # The sizes of the dimensions that change stand behind the elements.
    return max(shape.byte_size, elements) + (4 * shape.rank if any(shape.dynamic) else 0)


def leaf_bytes(shape: Shape) -> int:
    """Bytes of all arrays in a value."""
    if shape.is_tuple:
        return sum(leaf_bytes(element) for element in shape.elements)
    return size_of(shape)


def numbers(text: str) -> list[int]:
    """The numbers in an attribute such as `{1,0}`."""
    return [int(number) for number in _NUMBERS.findall(text)]


def operation(instruction: Instruction, operands: Sequence[Shape], sub: Sub) -> Cost:
    """The cost of one operation that is no fusion, loop, call or branch.

    Args:
        instruction: the operation.
        operands: the shapes of its operands.
        sub: gives the cost of a computation that it applies.
    """
    opcode, shape = instruction.opcode, instruction.shape
    usual = float(leaf_bytes(shape) + sum(map(size_of, operands)))
    if opcode in _FREE or (opcode == "transpose" and operands and _keeps_bytes(instruction, operands[0])):
        return NOTHING
    if opcode in TRANSCENDENTAL:
        return Cost(0, shape.element_count, usual)
    if opcode in ELEMENTWISE:
        return Cost(shape.element_count, 0, usual)
    rule = _RULES.get(opcode)
    if rule is not None:
        found = rule(instruction, operands, sub)
        if found is not None:
            return found if found.bytes >= 0 else Cost(
                found.flops, found.transcendentals, usual, found.unknown
            )  # fmt: skip
    return Cost(bytes=usual)


def _keeps_bytes(instruction: Instruction, operand: Shape) -> bool:
    """Whether a transposition changes nothing but the layout's name."""
    order, given = (
        numbers(instruction.shape.layout.partition(":")[0]),
        numbers(operand.layout.partition(":")[0]),
    )
    moved = numbers(instruction.attributes.get("dimensions", ""))
    rank = operand.rank
    if (
        not len(order) == len(given) == len(moved) == rank == instruction.shape.rank
        or max((*order, *moved), default=0) >= rank
    ):
        return False
    # Dimensions of one element lie anywhere.
    real = [moved[at] for at in order if operand.dimensions[moved[at]] != 1]
    return real == [at for at in given if at < rank and operand.dimensions[at] != 1]


# A rule gives the bytes as -1 where they are those of all operands and results; None where something is missing.
_Found = Cost | None


def _dot(instruction: Instruction, operands: Sequence[Shape], _: Sub) -> _Found:
    if not operands:
        return None
    width = product(
        operands[0].dimensions[at]
        for at in numbers(instruction.attributes.get("lhs_contracting_dims", ""))
        if at < operands[0].rank
    )
    return Cost(2.0 * instruction.shape.element_count * width, 0, -1)


def _convolution(instruction: Instruction, operands: Sequence[Shape], _: Sub) -> _Found:
    if len(operands) < 2:
        return None
    return Cost(convolution_flops(instruction, operands[0], operands[1], instruction.shape), 0, -1)


def _map(instruction: Instruction, _: Sequence[Shape], sub: Sub) -> _Found:
    return _applied(instruction, sub, instruction.shape.element_count)


def _applied(instruction: Instruction, sub: Sub, count: float, bytes: float = -1) -> _Found:
    found = sub(instruction.called[0]).arithmetic(count) if instruction.called else NOTHING
    return Cost(found.flops, found.transcendentals, bytes, found.unknown)


def _reduce(instruction: Instruction, operands: Sequence[Shape], sub: Sub) -> _Found:
    if not operands:
        return None
    return _applied(instruction, sub, operands[0].element_count - _first(instruction.shape).element_count)


def _first(shape: Shape) -> Shape:
    return shape.elements[0] if shape.is_tuple and shape.elements else shape


def _reduce_window(instruction: Instruction, _: Sequence[Shape], sub: Sub) -> _Found:
    window = window_of(instruction.attributes.get("window", ""))
    made = _first(instruction.shape)
    count = product(one.size for one in window)
    applied = (count - 1) * made.element_count
    moving = [one for one in window if one.size != 1]
    padded = [one for one in window if one.low or one.high]
    if len(moving) == 1 == len(padded) and not instruction.shape.is_tuple and len(window) == made.rank:
        at = window.index(moving[0])
        one, length = moving[0], made.dimensions[at]
        # A sum over a whole dimension that is given to every place of it.
        if one.low == one.high == length - 1 != 0 and one.size == 2 * one.low + 1:
            applied = made.element_count // length + length - 1
    return _applied(instruction, sub, applied)


def _select_and_scatter(instruction: Instruction, operands: Sequence[Shape], sub: Sub) -> _Found:
    if len(operands) < 2 or len(instruction.called) < 2:
        return None
    select, scatter = (instruction.attributes.get(key, "").lstrip("%") for key in ("select", "scatter"))
    count = product(one.size for one in window_of(instruction.attributes.get("window", "")))
    source = operands[1].element_count
    found = sub(select).arithmetic(source * (count - 1)) + sub(scatter).arithmetic(source)
    return Cost(found.flops, found.transcendentals, -1, found.unknown)


def _slice(instruction: Instruction, _: Sequence[Shape], __: Sub) -> _Found:
    return Cost(bytes=2.0 * size_of(instruction.shape))


def _dynamic_slice(instruction: Instruction, operands: Sequence[Shape], _: Sub) -> _Found:
    return Cost(bytes=2.0 * size_of(instruction.shape) + sum(map(size_of, operands[1:2])))


def _update(_: Instruction, operands: Sequence[Shape], __: Sub) -> _Found:
    if len(operands) < 2:
        return None
    return Cost(bytes=2.0 * size_of(operands[1]) + sum(map(size_of, operands[2:3])))


def _tuple(instruction: Instruction, _: Sequence[Shape], __: Sub) -> _Found:
    return Cost(bytes=float(size_of(instruction.shape)))


def _gather(instruction: Instruction, operands: Sequence[Shape], _: Sub) -> _Found:
    return Cost(bytes=2.0 * size_of(instruction.shape) + sum(map(size_of, operands[1:2])))


def _scatter(instruction: Instruction, operands: Sequence[Shape], sub: Sub) -> _Found:
    count = (len(operands) - 1) // 2
    if count < 1:
        return None
    updates = operands[count + 1 :]
    moved = 3.0 * sum(map(size_of, updates)) + size_of(operands[count])
    return _applied(instruction, sub, updates[0].element_count, moved)


def _sort(_: Instruction, operands: Sequence[Shape], __: Sub) -> _Found:
    count = operands[0].element_count if operands else 0
    return Cost(count * max(0, (count - 1).bit_length()) if count else 0, 0, -1)


def _fft(instruction: Instruction, operands: Sequence[Shape], _: Sub) -> _Found:
    if not operands:
        return None
    factors = product(
        max(0, at.bit_length() - 1) for at in numbers(instruction.attributes.get("fft_length", ""))
    )
    return Cost(8.0 * factors * _first(operands[0]).element_count, 0, -1)


def _triangular_solve(instruction: Instruction, operands: Sequence[Shape], _: Sub) -> _Found:
    if len(operands) < 2 or not operands[0].rank:
        return None
    moved = size_of(instruction.shape) + size_of(operands[0]) / 2 + size_of(operands[1])
    return Cost(2.0 * operands[0].dimensions[-1] * operands[1].element_count, 0, moved)


def _cholesky(_: Instruction, operands: Sequence[Shape], __: Sub) -> _Found:
    if not operands or not operands[0].rank:
        return None
    count = operands[0].dimensions[-1] * operands[0].element_count
    return Cost(count // 3, 0, float(size_of(operands[0])))


def _all_reduce(instruction: Instruction, operands: Sequence[Shape], _: Sub) -> _Found:
    # As if two took part: each element of the result is one addition.
    moved = leaf_bytes(instruction.shape) + sum(map(size_of, operands))
    return Cost(instruction.shape.element_count, 0, float(moved))


def _random(instruction: Instruction, _: Sequence[Shape], __: Sub) -> _Found:
    return Cost(0, instruction.shape.element_count, -1)


def _infeed(instruction: Instruction, _: Sequence[Shape], __: Sub) -> _Found:
    return Cost(bytes=float(leaf_bytes(instruction.shape)))


def _outfeed(_: Instruction, operands: Sequence[Shape], __: Sub) -> _Found:
    return Cost(bytes=float(sum(map(leaf_bytes, operands))))


def _custom_call(instruction: Instruction, operands: Sequence[Shape], _: Sub) -> _Found:
    flops = library_cost(instruction, operands)
    return Cost(unknown=1, bytes=-1) if flops is None else Cost(flops, 0, -1)


_RULES: dict[str, Callable[[Instruction, Sequence[Shape], Sub], _Found]] = {
    "all-reduce": _all_reduce,
    "all-reduce-start": _all_reduce,
    "cholesky": _cholesky,
    "convolution": _convolution,
    "custom-call": _custom_call,
    "dot": _dot,
    "dynamic-slice": _dynamic_slice,
    "dynamic-update-slice": _update,
    "fft": _fft,
    "gather": _gather,
    "infeed": _infeed,
    "map": _map,
    "outfeed": _outfeed,
    "ragged-dot": _dot,
    "reduce": _reduce,
    "reduce-window": _reduce_window,
    "rng": _random,
    "rng-bit-generator": _random,
    "scaled-dot": _dot,
    "scatter": _scatter,
    "select-and-scatter": _select_and_scatter,
    "slice": _slice,
    "sort": _sort,
    "triangular-solve": _triangular_solve,
    "tuple": _tuple,
}
