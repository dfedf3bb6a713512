"""Reports of whole dumps, files and texts: the biggest owner first, sums as XLA has them, donations that are lost."""

from __future__ import annotations

import io
import shutil

import pytest

from hlo_tui.dump import choosing, listing
from hlo_tui.errors import HloTuiError
from hlo_tui.memory import comparing, gathering, telling
from hlo_tui.memory.assignment_proto import from_proto
from hlo_tui.memory.donations import aliases, donors
from tests.corpus import DATA, corpus_dir
from tests.memory.reports import OWN, beside, collected, own, proto


def of(function):
    found = listing.load(OWN)
    return gathering.of_module(found, choosing.find_module(found, f"jit_{function}"))


def test_the_report_of_a_module_has_everything():
    report = of("train")
    assert report.sources == ("a buffer assignment", "live ranges", "the module")
    assert sum(owner.size for owner in report.owners) == report.peak
    assert sum(size for _, size in report.parts) == report.total
    assert report.timeline.live[report.peak_at] == report.peak
    first = {owner.label: owner for owner in report.owners}
    assert first["weights.1"].why == "argument 0, and a result lies in it (donated)"
    assert first["weights.1"].op_name == "weights"
    lines = {(owner.file, owner.line) for owner in report.owners if "layer" in owner.op_name}
    text = (OWN / "programs.py").read_text().split("\n")
    assert lines
    assert all(
        file == "programs.py" and ("tanh" in text[n - 1] or "scan" in text[n - 1]) for file, n in lines
    )


def test_what_a_loop_carries_is_known_by_what_makes_it():
    carried = [owner for owner in of("train").owners if owner.why.startswith("carried by a loop, made by %")]
    assert carried
    assert all(owner.op_name and owner.line for owner in carried)


def test_copied_donations():
    first, second = of("exchanged").lost
    assert (first.parameter, first.output, first.copies, first.size) == (0, "{0}", ("copy",), 16384)
    assert (second.parameter, second.output, second.copies) == (1, "{1}", ("copy.1",))
    assert of("train").lost == ()


def test_headers_of_donations():
    header = (
        "is_scheduled=true, "
        "input_output_alias={ {0}: (2, {}, may-alias), {1, 3}: (4, {0, 1}, must-alias), {}: (5, {}) }, "
        "buffer_donor={ (0, {}), (1, {2}) }, entry_computation_layout={(f32[2]{0})->f32[2]{0}}"
    )
    assert [(one.output, one.parameter, one.index) for one in aliases(header)] == [
        ("{0}", 2, "{}"), ("{1,3}", 4, "{0,1}"), ("{}", 5, "{}"),
    ]  # fmt: skip
    assert donors(header) == [(0, "{}"), (1, "{2}")]
    assert (aliases("is_scheduled=true"), donors("")) == ([], [])


@pytest.mark.parametrize("ending", ["-buffer-assignment.txt", "-live-range.txt", ".txt", ".hlo.pb"])
def test_any_file_of_a_stage_leads_to_the_whole(ending):
    report, whole = gathering.of_file(own("train", ending)), of("train")
    assert (report.peak, report.total, report.owners) == (whole.peak, whole.total, whole.owners)


def test_a_proto_alone(tmp_path):
    shutil.copy(own("train", ".hlo.pb"), tmp_path / "train.hlo.pb")
    report, whole = gathering.of_file(tmp_path / "train.hlo.pb"), of("train")
    assert "XLA's simulation of the heap" in report.sources
    assert (report.peak, report.total, report.parts) == (whole.peak, whole.total, whole.parts)
    assert sum(owner.size for owner in report.owners) == report.peak


@pytest.mark.parametrize("ending", ["-memory-usage-report.txt", "-memory-usage-report.pb"])
def test_a_usage_report_alone(tmp_path, ending):
    shutil.copy(own("train", ending), tmp_path / f"x{ending}")
    report = gathering.of_file(tmp_path / f"x{ending}")
    assert report.total == of("train").total
    assert report.owners[0].size == 65536


def test_live_ranges_alone(tmp_path):
    shutil.copy(own("exchanged", "-live-range.txt"), tmp_path / "x-live-range.txt")
    report = gathering.of_file(tmp_path / "x-live-range.txt")
    assert report.peak == report.listed_peak[1] == sum(owner.size for owner in report.owners)


def test_an_assignment_alone_says_that_it_knows_no_times(tmp_path):
    shutil.copy(own("exchanged", "-buffer-assignment.txt"), tmp_path / "a.txt")
    report = gathering.of_file(tmp_path / "a.txt")
    assert report.peak is None
    assert any("without live ranges" in note for note in report.notes)


def test_without_reports_it_is_an_estimate(tmp_path):
    shutil.copy(own("train", ".txt"), tmp_path / "a.txt")
    report = gathering.of_file(tmp_path / "a.txt")
    assert report.estimated
    assert any("an estimate" in note for note in report.notes)
    assert 0.9 <= report.peak / of("train").peak <= 1.3
    assert sum(owner.size for owner in report.owners) == report.peak


