"""Which instruction is of which operation, and which operation of which equation, compared with XLA and JAX."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo_tui.errors import HloTuiError
from hlo_tui.formats.equations import Pairs
from hlo_tui.formats.jaxprs import Equation, equations_named, jaxpr_shape, read_equations, split_name
from hlo_tui.formats.links import CERTAIN, GUESS, LIKELY, Links
from hlo_tui.formats.locations import Locations, at_end, read_aliases
from hlo_tui.formats.opening import page_of
from hlo_tui.formats.page import Page
from hlo_tui.formats.stablehlo import Operation, Program, hlo_shape, read_program
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource, FileSource
from tests.corpus import DATA, corpus_dir
from tests.formats.jax_child import lower
from tests.formats.samples import JAXPR, STABLEHLO
from tests.formats.xla_child import ask


def page(text: str, name: str = "x") -> Page:
    found = page_of(BytesSource(text.encode(), name))
    found.scan()
    return found


def test_locations() -> None:
    aliases = read_aliases([
        '#loc2 = loc("/home/u/a.py":3:4 to :9)', '#loc3 = loc("f"(#loc2))',
        '#loc4 = loc(callsite(#loc3 at "main"("/home/u/b.py":7:0 to :3)))', '#loc5 = loc("jit(f)/a \\"b\\""(#loc4))',
        "#loc6 = loc(#loc6)", '#loc7 = loc("x"(callsite(#loc8 at #loc8)))', "#loc8 = loc(callsite(#loc7 at #loc8))",
        '#loc9 = loc(fused["g"(#loc2), #loc4])',
    ])  # fmt: skip
    locations = Locations(aliases)
    found = locations.of("loc(#loc5)")
    assert found.name == 'jit(f)/a "b"'
    assert [(f.file, f.line, f.column, f.function) for f in found.frames] == [
        ("/home/u/a.py", 3, 4, "f"), ("/home/u/b.py", 7, 0, "main"),
    ]  # fmt: skip
    assert locations.of("loc(#loc6)").frames == ()
    assert locations.of("loc(#loc7)").name == "x"
    assert [f.function for f in locations.of("loc(#loc9)").frames] == ["g"]
    assert locations.of('loc("x")').name == "x"
    assert at_end("  %0 = a.b %1 : f32 loc(#loc5)") == ("  %0 = a.b %1 : f32", "loc(#loc5)")


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet=st.sampled_from('loc(#"ab")callsite at fused[]123:<>'), max_size=80))
def test_any_location_ends(text: str) -> None:
    aliases = {"loc1": text, "loc2": 'loc("a"(#loc1))', "loc": f"loc(callsite({text} at #loc2))"}
    for asked in (text, "loc(#loc1)", "loc(#loc)"):
        Locations(aliases).of(asked)


@pytest.mark.parametrize(
    ("mlir", "hlo"),
    [("4x8xf32", "f32[4,8]"), ("f32", "f32[]"), ("2xi1", "pred[2]"), ("3x?xui8", "u8[3,?]"), ("i64", "s64[]"),
     ("2xcomplex<f32>", "c64[2]"), ("32x64xf8E4M3FN", "f8e4m3fn[32,64]"), ("4xbf16, #tpu.x<a>", "bf16[4]")],
)  # fmt: skip
def test_types_of_stablehlo(mlir: str, hlo: str) -> None:
    assert hlo_shape(mlir) == hlo


@pytest.mark.parametrize(
    ("jaxpr", "hlo"),
    [("f32[4,8]", "f32[4,8]"), ("bool[]", "pred[]"), ("i32[2]", "s32[2]"), ("u8[3]", "u8[3]"),
     ("bf16[2@x,4]", "bf16[2,4]"), ("float8_e4m3fn[2]", "f8e4m3fn[2]")],
)  # fmt: skip
def test_types_of_a_jaxpr(jaxpr: str, hlo: str) -> None:
    assert jaxpr_shape(jaxpr) == hlo


def test_names_without_their_transformations() -> None:
    assert split_name("jit(f)/jit(main)/transpose(jvp(while))/body/mul") == (
        "jit(f)",
        "jit(main)",
        "while",
        "body",
        "mul",
    )
    assert split_name("jit(f)/transpose(jvp())/dot_general[precision=None a=(1/2)]") == (
        "jit(f)",
        "dot_general",
    )
    assert split_name("jit(f)/a;jit(g)/b") == ("jit(f)", "a")


def test_operations_of_a_sample() -> None:
    program = read_program(page(STABLEHLO))
    rows = [(one.line, one.function, one.opcode, one.shape, one.location.name) for one in program.operations]
    assert rows == [
        (3, "main", "constant", "f32[]", ""), (4, "main", "broadcast_in_dim", "f32[4]", "jit(f)/broadcast_in_dim"),
        (5, "main", "call", "f32[4]", "jit(f)/jit"), (6, "main", "return", "f32[4]", ""),
        (9, "inner.1", "multiply", "f32[4]", "mul"), (10, "inner.1", "constant", "s32[]", ""),
        (11, "inner.1", "return", "f32[4]", ""),
    ]  # fmt: skip
    assert program.full_names(program.by_line[9]) == ("jit(f)/jit/mul",)


def test_equations_of_a_sample() -> None:
    rows = [(one.line, one.primitive, one.shape, one.path, one.name) for one in read_equations(page(JAXPR))]
    assert rows == [
        (1, "reduce_sum", "f32[]", (), ""), (2, "jit", "f32[4]", (), "inner"),
        (4, "sin", "f32[4]", ("jit(inner)",), ""), (6, "mul", "f32[4]", (), ""),
    ]  # fmt: skip


def test_jaxprs_that_equations_share() -> None:
    text = """\
