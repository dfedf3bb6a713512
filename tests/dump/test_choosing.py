"""The module that a person means."""

from __future__ import annotations

from pathlib import Path

import pytest

from hlo_tui.dump.choosing import find_module, of_same_name
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


def test_which_of_several_of_one_name_is_said(tmp_path: Path) -> None:
    for name in (
        "module_0000.f",
        "module_0003.g",
        "module_0012.g",
        *(f"module_{n:04}.h" for n in range(20, 28)),
    ):
        write(tmp_path, f"{name}.before_optimizations.txt")
    listing = load(tmp_path)
    assert of_same_name(listing, "f") == of_same_name(listing, "#12") == ""
    chosen = find_module(listing, "g").id
    other = {3: 12, 12: 3}[chosen or 0]
    assert of_same_name(listing, "g") == f"2 modules are called g: this is #{chosen}; also #{other}"
    many = of_same_name(listing, "h")
    assert many.startswith("8 modules are called h: this is #")
    assert (many.count("#"), many.endswith(", ...")) == (6, True)
