"""The text of a stop says all of it, and every text is read or refused."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.errors import HloTuiError
from hlo_tui.replay.stopspec import StopSpec, parse_spec

# What the grammar itself is made of, among other letters.
PIECES = st.sampled_from(
    ["@ends", "@once", " if ", "nan", '"', "\\", ":", "/", "%", "!", "=", " ", ";", "op:", "tags", "é", "\n"]
)
TEXTS = st.lists(st.one_of(PIECES, st.text(max_size=3)), min_size=1, max_size=6).map("".join).filter(bool)
NAMES = st.from_regex(r"[a-z_][a-z0-9_.-]{0,8}", fullmatch=True) | st.sampled_from(["tags", "collectives"])
CONDITIONS = st.sampled_from(["", "nan", "abs>1e4 and iteration>=7", "not (inf or hits>=3)"])


def is_pattern(text: str) -> bool:
    try:
        re.compile(text)
    except re.error:
        return False
    return True


def kinds() -> st.SearchStrategy[StopSpec]:
    spec = StopSpec
    return st.one_of(
        st.sampled_from([spec("tags"), spec("collectives")]),
        st.builds(lambda name: spec("instruction", name), NAMES),
        st.builds(lambda name, around: spec("instruction", name, around), NAMES, NAMES),
        st.builds(lambda text: spec("opcode", text), TEXTS),
        st.builds(lambda text: spec("op_name", text), TEXTS.filter(is_pattern)),
        st.builds(lambda file, line: spec("source", file, line=line), TEXTS, st.integers(0, 10**6)),
        st.builds(
            lambda key, value: spec("tag", key, detail=value),
            TEXTS.map(lambda text: text.replace("=", "")).filter(bool),
            st.just("") | TEXTS,
        ),
        st.builds(
            lambda which, names: spec("first", which, detail=names),
            st.sampled_from(["nan", "inf", "nonfinite"]),
            st.just("") | TEXTS.filter(is_pattern),
        ),
    )


@given(kinds(), CONDITIONS, st.booleans(), st.booleans())
def test_a_stop_is_what_its_text_says(spec: StopSpec, condition: str, once: bool, ends: bool) -> None:
    whole = replace(spec, condition=condition, once=once, ends=ends and spec.has_blocks)
    assert parse_spec(whole.text()) == whole


@given(TEXTS)
def test_any_text_is_a_stop_or_refused(text: str) -> None:
    try:
        spec = parse_spec(text)
    except HloTuiError:
        return
    assert parse_spec(spec.text()) == spec


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("op:dot@once", StopSpec("opcode", "dot", once=True)),
        ("tags@ends", StopSpec("tags", ends=True)),
        (" tag:breakpoint=mlp@ends@once if max>3 ",
         StopSpec("tag", "breakpoint", detail="mlp", condition="max>3", ends=True, once=True)),
        ("name:a@once@ends", StopSpec("op_name", "a", once=True, ends=True)),
        ("%mul.3@once if nan", StopSpec("instruction", "mul.3", condition="nan", once=True)),
        ("tag:to=me@home", StopSpec("tag", "to", detail="me@home")),
        ('"tag:say=go if @once"@once if nan',
         StopSpec("tag", "say", detail="go if @once", condition="nan", once=True)),
    ],
)  # fmt: skip
def test_what_stands_behind_a_stop(text: str, spec: StopSpec) -> None:
    assert parse_spec(text) == spec


@pytest.mark.parametrize(
    "text", ["mul.3@ends", "first:nan@ends", "tags@end", "@once", '"op:dot"x', '"op:dot']
)
def test_what_has_no_blocks_has_no_ends(text: str) -> None:
    with pytest.raises(HloTuiError, match="no stop"):
        parse_spec(text)