def test_estimates_of_the_collection_are_near():
    """Of all modules that XLA reports on: most are exact, few are far."""
    ratios = []
    for path in collected("*cpu_after_optimizations.txt"):
        known = gathering.of_file(path)
        if known.estimated or not known.peak:
            continue
        module = gathering._scanned(path, None)
        ratios.append(gathering.estimate(module, path.name).peak / known.peak)
    ratios.sort()
    assert len(ratios) > 300
    assert sum(ratio == 1 for ratio in ratios) > 0.7 * len(ratios)
    assert sum(0.9 <= ratio <= 1.1 for ratio in ratios) > 0.8 * len(ratios)
    assert ratios[0] > 0.7
    assert ratios[-1] < 1.6


def test_every_report_of_the_collection_sums_up():
    for path in [*collected("*cpu_after_optimizations.txt"), *collected("*.hlo_proto.pb")]:
        report = gathering.of_file(path)
        assert sum(owner.size for owner in report.owners) == report.peak, path.name
        message = beside(path, ".hlo.pb") if path.suffix == ".txt" else path
        if message is not None and not report.estimated:
            found = proto(message)
            assert report.peak == from_proto(found.buffer_assignment).peak, path.name
            assert report.total == sum(one.size for one in found.buffer_assignment.buffer_allocations)


@pytest.mark.parametrize("snippet", ["01_", "02_", "03_", "04_", "05_", "06_", "07_", "09_"])
def test_messages_come_by_file_and_by_standard_input(snippet):
    (path,) = (corpus_dir() / "snippets").glob(f"{snippet}*")
    by_file = gathering.of_file(path)
    by_stream = gathering.of_stream(io.BytesIO(path.read_bytes()))
    assert by_file.owners == by_stream.owners
    text = telling.to_text(by_file)
    assert text.split("\n")[1].startswith("biggest")
    assert "\x1b" not in text


def test_what_says_nothing_of_memory_says_so(tmp_path):
    (tmp_path / "a.txt").write_text("hello")
    with pytest.raises(HloTuiError):
        gathering.of_file(tmp_path / "a.txt")
    with pytest.raises(HloTuiError, match="nothing about memory"):
        gathering.of_stream(io.BytesIO(b"hello"))


def test_the_text_and_the_document():
    report = of("train")
    text = telling.to_text(report)
    assert "live bytes over the schedule" in text
    assert f"({report.peak:,} bytes)" in text
    told = telling.to_json(report, top=3)
    assert len(told["owners"]) == 3
    assert max(told["timeline"]["bytes"]) == told["peak"]
    assert told["scopes"][0]["bytes"] <= told["peak"]


def test_equal_reports_do_not_differ():
    found = comparing.compare(of("train"), of("train"))
    assert found.equal
    assert "nothing differs" in comparing.to_text(found)


def test_what_differs_between_two_reports():
    found = comparing.compare(of("exchanged"), of("train"))
    assert not found.equal
    assert {one.name: one.change for one in found.sums}["peak"] == of("train").peak - of("exchanged").peak
    changes = {one.name: one for one in found.owners}
    assert changes["weights  f32[4,64,64]"].a == 0
    assert changes["state  f32[64,64]"].b == 0
    assert comparing.to_json(found)["owners"][0]["change"] == found.owners[0].change


def test_a_dump_is_weighed():
    found = listing.load(OWN)
    weighed = gathering.heaviest(found, found.catalog.modules)
    assert weighed[0][1].name == "jit_train"
    assert [size for size, _ in weighed] == sorted((size for size, _ in weighed), reverse=True)
    assert weighed[0][0] == of("train").total


def test_a_module_that_is_only_in_a_recorded_run_is_estimated(tmp_path):
    for path in (DATA / "replay").glob("*jit_scan.snapshot*"):
        shutil.copy(path, tmp_path / path.name)
    found = listing.load(tmp_path)
    report = gathering.of_module(found, found.catalog.modules[0])
    assert report.estimated
    assert report.owners
    (tmp_path / "module_0001.jit_f.before_optimizations.dot").write_text("digraph {}")
    found = listing.load(tmp_path)
    with pytest.raises(HloTuiError, match="says anything about memory"):
        gathering.of_module(found, choosing.find_module(found, "jit_f"))


@pytest.mark.parametrize("function", ["train", "exchanged", "reduced"])
def test_what_is_listed_for_a_moment_is_what_is_live_then(function, tmp_path):
    shutil.copy(own(function, ".txt"), tmp_path / "a.txt")
    for report in (of(function), gathering.of_file(tmp_path / "a.txt")):
        for place, live in enumerate(report.timeline.live):
            assert sum(owner.size for owner in report.at(place, 10000)) == live
            assert [owner.size for owner in report.at(place, 3)] == sorted(
                (owner.size for owner in report.at(place, 10000)), reverse=True
            )[:3]
