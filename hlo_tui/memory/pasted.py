"""Out-of-memory messages of XLA as people paste them: of TPUs and of GPUs, whole or in part, with what a log, a
terminal or a mail put around them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from hlo_tui.hlo.amounts import AMOUNT, parse_bytes
from hlo_tui.hlo.attributes import parse_metadata
from hlo_tui.hlo.instruction import Instruction, parse_instruction

_COLOUR = re.compile(r"\x1b?\[[\d;]{1,12}m|\x1b\[[\d;]{0,12}[A-Za-z]")
_LONGEST = 1 << 16
# A buffer's name may go over lines; more of them belong to something else.
_MOST_LINES = 64
_FIELD = re.compile(
    r"(?:^|[\s\])>|:])(Size|Operator|Shape|Unpadded size|Extra memory due to padding|XLA [Ll]abel|Allocation type"
    r"|Entry Parameter Subshape):(?:[ \t]+(.*)|[ \t]*$)"
)
_NUMBERED = re.compile(r"(?:^|[\s\])>|])(\d{1,6})\. Size:[ \t]")
_BUFFER = re.compile(r"(?:^|[\s\])>|])Buffer (\d{1,6}):[ \t]*$")
_RULE = re.compile(r"={8,}[ \t]*$")
_LIST = re.compile(r"Largest program allocations in (\w{1,40})|Peak buffers:")
_GPU_PART = re.compile(
    r"(parameter allocation|constant allocation|maybe_live_out allocation|preallocated temp allocation"
    rf"|preallocated temp fragmentation|total allocation|total fragmentation):[ \t]{{0,40}}({AMOUNT})"
)
_TPU_PART = re.compile(
    rf"(?:^|[\s\])>|])(reserved|program|arguments|global|HLO temp|scoped|overlays)[ \t]{{1,60}}({AMOUNT}|unknown size)"
    r"(?=[ \t]*$|[ \t]*\()"
)
_TPU_TOTAL = re.compile(rf"Total (\w{{1,40}}) usage (?:>=|=) ?({AMOUNT})")
_TPU_PROGRAM = re.compile(rf"Program (\w{{1,40}}) requirement ({AMOUNT})")
_OUTPUT = re.compile(rf"Output size ({AMOUNT}); shares ({AMOUNT}) with arguments")
_USED = re.compile(rf"Used ({AMOUNT}) of ({AMOUNT}) (\w{{1,40}}?)\b")
_WANTED = re.compile(rf"[Oo]ut of memory (?:while )?(?:trying to )?allocat(?:e|ing) ({AMOUNT})")
_SCOPED = re.compile(rf"allocation with size ({AMOUNT}) and limit ({AMOUNT})")
_GPU_WORDS = {
    "parameter allocation": "arguments",
    "constant allocation": "constants",
    "maybe_live_out allocation": "outputs",
    "preallocated temp allocation": "temporary",
    "preallocated temp fragmentation": "temporary, lost to gaps",
    "total allocation": "total",
    "total fragmentation": "lost to gaps in all",
}


@dataclass(frozen=True, slots=True)
class PastedBuffer:
    """One buffer of the message.

    Attributes:
        number: its number in the message, 0 where that was cut off.
        size: bytes, rounded as the message has it.
        shape: as written.
        label: the instruction's text or its opcode, as the message calls it.
        name: the instruction, "" where the message does not name it.
        opcode: "parameter" for arguments of the program; "" where it is not said.
        op_name, op_type, file, line: of the operation's metadata, as far as they are there.
        unpadded: bytes without padding, None where that is not said.
        kind: what XLA calls the allocation ("HLO temp"), "" where it does not.
        at: the line of the text on which it begins, from 0.
    """

    number: int
    size: int
    shape: str = ""
    label: str = ""
    name: str = ""
    opcode: str = ""
    op_name: str = ""
    op_type: str = ""
    file: str = ""
    line: int = 0
    unpadded: int | None = None
    kind: str = ""
    at: int = -1


@dataclass(frozen=True, slots=True)
class Pasted:
    """The message.

    Attributes:
        buffers: the largest first, those of one size in the order of the message.
        parts: what takes how many bytes, in the words of the message or plainer ones.
        used: bytes that the program needs in all, None where that is not said.
        limit: bytes that there are.
        wanted: bytes of the allocation that failed.
        space: which memory ("hbm"), "" where that is not said.
        shared: bytes of the output that lie in arguments, None where that is not said.
    """

    buffers: tuple[PastedBuffer, ...] = ()
    parts: tuple[tuple[str, int], ...] = ()
    used: int | None = None
    limit: int | None = None
    wanted: int | None = None
    space: str = ""
    shared: int | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing of such a message was found."""
        known = (self.used, self.limit, self.wanted)
        return not self.buffers and not self.parts and all(one is None for one in known)


@dataclass(slots=True)
class _Entry:
    number: int = 0
    at: int = -1
    fields: dict[str, str] = field(default_factory=dict)


def read_pasted(lines: Iterable[str]) -> Pasted:
    """Read a message out of whatever lines there are."""
    reader = _Reader()
    for line in lines:
        reader.take(_COLOUR.sub("", line[:_LONGEST].rstrip("\r\n").replace("\u00a0", " ")))
    return reader.result()


