"""Parts of modules: each runs alone and gives the value that it has in the whole module."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hlo_tui.cli import main
from hlo_tui.cutting.extract import ALL, Part, extract_instruction, find_part
from hlo_tui.errors import EngineError, HloTuiError
from hlo_tui.hlo.loading import open_document
from hlo_tui.hlo.module import Module
from hlo_tui.hlo.source import BytesSource
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.frames import Frame
from hlo_tui.replay.livein import save_parts
from hlo_tui.replay.opening import open_target
from hlo_tui.replay.values import compare, find_unknown, to_numpy
from tests.corpus import DATA, corpus_dir

Open = Callable[..., Debugger]


def scanned(path: Path) -> Module:
    module = Module(open_document(path).source)
    module.scan()
    return module


def module_of(text: str) -> Module:
    module = Module(BytesSource(text.encode(), "m"))
    module.scan()
    return module


def names_in(part: Part) -> list[str]:
    found = module_of(part.text.decode())
    assert found.outline is not None
    assert found.outline.entry is not None
    return [one.name for one in found.body(found.outline.entry).instructions]


TEXT = """HloModule m, is_scheduled=true, entry_computation_layout={(f32[8]{0})->f32[8]{0}}, num_partitions=2

%inner (p: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  ROOT %n = f32[8]{0} negate(%p)
}

%outer (p.1: f32[8]) -> f32[8] {
  %p.1 = f32[8]{0} parameter(0)
  ROOT %f = f32[8]{0} fusion(%p.1), kind=kLoop, calls=%inner
}

%alone (q: f32[8]) -> f32[8] {
  ROOT %q = f32[8]{0} parameter(0)
}

