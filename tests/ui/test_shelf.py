"""What is on the shelf: the order of modules, what their beginnings say, and the rows of the tree."""

from __future__ import annotations

from pathlib import Path

from hlo_tui.dump.listing import load
from hlo_tui.ui.shelf import Peek, difference, peek, shelve
from hlo_tui.ui.treerows import Node, Place, TreeView, build, clock, first_node, parents_of, place_of
from tests.ui import dumps


def shelf_of(root: Path):
    catalog = load(root).catalog
    peeks = {}
    for module in catalog.modules:
        data = (root / module.stages[0].main.path).read_bytes()
        peeks[module.key] = peek(data, len(data))
    return shelve(catalog, peeks)


def rows(shelf, view: TreeView | None = None, width: int = 40) -> list[str]:
    return [
        ("".join(s.text for s in row.spans) + " | " + "".join(s.text for s in row.right)).rstrip(" |")
        for row in build(shelf, view or TreeView(), width)
    ]


def test_tags_are_counted_whatever_their_form():
    text = b'frontend_attributes={breakpoint="true"}\nfrontend_attributes={a="1",breakpoint="false"}\n' + (
        b'{breakpoint=""} {breakpoint=true} {breakpoint=0} {x_breakpoint="true"} {breakpoint="tensor:nan"}'
    )
    assert peek(text, len(text)).tags == 3
    assert peek(text, len(text) + 1).more


def test_arguments_tell_why_something_was_compiled_again():
    old = peek(
        b"HloModule f, entry_computation_layout={(f32[4]{0}, /*index=1*/bf16[16,1024]{1,0})->f32[]}\n", 1
    )
    new = peek(b"HloModule f, entry_computation_layout={(f32[4]{0}, bf16[16,2048]{1,0})->f32[]}\n", 1)
    assert old.arguments == ("f32[4]", "bf16[16,1024]")
    assert difference(old, new) == "recompiled: argument 1 is bf16[16,2048], was bf16[16,1024]"
    assert difference(old, old) == ""
    assert difference(Peek(arguments=("s32[]",)), new) == "recompiled: 2 arguments, had 1"
    assert difference(Peek(), new) == ""


def test_any_beginning_is_read(tmp_path):
    for data in (b"", b"\xff\xfe", b"HloModule", b"HloModule x, entry_computation_layout={(", b"{" * 5000):
        assert peek(data, len(data)).tags == 0


def test_tagged_modules_come_first_and_helpers_last(tmp_path):
    shelf = shelf_of(dumps.make(tmp_path / "d"))
    assert rows(shelf) == ["▸ jit_train_step | ● 2 #12", "▸ jit_eval |  #14", "▸ 5 small modules"]
    assert first_node(shelf) == Node("module", shelf.groups[0].modules[0].key)
    assert shelf.count == 7


def test_what_is_unfolded_shows_stages_passes_and_files(tmp_path):
    root = dumps.make(tmp_path / "d")
    (root / "module_0012.jit_train_step.thunk_sequence.txt").write_text("x")
    shelf = shelf_of(root)
    key = shelf.groups[0].modules[0].key
    place = Place("module_0012.jit_train_step.before_optimizations.txt", key, "before_optimizations")
    opened = frozenset((Node("module", key), Node("passes", key), Node("files", key)))
    shown = rows(shelf, TreeView(opened, shown=place))
    assert shown[:7] == [
        "▾ jit_train_step | ● 2 #12",
        "  → before | 2.1 kB",
        "  ▾ 1 pass",
        "      0001 algsimp | 2.1 kB",
        "    after · cpu | 2.1 kB",
        "  ▾ 1 file",
        "      thunk-sequence | 1 B",
    ]


def test_recompilations_are_one_group(tmp_path):
    root = dumps.make(tmp_path / "d", helpers=0)
    other = dumps.TRAIN.replace("(f32[4,8]{1,0}, f32[8,8]{1,0})->", "(f32[2,8]{1,0}, f32[8,8]{1,0})->")
    dumps.write(root, 44, "jit_train_step", "before_optimizations", other, dumps.WHEN + 60)
    shelf = shelf_of(root)
    shown = rows(shelf, TreeView(frozenset((Node("group", "jit_train_step"),))), width=60)
    assert shown[0] == "▾ jit_train_step | ● 2 ×2"
    assert shown[1].startswith("  ▸ #44 | ● 2 ")
    assert shown[2] == "      recompiled: argument 0 is f32[2,8], was f32[4,8]"
    assert shown[3].startswith("  ▸ #12 | ● 2 ")


def test_the_module_that_is_read_can_be_told_from_others_of_its_name(tmp_path):
    root = dumps.make(tmp_path / "d", helpers=0)
    dumps.write(root, 44, "jit_train_step", "before_optimizations", dumps.TRAIN, dumps.WHEN + 60)
    shelf = shelf_of(root)
    group = shelf.groups[0]
    place = Place("module_0012.jit_train_step.before_optimizations.txt", group.modules[1].key)
    unfolded = frozenset((Node("group", group.name),))
    marked = [
        "".join(span.text for span in line.spans)
        for line in build(shelf, TreeView(unfolded, shown=place), 60)
        if any(span.role == "accent" for span in line.spans)
    ]
    assert marked == ["  ▸ #12"]


def test_the_filter_looks_at_names_numbers_and_stages(tmp_path):
    shelf = shelf_of(dumps.make(tmp_path / "d"))
    assert rows(shelf, TreeView(filter="helper")) == [f"▸ jit_helper_{n} |  #2{n}" for n in range(5)]
    assert rows(shelf, TreeView(filter="jit #14")) == ["▸ jit_eval |  #14"]
    assert rows(shelf, TreeView(filter="algsimp")) == [
        "▸ jit_train_step | ● 2 #12",
        "    0001 algsimp | 2.1 kB",
    ]
    assert rows(shelf, TreeView(filter="nothing")) == [" nothing matches"]


def test_places_and_their_parents(tmp_path):
    shelf = shelf_of(dumps.make(tmp_path / "d"))
    node = Node("module", shelf.small[0].key)
    place = place_of(shelf, node)
    assert place.label == "before_optimizations"
    assert parents_of(shelf, place) == [Node("small"), node]
    assert place_of(shelf, Node("small")) is None


def test_a_time_of_day_has_a_date_when_it_is_another_day(monkeypatch):
    when = dumps.WHEN * 10**9
    assert clock(when, now=dumps.WHEN + 60) == "22:13:20"
    assert clock(when, now=dumps.WHEN + 7 * 86400) == "Nov 14 22:13"


def test_names_in_a_dump_cannot_command_the_terminal(tmp_path):
    dumps.write(tmp_path / "d", 1, "jit_\x1b[2J", "before_optimizations", dumps.TRAIN)
    assert all("\x1b" not in row for row in rows(shelf_of(tmp_path / "d")))
