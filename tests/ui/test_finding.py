"""Finding in all modules, the graph, and what is cut out and put together, on the screen."""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from hlo_tui.dump.listing import load, ordered
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.ownership import is_own
from hlo_tui.hlo.source import FileSource
from hlo_tui.ui.findscreen import FindScreen
from hlo_tui.ui.graphscreen import GraphScreen
from hlo_tui.ui.shelf import Shelf, peek, shelve
from tests.corpus import DATA, corpus_dir
from tests.ui import dumps
from tests.ui.driving import Driver, driving


async def find(app: Driver, words: str) -> FindScreen:
    await app.press("a")
    await app.pilot.press(*words)
    await app.press("enter")
    screen = app.app.screen
    assert isinstance(screen, FindScreen)
    await app.until(lambda: screen.work is not None and screen.work.done, "all is looked through")
    return screen


async def at_the_loop(app: Driver) -> None:
    """Open the training step at its multiplication."""
    await app.opened()
    await app.press("2")
    assert "mul.3" in app.text


async def graph(app: Driver) -> GraphScreen:
    await app.press("e")
    screen = app.app.screen
    assert isinstance(screen, GraphScreen)
    await app.until(lambda: screen.drawing is not None, "it is drawn")
    return screen


async def test_what_is_found_in_all_modules_is_listed_and_enter_goes_there(dump):
    async with driving(dump) as app:
        await app.opened()
        await find(app, "negate")
        await app.sees("jit_helper_0 #20", "5 lines in 5 modules")
        await app.press("down", "enter")
        await app.opened()
        assert app.app.desk.wanted.title.startswith("jit_helper_")
        assert "negate" in app.app.main.code.text.opened.module.text(app.app.main.code.line)
        await app.press("a")
        await app.sees("Find in all modules: negate")
        await app.press("q")
        await app.press("backspace")
        await app.opened()
        assert app.app.desk.wanted.title.startswith("jit_train_step")


async def test_in_a_single_file_too(tmp_path):
    path = dumps.write(tmp_path, 12, "jit_train_step", "before_optimizations", dumps.TRAIN)
    async with driving(path, (80, 24)) as app:
        await app.opened()
        await find(app, "tanh")
        await app.golden("find_80x24")
        await app.press("down", "enter")
        await app.opened()
        await app.press("e")
        await app.sees("▶[")
        await app.golden("graph_80x24")


async def test_among_several_modules_in_one_file(tmp_path):
    path = tmp_path / "several.hlo"
    path.write_text(dumps.EVAL + "\n" + dumps.TRAIN)
    async with driving(path) as app:
        await app.opened()
        await find(app, "tanh")
        await app.sees("jit_train_step")
        await app.press("down", "enter")
        await app.opened()
        module = app.app.desk.opened.module
        assert module.name == "jit_train_step"
        assert "tanh" in module.text(app.app.main.code.line)


async def test_the_list_says_what_to_do_where_nothing_is_found(dump):
    async with driving(dump, (80, 24)) as app:
        await app.opened()
        screen = await find(app, "nowhere")
        await app.sees("0 lines in 0 modules", "op:dot")
        await app.press("slash")
        await app.pilot.press("ctrl+u", *"op:reduce")
        await app.press("enter")
        await app.until(lambda: screen.work.done and "reduce(" in app.text, "the reduction is found")
        assert "jit_eval" in app.text


async def test_what_is_no_query_is_said(dump):
    async with driving(dump) as app:
        await app.opened()
        await app.press("a")
        await app.pilot.press(*"(")
        await app.press("enter")
        await app.sees("not a regular expression")


async def test_modules_are_put_in_another_order(dump):
    async with driving(dump) as app:
        await app.opened()
        for words in (
            "the newest first",
            "the most recompiled first",
            "by name",
            "tagged ones first, then your own",
        ):
            await app.press("A")
            await app.sees(words)


