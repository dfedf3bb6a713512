from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo import body as body_module
from hlo_tui.hlo import module as module_module
from hlo_tui.hlo.instruction import Instruction
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource, SpanSource
from tests.hlo_text.samples import HAND_WRITTEN, STEP, module_of


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n")


def names(instructions: tuple[Instruction, ...]) -> list[str]:
    return [instruction.name for instruction in instructions]


def found(module: Module, name: str, computation: str | None = None) -> Instruction:
    instruction = module.find(name, computation)
    assert instruction is not None
    return instruction


def test_names_and_texts() -> None:
    module = module_of(STEP, "step.txt")
    assert (module.name, module.format) == ("jit_step", "text")
    assert module.text(2) == "FileNames"
    assert module.raw(2) == b"FileNames"
    assert module.raw(2, 4) == b"Names"
    assert module.raw(2, 4, 3) == b"Nam"
    assert module.raw(2, 50) == b""
    assert module.raw(-1) == module.raw(10**6) == b""
    assert module_of("f {\n}\n", "file.txt").name == "file.txt"


def test_what_is_shown_is_safe_and_what_is_copied_is_the_file() -> None:
    module = module_of(b'ENTRY e {\n\t%a = f32[] parameter(0), x="\x1b[2J\xff"\r\n}\n')
    assert module.text(1) == ' %a = f32[] parameter(0), x="\u241b[2J\ufffd"'
    assert module.raw(1) == b'\t%a = f32[] parameter(0), x="\x1b[2J\xff"\r'


def test_the_head_needs_no_scan() -> None:
    module = Module(BytesSource(STEP.encode(), "step"))
    assert module.head(3) == [STEP.split("\n")[0], "", "FileNames"]
    assert module.head(0) == []
    assert Module(BytesSource(b"x" * 10**6 + b"\nnext", "long")).head(5) == ["x" * 4096]
    assert module.outline is None
    with pytest.raises(RuntimeError):
        module.text(0)


def test_bodies() -> None:
    module = module_of(STEP)
    body = module.body("body")
    assert names(body.instructions) == ["p", "i", "x", "one", "next", "y", "tuple"]
    assert len(body) == 7
    assert module.body("body") is body
    assert body.by_name["y"].called == ("fused_computation",)
    assert "z" not in body.by_name
    assert list(body.by_name) == names(body.instructions)
    assert len(body.by_name) == 7
    assert names(body.users("x")) == ["y"]
    assert names(body.users("p")) == ["i", "x"]
    assert body.users("tuple") == ()
    with pytest.raises(KeyError):
        module.body("nothing")


def test_instructions_know_their_bytes() -> None:
    for text in (STEP, HAND_WRITTEN):
        module = module_of(text)
        assert module.outline is not None
        for computation in module.outline.computations:
            for instruction in module.body(computation).instructions:
                data = module.source.read(instruction.start, instruction.end - instruction.start).decode()
                assert data.removeprefix("ROOT ").lstrip("%").startswith(f"{instruction.name} = ")
                assert data == data.strip()
                assert module.instruction_at(instruction.line) == instruction


def test_what_people_write_is_whole() -> None:
    module = module_of(HAND_WRITTEN)
    main = module.body("main")
    assert names(main.instructions) == ["p", "zero", "table", "inner", "red", "custom", "t"]
    assert main.by_name["table"].operand_text == "{\n    { 1, 2 },\n    { 3, 4 }\n  }"
    assert main.by_name["inner"].called == ("_",)
    assert main.by_name["red"].called == ("add",)
    assert main.by_name["custom"].attributes["backend_config"].endswith('"list": [1, 2]\n  }')
    root = main.by_name["t"]
    assert (root.opcode, root.operands, root.is_root) == ("tuple", ("red", "custom"), True)
    assert root.shape.without_layout() == "(f32[8], f32[8])"
    assert all(not instruction.damaged for instruction in main.instructions)
    assert names(module.body("_").instructions) == ["q", "neg"]
    assert names(module.callers("_")) == ["inner"]
    inside = module.instruction_at(line_of(HAND_WRITTEN, '"key"'))
    assert inside is not None
    assert inside.name == "custom"
    assert found(module, "neg").computation == "_"


def test_which_instruction_a_line_belongs_to() -> None:
    module = module_of(HAND_WRITTEN)

    def name_at(part: str) -> str | None:
        instruction = module.instruction_at(line_of(HAND_WRITTEN, part))
        return instruction.name if instruction else None

    assert name_at("{ 3, 4 }") == "table"
    assert name_at("to_apply=add") == "red"
    assert name_at("/*index=1*/custom") == "t"
    assert name_at("q = f32") == "q"
    assert name_at("// RUN") is None
    assert name_at("ENTRY main") is None


def test_several_instructions_on_a_line() -> None:
    module = module_of(
        "f { a = f32[] parameter(0) ROOT b = f32[] negate(a) } g { c = f32[] call(), to_apply=f }"
    )
    assert names(module.body("f").instructions) == ["a", "b"]
    assert found(module, "b").is_root
    assert found(module, "c").computation == "g"
    assert names(module.callers("f")) == ["c"]
    assert names(module.users(found(module, "a"))) == ["b"]


