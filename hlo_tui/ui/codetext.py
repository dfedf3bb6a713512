"""The text of an open file, line by line as it is shown: read when it is about to be seen, kept a while."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from hlo_tui.dump.words import count_text
from hlo_tui.hlo.visible import decode, visible
from hlo_tui.ui.codeline import LONGEST, CodeLine, Name, code_line, header_line, plain_line
from hlo_tui.ui.folds import Folds
from hlo_tui.ui.glyphs import FOLDED, MORE, OPEN
from hlo_tui.ui.opened import Opened
from hlo_tui.ui.rows import Span

if TYPE_CHECKING:
    from hlo_tui.hlo.outline import Computation, Outline

_KEPT = 2000


class CodeText:
    """One open file as lines to be shown."""

    def __init__(self, opened: Opened) -> None:
        self.opened = opened
        self.folded = True
        # Not that of the file: it changes on another thread, between two lines of one frame.
        self._scanned = opened.scanned
        self._width = 0
        self._closed: set[int] = set()
        self._kept: OrderedDict[int, CodeLine] = OrderedDict()
        self._places: dict[int, str] = {}
        self.folds = Folds(self.count, self._hidden())

    @property
    def count(self) -> int:
        """How many lines are known."""
        if not self._scanned:
            return len(self.opened.head)
        lines = self.opened.module.lines
        return 0 if lines is None else lines.count

    def scanned(self) -> None:
        """Take in that all of the file is known now."""
        self._scanned = True
        self.refold()

    def refold(self) -> None:
        """Make rows and lines anew."""
        self._kept.clear()
        self.folds = Folds(self.count, self._hidden())

    def set_width(self, width: int) -> None:
        """Take in how many columns there are: layouts are left out of lines that would not fit."""
        if width != self._width:
            self._width = width
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
        outline = self.outline
        if outline is not None:
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
        outline = self.outline
        return outline.at_line(line) if outline is not None else None

    @property
    def outline(self) -> Outline | None:
        """What is in the file, None while not all of it is known."""
        return self.opened.module.outline if self._scanned else None

    def raw(self, line: int) -> bytes:
        """The bytes of a line."""
        return self.opened.module.raw(line) if self._scanned else self.opened.head[line].encode()

    def length(self, line: int) -> int:
        """Bytes of a line."""
        lines = self.opened.module.lines if self._scanned else None
        if lines is None:
            return len(self.opened.head[line])
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
        if self._scanned:
            text = decode(self.opened.module.raw(line, column, width).replace(b"\t", b" "))
        else:
            text = self.opened.head[line][column : column + width]
        return code_line(text, folded=False) if self.opened.hlo else self._page_line(-1, text)

    def is_long(self, line: int) -> bool:
        """Whether a line is shown by windows."""
        return self.length(line) > LONGEST and not (self.folded and line == 0 and self.opened.hlo)

    def place(self, line: CodeLine) -> str:
        """The file and line that made an instruction, for the right edge; empty where it is not known."""
        if line.place or not line.frame or not self._scanned:
            return visible(line.place)
        found = self._places.get(line.frame)
        if found is None:
            from hlo_tui.hlo.instruction import Instruction
            from hlo_tui.hlo.shape import NO_SHAPE

            asked = Instruction("", "", "", NO_SHAPE, metadata={"stack_frame_id": line.frame})
            frames = self.opened.module.frames(asked)
            found = f"{frames[0].file.rsplit('/', 1)[-1]}:{frames[0].line}" if frames else ""
            found = self._places[line.frame] = visible(found)
        return found

    def _make(self, line: int) -> CodeLine:
        text = self._text(line)
        if not self.opened.hlo:
            return self._page_line(line, text)
        computation = self.computation(line)
        if computation is not None and computation.line == line and computation.name and self.folded:
            return self._computation(computation)
        tables = self._tables()
        if self.folded and tables is not None and line == tables[0]:
            words = f"{FOLDED} {tables[1] - tables[0] + 1:,} lines of file names and stack frames"
            return CodeLine((Span(words, "fold"),), width=len(words))
        if self.folded and line == 0 and text.startswith("HloModule"):
            return header_line(text)
        shown = code_line(text, self.folded)
        too_wide = self.folded and shown.width > self._width
        return code_line(text, True, tight=True) if too_wide else shown

    def _page_line(self, line: int, text: str) -> CodeLine:
        """A line of what is no HLO; -1 for a part of one."""
        page = self.opened.page
        if page is None:
            return plain_line(text)
        from hlo_tui.ui.pagerows import page_line

        place = page.place(line, text) if self._scanned and line >= 0 else ""
        return page_line(text, page.language.tokenize, self.folded and line >= 0, place)

    def _text(self, line: int) -> str:
        if not self._scanned:
            return self.opened.head[line]
        data = self.opened.module.raw(line, 0, LONGEST)
        return decode(data.removesuffix(b"\r").replace(b"\t", b" "))

    def _computation(self, computation: Computation) -> CodeLine:
        outline = self.outline
        assert outline is not None
        closed = computation.index in self._closed
        entry = "ENTRY " if computation.is_entry else ""
        sign = f"{FOLDED if closed else OPEN} "
        name = f"%{visible(computation.name)}"
        kind = outline.kind(computation)
        words = "" if kind == "entry" else f"  {kind}"
        count = f"  {count_text(computation.instructions, 'instruction')}" if closed else ""
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
        if not self._scanned:
            return _tables_in(self.opened.head)
        outline = self.outline
        if outline is None or not outline.tables or not len(outline.computations):
            return None
        first, last = min(outline.tables.values()), outline.computations[0].line - 2
        return (first, last) if first < last else None

    def _hidden(self) -> Iterator[tuple[int, int]]:
        tables = self._tables()
        if self.folded and tables is not None:
            yield tables[0] + 1, tables[1]
        outline = self.outline
        if outline is not None:
            for index in self._closed:
                computation = outline.computations[index]
                yield computation.line + 1, computation.last


def _tables_in(head: Sequence[str]) -> tuple[int, int] | None:
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
