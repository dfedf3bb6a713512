"""Real lines and small modules that several tests read."""

from __future__ import annotations

from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource

STEP = """\
HloModule jit_step, is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }, \
entry_computation_layout={(f32[4]{0})->f32[4]{0}}, num_partitions=8, \
frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["data"=4, "model"=2]>}}

FileNames
1 "/home/u/train.py"
2 "/home/u/model.py"

FunctionNames
1 "<module>"
2 "loss"
3 "block"

FileLocations
1 {file_name_id=1 function_name_id=1 line=40 end_line=40 column=2 end_column=19}
2 {file_name_id=1 function_name_id=2 line=12 end_line=12 column=9 end_column=21}
3 {file_name_id=2 function_name_id=3 line=88 end_line=89 column=4 end_column=30}

StackFrames
1 {file_location_id=1 parent_frame_id=1}
2 {file_location_id=2 parent_frame_id=2}
3 {file_location_id=3 parent_frame_id=3}


%fused_computation (param_0: f32[4]) -> f32[4] {
  %param_0 = f32[4]{0} parameter(0)
  ROOT %tanh.1 = f32[4]{0} tanh(%param_0), frontend_attributes={breakpoint="true"}, \
metadata={stack_frame_id=3}
}

%body (p: (s32[], f32[4])) -> (s32[], f32[4]) {
  %p = (s32[], f32[4]{0}) parameter(0)
  %i = s32[] get-tuple-element(%p), index=0
  %x = f32[4]{0} get-tuple-element(%p), index=1
  %one = s32[] constant(1)
  %next = s32[] add(%i, %one)
  %y = f32[4]{0} fusion(%x), kind=kLoop, calls=%fused_computation, frontend_attributes={breakpoint="true",\
note="a \\"b\\" {c}"}, metadata={op_name="jit(step)/while/body/tanh" stack_frame_id=3}
  ROOT %tuple = (s32[], f32[4]{0}) tuple(%next, %y)
}

%condition (p.1: (s32[], f32[4])) -> pred[] {
  %p.1 = (s32[], f32[4]{0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%p.1), index=0
  %limit = s32[] constant(3)
  ROOT %less = pred[] compare(%i.1, %limit), direction=LT
}

ENTRY %main.9 (Arg_0: f32[4]) -> f32[4] {
  %Arg_0 = f32[4]{0} parameter(0), metadata={op_name="x"}
  %table = f32[16]{0} constant({...})
  %zero = s32[] constant(0)
  %init = (s32[], f32[4]{0}) tuple(%zero, %Arg_0)
  %while.6 = (s32[], f32[4]{0}) while(%init), condition=%condition, body=%body, \
metadata={source_file="old.py" source_line=7}
  ROOT %out = f32[4]{0} get-tuple-element(%while.6), index=1
}
"""

# What people write: no header, no percent signs, no signatures, several lines, bodies in place.
HAND_WRITTEN = """\
// RUN: hlo-opt %s | FileCheck %s

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT sum = f32[] add(a, b)
}
// CHECK: %[[SUM:.*]] = f32[] add

ENTRY main {
  p = f32[8,16] parameter(0)
  zero = f32[] constant(0)
  table = f32[2,2] constant({
    { 1, 2 },
    { 3, 4 }
  })
  inner = f32[8,16] fusion(p), kind=kLoop, calls=
  {
    q = f32[8,16] parameter(0)
    ROOT neg = f32[8,16] negate(q)
  }
  red = f32[8] reduce(inner, zero), dimensions={1},
    to_apply=add
  custom = f32[8] custom-call(red), custom_call_target="f", backend_config={
    "key": "x = f32[] add(",
    "list": [1, 2]
  }
  ROOT t = (f32[8],
    f32[8])  // two of them
   tuple(red,
         /*index=1*/custom)
}
"""


def module_of(text: str | bytes, name: str = "sample") -> Module:
    """A scanned module of this text."""
    module = Module(BytesSource(text.encode() if isinstance(text, str) else text, name))
    module.scan()
    return module