def test_every_tag_on_a_line_is_found() -> None:
    tag = 'frontend_attributes={{breakpoint="{}"}}'
    text = (
        "f { a = f32[] abs(p), "
        + tag.format(1)
        + " b = f32[] fusion(a), kind=kLoop, calls={ q = f32[] parameter(0), "
        + tag.format(2)
        + " }, "
        + tag.format(3)
        + " c = f32[] negate(b)\n}\ng { d = f32[] abs(p), "
        + tag.format(4)
        + " } h { e = f32[] abs(p), "
        + tag.format(5)
        + " }\n"
    )
    module = module_of(text)
    tags = [(tag.instruction, tag.computation, tag.value) for tag in module.tags()]
    assert sorted(tags) == [
        ("a", "f", "1"),
        ("b", "f", "3"),
        ("d", "g", "4"),
        ("e", "h", "5"),
        ("q", "_", "2"),
    ]
    assert [tag[0] for tag in tags] == ["a", "b", "q", "d", "e"]


def test_of_bodies_written_on_one_line_each_has_its_caller() -> None:
    call = "{0} = f32[] fusion(p), kind=kLoop, calls={{ q{0} = f32[] parameter(0) }} "
    module = module_of(f"f {{ {call.format('a')} {call.format('b')} }}")
    assert [instruction.called for instruction in module.body("f").instructions] == [("_",), ("_.1",)]
    assert names(module.callers("_.1")) == ["b"]


def test_edges() -> None:
    module = module_of(STEP)
    y = found(module, "y")
    assert names(module.users(y)) == ["tuple"]
    assert names(module.operands(y)) == ["x"]
    assert names(module.operands(found(module, "p", "body"))) == []
    assert names(module.callers("body")) == ["while.6"]
    assert names(module.callers("fused_computation")) == ["y"]
    assert module.callers("main.9") == ()
    assert module.callers("nothing") == ()


def test_a_name_that_others_end_with_is_found_too() -> None:
    module = module_of(
        'ENTRY e {\n  %data = f32[] parameter(0), metadata={op_name="a =b"}\n  a-a = f32[] negate(%data)\n'
        "  a = f32[] negate(%a-a), metadata={}\n  ROOT %b.a = f32[] add(a, %data)\n}\n"
    )
    assert found(module, "a").line == 3
    assert found(module, "data").line == 1
    assert module.find("metadata") is None
    assert names(module.users(found(module, "a"))) == ["b.a"]


def test_names_are_looked_up_near_first() -> None:
    text = "f {\n  p = f32[] parameter(0)\n}\ng {\n  p = f32[] parameter(0)\n  q = f32[] call(p)\n}\n"
    module = module_of(text)
    assert module.definition_line("p", 5) == 4
    assert module.definition_line("p", 1) == 1
    assert module.definition_line("f", 5) == 0
    assert module.definition_line("q", 1) == 5
    assert module.definition_line("nothing", 1) is None
    assert module.find("arameter") is None
    assert found(module, "p").computation == "f"
    assert found(module, "p", "g").line == 4
    assert module.find("q", "f") is None
    assert module.find("q", "nothing") is None


@pytest.mark.parametrize("block", [1, 30, 1 << 18])
def test_searching(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_module, "_BLOCK", block)
    module = module_of(STEP)
    lines = STEP.splitlines()
    hits = [number for number, line in enumerate(lines) if "get-tuple-element(" in line]
    at: int | None = -1
    seen = []
    while (at := module.search(b"get-tuple-element(", at + 1)) is not None:
        seen.append(at)
    assert seen == hits
    at, seen = len(lines), []
    while (at := module.search(b"get-tuple-element(", at - 1, forward=False)) is not None:
        seen.append(at)
    assert seen == hits[::-1]
    assert module.search(re.compile(rb"^ENTRY .*\{$")) == line_of(STEP, "ENTRY ")
    assert module.search(re.compile(rb"entry", re.IGNORECASE), 1) == line_of(STEP, "ENTRY ")
    assert module.search(b"nothing") is None
    assert module.search(b"get", 10**6) is None
    assert module.search(b"get", -5, forward=False) is None
    assert module.search(b"get", stop=lambda: True) is None


def test_a_big_plain_body_needs_no_scan_of_its_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = module_of(STEP)
    monkeypatch.setattr(body_module, "_HAND_WRITTEN", 0)
    module = module_of(STEP)
    assert module.outline is not None
    for computation in module.outline.computations:
        body = module.body(computation)
        assert body.instructions == expected.body(computation.name).instructions
        for instruction in body.instructions:
            assert body.users(instruction.name) == expected.body(computation.name).users(instruction.name)
            assert body.at_line(instruction.line) == instruction
        assert body.at_line(computation.line) is None


def test_bodies_are_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module_module, "_KEPT_BYTES", 1)
    module = module_of(STEP)
    first = module.body("body")
    module.body("condition")
    assert module.body("body") is not first
    assert len(module._bodies) == 1


def test_a_module_inside_of_a_log() -> None:
    log = b"before\n" + STEP.encode() + b"after {\n}\n"
    module = Module(SpanSource(BytesSource(log, "log"), 7, 7 + len(STEP), "jit_step.txt"))
    module.scan()
    assert module.outline is not None
    assert module.outline.instructions == 19
    assert names(module.users(found(module, "y"))) == ["tuple"]


@given(st.integers(0, len(STEP)), st.sampled_from([STEP, HAND_WRITTEN]))
def test_a_file_cut_anywhere_gives_what_is_there(length: int, text: str) -> None:
    module = module_of(text[:length])
    assert module.outline is not None
    whole = module_of(text)
    assert whole.outline is not None
    for computation in module.outline.computations:
        instructions = module.body(computation).instructions
        assert len(instructions) == computation.instructions
        if not computation.name:
            continue
        complete = whole.outline.computations[computation.index]
        if complete.line == computation.line and not computation.name.startswith("_"):
            there = whole.body(complete).instructions
            sure = max(0, len(instructions) - 1)
            assert names(instructions[:sure]) == names(there[:sure])
            assert [i.operands for i in instructions[:sure]] == [i.operands for i in there[:sure]]
