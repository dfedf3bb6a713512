"""Source frames of instructions: the stack frame tables of a module, or the file and line in the metadata."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from hlo_tui.hlo.attributes import parse_metadata, unquote
from hlo_tui.hlo.lines import LineIndex
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.structure import log_prefix

_ROW = re.compile(r"\s*+(\d{1,18})\s++(.*)", re.S)
_DEEPEST = 1000
_ROW_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class SourceFrame:
    """One place in the program that made an instruction; numbers are 0 where they are not known."""

    file: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0
    function: str = ""


class StackFrames:
    """The tables FileNames, FunctionNames, FileLocations and StackFrames; read when first asked."""

    def __init__(self, source: Source, lines: LineIndex, tables: Mapping[str, int]) -> None:
        """`tables` gives the line (from 0) of each table's keyword."""
        self._source = source
        self._lines = lines
        self._tables = tables
        self._rows: dict[str, dict[int, str]] = {}

    def frames(self, stack_frame_id: int) -> tuple[SourceFrame, ...]:
        """The frames of an id of the metadata, innermost first; none for an id that is not in the table."""
        found = []
        seen: set[int] = set()
        while stack_frame_id not in seen and len(seen) < _DEEPEST:
            seen.add(stack_frame_id)
            row = self._table("StackFrames").get(stack_frame_id)
            if row is None:
                break
            fields = parse_metadata(row)
            found.append(self._frame(_number(fields, "file_location_id")))
            # The text prints a parent's number plus one, and 1 where there is none.
            stack_frame_id = _number(fields, "parent_frame_id") - 1
        return tuple(found)

    def ids(self, wanted: Callable[[SourceFrame], bool]) -> Iterator[int]:
        """The ids of the metadata whose innermost frame is wanted."""
        for number in self._table("StackFrames"):
            if any(map(wanted, self.frames(number)[:1])):
                yield number

    def _frame(self, location: int) -> SourceFrame:
        fields = parse_metadata(self._table("FileLocations").get(location, ""))
        return SourceFrame(
            file=unquote(self._table("FileNames").get(_number(fields, "file_name_id"), "")),
            line=_number(fields, "line"),
            column=_number(fields, "column"),
            end_line=_number(fields, "end_line"),
            end_column=_number(fields, "end_column"),
            function=unquote(self._table("FunctionNames").get(_number(fields, "function_name_id"), "")),
        )

    def _table(self, keyword: str) -> dict[int, str]:
        if keyword not in self._rows:
            self._rows[keyword] = self._read(keyword)
        return self._rows[keyword]

    def _read(self, keyword: str) -> dict[int, str]:
        rows: dict[int, str] = {}
        if keyword not in self._tables:
            return rows
        for line in range(self._tables[keyword] + 1, self._lines.count):
            start, end = self._lines.span(line)
            row = self._source.read(start, min(end - start, _ROW_BYTES))
            match = _ROW.match(row[log_prefix(row) :].decode("utf-8", "replace"))
            if match is None:
                break
            rows.setdefault(int(match[1]), match[2].strip())
        return rows


def inline_frame(metadata: Mapping[str, str | int]) -> tuple[SourceFrame, ...]:
    """The one frame that metadata with source_file holds, or none."""
    file = metadata.get("source_file")
    if not file:
        return ()
    return (
        SourceFrame(
            file=str(file),
            line=_number(metadata, "source_line"),
            column=_number(metadata, "source_column"),
            end_line=_number(metadata, "source_end_line"),
            end_column=_number(metadata, "source_end_column"),
        ),
    )


def _number(fields: Mapping[str, str | int], key: str) -> int:
    value = fields.get(key, 0)
    return value if isinstance(value, int) else 0