ENTRY %main (a: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %one = f32[] constant(1)
  %left = f32[8]{0} constant({...})
  %b = f32[8]{0} broadcast(%one), dimensions={}
  %t = (f32[8]{0}, token[], (s32[], f32[8]{0})) custom-call(%a), custom_call_target="x", control-predecessors={%b}
  %g = f32[8]{0} get-tuple-element(%t), index=0
  %h = f32[8]{0} add(%g, %b), control-predecessors={%b, %left}, metadata={op_name="x"}
  %i = f32[8]{0} multiply(%h, %left)
  ROOT %c = f32[8]{0} call(%i), to_apply=%outer
}
"""


def test_operands_come_along_as_deep_as_was_asked_for():
    module = module_of(TEXT)
    assert names_in(find_part(module, "c")) == ["i", "c"]
    assert names_in(find_part(module, "c", 1)) == ["left", "h", "i", "c"]
    assert names_in(find_part(module, "c", 2)) == ["left", "b", "g", "h", "i", "c"]
    everything = find_part(module, "c", ALL)
    assert set(names_in(everything)) == {"a", "one", "left", "b", "t", "g", "h", "i", "c"}
    assert [one.instruction for one in everything.parameters] == ["left", "a"]


def test_what_is_called_and_the_header_come_along_and_the_rest_does_not():
    part = find_part(module_of(TEXT), "c")
    text = part.text.decode()
    assert "%inner" in text
    assert "%outer" in text
    assert "%alone" not in text
    assert "num_partitions=2" in text
    assert "is_scheduled=true" in text
    assert "entry_computation_layout" not in text
    assert text.index("%inner (") < text.index("%outer (")


def test_a_tuple_is_put_together_of_parameters_and_an_element_comes_in_alone():
    module = module_of(TEXT)
    part = find_part(module, "g")
    assert [(one.instruction, one.element) for one in part.parameters] == [
        ("t", (0,)), ("t", (2, 0)), ("t", (2, 1)),
    ]  # fmt: skip
    assert part.text.decode().count("after-all()") == 1
    part = find_part(module, "h", 1)
    assert [(one.instruction, one.element) for one in part.parameters] == [("g", ())]


def test_control_dependencies_on_what_stays_outside_are_left_out_and_said():
    part = find_part(module_of(TEXT), "h", 1)
    assert "control-predecessors={%b}" in part.text.decode()
    assert any("control" in note for note in part.notes)
    assert "control" not in find_part(module_of(TEXT), "h").text.decode()


def test_a_constant_without_values_comes_in():
    part = find_part(module_of(TEXT), "i")
    assert [one.name for one in part.parameters] == ["left", "h"]
    assert "{...}" not in part.text.decode()
    part = find_part(module_of(TEXT), "left")
    assert "ROOT %left = f32[8]{0} parameter(0)" in part.text.decode()
    assert any("no values" in note for note in part.notes)


def test_a_computation_is_an_entry_with_what_it_calls():
    part = find_part(module_of(TEXT), "outer")
    assert part.text.decode().count("ENTRY %outer") == 1
    assert "%inner" in part.text.decode()
    assert "%main" not in part.text.decode()
    assert [one.name for one in part.parameters] == ["p.1"]
    assert find_part(module_of(TEXT), "outer/").text == part.text


@pytest.mark.parametrize("name", ["nothing", "main/nothing", "nothing/c", "nothing/", "/", ""])
def test_what_is_not_there_is_an_error(name: str):
    with pytest.raises(HloTuiError):
        find_part(module_of(TEXT), name)


def test_an_operand_that_is_missing_is_an_error():
    with pytest.raises(HloTuiError, match="operand"):
        find_part(module_of("ENTRY e {\n  %a = f32[] add(%b, %c)\n}\n"), "a")


@given(
    st.lists(
        st.sampled_from([*TEXT.splitlines(), "}", "%x = f32[] add(%x, %y)", "\0", "ENTRY {", '"']),
        max_size=30,
    )
)
@settings(max_examples=150, deadline=None)
def test_damaged_text_gives_a_part_or_an_error(lines: list[str]):
    module = module_of("\n".join(lines))
    assert module.outline is not None
    for computation in module.outline.computations:
        for one in module.body(computation).instructions:
            for depth in (0, 1, ALL):
                try:
                    part = extract_instruction(module, one, depth)
                except HloTuiError:
                    continue
                assert part.text.startswith(b"HloModule")


def same(debug: Open, path: Path, where: tuple[str, str], depth: int, out: Path) -> str:
    """Whether a part gives what the whole has: "equal", "within", or why that could not be seen."""
    whole = debug(path, stops=())
    if whole.topology.devices > 1:
        return "several devices"
    try:
        event = whole.move("to", target=where)
    except EngineError as error:
        return f"the whole does not run: {error.title}"
    if event["event"] != "stop":
        return "never run"
    part = find_part(scanned(path), "/".join(where), depth)
    parts = [[one.name, one.computation, one.instruction, one.element] for one in part.parameters]
    inputs = out / "in.npz"
    try:
        save_parts(whole, {"path": str(inputs), "parts": parts, "result": list(where)})
    except EngineError:
        return "a value is unknown"
    frame, index = whole.locate(*where)
    expected = whole.evaluator.value(frame, index)
    if find_unknown(expected) is not None:
        return "a value is unknown"
    module = out / "part.hlo"
    module.write_bytes(part.text)
    # XLA itself takes the part.
    open_target(module)
    alone = debug(module, inputs=str(inputs) if parts else "auto")
    got = alone.evaluator.root(Frame(alone.program.entry, list(alone.inputs.values)))
    if alone.program.draws(alone.program.entry.ops[alone.program.entry.root]):
        return "drawn anew"
    found = compare(to_numpy(expected), to_numpy(got), 1e-4)
    assert found.within, (path, where, depth, found)
    return "equal" if found.exact else "within"


def check(debug: Open, files: list[Path], count: int, tmp_path: Path, seed: int = 0) -> Counter[str]:
    draw = random.Random(seed)
    places = []
    for path in files:
        module = scanned(path)
        assert module.outline is not None
        there = [
            (path, (computation.name, one.name))
            for computation in module.outline.computations
            for one in module.body(computation).instructions
        ]
        places += draw.sample(there, min(len(there), 1 + 3 * count // len(files)))
    draw.shuffle(places)
    outcomes: Counter[str] = Counter()
    for path, where in places:
        outcomes[same(debug, path, where, draw.choice((0, 0, 1, 2, 5, ALL)), tmp_path)] += 1
        if outcomes["equal"] + outcomes["within"] >= count:
            break
    return outcomes


def test_parts_give_the_values_of_the_whole(debug: Open, tmp_path: Path):
    files = sorted((DATA / "replay").glob("*.txt")) + sorted((DATA / "passes").glob("*_optimizations.txt"))
    outcomes = check(debug, files, 25, tmp_path)
    assert outcomes["equal"] + outcomes["within"] >= 25, outcomes
    assert outcomes["equal"] > outcomes["within"]


def test_parts_of_real_modules_give_the_values_of_the_whole(debug: Open, tmp_path: Path):
    count = int(os.environ.get("HLO_TUI_PARTS", "12"))
    files = [
        path
        for path in sorted(corpus_dir().glob("dumps/jax01*/*_optimizations.txt"))
        if 1000 < path.stat().st_size < 300_000
    ]
    outcomes = check(debug, random.Random(1).sample(files, min(len(files), count)), count, tmp_path)
    assert outcomes["equal"] + outcomes["within"] >= count, outcomes


def test_the_command_writes_a_module_and_its_inputs_that_a_replay_takes(tmp_path: Path, capsys):
    (path,) = (DATA / "replay").glob("*jit_product.before_optimizations.txt")
    module = scanned(path)
    name = next(
        hit.name for hit in module.body(module.outline.entry).instructions if hit.opcode != "parameter"
    )
    out = tmp_path / "part.hlo"
    assert main(["extract", str(path), name, "-o", str(out), "--values", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["instruction"] == name
    assert told["path"] == str(out)
    assert main(["replay", str(out), "--inputs", told["values"], "--break", name, "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert events[1]["value"] == told["result"]
    assert events[-1]["self_check"] == "match"


def test_a_part_for_several_devices_gives_each_its_own_value(tmp_path: Path, capsys):
    dump = corpus_dir() / "dumps" / "jax0102-p01_metadata-default"
    (path,) = dump.glob("*jit_spmd.cpu_after_optimizations.txt")
    out = tmp_path / "part.hlo"
    assert main(["extract", str(path), "all-reduce", "-o", str(out), "--values", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert main(["replay", str(out), "--inputs", told["values"], "--break", "all-reduce", "--json"]) == 0
    events = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    stops = [event for event in events if event["event"] == "stop"]
    assert [stop["partition"] for stop in stops] == list(range(8))
    assert stops[0]["value"] == told["result"]
    # Pairs of devices sum up what they have: they agree, and others do not.
    firsts = [tuple(stop["value"]["first"]) for stop in stops]
    assert firsts[0::2] == firsts[1::2]
    assert len(set(firsts)) == 4


def test_the_command_prints_the_module(capsysbinary):
    (path,) = (DATA / "replay").glob("*jit_product.before_optimizations.txt")
    assert main(["extract", str(path), scanned(path).outline.entry.name]) == 0
    assert capsysbinary.readouterr().out.startswith(b"HloModule")
    assert main(["extract", str(path), "nothing"]) == 2
