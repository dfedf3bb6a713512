"""Which arrays share bytes, and for how long they are in use, of modules small enough to count by hand."""

from __future__ import annotations

from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource
from hlo_tui.memory.estimate import estimate
from hlo_tui.memory.schedule import flatten


def module(text: str) -> Module:
    found = Module(BytesSource(text.encode(), "a"))
    found.scan()
    return found


def peak(text: str) -> int:
    return estimate(module(text), "a").peak


CHAIN = """HloModule a, is_scheduled=true

ENTRY %main (p: f32[100]) -> f32[100] {
  %p = f32[100]{0} parameter(0)
  %a = f32[100]{0} sort(%p), dimensions={0}
  %b = f32[100]{0} sort(%a), dimensions={0}
  %c = f32[100]{0} sort(%b), dimensions={0}
  ROOT %d = f32[100]{0} sort(%c), dimensions={0}
}
"""


def test_what_is_not_needed_any_more_is_not_counted():
    # The argument and the result all the time, and two of the three between at once.
    assert peak(CHAIN) == 4 * 400


def test_elementwise_operations_reuse_their_operand():
    text = CHAIN.replace("sort(%a), dimensions={0}", "negate(%a)").replace(
        "sort(%b), dimensions={0}", "negate(%b)"
    )
    assert peak(text) == 3 * 400


LOOP = """HloModule a, is_scheduled=true

%body (s: (s32[], f32[100])) -> (s32[], f32[100]) {
  %s = (s32[], f32[100]{0}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %x = f32[100]{0} get-tuple-element(%s), index=1
  %y = f32[200]{0} custom-call(%x), custom_call_target="f"
  %z = f32[100]{0} custom-call(%y), custom_call_target="g"
  ROOT %t = (s32[], f32[100]{0}) tuple(%i, %z)
}

%condition (s.1: (s32[], f32[100])) -> pred[] {
  %s.1 = (s32[], f32[100]{0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=0
  ROOT %less = pred[] compare(%i.1, %i.1), direction=LT
}

ENTRY %main (p: f32[100]) -> f32[1] {
  %p = f32[100]{0} parameter(0)
  %n = s32[] constant(0)
  %c = f32[100]{0} copy(%p)
  %t.1 = (s32[], f32[100]{0}) tuple(%n, %c)
  %w = (s32[], f32[100]{0}) while(%t.1), condition=%condition, body=%body
  %r = f32[100]{0} get-tuple-element(%w), index=1
  ROOT %o = f32[1]{0} slice(%r), slice={[0:1]}
}
"""


def test_what_a_loop_carries_is_there_once():
    # Argument, constant and result; the state once, and in the body its 200 floats.
    assert peak(LOOP) == (400 + 4 + 4) + 400 + 800


def test_the_order_of_a_loop_is_condition_then_body():
    names = [step.name for step in flatten(module(LOOP)).steps]
    assert names.index("less") < names.index("y") < names.index("w")
    assert len(names) == 16


def test_an_update_is_made_in_place():
    text = """HloModule a, is_scheduled=true

ENTRY %main (p: f32[100], u: f32[1]) -> f32[1] {
  %p = f32[100]{0} parameter(0)
  %u = f32[1]{0} parameter(1)
  %n = s32[] constant(3)
  %c = f32[100]{0} copy(%p)
  %d = f32[100]{0} dynamic-update-slice(%c, %u, %n)
  ROOT %o = f32[1]{0} slice(%d), slice={[0:1]}
}
"""
    assert peak(text) == (400 + 4 + 4 + 4) + 400


def test_a_donated_argument_holds_the_result():
    text = CHAIN.replace(
        "is_scheduled=true", "is_scheduled=true, input_output_alias={ {}: (0, {}, may-alias) }"
    )
    assert peak(text) == 3 * 400


def test_a_fusion_that_updates_works_in_place():
    text = """HloModule a, is_scheduled=true

%fused (q: f32[100], v: f32[1], m: s32[]) -> f32[100] {
  %q = f32[100]{0} parameter(0)
  %v = f32[1]{0} parameter(1)
  %m = s32[] parameter(2)
  ROOT %d = f32[100]{0} dynamic-update-slice(%q, %v, %m)
}

ENTRY %main (p: f32[100], u: f32[1]) -> f32[1] {
  %p = f32[100]{0} parameter(0)
  %u = f32[1]{0} parameter(1)
  %n = s32[] constant(3)
  %c = f32[100]{0} copy(%p)
  %f = f32[100]{0} fusion(%c, %u, %n), kind=kLoop, calls=%fused
  ROOT %o = f32[1]{0} slice(%f), slice={[0:1]}
}
"""
    assert peak(text) == (400 + 4 + 4 + 4) + 400


def test_a_module_that_is_not_scheduled_says_so():
    notes = estimate(module(CHAIN.replace("is_scheduled=true", "x=y")), "a").notes
    assert any("not scheduled" in note for note in notes)


def test_calls_of_calls_as_deep_as_can_be_end():
    parts = ["HloModule a, is_scheduled=true\n"]
    for number in range(3000):
        inner = f"call(%p.{number}), to_apply=%f.{number - 1}" if number else "negate(%p.0)"
        parts.append(f"%f.{number} (p.{number}: f32[]) -> f32[] {{\n  %p.{number} = f32[] parameter(0)\n"
                     f"  ROOT %r.{number} = f32[] {inner}\n}}\n")  # fmt: skip
    parts.append("ENTRY %main (q: f32[]) -> f32[] {\n  %q = f32[] parameter(0)\n"
                 "  ROOT %o = f32[] call(%q), to_apply=%f.2999\n}\n")  # fmt: skip
    assert len(flatten(module("\n".join(parts))).steps) == 6002
    assert peak("\n".join(parts)) > 0


def test_a_computation_that_calls_itself_ends():
    text = """HloModule a

ENTRY %main (q: f32[]) -> f32[] {
  %q = f32[] parameter(0)
  ROOT %o = f32[] call(%q), to_apply=%main
}
"""
    assert peak(text) >= 4


def test_padding_of_a_tiled_layout_counts_and_is_said():
    text = CHAIN.replace("f32[100]{0} sort(%a)", "f32[100]{0:T(1024)} sort(%a)")
    report = estimate(module(text), "a")
    assert report.peak == 400 + 400 + 400 + 4096
    assert any(owner.why.endswith("3,696 bytes of it are padding") for owner in report.owners)
