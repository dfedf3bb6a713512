"""The few parts of the protobuf wire format that are read by hand."""

from __future__ import annotations

from collections.abc import Iterator

_FIXED = {1: 8, 5: 4}
_LENGTH = 2
_LONGEST_VARINT = 10


def varint(data: bytes, place: int) -> tuple[int, int]:
    """Give the number that begins at `place`, as much as there is of it, and the place after it."""
    value = shift = 0
    for byte in data[place : place + _LONGEST_VARINT]:
        value |= (byte & 0x7F) << shift
        shift += 7
        place += 1
        if byte < 0x80:
            break
    return value, place


def to_varint(value: int) -> bytes:
    """Give a number that is not negative as a varint."""
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)


def fields(message: bytes) -> Iterator[tuple[int, int, int]]:
    """Give number, start and end of every length-delimited field at the top of a message.

    The last end lies beyond the message where that is cut off; what is no field ends the walk.
    """
    place = 0
    while place < len(message):
        key, place = varint(message, place)
        length = 0
        if not key >> 3:
            return
        if key & 7 == _LENGTH:
            length, place = varint(message, place)
            yield key >> 3, place, place + length
        elif key & 7 == 0:
            _, place = varint(message, place)
        elif key & 7 in _FIXED:
            place += _FIXED[key & 7]
        else:
            return
        place += length


def field(message: bytes, number: int) -> bytes:
    """Give the first length-delimited field with that number at the top of a message, or nothing."""
    return next((message[start:end] for found, start, end in fields(message) if found == number), b"")


def is_cut_off(message: bytes) -> bool:
    """Whether a field at the top of a message ends beyond the message."""
    return any(end > len(message) for _, _, end in fields(message))
