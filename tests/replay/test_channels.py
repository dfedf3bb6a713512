"""Sends and receives between devices: what is received is what was sent, as numpy moves it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis.strategies import text

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay import xla
from hlo_tui.replay.channels import pairs_of
from hlo_tui.replay.debugger import Debugger
from hlo_tui.replay.grain import Grain
from hlo_tui.replay.inputs import Inputs
from hlo_tui.replay.provenance import Place, Trace
from hlo_tui.replay.slices import SliceCache
from hlo_tui.replay.supplies import Supplies
from hlo_tui.replay.uses import find_uses
from tests.replay.conftest import forward
from tests.replay.running import program_of
from tests.replay.sessions import opened

GRAINS = ("whole", "unit", "body")
X = np.arange(1, 9, dtype=np.float32).reshape(4, 2)


def along(pairs: str) -> str:
    return f'frontend_attributes={{_xla_send_recv_source_target_pairs="{pairs}"}}'


def test_the_devices_are_written_in_two_ways() -> None:
    pairs = [pb.SourceTarget(source=0, target=2), pb.SourceTarget(source=1, target=0)]
    assert pairs_of(pb.HloInstructionProto(opcode="recv", source_target_pairs=pairs)) == ((0, 2), (1, 0))
    written = pb.HloInstructionProto(opcode="send")
    written.frontend_attributes.map["_xla_send_recv_source_target_pairs"] = "{{0,2},{1, 0}}"
    assert pairs_of(written) == ((0, 2), (1, 0))


@given(text())
def test_any_text_is_read_as_devices(written: str) -> None:
    proto = pb.HloInstructionProto(opcode="send")
    proto.frontend_attributes.map["_xla_send_recv_source_target_pairs"] = written
    assert all(0 <= device < 10**9 for pair in pairs_of(proto) for device in pair)


# As XLA decomposes a collective-permute: what is received is begun first. The second channel closes the ring, and what
# it is given is computed only after its recv; on the third something of two parts goes.
RING = f"""
HloModule ring, num_partitions=4, is_scheduled=true