def test_orders_are_by_time_number_and_name(tmp_path: Path):
    dumps.write(tmp_path, 1, "b", "before_optimizations", dumps.TRAIN)
    for number in (2, 3):
        dumps.write(tmp_path, number, "a", "before_optimizations", dumps.TRAIN, dumps.WHEN + 5)
    dumps.write(tmp_path, 4, "c", "before_optimizations", dumps.TRAIN, dumps.WHEN + 9)
    groups = shelve(load(tmp_path).catalog, {}).groups
    assert [group.name for group in ordered(groups, "newest")] == ["c", "a", "b"]
    assert ordered(groups, "recompiled")[0].name == "a"
    assert [group.name for group in ordered(groups, "name")] == ["a", "b", "c"]
    assert ordered(groups, "first") == list(groups)


async def test_a_graph_is_walked_through(dump):
    async with driving(dump) as app:
        await at_the_loop(app)
        screen = await graph(app)
        await app.sees("[mul.3 multiply f32[4,8]]", "▶[mul.3")
        await app.press("up")
        assert screen.at in (("region_0.4", "tanh.2"), ("region_0.4", "dot.9"))
        await app.press("down", "down")
        assert screen.at == ("region_0.4", "tuple.4")
        await app.press("down")
        await app.sees("no users")
        await app.press("minus", "minus")
        await app.until(
            lambda: screen.drawing is not None and len(screen.drawing.graph.nodes) == 1, "one is left"
        )
        await app.press("up")
        await app.sees("2 operands are not drawn")
        await app.press("plus", "equals_sign")
        await app.sees("2 away")
        await app.press("enter")
        await app.opened()
        assert app.app.main.code.line == app.app.desk.opened.module.find("mul.3", "region_0.4").line


async def test_a_graph_shows_ways_goes_elsewhere_and_back(dump):
    async with driving(dump, (80, 24)) as app:
        await at_the_loop(app)
        screen = await graph(app)
        await app.press("t")
        await app.type("p")
        await app.press("enter")
        await app.sees("ways to %p")
        await app.press("slash")
        await app.type("main.88/a.1")
        await app.press("enter")
        await app.until(lambda: screen.drawing is not None and screen.at == ("main.88", "a.1"), "another one")
        await app.press("b", "b")
        await app.sees("[mul.3 multiply")
        await app.press("t")
        await app.type("a.1")
        await app.press("enter")
        await app.sees("no way leads from one to the other")


async def test_a_graph_goes_to_one_of_a_list(dump):
    async with driving(dump) as app:
        await at_the_loop(app)
        screen = await graph(app)
        await app.press("slash")
        await app.type("op:tuple")
        await app.press("enter")
        await app.sees("tuple.4", "init", "main.88")
        await app.press("down", "enter")
        await app.until(
            lambda: screen.drawing is not None and screen.at == ("main.88", "init"), "it is drawn"
        )
        await app.press("slash")
        await app.type("nowhere")
        await app.press("enter")
        await app.sees("not found: nowhere")


async def test_a_graph_leads_to_callers_and_into_what_is_called(dump):
    async with driving(dump) as app:
        await at_the_loop(app)
        screen = await graph(app)
        await app.press("u")
        await app.until(
            lambda: screen.drawing is not None and screen.at == ("main.88", "while.6"), "the loop"
        )
        await app.press("d")
        await app.until(
            lambda: screen.drawing is not None and screen.at == ("region_0.4", "tuple.4"), "its body"
        )
        await app.press("d")
        await app.sees("%tuple.4 calls nothing")
        await app.press("b", "u")
        await app.sees("nothing calls main.88")


async def test_fusions_of_a_graph_are_opened_and_closed():
    async with driving(DATA / "passes") as app:
        await app.opened()
        (path,) = (DATA / "passes").glob("*jit_tagged.cpu_after*")
        module = Module(FileSource(path))
        module.scan()
        screen = GraphScreen(app.app, module, app.app.desk.wanted, ("region_0.1", "tuple.3"))
        app.app.push_screen(screen)
        await app.sees("multiply_tanh_fusion")
        await app.press("up")
        at = screen.at
        await app.press("o")
        await app.until(lambda: screen.drawing is not None and at not in screen.drawing.places, "it is open")
        await app.press("O")
        await app.until(
            lambda: (
                screen.drawing is not None
                and not any(node.opcode == "fusion" for node in screen.drawing.graph.nodes.values())
            ),
            "all are open",
        )
        await app.press("O")
        await app.sees("multiply_tanh_fusion")


