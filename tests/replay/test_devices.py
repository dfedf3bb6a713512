"""Sharding, replica groups and partitioned modules against jax's own account and against numpy."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.replay.collectives import Topology, groups, permute_pairs
from hlo_tui.replay.sharding import from_op_sharding, from_shardy, read_axes, read_meshes


def instruction(**fields: object) -> pb.HloInstructionProto:
    return pb.HloInstructionProto(opcode="all-reduce", **fields)  # type: ignore[arg-type]


def test_replica_groups_in_every_form_that_xla_has_written() -> None:
    topology = Topology(1, 8)
    listed = [pb.ReplicaGroup(replica_ids=[0, 1, 2, 3]), pb.ReplicaGroup(replica_ids=[4, 5, 6, 7])]
    iota = pb.IotaReplicaGroupListProto(
        num_replica_groups=4, num_devices_per_group=2, iota_reshape_dims=[2, 4], iota_transpose_perm=[1, 0]
    )
    common = {"channel_id": 1, "use_global_device_ids": True}
    assert groups(instruction(replica_groups=listed, **common), topology) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    # [4,2]<=[2,4]T(1,0): the transpose of ((0 1 2 3) (4 5 6 7)).
    transposed = [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert groups(instruction(iota_collective_device_list=iota, **common), topology) == transposed
    old = pb.CollectiveDeviceListProto(iota_replica_group_list=iota)
    assert groups(instruction(collective_device_list=old, **common), topology) == transposed
    assert groups(instruction(**common), topology) == [list(range(8))]


def test_replica_groups_along_mesh_axes() -> None:
    mesh = pb.MeshProto(
        axes=[pb.MeshProto.MeshAxis(name="x", size=2), pb.MeshProto.MeshAxis(name="y", size=4)]
    )

    def along(*refs: pb.AxisRefProto) -> list[list[int]]:
        form = pb.MeshAxesReplicaGroupListProto(mesh=mesh, axes=refs)
        proto = instruction(mesh_axes_replica_group_list=form, channel_id=1, use_global_device_ids=True)
        return groups(proto, Topology(1, 8))

    x, y = pb.AxisRefProto(mesh_axis_index=0), pb.AxisRefProto(mesh_axis_index=1)
    assert along(y) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert along(x) == [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert along(x, y) == [[0, 1, 2, 3, 4, 5, 6, 7]]
    assert along(y, x) == [[0, 4, 1, 5, 2, 6, 3, 7]]
    minor = pb.AxisRefProto(mesh_axis_index=1, sub_axis_info=pb.AxisRefProto.SubAxis(pre_size=2, size=2))
    assert along(minor) == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_groups_of_replicas_and_partitions() -> None:
    topology = Topology(2, 3)
    pair = [pb.ReplicaGroup(replica_ids=[0, 1])]
    assert groups(instruction(replica_groups=pair), topology) == [[0, 3], [1, 4], [2, 5]]
    assert groups(instruction(replica_groups=pair, channel_id=1), topology) == [[0, 1, 2, 3, 4, 5]]
    moved = pb.HloInstructionProto(channel_id=1, source_target_pairs=[pb.SourceTarget(source=0, target=2)])
    assert permute_pairs(moved, topology) == [(0, 2), (3, 5)]
    moved.channel_id = 0
    assert permute_pairs(moved, Topology(3, 2)) == [(0, 4), (1, 5)]


IN_CHILD = """
import json, os, sys
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()).reshape(4, 2), ("data", "model"))
out = {}
specs = {"dm": P("data", "model"), "md": P("model", "data"), "both": P(("model", "data"), None), "none": P()}
for name, spec in specs.items():
    sharding = NamedSharding(mesh, spec)
    where = sharding.devices_indices_map((16, 8))
    starts = {d.id: [s.start or 0 for s in index] for d, index in where.items()}
    proto = sharding._to_xla_hlo_sharding(2).to_proto().SerializeToString()
    out[name] = {"starts": [starts[i] for i in range(8)], "proto": proto.hex()}
print(json.dumps(out))
"""


@pytest.fixture(scope="module")
def by_jax() -> dict:
    done = subprocess.run([sys.executable, "-c", IN_CHILD], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_shardy_text_cuts_as_jax_does(by_jax: dict) -> None:
    meshes = read_meshes('{mesh = #sdy.mesh<["data"=4, "model"=2]>}')
    texts = {
        "dm": '[{"data"}, {"model"}]',
        "md": '[{"model"}, {"data"}]',
        "both": '[{"model", "data"}, {}]',
        "none": "[{}, {}]",
    }
    axes = read_axes('#sdy<manual_axes{"data", "model"}>')
    for name, dims in texts.items():
        (tiling,) = from_shardy(f"#sdy.sharding_per_value<[<@mesh, {dims}>]>", meshes, axes)
        assert tiling is not None
        local = [n // t for n, t in zip((16, 8), tiling.tiles, strict=True)]
        assert tiling.offsets(local).tolist() == by_jax[name]["starts"], name


def test_op_sharding_cuts_as_jax_does(by_jax: dict) -> None:
    tried = 0
    for name, row in by_jax.items():
        sharding = pb.OpSharding.FromString(bytes.fromhex(row["proto"]))
        tiling = from_op_sharding(sharding, 2, 8)
        if tiling is not None:
            tried += 1
            local = [n // t for n, t in zip((16, 8), tiling.tiles, strict=True)]
            assert tiling.offsets(local).tolist() == row["starts"], name
            array = np.arange(128).reshape(16, 8)
            parts = tiling.split(array)
            assert parts is not None
            for (r, c), part in zip(row["starts"], parts, strict=True):
                np.testing.assert_array_equal(part, array[r : r + local[0], c : c + local[1]])
    assert tried == 3


ALONG = "use_global_device_ids=true"
SHARDED = f"""
HloModule sharded, num_partitions=4