ENTRY main_spmd {{
  x = f32[2] parameter(0)
  t = token[] after-all()
  r1 = (f32[2], u32[], token[]) recv(t), channel_id=1, {along("{{0,1},{1,2},{2,3}}")}
  send1 = (f32[2], u32[], token[]) send(x, t), channel_id=1, {along("{{0,1},{1,2},{2,3}}")}, control-predecessors={{r1}}
  d1 = (f32[2], token[]) recv-done(r1), channel_id=1
  sent1 = token[] send-done(send1), channel_id=1
  r2 = (f32[2], u32[], token[]) recv(t), channel_id=2, {along("{{3,0}}")}
  twice = f32[2] add(x, x)
  send2 = (f32[2], u32[], token[]) send(twice, t), channel_id=2, {along("{{3,0}}")}
  d2 = (f32[2], token[]) recv-done(r2), channel_id=2
  sent2 = token[] send-done(send2), channel_id=2
  y = f32[2] multiply(x, x)
  inner = (f32[2]) tuple(y)
  both = (f32[2], (f32[2])) tuple(x, inner)
  send3 = ((f32[2], (f32[2])), u32[], token[]) send(both, t), channel_id=3
  r3 = ((f32[2], (f32[2])), u32[], token[]) recv(t), channel_id=3, {along("{{2,1}}")}
  d3 = ((f32[2], (f32[2])), token[]) recv-done(r3), channel_id=3
  sent3 = token[] send-done(send3), channel_id=3
  a = f32[2] get-tuple-element(d1), index=0
  b = f32[2] get-tuple-element(d2), index=0
  c = (f32[2], (f32[2])) get-tuple-element(d3), index=0
  c1 = (f32[2]) get-tuple-element(c), index=1
  d = f32[2] get-tuple-element(c1), index=0
  ROOT all = (f32[2], f32[2], f32[2]) tuple(a, b, d)
}}
"""


def run(path: Path, grain: str, *stops: str) -> list[dict]:
    np.savez(path.parent / "in.npz", x=X)
    options = [
        "--inputs",
        str(path.parent / "in.npz"),
        "--grain",
        grain,
        *(f"--break={one}" for one in stops),
    ]
    command = [sys.executable, "-m", "hlo_tui", "replay", "--json", *options, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.parametrize("grain", GRAINS)
def test_what_is_sent_arrives_at_its_device_and_zeros_at_the_others(tmp_path: Path, grain: str) -> None:
    (tmp_path / "ring.txt").write_text(RING)
    start, *stops, end = run(tmp_path / "ring.txt", grain, "a", "b", "d", "r2")
    assert (start["faithful"], start["reasons"], start["supplied"]) == (True, [], [])
    found: dict[str, list] = {}
    for stop in stops:
        found.setdefault(stop["instruction"], []).append(stop["value"])
    first = {name: [value["first"] for value in found[name]] for name in "abd"}
    nothing = np.zeros((1, 2), np.float32)
    assert first["a"] == np.concatenate([nothing, X[:3]]).tolist()
    assert first["b"] == np.concatenate([2 * X[3:], *[nothing] * 3]).tolist()
    assert first["d"] == np.concatenate([nothing, X[2:3] ** 2, nothing, nothing]).tolist()
    # Where the data are not there yet, a recv has a place for them.
    assert [value["tuple"][0]["zero"] for value in found["r2"]] == [2] * 4
    assert (end["unknown"], end["supplied"], end["self_check"]) == ([], [], "match")


@pytest.mark.parametrize("grain", GRAINS)
def test_one_device_receives_what_it_sends(backend: xla.Backend, cache: SliceCache, grain: str) -> None:
    program = program_of(RING)
    debugger = Debugger(program, Inputs("npz", [X[1]]), backend, cache, grain=Grain(grain))
    debugger.set_stops([])
    (end,) = forward(debugger)
    a, b, d = debugger.evaluator.root(debugger._entry)
    np.testing.assert_array_equal(a, X[1])
    np.testing.assert_array_equal(b, 2 * X[1])
    np.testing.assert_array_equal(d, X[1] ** 2)
    assert (end["unknown"], end["supplied"], end["self_check"]) == ([], [], "match")


@pytest.mark.parametrize("grain", GRAINS)
@pytest.mark.parametrize(("name", "place"), [("r1", 0), ("r2", 1)])
def test_what_the_person_supplies_is_received_instead(
    backend: xla.Backend, cache: SliceCache, grain: str, name: str, place: int, tmp_path: Path
) -> None:
    np.save(tmp_path / "own.npy", np.array([7, 8], np.float32))
    program = program_of(RING)
    debugger = Debugger(program, Inputs("npz", [X[1]]), backend, cache, grain=Grain(grain))
    debugger.supply(Supplies(program, [f"{name}={tmp_path / 'own.npy'}"]))
    found = [np.asarray(value) for value in debugger.evaluator.root(debugger._entry)]
    wanted = [X[1], 2 * X[1], X[1] ** 2]
    wanted[place] = np.array([7, 8], np.float32)
    np.testing.assert_array_equal(found, wanted)


# As XLA pipelines it: an iteration receives what the one before sent, and the transfer is part of what it is given.
PIPELINED = f"""
HloModule pipelined, num_partitions=4

body {{
  p = (s32[], f32[2], (f32[2], u32[], token[])) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  sum = f32[2] get-tuple-element(p), index=1
  under_way = (f32[2], u32[], token[]) get-tuple-element(p), index=2
  d = (f32[2], token[]) recv-done(under_way), channel_id=1
  got = f32[2] get-tuple-element(d), index=0
  new = f32[2] add(sum, got)
  t = token[] after-all()
  r = (f32[2], u32[], token[]) recv(t), channel_id=1, {along("{{0,1},{1,2},{2,3},{3,0}}")}
  s = (f32[2], u32[], token[]) send(new, t), channel_id=1, {along("{{0,1},{1,2},{2,3},{3,0}}")}
  e = token[] send-done(s), channel_id=1
  one = s32[] constant(1)
  j = s32[] add(i, one)
  ROOT next = (s32[], f32[2], (f32[2], u32[], token[])) tuple(j, new, r)
}}

