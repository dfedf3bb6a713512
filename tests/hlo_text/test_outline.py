from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo import outline as outline_module
from hlo_tui.hlo.landmarks import Landmarks
from hlo_tui.hlo.outline import Outline, scan
from hlo_tui.hlo.source import BytesSource
from tests.hlo_text.samples import HAND_WRITTEN, STEP, module_of


def outline_of(text: str | bytes) -> Outline:
    return scan(BytesSource(text.encode() if isinstance(text, str) else text, "text"))[1]


def names(outline: Outline) -> list[str]:
    return [computation.name for computation in outline.computations]


def line_of(text: str, part: str) -> int:
    return text[: text.index(part)].count("\n")


def test_a_dump() -> None:
    outline = outline_of(STEP)
    header = outline.header
    assert (header.name, header.scheduled, header.num_partitions, header.replica_count) == (
        "jit_step",
        True,
        8,
        1,
    )
    assert header.entry_layout == "{(f32[4]{0})->f32[4]{0}}"
    assert header.attributes.startswith("is_scheduled=true")
    assert not header.missing
    assert names(outline) == ["fused_computation", "body", "condition", "main.9"]
    assert [computation.instructions for computation in outline.computations] == [2, 7, 4, 6]
    assert outline.instructions == 19
    assert outline.entry == outline.computations[3]
    assert [computation.is_entry for computation in outline.computations] == [False, False, False, True]
    body = outline.by_name("body")
    assert body is not None
    assert body.line == line_of(STEP, "%body (p")
    assert body.last == line_of(STEP, "\n%condition (") - 1
    assert outline.elided_constants == 1
    assert list(outline.tagged) == [line_of(STEP, "ROOT %tanh.1"), line_of(STEP, "%y = ")]
    assert outline.tables == {
        name: line_of(STEP, f"\n{name}\n") + 1
        for name in ("FileNames", "FunctionNames", "FileLocations", "StackFrames")
    }
    assert outline.complete


def test_kinds_of_a_dump() -> None:
    outline = outline_of(STEP)
    kinds = {computation.name: outline.kind(computation) for computation in outline.computations}
    assert kinds == {
        "fused_computation": "fusion",
        "body": "while body",
        "condition": "while condition",
        "main.9": "entry",
    }


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        ("reduce(a, z), dimensions={0}, to_apply=f", "reduce"),
        ("map(a), to_apply=%f", "map"),
        ("sort(a), dimensions={0}, to_apply=f", "sort"),
        ("scatter(a, b, c), to_apply=f", "scatter"),
        ("select-and-scatter(a, b, c), window={size=2}, select=%g, scatter=%f", "select-and-scatter"),
        ("reduce-window(a, z), to_apply=f", "reduce-window"),
        ("all-reduce(a), replica_groups={}, to_apply=f", "all-reduce"),
        ("all-reduce-start(a), to_apply=f", "all-reduce"),
        ("reduce-scatter(a), to_apply=f", "reduce-scatter"),
        ("call(a), to_apply=f", "call"),
        ("custom-call(a), called_computations={%g, %f}", "custom-call"),
        ("conditional(p, a, b), branch_computations={%g, %f}", "conditional branch"),
        ("conditional(p, a, b), true_computation=g, false_computation=f", "conditional branch"),
        ("async-start(a), calls=f", "async"),
        ("while(a), condition=%f, body=g", "while condition"),
        ("while(a), condition=%g,\n    body=f", "while body"),
        ('(f32[], b[2]) fusion(a), kind=kLoop,\n calls=f, metadata={op_name="calls=g"}', "fusion"),
        ("add(a, b)", "unused"),
        ("?(a), to_apply=f", "called"),
    ],
)
def test_kinds(call: str, kind: str) -> None:
    shape = "" if call.startswith("(") else "f32[] "
    text = f"f {{\n  ROOT p = f32[] parameter(0)\n}}\nENTRY e {{\n  ROOT x = {shape}{call}\n}}\n"
    outline = outline_of(text)
    assert outline.kind(outline.computations[0]) == kind


