"""The forms of a module that can be converted, and what a file's name says of its form."""

from __future__ import annotations

from pathlib import Path

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo import kinds
from hlo_tui.hlo.source import FileSource
from hlo_tui.hlo.visible import visible

TEXT, PROTO, TEXT_PROTO, STABLEHLO = "text", "proto", "textproto", "stablehlo"
DOT, HTML, SVG = "dot", "html", "svg"
FORMS = (TEXT, PROTO, TEXT_PROTO, STABLEHLO, DOT, HTML, SVG)
_ENDINGS = {
    ".txt": TEXT, ".hlo": TEXT, ".pb": PROTO, ".pbtxt": TEXT_PROTO, ".textproto": TEXT_PROTO, ".mlir": STABLEHLO,
    ".dot": DOT, ".gv": DOT, ".html": HTML, ".svg": SVG,
}  # fmt: skip
_HEAD = 1 << 16


def form_of(path: Path) -> str:
    """The form that a file's name asks for; `.gz` behind the ending packs it.

    Raises:
        HloTuiError: the ending is none of those that are known.
    """
    ending = Path(path.name.removesuffix(".gz")).suffix.lower()
    if ending not in _ENDINGS:
        hint = f"--to says it, or one of the endings {' '.join(_ENDINGS)}"
        raise HloTuiError("what form is meant?", f"{visible(path.name)} does not say it", hint)
    return _ENDINGS[ending]


def found_form(path: Path) -> str:
    """The form that a file has, told from what is in it: text, proto, textproto or stablehlo.

    Raises:
        HloTuiError: it cannot be opened.
    """
    source = FileSource(path)
    kind = kinds.sniff(source.read(0, _HEAD), path.name)
    if kind == "MLIR text":
        return STABLEHLO
    if kind == kinds.TEXT_PROTO:
        return TEXT_PROTO
    return TEXT if kind in (kinds.TEXT, kinds.UNKNOWN_TEXT) else PROTO