condition {{
  p = (s32[], f32[2], (f32[2], u32[], token[])) parameter(0)
  i = s32[] get-tuple-element(p), index=0
  n = s32[] constant(5)
  ROOT less = pred[] compare(i, n), direction=LT
}}

ENTRY main_spmd {{
  x = f32[2] parameter(0)
  t = token[] after-all()
  zero = s32[] constant(0)
  r = (f32[2], u32[], token[]) recv(t), channel_id=1, {along("{{0,1},{1,2},{2,3},{3,0}}")}
  s = (f32[2], u32[], token[]) send(x, t), channel_id=1, {along("{{0,1},{1,2},{2,3},{3,0}}")}
  e = token[] send-done(s), channel_id=1
  first = (s32[], f32[2], (f32[2], u32[], token[])) tuple(zero, x, r)
  w = (s32[], f32[2], (f32[2], u32[], token[])) while(first), condition=condition, body=body
  under_way = (f32[2], u32[], token[]) get-tuple-element(w), index=2
  d = (f32[2], token[]) recv-done(under_way), channel_id=1
  last = f32[2] get-tuple-element(d), index=0
  sum = f32[2] get-tuple-element(w), index=1
  ROOT r2 = (f32[2], f32[2]) tuple(sum, last)
}}
"""


@pytest.mark.parametrize("grain", GRAINS)
def test_a_transfer_may_be_under_way_from_one_iteration_to_the_next(tmp_path: Path, grain: str) -> None:
    (tmp_path / "pipelined.txt").write_text(PIPELINED)
    _, *stops, end = run(tmp_path / "pipelined.txt", grain, "main_spmd/sum", "main_spmd/last")
    total, moving = X, np.roll(X, 1, axis=0)
    for _ in range(5):
        total = total + moving
        moving = np.roll(total, 1, axis=0)
    by_name: dict[str, list] = {"sum": [], "last": []}
    for stop in stops:
        by_name[stop["instruction"]].append(stop["value"]["first"])
    assert by_name["sum"] == total.tolist()
    assert by_name["last"] == moving.tolist()
    assert (end["unknown"], end["self_check"]) == ([], "match")


ALONE = """
HloModule alone

sending {
  x = f32[2] parameter(0)
  t = token[] after-all()
  s = (f32[2], u32[], token[]) send(x, t), channel_id=1
  e = token[] send-done(s), channel_id=1
  ROOT y = f32[2] copy(x)
}

ENTRY e {
  x = f32[2] parameter(0)
  t = token[] after-all()
  elsewhere = (f32[2], u32[], token[]) recv(t), channel_id=1
  c = f32[2] call(x), to_apply=sending
  to_host = (f32[2], u32[], token[]) send(x, t), channel_id=2, is_host_transfer=true
  from_host = (f32[2], u32[], token[]) recv(t), channel_id=2, is_host_transfer=true
  early = (f32[2], u32[], token[]) recv(t), channel_id=3
  early_done = (f32[2], token[]) recv-done(early), channel_id=3
  got = f32[2] get-tuple-element(early_done), index=0
  back = f32[2] add(got, got)
  late = (f32[2], u32[], token[]) send(back, t), channel_id=3
  other = (f32[2], u32[], token[]) recv(t), channel_id=4
  send4 = (f32[2], u32[], token[]) send(x, t), channel_id=5
  a = f32[2] get-tuple-element(elsewhere), index=0
  b = f32[2] get-tuple-element(from_host), index=0
  d = f32[2] get-tuple-element(other), index=0
  ROOT r = (f32[2], f32[2], f32[2], f32[2]) tuple(a, b, back, d)
}
"""


@pytest.mark.parametrize("grain", GRAINS)
def test_what_no_send_of_the_computation_gives_before_is_made(
    backend: xla.Backend, cache: SliceCache, grain: str
) -> None:
    program = program_of(ALONE)
    debugger = Debugger(program, Inputs("npz", [X[0]]), backend, cache, grain=Grain(grain))
    debugger.set_stops([])
    (end,) = forward(debugger)
    assert [one["instruction"] for one in end["supplied"]] == ["early", "elsewhere", "from_host", "other"]
    assert end["unknown"] == []
    assert end["self_check"] == "skipped"


def test_where_the_way_over_several_devices_is_not_said_it_is_made(tmp_path: Path) -> None:
    other = RING.replace(f", {along('{{3,0}}')}", "")
    (tmp_path / "ring.txt").write_text(other)
    with opened(tmp_path / "ring.txt", ()) as session:
        start = session.state.start
        assert start is not None
        assert [one["instruction"] for one in start["supplied"]] == ["r2"]
        session.move("continue")
        end = session.wait().end
        assert end is not None
        assert end["unknown"] == []
        assert [one["instruction"] for one in end["supplied"]] == ["r2"]
        # Each device has data of its own.
        assert end["outputs"][1]["partitions_differ"] == [1, 2, 3]


# Each end of a transfer may have a channel of its own, and several transfers may begin and end together.
GROUPED = f"""
HloModule grouped, num_partitions=4

