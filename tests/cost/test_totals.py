"""The cost of whole modules: loops as often as they run, library calls, collectives, sums by opcode and scope."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.cli import main
from hlo_tui.cost.analysis import Analysis
from hlo_tui.cost.collectives import collective
from hlo_tui.cost.telling import to_json, to_text
from hlo_tui.cost.totals import cost_of
from hlo_tui.cost.windows import Dimension, window_of
from hlo_tui.errors import HloTuiError
from hlo_tui.hlo.header import Header
from hlo_tui.hlo.instruction import parse_instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.shape import parse_shape
from hlo_tui.hlo.source import BytesSource
from tests.memory.reports import OWN, own


def module(text: str) -> Module:
    found = Module(BytesSource(text.encode(), "a"))
    found.scan()
    return found


LOOP = """HloModule a

%body (s: (s32[], f32[8,8])) -> (s32[], f32[8,8]) {
  %s = (s32[], f32[8,8]{1,0}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %x = f32[8,8]{1,0} get-tuple-element(%s), index=1
  %d = f32[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="f/loop/dot"}
  ROOT %t = (s32[], f32[8,8]{1,0}) tuple(%i, %d)
}

%condition (s.1: (s32[], f32[8,8])) -> pred[] {
  %s.1 = (s32[], f32[8,8]{1,0}) parameter(0)
  %i.1 = s32[] get-tuple-element(%s.1), index=0
  ROOT %less = pred[] compare(%i.1, %i.1), direction=LT
}

ENTRY %main (p: f32[8,8]) -> (s32[], f32[8,8]) {
  %p = f32[8,8]{1,0} parameter(0)
  %n = s32[] constant(0)
  %t.1 = (s32[], f32[8,8]{1,0}) tuple(%n, %p)
  ROOT %w = (s32[], f32[8,8]{1,0}) while(%t.1), condition=%condition, body=%body%TRIPS%
}
"""


def test_a_loop_counts_as_often_as_it_runs():
    known = cost_of(module(LOOP.replace("%TRIPS%", ', backend_config={"known_trip_count":{"n":"7"}}')), "a")
    one = cost_of(module(LOOP.replace("%TRIPS%", "")), "a")
    dot = 2 * 8 * 8 * 8
    assert known.total.flops == 7 * dot + 8
    assert one.total.flops == one.once.flops == known.once.flops == dot + 1
    assert known.lines[0].name == "d"
    assert known.lines[0].times == 7
    assert known.by_opcode["dot"].flops == known.by_op_name["f/loop/dot"].flops == 7 * dot
    assert known.notes == []
    assert any("nobody knows how often" in note for note in one.notes)


def test_loops_in_loops_multiply():
    text = LOOP.replace("%TRIPS%", ', backend_config={"known_trip_count":{"n":"7"}}')
    inner = text.replace("ENTRY %main", "%inner").replace("%w =", "%w.1 =")
    inner = inner.replace("HloModule a\n", "")
    for name in ("body", "condition"):
        inner = inner.replace(f"%{name}", f"%{name}.2")
    outer = text.replace("%d = f32[8,8]{1,0} dot(%x, %x), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
                         "%c = (s32[], f32[8,8]{1,0}) call(%x), to_apply=%inner\n"
                         "  %d = f32[8,8]{1,0} get-tuple-element(%c), index=1")  # fmt: skip
    found = cost_of(module(outer.replace("HloModule a\n", "HloModule a\n" + inner)), "a")
    assert found.by_opcode["dot"].flops == 49 * 1024


def test_of_branches_the_costliest_counts():
    text = """HloModule a

%cheap (x: f32[8]) -> f32[8] {
  %x = f32[8]{0} parameter(0)
  ROOT %n = f32[8]{0} negate(%x)
}

%dear (y: f32[8]) -> f32[8] {
  %y = f32[8]{0} parameter(0)
  %m = f32[8]{0} negate(%y)
  ROOT %o = f32[8]{0} negate(%m)
}

ENTRY %main (i: s32[], p: f32[8]) -> f32[8] {
  %i = s32[] parameter(0)
  %p = f32[8]{0} parameter(1)
  ROOT %c = f32[8]{0} conditional(%i, %p, %p), branch_computations={%cheap, %dear}
}
"""
    found = cost_of(module(text), "a")
    assert found.total.flops == found.once.flops == 16
    assert any("branches" in note for note in found.notes)


@pytest.mark.parametrize(
    ("line", "flops"),
    [
        ('%r = (f32[4,6]{1,0}, s8[64]{0}) custom-call(%a, %b), custom_call_target="__cublas$gemm", backend_config='
         '{"gemm_backend_config":{"dot_dimension_numbers":{"lhs_contracting_dimensions":["1"]}}}', 2 * 4 * 6 * 5),
        ('%r = f32[4,6]{1,0} custom-call(%a, %b), custom_call_target="__onednn$matmul"', 2 * 4 * 6 * 5),
        ('%r = f32[4,6]{1,0} custom-call(%a, %b), custom_call_target="Sharding"', 0),
    ],
)  # fmt: skip
def test_library_calls_whose_meaning_is_known(line, flops):
    text = ("HloModule a\n\nENTRY %main (a: f32[4,5], b: f32[5,6]) -> f32[4,6] {\n  %a = f32[4,5]{1,0} parameter(0)\n"
            f"  %b = f32[5,6]{{1,0}} parameter(1)\n  ROOT {line}\n}}\n")  # fmt: skip
    found = cost_of(module(text), "a")
    assert (found.total.flops, found.total.unknown) == (flops, 0)


def test_a_convolution_call_counts_like_the_convolution():
    shape = "bf16[2,8,8,16]{3,2,1,0}"
    attributes = "window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f"
    text = ("HloModule a\n\nENTRY %main () -> f32[] {{\n  %a = {shape} parameter(0)\n  %b = bf16[3,3,16,32]{{3,2,1,0}} "
            "parameter(1)\n  ROOT %r = {op}\n}}\n")  # fmt: skip
    plain = text.format(shape=shape, op=f"bf16[2,8,8,32]{{3,2,1,0}} convolution(%a, %b), {attributes}")
    call = text.format(
        shape=shape,
        op=f"(bf16[2,8,8,32]{{3,2,1,0}}, u8[0]) custom-call(%a, %b), {attributes}, "
        'custom_call_target="__cudnn$convForward"',
    )
    flops = cost_of(module(plain), "a").total.flops
    assert flops == cost_of(module(call), "a").total.flops
    # Of the 8 x 8 places each of the nine taps meets, the border is padding: (8 + 7 + 7) squared.
    assert flops == 2 * 2 * 16 * 32 * 22 * 22


def test_calls_that_nobody_knows_are_said():
    text = "HloModule a\n\nENTRY %main (a: f32[4]) -> f32[4] {\n  %a = f32[4]{0} parameter(0)\n"
    text += '  ROOT %r = f32[4]{0} custom-call(%a), custom_call_target="mine"\n}\n'
    found = cost_of(module(text), "a")
    assert (found.total.unknown, found.total.flops, found.total.bytes) == (1, 0, 32)
    assert any("nobody knows what they do" in note for note in found.notes)


@pytest.mark.parametrize(
    ("line", "size", "group", "wire"),
    [
        ("%r = f32[8]{0} all-reduce(%a), replica_groups={{0,1,2,3}}", 32, 4, 2 * 3 / 4 * 32),
        ("%r = f32[32]{0} all-gather(%a), replica_groups=[2,4]<=[8], dimensions={0}", 128, 4, 3 / 4 * 128),
        ("%r = (f32[8]{0}, f32[32]{0}) all-gather-start(%a), replica_groups=[2,4]<=[8]", 128, 4, 3 / 4 * 128),
        ("%r = f32[2]{0} reduce-scatter(%a), replica_groups={}", 32, 6, 5 / 6 * 32),
        ("%r = f32[8]{0} all-reduce(%a), replica_groups=mesh['x'=2,'y'=3] {'y'}", 32, 3, 2 * 2 / 3 * 32),
        ("%r = f32[8]{0} collective-permute(%a), source_target_pairs={{0,1}}", 32, 2, 32),
        ("%r = f32[8]{0} add(%a, %a)", None, None, None),
    ],
)
def test_what_a_collective_sends(line, size, group, wire):
    found = collective(parse_instruction(line), [parse_shape("f32[8]{0}")[0]], Header(num_partitions=6))
    assert (found is None) == (size is None)
    if found is not None:
        assert (found.size, found.group) == (size, group)
        assert found.wire == pytest.approx(wire)


def test_collectives_of_a_real_module(capsys):
    assert main(["cost", str(OWN), "jit_reduced", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [(one["kind"], one["bytes"], one["group"], one["line"] > 0) for one in told["collectives"]] == [
        ("all-gather", 512, 2, True), ("all-reduce", 16, 2, True),
    ]  # fmt: skip


def test_the_command_on_a_dump_a_stage_and_a_file(capsys):
    assert main(["cost", str(OWN)]) == 0
    assert "jit_train #" in capsys.readouterr().out
    assert main(["cost", str(OWN), "jit_train", "--stage", "before"]) == 0
    assert "before_optimizations" in capsys.readouterr().out
    assert main(["cost", str(own("train", ".hlo.pb"))]) == 0
    assert "by scope" in capsys.readouterr().out
    assert main(["cost", str(OWN), "jit_train", "--stage", "nothing"]) == 2


def test_sums_are_those_of_the_instructions():
    found = cost_of(module(own("train", ".txt").read_text()), "a")
    assert sum(line.total.flops for line in found.lines) == pytest.approx(found.total.flops)
    assert sum(cost.flops for cost in found.by_opcode.values()) == pytest.approx(found.total.flops)
    assert sum(cost.bytes for cost in found.by_op_name.values()) == pytest.approx(found.total.bytes)
    told = to_json(found)
    assert told["total"]["flops"] == found.total.flops
    assert "XLA says" in to_text(found)


def test_windows():
    assert window_of("{size=3x1 stride=2x1 pad=1_0x0_-1 lhs_dilate=1x4 rhs_dilate=2x1}") == (
        Dimension(3, 2, 1, 0, 2, 1), Dimension(1, 1, 0, -1, 1, 4),
    )  # fmt: skip
    assert window_of("") == ()


def test_a_module_without_computations():
    with pytest.raises(HloTuiError):
        cost_of(module("nothing"), "a")


pieces = st.sampled_from([*LOOP.replace("%TRIPS%", "").split("\n"), "}", "ENTRY %a (b: f32[2]) -> f32[2] {"])


@given(st.lists(st.one_of(pieces, st.text("%abx=()[]{},0129 f", max_size=40)), max_size=30))
def test_any_text_has_a_cost(lines):
    found = module("\n".join(lines))
    if found.outline.entry is not None:
        cost_of(found, "a")
        Analysis(found).computation(found.outline.entry.name)


def test_what_calls_itself_ends():
    text = "HloModule a\n\nENTRY %main (q: f32[]) -> f32[] {\n  %q = f32[] parameter(0)\n"
    text += "  ROOT %o = f32[] call(%q), to_apply=%main\n}\n"
    assert cost_of(module(text), "a").total.flops == 0


def test_xla_counts_too_where_it_is_asked_to(capsys):
    assert main(["cost", str(OWN), "jit_train", "--xla"]) == 0
    assert "counts the same" in capsys.readouterr().out
    assert main(["cost", str(own("exchanged", ".hlo.pb")), "--xla", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["agree"]
    assert told["xla_counted"]["flops"] == told["xla"]["flops"]


def test_a_difference_to_xla_is_said(capsys, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("HloModule a\n\nENTRY %main (a: f32[4]) -> f32[4] {\n  %a = f32[4]{0} parameter(0)\n"
                    '  ROOT %r = f32[4]{0} custom-call(%a), custom_call_target="mine"\n}\n')  # fmt: skip
    assert main(["cost", str(path), "--xla"]) == 1
    assert "of library calls it says minus one" in capsys.readouterr().out
    path.write_text(
        "HloModule a\n\nENTRY %main (a: f32[4]) -> f32[4] {\n  ROOT %r = f32[4]{0} nothing(%a)\n}\n"
    )
    assert main(["cost", str(path), "--xla"]) == 3
