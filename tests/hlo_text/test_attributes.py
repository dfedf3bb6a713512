from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.attributes import (
    balanced_end,
    parse_frontend_attributes,
    parse_metadata,
    split_top,
    unescape,
    unquote,
    without_comments,
)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("a", ["a"]),
        ("a, b,", ["a", " b", ""]),
        ("f(a, b), {c, [d, e]}", ["f(a, b)", " {c, [d, e]}"]),
        ('k="a, \\"b, {", l=1', ['k="a, \\"b, {"', " l=1"]),
        ("mesh['x'=2,'y,{'=4], z", ["mesh['x'=2,'y,{'=4]", " z"]),
        ("don't, stop", ["don't", " stop"]),
        ("/*index=5, */%a, // b, c\nd", ["/*index=5, */%a", " // b, c\nd"]),
        ("a), b", ["a)", " b"]),
        ('"never closed, b', ['"never closed, b']),
        ("(never, closed", ["(never, closed"]),
    ],
)
def test_splitting_outside_of_brackets_strings_and_comments(text: str, parts: list[str]) -> None:
    assert split_top(text) == parts


def test_splitting_at_something_else() -> None:
    assert split_top('op_name="a b" source_line=3', " ") == ['op_name="a b"', "source_line=3"]


@given(st.text(alphabet="ab,(){}[]\"'\\/* \n", max_size=60), st.sampled_from(", ="))
def test_the_parts_joined_are_the_text(text: str, separator: str) -> None:
    assert separator.join(split_top(text, separator)) == text


def test_the_end_of_brackets() -> None:
    text = 'f(a, {"}"}, /* ) */ b) rest'
    assert text[1 : balanced_end(text, 1)] == 'f(a, {"}"}, /* ) */ b)'[1:]
    assert balanced_end("(a", 0) == -1
    assert balanced_end("(a] b)", 0) == 3


def test_comments_are_dropped_but_not_from_strings() -> None:
    assert without_comments('a/*b*/c "//d" // e\nf') == 'ac "//d" \nf'
    assert without_comments("a /* b") == "a "


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        (r"jit(f)/\"x\" \\slash", 'jit(f)/"x" \\slash'),
        (r"\317\200 \xcf\x80 \316\273", "π π λ"),
        (r"a\nb\tc\'d", "a\nb\tc'd"),
        (r"\0\1z", "\0\1z"),
        (r"\377", "\ufffd"),
        ("ends in \\", "ends in \\"),
        ("名前", "名前"),
    ],
)
def test_c_escapes(text: str, plain: str) -> None:
    assert unescape(text) == plain


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
def test_escaping_and_unescaping_are_inverse(text: str) -> None:
    escaped = "".join(f"\\{byte:03o}" for byte in text.encode())
    assert unescape(escaped) == text


def test_quotes() -> None:
    assert unquote('"a\\"b"') == 'a"b'
    assert unquote("'x'") == "x"
    assert unquote("kLoop") == "kLoop"
    assert unquote('"cut') == "cut"
    assert unquote('"') == ""


def test_frontend_attributes() -> None:
    assert parse_frontend_attributes('{breakpoint="true"}') == {"breakpoint": "true"}
    text = (
        r'{xla.sdy.sharding="#sdy.sharding<@mesh, [{}, {\"data\"}]>",raw={"a":[1,{"b":"},"}]},'
        r'MUST_FUSE="x=1, y",_xla_log="1"}'
    )
    assert parse_frontend_attributes(text) == {
        "xla.sdy.sharding": '#sdy.sharding<@mesh, [{}, {"data"}]>',
        "raw": '{"a":[1,{"b":"},"}]}',
        "MUST_FUSE": "x=1, y",
        "_xla_log": "1",
    }
    assert parse_frontend_attributes("{}") == {}
    mesh = '{xla.sdy.meshes={mesh = #sdy.mesh<["data"=4, "model"=2]>}}'
    assert parse_frontend_attributes(mesh) == {"xla.sdy.meshes": '{mesh = #sdy.mesh<["data"=4, "model"=2]>}'}


def test_metadata() -> None:
    text = (
        r'{op_type="dot" op_name="jit(f)/<tags> {braces}, \\slash" profile_type={1,2} '
        r'source_file="a \"b\".py" source_line=12 stack_frame_id=5 scheduling_name="foo"}'
    )
    assert parse_metadata(text) == {
        "op_type": "dot",
        "op_name": "jit(f)/<tags> {braces}, \\slash",
        "profile_type": "{1,2}",
        "source_file": 'a "b".py',
        "source_line": 12,
        "stack_frame_id": 5,
        "scheduling_name": "foo",
    }
    assert parse_metadata('{op_name="cut off') == {"op_name": "cut off"}
    assert parse_metadata("{source_line=" + "9" * 5000 + "}") == {"source_line": "9" * 5000}


@given(st.text(alphabet="ab=,{}\"'\\ \n/*1", max_size=60))
def test_no_text_is_an_error(text: str) -> None:
    parse_frontend_attributes(text)
    parse_metadata(text)
    unescape(text)
    without_comments(text)
    balanced_end(text, 0)
