"""Files that are not HLO on the screen, and the ladder from the jaxpr to the code."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from hlo_tui.formats.languages import language
from hlo_tui.ui.pagerows import page_line
from tests.corpus import DATA
from tests.formats import samples
from tests.ui.driving import driving

STEM = "module_0018.jit_climb"


@pytest.fixture(name="dump")
def _dump(tmp_path: Path) -> Path:
    return Path(shutil.copytree(DATA / "ladder", tmp_path / "dump"))


async def _at(app, name: str) -> None:
    await app.press("2")
    await app.press("colon")
    await app.type(name)
    await app.press("enter")
    await app.until(
        lambda: app.app.desk.inspection is not None and app.app.desk.inspection.title == name, name
    )


async def test_up_to_the_jaxpr_and_down_to_the_code(dump: Path) -> None:
    async with driving(dump) as app:
        await app.opened()
        await _at(app, "tanh.1")
        await app.press("left_curly_bracket")
        await app.sees("module.mlir", "stablehlo.tanh", "function closed_call")
        await app.opened()
        await app.press("left_curly_bracket")
        await app.sees("jax_000009_climb.jaxpr.txt", "j:f32[4,8] = tanh i")
        await app.opened()
        assert app.line == 9
        await app.press("left_curly_bracket")
        await app.sees("this is the topmost rung")
        for words in ("module.mlir", "tanh.1 =", "tanh.2 =", "@wrapped_tanh"):
            await app.press("right_curly_bracket")
            await app.sees(words)
            await app.opened()
        await app.press("right_curly_bracket")
        await app.sees("this is the lowest rung")
        for words in ("tanh.2 =", "tanh.1 ="):
            await app.press("backspace")
            await app.sees(words)
            await app.opened()


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_the_ladder_is_listed(dump: Path, size: tuple[int, int]) -> None:
    async with driving(dump, size) as app:
        await app.opened()
        await _at(app, "tanh.1")
        await app.press("U")
        await app.sees("from the program to the code", "stablehlo.tanh")
        await app.golden(f"ladder-{size[0]}x{size[1]}")
        await app.press("down", "enter")
        await app.sees("module.mlir")


async def test_what_is_missing_is_said(dump: Path) -> None:
    (dump / "jax_000009_climb.jaxpr.txt").unlink()
    async with driving(dump) as app:
        await app.opened()
        await _at(app, "tanh.1")
        await app.press("left_curly_bracket")
        await app.sees("module.mlir")
        await app.opened()
        await app.press("left_curly_bracket")
        await app.sees("JAX_DUMP_IR_MODES=jaxpr")


async def test_an_instruction_of_the_compiler_has_none(dump: Path) -> None:
    for path in dump.glob("*"):
        if path.is_dir():
            shutil.rmtree(path)
        elif "after" not in path.name:
            path.unlink()
    async with driving(dump) as app:
        await app.opened()
        await _at(app, "wrapped_tanh")
        await app.press("left_curly_bracket")
        await app.sees("nothing in the dump is linked to what is on this line")


@pytest.mark.parametrize("size", [(80, 24), (120, 34)])
async def test_a_page_has_colours_an_outline_and_definitions(tmp_path: Path, size: tuple[int, int]) -> None:
    path = tmp_path / "module.mlir"
    path.write_text(samples.STABLEHLO)
    async with driving(path, size) as app:
        await app.opened()
        await app.sees("StableHLO text", "stablehlo.multiply")
        await app.sees("#loc7 = loc(", "tensor<4xf32>     train.py:3" if size[0] == 80 else "outline")
        await app.misses("loc(#loc7)")
        await app.press("colon")
        await app.type("%1")
        await app.press("enter")
        await app.until(lambda: app.line == 6, "the definition")
        await app.press("V")
        await app.sees("outline", "inner.1")
        await app.press("down", "down", "enter")
        await app.until(lambda: app.line == 9, "the function")
        await app.press("m")
        await app.sees("lines in full")


async def test_the_other_modules_of_a_file_are_in_its_outline(tmp_path: Path) -> None:
    path = tmp_path / "saved.txt"
    path.write_text("".join(
        f"## BEGIN_GRAPH\nHloModule IrToHlo.{number}\n\nENTRY e {{\n  ROOT p{number} = f32[] parameter(0)\n}}\n"
        "## END_GRAPH\n" for number in (1, 2)
    ))  # fmt: skip
    async with driving(path) as app:
        await app.opened()
        await app.sees("p1 =")
        await app.press("V")
        await app.sees("IrToHlo.2", "module of this file")
        await app.press("down", "enter")
        await app.sees("p2 =")
        await app.opened()
        await app.press("backspace")
        await app.sees("p1 =")


async def test_from_pass_to_pass_in_a_log(tmp_path: Path) -> None:
    path = tmp_path / "k.mlir-passes.log"
    path.write_text(samples.PASSES)
    async with driving(path) as app:
        await app.opened()
        await app.press("right_square_bracket")
        await app.until(lambda: app.line == 11, "the next pass")
        await app.press("right_square_bracket")
        await app.sees("there is no stage after this one")
        await app.press("left_square_bracket")
        await app.until(lambda: app.line == 1, "the pass before")


async def test_from_pass_to_pass_in_files(tmp_path: Path) -> None:
    steps = ("pre-optimization", "post-optimization", "post-lowering")
    for step in steps:
        text = samples.KERNEL.replace("pure_call", step.replace("-", "_"))
        (tmp_path / f"module_0001.f.add_fusion_kernel_module-{step}.mlir").write_text(text)
    async with driving(tmp_path / f"module_0001.f.add_fusion_kernel_module-{steps[0]}.mlir") as app:
        await app.opened()
        for step in steps[1:]:
            await app.press("right_square_bracket")
            await app.sees(f"xla.{step.replace('-', '_')}")
            await app.opened()


async def test_enter_goes_to_a_definition_of_a_page(tmp_path: Path) -> None:
    path = tmp_path / "k.ll"
    path.write_text(samples.LLVM)
    async with driving(path) as app:
        await app.opened()
        await app.press("colon")
        await app.type("8")
        await app.press("enter")
        await app.until(lambda: app.line == 8, "the line")
        await app.press("enter")
        await app.until(lambda: app.line == 7, "the definition of %2")


@pytest.mark.parametrize("sort", samples.TEXTS)
async def test_every_sort_of_text_opens(tmp_path: Path, sort: str) -> None:
    path = tmp_path / "file.txt"
    path.write_text(samples.TEXTS[sort])
    async with driving(path, (200, 60)) as app:
        await app.opened()
        first = next(line for line in samples.TEXTS[sort].splitlines() if line.strip("/ "))
        await app.sees(first.replace("\t", " ").strip()[:20])


@pytest.mark.parametrize("sort", ["object", "jaxpr-html", "graph-page", "archive", "mlir-bytecode"])
async def test_every_sort_of_binary_opens(tmp_path: Path, sort: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(samples.BINARIES[sort])
    words = {"object": "add_fusion", "jaxpr-html": "b:f32[] = sin a", "graph-page": "digraph G", "archive": "x.npy",
             "mlir-bytecode": "written by MLIR_1"}  # fmt: skip
    async with driving(path, (200, 60)) as app:
        await app.opened()
        await app.sees(words[sort])


def test_locations_are_folded_and_names_can_be_walked() -> None:
    text = "    %1:2 = call @f(%arg0) : (tensor<4xf32>) -> tensor<4xf32> loc(#loc6)"
    folded = page_line(text, language("mlir").tokenize, True, "a.py:3")
    assert "".join(span.text for span in folded.spans) == text.removesuffix(" loc(#loc6)")
    assert [name.name for name in folded.names] == ["%1", "@f", "%arg0"]
    assert folded.place == "a.py:3"
    full = page_line(text, language("mlir").tokenize, False)
    assert "".join(span.text for span in full.spans) == text
    assert full.names[-1].name == "#loc6"