async def test_a_graph_is_saved_outside_of_the_dump(dump, tmp_path):
    async with driving(dump) as app:
        await at_the_loop(app)
        await graph(app)
        for where, words in (
            (dump / "a.svg", "inside the watched directory"),
            (tmp_path / "a.svg", "written"),
        ):
            await app.press("s")
            await app.pilot.press("ctrl+u", *_keys(str(where)))
            await app.press("enter")
            await app.sees(words)
        assert (tmp_path / "a.svg").read_text().startswith("<svg")
        assert not (dump / "a.svg").exists()


def _keys(text: str) -> list[str]:
    names = {"/": "slash", ".": "full_stop", "_": "underscore", "-": "minus", " ": "space"}
    return [names.get(letter, letter) for letter in text]


async def command(app: Driver, identity: str, text: str) -> None:
    """Run a command of the palette and answer what it asks for."""
    app.app.action_command(identity)
    await app.pilot.pause()
    await app.pilot.press("ctrl+u", *_keys(text))
    await app.press("enter")


async def test_an_instruction_is_cut_out_and_copied(dump, tmp_path, monkeypatch):
    async with driving(dump) as app:
        await at_the_loop(app)
        out = tmp_path / "part.hlo"
        app.app.action_command("extract")
        await app.sees("0 is this instruction alone")
        await app.press("escape")
        await command(app, "extract", f"{out} 1")
        await app.sees("3 instructions, 2 parameters")
        text = out.read_text()
        assert "ROOT %mul.3" in text
        assert "%dot.9 = f32[4,8]{1,0} dot(" in text
        copied: list[str] = []
        monkeypatch.setattr(app.app, "copy_to_clipboard", copied.append)
        app.app.action_command("extract_copy")
        await app.sees("copied: %mul.3 as a module")
        assert copied[0].startswith("HloModule")
        assert "ROOT %mul.3" in copied[0]


async def test_a_bundle_is_made_and_its_summary_copied(dump, tmp_path, monkeypatch):
    async with driving(dump) as app:
        await at_the_loop(app)
        copied: list[str] = []
        monkeypatch.setattr(app.app, "copy_to_clipboard", copied.append)
        await command(app, "bundle", f"{tmp_path / 'b.tar.gz'} scrub passes")
        await app.until(lambda: copied, "the summary is copied")
        await app.sees("written")
        assert copied[0].startswith("# jit_train_step #12")
        with tarfile.open(tmp_path / "b.tar.gz") as archive:
            names = archive.getnames()
        assert sum(name.endswith(".txt") for name in names) == 3
        await command(app, "bundle", f"{tmp_path / 'b.tar.gz'} nonsense")
        await app.sees("Not an option")
        await command(app, "bundle", f"{tmp_path / 'b.tar.gz'}")
        await app.sees("is there already")


async def test_a_computation_is_drawn_into_a_file(dump, tmp_path):
    async with driving(dump) as app:
        await at_the_loop(app)
        await command(app, "picture", str(tmp_path / "a.html"))
        await app.until(lambda: (tmp_path / "a.html").exists(), "the page is written")
        await app.sees("written")
        assert "tanh.2" in (tmp_path / "a.html").read_text()


HEAD = b"""HloModule jit_%s, entry_computation_layout={}

FileNames
1 "%s"
2 "/env/lib/site-packages/jax/_src/numpy/core.py"

FunctionNames
1 "<module>"
2 "%s"

FileLocations
1 {file_name_id=1 function_name_id=1 line=3}
2 {file_name_id=%d function_name_id=2 line=4}

"""


