"""What goes between the screen's process and the worker: length-prefixed JSON, nothing that runs code when
read.
"""

from __future__ import annotations

import json
import math
import struct
from typing import IO, Any

_LENGTH = struct.Struct("<I")
LIMIT = 1 << 28


class Closed(Exception):
    """The other side is gone, or what came is not a message."""


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Write one message; a number that JSON has no form for goes as its name ("nan", "inf", "-inf").

    Raises:
        Closed: the other side does not listen any more.
    """
    try:
        text = json.dumps(message, allow_nan=False)
    except ValueError:
        text = json.dumps(_named(message), allow_nan=False)
    data = text.encode()
    try:
        stream.write(_LENGTH.pack(len(data)) + data)
        stream.flush()
    except (OSError, ValueError) as error:
        raise Closed(str(error)) from error


def _named(part: Any) -> Any:
    """The same with names in the place of the numbers that are not finite."""
    if isinstance(part, dict):
        return {key: _named(value) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_named(value) for value in part]
    return str(part) if isinstance(part, float) and not math.isfinite(part) else part


def receive(stream: IO[bytes]) -> dict[str, Any]:
    """Read one message.

    Raises:
        Closed: the stream ended, or holds something else.
    """
    try:
        head = stream.read(_LENGTH.size)
        if len(head) < _LENGTH.size:
            raise Closed("the stream ended")
        (length,) = _LENGTH.unpack(head)
        if length > LIMIT:
            raise Closed(f"a message of {length} bytes is none of ours")
        data = stream.read(length)
        if len(data) < length:
            raise Closed("the stream ended inside a message")
        message = json.loads(data)
    except (OSError, ValueError) as error:
        raise Closed(str(error)) from error
    if not isinstance(message, dict):
        raise Closed("not a message")
    return message