group {{
  x = f32[2] parameter(0)
  t = token[] parameter(1)
  y = f32[2] parameter(2)
  send1 = (f32[2], u32[], token[]) send(x, t), channel_id=0, {along("{{0,1},{1,2}}")}
  send2 = (f32[2], u32[], token[]) send(y, t), channel_id=0, {along("{{2,3}}")}
  r1 = (f32[2], u32[], token[]) recv(t), channel_id=0, {along("{{0,1},{1,2}}")}
  r2 = (f32[2], u32[], token[]) recv(t), channel_id=0, {along("{{2,3}}")}
  ROOT all = ((f32[2], u32[], token[]), (f32[2], u32[], token[]), (f32[2], u32[], token[]), (f32[2], u32[], token[]))
    tuple(send1, send2, r1, r2)
}}

ENTRY main {{
  x = f32[2] parameter(0)
  t = token[] after-all()
  y = f32[2] multiply(x, x)
  begun = ((f32[2], token[], f32[2]), ((f32[2], u32[], token[]), (f32[2], u32[], token[]), (f32[2], u32[], token[]),
    (f32[2], u32[], token[])), s32[]) async-start(x, t, y), calls=group
  ended = ((f32[2], u32[], token[]), (f32[2], u32[], token[]), (f32[2], u32[], token[]), (f32[2], u32[], token[]))
    async-done(begun), calls=group
  r1 = (f32[2], u32[], token[]) get-tuple-element(ended), index=2
  r2 = (f32[2], u32[], token[]) get-tuple-element(ended), index=3
  d1 = (f32[2], token[]) recv-done(r1), channel_id=0
  d2 = (f32[2], token[]) recv-done(r2), channel_id=0
  a = f32[2] get-tuple-element(d1), index=0
  b = f32[2] get-tuple-element(d2), index=0
  send3 = (f32[2], u32[], token[]) send(b, t), channel_id=5, {along("{{3,0}}")}
  r3 = (f32[2], u32[], token[]) recv(t), channel_id=6, {along("{{3,0}}")}
  sent3 = token[] send-done(send3), channel_id=5
  d3 = (f32[2], token[]) recv-done(r3), channel_id=6
  c = f32[2] get-tuple-element(d3), index=0
  ROOT all = (f32[2], f32[2], f32[2]) tuple(a, b, c)
}}
"""


@pytest.mark.parametrize("grain", GRAINS)
def test_transfers_in_a_group_and_with_a_channel_for_each_end(tmp_path: Path, grain: str) -> None:
    (tmp_path / "grouped.txt").write_text(GROUPED)
    start, *stops, end = run(tmp_path / "grouped.txt", grain, "main/a", "main/b", "main/c")
    assert (start["devices"], start["supplied"]) == (4, [])
    found: dict[str, list] = {}
    for stop in stops:
        found.setdefault(stop["instruction"], []).append(stop["value"]["first"])
    nothing = np.zeros(2, np.float32)
    assert found["a"] == np.array([nothing, X[0], X[1], nothing]).tolist()
    assert found["b"] == np.array([*[nothing] * 3, X[2] ** 2]).tolist()
    assert found["c"] == np.array([X[2] ** 2, *[nothing] * 3]).tolist()
    assert (end["unknown"], end["self_check"]) == ([], "match")


def test_ends_that_name_other_devices_are_of_two_transfers() -> None:
    text = GROUPED.replace(
        f"r1 = (f32[2], u32[], token[]) recv(t), channel_id=0, {along('{{0,1},{1,2}}')}",
        f"r1 = (f32[2], u32[], token[]) recv(t), channel_id=0, {along('{{0,3}}')}",
    )
    program = program_of(text)
    group = program.by_name("group")
    assert group is not None
    assert {group.ops[index].name for index in group.received} == {"r2"}


def test_one_device_that_stands_for_several_is_said(tmp_path: Path) -> None:
    path = tmp_path / "ring.txt"
    path.write_text(RING.replace(", num_partitions=4", "").replace("main_spmd", "main"))
    with opened(path, ()) as session:
        start = session.state.start
        assert start is not None
        assert not start["faithful"]
        assert "one device stands for several: r1, r2, r3 has what its send gives" in start["reasons"]
    to_itself = path.read_text().replace("{{0,1},{1,2},{2,3}}", "{{0,0}}").replace("{{3,0}}", "{{0,0}}")
    path.write_text(to_itself.replace("{{2,1}}", "{{0,0}}"))
    with opened(path, ()) as session:
        assert session.state.start is not None
        assert "one device" not in " ".join(session.state.start["reasons"])


def test_a_module_that_only_sends_between_devices_runs_on_all_of_them(tmp_path: Path) -> None:
    path = tmp_path / "ring.txt"
    path.write_text(RING.replace("main_spmd", "main"))
    start, *_, end = run(path, "unit")
    assert start["devices"] == 4
    assert end["self_check"] == "match"


def test_what_is_sent_is_used_as_what_is_received_is() -> None:
    module = """
