"""The places that a scan finds in a module, kept in arrays: a few bytes for each of them."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from hlo_tui.hlo.attributes import CALL_ATTRIBUTES
from hlo_tui.hlo.structure import whole_head

ENTRY, NESTED, FRAGMENT = 1, 2, 4
TAG = b"frontend_attributes={"
ELIDED = b"constant({...})"
_HEADER_BYTES = 1 << 20
_KEYS = "|".join(CALL_ATTRIBUTES).encode()
_CALL = re.compile(rb"\b(%s)=\s*+(?:%%?([A-Za-z_][\w.\-]*+)|\{([^{}=]*+)\})" % _KEYS)
# The same and tags, faster, where every instruction is a line of its own.
_LINE_ATTRIBUTE = re.compile(
    rb", (?:(%s)=(?:%%?([A-Za-z_][\w.\-]*+)|\{([^{}=]*+)\})|frontend_attributes=\{)" % _KEYS
)
_NAME = re.compile(rb"[A-Za-z_][\w.\-]*+")
_CODES = {key.encode(): code for code, key in enumerate(CALL_ATTRIBUTES)}


class NameIndex:
    """Positions in an array of 64-bit hashes of names, four bytes each."""

    def __init__(self, hashes: array[int]) -> None:
        self._hashes = hashes
        self._order = array("I", sorted(range(len(hashes)), key=hashes.__getitem__))

    def find(self, name: str) -> Sequence[int]:
        """The positions that hold the hash of `name`, lowest first; however many they are, in no time."""
        hashes = self._hashes
        wanted = hash(name_bytes(name))
        begin = bisect_left(self._order, wanted, key=hashes.__getitem__)
        end = bisect_right(self._order, wanted, begin, key=hashes.__getitem__)
        return memoryview(self._order)[begin:end]


class Landmarks:
    """What a scan found. It is the receiver of the line machine.

    Attributes:
        lines, lasts, counts, flags, names: for each computation its head's line, its last line, its number of
            instructions, ENTRY, NESTED or FRAGMENT, and the hash of its name.
        columns: where a computation begins in its line, if not at its first byte.
        nested: for computations written in an instruction the place in which they end among their like.
        outer: for these the computation around.
        callees, call_lines, call_keys: for each call the hash of the callee's name, the line on which the
            calling instruction begins, and the attribute as its place in CALL_ATTRIBUTES.
        tagged: lines with frontend attributes.
        tables: the line of the keyword of each stack frame table.
        elided: constants whose values were left out.
        header_text: the bytes of the header, bounded; `header_last` is its last line, -1 without one.
    """

    def __init__(self) -> None:
        self.lines = array("I")
        self.lasts = array("I")
        self.counts = array("I")
        self.flags = array("B")
        self.names = array("q")
        self.columns: dict[int, int] = {}
        self.nested: dict[int, int] = {}
        self.outer: dict[int, int] = {}
        self.callees = array("q")
        self.call_lines = array("I")
        self.call_keys = array("B")
        self.tagged = array("I")
        self.tables: dict[str, int] = {}
        self.elided = 0
        self.header_text = bytearray()
        self.header_last = -1
        self._open: list[int] = []
        self._statement = 0
        self._around: list[int] = []

    @property
    def inside(self) -> bool:
        """Whether a computation is open."""
        return bool(self._open)

    def header(self, line: int, text: bytes) -> None:
        """Keep the first header's text up to a bound; later headers in the text are not this module's."""
        if self.lines or 0 <= self.header_last < line - 1:
            return
        if line > self.header_last >= 0:
            self.header_text += b"\n"
        self.header_last = line
        self.header_text += text[: max(0, _HEADER_BYTES - len(self.header_text))]

    def table(self, line: int, keyword: bytes) -> None:
        """Keep where a table begins."""
        self.tables.setdefault(keyword.decode(), line)

    def opened(self, line: int, column: int, name: bytes, entry: bool, nested: bool) -> None:
        """Add a computation."""
        index = len(self.lines)
        if column:
            self.columns[index] = column
        if nested:
            self.outer[index] = self._open[-1]
            self._around.append(self._statement)
        self.lines.append(line)
        self.lasts.append(line)
        self.counts.append(0)
        self.flags.append(ENTRY if entry else NESTED if nested else 0 if name else FRAGMENT)
        self.names.append(hash(name))
        self._open.append(index)
        self._statement = line

    def instruction(self, line: int, _column: int) -> None:
        """Count an instruction of the innermost computation."""
        self.counts[self._open[-1]] += 1
        self._statement = line

    def closed(self, line: int, _column: int) -> None:
        """End the innermost computation."""
        index = self._open.pop()
        self.lasts[index] = max(line, self.lines[index])
        if self.flags[index] & NESTED:
            self._statement = self._around.pop()
            place = self.nested[index] = len(self.nested)
            self.names[index] = hash(nested_name(place).encode())
            self._call(self.names[index], self._statement, 0)

    def look(self, line: int, text: bytes) -> None:
        """Note calls, tags and elided constants of one line, after the machine has had it."""
        if TAG in text:
            self._tag(line)
        self.elided += text.count(ELIDED)
        if self.lines:
            for match in _CALL.finditer(text):
                self._note(match, self._statement)

    def look_at_block(self, block: bytes, base: int, starts: array[int], first: int) -> None:
        """Note the same of whole lines: `block` is at `base`, its lines begin at `starts`, from `first`."""
        self.elided += block.count(ELIDED)
        line = 0
        for match in _LINE_ATTRIBUTE.finditer(block):
            line = bisect_right(starts, base + match.start(), line) - 1
            if match[1]:
                self._note(match, first + line)
            else:
                self._tag(first + line)

    def take_lines(self, lines: list[bytes], irregular: list[int], first: int) -> bool:
        """Add the computations of whole lines that have the usual form; False, with nothing added, where not.

        `lines` begin at line `first`; `irregular` are the places in it of those that do not begin like an
        instruction.
        """
        heads, lasts, counts = array("I"), array("I"), array("I")
        names, flags = array("q"), array("B")
        inside = self.inside
        count = self.counts[self._open[-1]] if inside else 0
        previous = -1
        for at in irregular:
            line = lines[at]
            if inside:
                count += at - previous - 1
            elif at - previous > 1:
                return False
            previous = at
            if line[:1] == b"}" and inside and b"{" not in line:
                lasts.append(first + at)
                counts.append(count)
                inside = False
            elif line and not line.isspace():
                head = whole_head(line)
                if inside or head is None:
                    return False
                heads.append(first + at)
                names.append(hash(head[2]))
                flags.append(ENTRY if head[1] else 0)
                inside = True
                count = 0
        if inside:
            counts.append(count + len(lines) - previous - 1)
        elif len(lines) - previous > 1:
            return False
        self._merge(heads, lasts, counts, names, flags)
        return True

    def _merge(
        self, heads: array[int], lasts: array[int], counts: array[int], names: array[int], flags: array[int]
    ) -> None:
        if self._open:
            self.counts[self._open[-1]] = counts.pop(0)
            if lasts:
                self.lasts[self._open.pop()] = lasts.pop(0)
        self.lines += heads
        self.lasts += lasts
        self.counts += counts
        self.names += names
        self.flags += flags
        if len(self.lasts) < len(self.lines):
            self._open.append(len(self.lasts))
            self.lasts.append(self.lines[-1])

    def _tag(self, line: int) -> None:
        """Keep a line once, however many tags are on it and in however many parts it is read."""
        if not self.tagged or self.tagged[-1] != line:
            self.tagged.append(line)

    def _note(self, match: re.Match[bytes], line: int) -> None:
        code = _CODES[match[1]]
        for name in (match[2],) if match[2] else _NAME.findall(match[3]):
            self._call(hash(name), line, code)

    def _call(self, callee: int, line: int, code: int) -> None:
        self.callees.append(callee)
        self.call_lines.append(line)
        self.call_keys.append(code)


def name_bytes(name: str) -> bytes:
    """A name as it stands in the text; a person may ask for one that no text can hold."""
    return name.encode("utf-8", "surrogatepass")


def nested_name(place: int) -> str:
    """What XLA calls computations that are written inside of instructions, in the order in which they end."""
    return f"_.{place}" if place else "_"
