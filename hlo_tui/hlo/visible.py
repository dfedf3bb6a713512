"""Text from files made safe for a terminal: control characters become visible marks."""

from __future__ import annotations

import re

# C0 except tab and newline handled by the caller, DEL, C1, the bidirectional overrides and the line separators:
# each of them can move the cursor, hide text or change its order on a terminal.
_UNSAFE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)


def _mark(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    return "\ufffd"


def visible(text: str) -> str:
    """Give `text` with every control, bidirectional and surrogate character as one visible mark.

    The result has the same number of characters, so columns stay true. Newlines and tabs are marked too:
    split into lines and expand tabs first where they are wanted.
    """
    return _UNSAFE.sub(_mark, text)


def decode(data: bytes) -> str:
    """Give bytes of a file as text that is safe for a terminal; bytes that are not UTF-8 become U+FFFD."""
    return visible(data.decode("utf-8", "replace"))