@pytest.mark.parametrize(
    ("module", "function", "file", "own"),
    [
        (b"loss", b"loss", 1, True),
        (b"loss", b"Trainer.loss", 1, True),
        (b"loss", b"main.<locals>.loss", 1, True),
        (b"_lambda", b"<lambda>", 1, True),
        (b"broadcast_in_dim", b"main", 1, False),
        (b"median", b"median", 2, False),
        (b"loss", b"lossy", 1, False),
    ],
)
def test_a_function_of_ones_own_is_told_by_its_name_in_a_file_of_ones_own(module, function, file, own):
    assert is_own(HEAD % (module, b"/home/me/train.py", function, file)) is own


def test_any_beginning_is_somebodys_or_nobodys():
    for text in (b"", b"HloModule", b"HloModule jit_, x\nFileNames\n", b"\0\xff", HEAD, HEAD[:90]):
        assert is_own(text) is False


def test_a_small_function_of_ones_own_is_not_among_the_helpers(tmp_path: Path):
    dumps.write(tmp_path, 1, "jit_big", "before_optimizations", dumps.TRAIN + "\n" * 40_000)
    for number in range(5):
        dumps.write(
            tmp_path, 10 + number, f"jit_helper_{number}", "before_optimizations", dumps.helper(f"h{number}")
        )
    own = (HEAD % (b"loss", b"/home/me/train.py", b"loss", 1)).decode() + dumps.helper("x").partition("\n")[2]
    dumps.write(tmp_path, 20, "jit_loss", "before_optimizations", own)
    shelf = shelf_of(tmp_path)
    assert [group.name for group in shelf.groups] == ["jit_big", "jit_loss"]
    assert len(shelf.small) == 5


def test_ones_own_functions_come_before_larger_ones_of_a_library(tmp_path: Path):
    dumps.write(
        tmp_path, 1, "jit__normal", "before_optimizations", dumps.TRAIN.replace("breakpoint", "note") * 9
    )
    own = (HEAD % (b"loss", b"/home/me/train.py", b"loss", 1)).decode() + dumps.helper("x").partition("\n")[2]
    dumps.write(tmp_path, 20, "jit_loss", "before_optimizations", own)
    assert [group.name for group in shelf_of(tmp_path).groups] == ["jit_loss", "jit__normal"]
    dumps.write(tmp_path, 30, "jit_tagged", "before_optimizations", dumps.TRAIN)
    assert [group.name for group in shelf_of(tmp_path).groups] == ["jit_tagged", "jit_loss", "jit__normal"]


def shelf_of(root: Path) -> Shelf:
    catalog = load(root).catalog
    peeks = {}
    for module in catalog.modules:
        if module.stages:
            data = (root / module.stages[0].main.path).read_bytes()
            peeks[module.key] = peek(data[: 1 << 18], len(data))
    return shelve(catalog, peeks)


def test_no_helper_of_a_real_dump_is_taken_for_ones_own():
    shelf = shelf_of(corpus_dir() / "dumps" / "jax0102-p05_mixed-snapshots_all")
    first = {group.name for group in shelf.groups}
    assert {"jit_bf16_mlp", "jit_cplx", "jit_loss_scale_step", "jit_quant"} <= first
    small = {module.name for module in shelf.small}
    assert {"jit_broadcast_in_dim", "jit_convert_element_type", "jit_stage"} <= small


async def test_ones_own_function_is_opened_and_not_a_larger_one_of_a_library(tmp_path):
    dump = tmp_path / "xladump"
    dumps.write(dump, 1, "jit__normal", "before_optimizations", dumps.TRAIN.replace("breakpoint", "note"))
    own = (HEAD % (b"loss", b"/home/me/train.py", b"loss", 1)).decode() + dumps.helper("x").partition("\n")[2]
    dumps.write(dump, 20, "jit_loss", "before_optimizations", own)
    async with driving(dump) as app:
        await app.opened()
        await app.until(lambda: app.app.desk.wanted.title.startswith("jit_loss"), "it is open")
