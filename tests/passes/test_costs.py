"""Where compile time went: sums over a dump whose times are known."""

from __future__ import annotations

import os
from pathlib import Path

from hlo_tui.dump import listing
from hlo_tui.passes import costs
from hlo_tui.passes.times import FILE_TIMES, METADATA

TEXT = "HloModule {}\n\nENTRY %e (p: f32[]) -> f32[] {{\n{}  ROOT %p = f32[] parameter(0)\n}}\n"


def dump(root: Path) -> None:
    """Two modules with a file each 5 ms and each 20 ms; the second has a record of the compiler's own."""
    for number, (name, gap) in enumerate((("jit_fast", 5), ("jit_slow", 20))):
        stages = ("before_optimizations", "0000.simp.after_dce.before_cse", "0001.simp.after_cse.before_dce")
        for place, stage in enumerate((*stages, "cpu_after_optimizations")):
            path = root / f"module_{number:04}.{name}.{stage}.txt"
            constants = "".join(f"  %c{n} = f32[] constant(1)\n" for n in range(place))
            path.write_text(TEXT.format(name, constants))
            moment = 10**18 + place * gap * 10**6
            os.utime(path, ns=(moment, moment))
    (root / "module_0001.metadata.textproto").write_text(
        "".join(
            'pass_metadata { pass_name: "dce" pipeline_name: "simp" '
            f"start_timestamp_usec: {begin} end_timestamp_usec: {end} }}\n"
            for begin, end in ((0, 9000), (9000, 12000))
        )
    )


def test_the_slowest_come_first(tmp_path: Path) -> None:
    dump(tmp_path)
    found = costs.costs(listing.load(tmp_path))
    passes = {(one.pipeline, one.name, one.source): (one.runs, one.ms) for one in found.passes}
    assert passes == {
        ("simp", "dce", METADATA): (2, 12.0),
        ("simp", "dce", FILE_TIMES): (1, 5.0),
        ("simp", "cse", FILE_TIMES): (1, 5.0),
    }
    assert [one.ms for one in found.passes] == [12.0, 5.0, 5.0]
    modules = [(one.module.name, one.ms, one.source, one.instructions) for one in found.modules]
    assert modules == [("jit_fast", 15.0, FILE_TIMES, (1, 4)), ("jit_slow", 12.0, METADATA, (1, 4))]


def test_text_and_json(tmp_path: Path) -> None:
    dump(tmp_path)
    found = costs.costs(listing.load(tmp_path))
    told = costs.to_json(found)
    assert told["passes"][0] == {
        "pipeline": "simp",
        "pass": "dce",
        "runs": 2,
        "ms": 12.0,
        "ms_from": METADATA,
    }
    assert told["modules"][0]["instructions"] == {"first": 1, "last": 4}
    assert "1 → 4" in costs.to_text(found)
    assert costs.to_text(costs.costs(listing.load(tmp_path), counted=0)).count("→") == 0


def test_an_empty_dump_has_no_costs(tmp_path: Path) -> None:
    assert costs.to_text(costs.costs(listing.load(tmp_path))) == "no module that can be read"
