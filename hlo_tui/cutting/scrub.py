"""Taking paths and user names out of files, the same one by the same word everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from google.protobuf.message import Message

from hlo_tui.hlo.printing_unknown import unknown_fields
from hlo_tui.hlo.schema import hlo_pb2 as pb

# A string that is a path, with blanks in it perhaps, and a path that stands free. What an op_name says is none.
_QUOTED = re.compile(rb'(?<!op_name=)"(/[^"\n\\]+)"')
_BARE = re.compile(rb"(?<![\w./\-)>\]])/(?:[\w.@+~%#=\-\x80-\xff]+/)+[\w.@+~%#=\-\x80-\xff]*")
_TOGETHER = re.compile(_QUOTED.pattern + rb"|" + _BARE.pattern)
# Behind these the path is the same on every machine, and tells which library is meant.
_LIBRARY = re.compile(rb"/(?:site|dist)-packages/")
_HOMES = re.compile(rb"/(?:home|Users|users)/([^/\s\"]+)")
# Names that are nobody's.
_NOBODY = frozenset((
    b"user", b"users", b"root", b"home", b"runner", b"ubuntu", b"jovyan", b"admin", b"shared", b"public", b"nobody",
))  # fmt: skip
_SHORTEST = 3


class Scrubber:
    """Replaces directories by `/dir1`, `/dir2`, ... and user names by `user1`, `user2`, ...

    Names of files stay, and what is below `site-packages`. Look at everything first, so that a name is known wherever
    it stands.

    Attributes:
        kept: names that could not be replaced, because they are words of HLO too.
        unknown: how many fields were left out that have no name here.
    """

    def __init__(self, users: Iterable[str] = ()) -> None:
        """Begin with names that are known already."""
        self._directories: dict[bytes, bytes] = {}
        self._users: dict[bytes, bytes] = {}
        self._words: re.Pattern[bytes] | None = None
        self.kept: list[str] = []
        self.unknown = 0
        for user in users:
            self._add_user(user.encode("utf-8", "surrogateescape"))

    def look(self, data: bytes) -> None:
        """Note the user names in the paths of a file."""
        for match in _HOMES.finditer(data):
            self._add_user(match[1])

    def look_for_words(self, data: bytes) -> None:
        """Keep the names that are opcodes in this text: to replace them would make it another program."""
        for user in list(self._users):
            if re.search(rb"[ \]})]" + re.escape(user) + rb"\(", data):
                del self._users[user]
                self.kept.append(user.decode("utf-8", "replace"))
                self._words = None

    def text(self, data: bytes) -> bytes:
        """The same bytes without paths and user names."""
        return self._without_users(_TOGETHER.sub(self._replaced, data))

    def name(self, text: str) -> str:
        """A single string, all of which may be a path."""
        data = text.encode("utf-8", "surrogateescape")
        if data.startswith(b"/") and b"\n" not in data:
            return self._without_users(self._path(data)).decode("utf-8", "surrogateescape")
        return self.text(data).decode("utf-8", "surrogateescape")

    def proto(self, message: Message) -> None:
        """Scrub all strings of a message, in place; what has no name here is left out of it."""
        self.unknown += len(unknown_fields(message))
        message.DiscardUnknownFields()
        waiting: list[Any] = [message]
        while waiting:
            current = waiting.pop()
            if isinstance(current, pb.LiteralProto):
                continue
            for field, value in current.ListFields():
                if field.message_type is not None and field.message_type.GetOptions().map_entry:
                    self._map(value, waiting)
                elif field.message_type is not None:
                    waiting += [value] if isinstance(value, Message) else list(value)
                elif field.type in (field.TYPE_STRING, field.TYPE_BYTES):
                    self._field(current, field.name, value)

    def _field(self, message: Message, name: str, value: Any) -> None:
        if name == "op_name":
            setattr(message, name, self._plain(value))
        elif isinstance(value, str | bytes):
            setattr(message, name, self._one(value))
        else:
            made = [self._one(one) for one in value]
            del value[:]
            value.extend(made)

    def _plain(self, value: str) -> str:
        return self._without_users(value.encode("utf-8", "surrogateescape")).decode(
            "utf-8", "surrogateescape"
        )

    def _map(self, value: Any, waiting: list[Any]) -> None:
        for key in list(value):
            if isinstance(value[key], str):
                value[key] = self.name(value[key])
            elif isinstance(value[key], Message):
                waiting.append(value[key])

    def _one(self, value: str | bytes) -> str | bytes:
        return self.name(value) if isinstance(value, str) else self.text(value)

    def _add_user(self, name: bytes) -> None:
        if len(name) >= _SHORTEST and name.lower() not in _NOBODY and name not in self._users:
            self._users[name] = b"user%d" % (len(self._users) + 1)
            self._words = None

    def _replaced(self, match: re.Match[bytes]) -> bytes:
        return b'"' + self._path(match[1]) + b'"' if match[1] is not None else self._path(match[0])

    def _path(self, path: bytes) -> bytes:
        library = _LIBRARY.search(path)
        at = library.start() if library else path.rfind(b"/")
        directory, rest = path[:at], path[at:]
        if not directory:
            return path
        known = self._directories.get(directory)
        if known is None:
            known = self._directories[directory] = b"/dir%d" % (len(self._directories) + 1)
        return known + rest

    def _without_users(self, data: bytes) -> bytes:
        if not self._users:
            return data
        if self._words is None:
            names = b"|".join(re.escape(name) for name in sorted(self._users, key=len, reverse=True))
            self._words = re.compile(rb"(?<![A-Za-z0-9])(?:" + names + rb")(?![A-Za-z0-9])")
        return self._words.sub(lambda match: self._users[match[0]], data)
