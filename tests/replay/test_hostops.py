"""Moving data on the host gives what XLA's own compiled operation gives."""

from __future__ import annotations

import numpy as np
import pytest

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla
from hlo_tui.replay.collectives import ONE_DEVICE
from hlo_tui.replay.hostops import host_function
from hlo_tui.replay.program import Program
from hlo_tui.replay.slices import SliceModule

LINES = {
    "broadcast": ("f32[2,3]{1,0}", "f32[4,3,2]{2,1,0} broadcast(p), dimensions={2,1}"),
    "broadcast-scalar": ("f32[]", "f32[3,2]{1,0} broadcast(p), dimensions={}"),
    "reshape": ("f32[2,6]{1,0}", "f32[3,4]{1,0} reshape(p)"),
    "transpose": ("f32[2,3,4]{2,1,0}", "f32[4,2,3]{2,1,0} transpose(p), dimensions={2,0,1}"),
    "bitcast": ("f32[2,6]{1,0}", "f32[3,4]{1,0} bitcast(p)"),
    "bitcast-layout": ("f32[2,3]{0,1}", "f32[3,2]{1,0} bitcast(p)"),
    "bitcast-layouts": ("f32[2,3,4]{1,2,0}", "f32[2,4,3]{2,1,0} bitcast(p)"),
    "bitcast-type": ("f32[2,3]{1,0}", "s32[2,3]{1,0} bitcast(p)"),
    "bitcast-narrower": ("f32[2,3]{1,0}", "u8[2,12]{1,0} bitcast(p)"),
    "bitcast-wider": ("f32[2,4]{1,0}", "f64[2,2]{1,0} bitcast(p)"),
    "copy": ("f32[2,3]{1,0}", "f32[2,3]{0,1} copy(p)"),
    "iota": ("f32[2]{0}", "s32[2,3]{1,0} iota(), iota_dimension=1"),
}


@pytest.mark.parametrize("name", LINES)
def test_the_host_agrees_with_xla(backend: xla.Backend, name: str) -> None:
    parameter, line = LINES[name]
    text = f"HloModule m\n\nENTRY e {{\n  p = {parameter} parameter(0)\n  ROOT r = {line}\n}}\n"
    program = Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))
    entry = program.entry
    op = entry.ops[entry.root]
    shapes = [entry.ops[o].proto.shape for o in op.operands]
    dims = tuple(entry.ops[entry.parameters[0]].proto.shape.dimensions)
    value = np.random.default_rng(0).normal(size=dims).astype(np.float32)
    host = host_function(op, shapes)
    assert host is not None
    found = host(*([value] if op.operands else []))
    compiled = backend.compile(
        SliceModule(program, ONE_DEVICE, 1).cut(entry, [entry.root], entry.parameters, [entry.root])
    )
    (expected,) = compiled([value])
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert np.asarray(found, order="C").tobytes() == np.asarray(expected).tobytes()
