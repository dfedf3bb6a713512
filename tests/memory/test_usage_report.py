"""Memory usage reports in the layouts of several versions, against the assignment that they are of."""

from __future__ import annotations

import gzip
import re

from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.hlo.schema import hlo_pb2 as pb
from hlo_tui.memory.assignment_text import read_assignment
from hlo_tui.memory.usage_report import from_proto, read_usage
from tests.memory.reports import beside, collected, lines, own

OLDER = """Total bytes used: 460 (460B)

Allocations sorted by size:

cumulative_size; total_size - cumulative_size; allocation
------------------------------------------------------------------------------
      256B( 56%);       204B; allocation 0: size 256B, parameter 1, shape |f32[16,4]| at ShapeIndex {}:
      452B( 98%);         8B; allocation 10: size 196B, preallocated-temp:

Allocations sorted by size with their values:
allocation 0: size 256B, parameter 1, shape |f32[16,4]| at ShapeIndex {}:
allocation 10: size 196B, preallocated-temp:

\tcumulative_size;       size;       offset; used_by_n_values; shapes_list
\t------------------------------------------------------------
\t      64B( 48%);        64B;            0;                2; f32[2,8], f32[]
\t     132B(100%);         4B;          192;                1; f32[]
  The rest 3 values are less than 5% of the total size and not shown.
"""


def test_the_layout_with_spaces():
    (space,) = read_usage(lines(own("exchanged", "-memory-usage-report.txt")))
    assert (space.name, space.color, space.total) == ("default", 0, 65552)
    first = space.blocks[0]
    assert [(slot.size, slot.offset, slot.count) for slot in first.slots] == [
        (16384, 0, 1),
        (16384, 16384, 1),
    ]
    assert space.blocks[1].slots[0].shapes == "3×f32[64,64]"


def test_the_older_layout():
    (space,) = read_usage(OLDER.split("\n"))
    assert space.total == 460
    assert [block.size for block in space.blocks] == [256, 196]
    assert space.blocks[1].words == "allocation 10, preallocated-temp"
    assert [slot.shapes for slot in space.blocks[1].slots] == ["f32[2,8], f32[]", "f32[]"]
    assert space.blocks[1].left_out == 3


def test_several_spaces():
    text = own("exchanged", "-memory-usage-report.txt").read_text()
    other = text.replace("default (color=0)", "host (color=5)").replace("65552", "12")
    spaces = read_usage((text + other).split("\n"))
    assert [(space.name, space.color, space.total) for space in spaces] == [
        ("default", 0, 65552),
        ("host", 5, 12),
    ]
    assert spaces[0].blocks == spaces[1].blocks


def test_the_proto_has_exact_sizes_and_names():
    message = pb.MemoryUsageReportProto.FromString(own("train", "-memory-usage-report.pb").read_bytes())
    (space,) = from_proto(message)
    whole = read_assignment(lines(own("train", "-buffer-assignment.txt")))
    sizes = sorted((one.size for one in whole.allocations), reverse=True)
    assert [block.size for block in space.blocks] == sizes[: len(space.blocks)]
    assert "momentum.1" in {name for block in space.blocks for name in block.names}


def test_every_report_of_the_collection_has_the_total_of_its_assignment():
    compared = 0
    for path in collected("*-memory-usage-report.txt"):
        spaces = read_usage(lines(path))
        stated = re.findall(r"^Total bytes(?: used)?: (\d+)", path.read_text(), re.MULTILINE)
        assert [str(space.total) for space in spaces] == stated
        assignment = beside(path, "-buffer-assignment.txt")
        if assignment is not None:
            assert sum(space.total for space in spaces) == read_assignment(lines(assignment)).total
            compared += 1
    assert compared > 150
    for path in collected("*-memory-usage-report.pb*"):
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        for space in from_proto(pb.MemoryUsageReportProto.FromString(data)):
            assert sum(block.size for block in space.blocks) <= space.total


@given(st.lists(st.one_of(st.text(max_size=30), st.sampled_from(OLDER.split("\n"))), max_size=40))
def test_any_lines_are_read(given_lines):
    for space in read_usage(given_lines):
        assert space.total >= 0