add {{
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}}

ENTRY main_spmd {{
  x = f32[2] parameter(0)
  sum = f32[2] all-reduce(x), channel_id=1, replica_groups={{{{0,1}},{{2,3}}}}, {ALONG}, to_apply=add
  moved = f32[2] collective-permute(x), channel_id=2, source_target_pairs={{{{0,1}},{{1,2}},{{2,3}}}}
  all = f32[8] all-gather(x), channel_id=3, replica_groups=[1,4]<=[4], dimensions={{0}}, {ALONG}
  part = f32[4] reduce-scatter(all),
    channel_id=4, replica_groups=[2,2]<=[4], {ALONG}, to_apply=add, dimensions={{0}}
  id = u32[] partition-id()
  ROOT all_values = (f32[2], f32[2], f32[8], f32[4], u32[]) tuple(sum, moved, all, part, id)
}}
"""


def test_collectives_over_four_partitions(tmp_path: Path) -> None:
    x = np.arange(8, dtype=np.float32).reshape(4, 2) ** 2
    np.savez(tmp_path / "in.npz", x=x)
    (tmp_path / "sharded.txt").write_text(SHARDED)
    stops = [f"--break={name}" for name in ("sum", "moved", "all", "part", "id")]
    command = [
        sys.executable,
        "-m",
        "hlo_tui",
        "replay",
        "--json",
        "--inputs",
        str(tmp_path / "in.npz"),
        *stops,
        str(tmp_path / "sharded.txt"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    events = [json.loads(line) for line in done.stdout.splitlines()]
    found: dict[str, list] = {}
    for event in events[1:-1]:
        assert event["partition"] == len(found.setdefault(event["instruction"], []))
        found[event["instruction"]].append(event["value"]["first"])
    pairs = [x[:2].sum(0), x[2:].sum(0)]
    assert found["sum"] == [list(pairs[p // 2]) for p in range(4)]
    assert found["moved"] == [[0, 0], *x[:3].tolist()]
    assert found["all"] == [x.reshape(-1).tolist()] * 4
    # Both partitions of a group hold the same whole array: the sum is twice it, and each takes its half.
    halves = (2 * x.reshape(-1)).reshape(2, 4).tolist()
    assert found["part"] == [halves[p % 2] for p in range(4)]
    assert found["id"] == [[0], [1], [2], [3]]
    assert events[-1]["self_check"] == "match"


MANUAL = """
HloModule bordered, num_partitions=4, frontend_attributes={xla.sdy.meshes={mesh = #sdy.mesh<["a"=4]>}}

add {
  a = f32[] parameter(0)
  b = f32[] parameter(1)
  ROOT c = f32[] add(a, b)
}

region {
  x = f32[2] parameter(0)
  i = f32[2] constant({1, 2})
  y = f32[2] multiply(x, i)
  ROOT s = f32[2] all-reduce(y), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=add
}

ENTRY main {
  x = f32[8] parameter(0)
  t = f32[2] custom-call(x), custom_call_target="xla.sdy.GlobalToLocalShape", custom_call_has_side_effect=true,
    frontend_attributes={xla.sdy.in_shardings="#sdy.sharding_per_value<[<@mesh, [{\\"a\\"}]>]>",
    xla.sdy.manual_axes="#sdy<manual_axes{\\"a\\"}>"}
  r = f32[2] call(t), to_apply=region
  ROOT g = f32[8] custom-call(r), custom_call_target="xla.sdy.LocalToGlobalShape", custom_call_has_side_effect=true,
    frontend_attributes={xla.sdy.out_shardings="#sdy.sharding_per_value<[<@mesh, [{\\"a\\"}]>]>",
    xla.sdy.manual_axes="#sdy<manual_axes{\\"a\\"}>"}
}
"""


@pytest.mark.parametrize("grain", ["whole", "unit", "body"])
def test_a_manual_region_over_four_devices(tmp_path: Path, grain: str) -> None:
    x = np.arange(8, dtype=np.float32)
    np.savez(tmp_path / "in.npz", x=x)
    (tmp_path / "manual.txt").write_text(MANUAL)
    options = ["--inputs", str(tmp_path / "in.npz"), "--grain", grain, "--break", "region/y"]
    command = [sys.executable, "-m", "hlo_tui", "replay", "--json", *options, str(tmp_path / "manual.txt")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    *stops, end = (json.loads(line) for line in done.stdout.splitlines()[1:])
    tiles = x.reshape(4, 2) * np.array([1, 2], np.float32)
    assert [stop["value"]["first"] for stop in stops] == tiles.tolist()
    assert end["outputs"][0]["first"] == np.tile(tiles.sum(0), 4).tolist()
    assert end["self_check"] == "match"
