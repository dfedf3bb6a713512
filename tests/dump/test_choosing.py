"""The module that a person means."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlo_tui.dump.choosing import find_module
from hlo_tui.dump.listing import load
from hlo_tui.errors import HloTuiError
from tests.dump.making import write


def test_by_name_or_number(tmp_path: Path) -> None:
    for name in ("module_0000.f", "module_0012.g", "module_0013.12"):
        write(tmp_path, f"{name}.before_optimizations.txt")
    listing = load(tmp_path)
    for wanted, found in {"f": 0, "#0": 0, "0000": 0, "g": 12, "#12": 12, "0012": 12, "13": 13}.items():
        assert find_module(listing, wanted).id == found
    for wanted in ("h", "#", "-1", "\N{ARABIC-INDIC DIGIT ONE}", "1" * 5000, "#\x1b[2J", ""):
        with pytest.raises(HloTuiError) as caught:
            find_module(listing, wanted)
        assert "\x1b" not in str(caught.value)
