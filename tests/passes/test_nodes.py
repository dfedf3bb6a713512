"""Instructions as comparing sees them: the quick reader gives what the reader of all forms gives."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo_tui.hlo.instruction import parse_instruction
from hlo_tui.hlo.source import BytesSource
from hlo_tui.passes import matching
from hlo_tui.passes.blocks import Text
from hlo_tui.passes.compare import Comparison
from hlo_tui.passes.nodes import from_instruction, layout_text, read
from tests.passes.dumped import PASSES

ROWS = [
    "  ROOT %a.1 = f32[4,2]{1,0} dot(%x, %y), lhs_contracting_dims={1}, "
    'metadata={op_name="jit(f)/{x} \\"q\\"" stack_frame_id=7}',
    "  %w = (s32[], f32[4]{0:T(8)}) while(%t), condition=%c.1, body=%b.1, sharding={{replicated}, {devices=[2]<=[2]}}",
    '%c = f32[] custom-call(%a), custom_call_target="t", backend_config={"k": "v, w"}',
    "%k = f32[3]{0} constant({1, -inf, nan})",
    "  %p.3 = bf16[] parameter(2)",
    "a = f32[4] add(f32[4]{0} b, /*index=1*/ f32[4]{0} c), control-predecessors={b}",
    '%s = s32[] conditional(%i, %a, %b), branch_computations={%one, %two}, frontend_attributes={a="b",c={"d":1}}',
    '%m = f32[] add(%a, %b), metadata={op_name="x stack_frame_id=3}"}',
    "%m = f32[] add(%a, %b), garbage, dimensions={0}",
    "%i = s32[4]{0} iota(), iota_dimension=0",
    "  ROOT %t.2 = (s32[], /*index=1*/f32[4,2]{1,0}, pred[0]{0}) tuple(%a, /*index=1*/%b.1, c), sharding={replicated}",
    "%t = (f32[]) custom-call(%a)",
    "%t = () tuple()",
    "%t = (f32[04], (f32[2]{0}, s32[])) tuple(%a, %b)",
    "%t = (f32[2]{0}){0} tuple(%a)",
    "%t = (f32[2,]{0}) parameter(0/*index=5*/)",
]


@pytest.mark.parametrize("row", ROWS)
def test_the_quick_reader_agrees_with_the_full_one(row: str) -> None:
    instruction = parse_instruction(row)
    assert instruction is not None
    assert read(row.encode()) == from_instruction(instruction)


def test_it_agrees_on_every_line_of_real_dumps() -> None:
    rows = [row for path in PASSES.glob("*.txt") for row in path.read_text().splitlines() if " = " in row]
    assert len(rows) > 500
    for row in rows:
        instruction = parse_instruction(row)
        assert instruction is not None
        assert read(row.encode()) == from_instruction(instruction)


def test_what_the_value_depends_on_and_what_is_noted() -> None:
    found = read(ROWS[0].encode())
    assert found is not None
    assert (found.label, found.operands, found.frame) == (
        "dot f32[4,2]  lhs_contracting_dims={1}",
        ("x", "y"),
        7,
    )
    assert set(found.notes) == {"metadata"}
    loop = read(ROWS[1].encode())
    assert loop is not None
    assert (loop.called, loop.shape) == (("c.1", "b.1"), "(s32[], f32[4])")
    call = read(ROWS[2].encode())
    assert call is not None
    assert "backend_config" in call.attributes
    trap = read(ROWS[7].encode())
    assert trap is not None
    assert trap.frame == 0


def test_layouts_of_tuples() -> None:
    assert layout_text("(s32[], f32[4,2]{0,1:T(8)})") == "-, {0,1:T(8)}"
    assert layout_text("f32[4]") == ""


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=400))
def test_any_bytes_are_read_as_a_row_or_are_none(data: bytes) -> None:
    read(data)


PIECES = [
    b"HloModule m\n", b"ENTRY %e (p: f32[]) -> f32[] {\n", b"%f (p: f32[]) -> f32[] {\n", b"}\n",
    b"  %a = f32[] add(%b, %a)\n", b"  %b = f32[] parameter(0)\n", b"  ROOT %a = f32[] fusion(%a), calls=%f\n",
    b"  %c = f32[] call(%c), to_apply=%e\n", b"  %g = f32[] get-tuple-element(%a), index=9\n",
    b"  %p = f32[] parameter(77)\n", b"StackFrames\n1 {file_location_id=1 parent_frame_id=2}\n", b"\x00\xff\x1b[2J\n",
    b"  %t = (f32[]) tuple(%a)", b'  %s = f32[] add(%b, %b), metadata={op_name="', b"\n",
]  # fmt: skip


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30), st.lists(st.sampled_from(PIECES), max_size=30))
def test_any_two_texts_can_be_compared(a: list[bytes], b: list[bytes]) -> None:
    x, y = (Text(BytesSource(b"".join(pieces), "made")) for pieces in (a, b))
    found = Comparison(x, y).run()
    rows = [sum(len(block.rows) for block in text.blocks.values()) for text in (x, y)]
    assert len(found.removed) <= rows[0]
    assert len(found.added) <= rows[1]
    assert Comparison(x, x).run().equal


def chain(count: int, opcode: str) -> Text:
    rows = [b"  %p = f32[] parameter(0)\n", b"  %a.0 = f32[] " + opcode.encode() + b"(%p)\n"]
    rows += [b"  %%a.%d = f32[] negate(%%a.%d)\n" % (n, n - 1) for n in range(1, count)]
    head = b"HloModule m\n\nENTRY %e (p: f32[]) -> f32[] {\n"
    return Text(BytesSource(head + b"".join(rows) + b"}\n", "made"))


@pytest.mark.parametrize("same_names", [True, False])
def test_the_work_grows_with_the_length(monkeypatch: pytest.MonkeyPatch, same_names: bool) -> None:
    # The first of a long chain changed, so that everything after it computes something else.
    looks = [0]
    key = matching._where_from

    def counted(node):
        looks[0] += 1
        return key(node)

    monkeypatch.setattr(matching, "_where_from", counted)
    work = []
    for count in (300, 3000):
        looks[0] = 0
        a, b = chain(count, "exponential"), chain(count, "tanh")
        if not same_names:
            b = Text(BytesSource(b.data.replace(b"%a.", b"%other."), "made"))
        found = Comparison(a, b).run()
        assert [change.what for change in found.modified] == [("opcode",)]
        work.append(looks[0])
    assert work[1] <= 11 * work[0] + 100
