"""Whether a module is a function of a person's own program, told from the beginning of its text."""

from __future__ import annotations

import re

_NAME = re.compile(rb"HloModule ([^\s,]{1,4096})")
_TABLE = re.compile(rb"^(FileNames|FunctionNames|FileLocations)\r?$", re.MULTILINE)
_ENTRY = re.compile(rb'(\d{1,9}) "((?:[^"\\\n]|\\.)*+)"')
_LOCATION = re.compile(rb"\{file_name_id=(\d{1,9}) function_name_id=(\d{1,9})\b")
# What JAX puts before the name of a function that it compiles, and XLA behind it.
_PREFIX = re.compile(rb"^(?:jit|pjit|pmap|xla_pmap)_+")
_NUMBER = re.compile(rb"\.\d+$")
_LIBRARIES = (b"/site-packages/", b"/dist-packages/", b"/jax/_src/", b"<frozen ")


def is_own(head: bytes) -> bool:
    """Whether the function that a module was made from stands in a file that is not a library's.

    Helpers that a library compiles for itself are called from a person's file too, but the function that has the
    module's name is not in it. Where the text has no tables of source lines this is not known: False.
    """
    named = _NAME.search(head)
    if named is None:
        return False
    wanted = _plain(_NUMBER.sub(b"", _PREFIX.sub(b"", named[1], count=1)))
    tables = _tables(head)
    functions = {
        int(number)
        for number, name in _ENTRY.findall(tables.get(b"FunctionNames", b""))
        # A name is that of the function with those around it: `main.<locals>.step`.
        if _plain(name.rpartition(b".")[2]) == wanted
    }
    if not functions or not wanted:
        return False
    files = {int(number): path for number, path in _ENTRY.findall(tables.get(b"FileNames", b""))}
    for file, function in _LOCATION.findall(tables.get(b"FileLocations", b"")):
        path = files.get(int(file), b"")
        if int(function) in functions and path and not any(library in path for library in _LIBRARIES):
            return True
    return False


def _tables(head: bytes) -> dict[bytes, bytes]:
    """The text of each table, up to the blank line behind it."""
    found: dict[bytes, bytes] = {}
    for match in _TABLE.finditer(head):
        end = head.find(b"\n\n", match.end())
        found.setdefault(match[1], head[match.end() : end if end >= 0 else len(head)])
    return found


def _plain(name: bytes) -> bytes:
    """A function's name as XLA spells it in a module's."""
    return re.sub(rb"[^A-Za-z0-9_]", b"_", name).strip(b"_")
