"""Moving data on the host gives what XLA's own compiled operation gives."""

from __future__ import annotations

import numpy as np
import pytest

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla
from hlo_tui.replay.arrays import DTYPES
from hlo_tui.replay.collectives import ONE_DEVICE
from hlo_tui.replay.evaluate import Evaluator
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.hostops import host_function
from hlo_tui.replay.program import Program
from hlo_tui.replay.slices import SliceCache, SliceModule

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


def dims_of(text: str) -> tuple[int, ...]:
    inside = text.partition("[")[2].partition("]")[0]
    return tuple(int(n) for n in inside.split(",") if n)


# Parameters as shape or shape=values, and the instruction.
MOVING = {
    "slice": (["f32[5,6]"], "f32[2,2] slice(p0), slice={[1:5:2], [2:4]}"),
    "slice-empty": (["f32[5]"], "f32[0] slice(p0), slice={[3:3]}"),
    "reverse": (["f32[2,3]"], "f32[2,3] reverse(p0), dimensions={1}"),
    "reverse-both": (["s8[2,3]"], "s8[2,3] reverse(p0), dimensions={1,0}"),
    "concatenate": (["f32[2,3]", "f32[2,1]", "f32[2,0]"], "f32[2,4] concatenate(p0, p1, p2), dimensions={1}"),
    "concatenate-bf16": (["bf16[2]", "bf16[3]"], "bf16[5] concatenate(p0, p1), dimensions={0}"),
    "select": (["pred[3]=1,0,1", "f32[3]", "f32[3]"], "f32[3] select(p0, p1, p2)"),
    "select-one": (["pred[]=0", "f32[2,2]", "f32[2,2]"], "f32[2,2] select(p0, p1, p2)"),
    "select-f8": (
        ["pred[3]=0,0,1", "f8e4m3fn[3]", "f8e4m3fn[3]"],
        "f8e4m3fn[3] select(p0, p1, p2)",
    ),
    "pad": (["f32[2,3]", "f32[]"], "f32[5,8] pad(p0, p1), padding=1_2x0_1_2"),
    "pad-less": (["f32[4,5]", "f32[]"], "f32[2,6] pad(p0, p1), padding=-1_-1x-2_-1_1"),
    "pad-mixed": (["f32[6]", "f32[]"], "f32[7] pad(p0, p1), padding=-2_3"),
    "pad-nothing": (["f32[0]", "f32[]"], "f32[3] pad(p0, p1), padding=1_2_4"),
    "dynamic-slice": (
        ["f32[5,6]", "s32[]=1", "s32[]=2"],
        "f32[2,3] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}",
    ),
    "dynamic-slice-before": (
        ["f32[5,6]", "s8[]=-3", "s8[]=127"],
        "f32[2,3] dynamic-slice(p0, p1, p2), dynamic_slice_sizes={2,3}",
    ),
    "dynamic-slice-behind": (
        ["f32[5]", "u32[]=4294967295"],
        "f32[2] dynamic-slice(p0, p1), dynamic_slice_sizes={2}",
    ),
    "dynamic-update-slice": (
        ["f32[5,6]", "f32[2,3]", "s32[]=1", "s32[]=5"],
        "f32[5,6] dynamic-update-slice(p0, p1, p2, p3)",
    ),
    "dynamic-update-slice-outside": (
        ["s64[4]", "s64[2]", "s64[]=-9223372036854775808"],
        "s64[4] dynamic-update-slice(p0, p1, p2)",
    ),
}


@pytest.mark.parametrize("name", MOVING)
def test_parts_are_moved_as_xla_moves_them(backend: xla.Backend, name: str) -> None:
    written, line = MOVING[name]
    lines = [f"  p{n} = {one.partition('=')[0]} parameter({n})" for n, one in enumerate(written)]
    text = "HloModule m\n\nENTRY e {\n" + "\n".join(lines) + f"\n  ROOT r = {line}\n}}\n"
    program = Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))
    entry = program.entry
    op = entry.ops[entry.root]
    rng = np.random.default_rng(0)
    values = []
    for one, index in zip(written, entry.parameters, strict=True):
        dtype = DTYPES[entry.ops[index].proto.shape.element_type]
        given = one.partition("=")[2]
        flat = np.array([int(n) for n in given.split(",")]) if given else 100 * rng.normal(size=dims_of(one))
        values.append(flat.astype(dtype).reshape(dims_of(one)))
    host = host_function(op, [entry.ops[o].proto.shape for o in op.operands])
    assert host is not None
    before = [value.tobytes() for value in values]
    found = host(*values)
    assert [value.tobytes() for value in values] == before
    compiled = backend.compile(
        SliceModule(program, ONE_DEVICE, 1).cut(entry, [entry.root], entry.parameters, [entry.root])
    )
    (expected,) = compiled(list(values))
    assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
    assert np.asarray(found, order="C").tobytes() == np.asarray(expected).tobytes()


def test_values_without_dimensions_are_arrays_too(backend: xla.Backend, cache: SliceCache) -> None:
    text = """
HloModule scalars

ENTRY e {
  x = f32[] parameter(0)
  a = f32[] dynamic-slice(x), dynamic_slice_sizes={}
  b = f32[] dynamic-update-slice(a, x)
  c = f32[] slice(b), slice={}
  d = f32[] reverse(c), dimensions={}
  t = f32[] transpose(d), dimensions={}
  ROOT r = (f32[], f32[], f32[], f32[], f32[]) tuple(a, b, c, d, t)
}
"""
    program = Program(pb.HloModuleProto.FromString(xla.parse_text(text.encode())))
    evaluator = Evaluator(program, backend, cache)
    evaluator.keeper.budget = 0
    values = evaluator.root(Frame(program.entry, [np.array(2, np.float32)]))
    assert all(isinstance(value, np.ndarray) and value == 2 for value in values)
