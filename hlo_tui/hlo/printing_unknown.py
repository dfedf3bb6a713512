"""Fields of a proto that the schema has no name for: what a newer XLA wrote."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

_FIXED = {1: 8, 5: 4}


def has_unknown_fields(message: Message) -> bool:
    """Whether a message holds, at any depth, fields that the schema does not have."""
    known = type(message)()
    known.CopyFrom(message)
    known.DiscardUnknownFields()
    return known.ByteSize() != message.ByteSize()


def unknown_fields(message: Message, skip: str = "") -> list[str]:
    """Describe the unknown fields of a message: `field 93: 12 bytes`, after the messages that it is in.

    Args:
        message: any message.
        skip: name of a field of it that is not looked into.
    """
    found: list[str] = []
    pending: list[tuple[str, Message]] = [("", message)]
    while pending:
        path, current = pending.pop()
        for field in _fields(UnknownFieldSet(current)):
            found.append(f"{path}field {field.field_number}: {_size(field.wire_type, field.data)} bytes")
        for known, value in current.ListFields():
            if known.message_type is None or known.name == skip:
                continue
            if known.message_type.GetOptions().map_entry:
                inside = [one for one in value.values() if isinstance(one, Message)]
            else:
                inside = [value] if isinstance(value, Message) else value
            pending.extend((f"{path}{known.name} ", one) for one in inside if has_unknown_fields(one))
    return found


def _fields(some: UnknownFieldSet) -> Iterator[Any]:
    return (some[index] for index in range(len(some)))


def _size(wire_type: int, data: object) -> int:
    if isinstance(data, bytes):
        return len(data)
    if isinstance(data, int) and wire_type == 0:
        return max(1, -(-data.bit_length() // 7))
    if isinstance(data, UnknownFieldSet):
        return sum(_size(one.wire_type, one.data) for one in _fields(data))
    return _FIXED.get(wire_type, 0)