HloModule m

ENTRY e {
  rows = s32[2] parameter(0)
  table = f32[5,3] parameter(1)
  t = token[] after-all()
  r = (s32[2], u32[], token[]) recv(t), channel_id=1
  sent = (s32[2], u32[], token[]) send(rows, t), channel_id=1
  d = (s32[2], token[]) recv-done(r), channel_id=1
  i = s32[2] get-tuple-element(d), index=0
  ROOT g = f32[2,3] gather(table, i), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
    index_vector_dim=1, slice_sizes={1,3}
}
"""
    assert find_uses(program_of(module)).of(0, ()).highest == 4


@pytest.mark.parametrize(("host", "begins"), [("true", "r"), ("false", "x")])
def test_an_element_is_traced_to_where_it_is_received_or_sent(
    backend: xla.Backend, cache: SliceCache, host: str, begins: str
) -> None:
    module = f"""
HloModule m

ENTRY e {{
  x = f32[2] parameter(0)
  t = token[] after-all()
  r = (f32[2], u32[], token[]) recv(t), channel_id=1, is_host_transfer={host}
  sent = (f32[2], u32[], token[]) send(x, t), channel_id=1, is_host_transfer={host}
  d = (f32[2], token[]) recv-done(r), channel_id=1
  g = f32[2] get-tuple-element(d), index=0
  ROOT y = f32[2] add(g, g)
}}
"""
    debugger = Debugger(program_of(module), Inputs("npz", [X[1]]), backend, cache)
    entry = debugger._entry
    debugger.evaluator.root(entry)
    trace = Trace(debugger.evaluator)
    chain = trace.back(Place(entry, entry.computation.root, (), (1,)))
    assert trace.describe(chain[-1])["instruction"] == begins
