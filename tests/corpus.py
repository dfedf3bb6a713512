"""Where the larger collection of real dumps is, for the tests that can use it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"


def corpus_dir() -> Path:
    """The collection's directory; skips the test where it is not there."""
    given = os.environ.get("HLO_TUI_CORPUS")
    path = Path(given) if given else Path(__file__).parents[2] / "shared" / "corpus"
    if not path.is_dir():
        pytest.skip("the collection of real dumps is not here (set HLO_TUI_CORPUS)")
    return path
