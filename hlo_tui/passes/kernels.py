"""The functions that a module's instructions were compiled to: LLVM IR, PTX, kernels in MLIR, object code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from hlo_tui.dump.files import File
from hlo_tui.dump.opening import path_of
from hlo_tui.errors import HloTuiError
from hlo_tui.formats.family import Family
from hlo_tui.formats.opening import open_page
from hlo_tui.formats.page import Page
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module

_KINDS = ("kernel-mlir", "mlir-passes", "triton-ir", "llvm-ir", "ptx", "device-code", "object-file")
# Bytes of all code files together up to which those are read that do not have the function's name in theirs.
_MOST_BYTES = 64 << 20
_OUTERMOST = 8
_LONGEST = 240
_OTHER = re.compile(r"[^A-Za-z0-9_]")


@dataclass(frozen=True, slots=True)
class Code:
    """A function in a file.

    Attributes:
        path, line: where, lines from 0.
        name: of the function.
        words: what the file is.
        text: the line, bounded.
    """

    path: Path
    line: int
    name: str
    words: str
    text: str


class Kernels:
    """The code files of a family, each read once."""

    def __init__(self, family: Family) -> None:
        self._family = family
        self._pages: dict[str, Page | None] = {}

    def of(self, module: Module, instruction: Instruction, stop: Callable[[], bool]) -> list[Code]:
        """The functions that an instruction of the last stage was compiled to, or that it was compiled into."""
        dumped = self._family.module
        files = [file for file in dumped.others if file.name.kind in _KINDS] if dumped is not None else []
        if not files or dumped is None:
            return []
        for name in _around(module, instruction):
            wanted = spellings(name)
            own = [file for file in files if any(one in dumped.function_of(file) for one in wanted)]
            small = sum(file.size for file in files) <= _MOST_BYTES
            found = []
            for file in own or (files if small else []):
                if stop():
                    return []
                found += self._in_file(file, wanted)
            if found:
                return found
        return []

    def instruction(self, module: Module, function: str) -> Instruction | None:
        """The instruction of the last stage that a function was made of; None where none has its name."""
        direct = module.find(function)
        if direct is not None or module.outline is None:
            return direct
        wanted = _OTHER.sub("_", function)
        for computation in module.outline.computations:
            if module.outline.kind(computation) in ("fusion", "reduce"):
                continue
            for one in module.body(computation).instructions:
                if _OTHER.sub("_", one.name) == wanted:
                    return one
        return None

    def _in_file(self, file: File, wanted: tuple[str, ...]) -> list[Code]:
        page = self._page(file)
        if page is None:
            return []
        path = path_of(self._family.listing, file)
        for entry in page.entries:
            if entry.name.strip('"') in wanted and entry.kind in ("function", "kernel"):
                text = page.text(entry.line).strip()[:_LONGEST]
                return [Code(path, entry.line, entry.name, page.sort.words, text)]
        if page.sort.id != "object":
            return []
        line = page.search(
            re.compile(rb"function +(?:%s)(?: |$)" % b"|".join(re.escape(one.encode()) for one in wanted))
        )
        if line is None:
            return []
        return [Code(path, line, wanted[0], page.sort.words, page.text(line).strip()[:_LONGEST])]

    def _page(self, file: File) -> Page | None:
        if file.path not in self._pages:
            try:
                page = open_page(path_of(self._family.listing, file))
                page.scan()
            except HloTuiError:
                page = None
            self._pages[file.path] = page
        return self._pages[file.path]


def spellings(name: str) -> tuple[str, ...]:
    """How compilers may spell the name of an instruction as that of a function."""
    plain = _OTHER.sub("_", name)
    return tuple(dict.fromkeys((name, plain, f"{plain}_kernel", f"{name}_kernel")))


def _around(module: Module, instruction: Instruction) -> list[str]:
    """The instruction's name, then those of the instructions that it is inside of, innermost first."""
    found = [instruction.name]
    at = instruction
    for _ in range(_OUTERMOST):
        callers = module.callers(at.computation)
        if not callers:
            break
        at = callers[0]
        found.append(at.name)
    return found
