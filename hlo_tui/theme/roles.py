"""What can be styled, and from what each inherits: a theme says as little as it likes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Only `text` has to be in a theme; the next six are what most others come from.
PARENTS: Mapping[str, str] = MappingProxyType({
    "muted": "text", "strong": "text", "accent": "text", "good": "text", "warning": "text", "bad": "text",
    # The tokens of HLO text.
    "keyword": "strong", "opcode": "accent", "shape": "text", "layout": "muted", "name": "text",
    "definition": "name", "computation": "strong", "number": "text", "string": "good", "attribute": "muted",
    "value": "text", "metadata": "muted", "op_name": "metadata", "tag": "warning", "sharding": "muted",
    "config": "muted", "comment": "muted", "punctuation": "text", "unknown": "bad",
    # The code's surroundings.
    "gutter": "muted", "line_number": "gutter", "tagged": "warning", "stop": "bad", "disabled": "muted",
    "standing": "accent", "ran": "good", "nan": "bad", "missing": "warning", "fold": "muted",
    "place": "muted",
    # Panes, lists and lines of state.
    "title": "strong", "title_away": "muted", "rule": "muted", "heading": "muted", "status": "text",
    "live": "good", "busy": "warning", "problem": "bad", "key": "accent", "key_text": "muted",
    "key_off": "muted", "count": "muted", "time": "muted", "notice": "warning", "source": "string",
    "result": "text", "spark": "accent",
    # What differs between two texts.
    "added": "good", "removed": "bad", "modified": "warning",
})  # fmt: skip

# What is laid over text of other styles: these inherit nothing, so that what is below shines through.
OVERLAYS = ("cursor", "cursor_away", "target", "match")

ROLES = ("text", *PARENTS, *OVERLAYS)
