"""A module's proto is printed as XLA prints the module into a dump."""

from __future__ import annotations

from pathlib import Path

import pytest
from google.protobuf import text_format
from google.protobuf.message import DecodeError
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.attributes import unescape
from hlo_tui.hlo.printing import print_module
from hlo_tui.hlo.printing_strings import c_escape, is_json_dict, original_value_text, quoted_or_json
from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.hlo.wire import to_varint
from tests.corpus import DATA, corpus_dir
from tests.hlo_proto.xla_child import ask, without_config, without_frames

ZOO = Path(__file__).with_name("zoo.hlo")
STEP = DATA / "step"


def text(module: pb.HloModuleProto, *, large_constants: bool = False) -> str:
    return print_module(module, large_constants=large_constants).text.decode()


def module_of(*instructions: pb.HloInstructionProto, **fields: object) -> pb.HloModuleProto:
    """A module whose entry holds the instructions, numbered from 1, the last one its root."""
    for number, one in enumerate(instructions, 1):
        one.id = one.id or number
    entry = pb.HloComputationProto(name="main", id=7, root_id=instructions[-1].id, instructions=instructions)
    return pb.HloModuleProto(name="m", entry_computation_id=7, computations=[entry], **fields)


def instruction(opcode: str, **fields: object) -> pb.HloInstructionProto:
    shape = pb.ShapeProto(element_type=pb.F32, dimensions=[2], layout=pb.LayoutProto(minor_to_major=[0]))
    return pb.HloInstructionProto(name=fields.pop("name", opcode), opcode=opcode, shape=shape, **fields)


def line(module: pb.HloModuleProto, name: str) -> str:
    return next(one for one in text(module).split("\n") if f"%{name} = " in one)


def test_every_opcode_and_attribute_is_printed_as_xla_prints_it() -> None:
    """XLA reads the zoo from its text; its proto, printed here, is what XLA prints for that proto."""
    ((_, proto),) = ask(("text", ZOO.read_bytes()))
    ((theirs, _),) = ask(("proto", proto))
    ours = text(pb.HloModuleProto.FromString(proto), large_constants=True)
    assert ours.split("\n") == theirs.split("\n")


@pytest.mark.parametrize("stage", ["before_optimizations", "cpu_after_optimizations"])
def test_a_dumped_proto_is_printed_as_the_text_beside_it(stage: str) -> None:
    proto = pb.HloProto.FromString((STEP / f"jit_step.{stage}.hlo.pb").read_bytes())
    dumped = (STEP / f"jit_step.{stage}.txt").read_text()
    assert text(proto.hlo_module).split("\n") == without_config(dumped).split("\n")


def test_xla_reads_the_printed_text_back_as_the_same_module() -> None:
    module = pb.HloProto.FromString(
        (STEP / "jit_step.cpu_after_optimizations.hlo.pb").read_bytes()
    ).hlo_module
    printed = print_module(module, large_constants=True).text
    (theirs, _), (ours, _) = ask(("proto", module.SerializeToString()), ("text", printed))
    # Its text parser reads -0 as 0, and the order of computations follows how they were read.
    expected = without_frames(theirs.replace("-0,", "0,"))
    assert sorted(without_frames(ours).split("\n\n")) == sorted(expected.split("\n\n"))


def test_every_real_dump_is_printed_as_the_text_beside_it() -> None:
    compared = lines = 0
    for path in sorted(corpus_dir().glob("dumps/*/*.hlo.pb")):
        dumped = path.with_name(path.name.removesuffix(".hlo.pb") + ".txt")
        if not dumped.is_file():
            continue
        proto = pb.HloProto.FromString(path.read_bytes())
        ours = without_config(text(proto.hlo_module)).split("\n")
        assert ours == without_config(dumped.read_text()).split("\n"), path.name
        compared += 1
        lines += len(ours)
    assert compared >= 300
    assert lines >= 30_000


NAMED = [
    (
        "mesh {axes {name: 'x' size: 2}} dim_shardings {axes {mesh_axis_index: 0}}",
        "{mesh['x'=2], [{'x', ?}]}",
    ),
    ("mesh {axes {name: 'x' size: 2}} dim_shardings {is_closed: true}", "{mesh['x'=2], [{}]}"),
    ("mesh {axes {name: 'x' size: 2}} manual_axes {mesh_axis_index: 0}", "{mesh['x'=2], manual}"),
    ("mesh {axes {name: 'x' size: 2}} unreduced_axes {mesh_axis_index: 0}", "{mesh['x'=2], unreduced}"),
    ("mesh {axes {name: 'x' size: 2}}", "{mesh['x'=2], replicated}"),
    ("mesh {device_ids: 3}", "{maximal_mesh[device_id=3]}"),
    (
        "mesh {axes {name: 'x' size: 4} iota_transform {reshape_dims: [2, 2] transpose_perm: [1, 0]}}"
        " dim_shardings {axes {mesh_axis_index: 0 sub_axis_info {pre_size: 1 size: 2}} is_closed: true}",
        "{mesh['x'=4], device_ids=([2,2]T(1,0)), [{'x':(1)2}]}",
    ),
]


