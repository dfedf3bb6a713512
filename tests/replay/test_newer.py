"""Text of a newer XLA runs: compact operands are written out, what is not known is left out and named."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hlo_tui.replay.compact import expand, is_compact
from hlo_tui.replay.meshnames import rewrite
from hlo_tui.replay.sharding import read_meshes
from tests.corpus import corpus_dir
from tests.replay.conftest import Open, forward

COMPACT = """
HloModule compact

body {
  %s.1 = (s32[], (f32[], f32[2])) parameter(0)
  %one = s32[] constant(1)
  %n = s32[] add(%s.1#0, %one), metadata={op_name="a#0 \\"#1"}
  %two = f32[] constant(2)
  %v = f32[] multiply(%s.1#1#0, %two)
  %pair = (f32[], f32[2]) tuple(%v, %s.1#1#1)
  ROOT %t = (s32[], (f32[], f32[2])) tuple(%n, %pair)
}

cond {
  %s.2 = (s32[], (f32[], f32[2])) parameter(0)
  %k = s32[] constant(3)
  ROOT %c = pred[] compare(%s.2#0, %k), direction=LT
}

ENTRY e {
  %x = f32[] parameter(0)
  %y = f32[2] parameter(1)
  %z = s32[] constant(0)
  %p = (f32[], f32[2]) tuple(%x, %y)
  %s = (s32[], (f32[], f32[2])) tuple(%z, %p)
  %w = (s32[], (f32[], f32[2])) while(%s), condition=cond, body=body
  ROOT %r = f32[] negate(%w#1#0)
}
"""


@pytest.fixture
def compact(tmp_path: Path) -> Path:
    path = tmp_path / "compact.txt"
    path.write_text(COMPACT)
    np.savez(tmp_path / "in.npz", x=np.float32(1.5), y=np.zeros(2, np.float32))
    return path


def test_compact_operands_run(debug: Open, compact: Path) -> None:
    debugger = debug(compact, inputs=str(compact.with_name("in.npz")), stops=("body/v",))
    *stops, end = forward(debugger)
    assert [stop["value"]["first"] for stop in stops] == [[3.0], [6.0], [12.0]]
    assert (end["outputs"][0]["first"], end["self_check"]) == ([-12.0], "match")


def test_stepping_stays_on_the_lines_of_the_text(debug: Open, compact: Path) -> None:
    debugger = debug(compact, inputs=str(compact.with_name("in.npz")), stops=("op:no-such-opcode",))
    there = []
    while (event := debugger.move("step"))["event"] == "stop":
        there.append((event["instruction"], event["key"]))
    names = {name for name, _ in there}
    assert names == {line.split(" = ")[0].split("%")[1] for line in COMPACT.splitlines() if " = " in line}
    back = []
    while (event := debugger.move("step", backward=True))["event"] == "stop":
        back.append((event["instruction"], event["key"]))
    assert back == there[::-1]


def test_strings_and_what_is_no_tuple_stay() -> None:
    text = b'HloModule m\n\nENTRY e {\n  x = f32[] parameter(0)\n  ROOT y = f32[] add(x#0, gone#1), note="x#0"\n}\n'
    assert is_compact(text)
    assert expand(text) == text
    assert not is_compact(COMPACT.replace("%s", "%t").replace("#", ".").encode())


MESH = "mesh['a'=4,'b'=2]"


@pytest.mark.parametrize(
    ("named", "listed"),
    [
        ("[{'a'}, {}]", "{devices=[4,1,2]0,1,2,3,4,5,6,7 last_tile_dim_replicate}"),
        ("[{}, {'b'}]", "{devices=[1,2,4]0,2,4,6,1,3,5,7 last_tile_dim_replicate}"),
        ("[{'b', 'a'}]", "{devices=[8]0,2,4,6,1,3,5,7}"),
        ("[{'a', ?}, {'b'}], replicated={}", "{devices=[4,2]0,1,2,3,4,5,6,7}"),
        ("[{}, {}]", "{replicated}"),
        ("manual", "{manual}"),
        ("[{'a':(1)2}]", None),
    ],
)
def test_shardings_by_mesh_names_become_lists_of_devices(named: str, listed: str | None) -> None:
    text = f"sharding={{{MESH}, {named}}}, metadata={{}}".encode()
    assert rewrite(text) == (text if listed is None else f"sharding={listed}, metadata={{}}".encode())


@pytest.mark.parametrize("size", ["0", "999999999", "9" * 5000, "4000000"])
def test_a_mesh_that_no_machine_has_stays_as_it_is(size: str) -> None:
    text = f"sharding={{mesh['a'={size},'b'=2], [{{'a'}}, {{'b'}}]}}".encode()
    assert rewrite(text) == text


def test_devices_that_are_no_numbers_are_counted_instead() -> None:
    text = b"sharding={mesh['a'=2, device_ids=(1 1,0)], [{'a'}]}"
    assert rewrite(text) == b"sharding={devices=[2]0,1}"


@pytest.mark.parametrize(
    ("mesh", "devices"),
    [
        ('["a"=2, "b"=2]', (0, 1, 2, 3)),
        ('["a"=2, "b"=2], device_ids=[3, 2, 1, 0]', (3, 2, 1, 0)),
        ('["a"=2, "b"=2], device_ids=[3, 2, 1, 1]', None),
        ('["a"=2, "b"=2], device_ids=[3, 2, 1, 7]', None),
        ('["a"=2], device_ids=[x, 1]', None),
        (f'["a"=2], device_ids=[{"9" * 5000}, 1]', None),
        ('["a"=999999999, "b"=999999999]', None),
    ],
)
def test_a_mesh_has_each_device_once(mesh: str, devices: tuple[int, ...] | None) -> None:
    found = read_meshes(f"{{mesh = #sdy.mesh<{mesh}>}}").get("mesh")
    assert (None if found is None else found.devices) == devices


@pytest.mark.parametrize("stage", ["before_optimizations.txt", "cpu_after_optimizations.txt"])
@pytest.mark.parametrize("module", ["whiled", "scanned", "conded", "grad_cvjp", "doc_quotes"])
def test_dumps_of_a_newer_jax_run(debug: Open, module: str, stage: str) -> None:
    (path,) = (corpus_dir() / "dumps" / "jax012-p01_metadata-default").glob(f"*.jit_{module}.{stage}")
    *stops, end = forward(debug(path, inputs="ones"))
    assert stops
    assert (end["self_check"], end["unknown"]) == ("match", [])
