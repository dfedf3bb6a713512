from __future__ import annotations

import json

from hlo_tui.hlo.module import Module
from hlo_tui.hlo.report import instruction_report, instruction_text, module_report, module_text
from tests.hlo_text.samples import HAND_WRITTEN, STEP, module_of


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n") + 1


def report_of(module: Module, name: str) -> dict[str, object]:
    instruction = module.find(name)
    assert instruction is not None
    return instruction_report(module, instruction)


def text_of(module: Module, name: str) -> str:
    instruction = module.find(name)
    assert instruction is not None
    return instruction_text(module, instruction)


def test_a_module_as_data() -> None:
    report = module_report(module_of(STEP))
    assert report["module"] == "jit_step"
    assert report["format"] == "text"
    assert report["scheduled"] is True
    assert report["num_partitions"] == 8
    assert report["entry"] == "main.9"
    assert report["instructions"] == 19
    assert report["tags"] == 3
    assert report["elided_constants"] == 1
    assert report["computations"] == [
        {"name": name, "kind": kind, "instructions": count, "line": line_of(STEP, start)}
        for name, kind, count, start in (
            ("fused_computation", "fusion", 2, "%fused_computation ("),
            ("body", "while body", 7, "%body ("),
            ("condition", "while condition", 4, "%condition ("),
            ("main.9", "entry", 6, "ENTRY"),
        )
    ]
    json.dumps(report)


def test_an_instruction_as_data() -> None:
    report = report_of(module_of(STEP), "y")
    expected = {
        "name": "y",
        "computation": "body",
        "opcode": "fusion",
        "shape": "f32[4]{0}",
        "operands": ["x"],
        "users": ["tuple"],
        "called": ["fused_computation"],
        "metadata": {"op_name": "jit(step)/while/body/tanh", "stack_frame_id": 3},
        "frames": [
            {"file": "/home/u/model.py", "line": 88, "function": "block"},
            {"file": "/home/u/train.py", "line": 12, "function": "loss"},
            {"file": "/home/u/train.py", "line": 40, "function": "<module>"},
        ],
        "frontend_attributes": {"breakpoint": "true", "note": 'a "b" {c}'},
        "line": line_of(STEP, "  %y = "),
        "bytes": 16,
        "root": False,
    }
    assert {key: report[key] for key in expected} == expected
    json.dumps(report)


def test_a_module_in_words() -> None:
    text = module_text(module_of(STEP))
    assert text.startswith("jit_step   text, scheduled, 8 partitions\n19 instructions in 4 computations\n")
    assert "1 constant without values" in text
    assert "--xla_dump_large_constants" in text
    assert 'breakpoint="true"' in text
    assert "/home/u/model.py:88" in text
    assert "while body" in text
    untagged = module_text(module_of(HAND_WRITTEN))
    assert "set_xla_metadata" in untagged
    assert "no HloModule line" in untagged


def test_an_instruction_in_words() -> None:
    text = text_of(module_of(STEP), "y")
    for part in (
        "f32[4]{0} fusion",
        "16 bytes",
        f"body (while body), line {line_of(STEP, '  %y = ')}",
        "x   f32[4] get-tuple-element",
        "tuple   (s32[], f32[4]) tuple",
        "fused_computation",
        "/home/u/model.py:88   block",
        "a replay stops here",
    ):
        assert part in text
    assert "xla_dump_disable_metadata" in text_of(module_of(STEP), "next")
    assert "left out of the text" in text_of(module_of(STEP), "table")


def test_a_screenful_at_most_whatever_the_module_is() -> None:
    many = 300
    uses = "".join(f'  u{n} = f32[] negate(p), frontend_attributes={{k="v"}}\n' for n in range(many))
    operands = ", ".join(f"u{n}" for n in range(many))
    shapes = ", ".join(["f32[]"] * many)
    computations = "".join(f"c{n} {{\n  a = f32[] iota()\n}}\n" for n in range(many))
    entry = f"ENTRY e {{\n  p = f32[] parameter(0)\n{uses}  ROOT t = ({shapes}) tuple({operands})\n}}\n"
    module = module_of(computations + entry)
    for text in (module_text(module), text_of(module, "p"), text_of(module, "t")):
        assert text.count("\n") < 60
        assert max(map(len, text.splitlines())) < 200
        assert "288 more" in text or "289 more" in text


def test_rows_are_bounded_whatever_the_names_are() -> None:
    name = "n" * 50_000
    tag = f'frontend_attributes={{{name}="{name}"}}'
    module = module_of(
        f"HloModule {name}\n\n%{name} (p: f32[]) -> f32[] {{\n  ROOT %{name} = f32[] {name}(%{name}), {tag},"
        f' metadata={{op_name="{name}" source_file="{name}" source_line=1}}\n}}\n'
    )
    for text in (module_text(module), text_of(module, name)):
        assert max(map(len, text.splitlines())) < 400
    assert "        1 instruction   line 3" in module_text(module)


def test_only_what_is_shown_is_looked_for() -> None:
    operands = ", ".join(f"u{number}" for number in range(1000))
    module = module_of(f"ENTRY e {{\n  ROOT t = f32[] add({operands})\n}}\n")
    asked = []
    find = module.find
    module.find = lambda name, near=None: asked.append(name) or find(name, near)  # type: ignore[method-assign,func-returns-value]
    assert "988 more" in text_of(module, "t")
    assert len(asked) <= 13


def test_nothing_in_a_report_moves_the_cursor() -> None:
    module = module_of(
        b"HloModule m\x1b[2J\n\nENTRY e {\n  a\x1b = f32[] add(\x07)\n"
        b'  %b = f32[] add(%c), k="\x1b]0;x", frontend_attributes={k="\x9b\\033[1m"}\n}\n'
    )
    for text in (module_text(module), text_of(module, "b")):
        assert not any(ord(c) < 32 and c != "\n" for c in text)
        assert not any(127 <= ord(c) < 160 for c in text)
