"""The text of an open file, line by line as it is shown: read when it is about to be seen, kept a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.outline import Computation
from hlo_tui.hlo.shape import NO_SHAPE
from hlo_tui.hlo.visible import decode, visible
from hlo_tui.ui.codeline import LONGEST, CodeLine, Name, code_line, header_line, plain_line
from hlo_tui.ui.folds import Folds
from hlo_tui.ui.glyphs import FOLDED, MORE, OPEN
from hlo_tui.ui.opened import Opened
from hlo_tui.ui.rows import Span

_KEPT = 2000
_NARROW = 90
_HEAD_ROWS = 1000


class CodeText:
    """One open file as lines to be shown."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.folded = True
        # More than the screen has rows: the tables of file names are folded.
        self._head = [] if opened.scanned else opened.module.head(_HEAD_ROWS)
        self._narrow = False
        self._closed: set[int] = set()
        self._kept: OrderedDict[int, CodeLine] = OrderedDict()
        self._places: dict[int, str] = {}
        self.folds = Folds(self.count, self._hidden())

    @property
    def count(self) -> int:
        """How many lines are known."""
        lines = self.opened.module.lines
        return lines.count if self.opened.scanned and lines is not None else len(self._head)

    def scanned(self) -> None:
        """Take in that all of the file is known now."""
        self._head = []
        self.refold()

    def refold(self) -> None:
        """Make rows and lines anew."""
        self._kept.clear()
        self.folds = Folds(self.count, self._hidden())

    def set_width(self, width: int) -> None:
        """Take in how many columns there are: layouts are left out where there are few."""
        if (width < _NARROW) != self._narrow:
            self._narrow = width < _NARROW
            self._kept.clear()

    def unfold(self) -> None:
        """Show lines in full, or folded again."""
        self.folded = not self.folded
        self.refold()

    def toggle(self, line: int) -> int:
        """Fold the computation around a line, or open it; gives the line of its head, -1 without one."""
        computation = self.computation(line)
        if computation is None:
            return -1
        self._closed ^= {computation.index}
        self.refold()
        return computation.line

    def toggle_all(self) -> None:
        """Fold every computation, or open them all."""
        outline = self.opened.module.outline
        if outline is not None and self.opened.scanned:
            self._closed = set() if self._closed else set(range(len(outline.computations)))
            self.refold()

    def reveal(self, line: int) -> bool:
        """Open what hides a line; gives whether anything did."""
        if not self.folds.hides(line):
            return False
        computation = self.computation(line)
        if computation is not None and computation.index in self._closed:
            self._closed.discard(computation.index)
        else:
            self.folded = False
        self.refold()
        return True

    def computation(self, line: int) -> Computation | None:
        """The computation around a line, as far as it is known."""
        outline = self.opened.module.outline
        return outline.at_line(line) if outline is not None and self.opened.scanned else None

    def raw(self, line: int) -> bytes:
        """The bytes of a line."""
        return self.opened.module.raw(line) if self.opened.scanned else self._head[line].encode()

    def length(self, line: int) -> int:
        """Bytes of a line."""
        lines = self.opened.module.lines
        if not self.opened.scanned or lines is None:
            return len(self._head[line])
        begin, end = lines.span(line)
        return end - begin

    def line(self, line: int) -> CodeLine:
        """A line as it is shown, from its first column; of a very long one only the beginning."""
        found = self._kept.get(line)
        if found is None:
            found = self._kept[line] = self._make(line)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return found

    def window(self, line: int, column: int, width: int) -> CodeLine:
        """A part of a line that is too long to be shown whole."""
        text = decode(self.opened.module.raw(line, column, width).replace(b"\t", b" "))
        return code_line(text, folded=False) if self.opened.hlo else plain_line(text)

    def is_long(self, line: int) -> bool:
        """Whether a line is shown by windows."""
        return self.length(line) > LONGEST and not (self.folded and line == 0 and self.opened.hlo)

    def place(self, line: CodeLine) -> str:
        """The file and line that made an instruction, for the right edge; empty where it is not known."""
        if line.place or not line.frame or not self.opened.scanned:
            return visible(line.place)
        found = self._places.get(line.frame)
        if found is None:
            asked = Instruction("", "", "", NO_SHAPE, metadata={"stack_frame_id": line.frame})
            frames = self.opened.module.frames(asked)
            found = f"{frames[0].file.rsplit('/', 1)[-1]}:{frames[0].line}" if frames else ""
            found = self._places[line.frame] = visible(found)
        return found

    def _make(self, line: int) -> CodeLine:
        text = self._text(line)
        if not self.opened.hlo:
            return plain_line(text)
        computation = self.computation(line)
        if computation is not None and computation.line == line and computation.name and self.folded:
            return self._computation(computation)
        tables = self._tables()
        if self.folded and tables is not None and line == tables[0]:
            words = f"{FOLDED} {tables[1] - tables[0] + 1:,} lines of file names and stack frames"
            return CodeLine((Span(words, "fold"),), width=len(words))
        if self.folded and line == 0 and text.startswith("HloModule"):
            return header_line(text)
        return code_line(text, self.folded, layouts=not self._narrow)

    def _text(self, line: int) -> str:
        if not self.opened.scanned:
            return self._head[line]
        data = self.opened.module.raw(line, 0, LONGEST)
        return decode(data.removesuffix(b"\r").replace(b"\t", b" "))

    def _computation(self, computation: Computation) -> CodeLine:
        outline = self.opened.module.outline
        assert outline is not None
        closed = computation.index in self._closed
        entry = "ENTRY " if computation.is_entry else ""
        sign = f"{FOLDED if closed else OPEN} "
        name = f"%{visible(computation.name)}"
        kind = outline.kind(computation)
        words = "" if kind == "entry" else f"  {kind}"
        count = f"  {computation.instructions:,} instructions" if closed else ""
        spans = (
            Span(sign, "fold"),
            Span(entry, "keyword"),
            Span(name, "computation"),
            Span(words + count, "muted"),
        )
        start = len(sign) + len(entry)
        names = (Name(start, start + len(name), computation.name),)
        return CodeLine(spans, names, width=sum(len(span.text) for span in spans))

    def _tables(self) -> tuple[int, int] | None:
        """First and last line of the stack frame tables that stand before the first computation."""
        if self._head:
            return _tables_in(self._head)
        outline = self.opened.module.outline
        if not self.opened.scanned or outline is None or not outline.tables or not len(outline.computations):
            return None
        first, last = min(outline.tables.values()), outline.computations[0].line - 2
        return (first, last) if first < last else None

    def _hidden(self) -> Iterator[tuple[int, int]]:
        tables = self._tables()
        if self.folded and tables is not None:
            yield tables[0] + 1, tables[1]
        outline = self.opened.module.outline
        if outline is not None and self.opened.scanned:
            for index in self._closed:
                computation = outline.computations[index]
                yield computation.line + 1, computation.last


def _tables_in(head: list[str]) -> tuple[int, int] | None:
    """The same for the beginning of a file of which no more is known."""
    first = next((at for at, line in enumerate(head) if line == "FileNames"), -1)
    if first < 0:
        return None
    behind = (at for at in range(first, len(head)) if head[at].endswith("{") and not head[at].startswith(" "))
    last = next(behind, len(head) + 1) - 2
    return (first, last) if first < last else None


def hidden_text(count: int) -> str:
    """How to say that bytes of a line are not shown."""
    return f"{MORE} {count:,} more"
