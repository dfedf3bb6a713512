from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.instruction import Instruction, parse_instruction


def read(text: str) -> Instruction:
    instruction = parse_instruction(text, "main", 7, 100)
    assert instruction is not None
    return instruction


def test_a_line_of_a_dump() -> None:
    text = (
        "  ROOT %multiply_add_fusion.9 = f32[4,64,192]{2,1,0} fusion(%p__layers____qkv__.1, /*index=1*/%b),"
        ' kind=kLoop, calls=%fused_computation.174, sharding={devices=[2,1]<=[2] metadata={op_name="s"}},'
        ' frontend_attributes={breakpoint="true"}, control-predecessors={%q.1, %r},'
        ' metadata={op_name="jit(train_step)/add" stack_frame_id=120},'
        ' backend_config={"outer_dimension_partitions":["2"]}'
    )
    instruction = read(text)
    assert (instruction.name, instruction.opcode, instruction.computation) == (
        "multiply_add_fusion.9",
        "fusion",
        "main",
    )
    assert instruction.shape.text == "f32[4,64,192]{2,1,0}"
    assert instruction.operands == ("p__layers____qkv__.1", "b")
    assert instruction.operand_text == "%p__layers____qkv__.1, /*index=1*/%b"
    assert list(instruction.attributes) == [
        "kind",
        "calls",
        "sharding",
        "frontend_attributes",
        "control-predecessors",
        "metadata",
        "backend_config",
    ]
    assert instruction.attributes["control-predecessors"] == "{%q.1, %r}"
    assert instruction.sharding == '{devices=[2,1]<=[2] metadata={op_name="s"}}'
    assert instruction.metadata == {"op_name": "jit(train_step)/add", "stack_frame_id": 120}
    assert (instruction.op_name, instruction.stack_frame_id) == ("jit(train_step)/add", 120)
    assert instruction.frontend_attributes == {"breakpoint": "true"}
    assert instruction.called == ("fused_computation.174",)
    assert instruction.is_root
    assert (instruction.line, instruction.start, instruction.end) == (7, 100, 100 + len(text))
    assert instruction.damaged == ""


@pytest.mark.parametrize(
    ("operands", "names"),
    [
        ("", ()),
        ("%a", ("a",)),
        ("a, b.1, c-d", ("a", "b.1", "c-d")),
        ("f32[2]{0} %a, (f32[2], s32[]) t, b(f32[4]{0}) %z", ("a", "t", "z")),
        ("/*index=0*/%a, /*index=5*/ %b", ("a", "b")),
        ("t#1#0, %u#2", ("t", "u")),
        ("f32[] multiply(a, f32[] add(b, c)), d", ("a", "b", "c", "d")),
        ("f32[] constant(1), p", ("p",)),
        ("a, null , b, ...(+7)", ("a", "b")),
        ("f32[256,64]{1,0:T(8,128)} %a, f32[] %nan, %inf", ("a", "nan", "inf")),
        ("a,\n   // why\n   b", ("a", "b")),
    ],
)
def test_operands(operands: str, names: tuple[str, ...]) -> None:
    instruction = read(f"x = f32[2] add({operands})")
    assert instruction.operands == names
    assert instruction.operand_text == operands


@pytest.mark.parametrize(
    ("text", "literal"),
    [
        ("p = f32[2]{0} parameter(3)", "3"),
        ("c = c128[2] constant({(0.2, -0.2), (1, 2)})", "{(0.2, -0.2), (1, 2)}"),
        ("c = f32[2,2] constant({\n  { 1, 2 },\n  { 3, 4 }\n})", "{\n  { 1, 2 },\n  { 3, 4 }\n}"),
        ("i = s32[4] iota(), iota_dimension=0", ""),
        ("c = f32[] constant(-nan)", "-nan"),
    ],
)
def test_what_has_no_operands(text: str, literal: str) -> None:
    instruction = read(text)
    assert (instruction.operands, instruction.operand_text) == ((), literal)
    assert not instruction.elided


def test_elided_constants_are_seen() -> None:
    assert read("c = f32[16]{0} constant({...})").elided
    assert not read("c = f32[16]{0} copy({...})").elided


@pytest.mark.parametrize(
    ("attributes", "called"),
    [
        ("condition=%c, body=%b", ("c", "b")),
        ("branch_computations={%x, %y.1}", ("x", "y.1")),
        ("true_computation=t, false_computation=f", ("t", "f")),
        ("calls={a, b}, to_apply=d", ("a", "b", "d")),
        ("called_computations={}", ()),
        ("calls={ ROOT n = f32[] negate(p) }", ()),
        ("select=ge, scatter=add", ("ge", "add")),
        ('custom_call_target="calls=x"', ()),
    ],
)
def test_called_computations(attributes: str, called: tuple[str, ...]) -> None:
    assert read(f"x = f32[] custom-call(a), {attributes}").called == called


@pytest.mark.parametrize(
    ("text", "opcode", "shape", "damaged"),
    [
        ("%x = add(f32[] %a, b)", "add", "", "no shape"),
        ("%x=f32[] add(a)", "add", "f32[]", ""),
        ("x = f32[] add(a", "add", "f32[]", "the operands are not closed"),
        ("x = f32[]", "", "f32[]", "no opcode"),
        ("x = ", "", "", "no shape, no opcode"),
        ("x = f32[] add(a), ..., b=1", "add", "f32[]", "not an attribute: ..."),
        ("x = b(f32[4]{0}) custom-call(a)", "custom-call", "b(f32[4]{0})", ""),
        ("x = f32[] /*c*/ add(a), b=1 // to the end, c=2", "add", "f32[]", ""),
    ],
)
def test_damage_is_named_and_the_rest_is_read(text: str, opcode: str, shape: str, damaged: str) -> None:
    instruction = read(text)
    assert (instruction.opcode, instruction.shape.text, instruction.damaged) == (opcode, shape, damaged)


@pytest.mark.parametrize(
    "text",
    ["", "}", "ENTRY main {", "dimensions={0}", "tuple(%a)", "a == b", "// x = f32[]", '1 "a"', "ROOT"],
)
def test_what_is_no_instruction(text: str) -> None:
    assert parse_instruction(text) is None


def test_attributes_of_next_year_are_kept() -> None:
    text = "x = f32[] new-op.2(a), replica_groups=mesh['x'=2]{'x'}, is_new=true, odd={a=[1,2],b=\"}\"}"
    assert read(text).attributes == {
        "replica_groups": "mesh['x'=2]{'x'}",
        "is_new": "true",
        "odd": '{a=[1,2],b="}"}',
    }


def test_instructions_can_be_kept_in_sets() -> None:
    one, two = read("x = f32[] add(a), b=1"), read("x = f32[] add(a), b=1")
    assert {one, two} == {one}


def test_nesting_deeper_than_any_compiler_makes_it() -> None:
    deep = read("x = f32[] " + "add(" * 50_000 + "a" + ")" * 50_000)
    assert deep.opcode == "add"


@given(st.text(alphabet="ab=,(){}[]\"'\\ \n/*%#<1f32.", max_size=80))
def test_no_text_is_an_error(text: str) -> None:
    parse_instruction(text)
    assert parse_instruction(f"x = {text}") is not None
    assert parse_instruction(f"x = f32[2]{{0}} add({text}") is not None
    assert parse_instruction(f"x = f32[2]{{0}} add(a), {text}") is not None
