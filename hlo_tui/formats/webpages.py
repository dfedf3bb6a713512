"""Pages that XLA and JAX write for a browser: the text that is packed in them."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
import zlib
from collections.abc import Iterator
from typing import Any

from hlo_tui.dump.words import count_text
from hlo_tui.formats.rendered import Rendered
from hlo_tui.hlo.source import Source
from hlo_tui.hlo.visible import decode, visible

_MOST_BYTES, _MOST_UNPACKED = 64 << 20, 128 << 20
_MOST_LINES, _MOST_GRAPHS, _FRAMES = 1_000_000, 10_000, 64
_PACKED = re.compile(rb'"(H4sI[A-Za-z0-9+/=]{20,})"')
_TITLE = re.compile(rb"<title>([^<]{1,400})")
_TAG = re.compile(r"<[^<>]{0,4000}>")
_TRACE = re.compile(r'data-tb-idx="(\d{1,9})"')
_INTERNAL = "/jax/_src/"


def render_jaxpr(source: Source) -> Rendered | None:
    """The jaxpr in JAX's page, with the places its equations come from; None where the page holds none."""
    for packed in _unpacked(source):
        lines = packed.get("lines") if isinstance(packed, dict) else None
        if isinstance(lines, list):
            rows, origins = [], {}
            traces = _Traces(packed)
            for number, line in enumerate(lines[:_MOST_LINES]):
                text = line if isinstance(line, str) else ""
                rows.append(visible(html.unescape(_TAG.sub("", text))))
                trace = _TRACE.search(text)
                frames = traces.frames(int(trace[1])) if trace is not None else ()
                if frames:
                    origins[number] = frames
            facts = (f"the places of {count_text(len(origins), 'line')} are in it",) if origins else ()
            return Rendered("\n".join(rows).encode(), facts, "the jaxpr of a page for a browser", origins)
    return None


def render_graph(source: Source) -> Rendered | None:
    """The graphs in XLA's page, in Graphviz's language; None where the page holds none."""
    head = source.read(0, 1 << 16)
    title = _TITLE.search(head)
    facts = [f"its title is {decode(title[1].strip())}"] if title is not None else []
    for packed in _unpacked(source):
        graphs = [one for one in packed if isinstance(one, str)] if isinstance(packed, list) else []
        if graphs and "digraph" in graphs[0][: 1 << 12]:
            facts.append(count_text(len(graphs), "graph"))
            text = "\n\n".join(visible_lines(one) for one in graphs[:_MOST_GRAPHS])
            return Rendered(text.encode(), tuple(facts), "the graphs of a page for a browser")
    return Rendered(source.read(0, _MOST_BYTES), tuple(facts)) if facts else None


def visible_lines(text: str) -> str:
    """Text of many lines with its other control characters marked."""
    return "\n".join(visible(line) for line in text.split("\n"))


def _unpacked(source: Source) -> Iterator[Any]:
    """What the strings of a page unpack to, bounded."""
    data = source.read(0, min(source.size, _MOST_BYTES))
    for match in _PACKED.finditer(data):
        try:
            # XLA leaves the padding out.
            packed = base64.b64decode(match[1] + b"=" * (-len(match[1]) % 4), validate=True)
            text = zlib.decompressobj(wbits=31).decompress(packed, _MOST_UNPACKED)
            yield json.loads(text)
        except (binascii.Error, zlib.error, ValueError, RecursionError):
            continue


class _Traces:
    """The stack frames of a page: a frame each, with the number of the one around it."""

    def __init__(self, packed: dict[str, Any]) -> None:
        self._strings = _list(packed, "strings")
        self._frames = _list(packed, "frames")
        self._nodes = _list(packed, "dag")
        self._known: dict[int, tuple[str, ...]] = {}

    def frames(self, number: int) -> tuple[str, ...]:
        """The frames of a line, innermost first, as `file:line:column function`; JAX's own where it has no other."""
        if number not in self._known:
            found: list[str] = []
            at: Any = number
            while isinstance(at, int) and 0 <= at < len(self._nodes) and len(found) < _FRAMES:
                node = self._nodes[at] if isinstance(self._nodes[at], dict) else {}
                found.append(self._frame(node.get("frame_idx")))
                at = node.get("parent")
            own = [one for one in found if one and _INTERNAL not in one]
            self._known[number] = tuple(own or filter(None, found))
        return self._known[number]

    def _frame(self, number: object) -> str:
        frame = self._frames[number] if isinstance(number, int) and 0 <= number < len(self._frames) else None
        if not isinstance(frame, dict):
            return ""
        file, function = self._word(frame.get("file_idx")), self._word(frame.get("func_idx"))
        return visible(f"{file}:{frame.get('line', 0)}:{frame.get('col', 0)} {function}")

    def _word(self, number: object) -> str:
        known = isinstance(number, int) and 0 <= number < len(self._strings)
        return str(self._strings[number]) if known and isinstance(number, int) else "?"


def _list(packed: dict[str, Any], key: str) -> list[Any]:
    found = packed.get(key)
    return found if isinstance(found, list) else []
