"""The modules inside one text file: a stdout dump between XLA's marks, or several modules in a row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.kinds import LOG_PREFIX
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import decode

_CHUNK = 1 << 20
_MARK = re.compile(
    rb"^" + LOG_PREFIX + rb"(?:\*\*\* (?P<mark>Begin|End) (?P<file>[^\n]{1,4096}) \*\*\*\r?$"
    rb"|HloModule (?P<module>[^\s,]{1,4096}))",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Member:
    """A span of a text file.

    Attributes:
        name: of the file that XLA would have written, or of the module.
        start: offset of its first byte.
        end: offset after its last byte.
        is_module: whether a module's header was seen in it.
    """

    name: str
    start: int
    end: int
    is_module: bool


def find_members(source: Source) -> tuple[Member, ...]:
    """Find what a text file is made of, in one pass over it.

    Returns:
        What stands between `*** Begin` and `*** End` marks, or else the text from each `HloModule` on.
    """
    marked: list[Member] = []
    headers: list[tuple[str, int]] = []
    name, start, seen = "", -1, 0
    for match, offset in _marks(source):
        place = offset + match.start()
        if match["module"] is not None:
            headers.append((decode(match["module"]), place))
            continue
        if start >= 0:
            marked.append(Member(name, start, place, len(headers) > seen))
            start = -1
        if match["mark"] == b"Begin":
            # The newline after the mark belongs to the mark.
            name, start, seen = decode(match["file"]), offset + match.end() + 1, len(headers)
    if start >= 0:
        marked.append(Member(name, start, source.size, len(headers) > seen))
    if marked:
        return tuple(marked)
    ends = (*(place for _, place in headers[1:]), source.size)
    return tuple(Member(name, place, end, True) for (name, place), end in zip(headers, ends, strict=False))


def choose(members: tuple[Member, ...], wanted: str | int | None, path: str) -> Member:
    """Give the member with a name or a number, or the first that is a module where none is asked for.

    Raises:
        HloTuiError: there is no such member.
    """
    modules = [one for one in members if one.is_module]
    if wanted is None and modules:
        return modules[0]
    if isinstance(wanted, int) and 0 <= wanted < len(members):
        return members[wanted]
    found = next((one for one in members if one.name == wanted), None)
    if found is None:
        names = ", ".join(one.name for one in members[:8])
        hint = f"It holds {len(members)}: {names}" if names else "It is one module."
        raise HloTuiError("No such module in the file", f"{path}: {wanted}", hint)
    return found


def _marks(source: Source) -> Iterator[tuple[re.Match[bytes], int]]:
    """Every mark and header at the start of a line, with the offset of the block that it was found in."""
    offset = 0
    inside_line = False
    while offset < source.size:
        block = source.read(offset, _CHUNK)
        if not block:
            return
        last = len(block) < _CHUNK
        end = len(block) if last else block.rfind(b"\n") + 1
        first = 0
        if inside_line:
            first = block.find(b"\n") + 1
            inside_line = not first
        if first or not inside_line:
            yield from ((match, offset) for match in _MARK.finditer(block, first, end or len(block)))
        if not end:
            # A line longer than the block: no mark is, so its rest is skipped.
            inside_line = True
        offset += end or len(block)
