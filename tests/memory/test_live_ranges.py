"""Live ranges, and the memory over the schedule that follows from them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hlo_tui.memory.assignment_proto import from_proto
from hlo_tui.memory.assignment_text import read_assignment
from hlo_tui.memory.live_ranges import read_live_ranges
from hlo_tui.memory.timeline import Span, from_ranges, timeline
from tests.memory.reports import OWN, STEM, beside, collected, lines, own, proto


def test_ranges_and_the_peak_as_xla_lists_it():
    found = read_live_ranges(lines(own("exchanged", "-live-range.txt")))
    assert found.sequence[:3] == ("state.1", "other.1", "copy")
    assert len(found.sequence) == found.end == 8
    assert found.stated == found.peak
    assert found.at_peak[0][1] == 16384
    assert not found.cut


def test_older_layouts_have_them_at_the_end_of_the_assignment():
    text = own("exchanged", "-buffer-assignment.txt").read_text()
    text += "\nUsed values:\n<0 a @0>\n" + own("exchanged", "-live-range.txt").read_text()
    assert read_live_ranges(text.split("\n")) == read_live_ranges(lines(own("exchanged", "-live-range.txt")))
    assert len(read_assignment(text.split("\n")).allocations) == 4


def test_every_list_of_the_collection_sums_up_to_what_it_says():
    for path in [*collected("*-live-range.txt"), *collected("*-buffer-assignment.txt")]:
        found = read_live_ranges(lines(path))
        if found is not None:
            assert not found.cut, path.name
            assert found.stated in (None, found.peak), path.name


def test_the_timeline_of_texts_has_the_peak_of_the_proto():
    """What two texts give together is what XLA's own simulation, which only the proto has, gives."""
    protos = [*OWN.glob(f"*{STEM}.hlo.pb"), *collected("*cpu_after_optimizations.hlo.pb*")]
    compared = 0
    for path in protos:
        ranges, assignment = beside(path, "-live-range.txt"), beside(path, "-buffer-assignment.txt")
        if ranges is not None and assignment is not None:
            found = from_ranges(read_live_ranges(lines(ranges)), read_assignment(lines(assignment)))
            assert found.peak == from_proto(proto(path).buffer_assignment).peak, path.name
            assert found.peak == found.base + sum(span.size for span in found.at(found.peak_at)), path.name
            compared += 1
    assert compared > 150


places = st.integers(0, 12)
spans = st.lists(
    st.builds(
        lambda label, size, start, length, place: Span(label, size, start, start + length, place),
        st.sampled_from("abcdef"), st.integers(0, 50), places, places,
        st.one_of(st.none(), st.tuples(st.just(0), st.integers(0, 2))),
    ),
    max_size=12,
)  # fmt: skip


@given(spans)
def test_the_timeline_is_what_counting_place_by_place_gives(given_spans):
    found = timeline([f"i{n}" for n in range(10)], 7, given_spans)
    for place in range(10):
        here = [span for span in given_spans if span.start <= place <= span.end]
        alone = sum(span.size for span in here if span.place is None)
        shared = {p: max(s.size for s in here if s.place == p) for p in {s.place for s in here if s.place}}
        assert found.live[place] == 7 + alone + sum(shared.values())
    assert found.live[found.peak_at] == found.peak


LINES = lines(own("train", "-live-range.txt"))


@given(st.lists(st.one_of(st.text(max_size=30), st.sampled_from(LINES)), max_size=40))
def test_any_lines_are_read(given_lines):
    found = read_live_ranges(given_lines)
    assert (found is None) == (
        not any(line.lstrip().startswith("HloLiveRange (max ") for line in given_lines)
    )


def test_no_live_ranges_are_none():
    assert read_live_ranges(["nothing", "of the kind"]) is None
