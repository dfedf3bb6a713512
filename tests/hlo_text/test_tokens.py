from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.tokens import START, Role, State, Token, tokenize, window
from tests.hlo_text.samples import HAND_WRITTEN, STEP


def pieces(text: str, state: State = START) -> list[tuple[str, str]]:
    """Role and text of each token that is not blank or punctuation."""
    quiet = (Role.TEXT, Role.PUNCTUATION)
    return [
        (token.role.name, text[token.start : token.end])
        for token in tokenize(text, state)[0]
        if token.role not in quiet
    ]


def covers(tokens: list[Token], text: str) -> bool:
    ends = [token.end for token in tokens]
    starts = [token.start for token in tokens]
    return starts == [0, *ends[:-1]][: len(starts)] and (ends[-1:] or [0]) == [len(text)]


def test_an_instruction() -> None:
    text = (
        "  ROOT %mul.3 = f32[4,1024]{1,0:T(8,128)S(1)} multiply(f32[2]{0} %dot.9, tanh.2#1#0), "
        'direction=GE, dimensions={0,-1}, is_host=true, calls=%f, branch_computations={%a, b}, target="x\\"y"'
    )
    assert pieces(text) == [
        ("KEYWORD", "ROOT"),
        ("DEFINITION", "%mul.3"),
        ("SHAPE", "f32[4,1024]"),
        ("LAYOUT", "{1,0:T(8,128)S(1)}"),
        ("OPCODE", "multiply"),
        ("SHAPE", "f32[2]"),
        ("LAYOUT", "{0}"),
        ("NAME", "%dot.9"),
        ("NAME", "tanh.2#1#0"),
        ("ATTRIBUTE", "direction"),
        ("VALUE", "GE"),
        ("ATTRIBUTE", "dimensions"),
        ("NUMBER", "0,-1"),
        ("ATTRIBUTE", "is_host"),
        ("KEYWORD", "true"),
        ("ATTRIBUTE", "calls"),
        ("COMPUTATION", "%f"),
        ("ATTRIBUTE", "branch_computations"),
        ("COMPUTATION", "%a"),
        ("COMPUTATION", "b"),
        ("ATTRIBUTE", "target"),
        ("STRING", '"x\\"y"'),
    ]


def test_the_attributes_that_are_read_as_one() -> None:
    text = (
        'x = f32[] add(a), sharding={devices=[2,1]<=[2] metadata={op_name="}"}}, '
        'frontend_attributes={breakpoint="tr\\"}",b={"a":1}}, '
        'metadata={op_type="q" op_name="jit(f)/a}b" source_line=3}, backend_config={"a":"}"}, k=1'
    )
    assert pieces(text)[4:] == [
        ("ATTRIBUTE", "sharding"),
        ("SHARDING", 'devices=[2,1]<=[2] metadata={op_name="}"}'),
        ("ATTRIBUTE", "frontend_attributes"),
        ("TAG", 'breakpoint="tr\\"}",b={"a":1}'),
        ("ATTRIBUTE", "metadata"),
        ("METADATA", 'op_type="q" op_name='),
        ("OP_NAME", '"jit(f)/a}b"'),
        ("METADATA", " source_line=3"),
        ("ATTRIBUTE", "backend_config"),
        ("CONFIG", '"a":"}"'),
        ("ATTRIBUTE", "k"),
        ("NUMBER", "1"),
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ENTRY %main.3 (p: f32[2]) -> f32[] {", ["KEYWORD", "COMPUTATION", "NAME", "SHAPE", "SHAPE"]),
        ("%f (p: s4[]) -> s4[] {", ["COMPUTATION", "NAME", "SHAPE", "SHAPE"]),
        ("region_0 {", ["COMPUTATION"]),
        ("   tuple(%a, b),", ["OPCODE", "NAME", "NAME"]),
        ("add = f32[] add(add)", ["DEFINITION", "SHAPE", "OPCODE", "NAME"]),
        ("HloModule jit_f, is_scheduled=true", ["KEYWORD", "COMPUTATION", "ATTRIBUTE", "KEYWORD"]),
        ("StackFrames", ["KEYWORD"]),
        ('1 "a.py"', ["NUMBER", "STRING"]),
        ("c = s4[] constant({1, -2e-3, -inf}) // x", ["DEFINITION", "SHAPE", "OPCODE", "NUMBER", "COMMENT"]),
        ("c = f32[] constant({...})", ["DEFINITION", "SHAPE", "OPCODE"]),
        ("/*index=5*/%a, /* b */ c", ["COMMENT", "NAME", "COMMENT", "NAME"]),
        ("dim_labels=b01f_01io->b01f", ["ATTRIBUTE", "VALUE", "NAME"]),
        ("é \x1b \0", ["UNKNOWN"]),
    ],
)  # fmt: skip
def test_lines(text: str, expected: list[str]) -> None:
    assert [role for role, _ in pieces(text)] == expected


