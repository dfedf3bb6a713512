"""The timeline of a module: rows against the files, counts against XLA's parser, times from both places."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hlo_tui.dump import listing
from hlo_tui.passes import timeline
from hlo_tui.passes.timeline import Step
from hlo_tui.passes.times import FILE_TIMES, METADATA
from tests.corpus import corpus_dir
from tests.passes.dumped import PASSES, opened

_COUNTING = """
import json, sys
from jaxlib import _hlo
from hlo_tui.hlo.schema import hlo_pb2 as pb


def instructions(path):
    module = _hlo.hlo_module_from_text(open(path).read())
    proto = pb.HloModuleProto.FromString(module.as_serialized_hlo_module_proto())
    table = proto.stack_frame_index
    named = {one.id: one.name for computation in proto.computations for one in computation.instructions}
    called = {computation.id: computation.name for computation in proto.computations}
    found = {}
    for computation in proto.computations:
        for one in computation.instructions:
            frames, number = [], one.metadata.stack_frame_id
            while number:
                frame = table.stack_frames[number - 1]
                frames.append(table.file_locations[frame.file_location_id - 1].SerializeToString())
                number = frame.parent_frame_id
            names = [[named[i] for i in one.operand_ids], [called[i] for i in one.called_computation_ids]]
            names.append([named[i] for i in one.control_predecessor_ids])
            for field in ("id", "operand_ids", "called_computation_ids", "control_predecessor_ids"):
                one.ClearField(field)
            one.metadata.ClearField("stack_frame_id")
            found[one.name] = (one.SerializeToString(deterministic=True), names, frames)
    return found


before = None
for path in sys.argv[1:]:
    now = instructions(path)
    if before is not None:
        both = now.keys() & before.keys()
        changed = sum(now[name] != before[name] for name in both)
        print(json.dumps([len(now.keys() - both), len(before.keys() - both), changed, len(now)]))
    before = now
