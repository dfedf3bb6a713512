"""The signs on the screen, and what stands for each where the terminal shows only ASCII."""

from __future__ import annotations

TAGGED = "●"
STOP = "◆"
DISABLED = "○"
STANDING = "▶"
RAN = "✓"
BAD = "!"
UNKNOWN = "?"
GIVEN = "~"
FOLDED = "▸"
OPEN = "▾"
MORE = "…"
DOT = "·"
TIMES = "×"
MINUS = "−"
LINE = "─"
BARS = "▁▂▃▄▅▆▇█"

_ASCII = str.maketrans({
    TAGGED: "*", STOP: "#", DISABLED: "o", STANDING: ">", RAN: "+", FOLDED: ">", OPEN: "v", MORE: "~",
    DOT: "-", TIMES: "x", MINUS: "-", LINE: "-",
    "│": "|", "░": ".", "▒": ":", "▓": "o", "←": "<", "→": ">", "↑": "^", "↓": "v", "–": "-", "›": ">", "‹": "<",
    **dict(zip(BARS, ".,-~=+*#", strict=True)),
})  # fmt: skip


def to_ascii(text: str) -> str:
    """Give `text` with every sign of ours in ASCII, and what else is not ASCII as a question mark."""
    return text.translate(_ASCII).encode("ascii", "replace").decode("ascii")
