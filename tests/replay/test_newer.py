"""Text of a newer XLA runs without what this one does not know."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.errors import EngineError
from hlo_tui.replay import newer
from hlo_tui.replay.inputs import Inputs
from tests.replay.conftest import Open, forward

TEXT = """HloModule m

ENTRY e {
  x = f32[8] parameter(0)
  y = f32[8] sine(x), of_next_year={a={1,2}, b="}, of_next_year=3"}, metadata={op_name="q, of_next_year=4"}
  t = (f32[2], s32[2]) topk(y), k=2, largest=true, is_steady=true
  ROOT v = f32[2] get-tuple-element(t), index=0
}
"""


def test_unknown_attributes_are_left_out_and_named(debug: Open, tmp_path: Path) -> None:
    path = tmp_path / "m.hlo"
    path.write_text(TEXT)
    debugger = debug(path)
    assert isinstance(debugger.inputs, Inputs)
    (end,) = forward(debugger)
    assert (end["status"], end["self_check"]) == ("done", "match")
    _, left_out = newer.parse(TEXT.encode())
    assert left_out == ["of_next_year", "is_steady"]


def test_only_the_attribute_goes() -> None:
    shorter = newer.without(TEXT.encode(), "of_next_year").decode()
    assert '  y = f32[8] sine(x), metadata={op_name="q, of_next_year=4"}\n' in shorter
    assert newer.without(TEXT.encode(), "absent") == TEXT.encode()


def test_other_faults_are_told() -> None:
    with pytest.raises(EngineError, match="does not accept"):
        newer.parse(b"HloModule m\n\nENTRY e {\n  ROOT x = f32[2] wobble()\n}\n")


@given(text=st.text(alphabet='a,=b{}()[]"\\\n ', max_size=60))
def test_any_text_is_only_made_shorter(text: str) -> None:
    data = text.encode()
    shorter = newer.without(data, "a")
    assert len(shorter) <= len(data)
    assert newer.without(data, "absent") == data
