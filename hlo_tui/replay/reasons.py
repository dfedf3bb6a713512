"""Why a value is unknown, in words."""

from __future__ import annotations

import re

from hlo_tui.errors import EngineError

_MISSING = re.compile(
    r"No (?:registered implementation for (?:untyped )?custom call to|FFI handler registered for) (\S+)"
)


def reason_of(error: Exception) -> str:
    """What kept an instruction from being computed: XLA's own error, or that it has no plain form here."""
    if not isinstance(error, EngineError):
        return str(error)
    missing = _MISSING.search(error.message)
    if missing is not None:
        return f"this jaxlib has no custom call {missing[1]}"
    return f"{error.title}: {error.message.splitlines()[0]}" if error.message else error.title
