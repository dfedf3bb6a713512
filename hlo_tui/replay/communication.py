"""The opcodes with which devices talk to each other; known to the screen too, which never loads numpy."""

from __future__ import annotations

# The first half of an asynchronous one, and what it is when done at once.
STARTS = {
    "all-reduce-start": "all-reduce",
    "all-gather-start": "all-gather",
    "collective-permute-start": "collective-permute",
}
GROUPED = frozenset(
    {"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-broadcast", "ragged-all-to-all"}
)
COMMUNICATING = frozenset(STARTS) | GROUPED | {"collective-permute"}
