"""Buffer assignments as text and as proto, against one another and against XLA's own sums."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.memory.assignment import (
    CONSTANT,
    OUTPUT,
    PARAMETER,
    TEMPORARY,
    THREAD_LOCAL,
    covered,
    without_repeats,
)
from hlo_tui.memory.assignment_proto import from_proto
from hlo_tui.memory.assignment_text import read_assignment
from tests.memory.reports import OWN, STEM, beside, collected, lines, own, proto


def test_what_is_in_an_allocation():
    found = read_assignment(lines(own("exchanged", "-buffer-assignment.txt")))
    first, _, third, fourth = found.allocations
    assert (first.kind, first.parameter, first.live_out, first.shape) == (PARAMETER, 0, True, "f32[64,64]")
    assert [value.label for value in first.values] == ["state.1{}", "copy.1{}", "copy.2{}"]
    assert (third.kind, third.shape) == (OUTPUT, "(f32[64,64], f32[64,64])")
    assert third.values[0].label == "tuple{}"
    assert (fourth.kind, fourth.size) == (TEMPORARY, 32768)
    assert [(value.offset, value.size) for value in fourth.values] == [(0, 16384), (16384, 16384)]
    assert found.total == 16384 * 4 + 16
    assert found.static() == 16384 * 2 + 16


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("allocation 3: size 4, page 0, constant:", CONSTANT),
        ("allocation 3: size 4, color 5, page 1, thread-local:", THREAD_LOCAL),
        (
            "allocation 3: size 4, parameter 2, shape |(f32[], /*index=1*/pred[])| at ShapeIndex {1,0}:",
            PARAMETER,
        ),
        ("allocation 3: size 4, output shape is |f32[]|, maybe-live-out:", OUTPUT),
        ("allocation 3: size 4, maybe-live-out:", OUTPUT),
        ("allocation 3: size 4, preallocated-temp:", TEMPORARY),
    ],
)
def test_every_head_of_an_allocation(line, kind):
    (found,) = read_assignment(["BufferAssignment:", line]).allocations
    assert (found.index, found.size, found.kind) == (3, 4, kind)
    assert found.color == (5 if "color" in line else 0)
    assert found.shape_index == ("{1,0}" if kind == PARAMETER else "")


def test_a_text_that_ends_in_the_middle_says_so():
    whole = own("train", "-buffer-assignment.txt").read_text()
    assert not read_assignment(whole.split("\n")).cut
    assert read_assignment(whole[: len(whole) - 20].split("\n")).cut


def test_text_and_proto_say_the_same_of_our_own_modules():
    paths = list(OWN.glob(f"*{STEM}.hlo.pb"))
    assert paths
    for path in paths:
        same(path)


def test_text_and_proto_say_the_same_of_the_collection():
    paths = [path for path in collected("*.hlo.pb*") if beside(path, "-buffer-assignment.txt")]
    assert len(paths) > 100
    for path in paths:
        same(path)


def same(path):
    message = proto(path)
    found = from_proto(message.buffer_assignment, message.hlo_module)
    text = read_assignment(lines(beside(path, "-buffer-assignment.txt")))
    assert not text.cut
    for a, b in zip(found.allocations, text.allocations, strict=True):
        assert (a.index, a.size, a.kind, a.parameter) == (b.index, b.size, b.kind, b.parameter)
        assert [(v.id, v.label, v.size, v.offset) for v in a.values] == [
            (v.id, v.label, v.size, v.offset) for v in b.values
        ]


def test_the_total_is_the_one_that_xla_prints():
    for path in collected("*-buffer-assignment.txt"):
        found = read_assignment(lines(path))
        values = beside(path, "-buffer-assignment-values.txt")
        stated = found.stated_total
        if stated is None and values is not None:
            stated = read_assignment(lines(values)).stated_total
        assert stated is None or stated == found.total, path.name


def test_what_is_listed_at_the_peak_sums_up_to_it():
    for path in [*collected("*after_optimizations.hlo.pb*"), *collected("*.hlo_proto.pb")]:
        message = proto(path)
        found = from_proto(message.buffer_assignment, message.hlo_module)
        listed = [value for values in found.peak_values.values() for value in values]
        assert sum(value.size for value in listed) == found.peak, path.name
        assert found.static() <= found.peak <= found.total


_CHILD = """
import json, sys
import jax
from jaxlib import _hlo, _jax
devices = jax.devices()[:1]
found = []
for path in sys.argv[1:]:
    module = _hlo.hlo_module_from_text(open(path).read()).as_serialized_hlo_module_proto()
    mlir = _jax.mlir.xla_computation_to_mlir_module(_hlo.XlaComputation(module))
    loaded = devices[0].client.compile_and_load(mlir, _jax.DeviceList(tuple(devices)), _jax.CompileOptions())
    stats = loaded.get_compiled_memory_stats()
    found.append([stats.serialized_buffer_assignment_proto.hex(), stats.peak_memory_in_bytes])
print(json.dumps(found))
"""


def test_the_peak_is_the_one_that_jaxlib_computes():
    paths = [path for path in OWN.glob("*before_optimizations.txt") if "reduced" not in path.name]
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, *map(str, paths)], capture_output=True, text=True, check=True,
        env={"JAX_PLATFORMS": "cpu", "PATH": ""},
    )  # fmt: skip
    answers = json.loads(done.stdout)
    assert len(answers) == 2
    for data, peak in answers:
        assert from_proto(pb.BufferAssignmentProto.FromString(bytes.fromhex(data))).peak == peak


def test_bytes_that_overlap_count_once():
    assert covered([(0, 4), (2, 8), (8, 9), (20, 20)]) == 9
    assert covered([]) == 0


def test_of_values_in_the_same_bytes_one_is_kept():
    (*_, temporary) = read_assignment(lines(own("train", "-buffer-assignment.txt"))).allocations
    kept = without_repeats(temporary.values)
    assert len({(value.offset, value.size) for value in temporary.values}) == len(kept)


LINES = lines(own("train", "-buffer-assignment.txt"))[:30]


@given(st.lists(st.one_of(st.text(max_size=40), st.sampled_from(LINES), st.builds(
    lambda line, start, end: line[start:end], st.sampled_from(LINES), st.integers(0, 90), st.integers(0, 200)
)), max_size=30))  # fmt: skip
def test_any_lines_are_read(given_lines):
    found = read_assignment(given_lines)
    heads = sum(line.lstrip().startswith("allocation ") for line in given_lines)
    assert len(found.allocations) <= heads
    assert found.total >= 0


@given(st.binary(max_size=200))
def test_any_message_is_read(data):
    message = pb.BufferAssignmentProto()
    try:
        message.ParseFromString(data)
    except Exception:
        return
    from_proto(message)


numbers = st.integers(0, 4)


@given(
    st.lists(st.tuples(numbers, st.integers(0, 100)), max_size=5),
    st.lists(st.tuples(st.integers(0, 3), numbers, numbers), max_size=40),
)
def test_any_events_of_the_heap_end(buffers, events):
    """Events that free twice, share in a ring, or name what is not there."""
    message = pb.BufferAssignmentProto()
    for number, size in buffers:
        message.logical_buffers.add(id=number, size=size)
        message.buffer_allocations.add(index=number, size=size).assigned.add(
            logical_buffer_id=number, size=size
        )
    trace = message.heap_simulator_traces.add()
    for kind, buffer, canonical in events:
        trace.events.add(kind=kind, buffer_id=buffer, share_with_canonical_id=canonical)
    peak = from_proto(message).peak
    assert peak is None or peak >= 0