@pytest.mark.parametrize(("proto", "printed"), NAMED, ids=[printed for _, printed in NAMED])
def test_named_shardings_are_printed_as_xla_prints_them(proto: str, printed: str) -> None:
    ((_, read),) = ask(("text", b"HloModule m\nENTRY e {\n  ROOT p = f32[8]{0} parameter(0)\n}\n"))
    module = pb.HloModuleProto.FromString(read)
    sharding = module.computations[0].instructions[0].sharding
    text_format.Parse(f"named_sharding {{ {proto} }}", sharding)
    ((theirs, _),) = ask(("proto", module.SerializeToString()))
    assert f"sharding={printed}" in theirs
    assert text(module).split("\n") == theirs.split("\n")


def test_mesh_and_iota_replica_groups_are_printed_in_their_own_form() -> None:
    groups = pb.MeshAxesReplicaGroupListProto(
        mesh=pb.MeshProto(
            axes=[pb.MeshProto.MeshAxis(name="x", size=2), pb.MeshProto.MeshAxis(name="y", size=4)]
        ),
        axes=[pb.AxisRefProto(mesh_axis_index=1)],
    )
    iota = pb.IotaReplicaGroupListProto(
        num_replica_groups=2, num_devices_per_group=4, iota_reshape_dims=[4, 2], iota_transpose_perm=[1, 0]
    )
    module = module_of(
        instruction("all-reduce", name="mesh", mesh_axes_replica_group_list=groups),
        instruction("all-reduce", name="iota", iota_collective_device_list=iota),
        instruction(
            "all-reduce",
            name="older",
            collective_device_list=pb.CollectiveDeviceListProto(iota_replica_group_list=iota),
        ),
        instruction("all-reduce", name="oldest", replica_groups=[pb.ReplicaGroup(replica_ids=[0, 1])]),
    )
    found = [line(module, name).split("replica_groups=")[1] for name in ("mesh", "iota", "older", "oldest")]
    assert found == ["mesh['x'=2,'y'=4] {'y'}", "[2,4]<=[4,2]T(1,0)", "[2,4]<=[4,2]T(1,0)", "{{0,1}}"]


def test_payloads_are_found_by_their_index() -> None:
    module = module_of(
        instruction("add", name="a", backend_config_payload=pb.Payload(id=1)),
        instruction("add", name="b", backend_config_payload=pb.Payload(value=b"in place")),
        instruction("add", name="c", backend_config_payload=pb.Payload(id=9), backend_config=b"own"),
        instruction("add", name="d", metadata=pb.OpMetadata(metadata_payload=pb.Payload(id=0))),
        payloads=[b"zero", b'{"one": 1}'],
    )
    assert line(module, "a").endswith(', backend_config={"one": 1}')
    assert line(module, "b").endswith(', backend_config="in place"')
    assert line(module, "c").endswith(', backend_config="own"')
    assert line(module, "d").endswith(', metadata={metadata_payload="zero"}')


def test_unknown_fields_are_shown_where_they_are() -> None:
    """Field 500 on an instruction, in its metadata, on the computation and on the module."""
    unknown = to_varint(500 << 3 | 2) + b"\x03abc"
    module = module_of(instruction("add", metadata=pb.OpMetadata(op_name="x")))
    module.computations[0].instructions[0].metadata.MergeFromString(unknown)
    module.computations[0].instructions[0].MergeFromString(unknown)
    module.computations[0].MergeFromString(unknown)
    module.MergeFromString(unknown)
    printed = print_module(module)
    lines = printed.text.decode().split("\n")
    assert printed.unknown_fields == 4
    assert lines[0] == "HloModule m /* field 500: 3 bytes */"
    assert lines[2].endswith("{ /* field 500: 3 bytes */")
    assert lines[3].endswith("} /* field 500: 3 bytes */ /* metadata field 500: 3 bytes */")


def test_an_opcode_of_next_year_shows_which_fields_it_has() -> None:
    module = module_of(instruction("braid", dimensions=[3], channel_id=2))
    assert line(module, "braid") == "  ROOT %braid = f32[2]{0} braid() /* dimensions */ /* channel_id */"


def test_an_element_type_of_next_year_is_shown_by_its_number() -> None:
    one = instruction("add")
    one.shape.element_type = 99
    assert line(module_of(one), "add") == "  ROOT %add = type99[2]{0} add()"


def test_ids_that_lead_nowhere_are_null() -> None:
    module = module_of(
        instruction("while", operand_ids=[40], called_computation_ids=[41, 7], control_predecessor_ids=[42])
    )
    assert line(module, "while") == (
        "  ROOT %while = f32[2]{0} while(null ), condition=%main, body=null , control-predecessors={null }"
    )


