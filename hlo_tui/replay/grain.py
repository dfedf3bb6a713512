"""How much XLA compiles at a time, and how a person's wish to stop travels."""

from __future__ import annotations

from enum import StrEnum


class Grain(StrEnum):
    """How much XLA compiles at a time: a stretch, one instruction (a fusion is one), or single operations."""

    WHOLE = "whole"
    UNIT = "unit"
    BODY = "body"


class Interrupted(Exception):
    """The person asked to stop; what was computed so far stays."""