def test_what_is_open_goes_on_in_the_next_line() -> None:
    _, state = tokenize("x = f32[] add(a), /* why")
    assert state.role == Role.COMMENT
    assert pieces(" so */ %b", state) == [("COMMENT", " so */"), ("NAME", "%b")]
    _, state = tokenize('x = f32[] add(a), metadata={op_name="a')
    assert (state.role, state.region, state.depth) == (Role.OP_NAME, Role.METADATA, 1)
    assert pieces('b" source_line=3}, k=1', state)[:2] == [("OP_NAME", 'b"'), ("METADATA", " source_line=3")]
    _, state = tokenize('x = f32[] custom-call(a), backend_config={"a":{')
    assert (state.region, state.depth) == (Role.CONFIG, 2)
    tokens, state = tokenize('"b"}}, k=1', state)
    assert tokens[0] == Token(0, 4, Role.CONFIG)
    assert state == START


def test_an_instruction_ends_what_was_left_open() -> None:
    _, state = tokenize('x = f32[] add(a), metadata={op_name="cut')
    assert pieces("  %y = f32[] add(b)", state)[0] == ("DEFINITION", "%y")


@given(st.text(max_size=60), st.text(max_size=60))
def test_every_character_is_in_one_token(text: str, more: str) -> None:
    tokens, state = tokenize(text)
    assert covers(tokens, text)
    assert covers(tokenize(more, state)[0], more)


@given(st.text(alphabet="ab1%={}()[]\"'\\/*,. \n\t#-<>:", max_size=120), st.data())
def test_every_character_is_in_one_token_whatever_is_open(text: str, data: st.DataObject) -> None:
    regions = (Role.TEXT, Role.METADATA, Role.TAG, Role.SHARDING, Role.CONFIG)
    region = data.draw(st.sampled_from(regions))
    role = data.draw(
        st.sampled_from((Role.TEXT, Role.OP_NAME, region) if region else (Role.STRING, Role.COMMENT))
    )
    state = State(role, region, data.draw(st.integers(1, 3)) if region else 0, data.draw(st.booleans()))
    assert covers(tokenize(text, state)[0], text)


@given(st.lists(st.sampled_from(STEP.splitlines() + HAND_WRITTEN.splitlines()), max_size=8))
def test_lines_one_by_one_and_together_are_the_same(lines: list[str]) -> None:
    text = "\n".join(lines)
    state, offset, roles = START, 0, []
    for line in lines:
        tokens, state = tokenize(line, state)
        for token in tokens:
            roles += [token.role] * (token.end - token.start)
        offset += len(line) + 1
        roles.append(Role.TEXT)
    together = [token.role for token in tokenize(text)[0] for _ in range(token.end - token.start)]
    assert [role for role, c in zip(together, text, strict=True) if not c.isspace()] == [
        role for role, c in zip(roles, text, strict=False) if not c.isspace()
    ]


@pytest.mark.parametrize(
    "piece", ['"', "'", "/*", "a(", "{", "a[1", "[1", "\\", "calls={", "metadata={", "x=", "-"]
)
def test_tokens_grow_with_the_text_and_no_faster(piece: str) -> None:
    few, many = (len(tokenize(piece * count)[0]) for count in (500, 5000))
    assert many <= 10 * few + 10


class Reader:
    """A line of a file, and how much of it was read."""

    def __init__(self, line: str) -> None:
        self.data = b"before\n" + line.encode() + b"\nafter"
        self.span = (7, 7 + len(line.encode()))
        self.bytes = 0

    def __call__(self, offset: int, length: int) -> bytes:
        data = self.data[offset : offset + length]
        self.bytes += len(data)
        return data


LONG_LINES = {
    "constant": "  %c = f32[500000]{0} constant({"
    + ", ".join(["1.25", "-3e-7"] * 100_000)
    + "}), metadata={a=1}",
    "tuple": "  ROOT %t = (f32[]) tuple(" + ", ".join(f"/*index={n}*/%a.{n}" for n in range(60_000)) + ")",
    "base64": '  %x = f32[] custom-call(%a), custom_call_target="t", opaque="'
    + "QUJDREVG" * 100_000
    + '", k=1',
    "json": '  %x = f32[] custom-call(%a), opaque="' + '{\\"k\\": [1, 2]}, ' * 40_000 + '", k=1',
}


@pytest.mark.parametrize("kind", LONG_LINES)
def test_a_window_of_a_long_line_is_what_the_whole_line_says(kind: str) -> None:
    line = LONG_LINES[kind]
    roles = [token.role for token in tokenize(line)[0] for _ in range(token.end - token.start)]
    for column in (0, 1000, 20_000, 300_001, len(line) - 150, len(line) - 10):
        reader = Reader(line)
        text, tokens = window(reader, reader.span, column, 200)
        assert text == line[column : column + 200]
        assert covers(tokens, text)
        assert reader.bytes <= 65536
        seen = [token.role for token in tokens for _ in range(token.end - token.start)]
        expected = roles[column : column + 200]
        # A token that the border cuts in two may be taken for another one.
        same = sum(role == right for role, right in zip(seen, expected, strict=True))
        assert same >= len(expected) - 12


@given(st.text(max_size=50), st.integers(-5, 60), st.integers(-5, 100_000))
def test_a_window_of_any_line(line: str, column: int, width: int) -> None:
    line = line.replace("\n", "")
    reader = Reader(line)
    text, tokens = window(reader, reader.span, column, width)
    assert covers(tokens, text)
    at = max(0, min(column, len(line.encode())))
    assert text == line.encode()[at : at + max(0, width)].decode("utf-8", "replace")