def test_what_people_write() -> None:
    outline = outline_of(HAND_WRITTEN)
    assert outline.header.missing
    assert [(c.name, c.instructions, outline.kind(c)) for c in outline.computations] == [
        ("add", 3, "reduce"),
        ("main", 7, "entry"),
        ("_", 2, "fusion"),
    ]
    main, nested = outline.computations[1], outline.computations[2]
    assert outline.nested(main) == [nested]
    assert [outline.is_nested(computation) for computation in outline.computations] == [False, False, True]
    line = line_of(HAND_WRITTEN, "ROOT neg")
    assert outline.at_line(line) == nested
    assert outline.at_line(nested.last + 1) == main
    assert outline.at_line(0) is None
    assert outline.at_line(10**6) is None
    assert outline.instructions == 12


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ENTRY main.28 {\n a = f32[] parameter(0)\n}\n", [("main.28", 1)]),
        ("%f (p: (f32[], s32[2]{0})) -> (f32[2]{1,0}) {\n  %p = f32[] parameter(0)\n}", [("f", 1)]),
        ("f (p: f32[],\n   q: f32[2]{0})\n  -> f32[] {\n  p = f32[] parameter(0)\n}\n", [("f", 1)]),
        ("ENTRY e\n{\n  a = f32[] parameter(0)\n}\n", [("e", 1)]),
        ("f { a = f32[] parameter(0) ROOT b = f32[] abs(a) } g { c = f32[] iota() }", [("f", 2), ("g", 1)]),
        ("f {\n  a = f32[] parameter(0)\n}, execution_thread=\"io\"\n\ng {\n}\n", [("f", 1), ("g", 0)]),
        ("f {\n  a = f32[] parameter(0)\n} // f\ng {\n}\n", [("f", 1), ("g", 0)]),
        ("f {\r\n  a = f32[] parameter(0)\r\n}\r\n", [("f", 1)]),
        ("f {\n  a = f32[] parameter(0)\0\n\0\n}\n", [("f", 1)]),
        ("f {\n\ta = f32[] parameter(0)\n}\n", [("f", 1)]),
        ("f {\na = f32[] parameter(0)\nROOT b = f32[] negate(a)\n}\n", [("f", 2)]),
        ("f {\n  %a=f32[] parameter(0)\n}\n", [("f", 1)]),
        ("f {\n  a = f32[] parameter(0) /* b = f32[]\n c = f32[] { */\n}\ng {\n}", [("f", 1), ("g", 0)]),
        # Damage: a line that is cut, a brace that is missing, a string that is not closed.
        ("f {\n  a = f32[] add(b, k={n=\"x\n  c = f32[] negate(a)\n}\n\ng {\n}\n", [("f", 2), ("g", 0)]),
        ("f {\n  a = f32[] add(b, /*index=\n  c = f32[] negate(a)\n}\n\ng {\n}\n", [("f", 2), ("g", 0)]),
        ("f {\n  a = f32[] add({{(b\n\nENTRY g {\n  b = f32[] parameter(0)\n}\n", [("f", 1), ("g", 1)]),
        ("f {\n  a = f32[] add(b, metadata={op_name=\"x\n}\n\nENTRY g {\n}\n", [("f", 1), ("g", 0)]),
        ("  %a = f32[] parameter(0)\n  ROOT %b = f32[] negate(%a)\n}\n", [("", 2)]),
        # Other languages and prose.
        ("define void @f(ptr %0) {\n  %1 = load ptr, ptr %0\n}\n", []),
        ("See main (the entry) {\nTotal = 3\nx = 4\n", []),
        ("module @jit_f {\n  func.func public @main() {\n  }\n}\n", []),
        ("", []),
        ("\0\xff{{{((\"", []),
    ],
)  # fmt: skip
def test_forms_and_damage(text: str, found: list[tuple[str, int]]) -> None:
    outline = outline_of(text)
    assert [(computation.name, computation.instructions) for computation in outline.computations] == found


