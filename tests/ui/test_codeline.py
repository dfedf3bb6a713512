"""Lines of code as they are shown: what is folded, what stays, and the names on them."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.tokens import Role
from hlo_tui.theme.roles import ROLES
from hlo_tui.ui.codeline import code_line, header_line

DOT = (
    "  %dot.9 = f32[4,1024]{1,0:T(8,128)} dot(%gte.4, /*index=1*/f32[1024,1024]{1,0} %w), "
    "lhs_contracting_dims={1}, rhs_contracting_dims={0}, "
    'frontend_attributes={breakpoint="true",note="a \\"{x}\\""}, '
    'metadata={op_name="jit(f)/dot" stack_frame_id=7}, backend_config={"a":{"b":[1]}}'
)


def text(line) -> str:
    return "".join(span.text for span in line.spans)


def test_every_role_of_a_token_can_be_styled():
    assert {role.name.lower() for role in Role} <= set(ROLES)


def test_a_folded_line_leaves_out_what_is_seldom_read():
    line = code_line(DOT, folded=True)
    assert text(line) == (
        "  %dot.9 = f32[4,1024]{1,0:T(8,128)} dot(%gte.4, f32[1024,1024]{1,0} %w), lhs_contracting_dims={1}, "
        'rhs_contracting_dims={0}, {breakpoint="true",note="a \\"{x}\\""}, backend_config={…}'
    )
    assert line.frame == 7


def test_where_it_is_tight_layouts_and_tags_go_too():
    assert text(code_line(DOT, folded=True, tight=True)) == (
        "  %dot.9 = f32[4,1024] dot(%gte.4, f32[1024,1024] %w), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}, backend_config={…}"
    )


def test_a_line_in_full_is_the_line():
    assert text(code_line(DOT, folded=False)) == DOT


def test_names_are_where_they_stand():
    line = code_line(DOT, folded=True)
    shown = text(line)
    assert [name.name for name in line.names] == ["dot.9", "gte.4", "w"]
    for name in line.names:
        assert shown[name.start : name.end] == f"%{name.name}"


def test_called_computations_can_be_gone_to():
    line = code_line("  ROOT %w.1 = (s32[]) while(%t), condition=%c.1, body=%b.2", folded=True)
    assert [name.name for name in line.names] == ["w.1", "t", "c.1", "b.2"]
    line = code_line("  %c = f32[] conditional(%p, %a, %b), branch_computations={%x.1, %y.2}", folded=True)
    assert [name.name for name in line.names] == ["c", "p", "a", "b", "x.1", "y.2"]


def test_a_long_tuple_type_is_cut_and_a_short_one_is_not():
    types = ", ".join(f"f32[{n},128]{{1,0}}" for n in range(20))
    shown = text(code_line(f"  %t = ({types}) tuple(%a, %b)", folded=True))
    assert re.fullmatch(r"  %t = \(f32\[0,128\].*, …\) tuple\(%a, %b\)", shown)
    assert len(shown) < 90
    short = "  %t = (f32[2]{0}, s32[]) tuple(%a, %b)"
    assert text(code_line(short, folded=True)) == short


def test_inline_places_are_given():
    line = code_line(
        '  %a = f32[] add(%b, %c), metadata={op_name="x" source_file="/home/me/model.py" source_line=88}',
        True,
    )
    assert line.place == "model.py:88"
    assert text(line) == "  %a = f32[] add(%b, %c)"


def test_a_header_says_how_much_is_not_shown():
    header = (
        "HloModule jit_f, is_scheduled=true, entry_computation_layout={("
        + "f32[4]{0}, " * 40
        + "f32[])->f32[]}"
    )
    line = header_line(header)
    hidden = re.search(r"… ([\d,]+) more characters$", text(line))
    assert text(line).startswith("HloModule jit_f, is_scheduled=true")
    assert len(text(line)) < 140
    assert int(hidden[1].replace(",", "")) > 300


@given(st.text(max_size=200), st.booleans(), st.booleans())
def test_any_text_is_shown_somehow(data, folded, tight):
    line = code_line(data, folded, tight)
    assert line.width == len(text(line))
    if not folded:
        assert text(line) == data
    for name in line.names:
        assert text(line)[name.start : name.end].lstrip("%") == name.name