def test_ids_that_hold_the_computation_in_their_upper_bits_are_found() -> None:
    module = module_of(
        instruction("parameter", name="p", id=(7 << 32) + 1), instruction("negate", operand_ids=[1])
    )
    assert line(module, "negate") == "  ROOT %negate = f32[2]{0} negate(%p)"


def test_the_schedule_orders_instructions_and_loses_none() -> None:
    module = module_of(
        instruction("parameter", name="a"), instruction("add", name="b"), instruction("add", name="c")
    )
    module.schedule.sequences[7].instruction_ids.extend([2, 1, 99])
    names = [one.split(" = ")[0].split("%")[1] for one in text(module).split("\n") if " = " in one]
    assert names == ["b", "a", "c"]


def test_computations_that_call_each_other_in_a_circle_are_all_printed_once() -> None:
    module = pb.HloModuleProto(name="m")
    for number, callee in ((1, 2), (2, 1), (3, 3)):
        call = instruction("call", called_computation_ids=[callee])
        module.computations.append(pb.HloComputationProto(name=f"c{number}", id=number, instructions=[call]))
    heads = [one.split(" ")[0] for one in text(module).split("\n") if one.endswith("{")]
    assert sorted(heads) == ["%c1", "%c2", "%c3"]


def test_control_characters_of_a_file_do_not_reach_the_text() -> None:
    """In names they become marks; in strings they are octal escapes, as XLA writes them."""
    module = module_of(
        instruction("add", name="a\x1b[2J\n}", metadata=pb.OpMetadata(op_name="\x1b]0;x\x07\n")),
    )
    module.name = "m\x1b[31m\nENTRY"
    printed = text(module)
    assert printed.split("\n")[0] == "HloModule m\u241b[31m\u240aENTRY"
    assert "%a\u241b[2J\u240a} = " in printed
    assert 'op_name="\\033]0;x\\007\\n"' in printed
    assert "\x1b" not in printed


def test_a_recovery_table_holds_its_module_in_quotes_and_not_deeper() -> None:
    inner = module_of(instruction("add", metadata=pb.OpMetadata(op_name='say "x"')))
    table = pb.OriginalValueRecoveryTableProto.Entry(
        old_original_array=pb.OriginalArrayProto(instruction_name="old"),
        new_original_array=pb.OriginalArrayProto(instruction_name="new", shape_index=[1]),
        recovery_module=inner,
    )
    module = module_of(instruction("add"))
    module.original_value_recovery_table.entries.append(table)
    inner.original_value_recovery_table.entries.append(table)
    module.original_value_recovery_table.entries[0].recovery_module.CopyFrom(inner)
    printed = text(module)
    assert '  {"old"} : {"new" {1}},\n  "\n    HloModule m' in printed
    assert '\\"say \\\\\\"x\\\\\\"\\"' in printed
    assert printed.count("HloModule") == 2


def test_original_values_follow_the_tuple() -> None:
    value = pb.OriginalValueProto(
        elements=[
            pb.OriginalValueElementProto(
                shape_index=[1, 0],
                original_array=pb.OriginalArrayProto(instruction_name="b", shape_index=[2]),
            ),
            pb.OriginalValueElementProto(shape_index=[0]),
        ]
    )
    assert original_value_text(value) == '({}, ({"b" {2}}))'
    assert original_value_text(pb.OriginalValueProto(is_synthetic_call=True)) == "[synthetic_call]"
    deep = pb.OriginalValueProto(elements=[pb.OriginalValueElementProto(shape_index=[0] * 10_000)])
    assert "(...)" in original_value_text(deep)


@pytest.mark.parametrize(
    ("value", "is_dict"),
    [
        ("{}", True),
        ('{"}"}', True),
        ('{"\\"}"}', True),
        (" {a: {b}} ", True),
        ("{", False),
        ("{}}", False),
        ("{} x", False),
        ('{"}', False),
        ('{"\\\n"}', False),
        ("[1]", False),
        ("", False),
    ],
)
def test_only_balanced_braces_go_without_quotes(value: str, is_dict: bool) -> None:
    assert is_json_dict(value) is is_dict
    assert quoted_or_json(value) == (value if is_dict else f'"{c_escape(value)}"')


def test_bytes_that_are_not_text_are_quoted() -> None:
    assert quoted_or_json(b'{"a": "\xff"}') == '"{\\"a\\": \\"\\377\\"}"'


@given(st.text(st.characters(codec="utf-8")))
def test_what_is_escaped_is_plain_and_comes_back(value: str) -> None:
    escaped = c_escape(value)
    assert escaped.isascii()
    assert all(" " <= character <= "~" for character in escaped)
    assert unescape(escaped) == value


@given(st.binary(max_size=400))
def test_any_message_that_parses_can_be_printed(data: bytes) -> None:
    module = pb.HloModuleProto()
    try:
        module.ParseFromString(data)
    except DecodeError:
        return
    assert print_module(module, large_constants=True).text.startswith(b"HloModule")