def test_execution_threads() -> None:
    outline = outline_of('f {\n  a = f32[] parameter(0)\n}, execution_thread="io"\n\ng {\n}\n')
    assert [computation.execution_thread for computation in outline.computations] == ["io", ""]


def test_the_last_computation_is_the_entry_where_none_is_marked() -> None:
    outline = outline_of("f {\n}\ng {\n  a = f32[] fusion(), calls={ b = f32[] parameter(0) }\n}\n")
    assert outline.entry is not None
    assert outline.entry.name == "g"
    assert outline.kind(outline.entry) == "entry"
    assert outline_of("nothing").entry is None


def test_headers_over_several_lines_may_hold_modules_in_strings() -> None:
    text = """\
HloModule m, origin_recovery_table={
  {"a"} : {"b"},
  "
    ENTRY %recovery (p: f32[]) -> f32[] {
      ROOT %q = f32[] negate(%p)
    }
  "
},
debug_attributes={ {"dot.3"}:({log_mode=default}) }, num_partitions=2

ENTRY e {
  ROOT a = f32[] parameter(0)
}
"""
    outline = outline_of(text)
    assert names(outline) == ["e"]
    assert outline.instructions == 1
    assert outline.header.num_partitions == 2


@pytest.mark.parametrize(
    "header", ["HloModule m, a={", 'HloModule m, a="', "HloModule m, a={/*", "HloModule m,"]
)
def test_a_damaged_header_does_not_swallow_the_module(header: str) -> None:
    outline = outline_of(
        f'{header}\n\nFileNames\n1 "a"\n\n%f (p: f32[]) -> f32[] {{\n  %p = f32[] parameter(0)\n}}\n'
    )
    assert outline.header.name == "m"
    assert names(outline) == ["f"]
    assert "FileNames" in outline.tables or header.endswith(",")


@pytest.mark.parametrize(
    "prefix",
    [
        "I0507 03:14:15.926535    4711 hlo_module.cc:89] ",
        "2021-02-10 03:53:38.327164: E     463 tensorflow/compiler/xla/xla_client/xla_util.cc:98] ",
    ],
)
@pytest.mark.parametrize("text", [STEP, HAND_WRITTEN])
def test_log_prefixes_change_nothing(prefix: str, text: str) -> None:
    plain = module_of(text)
    logged = module_of("".join(f"{prefix}{line}\n" for line in text.splitlines()))
    assert plain.outline is not None
    assert logged.outline is not None
    assert list(logged.outline.computations) == list(plain.outline.computations)
    assert logged.outline.header == plain.outline.header
    assert logged.outline.tables == plain.outline.tables
    kinds = [plain.outline.kind(computation) for computation in plain.outline.computations]
    assert [logged.outline.kind(computation) for computation in logged.outline.computations] == kinds
    for computation in plain.outline.computations:
        ours, theirs = logged.body(computation).instructions, plain.body(computation).instructions
        assert [replace(i, start=0, end=0) for i in ours] == [replace(i, start=0, end=0) for i in theirs]
        assert [logged.frames(i) for i in ours] == [plain.frames(i) for i in theirs]