class _Reader:
    def __init__(self) -> None:
        self._entries: list[_Entry] = []
        self._entry: _Entry | None = None
        self._open = ""
        self._added = 0
        self._parts: dict[str, int] = {}
        self._facts: dict[str, int] = {}
        self._space = ""
        self._section = ""
        self._line = -1

    def take(self, line: str) -> None:
        self._line += 1
        if self._open and self._goes_on(line):
            return
        self._open = ""
        numbered, buffer = _NUMBERED.search(line), _BUFFER.search(line)
        found = _FIELD.search(line)
        if numbered is not None or buffer is not None:
            start = numbered or buffer
            assert start is not None
            self._entry = _Entry(int(start[1]), self._line)
            self._entries.append(self._entry)
        elif _RULE.search(line) is not None:
            self._entry = None
        elif found is None:
            self._head(line)
            return
        if found is not None:
            self._field(found[1].lower(), (found[2] or "").strip())

    def _field(self, key: str, text: str) -> None:
        if self._entry is None or key in self._entry.fields:
            # The beginning of the entry was cut off, or the line between two.
            self._entry = _Entry(at=self._line)
            self._entries.append(self._entry)
        self._entry.fields[key] = text
        if key in ("operator", "xla label") and _is_open(text):
            self._open, self._added = key, 0

    def _goes_on(self, line: str) -> bool:
        """Take a line that belongs to a name that is not closed yet."""
        ends = _FIELD.search(line) or _NUMBERED.search(line) or _BUFFER.search(line) or _RULE.search(line)
        if ends is not None or self._entry is None or self._added >= _MOST_LINES:
            return False
        text = self._entry.fields[self._open] + "\n" + line.strip()
        self._entry.fields[self._open] = text[:_LONGEST]
        self._added += 1
        if not _is_open(text):
            self._open = ""
        return True

    def _head(self, line: str) -> None:
        gpu, total, program = _GPU_PART.search(line), _TPU_TOTAL.search(line), _TPU_PROGRAM.search(line)
        if gpu is not None:
            self._part(_GPU_WORDS[gpu[1]], gpu[2])
            return
        if total is not None:
            self._space, self._section = total[1], ""
            self._fact("used", total[2])
        elif program is not None:
            self._space, self._section = program[1], "program: "
        elif (part := _TPU_PART.search(line)) is not None and "unknown" not in part[2]:
            self._part(self._section + part[1], part[2])
        for pattern, keys in (
            (_OUTPUT, ("output", "shared")), (_USED, ("used", "limit")), (_WANTED, ("wanted",)),
            (_SCOPED, ("wanted", "limit")),
        ):  # fmt: skip
            found = pattern.search(line)
            if found is not None:
                for key, amount in zip(keys, found.groups(), strict=False):
                    self._fact(key, amount)
        used, listed = _USED.search(line), _LIST.search(line)
        self._space = used[3] if used is not None else self._space
        self._space = (listed[1] or self._space) if listed is not None else self._space

    def _part(self, words: str, amount: str) -> None:
        size = parse_bytes(amount)
        if size is not None:
            self._parts.setdefault(words, size)

    def _fact(self, key: str, amount: str) -> None:
        size = parse_bytes(amount)
        if size is not None:
            self._facts.setdefault(key, size)

    def result(self) -> Pasted:
        buffers = [_buffer(entry) for entry in self._entries if _says_something(entry)]
        buffers.sort(key=lambda buffer: -buffer.size)
        parts = dict(self._parts)
        total = parts.pop("total", None)
        if "output" in self._facts:
            parts["outputs"] = self._facts["output"]
        return Pasted(
            tuple(buffers),
            tuple(parts.items()),
            self._facts.get("used", total),
            self._facts.get("limit"),
            self._facts.get("wanted"),
            self._space,
            self._facts.get("shared"),
        )


def _says_something(entry: _Entry) -> bool:
    return bool({"size", "unpadded size"} & entry.fields.keys())


def _is_open(text: str) -> bool:
    return len(re.findall(r'(?<!\\)"', text)) % 2 == 1


def _buffer(entry: _Entry) -> PastedBuffer:
    fields = entry.fields
    metadata = parse_metadata("{" + fields.get("operator", "") + "}")
    label = fields.get("xla label", "")
    instruction = parse_instruction(label) if "=" in label else None
    if instruction is not None and not metadata.get("op_name"):
        metadata = {**instruction.metadata, **metadata}
    unpadded = parse_bytes(fields.get("unpadded size", ""))
    size = parse_bytes(fields.get("size", ""))
    if size is None:
        extra = re.match(AMOUNT, fields.get("extra memory due to padding", ""))
        size = (unpadded or 0) + (parse_bytes(extra[0]) or 0 if extra is not None else 0)
    line = metadata.get("source_line", 0)
    return PastedBuffer(
        number=entry.number,
        size=size,
        shape=fields.get("shape", fields.get("entry parameter subshape", "")),
        label=label,
        name=instruction.name if instruction is not None else "",
        opcode=_opcode(fields, label, instruction),
        op_name=str(metadata.get("op_name", "")),
        op_type=str(metadata.get("op_type", "")),
        file=str(metadata.get("source_file", "")),
        line=line if isinstance(line, int) else 0,
        unpadded=unpadded,
        kind=fields.get("allocation type", ""),
        at=entry.at,
    )


def _opcode(fields: dict[str, str], label: str, instruction: Instruction | None) -> str:
    if "entry parameter subshape" in fields:
        return "parameter"
    return instruction.opcode if instruction is not None else label
