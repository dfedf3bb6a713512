"""Protos in text form, where literals stand as one line for every element."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TypeVar

from google.protobuf import text_format
from google.protobuf.message import DecodeError, EncodeError, Message

from hlo_tui.hlo.schema import hlo_pb2 as pb

_Parsed = TypeVar("_Parsed", bound=Message)

_VALUES = re.compile(rb"^[ \t]*(preds|[su](?:32|64)s|f(?:32|64)s|c(?:64|128)s): ", re.MULTILINE)
# The field of literals that XLA gave up; here it holds the number of the lines that were taken out.
_MARK = b"sparse_indices"
# Fewer lines are read by protobuf itself.
_SHORTEST_RUN = 64

_Run = tuple[str, list[bytes]]


def parse_text(data: bytes, parsed: _Parsed) -> _Parsed:
    """Read a message in text form; fields that the schema does not have are left out.

    Protobuf reads text slowly, so long runs of elements are taken out before and put in after.

    Args:
        data: UTF-8.
        parsed: an empty message of the type that is wanted.

    Raises:
        ValueError: it is not such a message, or nests deeper than a binary message can.
    """
    runs: list[_Run] = []
    if _MARK not in data:
        data = b"".join(_without_runs(data, runs))
    try:
        text_format.Parse(data.decode(), parsed, allow_unknown_field=True)
        # The text may nest deeper than a binary message can, and than what reads messages here expects.
        whole = type(parsed).FromString(parsed.SerializeToString())
    except RecursionError:
        raise ValueError("its messages are nested deeper than can be read") from None
    except (text_format.ParseError, DecodeError, EncodeError) as error:
        raise ValueError(str(error)) from error
    if runs:
        for literal in _marked_literals(whole):
            for number in literal.sparse_indices:
                name, values = runs[number]
                getattr(literal, name).extend(map(_reader(name), values))
            literal.ClearField("sparse_indices")
    return whole


def _without_runs(data: bytes, runs: list[_Run]) -> Iterator[bytes]:
    kept = place = 0
    while match := _VALUES.search(data, place):
        prefix = match[0]
        start = place = match.start()
        values = []
        while data.startswith(prefix, place):
            end = data.find(b"\n", place)
            if end < 0:
                break
            values.append(data[place + len(prefix) : end])
            place = end + 1
        if len(values) >= _SHORTEST_RUN:
            yield data[kept:start]
            yield b"%s: %d\n" % (_MARK, len(runs))
            runs.append((match[1].decode(), values))
            kept = place
        place = max(place, match.end())
    yield data[kept:]


def _marked_literals(message: Message) -> Iterator[pb.LiteralProto]:
    pending = [message]
    while pending:
        current = pending.pop()
        if isinstance(current, pb.LiteralProto) and current.sparse_indices:
            yield current
        for field, value in current.ListFields():
            if field.message_type is None or field.message_type.GetOptions().map_entry:
                continue
            pending.extend([value] if isinstance(value, Message) else value)


def _reader(name: str) -> Callable[[bytes], object]:
    if name == "preds":
        return _boolean
    return float if name[0] in "fc" else int


def _boolean(value: bytes) -> bool:
    if value in (b"true", b"false"):
        return value == b"true"
    raise ValueError(f"not a boolean: {value!r}")
