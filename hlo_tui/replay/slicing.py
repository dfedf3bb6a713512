"""NumPy's slice syntax as a person types it, read without evaluating anything."""

from __future__ import annotations

from hlo_tui.errors import HloTuiError

FORMS = "[3, 2:8, ::2, ...]: numbers, ranges and one ellipsis, separated by commas"

Index = tuple[int | slice, ...]


def parse_slice(text: str, shape: tuple[int, ...]) -> Index:
    """Read a slice for an array of this shape; missing dimensions are taken whole.

    Raises:
        HloTuiError: it cannot be read, or is out of range.
    """
    inside = text.strip().removeprefix("[").removesuffix("]")
    parts = [part.strip() for part in inside.split(",")] if inside.strip() else []
    if parts.count("...") > 1:
        raise _fault(text, "it has more than one ellipsis")
    rank = len(shape)
    if "..." in parts:
        place = parts.index("...")
        parts[place : place + 1] = [":"] * (rank - len(parts) + 1)
    if len(parts) > rank:
        raise _fault(text, f"the value has {rank} dimensions")
    parts += [":"] * (rank - len(parts))
    return tuple(_part(text, part, size) for part, size in zip(parts, shape, strict=True))


def _part(text: str, part: str, size: int) -> int | slice:
    try:
        numbers = [int(number) if number.strip() else None for number in part.split(":")]
    except ValueError:
        raise _fault(text, f"{part!r} is no number and no range") from None
    if len(numbers) == 1:
        (number,) = numbers
        if number is None or not -size <= number < size:
            raise _fault(text, f"{part or 'nothing'!s} is out of range for a dimension of {size}")
        return number % size
    if len(numbers) > 3 or numbers[2:] == [0]:
        raise _fault(text, f"{part!r} is no range")
    return slice(*numbers)


def _fault(text: str, why: str) -> HloTuiError:
    return HloTuiError(f"{text!r} is no slice", why, f"forms: {FORMS}")
