"""Op_names as paths of scopes, and sums over them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.frames import SourceFrame
from hlo_tui.hlo.scopes import WITHOUT, own_frame, scopes, summed, walk


@pytest.mark.parametrize(
    ("op_name", "parts"),
    [
        ("jit(f)/while/body/mul", ("jit(f)", "while", "body", "mul")),
        ("jit(f)/dot_general[a=(1/2) b=x/y]/z", ("jit(f)", "dot_general[a=(1/2) b=x/y]", "z")),
        ("jit(a/b)/c", ("jit(a/b)", "c")),
        ("p['layers']['w1']", ("p['layers']['w1']",)),
        ("//a//", ("a",)),
        ("a)/b", ("a)", "b")),
        ("", ()),
    ],
)
def test_an_op_name_is_split_outside_of_brackets(op_name, parts):
    assert scopes(op_name) == parts


@given(st.text("ab/()[]", max_size=300))
def test_any_op_name_is_split(op_name):
    assert all(scopes(op_name))


def test_sums_and_what_is_told_of_them():
    root = summed([("a/b/c", 5), ("a/b/d", 3), ("a/e", 1), ("", 2)])
    assert (root.total, root.count) == (11, 4)
    assert [(depth, name, scope.total) for depth, name, scope in walk(root, 1)] == [
        (0, "a", 9), (1, "b", 8), (2, "c", 5), (2, "d", 3), (1, "e", 1), (0, WITHOUT, 2),
    ]  # fmt: skip
    assert [(depth, name) for depth, name, _ in walk(root, 2)] == [
        (0, "a/b"),
        (1, "c"),
        (1, "d"),
        (0, WITHOUT),
    ]


def test_the_person_s_own_line_is_preferred():
    library = SourceFrame("/usr/lib/python3.9/contextlib.py", 79)
    own = SourceFrame("/home/u/model.py", 3)
    assert own_frame((library, own)) == own
    assert own_frame((library,)) == library
    assert own_frame(()) is None
