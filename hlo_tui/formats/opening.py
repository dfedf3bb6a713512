"""Opening a file that is not HLO as a page to read: its own text, or the text that is made of it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from hlo_tui.errors import HloTuiError
from hlo_tui.formats import arrays, bytecode, elf, pprof, webpages, wireprint
from hlo_tui.formats.facts import facts_of
from hlo_tui.formats.page import Page
from hlo_tui.formats.rendered import Rendered
from hlo_tui.formats.sorts import BY_ID, Sort, recognise
from hlo_tui.hlo import kinds
from hlo_tui.hlo.loading import open_bytes
from hlo_tui.hlo.source import BytesSource, Source
from hlo_tui.hlo.visible import visible

_HEAD = 1 << 16
_RENDERERS: dict[str, Callable[[Source], Rendered | None]] = {
    "object": elf.render,
    "equation-counts": pprof.render,
    "mlir-bytecode": bytecode.render,
    "jaxpr-html": webpages.render_jaxpr,
    "graph-page": webpages.render_graph,
    "fusion-explorer": webpages.render_graph,
    "numpy": arrays.render_array,
    "arrays": arrays.render_archive,
    "archive": arrays.render_archive,
}
# What nothing can be shown of, and why.
_CLOSED = {
    "riegeli": "riegeli records are packed in a way that hlo-tui does not read",
    "llvm-bitcode": "bitcode is no text",
    "zeros": "it holds nothing but zeros",
    "binary": "it is no text and no form that is known here",
}


def sort_of(path: str | os.PathLike[str]) -> Sort | None:
    """What a file is that is not HLO; None for HLO in any form.

    Raises:
        HloTuiError: it cannot be opened.
    """
    source = open_bytes(path)
    return recognise(source.read(0, _HEAD), Path(source.name).name)


def open_page(path: str | os.PathLike[str]) -> Page:
    """Open a file as a page, whatever it is.

    Raises:
        HloTuiError: it cannot be opened, or nothing of it can be shown; the error says why.
    """
    return page_of(open_bytes(path))


def page_instead(path: str | os.PathLike[str], error: HloTuiError) -> Page:
    """A text that was taken for HLO and could not be read as such, as a page that says why.

    Raises:
        HloTuiError: the error that is given, where the file is no text.
    """
    source = open_bytes(path)
    head = source.read(0, _HEAD)
    if not head or _is_binary(head):
        raise error
    sort = BY_ID["proto-text" if kinds.sniff(head) == kinds.TEXT_PROTO else "text"]
    return Page(source, sort, (f"not read as HLO: {error.title.lower()}, {error.message}",))


def page_of(source: Source) -> Page:
    """The same for bytes that are open; HLO that could not be read as such is shown as plain text.

    Raises:
        HloTuiError: nothing of it can be shown.
    """
    head = source.read(0, _HEAD)
    sort = recognise(head, Path(source.name).name) or BY_ID["text"]
    if sort.id == "empty":
        raise HloTuiError("The file is empty", visible(source.name), sort.hint)
    if sort.id in _CLOSED:
        message = f"{visible(source.name)} is {sort.words}: {_CLOSED[sort.id]}"
        raise HloTuiError("Nothing of this can be shown", message, sort.hint)
    rendered = _rendered(source, sort, head)
    if rendered is None:
        return Page(source, sort, facts_of(source, sort))
    facts = (*rendered.facts, *facts_of(source, sort))
    if rendered.text and sort.id in ("graph-page", "fusion-explorer") and not rendered.note:
        sort = BY_ID["html"]
    text = BytesSource(rendered.text, source.name) if rendered.note else source
    return Page(text, sort, facts, rendered.note, rendered.origins)


def _rendered(source: Source, sort: Sort, head: bytes) -> Rendered | None:
    if sort.id == "fusion-explorer" and head.startswith((b"PK", b"#!")):
        return arrays.render_archive(source)
    if sort.id == "object" and not head.startswith(b"\x7fELF"):
        raise HloTuiError(
            "Nothing of this can be shown",
            f"{visible(source.name)} is object code of macOS",
            "nm lists its symbols.",
        )
    if sort.id == "memory-report" or sort.language == "proto":
        # The same files come as text and as binary protos.
        return wireprint.render(source) if _is_binary(head) else None
    renderer = _RENDERERS.get(sort.id)
    return renderer(source) if renderer is not None else None


def _is_binary(head: bytes) -> bool:
    return any(byte < 9 or 13 < byte < 27 or 27 < byte < 32 for byte in head[: 1 << 12])
