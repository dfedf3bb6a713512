"""Transfers to the host and between devices: what waits for nobody has its value, what waits is given made data."""

from __future__ import annotations

import numpy as np
import pytest

from hlo_tui.replay import xla
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.inputs import Inputs
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.supplies import Supplies
from tests.replay.conftest import forward
from tests.replay.running import program_of, run_text

GRAINS = ("whole", "unit", "body")
X = np.arange(3, dtype=np.float32)

SENDING = """
HloModule m

ENTRY e {
  x = f32[3] parameter(0)
  t = token[] after-all()
  out = token[] outfeed(x, t), outfeed_shape=f32[3]
  s = (f32[3], u32[], token[]) send(x, out), channel_id=1
  sd = token[] send-done(s), channel_id=1
  d = () custom-call(x), custom_call_target="xla_ffi_python_cpu_callback", custom_call_has_side_effect=true
  e = token[] custom-call(x, sd), custom_call_target="xla_ffi_python_cpu_callback", custom_call_has_side_effect=true
  g = f32[3] get-tuple-element(s), index=0
  y = f32[3] add(g, x)
  ROOT r = (f32[3], token[], ()) tuple(y, e, d)
}
"""

RECEIVING = """
HloModule m

ENTRY e {
  x = f32[3] parameter(0)
  t = token[] after-all()
  r = (f32[3], u32[], token[]) recv(t), channel_id=1
  rd = (f32[3], token[]) recv-done(r), channel_id=1
  a = f32[3] get-tuple-element(rd), index=0
  ta = token[] get-tuple-element(rd), index=1
  in = (f32[3], token[]) infeed(ta)
  b = f32[3] get-tuple-element(in), index=0
  tb = token[] get-tuple-element(in), index=1
  out = token[] outfeed(x, tb), outfeed_shape=f32[3]
  y = f32[3] add(x, x)
  z = f32[3] add(a, b)
  ROOT t2 = (f32[3], f32[3], token[]) tuple(y, z, out)
}
"""


def debugger_of(text: str, backend: xla.Backend, cache: SliceCache, grain: str) -> Debugger:
    return Debugger(program_of(text), Inputs("npz", [X]), backend, cache, grain=Grain(grain))


@pytest.mark.parametrize("grain", GRAINS)
def test_what_is_sent_needs_nobody(backend: xla.Backend, cache: SliceCache, grain: str) -> None:
    debugger = debugger_of(SENDING, backend, cache, grain)
    (end,) = forward(debugger)
    y, token, nothing = debugger.evaluator.root(debugger._entry)
    np.testing.assert_array_equal(y, 2 * X)
    assert (token, nothing) == (None, ())
    assert (end["unknown"], end["self_check"]) == ([], "match")


@pytest.mark.parametrize("grain", GRAINS)
def test_what_is_waited_for_is_made_and_its_token_is_there(
    backend: xla.Backend, cache: SliceCache, grain: str
) -> None:
    debugger = debugger_of(RECEIVING, backend, cache, grain)
    (end,) = forward(debugger)
    y, z, token = debugger.evaluator.root(debugger._entry)
    np.testing.assert_array_equal(y, 2 * X)
    assert np.isfinite(z).all()
    assert np.any(np.asarray(z) != 0)
    assert token is None
    assert (end["unknown"], end["status"]) == ([], "done")
    made = {one["instruction"]: one["value"] for one in end["supplied"]}
    assert made == {"in": "made: the stand-in of an infeed", "r": "made: the stand-in of a recv"}
    # XLA's own infeed would wait for ever.
    assert (end["self_check"], end["recorded"]) == ("skipped", "absent")
    assert end["self_check_reason"] == "values that an infeed or a recv waits for were made"
    debugger.supply(Supplies(debugger.program, ["r=zeros", "in=zeros"]))
    np.testing.assert_array_equal(debugger.evaluator.root(debugger._entry)[1], 0 * X)
    assert {one["value"] for one in debugger.end()["supplied"]} == {"zeros"}


@pytest.mark.parametrize("result", ["s8[]", "s4[]", "s32[]", "f32[]"])
def test_products_of_less_than_a_byte(backend: xla.Backend, result: str) -> None:
    text = "HloModule m\n\nENTRY e {\n  a = s4[3] constant({1, -2, 3})\n  b = s4[3] constant({2, 1, 1})\n"
    text += f"  ROOT r = {result} dot(a, b), lhs_contracting_dims={{0}}, rhs_contracting_dims={{0}}\n}}\n"
    assert float(run_text(backend, text)) == 3
