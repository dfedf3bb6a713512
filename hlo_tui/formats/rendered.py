"""What is shown of a file that is not text, or whose text is packed."""

from __future__ import annotations

from dataclasses import dataclass, field

from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.visible import visible


@dataclass(frozen=True, slots=True)
class Rendered:
    """Text made of a file.

    Attributes:
        text: its lines, UTF-8.
        facts: what is worth knowing at once, a sentence each.
        note: how the text came about.
        origins: places in a program that lines come from, innermost first, as far as the file says them.
    """

    text: bytes
    facts: tuple[str, ...] = ()
    note: str = ""
    origins: dict[int, tuple[str, ...]] = field(default_factory=dict)


def damaged(name: str, reason: str, hint: str = "Is it still being written?") -> HloTuiError:
    """The error of a file that cannot be read, with the reason in words."""
    return HloTuiError("The file cannot be read", f"{visible(name)}: {visible(reason)}", hint)