"""


def counted_by_xla(paths: list[Path]) -> list[list[int]]:
    """By names, through XLA's parser in a child: added, removed, modified and all instructions of each step."""
    done = subprocess.run(
        [sys.executable, "-c", _COUNTING, *map(str, paths)], capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def steps(name: str) -> list[Step]:
    return list(timeline.steps(*opened(name)))


def test_every_dump_is_a_row_in_the_order_of_the_compiler() -> None:
    dump, module = opened("jit_inverse")
    found = timeline.to_json(module, list(timeline.steps(dump, module)))
    names = sorted(path.name for path in PASSES.glob("module_*.jit_inverse.[0-9]*.txt"))
    assert [row["path"] for row in found["passes"]] == names
    assert [row["step"] for row in found["passes"]] == list(range(len(names)))
    assert [row["label"] for row in found["stages"]] == ["before_optimizations", "cpu_after_optimizations"]
    first = found["passes"][6]
    assert (first["pipeline"], first["pass"], first["before"]) == (
        "simplification",
        "algsimp",
        "simplify-sorts",
    )


def test_what_the_simplifier_took_away_is_counted() -> None:
    found = {step.stage.point.step: step for step in steps("jit_inverse")}
    # log(exp(x)) is x: two instructions less, and the parameter is the root.
    assert (found[6].added, found[6].removed, found[6].modified, found[6].instructions) == (0, 2, 0, 1)
    assert found[6].changed
    assert not any(found[number].changed for number in range(6))
    within = next(step for step in found.values() if step.stage.point.kind == "within" and step.added)
    assert (within.name, within.added) == ("copy-insertion", 1)


def test_counts_agree_with_xlas_parser() -> None:
    # Steps in which XLA gives no instruction another name: there names are enough to tell which is which.
    compared = 0
    for name in ("jit_inverse", "jit_tagged"):
        found = steps(name)
        counts = counted_by_xla([PASSES / step.stage.main.path for step in found])
        for step, (added, removed, modified, total) in zip(found[1:], counts, strict=True):
            assert step.instructions == total
            if not step.renamed:
                assert (step.added, step.removed, step.modified) == (added, removed, modified), (
                    step.stage.label
                )
                compared += 1
    assert compared > 30


def test_counts_agree_with_xlas_parser_on_large_modules() -> None:
    root = corpus_dir() / "dumps" / "jax0102-bug-jax38609-passes"
    dump = listing.load(root)
    (module,) = (one for one in dump.catalog.modules if one.name == "jit_bug_jax38609")
    found = list(timeline.steps(dump, module))
    counts = counted_by_xla([root / step.stage.main.path for step in found])
    same = [
        (step.added, step.removed, step.modified) == (added, removed, modified)
        for step, (added, removed, modified, _) in zip(found[1:], counts, strict=True)
        if not step.renamed
    ]
    assert len(same) > 50
    assert all(same)
    for before, step, (*_, total) in zip(found, found[1:], counts, strict=False):
        assert step.instructions == total == before.instructions + step.added - step.removed


def test_every_directory_of_passes_has_a_row_for_each_file() -> None:
    for root in sorted((corpus_dir() / "dumps").glob("*-passes")):
        dump = listing.load(root)
        for module in dump.catalog.modules:
            found = timeline.to_json(module, list(timeline.steps(dump, module)))["passes"]
            files = [stage.main.path for stage in module.stages if stage.point.step is not None]
            assert [row["path"] for row in found] == files
            assert all(row["problem"] is None for row in found)


def test_unchanged_neighbours_fold() -> None:
    dump, module = opened("jit_inverse")
    text = timeline.to_text(module, list(timeline.steps(dump, module)))
    assert "0000-0005  (6 dumps without a change)" in text
    assert sum("without a change" in line for line in text.splitlines()) == 2
    only = timeline.to_text(module, list(timeline.steps(dump, module)), "ALGSIMP")
    assert [line.split()[0] for line in only.splitlines()[3:4]] == ["0006"]
    assert "copy" not in only


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The dump of one module, a file for each 10 ms."""
    files = sorted(PASSES.glob("module_*.jit_inverse.*.txt"))
    files.sort(key=lambda path: "before_optimizations" not in path.name)
    for number, path in enumerate(files):
        moment = 10**18 + number * 10**7
        os.utime(shutil.copy(path, tmp_path / path.name), ns=(moment, moment))
    return tmp_path


def test_times_are_those_of_the_files(copied: Path) -> None:
    found = list(timeline.steps(*opened("jit_inverse", copied)))
    assert found[0].time is None
    assert {(step.time.ms, step.time.source) for step in found[1:] if step.time} == {(10.0, FILE_TIMES)}


def test_times_are_the_compilers_own_where_it_wrote_them_down(copied: Path) -> None:
    names = sorted(path.name for path in copied.glob("*.txt"))
    (file,) = (name for name in names if ".0006." in name)
    (copied / "module_0016.metadata.textproto").write_text(
        f"""canonical_module_id: 16
pass_metadata {{ pass_id: 1 pass_name: "other" pipeline_name: "simplification"
  start_timestamp_usec: 1000 end_timestamp_usec: 1100 }}
pass_metadata {{ pass_id: 2 pass_name: "algsimp" pipeline_name: "simplification" module_changed: true
  dump_filenames: "/elsewhere/{file}" start_timestamp_usec: 2000 end_timestamp_usec: 4500 }}
"""
    )
    found = {step.stage.point.step: step.time for step in timeline.steps(*opened("jit_inverse", copied))}
    assert (found[6].ms, found[6].source) == (2.5, METADATA)
    assert (found[7].ms, found[7].source) == (10.0, FILE_TIMES)


def test_a_damaged_record_of_times_is_no_obstacle(copied: Path) -> None:
    (copied / "module_0016.metadata.textproto").write_text("pass_metadata { pass_name: 7")
    assert len(list(timeline.steps(*opened("jit_inverse", copied)))) == 24


def test_stages_that_cannot_be_read_are_said_so(copied: Path) -> None:
    (empty,) = copied.glob("*.0003.*")
    empty.write_bytes(b"")
    (garbage,) = copied.glob("*.0004.*")
    garbage.write_bytes(b"\x00\xff" * 100)
    found = list(timeline.steps(*opened("jit_inverse", copied)))
    assert len(found) == 24
    assert [step.stage.point.step for step in found if step.problem or step.instructions == 0] == [3, 4]