let f = { lambda ; a:f32[4]. let b:f32[4] = sin a in (b,) } in
{ lambda ; c:f32[4]. let
    d:f32[4] = jit[name=f jaxpr=f] c
    e:f32[4] = scan[
      jaxpr={ lambda ; g:f32[4]. let h:f32[4] = jit[name=f jaxpr=f] g in (h,) }
      length=3
    ] d
  in (e,) }
"""
    equations = read_equations(page(text, "a.jaxpr.txt"))
    sine = equations[0]
    assert (sine.path, sine.others) == (("jit(f)",), (("while", "body", "jit(f)"),))
    assert equations_named(equations, "jit(g)/while/body/jit(f)/sin", "f32[4]", {}, "").equations == (sine,)
    assert equations_named(equations, "jit(g)/jit(f)/cos", "f32[4]", {}, "").equations == ()


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=200), st.integers(0, len(JAXPR)), st.integers(0, len(STABLEHLO)))
def test_links_of_damaged_texts(text: str, a: int, b: int) -> None:
    try:
        equations = read_equations(page(JAXPR[:a] + text + JAXPR[a:], "a.jaxpr.txt"))
        program = read_program(page(STABLEHLO[:b] + text + STABLEHLO[b:], "a.mlir"))
    except HloTuiError:
        # Control characters make it something else.
        return
    pairs = Pairs(program, equations, {})
    for operation in program.operations:
        made = pairs.of(operation)
        assert made is None or made.equation in equations


def _check(paths: list[Path], least: int) -> Counter[tuple[str, bool]]:
    told: Counter[tuple[str, bool]] = Counter()
    for path, made in ask(paths).items():
        if made is None:
            continue
        found = page_of(FileSource(path))
        found.scan()
        module = Module(BytesSource(made.text.encode(), "x"))
        outline = module.scan()
        links = Links(read_program(found), module, True)
        for computation in outline.computations:
            for one in module.body(computation).instructions:
                line = made.lines.get(f"{computation.name}/{one.name}", 0)
                link = links.of(one)
                if line and link is not None:
                    told[link.sure, link.operation.line + 1 == line] += 1
    assert sum(told.values()) >= least
    return told


def test_instructions_of_a_small_program_against_xla() -> None:
    told = _check([next((DATA / "ladder").glob("*/module.mlir"))], 30)
    assert {sure for sure, right in told if not right} <= {GUESS}


@pytest.mark.parametrize("part", ["p01_metadata-default", "p02*", "p04*", "p05*", "p07*"])
def test_instructions_against_xla(part: str) -> None:
    told = _check(sorted(corpus_dir().glob(f"dumps/jax0102-{part}/*/module.mlir"))[:60], 100)
    assert told[CERTAIN, False] == 0
    assert told[LIKELY, False] <= 0.03 * told[LIKELY, True]


def test_equations_against_jax() -> None:
    lowered = lower()
    equations = read_equations(page(lowered.jaxpr, "a.jaxpr.txt"))
    top = [one for one in equations if one.owner == -1]
    plain, named = (read_program(page(text, "a.mlir")) for text in (lowered.plain, lowered.named))
    pairs = Pairs(plain, equations, {})
    told: Counter[tuple[str, bool]] = Counter()
    for ours, theirs in zip(_main(plain), _main(named), strict=True):
        assert ours.opcode == theirs.opcode
        number = re.search(r"equation(\d+)", theirs.location.name)
        made = pairs.of(ours)
        if number is not None and made is not None:
            told[made.sure, _outermost(equations, made.equation) is top[int(number[1])]] += 1
    assert {sure for sure, right in told if not right} <= {GUESS}
    assert told[LIKELY, True] + told[CERTAIN, True] > 0.9 * sum(told.values())


def _main(program: Program) -> list[Operation]:
    return [one for one in program.operations if one.function == "main"]


def _outermost(equations: list[Equation], one: Equation) -> Equation:
    while one.owner >= 0:
        one = equations[one.owner]
    return one