def landmarks(data: bytes, fast: bool, block: int, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.setattr(outline_module, "_FAST_FROM", 0 if fast else 1 << 60)
    monkeypatch.setattr(outline_module, "_BLOCK", block)
    outline = scan(BytesSource(data, "data"))[1]
    private = ("_open", "_statement", "_around")
    marks = vars(outline._marks)
    return {key: value for key, value in marks.items() if key not in private}


@pytest.mark.parametrize("block", [50, 333, 1 << 20])
def test_whole_blocks_give_what_single_lines_give(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    data = (STEP + STEP[STEP.index("%fused_computation (") :].replace("%", "%again.")).encode()
    assert landmarks(data, True, block, monkeypatch) == landmarks(data, False, 1 << 20, monkeypatch)


ordinary = st.sampled_from([
    "%f (p: f32[]) -> f32[] {", "ENTRY %main (p: f32[4]{0}) -> f32[] {", "g {", "}", "",
    '}, execution_thread="x"', "  %a = f32[] parameter(0)",
    "  ROOT %b = (f32[], s32[]{0}) tuple(%a), frontend_attributes={k=\"v\"}",
    "  c = f32[8]{0} constant({...})", "  %d = f32[] fusion(%a), calls=%f, metadata={op_name=\"x\"}",
    "  d = f32[] while(a), condition=f, body=g",
])  # fmt: skip


# A block below the longest of these lines would take it apart.
@given(st.lists(ordinary, max_size=30), st.integers(80, 300))
def test_blocks_and_lines_agree_on_any_order_of_ordinary_lines(lines: list[str], block: int) -> None:
    data = "\n".join(lines).encode()
    with pytest.MonkeyPatch.context() as monkeypatch:
        assert landmarks(data, True, block, monkeypatch) == landmarks(data, False, 1 << 20, monkeypatch)


def test_a_line_longer_than_a_block_is_followed_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    literal = "{ " + ", ".join('"a\\"{(b"' for _ in range(100)) + " }"
    tag = 'frontend_attributes={k="v"}'
    constant = f"  c = f32[] constant({literal}), {tag}, x={{{'y, ' * 50}}}, {tag}\n"
    text = f"HloModule m\n\nf {{\n{constant}  d = f32[] negate(c)\n}}\n"
    monkeypatch.setattr(outline_module, "_BLOCK", 64)
    outline = outline_of(text)
    assert [(c.name, c.instructions, c.last) for c in outline.computations] == [("f", 2, 5)]
    assert list(outline.tagged) == [3]


class Counting(BytesSource):
    def __init__(self, data: bytes) -> None:
        super().__init__(data, "counting")
        self.bytes = 0

    def read(self, offset: int, length: int) -> bytes:
        data = super().read(offset, length)
        self.bytes += len(data)
        return data


@pytest.mark.parametrize("line", ["  %a = f32[] add(%b)\n", "{\n", "x" * 700, '"', "a {\n", "}\n"])
def test_a_scan_reads_every_byte_about_once(line: str) -> None:
    data = (line * (2_200_000 // max(8, len(line)))).encode()
    source = Counting(data)
    scan(source)
    assert source.bytes <= 1.2 * len(data) + 4096


def test_progress_and_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline_module, "_BLOCK", 100)
    told: list[tuple[int, int]] = []
    source = BytesSource(STEP.encode(), "step")
    assert scan(source, lambda done, total: told.append((done, total)))[1].complete
    assert told == sorted(told)
    assert told[-1] == (source.size, source.size)
    assert len(told) > 10
    lines, outline = scan(source, stop=lambda: True)
    assert not outline.complete
    assert 0 < lines.count < STEP.count("\n")


def test_a_source_that_shrinks_while_it_is_read() -> None:
    class Shrinking(BytesSource):
        def read(self, offset: int, length: int) -> bytes:
            return super().read(offset, length) if offset < 10 else b""

    lines, outline = scan(Shrinking(STEP.encode()[:10] + b"\n", "shrinking"))
    assert lines.count == 1
    assert isinstance(outline._marks, Landmarks)


@given(st.text(alphabet='ab %={}()[]"\n/*,ROOT', max_size=200))
def test_no_text_is_an_error(text: str) -> None:
    module = module_of(text)
    assert module.outline is not None
    for computation in module.outline.computations:
        assert len(module.body(computation)) == computation.instructions
        assert module.outline.at_line(computation.line) is not None
        module.outline.kind(computation)
